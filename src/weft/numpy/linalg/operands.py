"""Operands of linear algebra: stacks of matrices in a dtype that the decompositions support.

Integers become the default float; float16 and bfloat16 are computed in float32, and the results
are rounded back.
"""

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...errors import ShapeError
from ...primitives.linalg import matrix_operations
from ..promotion import cast, noted, promote_values, strong, value

# annotated here, because rules return `Value` and public functions return `Array`
adjoint: Callable[[Any], Any] = matrix_operations.adjoint
turned: Callable[[Any], Any] = matrix_operations.matrix_transpose
identities: Callable[..., Any] = matrix_operations.identities


def matrices(name: str, a: Any, argument: str = "a", square: bool = False) -> Any:
    """A value of an inexact dtype that is a stack of matrices."""
    x = value(name, a, argument)
    check_matrices(name, x, argument, square)
    if not x.aval.inexact:
        x = cast(x, dtypes.default_float())
    return strong(x) if x.aval.weak_type else x


def check_matrices(name: str, x: Any, argument: str, square: bool) -> None:
    """Raises an error for fewer than two axes, or for matrices that are not square if required."""
    shape = x.aval.shape
    if len(shape) < 2:
        raise noted(ShapeError(f"{name}: {argument} must have at least two axes; got {x.aval}"))
    if square and shape[-1] != shape[-2]:
        raise noted(
            ShapeError(
                f"{name}: {argument} must be square, with last two axes of equal length; got "
                f"{x.aval}"
            )
        )


def pair(name: str, a: Any, b: Any) -> list[Any]:
    """Two operands as values of one inexact dtype."""
    x, y = promote_values(name, value(name, a, "a"), value(name, b, "b"), to_inexact=True)
    return [strong(x), strong(y)]


def in_wide_dtype(x: Any) -> Any:
    """The value in the computation dtype."""
    dtype = wide_dtype(x.aval.dtype)
    return x if dtype is x.aval.dtype else cast(x, dtype)


def wide_dtype(dtype: Any) -> Any:
    """The computation dtype: float32 for smaller floats."""
    return dtype if dtype.itemsize > 2 else dtypes.float32


def rounded(x: Any, dtype: Any) -> Any:
    """A result in the dtype of the operand, or in the dtype of its real part."""
    if dtypes.is_complex(dtype) and not dtypes.is_complex(x.aval.dtype):
        dtype = dtypes.real_of(dtype)
    return x if x.aval.dtype == dtype else cast(x, dtype)
