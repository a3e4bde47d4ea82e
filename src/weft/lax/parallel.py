"""Collectives over named axes: psum, pmean, pmax, pmin, ppermute, pshuffle, pswapaxes, all_gather,
all_to_all, psum_scatter, axis_index, axis_size. Values may be in containers.

`vmap(…, axis_name=…)` and `shard_map` name an axis. Several names may be passed as a tuple: their
elements are counted in row-major order. `axis_index_groups` divides the elements into groups, lists
of element numbers in which each number occurs once, and each group communicates within itself.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..config import thread
from ..core.array import as_value
from ..core.source import located
from ..errors import AxisError, ShapeError
from ..primitives import collectives
from ..primitives.collectives import group_size
from ..primitives.replica_groups import Groups, unbound_axis
from ..primitives.structural import convert_element_type, move_axis, reshape
from ..tree_util import tree_map
from ..user_lines import noted
from .axes import axis_of

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]

_NUMBERS = (bool, int, float, complex)


class _AxisGroup:
    """The axes along which a collective communicates, with their sizes and groups."""

    __slots__ = ("axes", "count", "groups", "sizes")

    def __init__(self, operation: str, axis_name: Any, groups: Any = None, equal: bool = False):
        names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
        self.axes = tuple(names)
        self.sizes = tuple(_size(operation, name) for name in self.axes)
        if len(set(self.axes)) != len(self.axes):
            raise ValueError(f"{operation}: axis names are repeated in {self.axes}")
        self.groups = _groups(operation, groups, math.prod(self.sizes), equal)
        self.count = group_size(self.sizes, self.groups)  # of the first group

    @property
    def params(self) -> dict[str, Any]:
        """The parameters common to all collectives."""
        return {"axes": self.axes, "sizes": self.sizes, "groups": self.groups}


def _size(operation: str, name: Any) -> int:
    """The length of a named axis."""
    for axis_name, size in thread.axes:
        if axis_name == name:
            return size
    raise unbound_axis(operation, name, thread.axes)


def _groups(operation: str, groups: Any, count: int, equal: bool) -> Groups:
    """`axis_index_groups` as tuples; each element must be in one group."""
    if groups is None:
        return None
    try:
        group_tuples = tuple(tuple(operator.index(i) for i in group) for group in groups)
    except TypeError:
        raise TypeError(
            f"{operation}: axis_index_groups must be lists of ints, or None; got {groups!r:.80}"
        ) from None
    if sorted(i for group in group_tuples for i in group) != list(range(count)):
        raise ShapeError(
            f"{operation}: axis_index_groups must have each of the numbers 0 to {count - 1} once; "
            f"got {groups}"
        )
    if equal and len({len(group) for group in group_tuples}) > 1:
        raise ShapeError(
            f"{operation}: axis_index_groups must be of one size; got sizes "
            f"{[len(group) for group in group_tuples]}"
        )
    return group_tuples


def _reduced(
    primitive: Any, x: Any, axis_name: Any, groups: Any, of_number: Callable[[Any, int], Any]
) -> Any:
    """A reduction of all leaves. Python numbers are equal in all elements."""
    axis_group = _AxisGroup(primitive.name, axis_name, groups)
    equal = axis_group.groups is None or len({len(group) for group in axis_group.groups}) == 1

    def leaf(v: Any) -> Any:
        if v.__class__ in _NUMBERS and equal:
            return of_number(v, axis_group.count)
        value = as_value(v)
        if primitive is collectives.psum and dtypes.is_bool(value.dtype):
            value = convert_element_type(value, dtype=dtypes.int32)
        return primitive(value, **axis_group.params) if axis_group.axes else value

    return tree_map(leaf, x)


@located
def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum over a named axis.

    Args:
      x: arrays, in containers; booleans are counted as integers.
      axis_name: the axis, or a tuple of them.
      axis_index_groups: groups, which are summed separately.
    Returns: the same structure; a Python number becomes a Python number, so that `psum(1, name)` is
      the axis's length.
    Raises: UnboundAxisError: no axis of that name is in scope. ValueError: the groups are invalid.
    Example:
      >>> print(weft.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0])))
      [0.25 0.75]
    Source: JAX documentation, `jax.pmap`; StableHLO `all_reduce`.
    """
    return _reduced(collectives.psum, x, axis_name, axis_index_groups, operator.mul)


@located
def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Mean over a named axis; arguments as for `psum`.

    Example:
      >>> print(weft.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0])))
      [-1.  1.]
    Source: JAX documentation, `jax.pmap`.
    """
    sums = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return tree_map(lambda s: s / count, sums)


@located
def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Maximum over a named axis; arguments as for `psum`.

    Elements that share the maximum share its derivative.

    Example:
      >>> print(weft.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.array([1, 3])))
      [3 3]
    Source: StableHLO `all_reduce`.
    """
    return _reduced(collectives.pmax, x, axis_name, axis_index_groups, lambda v, n: v)


@located
def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Minimum over a named axis; arguments as for `psum`.

    Example:
      >>> print(weft.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(np.array([1, 3])))
      [1 1]
    Source: StableHLO `all_reduce`.
    """
    return _reduced(collectives.pmin, x, axis_name, axis_index_groups, lambda v, n: v)


@located
def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends each element's value to another element of a named axis.

    Args:
      x: arrays, in containers.
      axis_name: the axis, or a tuple of them.
      perm: pairs (from, to) of elements' numbers; each sends and receives at most once. An element
        that receives nothing gets zeros.
    Returns: the same structure.
    Raises: ValueError: a number is out of range or repeated.
    Example:
      >>> shift = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])
      >>> print(weft.vmap(shift, axis_name="i")(np.array([5, 6, 7])))
      [0 5 6]
    Source: StableHLO `collective_permute`.
    """
    axis_group = _AxisGroup("ppermute", axis_name)
    pairs = tuple((operator.index(s), operator.index(t)) for s, t in perm)
    for direction, numbers in (("from", [s for s, _ in pairs]), ("to", [t for _, t in pairs])):
        if len(set(numbers)) != len(numbers) or not all(0 <= n < axis_group.count for n in numbers):
            raise ValueError(
                f"ppermute: in perm, the numbers that values go {direction} must be different ones "
                f"of 0 to {axis_group.count - 1}; got {numbers}"
            )
    return tree_map(lambda v: collectives.ppermute(as_value(v), **axis_group.params, perm=pairs), x)


@located
def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permutes the values of the elements of a named axis.

    Args:
      x: arrays, in containers.
      axis_name: the axis.
      perm: for each element, the number of the element whose value it receives.
    Returns: the same structure.
    Raises: ValueError: `perm` is not a permutation of the elements' numbers.
    Example:
      >>> turn = lambda x: lax.pshuffle(x, "i", [2, 0, 1])
      >>> print(weft.vmap(turn, axis_name="i")(np.array([5, 6, 7])))
      [7 5 6]
    Source: StableHLO `collective_permute`.
    """
    axis_group = _AxisGroup("pshuffle", axis_name)
    order = [operator.index(p) for p in perm]
    if sorted(order) != list(range(axis_group.count)):
        raise ValueError(
            f"pshuffle: perm must have each of the numbers 0 to {axis_group.count - 1} once; got "
            f"{perm}"
        )
    return ppermute(x, axis_name, [(source, target) for target, source in enumerate(order)])


@located
def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Gathers the values of all elements of a named axis into each of them.

    Args:
      x: arrays, in containers.
      axis_name: the axis, or a tuple of them.
      axis_index_groups: groups of one size, each of which gathers separately.
      axis: the axis of the result for the elements.
      tiled: whether values are concatenated along that axis; otherwise it is a new axis.
      to: "varying". Other values name types of JAX, which record the axes along which values vary.
        weft's types do not, and the results would be equal.
    Returns: arrays with one more axis, or with one axis longer by the number of elements.
    Raises: ValueError: the axis is out of range, or `to` is unknown. NotImplementedError: another
      `to` of JAX.
    Example:
      >>> print(weft.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.array([1, 3])))
      [[1 3]
       [1 3]]
    Source: StableHLO `all_gather`.
    """
    if to != "varying":
        raise _no_such_type(to)
    axis_group = _AxisGroup("all_gather", axis_name, axis_index_groups, equal=True)

    def leaf(v: Any) -> Any:
        value = as_value(v)
        if tiled:
            dim = axis_of("all_gather", value, axis)
        else:
            dim = _new_axis("all_gather", value, axis)
            value = reshape(value, shape=(*value.shape[:dim], 1, *value.shape[dim:]))
        return collectives.all_gather(value, **axis_group.params, dimension=dim)

    return tree_map(leaf, x)


def _no_such_type(to: Any) -> Exception:
    if to not in ("invarying", "reduced"):
        return ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced'; got {to!r}")
    return noted(
        NotImplementedError(
            f"all_gather: to={to!r} needs a type that weft does not have: types do not say over "
            "which axes values vary\n  fix: leave it out; the values are the same"
        )
    )


def _new_axis(operation: str, x: Any, axis: Any) -> int:
    """The position of an axis that the result has and `x` does not have."""
    dim = operator.index(axis)
    if not -x.ndim - 1 <= dim <= x.ndim:
        raise AxisError(
            f"{operation}: the new axis {axis} is out of range for {x.aval}, which will have "
            f"{x.ndim + 1} axes"
        )
    return dim % (x.ndim + 1)


@located
def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sums over a named axis; each element gets one part of the sum.

    Args:
      x: arrays, in containers.
      axis_name: the axis, or a tuple of them.
      scatter_dimension: the axis of `x` to divide; its length is the number of elements or, if
        tiled, a multiple of it.
      axis_index_groups: groups of one size, which are summed separately.
      tiled: whether the divided axis stays; otherwise it is removed.
    Returns: arrays without that axis, or with a shorter one.
    Raises: ValueError: the axis does not have that length.
    Example:
      >>> x = np.array([[1, 2], [3, 4]])
      >>> print(weft.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(x))
      [4 6]
    Source: StableHLO `reduce_scatter`.
    """
    axis_group = _AxisGroup("psum_scatter", axis_name, axis_index_groups, equal=True)

    def leaf(v: Any) -> Any:
        value = as_value(v)
        dim = axis_of("psum_scatter", value, scatter_dimension)
        _check_parts("psum_scatter", value, dim, axis_group.count, tiled)
        if dtypes.is_bool(value.dtype):
            value = convert_element_type(value, dtype=dtypes.int32)
        out = collectives.psum_scatter(value, **axis_group.params, dimension=dim)
        return out if tiled else reshape(out, shape=(*out.shape[:dim], *out.shape[dim + 1 :]))

    return tree_map(leaf, x)


def _check_parts(operation: str, x: Any, axis: int, count: int, tiled: bool) -> None:
    """Refuses an axis that cannot be divided among the elements."""
    n = x.shape[axis]
    if (n % count if tiled else n != count) or not count:
        expected = f"a multiple of {count}" if tiled else f"{count}"
        hint = "" if tiled or not count or n % count else "\n  fix: tiled=True"
        raise ShapeError(
            f"{operation}: axis {axis} must be of length {expected}, the number of elements; got "
            f"{x.aval}{hint}"
        )


@located
def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Splits each element's value along an axis, and sends part i to element i.

    Args:
      x: arrays, in containers.
      axis_name: the axis, or a tuple of them.
      split_axis: the axis of `x` to divide; its length is the number of elements or, if tiled, a
        multiple of it.
      concat_axis: the axis of the result for the received parts, in the order of their senders.
      axis_index_groups: groups of one size, which exchange separately.
      tiled: whether parts are concatenated along `concat_axis`; otherwise `split_axis` is
        removed, and `concat_axis` is new.
    Returns: arrays with the same number of elements.
    Raises: ValueError: `split_axis` does not have that length.
    Example:
      >>> x = np.array([[1, 2], [3, 4]])
      >>> print(weft.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(x))
      [[1 3]
       [2 4]]
    Source: StableHLO `all_to_all`.
    """
    axis_group = _AxisGroup("all_to_all", axis_name, axis_index_groups, equal=True)

    def leaf(v: Any) -> Any:
        value = as_value(v)
        split_dim = axis_of("all_to_all", value, split_axis)
        new_dim = axis_of("all_to_all", value, concat_axis)
        _check_parts("all_to_all", value, split_dim, axis_group.count, tiled)
        concat_dim = new_dim if tiled else split_dim
        out = collectives.all_to_all(value, **axis_group.params, split=split_dim, concat=concat_dim)
        return out if tiled else move_axis(out, split_dim, new_dim)

    return tree_map(leaf, x)


@located
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swaps an axis of the arrays with a named axis.

    Args:
      x: arrays, in containers.
      axis_name: the named axis.
      axis: an axis of the same length.
      axis_index_groups: groups, which exchange separately.
    Returns: the same structure and shapes.
    Example:
      >>> x = np.array([[1, 2], [3, 4]])
      >>> print(weft.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(x))
      [[1 3]
       [2 4]]
    Source: StableHLO `all_to_all`.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@located
def axis_index(axis_name: Any) -> Any:
    """The number of this element along a named axis: an int32 scalar.

    Args:
      axis_name: the axis, or a tuple of them, counted in row-major order.
    Raises: UnboundAxisError: no axis of that name is in scope.
    Example:
      >>> print(weft.vmap(lambda x: x * lax.axis_index("i"), axis_name="i")(np.array([5, 6, 7])))
      [ 0  6 14]
    Source: StableHLO `replica_id`.
    """
    axis_group = _AxisGroup("axis_index", axis_name)
    return collectives.linear_index(axis_group.axes, axis_group.sizes)


@located
def axis_size(axis_name: Any) -> int:
    """The length of a named axis: a Python integer.

    Args:
      axis_name: the axis; for a tuple, the product.
    Raises: UnboundAxisError: no axis of that name is in scope.
    Example:
      >>> print(weft.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.array([4.0, 6.0])))
      [2. 3.]
    """
    return functools.reduce(operator.mul, _AxisGroup("axis_size", axis_name).sizes, 1)
