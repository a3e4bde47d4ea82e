"""Runs a map over devices on one device: stacks the devices' parts and maps by `vmap`'s rules.

`debug_nans` uses this to run a map operation by operation.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis
from ..core.trace import current
from ..core.value import Value
from ..interpreters.batch import batch, first
from ..interpreters.stage import stage
from ..primitives.structural import reshape, transpose
from .uniformity import MappedAxes

Spec = tuple[tuple[Any, ...], ...]


def shard_map_as_vmap(
    jaxpr: Jaxpr,
    avals: Sequence[Aval],
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    axes: MappedAxes,
) -> Jaxpr:
    """A map over devices as a program of whole arrays; see `higher_order/shard_map.py`.

    Args:
      avals: the avals of the whole arguments.
    """
    flags = [[any(name in part for part in spec) for spec in in_specs] for name, _, _ in axes]

    def level(depth: int, *args: Value) -> list[Value]:
        if depth == len(axes):
            return run(jaxpr, args, current.trace)
        _, inner, size = axes[depth]
        return batch(lambda *xs: level(depth + 1, *xs), args, flags[depth], Axis(size, inner))

    def whole(*args: Value) -> list[Value]:
        parts = [axes_in_front(x, spec, axes) for x, spec in zip(args, in_specs, strict=True)]
        outs = level(0, *parts)
        return [axes_in_place(o, spec, axes) for o, spec in zip(outs, out_specs, strict=True)]

    return stage(whole, avals, name=jaxpr.name)


def axes_in_front(x: Value, spec: Spec, axes: MappedAxes) -> Value:
    """The array with the axes that divide it moved to the front, in the order of the map's axes."""
    sizes = {name: size for name, _, size in axes}
    shape: list[int] = []
    places: dict[Any, int] = {}
    remaining = []
    for n, part in zip(x.shape, spec, strict=True):
        for name in part:
            places[name] = len(shape)
            shape.append(sizes[name])
        remaining.append(len(shape))
        shape.append(n // math.prod(sizes[name] for name in part))
    front = [places[name] for name, _, _ in axes if name in places]
    return transpose(reshape(x, shape=tuple(shape)), permutation=(*front, *remaining))


def axes_in_place(x: Value, spec: Spec, axes: MappedAxes) -> Value:
    """The inverse of `axes_in_front`, for a result with all axes in front. It takes the first part
    along axes that the spec does not mention."""
    named = [name for part in spec for name in part]
    index: list[Any] = []
    for name, _, _ in axes:
        if name in named:
            index.append(name)
        else:  # bring it to the front, and take the first
            at = len(index)
            x = first(transpose(x, permutation=(at, *[i for i in range(x.ndim) if i != at])))
    count = len(index)
    order: list[int] = []
    shape: list[int] = []
    sizes = {name: size for name, _, size in axes}
    for axis, part in enumerate(spec):
        order += [*[index.index(name) for name in part], count + axis]
        shape.append(x.shape[count + axis] * math.prod(sizes[name] for name in part))
    return reshape(transpose(x, permutation=tuple(order)), shape=tuple(shape))
