"""Vector quantization: vq, the code of the nearest point for each observation."""

from ....core.array import Array
from ....core.source import located
from ....errors import ShapeError
from ....numpy.arithmetic import absolute, sqrt
from ....numpy.promotion import promote_values
from ....numpy.reductions import argmin
from ....typing import ArrayLike

__all__ = ["vq"]


@located
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The code of each observation: the index of the nearest row of a code book, by Euclidean
    distance.

    Args:
      obs: observations [n, d], or n numbers [n]; integers become float32.
      code_book: codes [k, d], or k numbers [k].
      check_finite: has no effect; a compiled program cannot check elements.
    Returns: (int32 array [n] of indices of rows, the smallest one of ties; array [n] of distances).
    Raises: ShapeError: the numbers of axes or columns differ, or there are no codes.
    Example:
      >>> from weft.scipy.cluster.vq import vq
      >>> codes, distances = vq(np.array([1.0, 5.0]), np.array([4.0, 0.0]))
      >>> codes, distances
      (Array([1, 0], dtype=int32), Array([1., 1.], dtype=float32))
    Source: scipy.cluster.vq.vq.
    """
    x, codes = promote_values("vq", obs, code_book, to_inexact=True)
    if x.ndim != codes.ndim or x.ndim not in (1, 2) or x.shape[1:] != codes.shape[1:]:
        raise ShapeError(
            "vq: expected obs [n, d] and code_book [k, d], or [n] and [k]; got "
            f"{x.aval} and {codes.aval}"
        )
    if not codes.shape[0]:
        raise ShapeError(f"vq: the code book must have codes; got {codes.aval}")
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    squares = (absolute(x[:, None] - codes[None]) ** 2).sum(-1)
    nearest = argmin(squares, -1)
    return nearest, sqrt(squares.min(-1))
