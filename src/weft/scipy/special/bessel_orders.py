"""Bessel functions of several orders at once."""

from typing import Any

from ... import numpy as np
from ...numpy.axes import whole_number
from ...numpy.promotion import noted
from ...typing import Array, ArrayLike
from .makers import floats

__all__ = ["bessel_jn"]


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind J₀(z) to Jᵥ(z).

    Args:
      z: real array of any shape; integers become the default float.
      v: the largest order, a known int of at least 0.
      n_iter: so many orders beyond z's size are begun with: for |z| up to some 40 the default is
        enough.
    Returns: array [v + 1, *z.shape], of a float dtype.
    Raises: TypeError: v or n_iter is no known int. ValueError: v < 0 or n_iter < 1.
    Example:
      >>> bessel_jn(0.0, v=1).tolist()
      [1.0, 0.0]
    Source: DLMF 10.2.2, 3.6(iii): Miller's algorithm, in quotients of neighbours, so that nothing
    overflows; normalised by DLMF 10.12.4.
    """
    order, count = whole_number("bessel_jn", v, "v"), whole_number("bessel_jn", n_iter, "n_iter")
    if order < 0:
        raise noted(ValueError(f"bessel_jn: v must be at least 0; got {order}"))
    if count < 1:
        raise noted(ValueError(f"bessel_jn: n_iter must be at least 1; got {count}"))
    (x,) = floats("bessel_jn", z=z)
    return _quotients(x, order, count)


def _quotients(z: Any, order: int, count: int) -> Any:
    tiny = float(np.finfo(z.dtype).tiny)
    ratio, total = np.zeros_like(z), np.zeros_like(z)
    kept: list[Any] = []
    for k in range(order + count, 0, -1):
        below = 2 * k - z * ratio
        ratio = z / np.where(below == 0, tiny, below)  # J(k) / J(k - 1)
        total = ratio * ((2.0 if k % 2 == 0 else 0.0) + total)
        if k <= order:
            kept.append(ratio)
    functions = [1 / (1 + total)]
    for quotient in reversed(kept):
        functions.append(functions[-1] * quotient)
    return np.stack(functions)
