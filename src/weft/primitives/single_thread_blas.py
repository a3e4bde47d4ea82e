"""Computes long sums and products with vectors on the host, in parts that BLAS computes in one
thread.

BLAS shares longer ones among threads, which spin while they wait for each other. If another process
uses one core, a sum takes a hundred times as long. Parts never wait for another core
(benchmarks/README.md, “Tuning by hand”)."""

import functools

import numpy as np

from .rule_types import DType, Host, Kernel

MIN_SPLIT_ELEMENTS = 10_000
"""A vector with at least this many elements is cut into rows, which is also more accurate."""

BLOCK_ELEMENTS = 131_072
"""A matrix with at least this many elements is cut into blocks of rows."""

_ROW_ELEMENTS = 1024  # a row fits in the first-level cache
_MIN_BLOCK_ROWS = 8


def long_sum(count: int, dtype: DType) -> Kernel:
    """The kernel of a sum of all of `count` elements."""
    row_multiple = count - count % _ROW_ELEMENTS
    row, ones_of_remainder = np.ones(_ROW_ELEMENTS, dtype), np.ones(count - row_multiple, dtype)

    def kernel(x: Host) -> Host:
        elements = x.ravel()
        total = np.add.reduce(np.vecdot(elements[:row_multiple].reshape(-1, _ROW_ELEMENTS), row))
        return total + elements[row_multiple:].dot(ones_of_remainder)

    return kernel


def row_sums(count: int, dtype: DType) -> Kernel:
    """The kernel of the sums of a matrix's rows, of `count` elements each."""
    ones = np.ones(count, dtype)
    if count <= MIN_SPLIT_ELEMENTS:
        return lambda x: matrix_vector(x, ones)
    row_multiple = count - count % _ROW_ELEMENTS
    row, ones_of_remainder = ones[:_ROW_ELEMENTS], ones[row_multiple:]

    def kernel(x: Host) -> Host:
        parts = np.vecdot(x[:, :row_multiple].reshape(len(x), -1, _ROW_ELEMENTS), row)
        return np.add.reduce(parts, axis=1) + x[:, row_multiple:].dot(ones_of_remainder)

    return kernel


def column_sums(count: int, width: int, dtype: DType) -> Kernel:
    """The kernel of the sums of a matrix's columns: `width` of them, of `count` elements each."""
    rows = BLOCK_ELEMENTS // width
    if (
        rows < _MIN_BLOCK_ROWS
    ):  # the rows are too long for BLAS; adding them one by one is fast and accurate enough
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
    row_multiple = x.size - x.size % _ROW_ELEMENTS
    rows = np.vecdot(
        x[:row_multiple].reshape(-1, _ROW_ELEMENTS), y[:row_multiple].reshape(-1, _ROW_ELEMENTS)
    )
    return np.add.reduce(rows) + x[row_multiple:].dot(y[row_multiple:])


def matrix_vector(x: Host, v: Host) -> Host:
    """The product of a matrix of any layout and a vector."""
    rows = max(1, BLOCK_ELEMENTS // v.size)
    out = np.empty(len(x), x.dtype)
    for i in range(0, len(x), rows):
        np.dot(x[i : i + rows], v, out=out[i : i + rows])
    return out
