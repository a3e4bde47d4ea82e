"""The arguments of `vmap` and `pmap`: which axis of which leaf is mapped. Knows no backend."""

from collections.abc import Sequence
from typing import Any

from ..tree_util import tree_broadcast, tree_flatten, tree_structure
from ..user_lines import noted

Axes = list[int | None]


def is_none(x: object) -> bool:
    """True for None, which is a leaf among axes."""
    return x is None


def spread(transform: str, what: str, axes: Any, tree: Any) -> Axes:
    """An axis for each leaf of a tree, of axes that are given for whole branches.

    Raises: ValueError: the structures don't fit.
    """
    axes = tuple(axes) if isinstance(axes, list) and isinstance(tree, tuple) else axes
    try:
        return tree_flatten(tree_broadcast(axes, tree, is_none), is_none)[0]
    except (TypeError, ValueError):
        raise noted(
            ValueError(f"{transform}: {what}={axes!r} doesn't fit {tree_structure(tree)}")
        ) from None


def batch_size(transform: str, leaves: Sequence[Any], axes: Axes) -> int:
    """The length that the mapped axes have in common.

    Raises: ValueError: none is mapped, or lengths differ, or an array has no such axis.
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

    Raises: ValueError: lengths differ, or there is none.
    """
    lengths = {int(x.shape[0]) for x in leaves if len(x.shape)}
    if any(not len(x.shape) for x in leaves):
        raise noted(ValueError(f"{operation}: arrays to loop over need a leading axis"))
    lengths |= set() if length is None else {int(length)}
    if len(lengths) != 1:
        found = f"several: {sorted(lengths)}" if lengths else "none, as there are no xs"
        raise noted(ValueError(f"{operation}: expected one length; got {found}"))
    return lengths.pop()
