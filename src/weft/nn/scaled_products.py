"""Matrix products in narrow dtypes, with a scale for each block of a row.

scaled_matmul multiplies operands that come with scales; scaled_dot_general first rounds its
operands to 8 or 4 bits, according to a BlockScaleConfig (get_scaled_dot_general_config makes one).
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, numpy as wnp
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.products import dot_general
from ..numpy.creation import dtype_argument
from ..numpy.plans import composite
from ..numpy.promotion import cast, value
from ..primitives import structural
from ..transforms.custom_derivatives import custom_vjp
from ..transforms.tracing import eval_shape
from ..typing import ArrayLike, DTypeLike

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]


class BlockScaleConfig(NamedTuple):
    """The rounding of an array: blocks of `block_size` elements along the summed axis, of
    `data_type`; each is multiplied by a scale of `scale_type`, and all by `global_scale`."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None


MODES = {
    "nvfp4": BlockScaleConfig("nvfp4", 16, dtypes.float4_e2m1fn, dtypes.float8_e4m3fn),
    "mxfp8": BlockScaleConfig("mxfp8", 32, dtypes.float8_e4m3fn, dtypes.float8_e8m0fnu),
}
OPERAND_DTYPES = (dtypes.float32, dtypes.float16, np.dtype(dtypes.bfloat16))


@located
def get_scaled_dot_general_config(
    mode: str, global_scale: ArrayLike | None = None
) -> BlockScaleConfig:
    """A rounding of an operand, for `scaled_dot_general`.

    Args:
      mode: "mxfp8": float8_e4m3fn, 32 elements per block, with powers of two as scales; "nvfp4":
        float4_e2m1fn, 16 elements per block, with scales of float8_e4m3fn.
      global_scale: a float32 with one element, a factor of all scales, for "nvfp4" only; 1 by
        default.
    Raises: ValueError: an unknown mode, or a global scale for mxfp8.
    Example:
      >>> from weft import nn
      >>> nn.get_scaled_dot_general_config("mxfp8").block_size
      32
    Source: JAX documentation, `jax.nn.get_scaled_dot_general_config`.
    """
    if mode not in MODES:
        raise ValueError(
            f"get_scaled_dot_general_config: mode must be 'nvfp4' or 'mxfp8'; got {mode!r}"
        )
    if mode == "mxfp8":
        if global_scale is not None:
            raise ValueError(
                "get_scaled_dot_general_config: global_scale is for mode 'nvfp4': scales of "
                "'mxfp8' reach as far as float32"
            )
        return MODES[mode]
    scale = wnp.ones(1, "float32") if global_scale is None else wnp.asarray(global_scale)
    if scale.dtype != dtypes.float32 or scale.size != 1:
        raise ShapeError(
            f"get_scaled_dot_general_config: global_scale must be a float32; got {scale.aval}"
        )
    return MODES[mode]._replace(global_scale=scale.reshape(()))


def quantize_blocks(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """(data, scales) for [batch, rows, k]; the last block is padded with zeros.

    Sources: OCP Microscaling Formats (MX) v1.0, 6.3; NVIDIA, cuDNN documentation, NVFP4.
    """
    block_size = config.block_size
    x = wnp.pad(x.astype("float32"), ((0, 0), (0, 0), (0, -x.shape[2] % block_size)))
    blocks = x.reshape(*x.shape[:2], -1, block_size)
    if config.global_scale is not None:
        blocks = blocks / config.global_scale
    block_maximum, largest_number = (
        wnp.abs(blocks).max(-1, initial=0.0),
        float(dtypes.finfo(config.data_type).max),
    )
    if config.mode == "mxfp8":  # scale the largest to the last binade of the elements
        exponent = wnp.frexp(block_maximum)[1] - int(np.frexp(largest_number)[1])
        scales = wnp.ldexp(wnp.float32(1), wnp.clip(exponent, -126, 127))
    else:
        scales = wnp.minimum(
            block_maximum / largest_number, float(dtypes.finfo(config.scale_type).max)
        )
    scales = scales.astype(config.scale_type)
    scales32 = scales.astype("float32")[..., None]
    blocks = wnp.where(scales32 == 0, 0.0, blocks / wnp.where(scales32 == 0, 1.0, scales32))
    data = wnp.clip(blocks, -largest_number, largest_number).astype(config.data_type)
    return data.reshape(x.shape), scales


def rounded_product(a: Any, b: Any, a_config: BlockScaleConfig, b_config: BlockScaleConfig) -> Any:
    """The product of [batch, m, k] and [batch, n, k], both rounded, as float32 [batch, m, n]."""
    (a, a_scales), (b, b_scales) = quantize_blocks(a, a_config), quantize_blocks(b, b_config)
    result = scaled_matmul(a, b, a_scales, b_scales)
    for config in (a_config, b_config):
        if config.global_scale is not None:
            result = result * config.global_scale
    return result


Scales = tuple[Any, ...]
Modes = tuple[str, ...]


def configured(scales: Scales, modes: Modes) -> list[BlockScaleConfig]:
    """Configurations from their arrays and other values."""
    return [MODES[m]._replace(global_scale=s) for m, s in zip(modes, scales, strict=True)]


@functools.partial(custom_vjp, nondiff_argnums=(3,))
def product(a: Any, b: Any, scales: Scales, modes: Modes) -> Any:
    """`rounded_product`, whose derivatives are rounded products too."""
    a_config, b_config, _ = configured(scales, modes)
    return rounded_product(a, b, a_config, b_config)


def _forward(a: Any, b: Any, scales: Scales, modes: Modes) -> tuple[Any, Any]:
    return product(a, b, scales, modes), (a, b, scales)


def _backward(modes: Modes, residuals: Any, ct: Any) -> tuple[Any, Any, None]:
    a, b, scales = residuals
    a_config, b_config, ct_config = configured(scales, modes)
    da = rounded_product(ct, wnp.swapaxes(b, 1, 2), ct_config, b_config)
    db = rounded_product(wnp.swapaxes(ct, 1, 2), wnp.swapaxes(a, 1, 2), ct_config, a_config)
    return da.astype(a.dtype), db.astype(b.dtype), None


product.defvjp(_forward, _backward)


@located
def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """`lax.dot_general` with operands that are rounded block by block to narrow dtypes.

    Derivatives with respect to the operands are products of the cotangent and the other operand,
    both rounded in the same way.

    Args:
      lhs, rhs: arrays of float32, bfloat16 or float16.
      dimension_numbers: ((axes of lhs, of rhs that are summed), (batch axes of lhs, of rhs)).
      preferred_element_type: the dtype of the result, one of these three.
      configs: the roundings of lhs, rhs and cotangents, from `get_scaled_dot_general_config`.
        `None` does not round.
      implementation: None or "cudnn"; has no effect.
    Returns: array with the batch axes, then the other axes of lhs, then the other axes of rhs.
    Raises: ShapeError: another dtype, or shapes that do not match. TypeError, ValueError: an option
      is invalid.
    Example:
      >>> import weft.numpy as np
      >>> from weft import nn
      >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
      >>> x = np.full((1, 64), 0.3)
      >>> print(nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs))
      [[6.25]]
    Source: JAX documentation, `jax.nn.scaled_dot_general`.
    """
    name = "scaled_dot_general"
    if implementation not in (None, "cudnn"):
        raise ValueError(f"{name}: implementation must be None or 'cudnn'; got {implementation!r}")
    dtype = dtype_argument(name, preferred_element_type)
    x, y = value(name, lhs, "lhs"), value(name, rhs, "rhs")
    for argument, operand in (("lhs", x), ("rhs", y)):
        if operand.dtype not in OPERAND_DTYPES:
            raise ShapeError(
                f"{name}: {argument} must be float32, bfloat16 or float16; got {operand.aval}"
            )
    if dtype not in OPERAND_DTYPES:
        raise ShapeError(
            f"{name}: preferred_element_type must be float32, bfloat16 or float16; got {dtype}"
        )
    if configs is None:
        return dot_general(x, y, dimension_numbers, preferred_element_type=dtype)
    if len(configs) != 3 or not all(isinstance(c, BlockScaleConfig) for c in configs):
        raise TypeError(
            f"{name}: configs must be three of get_scaled_dot_general_config: of lhs, rhs and "
            f"cotangents; got {configs!r:.80}"
        )
    # checks the numbers, and determines the shape
    unscaled_product = functools.partial(dot_general, dimension_numbers=dimension_numbers)
    shape = eval_shape(unscaled_product, x.astype("float32"), y.astype("float32")).shape
    (summed_x, summed_y), (batch_x, batch_y) = dimension_numbers
    a, b = flattened(x, batch_x, summed_x), flattened(y, batch_y, summed_y)
    scales = tuple([c.global_scale for c in configs])
    result = product(a, b, scales, tuple([c.mode for c in configs]))
    return result.reshape(shape).astype(dtype)


def flattened(x: Any, batch: Sequence[int], summed_axes: Sequence[int]) -> Any:
    """An array as [batch, others, summed]."""
    free_axes = [i for i in range(x.ndim) if i not in batch and i not in summed_axes]
    sizes = [math.prod(x.shape[i] for i in axes) for axes in (batch, free_axes, summed_axes)]
    return x.transpose(*batch, *free_axes, *summed_axes).reshape(sizes)


NAME = "scaled_matmul"


@composite
def _scaled_matmul(a: Any, b: Any, a_scales: Any, b_scales: Any, *, dtype: Any) -> Any:
    sum_dtype = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32

    def multiply_scales(x: Any, scales: Any) -> Any:
        blocks = scales.shape[2]
        block_size = x.shape[2] // blocks if blocks else 0
        x = structural.reshape(cast(x, sum_dtype), shape=(*x.shape[:2], blocks, block_size))
        x = x * structural.reshape(cast(scales, sum_dtype), shape=(*scales.shape, 1))
        return structural.reshape(x, shape=(*x.shape[:2], blocks * block_size))

    dimension_numbers = (((2,), (2,)), ((0,), (0,)))
    return cast(
        dot_general(multiply_scales(a, a_scales), multiply_scales(b, b_scales), dimension_numbers),
        dtype,
    )


@located
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The products of rows of two matrices; each block of a row is multiplied by its scale.

    Args:
      lhs: [batch, m, k], any real dtype, usually 8-bit or 4-bit floats.
      rhs: [batch, n, k].
      lhs_scales: [batch, m, blocks of k]; the number of scales of a row determines its blocks,
        which have equal sizes.
      rhs_scales: [batch, n, blocks of k].
      preferred_element_type: the dtype of the result. Sums are float32, or float64 for float64.
    Returns: array [batch, m, n].
    Raises: TypeError: shapes or dtypes do not match.
    Example:
      >>> from weft import nn
      >>> a, b = np.array([[[1, 2, 3]]]), np.array([[[4, 5, 6]]])
      >>> half = np.array([[[0.5]]])
      >>> nn.scaled_matmul(a, b, half, half).tolist()
      [[[8.0]]]
    Source: JAX documentation, `jax.nn.scaled_matmul`; OCP Microscaling Formats (MX) v1.0.
    """
    arguments = {"lhs": lhs, "rhs": rhs, "lhs_scales": lhs_scales, "rhs_scales": rhs_scales}
    operands = {argument: value(NAME, x, argument) for argument, x in arguments.items()}
    for argument, x in operands.items():
        if x.ndim != 3 or dtypes.is_complex(x.dtype):
            raise ShapeError(f"{NAME}: {argument} must be real, with three axes; got {x.aval}")
    a, b, a_scales, b_scales = operands.values()
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
    dtype = dtype_argument(NAME, preferred_element_type)
    return _scaled_matmul(a, b, a_scales, b_scales, dtype=dtype)
