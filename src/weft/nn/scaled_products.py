"""Products of matrices in narrow dtypes, with a scale for each block of a row."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.contraction import dot_general
from ..numpy.creation import wanted_dtype
from ..numpy.plans import composite
from ..numpy.promotion import cast, value
from ..primitives import structural
from ..typing import ArrayLike, DTypeLike

__all__ = ["scaled_matmul"]

NAME = "scaled_matmul"


@composite
def _scaled_matmul(a: Any, b: Any, a_scales: Any, b_scales: Any, *, dtype: Any) -> Any:
    wide = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32

    def scaled(x: Any, scales: Any) -> Any:
        blocks = scales.shape[2]
        size = x.shape[2] // blocks if blocks else 0
        x = structural.reshape(cast(x, wide), shape=(*x.shape[:2], blocks, size))
        x = x * structural.reshape(cast(scales, wide), shape=(*scales.shape, 1))
        return structural.reshape(x, shape=(*x.shape[:2], blocks * size))

    numbers = (((2,), (2,)), ((0,), (0,)))
    return cast(dot_general(scaled(a, a_scales), scaled(b, b_scales), numbers), dtype)


@located
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The products of rows of two matrices, each block of a row times its scale.

    Args:
      lhs: [batch, m, k], any real dtype; 8-bit and 4-bit floats are what it is for.
      rhs: [batch, n, k].
      lhs_scales: [batch, m, blocks of k]: a row has as many blocks, of one size, as it has scales.
      rhs_scales: [batch, n, blocks of k].
      preferred_element_type: the dtype of the result. Sums are of float32, or float64 for it.
    Returns: array [batch, m, n].
    Raises: TypeError: shapes or dtypes don't fit.
    Example:
      >>> from weft import nn
      >>> a, b = np.array([[[1, 2, 3]]]), np.array([[[4, 5, 6]]])
      >>> half = np.array([[[0.5]]])
      >>> nn.scaled_matmul(a, b, half, half).tolist()
      [[[8.0]]]
    Source: JAX documentation, `jax.nn.scaled_matmul`; OCP Microscaling Formats (MX) v1.0.
    """
    given = {"lhs": lhs, "rhs": rhs, "lhs_scales": lhs_scales, "rhs_scales": rhs_scales}
    found = {argument: value(NAME, x, argument) for argument, x in given.items()}
    for argument, x in found.items():
        if x.ndim != 3 or dtypes.is_complex(x.dtype):
            raise ShapeError(f"{NAME}: {argument} must be real, with three axes; got {x.aval}")
    a, b, a_scales, b_scales = found.values()
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[2]:
        raise ShapeError(
            f"{NAME}: expected lhs [batch, m, k] and rhs [batch, n, k]; got {a.aval} and {b.aval}"
        )
    for argument, x, scales in (("lhs", a, a_scales), ("rhs", b, b_scales)):
        blocks = scales.shape[2]
        if scales.shape[:2] != x.shape[:2] or (x.shape[2] % blocks if blocks else x.shape[2]):
            raise ShapeError(
                f"{NAME}: {argument}_scales must be [{x.shape[0]}, {x.shape[1]}, blocks], where "
                f"blocks divides {x.shape[2]}; got {scales.aval}"
            )
    dtype = wanted_dtype(NAME, preferred_element_type)
    return _scaled_matmul(a, b, a_scales, b_scales, dtype=dtype)
