"""A batch worked off element by element, where what is done must be done for each by itself.

The batched form of a branch with a mapped index runs all branches, and that of a loop runs it for
elements that have ended. With effects inside that would be wrong: so there each element has its
turn, in a scan.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.dead_code import jaxpr_has_effects
from ..core.jaxpr import Jaxpr, named_axes
from ..core.primitive import Axis
from ..interpreters.stage import stage
from .jaxprs import active, inactive
from .scan import apply_scan


def must_take_turns(name: str, jaxprs: Sequence[Jaxpr], axis: Axis) -> bool:
    """Whether any of the programs has effects; it can't refer to the mapped axis then."""
    if not any(map(jaxpr_has_effects, jaxprs)):
        return False
    if axis.name is not None and any(axis.name in named_axes(j) for j in jaxprs):
        raise TypeError(
            f"{name}: under vmap, its functions may have effects or use collectives over "
            f"{axis.name!r}, not both: each element goes its own way, and meets no other\n"
            "  fix: do one of the two outside of it"
        )
    return True


def in_turn(
    apply: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    batched: Sequence[bool],
    size: int,
    cache: Any,
    key: Any,
) -> list[Any]:
    """`apply` for each element of a batch, in order; all its outputs are batched.

    Args:
      cache, key: where the traced program is kept.
    """

    def step(*values: Any) -> Sequence[Any]:
        shared, own = iter(values[:n_shared]), iter(values[n_shared:])
        return apply(*[next(own) if b else next(shared) for b in batched])

    consts, xs = inactive(args, batched), active(args, batched)
    n_shared = len(consts)
    key = ("in turn", key, tuple(batched), *[a.aval for a in args])
    if key not in cache:
        elements = [x.aval.update(shape=x.aval.shape[1:]) for x in xs]
        cache[key] = stage(step, [*[c.aval for c in consts], *elements], name="in_turn")
    return apply_scan(cache[key], consts, [], xs, length=size, reverse=False, unroll=1)
