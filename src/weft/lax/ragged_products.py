"""ragged_dot, ragged_dot_general and RaggedDotDimensionNumbers: products with one matrix for each
group of rows, with group sizes known at run time.

Each group's product is computed over all rows and masked, as XLA does where it has no kernel for
it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives import creation, structural
from ..primitives.creation import iota
from ..primitives.cumulative import cumsum
from ..primitives.selection import where
from ..typing import ArrayLike, DTypeLike
from .loops import scan
from .products import DotDimensionNumbers, PrecisionLike, dot_general

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]

INT32 = np.dtype(np.int32)


class RaggedDotDimensionNumbers(NamedTuple):
    """The axes of a ragged product.

    Attributes:
      dot_dimension_numbers: as in `dot_general`; the axis of groups is counted.
      lhs_ragged_dimensions: the axis of `lhs` that is divided into groups.
      rhs_group_dimensions: the axis of `rhs` with the groups, if it has one.
    Example:
      >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
      >>> x, w = np.ones((4, 2)), np.stack([np.ones((2, 3)), 10 * np.ones((2, 3))])
      >>> lax.ragged_dot_general(x, w, np.array([1, 3]), numbers)
      Array([[ 2.,  2.,  2.],
             [20., 20., 20.],
             [20., 20., 20.],
             [20., 20., 20.]], dtype=float32)
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


@located
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: None = None,
) -> Array:
    """Rows times the matrix of their group: the first rows belong to the first group, and so on.

    Args:
      lhs: array [m, k].
      rhs: array [groups, k, n].
      group_sizes: integers [groups], the number of rows of each group. Rows after the last group
        get 0.
      precision, preferred_element_type: as in `dot_general`.
      group_offset: must be None.
      out_sharding: must be None.
    Returns: array [m, n].
    Raises: TypeError, ValueError: shapes, dtypes or options are inconsistent.
    Source: JAX documentation, `jax.lax.ragged_dot`.
    Example:
      >>> rows, matrices = np.ones((3, 1)), np.array([[[2.0]], [[5.0]]])
      >>> lax.ragged_dot(rows, matrices, np.array([1, 2])).tolist()
      [[2.0], [5.0], [5.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    x, y = as_value(lhs), as_value(rhs)
    if x.ndim != 2 or y.ndim != 3:
        raise ShapeError(
            f"ragged_dot: expected lhs [m, k] and rhs [groups, k, n]; got {x.aval} and {y.aval}"
        )
    return _ragged(
        "ragged_dot", x, y, group_sizes, numbers, precision, preferred_element_type,
        group_offset, out_sharding,
    )  # fmt: skip


@located
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: None = None,
) -> Array:
    """Products of two arrays, with one axis divided into groups of run-time sizes.

    Along the ragged axis of `lhs` the first elements belong to the first group, and so on; elements
    after the last group are ignored. If the axis is neither contracted nor a batch axis, `rhs` has
    an axis of groups. If it is contracted, the first axis of the result is the groups. If it is a
    batch axis, the result equals `dot_general`'s, with zeros for ignored elements.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers [groups], or [*outer, groups], where `outer` are the axes of `lhs` of
        the same kind, batch axes before all, that are named before the ragged one.
      ragged_dot_dimension_numbers: the role of each axis.
      precision, preferred_element_type: as in `dot_general`.
      group_offset: must be None.
      out_sharding: must be None.
    Returns: array with the axes of `dot_general`, and the axis of groups.
    Raises: TypeError, ValueError: shapes, dtypes or options are inconsistent.
    Source: JAX documentation, `jax.lax.ragged_dot_general`.
    Example:
      >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
      >>> x = np.array([[1.0], [2.0], [3.0]])
      >>> lax.ragged_dot_general(x, x, np.array([1, 2]), numbers).tolist()
      [[[1.0]], [[13.0]]]
    """
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            "ragged_dot_general: ragged_dot_dimension_numbers must be RaggedDotDimensionNumbers; "
            f"got {ragged_dot_dimension_numbers!r:.80}"
        )
    return _ragged(
        "ragged_dot_general", as_value(lhs), as_value(rhs), group_sizes,
        ragged_dot_dimension_numbers, precision, preferred_element_type, group_offset, out_sharding,
    )  # fmt: skip


class _RaggedAxes(NamedTuple):
    """The axes of a ragged product, checked.

    Attributes:
      dims: the dimension numbers of `dot_general`, for `lhs` and all of `rhs`.
      axis: the axis of `lhs` to divide.
      kind: its role in the product: "contracting", "batch" or "free".
      outer: the axes of `lhs` before it, in the order of `group_sizes`.
      groups: the axis of groups of `rhs`, or `None`.
    """

    dims: Any
    axis: int
    kind: str
    outer: tuple[int, ...]
    groups: int | None


def _ragged_axes(name: str, x: Any, numbers: RaggedDotDimensionNumbers) -> _RaggedAxes:
    pairs = numbers.dot_dimension_numbers
    dims = tuple([tuple([ints_of(name, "axes", axes) for axes in pair]) for pair in pairs])
    contracting, batch = dims[0][0], dims[1][0]
    ragged_axes = ints_of(name, "lhs_ragged_dimensions", numbers.lhs_ragged_dimensions)
    group_axes = ints_of(name, "rhs_group_dimensions", numbers.rhs_group_dimensions)
    if len(ragged_axes) != 1 or not 0 <= ragged_axes[0] < x.ndim:
        raise ShapeError(f"{name}: one axis of lhs must be ragged; got {ragged_axes} for {x.aval}")
    (axis,) = ragged_axes
    kind = "contracting" if axis in contracting else "batch" if axis in batch else "free"
    if len(group_axes) != (kind == "free"):
        raise ShapeError(
            f"{name}: rhs must have {'one axis' if kind == 'free' else 'no axis'} of groups if the "
            f"ragged axis is {kind}; got {group_axes}"
        )
    free_axes = tuple(i for i in range(x.ndim) if i not in (*batch, *contracting))
    outer_axes = {
        "batch": batch,
        "contracting": (*batch, *contracting),
        "free": (*batch, *free_axes),
    }[kind]
    return _RaggedAxes(
        dims,
        axis,
        kind,
        outer_axes[: outer_axes.index(axis)],
        group_axes[0] if group_axes else None,
    )


def _ragged(
    name: str,
    x: Any,
    y: Any,
    group_sizes: Any,
    numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred: Any,
    group_offset: Any,
    out_sharding: Any,
) -> Array:
    if group_offset is not None or out_sharding is not None:
        option = "out_sharding" if group_offset is None else "group_offset"
        raise ValueError(
            f"{name}: {option} must be None\n"
            "  fix: leave it out; slice the groups, or put the result where it should be"
        )
    form = _ragged_axes(name, x, numbers)
    sizes = as_value(group_sizes)
    if not dtypes.is_integer(sizes.dtype) or not sizes.ndim:
        raise ShapeError(f"{name}: group_sizes must be integers [groups]; got {sizes.aval}")
    starts, ends = _bounds(name, x, sizes, form.outer)
    positions = _along(x, form.axis)
    zero = creation.full(x.aval.update(shape=(), weak_type=False), 0)

    def product(x: Any, y: Any, dims: Any = form.dims) -> Any:
        return dot_general(x, y, dims, precision, preferred)

    def of_group(start: Any, end: Any) -> Any:
        return where((positions >= start) & (positions < end), x, zero)

    if form.kind == "batch":
        return product(of_group(starts[0], ends[-1]), y)
    if form.kind == "contracting":
        _, parts = scan(lambda _, b: (None, product(of_group(*b), y)), None, (starts, ends))
        return parts
    if not starts.shape[0] or y.shape[form.groups] != starts.shape[0]:
        raise ShapeError(
            f"{name}: rhs {y.aval} must have as many groups along axis {form.groups} as "
            f"group_sizes {sizes.aval}, at least one"
        )
    y, dims = _groups_first(y, form)
    start = product(creation.full(x.aval.strong(), 0), y[0], dims)

    def step(total: Any, group: Any) -> tuple[Any, None]:
        *bounds, matrix = group
        return total + product(of_group(*bounds), matrix, dims), None

    return scan(step, start, (starts, ends, y))[0]


def _groups_first(y: Any, form: _RaggedAxes) -> tuple[Any, Any]:
    """`rhs` with its axis of groups first, and the axes of one group's product."""
    group_axis = form.groups
    assert group_axis is not None
    order = (group_axis, *(i for i in range(y.ndim) if i != group_axis))
    dims = tuple(
        [(left, tuple([i - (i > group_axis) for i in right])) for left, right in form.dims]
    )
    return structural.transpose(y, permutation=order), dims


def _along(x: Any, axis: int) -> Any:
    """Indices along an axis, which broadcast with `x`."""
    indices = iota(dtype=INT32, shape=(x.shape[axis],), dimension=0)
    return structural.reshape(
        indices, shape=tuple(n if i == axis else 1 for i, n in enumerate(x.shape))
    )


def _bounds(name: str, x: Any, sizes: Any, outer_axes: tuple[int, ...]) -> tuple[Any, Any]:
    """The start and the end of each group: [groups, *axes of `x`], which broadcast with `x`."""
    shape = tuple(x.shape[i] for i in outer_axes)
    if sizes.ndim > 1 and sizes.shape[:-1] != shape:
        raise ShapeError(
            f"{name}: group_sizes must be integers [groups] or {[*shape, 'groups']}; got "
            f"{sizes.aval}"
        )
    sizes = structural.convert_element_type(sizes, dtype=INT32)
    ends = cumsum(sizes, axis=sizes.ndim - 1, reverse=False)
    results = []
    for bound in (ends - sizes, ends):
        order = (bound.ndim - 1, *range(bound.ndim - 1))
        bound = structural.transpose(bound, permutation=order)
        lengths = [1] * x.ndim
        if bound.ndim > 1:
            axis_order = sorted(range(len(outer_axes)), key=lambda i: outer_axes[i])
            bound = structural.transpose(bound, permutation=(0, *(i + 1 for i in axis_order)))
            for i in outer_axes:
                lengths[i] = x.shape[i]
        results.append(structural.reshape(bound, shape=(bound.shape[0], *lengths)))
    return results[0], results[1]
