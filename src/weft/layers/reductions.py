"""Reductions along an axis: Mean, Min, Max, Sum, ArgMax and LogSumExp."""

from typing import Any

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from .base import Fn, Layer


def checked_axes(layer: str, axis: Any) -> Any:
    """Checks an option that is an axis, several axes, or None for all."""
    if axis is None:
        return None
    if isinstance(axis, list | tuple):
        return option_checks.lengths(layer, "axis", axis, least=-64)
    return option_checks.whole_number(layer, "axis", axis, least=-64)


def LogSumExp(axis: int = -1) -> Layer:
    """A layer that computes log Σ exp(x) along an axis, which is kept with length 1.

    Args:
      axis: the axis.
    Example:
      >>> from weft import layers as tl
      >>> tl.LogSumExp()(np.zeros((2, 4)))
      Array([[1.3862944],
             [1.3862944]], dtype=float32)
    Source: Trax documentation, `layers.core.LogSumExp`.
    """
    axis = checked_axes("LogSumExp", axis)
    return Fn("LogSumExp", lambda x: fastmath.logsumexp(x, axis=axis, keepdims=True))


def _reduction(name: str, function: str, axis: Any, keepdims: bool) -> Layer:
    """A layer that applies a NumPy reduction with an axis."""
    axis, keepdims = checked_axes(name, axis), option_checks.flag(name, "keepdims", keepdims)
    return Fn(name, lambda x: getattr(jnp, function)(x, axis=axis, keepdims=keepdims))


def Mean(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that takes the mean along an axis.

    Args:
      axis: the axis, a tuple of axes, or None for all.
      keepdims: whether to keep the axis with length 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Mean()(np.array([[1.0, 2.0, 6.0]]))
      Array([3.], dtype=float32)
    Source: Trax documentation, `layers.core.Mean`.
    """
    return _reduction("Mean", "mean", axis, keepdims)


def Min(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that computes the minimum along an axis.

    Args:
      axis: the axis, a tuple of axes, or None for all.
      keepdims: whether to keep the axis with length 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Min()(np.array([[1.0, 2.0, 6.0]]))
      Array([1.], dtype=float32)
    Source: Trax documentation, `layers.core.Min`.
    """
    return _reduction("Min", "min", axis, keepdims)


def Max(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that computes the maximum along an axis.

    Args:
      axis: the axis, a tuple of axes, or None for all.
      keepdims: whether to keep the axis with length 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Max()(np.array([[1.0, 2.0, 6.0]]))
      Array([6.], dtype=float32)
    Source: Trax documentation, `layers.core.Max`.
    """
    return _reduction("Max", "max", axis, keepdims)


def Sum(axis: Any = None, keepdims: bool = False) -> Layer:
    """A layer that sums along an axis, by default along all.

    Args:
      axis: the axis, a tuple of axes, or None for all.
      keepdims: whether to keep the axis with length 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Sum(axis=0)(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array([4., 6.], dtype=float32)
    Source: Trax documentation, `layers.core.Sum`.
    """
    return _reduction("Sum", "sum", axis, keepdims)


def ArgMax(axis: int = -1) -> Layer:
    """A layer that returns the index of the maximum along an axis, as int32.

    Args:
      axis: the axis.
    Example:
      >>> from weft import layers as tl
      >>> tl.ArgMax()(np.array([[1.0, 6.0, 2.0]]))
      Array([1], dtype=int32)
    Source: Trax documentation, `layers.core.ArgMax`.
    """
    axis = option_checks.whole_number("ArgMax", "axis", axis, least=-64)
    return Fn("ArgMax", lambda x: jnp.argmax(x, axis=axis).astype(jnp.int32))
