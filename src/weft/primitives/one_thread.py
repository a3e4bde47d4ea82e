"""Long sums and products with vectors on the host, in parts that BLAS computes in one thread.

BLAS shares what is longer among threads, which spin while they wait for each other. With one core
taken by another process, a sum or a matrix-vector product of 1e6 elements took 15 to 30 ms instead
of 0.2; in parts, nothing waits for another core. What two idle cores would gain is lost where the
operands are in the cache (benchmarks/README.md, “Tuning by hand”).

Knows NumPy arrays only.
"""

import functools

import numpy as np

from .rule_types import DType, Host, Kernel

LONG = 10_000
"""The number of elements from which on a vector is cut into rows, which is more exact, too."""

BLOCK = 131_072
"""The number of elements of a matrix from which on it is cut into blocks of rows."""

_ROW = 1024  # they stay in the first cache
_FEW = 8


def long_sum(count: int, dtype: DType) -> Kernel:
    """The kernel of a sum of all of `count` elements."""
    whole = count - count % _ROW
    row, rest = np.ones(_ROW, dtype), np.ones(count - whole, dtype)

    def kernel(x: Host) -> Host:
        flat = x.ravel()
        total = np.add.reduce(np.vecdot(flat[:whole].reshape(-1, _ROW), row))
        return total + flat[whole:].dot(rest)

    return kernel


def row_sums(count: int, dtype: DType) -> Kernel:
    """The kernel of the sums of a matrix's rows, of `count` elements each."""
    ones = np.ones(count, dtype)
    if count <= LONG:
        return lambda x: matrix_vector(x, ones)
    whole = count - count % _ROW
    row, rest = ones[:_ROW], ones[whole:]

    def kernel(x: Host) -> Host:
        parts = np.vecdot(x[:, :whole].reshape(len(x), -1, _ROW), row)
        return np.add.reduce(parts, axis=1) + x[:, whole:].dot(rest)

    return kernel


def column_sums(count: int, width: int, dtype: DType) -> Kernel:
    """The kernel of the sums of a matrix's columns: `width` of them, of `count` elements each."""
    rows = BLOCK // width
    if rows < _FEW:  # the rows are too long for BLAS, and added one by one fast and exactly enough
        return functools.partial(np.add.reduce, axis=0)
    ones = np.ones(rows, dtype)

    def kernel(x: Host) -> Host:
        total = np.dot(ones[:count], x[:rows])
        for i in range(rows, count, rows):
            part = x[i : i + rows]
            total += np.dot(ones[: len(part)], part)
        return total

    return kernel


def inner(x: Host, y: Host) -> Host:
    """The product of two real vectors of equal length."""
    whole = x.size - x.size % _ROW
    rows = np.vecdot(x[:whole].reshape(-1, _ROW), y[:whole].reshape(-1, _ROW))
    return np.add.reduce(rows) + x[whole:].dot(y[whole:])


def matrix_vector(x: Host, v: Host) -> Host:
    """The product of a matrix of any layout and a vector."""
    rows = max(1, BLOCK // v.size)
    out = np.empty(len(x), x.dtype)
    for i in range(0, len(x), rows):
        np.dot(x[i : i + rows], v, out=out[i : i + rows])
    return out
