"""Reductions over axes: reduce_sum, reduce_max, reduce_min, reduce_prod, reduce_and, reduce_or,
reduce_xor, argmax, argmin, and reduce by any computation. The dtype stays; nothing is promoted."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..primitives import reductions, structural, variadic_reductions
from ..typing import ArrayLike, DTypeLike, PyTree
from .axes import axes_of, axis_of
from .body_functions import values_of
from .scalar_programs import in_dtype_of, is_number, traced_computation

__all__ = [
    "argmax",
    "argmin",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]


def _reduced(primitive: Any, operand: ArrayLike, axes: Sequence[int]) -> Array:
    x = as_value(operand)
    return primitive(x, axes=axes_of(primitive.name, x, axes))


@located
def reduce_sum(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Sum over axes.

    Args:
      operand: array of a numeric dtype; 16-bit floats are summed in float32 and rounded once.
      axes: the axes; negative ones count from the end. Without axes, the operand is returned.
    Returns: array without those axes, dtype of `operand`.
    Raises: TypeError: booleans. ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_sum(np.int32([[1, 2], [3, 4]]), (0,)).tolist()
      [4, 6]
    """
    x = as_value(operand)
    if dtypes.is_bool(x.dtype):
        raise ShapeError(
            f"reduce_sum: expected an operand of number dtype; got {x.aval}\n"
            "  fix: convert with .astype, or use reduce_or"
        )
    return _reduced(structural.reduce_sum, x, axes)


@located
def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Maximum over axes; NaN if any element is NaN.

    Complex numbers are ordered by real part, then imaginary part. Elements that share the maximum
    share its derivative equally.

    Args:
      operand: array, any dtype.
      axes: the axes.
    Returns: array without those axes; without elements, the minimum of the dtype (-inf for floats).
    Raises: ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_max(np.int32([[1, 2], [3, 0]]), (1,)).tolist()
      [2, 3]
    """
    return _reduced(reductions.reduce_max, operand, axes)


@located
def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Minimum over axes; otherwise like `reduce_max`.

    Args:
      operand: array, any dtype.
      axes: the axes.
    Returns: array without those axes; without elements, the maximum of the dtype (inf for floats).
    Raises: ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_min(np.int32([[1, 2], [3, 0]]), (1,)).tolist()
      [1, 0]
    """
    return _reduced(reductions.reduce_min, operand, axes)


@located
def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Product over axes. Its derivatives are exact where elements are zero.

    Args:
      operand: array of a numeric dtype.
      axes: the axes.
    Returns: array without those axes, dtype of `operand`.
    Raises: TypeError: booleans. ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_prod(np.int32([[1, 2], [3, 4]]), (0, 1)).tolist()
      24
    """
    return _reduced(reductions.reduce_prod, operand, axes)


@located
def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Bitwise *and* over axes; for booleans, whether all are true.

    Args:
      operand: array of bool or integer dtype.
      axes: the axes.
    Returns: array without those axes; without elements, all bits are set.
    Raises: TypeError: an unsupported dtype. ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_and(np.array([[True, False], [True, True]]), (1,)).tolist()
      [False, True]
    """
    return _reduced(reductions.reduce_and, operand, axes)


@located
def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Bitwise *or* over axes; for booleans, whether any is true.

    Args:
      operand: array of bool or integer dtype.
      axes: the axes.
    Returns: array without those axes; without elements, no bits are set.
    Raises: TypeError: an unsupported dtype. ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_or(np.int32([1, 6]), (0,)).tolist()
      7
    """
    return _reduced(reductions.reduce_or, operand, axes)


@located
def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Bitwise exclusive *or* over axes; for booleans, whether an odd number is true.

    Args:
      operand: array of bool or integer dtype.
      axes: the axes.
    Returns: array without those axes; without elements, no bits are set.
    Raises: TypeError: an unsupported dtype. ValueError: an axis is out of range or repeated.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_xor(np.int32([5, 6]), (0,)).tolist()
      3
    """
    return _reduced(reductions.reduce_xor, operand, axes)


@located
def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike = "int32") -> Array:
    """The index of the maximum along an axis: the first of equal ones; a NaN counts as the maximum.

    Args:
      operand: array of a real or bool dtype.
      axis: the axis; not empty.
      index_dtype: integer dtype of the result.
    Returns: array of indices without that axis.
    Raises: TypeError: complex elements, or `index_dtype` is not an integer dtype. ValueError: the
      axis is out of range or empty.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.argmax(np.float32([[1, 5, 5], [np.nan, 0, 7]]), 1).tolist()
      [1, 0]
    """
    return _place(reductions.argmax, operand, axis, index_dtype)


@located
def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike = "int32") -> Array:
    """The index of the minimum along an axis: the first of equal ones; a NaN counts as the minimum.

    Args:
      operand: array of a real or bool dtype.
      axis: the axis; not empty.
      index_dtype: integer dtype of the result.
    Returns: array of indices without that axis.
    Raises: TypeError: complex elements, or `index_dtype` is not an integer dtype. ValueError: the
      axis is out of range or empty.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.argmin(np.float32([[1, 5, 1], [3, 0, 7]]), 1).tolist()
      [0, 1]
    """
    return _place(reductions.argmin, operand, axis, index_dtype)


def _place(primitive: Any, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    x = as_value(operand)
    dtype = dtypes.requested_dtype(index_dtype, primitive.name)
    return primitive(x, axis=axis_of(primitive.name, x, axis), dtype=dtype)


@located
def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> PyTree:
    """Reduces axes by an associative computation, from initial values.

    The computation may be applied in any order, and to the initial value more than once: it should
    be associative, and the initial value its identity.

    Args:
      operands: array, or a tree of arrays of one shape that are reduced together.
      init_values: a scalar for each array, in the same structure.
      computation: `(so_far, element) -> so_far`, of scalars in the structure of `operands`.
        Sums, products, extremes and bitwise logic are recognised and fast. The derivative of others
        applies the computation to halves of the array, and so on: it should be made of elementwise
        operations.
      dimensions: the axes.
    Returns: arrays without those axes, in the structure of `operands`.
    Raises: TypeError: structures, shapes or dtypes are inconsistent. ValueError: an axis is out of
      range. MissingRuleError: differentiation of a computation with loops, branches or the like.
    Source: StableHLO `reduce`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce(np.float32([[1, 2], [3, 4]]), 0.0, lambda x, y: x + y, (1,)).tolist()
      [3.0, 7.0]
    """
    xs, tree = values_of("reduce", "operands", operands)
    if not xs:
        raise TypeError("reduce: expected at least one operand; got none")
    inits, init_tree = initial_values("reduce", xs, init_values)
    if tree != init_tree:
        raise ShapeError(
            f"reduce: operands and init_values must have one structure; got {tree} and {init_tree}"
        )
    axes = axes_of("reduce", xs[0], dimensions, "dimensions")
    jaxpr, name = traced_computation("reduce", computation, tree, [x.aval for x in xs])
    if name is None or xs[0].dtype != inits[0].dtype or inits[0].ndim:
        results = variadic_reductions.reduce(*xs, *inits, jaxpr=jaxpr, axes=axes)
        return tree.unflatten(results)
    x = xs[0]
    if x.aval.weak_type and not inits[0].aval.weak_type:
        x = structural.convert_element_type(x, dtype=x.dtype, weak_type=False)
    by_monoid, monoid = reductions.BY_OPERATION[name]
    result = by_monoid(x, axes=axes)
    if not is_number(inits[0], monoid.identity(x.dtype)):
        result = monoid.by(inits[0], result)
    return tree.unflatten([result])


def initial_values(name: str, xs: Sequence[Any], init_values: PyTree) -> tuple[list[Any], Any]:
    """Initial values, with weak ones in the dtypes of the operands; and their structure."""
    inits, tree = values_of(name, "init_values", init_values)
    if len(inits) == len(xs):
        inits = [in_dtype_of(i, x) for i, x in zip(inits, xs, strict=True)]
    return inits, tree
