"""Arguments of functions that are mapped, scanned, or have custom derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

from ..tree_util import tree_broadcast, tree_flatten, tree_structure
from ..user_lines import noted

Axes = list[int | None]


def is_none(x: object) -> bool:
    """True for None, which is a leaf in trees of axes."""
    return x is None


def spread(transform: str, what: str, axes: Any, tree: Any) -> Axes:
    """The axis of each leaf of a tree, from axes that apply to whole branches.

    Raises: ValueError: the structures do not match.
    """
    axes = tuple(axes) if isinstance(axes, list) and isinstance(tree, tuple) else axes
    try:
        return tree_flatten(tree_broadcast(axes, tree, is_none), is_none)[0]
    except (TypeError, ValueError):
        raise noted(
            ValueError(f"{transform}: {what}={axes!r} doesn't fit {tree_structure(tree)}")
        ) from None


def batch_size(transform: str, leaves: Sequence[Any], axes: Axes) -> int:
    """The common length of the mapped axes.

    Raises: ValueError: no axis is mapped, lengths differ, or an array does not have the axis.
    """
    sizes = set()
    for x, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        if not -len(x.shape) <= axis < len(x.shape):
            raise noted(
                ValueError(f"{transform}: an array of shape {tuple(x.shape)} has no axis {axis}")
            )
        sizes.add(int(x.shape[axis]))
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise noted(ValueError(f"{transform}: no argument is mapped: in_axes is None for all"))
    raise noted(ValueError(f"{transform}: mapped axes have several lengths: {sorted(sizes)}"))


def scan_length(operation: str, leaves: Sequence[Any], length: int | None) -> int:
    """The number of steps of a loop over leading axes.

    Raises: ValueError: the lengths differ, or there is no length.
    """
    lengths = {int(x.shape[0]) for x in leaves if len(x.shape)}
    if any(not len(x.shape) for x in leaves):
        raise noted(ValueError(f"{operation}: arrays to loop over need a leading axis"))
    lengths |= set() if length is None else {int(length)}
    if len(lengths) != 1:
        problem = f"several: {sorted(lengths)}" if lengths else "none, as there are no xs"
        raise noted(ValueError(f"{operation}: expected one length; got {problem}"))
    return lengths.pop()


def without_nondiff(
    with_rule: Callable[..., Any],
    f: Callable[..., Any],
    f_fwd: Callable[..., Any],
    f_bwd: Callable[..., Any],
    nondiff_argnums: Sequence[int],
) -> Callable[..., Any]:
    """`with_rule(f, f_fwd, f_bwd)`, applied only to the arguments that have derivatives.

    The other arguments are closed over, so they may be any objects. Their entries in the result of
    `f_bwd` are dropped.
    """
    if not nondiff_argnums:
        return with_rule(f, f_fwd, f_bwd)
    static = frozenset(nondiff_argnums)

    def call(*args: Any) -> Any:
        differentiated = [i for i in range(len(args)) if i not in static]

        def filled(function: Callable[..., Any]) -> Callable[..., Any]:
            def of_differentiated(*some: Any) -> Any:
                every = list(args)
                for i, x in zip(differentiated, some, strict=True):
                    every[i] = x
                return function(*every)

            return of_differentiated

        def backward(residual: Any, g: Any) -> Any:
            gradients = f_bwd(residual, g)
            return tuple(gradients[i] for i in differentiated)

        inner = with_rule(filled(f), filled(f_fwd), backward)
        return inner(*(args[i] for i in differentiated))

    return call
