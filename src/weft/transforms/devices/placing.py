"""Devices, and arrays moved to and from them.

Computation follows data. An array that was put on a device by name is committed to it: what is
computed from it runs there, and its results are committed too. Other arrays are uncommitted: they
are on the default device, and are copied to where they are needed. Arrays committed to different
devices can't meet in one operation.

Knows trees and the runtime; knows nothing of tracing.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...compiler.compiled import commit
from ...compiler.layout import layout_of
from ...compiler.placing import (
    duplicate,
    move,
    put_array,
    put_on_accelerator,
    with_default_device,
)
from ...core.array import Array, Tracer, as_value, own
from ...core.aval import Aval, aval
from ...core.primitive import Primitive
from ...core.quiet import quietly_cast
from ...core.source import located
from ...core.value import Value
from ...dtypes import canonicalize_dtype
from ...errors import ShapeError
from ...extended_dtypes import is_extended
from ...interpreters.eager_tiers import accelerated
from ...primitives.placement import constrain
from ...primitives.rule_types import Argument, Batched, Tangents, Values
from ...runtime import buffer as buffers, client, transfers
from ...runtime.client import (
    Device,
    default_backend,
    device_count,
    devices,
    local_device_count,
    process_count,
    process_index,
)
from ...sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
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
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
    "process_indices",
]

# --- which devices there are ---


@located
def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of a platform that belong to one process.

    Args:
      process_index: the process; this one by default.
      backend: as for `devices`.
      host_id: an older name of `process_index`.
    Raises: ValueError: there is no such process.
    Example:
      >>> import weft
      >>> weft.local_devices() == weft.devices()
      True
    Source: JAX documentation, `jax.local_devices`.
    """
    if host_id is not None:
        if process_index is not None:
            raise ValueError("local_devices: host_id is process_index by another name; got both")
        process_index = host_id
    count = client.process_count(backend)
    if process_index is not None and not 0 <= process_index < count:
        raise ValueError(
            f"local_devices: process_index must be below the number of processes, {count}; got "
            f"{process_index}"
        )
    return client.local_devices(backend, process_index)


@located
def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together.

    Example:
      >>> import weft
      >>> weft.process_indices()
      [0]
    Source: JAX documentation, `jax.process_indices`.
    """
    return list(range(client.process_count(backend)))


# --- moving arrays ---

T = TypeVar("T")
Place: TypeAlias = Device | Sharding

put_where = Primitive("device_put", "The same array where it is told, committed.")
put_where.takes_keys = True
"""`device` is a device or a sharding; so is `source`, where the argument is committed to, if it is
and that is known."""


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
    return x  # a compiled program runs on its devices, whatever is asked for within


@put_where.jvp
def _(
    primals: Values, tangents: Tangents, out: Value, *, device: Place, source: Place | None
) -> Any:
    return put_where(tangents[0], device=device, source=source)


@put_where.transpose
def _(ct: Value, x: Argument, *, device: Place, source: Place | None) -> Tangents:
    # back to where the argument was committed to: what meets the cotangent there is there too
    return (ct if source is None else put_where(ct, device=source, source=device),)


@put_where.batch
def _(args: Values, batched: Batched, size: int, *, device: Place, source: Place | None) -> Any:
    if not batched[0]:
        return put_where(args[0], device=device, source=source)
    return put_where(args[0], device=batch_of(device), source=batch_of(source))


def batch_of(place: T) -> T | NamedSharding:
    """The place of a batch of arrays, from the place of each of them."""
    if not isinstance(place, NamedSharding):
        return place
    return NamedSharding(place.mesh, PartitionSpec(None, *place.spec))


def committed_to(x: Any) -> Any:
    """The device or sharding that the array behind a value is committed to, if it is known now."""
    ndim = x.ndim
    while isinstance(x, Tracer):
        inner = getattr(x, "primal", None)
        x = getattr(x, "value", None) if inner is None else inner
    if not isinstance(x, Array) or not x.committed:
        return None
    place = x.device
    if x.ndim > ndim and isinstance(place, NamedSharding):
        # it is a batch: of each element only the rest is known
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
    """Arrays on a device.

    Args:
      x: an array, a scalar, or a container of them.
      device: where to; the result is committed to it: a device, a sharding (`weft.sharding`; in a
        block `with mesh:`, a `PartitionSpec`), or a tree of them that is a prefix of `x`. Without
        one, arrays stay where they are and others go to the default device, uncommitted. Copying
        may go on after the function has returned.
      src: where `x` is; without effect, since arrays know it.
      donate: permission to take the memory of `x`; without effect, since `x` stays valid.
      may_alias: False for results that share no memory with `x`, so that either may be deleted or
        donated.
    Returns: the same tree of arrays. Derivatives are moved back to where the argument was. Inside
      `jit` naming a device has no effect: a compiled program runs on one (see `jit(device=…)`).
    Raises: TypeError: `device` is no device, or a leaf of `x` is no array. ValueError: a sharding
      can't divide an array of its shape; both `donate` and `may_alias`.
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
    """Arrays on one device, or where they are."""

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
    """A leaf as a value; the error for one that isn't says which it is."""
    try:
        return own(as_value(leaf))
    except (TypeError, ValueError) as error:
        raise TypeError(f"device_put: x{keystr(path)}: {error}") from None


def put_sharded(x: object, shardings: object) -> Any:
    """Arrays put where shardings say: one for all, or a tree of them that is a prefix of `x`."""
    found, tree = tree_flatten_with_path(x)
    is_place = lambda s: is_entry(s) or isinstance(s, Device)  # noqa: E731
    outs = []
    said = flatten_axes("device_put: device", tree, shardings, is_place)
    for (path, leaf), entry in zip(found, said, strict=True):
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
                host = leaf if leaf.dtype == a.dtype else quietly_cast(leaf, a.dtype)
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
    """Arrays on the host, as NumPy arrays.

    Args:
      x: an array, a scalar, or a container of them.
    Returns: the same tree; what isn't an array, Python's scalars among it, stays as it is, and so
      do keys and traced values. The arrays can't be written to: on the CPU they share the memory of
      those that they are of.
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
            x.host()  # says that it was deleted
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
