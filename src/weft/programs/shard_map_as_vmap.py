"""A map over devices as a program for one: the parts of all devices are stacked, and mapped by
`vmap`'s rules. It is what `debug_nans` goes through, operation by operation.

Knows specs; knows no devices.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis
from ..core.trace import current
from ..interpreters.batch import batch, first
from ..interpreters.stage import stage
from ..primitives.structural import reshape, transpose

Axes = Sequence[tuple[Any, Any, int]]


def shard_map_as_vmap(
    jaxpr: Jaxpr, avals: Sequence[Aval], in_specs: Any, out_specs: Any, axes: Axes
) -> Jaxpr:
    """The program of whole arrays that a map over devices is; see `higher_order/shard_map.py`.

    Args:
      avals: of the whole arguments.
    """
    flags = [[any(name in part for part in spec) for spec in in_specs] for name, _, _ in axes]

    def level(depth: int, *args: Any) -> list[Any]:
        if depth == len(axes):
            return run(jaxpr, args, current.trace)
        _, inner, size = axes[depth]
        return batch(lambda *xs: level(depth + 1, *xs), args, flags[depth], Axis(size, inner))

    def whole(*args: Any) -> list[Any]:
        parts = [taken_apart(x, spec, axes) for x, spec in zip(args, in_specs, strict=True)]
        outs = level(0, *parts)
        return [put_together(o, spec, axes) for o, spec in zip(outs, out_specs, strict=True)]

    return stage(whole, avals, name=jaxpr.name)


def taken_apart(x: Any, spec: Any, axes: Axes) -> Any:
    """An array with the axes that divide it in front, in the order of the map's."""
    sizes = {name: size for name, _, size in axes}
    shape: list[int] = []
    places: dict[Any, int] = {}
    rest = []
    for n, part in zip(x.shape, spec, strict=True):
        for name in part:
            places[name] = len(shape)
            shape.append(sizes[name])
        rest.append(len(shape))
        shape.append(n // math.prod(sizes[name] for name in part))
    front = [places[name] for name, _, _ in axes if name in places]
    return transpose(reshape(x, shape=tuple(shape)), permutation=(*front, *rest))


def put_together(x: Any, spec: Any, axes: Axes) -> Any:
    """The reverse, for a result with all axes in front; along those that the spec doesn't mention,
    the first part is taken."""
    named = [name for part in spec for name in part]
    kept: list[Any] = []
    for name, _, _ in axes:
        if name in named:
            kept.append(name)
        else:  # bring it to the front, and take the first
            at = len(kept)
            x = first(transpose(x, permutation=(at, *[i for i in range(x.ndim) if i != at])))
    count = len(kept)
    order: list[int] = []
    shape: list[int] = []
    sizes = {name: size for name, _, size in axes}
    for axis, part in enumerate(spec):
        order += [*[kept.index(name) for name in part], count + axis]
        shape.append(x.shape[count + axis] * math.prod(sizes[name] for name in part))
    return reshape(transpose(x, permutation=tuple(order)), shape=tuple(shape))
