"""Functions of sums of exponentials along axes: logsumexp, softmax, log_softmax."""

from typing import Any

from ... import numpy as np
from ...numpy.axes import all_axes
from ...numpy.plans import composite
from ...numpy.promotion import cast, noted, promote_values, value
from ...numpy.reductions import wide_of
from ...numpy.special import logsumexp
from ...primitives import arithmetic, selection
from ...typing import Array, ArrayLike, Axes

__all__ = ["log_softmax", "logsumexp", "softmax"]


def _exponentials(name: str, x: ArrayLike, axis: Axes) -> tuple[Any, tuple[int, ...]]:
    """The operand as an inexact value, and its axes."""
    (v,) = promote_values(name, value(name, x), to_inexact=True)
    if v.aval.dtype.kind == "c":
        raise noted(TypeError(f"{name}: expected a real operand; got {v.aval}"))
    return v, all_axes(name, axis, v)


def softmax(x: ArrayLike, axis: Axes = None) -> Array:
    """exp(x) divided by its sum over axes.

    Args:
      x: real array of any shape; integers become the default float.
      axis: an axis or several; all of them by default.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: x is complex. ValueError: an axis is out of range.
    Example:
      >>> softmax(np.array([0.0, 0.0])).tolist()
      [0.5, 0.5]
    Source: SciPy `softmax`.
    """
    v, axes = _exponentials("softmax", x, axis)
    return _softmax(v, axes=axes)


@composite
def _softmax(x: Any, *, axes: tuple[int, ...]) -> Any:
    powers = np.exp(_below_zero(x, axes))
    return cast(arithmetic.div(powers, np.sum(powers, axes, keepdims=True)), x.aval.dtype)


def _below_zero(x: Any, axes: tuple[int, ...]) -> Any:
    """x minus its maximum, in 32 bits or more."""
    x = cast(x, wide_of(x.aval.dtype))
    maximum = selection.stop_gradient(np.max(x, axes, keepdims=True, initial=-np.inf))
    return arithmetic.sub(x, np.where(np.isfinite(maximum), maximum, 0))


def log_softmax(x: ArrayLike, axis: Axes = None) -> Array:
    """log(softmax(x)), accurate where softmax underflows.

    Args:
      x: real array of any shape; integers become the default float.
      axis: an axis or several; all of them by default.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: x is complex. ValueError: an axis is out of range.
    Example:
      >>> log_softmax(np.array([0.0, -1000.0])).tolist()
      [0.0, -1000.0]
    Source: SciPy `log_softmax`.
    """
    v, axes = _exponentials("log_softmax", x, axis)
    return _log_softmax(v, axes=axes)


@composite
def _log_softmax(x: Any, *, axes: tuple[int, ...]) -> Any:
    low = _below_zero(x, axes)
    total = np.sum(np.exp(low), axes, keepdims=True)
    return cast(arithmetic.sub(low, np.log(total)), x.aval.dtype)
