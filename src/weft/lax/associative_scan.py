"""associative_scan: prefix combinations in a logarithmic number of steps."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from ..core.source import function_line, located
from ..errors import AxisError, ShapeError
from ..primitives.slicing import rev
from ..primitives.structural import reshape
from ..tree_util import tree_flatten
from .axes import along_new_axis, concatenated, number_of_axis, slice_along
from .body_functions import check_function, paths_of, tree_text, values_of

__all__ = ["associative_scan"]


T = TypeVar("T")


@overload
def associative_scan(
    fn: Callable[[T, T], T], elems: T, reverse: bool = ..., axis: int = ...
) -> T: ...
@overload
def associative_scan(
    fn: Callable[[Any, Any], T], elems: Any, reverse: bool = ..., axis: int = ...
) -> T: ...
@located
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Computes all prefix combinations along an axis with an associative function, in parallel.

    Equivalent to `itertools.accumulate(elems, fn)` for an associative fn: fn(fn(a, b), c) equals
    fn(a, fn(b, c)). It takes about 2 log2(n) calls of fn, each on many elements at once.

    Args:
      fn: (a, b) -> the combination, elementwise along `axis`, with the structure of `elems`;
        another container of as many arrays, such as a tuple for a named tuple, is accepted too.
      elems: arrays with equal lengths along `axis`, or containers of them.
      reverse: whether to combine suffixes, from the last element, instead of prefixes.
      axis: the axis to scan.
    Returns: the combinations, in the structure and shapes of `elems`.
    Raises: ValueError: the lengths differ, or the axis is out of range. TypeError: fn returns
      another number of arrays, or another type.
    Example:
      >>> import weft.numpy as np
      >>> from weft import lax
      >>> print(lax.associative_scan(lambda a, b: a * b, np.arange(1, 6)))
      [  1   2   6  24 120]

    Source: JAX documentation, `jax.lax.associative_scan`; Blelloch, Prefix Sums
    and Their Applications (1990).
    """
    check_function("associative_scan", "function", fn, ("a", "b"))
    values, tree = values_of("associative_scan", "elems", elems)
    if not values:
        return elems
    paths = paths_of("elems", elems)
    axis = number_of_axis("associative_scan", axis)
    for x, path in zip(values, paths, strict=True):
        if not -x.ndim <= axis < x.ndim:
            raise AxisError(f"associative_scan: axis {axis} is out of range for {x.aval} at {path}")
    axis = axis % values[0].ndim if axis >= 0 else axis
    lengths = [x.shape[axis] for x in values]
    if len(set(lengths)) > 1:
        rows = [f"  {p}: {x.aval}" for p, x in zip(paths, values, strict=True)]
        raise ShapeError(
            f"associative_scan: all elems must have one length along axis {axis}; got\n"
            + "\n".join(rows)
        )
    axes = [axis % x.ndim for x in values]

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        leaves, out_tree = tree_flatten(fn(tree.unflatten(a), tree.unflatten(b)))
        if len(leaves) != len(values):  # a tuple for a named tuple is accepted, as in JAX
            raise ShapeError(
                f"associative_scan: {function_line(fn)} must return the structure of elems, "
                f"{tree_text(tree)}; got {tree_text(out_tree)}"
            )
        return leaves

    if reverse:
        values = [rev(x, dimensions=(a,)) for x, a in zip(values, axes, strict=True)]
    results = prefix_combinations(combine, values, axes)
    if reverse:
        results = [rev(x, dimensions=(a,)) for x, a in zip(results, axes, strict=True)]
    return tree.unflatten(results)


def prefix_combinations(combine: Any, values: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """The prefix combinations: combines pairs and scans the results, then fills in the other
    elements."""
    n = values[0].shape[axes[0]]
    if n < 2:
        return list(values)

    def parts(xs: Sequence[Any], begin: int, end: int, step: int = 1) -> list[Any]:
        return [slice_along(x, a, begin, end, step) for x, a in zip(xs, axes, strict=True)]

    pairs = combine(parts(values, 0, n - 1, 2), parts(values, 1, n, 2))
    odd_elements = prefix_combinations(combine, pairs, axes)
    first_element = parts(values, 0, 1)
    if n == 2:
        even_elements = first_element
    else:
        count = n // 2 if n % 2 else n // 2 - 1
        later_elements = combine(parts(odd_elements, 0, count), parts(values, 2, n, 2))
        even_elements = [
            concatenated([x, y], a)
            for x, y, a in zip(first_element, later_elements, axes, strict=True)
        ]
    return [interleaved(x, y, a) for x, y, a in zip(even_elements, odd_elements, axes, strict=True)]


def interleaved(even_elements: Any, odd_elements: Any, axis: int) -> Any:
    """Interleaves the elements of two arrays along an axis; the first may have one more."""
    n = odd_elements.shape[axis]
    shape = list(odd_elements.shape)
    shape[axis] = 2 * n
    pairs = reshape(
        along_new_axis([slice_along(even_elements, axis, 0, n), odd_elements], axis + 1),
        shape=tuple(shape),
    )
    if even_elements.shape[axis] == n:
        return pairs
    return concatenated([pairs, slice_along(even_elements, axis, n, n + 1)], axis)
