"""Arrays made from the parts of each process: make_array_from_callback,
make_array_from_process_local_data, make_array_from_single_device_arrays.

All processes must call these functions with the same shape and sharding; no data are sent. In a
single process they make an array part by part.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.layout import layout_of, type_with
from ...compiler.placing import buffer_on
from ...core.array import Array
from ...core.aval import Aval, aval
from ...core.source import located
from ...dtypes import canonicalize_dtype, requested_dtype
from ...errors import ShapeError
from ...extended_dtypes import readable, stored
from ...runtime import client, transfers
from ...runtime.group import group_of
from ...runtime.parts import joined, put_parts
from ...sharding import Sharding, SingleDeviceSharding
from ...typing import DTypeLike
from ..jit.shardings import named
from .device_put import array_of

__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]


LOCAL, CALLBACK, SINGLE = [f"make_array_from_{what}" for what in (
    "process_local_data", "callback", "single_device_arrays",
)]  # fmt: skip


@located
def make_array_from_process_local_data(
    sharding: object, local_data: object, global_shape: Sequence[int] | None = None
) -> Array:
    """Makes an array over several processes, each of which has its part on the host.

    Args:
      sharding: the sharding of the array, over the devices of all processes.
      local_data: the parts of the devices of this process, in order and without gaps; or, along
        any axis, the whole array. The caller may change it afterwards.
      global_shape: the shape of the whole array. By default `local_data` is a part along each axis
        along which the devices of this process have only a part.
    Returns: the array, of shape `global_shape`.
    Raises: ValueError: along some axis, `local_data` has neither the length of this process's part
      nor of the whole; the sharding can't divide the shape, or has no device of this process.
    Example:
      >>> import numpy, weft
      >>> from weft.sharding import Mesh, NamedSharding, PartitionSpec
      >>> sharding = NamedSharding(Mesh(weft.devices()[:1], "x"), PartitionSpec("x"))
      >>> weft.make_array_from_process_local_data(sharding, numpy.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    Source: JAX documentation, `jax.make_array_from_process_local_data`.
    """
    sharding = checked_sharding(LOCAL, sharding)
    value = (
        local_data if type(local_data) is np.ndarray else array_of(LOCAL, "local_data", local_data)
    )
    host = np.asarray(value)
    dtype = canonicalize_dtype(host.dtype)
    parts, places = own_places(sharding, host.ndim)
    own = [np.unique(column) for column in places.T]  # along each axis, the parts of this process
    if global_shape is None:
        shape = tuple(
            n * count // len(mine) for n, count, mine in zip(host.shape, parts, own, strict=True)
        )
    else:
        shape = tuple(global_shape)
        if len(shape) != host.ndim:
            raise ShapeError(
                f"{LOCAL}: global_shape must have as many axes as local_data; got {shape} for "
                f"{dtype}{list(host.shape)}"
            )
    a = aval(shape, dtype)
    checked_layout(LOCAL, a, sharding)
    cuts = []
    for axis, (n, whole, count, mine) in enumerate(zip(host.shape, shape, parts, own, strict=True)):
        length = whole // count
        if n not in (whole, length * len(mine)):
            raise ShapeError(
                f"{LOCAL}: local_data has the length {n} along axis {axis}; expected "
                f"{length * len(mine)}, the part of this process, or {whole}, all of it"
            )
        first = mine if n == whole else np.arange(len(mine))
        at = dict(zip(mine.tolist(), first.tolist(), strict=True))
        cuts.append({part: slice(at[part] * length, (at[part] + 1) * length) for part in at})
    shards = [
        host[tuple(cut[part] for cut, part in zip(cuts, place, strict=True))]
        for place in places.tolist()
    ]
    return array_of_parts(a, sharding, shards)


@located
def make_array_from_callback(
    shape: Sequence[int],
    sharding: object,
    data_callback: Callable[[Any], Any],
    dtype: DTypeLike | None = None,
) -> Array:
    """Makes an array from the parts that a function returns for the devices of this process.

    Args:
      shape: the shape of the whole array.
      sharding: the sharding of the whole array.
      data_callback: called with an index, a tuple of slices, once for each part that this process's
        devices have; returns `whole[index]`.
      dtype: the required dtype of the parts.
    Returns: the array.
    Raises: ValueError: a part does not have the shape of its index, or the dtypes of the parts
      differ from each other or from `dtype`; the sharding can't divide the shape, or has no device
      of this process.
    Example:
      >>> import numpy, weft
      >>> from weft.sharding import Mesh, NamedSharding, PartitionSpec
      >>> sharding = NamedSharding(Mesh(weft.devices()[:1], "x"), PartitionSpec("x"))
      >>> weft.make_array_from_callback((4,), sharding, lambda index: numpy.arange(4)[index])
      Array([0, 1, 2, 3], dtype=int32)
    Source: JAX documentation, `jax.make_array_from_callback`.
    """
    sharding = checked_sharding(CALLBACK, sharding)
    shape = tuple(shape)
    checked_layout(CALLBACK, aval(shape, canonicalize_dtype(np.float32)), sharding)
    part = sharding.shard_shape(shape)
    parts: dict[Any, Any] = {}
    shards = []
    for device, index in zip(sharding.devices, sharding.indices(shape), strict=True):
        if device not in sharding.addressable_devices:
            continue
        key = tuple((s.start, s.stop) for s in index)
        if key not in parts:
            host = np.asarray(array_of(CALLBACK, f"data_callback({index})", data_callback(index)))
            if host.shape != part:
                raise ShapeError(
                    f"{CALLBACK}: data_callback({index}) must give an array of shape {part}; got "
                    f"{host.shape}"
                )
            parts[key] = host
        shards.append(parts[key])
    if len({s.dtype for s in shards}) > 1:
        raise ShapeError(
            f"{CALLBACK}: all parts must have one dtype; got "
            f"{', '.join(sorted({str(s.dtype) for s in shards}))}"
        )
    check_parts_dtype(CALLBACK, shards[0].dtype, dtype)
    return array_of_parts(aval(shape, shards[0].dtype), sharding, shards)


@located
def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: DTypeLike | None = None
) -> Array:
    """Makes an array from arrays that are already on its devices, without copying.

    Args:
      shape: the shape of the whole array.
      sharding: the sharding of the whole array.
      arrays: the parts that this process's devices have, each on its device, in any order.
      dtype: the required dtype of the parts.
    Returns: the array.
    Raises: ValueError: a device of this process has no part, or two parts; a part is on another
      device, or has another shape or dtype. TypeError: a part is not a weft array.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, NamedSharding, PartitionSpec
      >>> sharding = NamedSharding(Mesh(weft.devices()[:1], "x"), PartitionSpec("x"))
      >>> part = weft.device_put(weft.numpy.ones(2), weft.devices()[0])
      >>> weft.make_array_from_single_device_arrays((2,), sharding, [part])
      Array([1., 1.], dtype=float32)
    Source: JAX documentation, `jax.make_array_from_single_device_arrays`.
    """
    sharding = checked_sharding(SINGLE, sharding)
    shape, on = tuple(shape), {}
    for i, x in enumerate(arrays):
        if not isinstance(x, Array):
            raise TypeError(
                f"{SINGLE}: arrays[{i}] must be an array on a device; got {type(x).__name__}\n"
                "  fix: weft.device_put(x, device)"
            )
        if x.type.placement.group is not None:
            raise ValueError(f"{SINGLE}: arrays[{i}] is on several devices, {x.sharding}")
        device = x.type.placement.device or client.default_device()
        if device not in sharding.addressable_devices:
            raise ValueError(f"{SINGLE}: arrays[{i}] is on {device}, where {sharding} has no part")
        if device in on:
            raise ValueError(f"{SINGLE}: two arrays are on {device}")
        on[device] = x
    mine = [d for d in sharding.devices if d in sharding.addressable_devices]
    if missing := [d for d in mine if d not in on]:
        raise ValueError(f"{SINGLE}: expected an array on each device of this process; got none on "
                         f"{', '.join(map(str, missing))}")  # fmt: skip
    a = aval(shape, on[mine[0]].aval.dtype)
    check_parts_dtype(SINGLE, a.dtype, dtype)
    checked_layout(SINGLE, a, sharding)
    part = aval(sharding.shard_shape(shape), a.dtype)
    for i, x in enumerate(arrays):
        if (x.aval.shape, x.aval.dtype) != (part.shape, part.dtype):
            raise ShapeError(f"{SINGLE}: expected parts {part} of {a}; arrays[{i}] is {x.aval}")
    if isinstance(sharding, SingleDeviceSharding):
        return Array(None, type_with(a, sharding), buffer_on(on[mine[0]], mine[0]))
    to = layout_of(a, sharding)
    raw = [buffer_on(on[to.group.devices[i]], to.group.devices[i]) for i in to.group.local]
    return Array(None, to, joined(raw, shape, stored(a.dtype), to.group, to.tiling))


# --- shardings and parts ---


def check_parts_dtype(operation: str, parts_dtype: Any, dtype: Any) -> None:
    """Raises an error if the parts do not have the requested dtype."""
    if dtype is not None and parts_dtype != (expected := requested_dtype(dtype, operation)):
        raise ShapeError(
            f"{operation}: dtype={expected} differs from the dtype of the parts, {parts_dtype}\n"
            f"  fix: convert them with .astype"
        )


def checked_sharding(operation: str, sharding: object) -> Sharding:
    """The sharding. Raises an error if it has no device of this process."""
    sharding = named(operation, sharding)
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{operation}: expected a sharding; got {sharding!r:.60}")
    if not sharding.addressable_devices:
        raise ValueError(f"{operation}: {sharding} has no device of this process")
    return sharding


def checked_layout(operation: str, a: Aval, sharding: Sharding) -> None:
    """Raises an error for a sharding that cannot divide an array."""
    try:
        layout_of(a, sharding)
    except ValueError as error:
        raise ShapeError(f"{operation}: {a}: {error}") from None


def own_places(sharding: Sharding, ndim: int) -> tuple[tuple[int, ...], np.ndarray[Any, Any]]:
    """The number of parts of each axis, and the indices of the part of each device of this process,
    in the order of the devices."""
    parts, owners = sharding.division(ndim)
    local = group_of(sharding.devices).local
    place = {int(n): at[:ndim] for at, n in np.ndenumerate(owners)}
    return parts, np.array([place[i] for i in local], int).reshape(len(local), ndim)


def array_of_parts(a: Aval, sharding: Sharding, shards: Sequence[Any]) -> Array:
    """An array from the parts of this process's devices, in order, which are copied to them."""
    shards = [
        np.array(readable(s), stored(a.dtype)) for s in shards
    ]  # the caller may change its arrays
    to = layout_of(a, sharding)
    with transfers.explicitly():
        transfers.sending(a, to.group)
        buffer = put_parts(shards, a.shape, stored(a.dtype), to.group, to.tiling, alias=True)
    return Array(None, type_with(a, sharding), buffer)
