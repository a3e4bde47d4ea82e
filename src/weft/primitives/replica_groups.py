"""The replicas or devices between which a collective communicates, by number.

They are counted in row-major order over all named axes of the program.
"""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from .. import errors
from ..core.aval import Aval
from ..scope import Mark
from ..stablehlo import Block, Module, Operand
from ..stablehlo.attributes import matrix
from .rule_types import Host, Names

Groups = tuple[tuple[int, ...], ...] | None


def unbound_axis(
    operation: str, name: Hashable, axes: Sequence[tuple[Hashable, int]]
) -> errors.UnboundAxisError:
    """The error for a name that no axis in scope has."""
    named_axes = [(n, length) for n, length in axes if not isinstance(n, Mark)]
    in_scope = ", ".join(f"{n!r} (of length {length})" for n, length in named_axes) or "none"
    return errors.UnboundAxisError(
        f"{operation}: expected the name of an axis in scope; got {name!r}; in scope: {in_scope}\n"
        f"  fix: call it inside a function mapped by vmap or pmap(…, axis_name={name!r})"
    )


def replica_groups(block: Block, name: str, axes: Names, groups: Groups) -> list[list[int]]:
    """The groups of replicas that communicate. Replicas of one group differ only in these axes.

    The replicas are counted row by row over all axes that the program is written for.
    """
    env = block.module.axes
    axis_numbers = [axis_number(block, name, axis) for axis in axes]
    other_axes = [i for i in range(len(env)) if i not in axis_numbers]
    numbers = device_order(block.module).reshape([length for _, length in env])
    rows = (
        numbers.transpose(other_axes + axis_numbers)
        .reshape(-1, math.prod(env[i][1] for i in axis_numbers))
        .tolist()
    )
    if groups is None:
        return rows
    widest = max(map(len, groups))
    return [
        [*[row[i] for i in group], *[-1] * (widest - len(group))]
        for row in rows
        for group in groups
    ]


def axis_number(block: Block, operation: str, axis: Hashable) -> int:
    """The position of the axis with this name among the program's axes."""
    for i, (name, _) in enumerate(block.module.axes):
        if name == axis:
            return i
    raise unbound_axis(operation, axis, block.module.axes)


def stride(block: Block, operation: str, axis: Hashable) -> int:
    """The difference between the numbers of two neighbours along an axis."""
    later_axes = block.module.axes[axis_number(block, operation, axis) + 1 :]
    return math.prod(length for _, length in later_axes)


def device_order(module: Module) -> Host:
    """XLA's numbers of the replicas or devices, in the order of `module.axes`."""
    if module.region is None or module.meshes is None:
        return np.arange(math.prod(length for _, length in module.axes))
    positions = {device: i for i, device in enumerate(module.meshes.devices)}
    return np.array([positions[device] for device in module.region.mesh.devices.flat])


def replica_attributes(
    block: Block, name: str, axes: Names, groups: Groups, ids: bool = True
) -> str:
    """The attributes that name the replicas, or devices, of a collective.

    Args:
      ids: whether the operation has the attribute `use_global_device_ids`.
    """
    attributes = f"replica_groups = {matrix(replica_groups(block, name, axes, groups))}"
    if block.module.meshes is not None:
        attributes += f", {block.module.channel()}" + ", use_global_device_ids" * ids
    return attributes


def own_replica(block: Block, out: Aval) -> Operand:
    """The number of this replica or device, in the order of `module.axes`."""
    region, meshes = block.module.region, block.module.meshes
    if meshes is None or region is None:
        return block.op("replica_id", out=out)
    partition = block.op("partition_id", out=out)
    devices = tuple(region.mesh.devices.flat)
    if devices == meshes.devices:
        return partition
    table = np.array([devices.index(d) for d in meshes.devices], np.uint32)
    position_table = block.constant(table, out.update(shape=table.shape))
    position = block.op(
        "dynamic_slice", position_table, partition, out=out.update(shape=(1,)),
        attributes="slice_sizes = array<i64: 1>",
    )  # fmt: skip
    return block.reshape(position, ())
