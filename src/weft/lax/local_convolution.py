"""conv_general_dilated_local: convolutions with a separate kernel for each output position."""

import math
from collections.abc import Sequence
from typing import Any

from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..primitives import structural
from ..typing import ArrayLike
from .convolution import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    conv_general_dilated_patches,
)
from .products import PrecisionLike, dot_general

__all__ = ["conv_general_dilated_local"]

NAME = "conv_general_dilated_local"


@located
def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a separate kernel at each output position ("locally connected").

    Args:
      lhs: array with a batch axis, a feature axis and n spatial axes.
      rhs: the kernels. Its spatial axes are the output's; its in-features are the features
        of `lhs` times the elements of the window, with the elements varying fastest.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as in
        `conv_general_dilated`.
      filter_shape: n ints: the window's spatial shape, in the order of `rhs`.
    Returns: array with batch, out-features and spatial axes.
    Raises: TypeError, ValueError: as `conv_general_dilated`.
    Source: JAX documentation, `jax.lax.conv_general_dilated_local`.
    Example:
      >>> x = np.array([[[1.0, 2.0, 3.0]]])
      >>> kernels = np.array([[[1.0, 0.0], [1.0, 10.0]]])    # [out, window, place]
      >>> lax.conv_general_dilated_local(x, kernels, (1,), 'VALID', (2,)).tolist()
      [[[3.0, 30.0]]]
    """
    x, kernels = as_value(lhs), as_value(rhs)
    numbers = conv_dimension_numbers(x.shape, kernels.shape, dimension_numbers)
    patches: Any = conv_general_dilated_patches(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision
    )
    out_batch, out_features, *out_spatial = numbers.out_spec
    _, rhs_in, *rhs_spatial = numbers.rhs_spec
    out_lengths = [patches.shape[i] for i in out_spatial]
    features = x.shape[numbers.lhs_spec[1]] * math.prod(filter_shape)
    expected_lengths = {rhs_in: features, **dict(zip(rhs_spatial, out_lengths, strict=True))}
    if any(kernels.shape[i] != n for i, n in expected_lengths.items()):
        shape = [expected_lengths.get(i, kernels.shape[i]) for i in range(kernels.ndim)]
        raise ShapeError(
            f"{NAME}: rhs must be {kernels.dtype}{shape}, for lhs {x.aval} and filter_shape "
            f"{tuple(filter_shape)}; got {kernels.aval}"
        )
    dims = (((out_features,), (rhs_in,)), (tuple(out_spatial), tuple(rhs_spatial)))
    product: Any = dot_general(
        patches, kernels, dims, precision
    )  # [*out_lengths, batch, out-features]
    n = len(out_lengths)
    order = [0] * (n + 2)
    order[out_batch], order[out_features] = n, n + 1
    for i, axis in enumerate(out_spatial):
        order[axis] = i
    return structural.transpose(product, permutation=tuple(order))
