"""Sequential vmap: a batch computed element by element, in a scan, where that is the meaning.

The batched form of a branch with a mapped index runs all branches, and that of a loop runs it for
elements that have ended. With effects inside that would be wrong.
"""

from collections.abc import Callable, Sequence

from ..compiler.simplify import jaxpr_has_effects
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, named_axes
from ..core.masks import Mask, active, inactive, merge_lists
from ..core.primitive import Axis
from ..core.value import Value
from ..interpreters.stage import stage
from .scan import apply_scan


def must_be_sequential(name: str, jaxprs: Sequence[Jaxpr], axis: Axis) -> bool:
    """True if any of the programs has effects; it can't refer to the mapped axis then."""
    if not any(map(jaxpr_has_effects, jaxprs)):
        return False
    if axis.name is not None and any(axis.name in named_axes(j) for j in jaxprs):
        raise TypeError(
            f"{name}: under vmap, its functions may have effects or use collectives over "
            f"{axis.name!r}, not both: each element goes its own way, and meets no other\n"
            "  fix: do one of the two outside of it"
        )
    return True


def element_program(
    apply: Callable[..., Sequence[Value]], batched: Mask, avals: Sequence[Aval]
) -> Jaxpr:
    """The program of one element of a batch: (what all share, what is its own) -> results.

    Args:
      batched: the arguments of `apply` that carry the batch, as a mask.
      avals: of the arguments, batched as they are.
    """
    shared = inactive(avals, batched)
    own = [a.update(shape=a.shape[1:]) for a in active(avals, batched)]

    def element(*values: Value) -> Sequence[Value]:
        return apply(*merge_lists(values[len(shared) :], values[: len(shared)], batched))

    return stage(element, [*shared, *own], name="in_turn")


def sequential_vmap(
    element: Jaxpr, args: Sequence[Value], batched: Sequence[bool], size: int
) -> list[Value]:
    """An element's program for each element of a batch, in order; all outputs are batched."""
    shared, own = inactive(args, batched), active(args, batched)
    return apply_scan(element, shared, [], own, length=size, reverse=False, unroll=1)
