"""Kernels of variances on the host, in blocks that stay in the cache. Knows NumPy arrays.

A variance is the mean of squared distances from the mean here too. But nothing between the array
and its variances is as large as the array: of 1e6 elements that takes the processor 0.2 ms, and
operation by operation 0.35.
"""

import math
from collections.abc import Callable

import numpy as np

from ..core.aval import Aval
from ..core.quiet import unbuffered
from ..primitives.one_thread import LONG, inner, long_sum, row_sums
from ..primitives.processor import MOST
from ..primitives.rule_types import DType, Host, Kernel
from ..primitives.structural import first_or_last, others

LEAST = 50_000
"""The elements from which on blocks save time."""

_BLOCK = 1 << 19
"""The bytes of a block, which leaves half of a second cache of 1 MB to what is read."""

_SHORT = 512
"""The elements below which a row is too short for a call of BLAS."""

_subtract = unbuffered(np.subtract)

Squares = Callable[[Host, Host], Host]
"""From a matrix, and the means of its rows, to their sums of squared distances."""


def variance_kernel(
    x: Aval, axes: tuple[int, ...], ddof: float, keepdims: bool, root: bool
) -> Kernel | None:
    """The NumPy function from an array to its variances along axes, or to their square roots.

    `None` for a dtype, a size or axes for which it would be no gain.
    """
    dtype = x.dtype
    if dtype not in (np.float32, np.float64) or not axes or not LEAST <= x.size <= MOST:
        return None
    count = math.prod([x.shape[i] for i in axes])
    width = x.size // count
    which = "all" if width == 1 else first_or_last(axes, x.ndim)
    if which == "all":
        matrix, sums, squares = (1, count), long_sum(count, dtype), squares_of_all(count, dtype)
    elif which == "last" and _SHORT <= count <= LONG:
        matrix, sums = (width, count), row_sums(count, dtype)
        squares = squares_of_rows(count, dtype)
    else:
        return None
    kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    shape = kept if keepdims else tuple([x.shape[i] for i in others(axes, x.ndim)])
    number, divisor = np.asarray(count, dtype), np.asarray(count - ddof, dtype)

    def kernel(host: Host) -> Host:
        host = host.reshape(matrix)
        variances = squares(host, sums(host) / number) / divisor
        return (np.sqrt(variances) if root else variances).reshape(shape)

    return kernel


def squares_of_all(count: int, dtype: DType) -> Squares:
    """The kernel for all elements."""
    size = _BLOCK // dtype.itemsize

    def kernel(x: Host, mean: Host) -> Host:
        flat, block = x.ravel(), np.empty(min(count, size), dtype)
        total = np.zeros((), dtype)
        for i in range(0, count, size):
            part = flat[i : i + size]
            centred = np.subtract(part, mean, block[: part.size])
            total = total + inner(centred, centred)
        return total

    return kernel


def squares_of_rows(count: int, dtype: DType) -> Squares:
    """The kernel for rows of `count` elements."""
    rows = max(1, _BLOCK // (dtype.itemsize * count))

    def kernel(x: Host, means: Host) -> Host:
        total, block = np.empty(len(x), dtype), np.empty((rows, count), dtype)
        for i in range(0, len(x), rows):
            part = x[i : i + rows]
            centred = _subtract(part, means[i : i + rows, None], block[: len(part)])
            np.vecdot(centred, centred, total[i : i + rows])
        return total

    return kernel
