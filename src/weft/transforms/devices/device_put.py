"""device_put, device_get, block_until_ready; device_put_sharded, device_put_replicated.

Computation follows data. An array that was put on a named device is committed to it: operations on
it run there, and their results are committed too. Other arrays are uncommitted: they are on the
default device, and are copied to the device of an operation. An operation cannot combine arrays
that are committed to different devices.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...compiler.compiled import commit
from ...compiler.layout import layout_of
from ...compiler.placing import duplicate, move, put_array, put_on_accelerator, with_default_device
from ...core.array import Array, Tracer, as_value, unshared
from ...core.aval import Aval, aval
from ...core.kernels import cast_on_host
from ...core.primitive import Primitive
from ...core.source import located
from ...core.value import Value
from ...dtypes import canonicalize_dtype
from ...errors import ShapeError
from ...extended_dtypes import is_extended
from ...interpreters.eager_tiers import accelerated
from ...primitives.rule_types import Argument, Batched, Tangents, Values
from ...primitives.sharding_constraint import constrain
from ...runtime import buffer as buffers, transfers
from ...runtime.client import Device
from ...sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from ...stablehlo import Block, Operand
from ...tree_util import (
    flatten_axes,
    keystr,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_map_with_path,
)
from ..jit.shardings import is_entry, named

__all__ = [
    "block_until_ready",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
]


# --- moving arrays ---

T = TypeVar("T")
Place: TypeAlias = Device | Sharding

put_where = Primitive("device_put", "The same array on a device or sharding, committed.")
put_where.takes_keys = True
"""`device` is a device or a sharding; `source` is the device or sharding to which the argument is
committed, or `None` if it is uncommitted or unknown."""


@put_where.type
def _(x: T, *, device: Place, source: Place | None) -> T:
    return x


@put_where.evaluate
def _(x: T, *, device: Place, source: Place | None) -> T:
    return x


@put_where.host.execute
def _(args: Sequence[Array], *, device: Place, source: Place | None) -> Array:
    return move(args[0], device) if isinstance(device, Device) else commit(args[0], device)


@put_where.lower
def _(block: Block, x: Operand, out: Aval, device: Place, source: Place | None) -> Operand:
    return x  # a compiled program runs on its own devices


@put_where.jvp
def _(
    primals: Values, tangents: Tangents, out: Value, *, device: Place, source: Place | None
) -> Any:
    return put_where(tangents[0], device=device, source=source)


@put_where.transpose
def _(ct: Value, x: Argument, *, device: Place, source: Place | None) -> Tangents:
    # back to the device of the argument, where other cotangents are
    return (ct if source is None else put_where(ct, device=source, source=device),)


@put_where.batch
def _(args: Values, batched: Batched, size: int, *, device: Place, source: Place | None) -> Any:
    if not batched[0]:
        return put_where(args[0], device=device, source=source)
    return put_where(args[0], device=batch_of(device), source=batch_of(source))


def batch_of(place: T) -> T | NamedSharding:
    """The device or sharding of a batch of arrays, from the device or sharding of each element."""
    if not isinstance(place, NamedSharding):
        return place
    return NamedSharding(place.mesh, PartitionSpec(None, *place.spec))


def committed_to(x: Any) -> Any:
    """The device or sharding to which the array behind a value is committed; `None` if unknown."""
    ndim = x.ndim
    while isinstance(x, Tracer):
        inner = getattr(x, "primal", None)
        x = getattr(x, "value", None) if inner is None else inner
    if not isinstance(x, Array) or not x.committed:
        return None
    place = x.device
    if x.ndim > ndim and isinstance(place, NamedSharding):
        # it is a batch: the sharding of an element has the remaining axes
        return NamedSharding(place.mesh, PartitionSpec(*place.spec[x.ndim - ndim :]))
    return place


@located
def device_put(
    x: object,
    device: object = None,
    *,
    src: object = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Moves arrays to a device, or divides them among devices by a sharding.

    Args:
      x: an array, a scalar, or a container of them.
      device: a device, a sharding (`weft.sharding`; in a block `with mesh:`, a `PartitionSpec`), or
        a tree of them that is a prefix of `x`; the results are committed to it. Without one, arrays
        stay where they are and other values go to the default device, uncommitted. Copying may
        continue after the function has returned.
      src: the device of `x`; has no effect, because arrays have their device.
      donate: permission to reuse the memory of `x`; has no effect, because `x` stays valid.
      may_alias: False for results that share no memory with `x`, so that either may be deleted or
        donated.
    Returns: the same tree of arrays. Cotangents are moved back to the device of the argument. A
      device has no effect inside `jit`: a compiled program runs on one device (`jit(device=…)`).
    Raises: TypeError: `device` is not a device, or a leaf of `x` is not an array. ValueError: a
      sharding cannot divide an array of its shape; both `donate` and `may_alias` are True.
    Example:
      >>> import weft
      >>> y = weft.device_put(weft.numpy.ones(2), weft.devices()[0])
      >>> y.device
      CpuDevice(id=0)
    Source: JAX documentation, `jax.device_put`.
    """
    if donate and may_alias:
        raise ValueError(
            "device_put: donate=True gives the memory of x away, and may_alias=True shares it\n"
            "  fix: one of them"
        )
    plain = device is None or isinstance(device, Device)
    result = put_on(x, device) if plain else put_sharded(x, device)
    if may_alias is False:
        return tree_map(lambda y: duplicate(y) if isinstance(y, Array) else y, result)
    return result


def put_on(x: object, device: Any) -> Any:
    """Arrays on one device, or where they already are."""

    def put_leaf(path: object, leaf: object) -> Any:
        if leaf.__class__ is np.ndarray and accelerated():
            with transfers.explicitly():
                there = put_on_accelerator(leaf, device)
            if there is not None:
                return there
        value = leaf_value(path, leaf)
        if device is None:
            with transfers.explicitly():
                return with_default_device(value)
        if isinstance(value, Tracer):
            return put_where(value, device=device, source=committed_to(value))
        with transfers.explicitly():
            return move(value, device)

    return tree_map_with_path(put_leaf, x)


def leaf_value(path: Any, leaf: object) -> Any:
    """A leaf as a value. The error for another object names the leaf."""
    try:
        return unshared(as_value(leaf))
    except (TypeError, ValueError) as error:
        text = str(error).removeprefix("device_put: ")
        raise TypeError(f"device_put: x{keystr(path)}: {text}") from None


def put_sharded(x: object, shardings: object) -> Any:
    """Arrays divided by a sharding, or by a tree of shardings that is a prefix of `x`."""
    path_leaves, tree = tree_flatten_with_path(x)
    is_place = lambda s: is_entry(s) or isinstance(s, Device)  # noqa: E731
    outs = []
    entries = flatten_axes("device_put: the devices or shardings", tree, shardings, is_place)
    for (path, leaf), entry in zip(path_leaves, entries, strict=True):
        sharding = named("device_put", entry)
        if sharding is None or isinstance(sharding, Device):
            outs.append(device_put(leaf, sharding))
            continue
        if not isinstance(sharding, Sharding):
            raise TypeError(
                "device_put: expected a device, one of devices(), or a sharding; got "
                f"{sharding!r:.60}"
            )
        if isinstance(sharding, SingleDeviceSharding):
            outs.append(device_put(leaf, sharding.device))
            continue
        value = None if type(leaf) is np.ndarray else leaf_value(path, leaf)
        a = aval(leaf.shape, canonicalize_dtype(leaf.dtype)) if value is None else value.aval
        try:
            to = layout_of(a, sharding)
        except ValueError as error:
            raise ShapeError(f"device_put: x{keystr(path)}, {a}: {error}") from None
        with transfers.explicitly():
            if value is None:  # its parts are copied once
                host = leaf if leaf.dtype == a.dtype else cast_on_host(leaf, a.dtype)
                outs.append(put_array(host, to))
            elif not isinstance(value, Tracer):
                outs.append(commit(value, sharding))
            elif (source := committed_to(value)) is None:
                outs.append(constrain(value, sharding=sharding))
            else:
                outs.append(put_where(value, device=sharding, source=source))
    return tree.unflatten(outs)


@located
def device_get(x: object) -> Any:
    """Copies arrays to the host, as NumPy arrays.

    Args:
      x: an array, a scalar, or a container of them.
    Returns: the same tree of NumPy arrays. Python scalars, other objects, keys and traced values
      are unchanged. The arrays are read-only: on the CPU they share memory with weft's arrays.
    Example:
      >>> import weft
      >>> weft.device_get(weft.numpy.array([1., 2., 3.]))
      array([1., 2., 3.], dtype=float32)
    Source: JAX documentation, `jax.device_get`.
    """

    def get(leaf: object) -> Any:
        if isinstance(leaf, Array):
            return leaf if is_extended(leaf.dtype) else leaf.__array__()
        if isinstance(leaf, Tracer):
            return leaf
        return leaf if not hasattr(leaf, "__array__") else np.asarray(leaf)

    with transfers.explicitly():
        return tree_map(get, x)


def block_until_ready(x: object) -> Any:
    """Waits until all arrays of a tree have been computed; returns the tree.

    Example:
      >>> import weft
      >>> weft.block_until_ready({"a": weft.numpy.ones(2)})
      {'a': Array([1., 1.], dtype=float32)}
    """
    if x.__class__ is Array:
        if x._buffer is not None:
            buffers.block_until_ready(x._buffer)
        elif x._host is None:
            x.host()  # raises the error for a deleted array
        return x
    pending = []
    for leaf in tree_leaves(x):
        if leaf.__class__ is Array and leaf._buffer is not None:
            pending.append(leaf._buffer)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if len(pending) == 1:
        buffers.block_until_ready(pending[0])
    elif pending:
        buffers.block_all_until_ready(pending)
    return x


@located
def device_put_sharded(shards: Sequence[object], devices: Sequence[Device]) -> Any:
    """Stacks arrays along a new first axis, each on its device.

    Args:
      shards: for each device, an array, a scalar, or a container of them; all with the same
        structure, shapes and dtypes.
      devices: the device of each shard.
    Returns: a tree like each shard, with arrays that have a new first axis with one row per device.
      Their values equal `numpy.stack(shards)`.
    Raises: ValueError: the numbers of shards and devices differ, or the shards' structures, shapes
      or dtypes do. TypeError: not a device, or a leaf is not an array.
    Example:
      >>> import weft
      >>> x = weft.device_put_sharded([weft.numpy.ones(2)], weft.devices()[:1])
      >>> x.shape, len(x.addressable_shards)
      ((1, 2), 1)
    Source: JAX documentation, `jax.device_put_sharded`.
    """
    devices = checked_devices("device_put_sharded", devices)
    if not isinstance(shards, Sequence):
        raise TypeError(
            f"device_put_sharded: shards must be a list or tuple, one for each device; got "
            f"{type(shards).__name__}\n  fix: list(x) for an array x, or device_put_replicated"
        )
    if len(shards) != len(devices):
        raise ShapeError(
            f"device_put_sharded: one shard for each device; got {len(shards)} shards for "
            f"{len(devices)} devices"
        )
    flat = [tree_flatten_with_path(shard) for shard in shards]
    tree = flat[0][1]
    for i, (_, other) in enumerate(flat):
        if other != tree:
            raise ShapeError(
                "device_put_sharded: all shards must have one structure; got "
                f"{tree} (shard 0) and {other} (shard {i})"
            )
    outs = []
    for entries in zip(*[leaves for leaves, _ in flat], strict=True):
        path = keystr(entries[0][0])
        values = [array_of("device_put_sharded", f"shards[{i}]{path}", x)
                  for i, (_, x) in enumerate(entries)]  # fmt: skip
        first = values[0].aval
        for i, value in enumerate(values):
            if (value.aval.shape, value.aval.dtype) != (first.shape, first.dtype):
                raise ShapeError(
                    f"device_put_sharded: shards[…]{path}: all shards must have one shape and "
                    f"dtype; got {first} (shard 0) and {value.aval} (shard {i})"
                )
        outs.append(stacked(values, devices))
    return tree.unflatten(outs)


@located
def device_put_replicated(x: Any, devices: Sequence[Device]) -> Any:
    """Repeats arrays along a new first axis, with a copy on each device.

    Args:
      x: an array, a scalar, or a container of them.
      devices: the devices of the copies.
    Returns: a tree like `x`, with arrays that have a new first axis with one row per device.
    Raises: ValueError: no devices. TypeError: an item isn't a device, or a leaf isn't an array.
    Example:
      >>> import weft
      >>> weft.device_put_replicated(weft.numpy.arange(3), weft.devices()[:1])
      Array([[0, 1, 2]], dtype=int32)
    Source: JAX documentation, `jax.device_put_replicated`.
    """
    devices = checked_devices("device_put_replicated", devices)

    def put_leaf(path: Any, leaf: Any) -> Array:
        value = array_of("device_put_replicated", f"x{keystr(path)}", leaf)
        return stacked([value] * len(devices), devices)

    return tree_map_with_path(put_leaf, x)


def stacked(values: Sequence[Array], devices: Sequence[Device]) -> Array:
    """One array from an array on each device."""
    a = values[0].aval
    sharding = NamedSharding(Mesh(devices, ("shards",)), PartitionSpec("shards"))
    host = np.stack([np.asarray(v.host()) for v in values])
    with transfers.explicitly():
        return put_array(host, layout_of(aval(host.shape, a.dtype), sharding), alias=True)


def checked_devices(operation: str, devices: Any) -> list[Device]:
    """The devices as a list; raises an error for other objects."""
    checked: list[Device] = list(devices)
    if not checked:
        raise ValueError(f"{operation}: expected at least one device; got none")
    for device in checked:
        if not isinstance(device, Device):
            raise TypeError(f"{operation}: expected devices, of devices(); got {device!r}")
    if len(set(checked)) != len(checked):
        raise ValueError(f"{operation}: a device is named twice in {checked}")
    return checked


def array_of(operation: str, path: str, leaf: object) -> Array:
    """A leaf as an array."""
    try:
        value = unshared(as_value(leaf))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{operation}: {path}: {error}") from None
    if isinstance(value, Tracer):
        raise TypeError(
            f"{operation}: {path} is traced, {value.aval}: arrays are put on several devices "
            "outside of jit and other transformations"
        )
    return value
