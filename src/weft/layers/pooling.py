"""MaxPool, AvgPool and SumPool: reductions of windows of arrays."""

from collections.abc import Sequence
from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from .base import Fn, Layer

__all__ = ["AvgPool", "MaxPool", "SumPool"]

PADDINGS = ("VALID", "SAME")


def MaxPool(
    pool_size: Sequence[int] = (2, 2),
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
) -> Layer:
    """A layer that computes the largest element of each window.

    Windows extend over all axes except the first and the last.

    Args:
      pool_size: the lengths of the window, n - 2 numbers for arrays with n axes.
      strides: the distances between windows, n - 2 numbers; by default 1.
      padding: 'VALID' omits windows that extend beyond the array; 'SAME' cuts them off at the
        border.
    Returns: a layer from an array [batch, d₁, …, d₍ₙ₋₂₎, features] to an array of the same rank,
      with spatial lengths ⌊(d - size) / stride⌋ + 1 with 'VALID', and ⌈d / stride⌉ with 'SAME'.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array has another number of axes, or is smaller than the
        window.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.arange(8.0).reshape(1, 2, 4, 1)
      >>> tl.MaxPool(strides=(2, 2))(x).reshape(-1)
      Array([5., 7.], dtype=float32)
    Source: Trax documentation, `layers.MaxPool`.
    """
    return _pool("MaxPool", "max_pool", pool_size, strides, padding)


def SumPool(
    pool_size: Sequence[int] = (2, 2),
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
) -> Layer:
    """A layer that computes the sum of each window.

    Args: as `MaxPool`.
    Returns: a layer with the shapes of `MaxPool`.
    Raises: as `MaxPool`.
    Example:
      >>> from weft import layers as tl
      >>> tl.SumPool((2, 2))(np.ones((1, 2, 2, 1)))
      Array([[[[4.]]]], dtype=float32)
    Source: Trax documentation, `layers.SumPool`.
    """
    return _pool("SumPool", "sum_pool", pool_size, strides, padding)


def AvgPool(
    pool_size: Sequence[int] = (2, 2),
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
) -> Layer:
    """A layer that computes the mean of each window, over the elements inside the array only.

    Args: as `MaxPool`.
    Returns: a layer with the shapes of `MaxPool`; integers become floats.
    Raises: as `MaxPool`.
    Example:
      >>> from weft import layers as tl
      >>> image = np.arange(4.0).reshape(1, 2, 2, 1)
      >>> tl.AvgPool((2, 2))(image)
      Array([[[[1.5]]]], dtype=float32)
    Source: Trax documentation, `layers.AvgPool`.
    """
    return _pool("AvgPool", "avg_pool", pool_size, strides, padding)


def _pool(
    name: str,
    operation: str,
    pool_size: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
) -> Layer:
    """A layer that applies a pooling operation of fastmath."""
    size = option_checks.lengths(name, "pool_size", pool_size)
    if strides is None:
        strides = (1,) * len(size)
    steps = option_checks.lengths(name, "strides", strides, count=len(size))
    option_checks.choice(name, "padding", padding, PADDINGS)

    def f(x: Any) -> Any:
        if len(x.shape) != len(size) + 2:
            raise ShapeError(
                f"{name}: pool_size {size} is for arrays with {len(size) + 2} axes, batch and "
                f"features included; got shape {tuple(x.shape)}"
            )
        lengths = tuple(x.shape[1:-1])
        if padding == "VALID" and any(n < k for n, k in zip(lengths, size, strict=True)):
            raise ShapeError(
                f"{name}: the window {size} is larger than the input's lengths {lengths}\n"
                "  fix: padding='SAME', or a smaller pool_size"
            )
        return getattr(fastmath, operation)(x, pool_size=size, strides=steps, padding=padding)

    return Fn(f"{name}{size}".replace(" ", ""), f)
