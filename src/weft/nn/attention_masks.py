"""Attention scores: products of queries and keys, with bias and masks, for all pairs or for one
block.

Queries are [batch, key heads, heads of a group, queries, features], keys and values [batch, key
heads, keys, features], scores [batch, key heads, heads of a group, queries, keys].
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..lax.products import dot_general
from ..numpy.promotion import cast
from ..primitives import arithmetic, comparison, selection, structural
from ..primitives.creation import iota


class Masking(NamedTuple):
    """The attention options that do not depend on elements.

    Attributes:
      scale: the factor of the products.
      causal: whether keys after the query are hidden.
      window: the numbers of visible keys before and after the query, or `None`.
      extras: the names of the additional operands, in order.
      queries, keys: the lengths, before padding.
    """

    scale: float
    causal: bool
    window: tuple[int, int] | None
    extras: tuple[str, ...]
    queries: int
    keys: int


class Block(NamedTuple):
    """A rectangle of scores.

    Attributes:
      row, column: its first query and its first key, as integers or int32 scalars.
      rows, columns: the numbers of queries and keys.
    """

    row: Any
    column: Any
    rows: int
    columns: int


def wide_dtype(dtype: Any) -> Any:
    """The dtype in which scores are added up."""
    return dtypes.float64 if dtype == dtypes.float64 else dtypes.float32


def times(x: Any, y: Any, contracting: tuple[int, int]) -> Any:
    """Products of matrices with two batch axes, summed in at least 32 bits."""
    dimension_numbers = (((contracting[0],), (contracting[1],)), ((0, 1), (0, 1)))
    return dot_general(x, y, dimension_numbers, preferred_element_type=wide_dtype(x.aval.dtype))


def products(q: Any, k: Any, masking: Masking) -> Any:
    """Scaled products of queries and keys."""
    return times(q, k, (4, 3)) * masking.scale


def scores(q: Any, k: Any, operands: Mapping[str, Any], masking: Masking, block: Block) -> Any:
    """The scores of a block: -inf where a key is hidden from a query.

    Args:
      q, k: the block's queries and keys.
      operands: the additional operands by name; for a bias and a mask, the part of the block.
    """
    out = products(q, k, masking)
    if "bias" in operands:
        out = out + cast(operands["bias"], out.aval.dtype)
    counts = visible_mask(operands, masking, block)
    if counts is None:
        return out
    return selection.where(counts, out, arithmetic.like(out, -math.inf))


def visible_mask(operands: Mapping[str, Any], masking: Masking, block: Block) -> Any:
    """A mask of the visible keys, which broadcasts to the scores of a block; `None` if all are
    visible."""
    rows, columns = block_positions(block)
    conditions = []
    if "mask" in operands:
        conditions.append(operands["mask"])
    if "queries" in operands:
        conditions.append(comparison.lt(rows, operands["queries"]))
    if "keys" in operands:
        conditions.append(comparison.lt(columns, operands["keys"]))
    if masking.causal:
        conditions.append(comparison.le(columns, rows))
    if masking.window is not None:
        keys_before, keys_after = masking.window
        conditions.append(comparison.ge(columns, rows - keys_before))
        conditions.append(comparison.le(columns, rows + keys_after))
    if masking.keys % block.columns:  # a part of the last block is padding
        conditions.append(comparison.lt(columns, arithmetic.like(columns, masking.keys)))
    mask = None
    for condition in conditions:
        mask = condition if mask is None else mask & condition
    return mask


def block_positions(block: Block) -> tuple[Any, Any]:
    """The positions of a block's queries, as a column, and of its keys, as a row."""
    int32 = np.dtype(np.int32)
    rows = iota(dtype=int32, shape=(block.rows,), dimension=0) + block.row
    columns = iota(dtype=int32, shape=(block.columns,), dimension=0) + block.column
    return structural.reshape(rows, shape=(block.rows, 1)), columns


def has_any(masking: Masking, block: Block) -> Any:
    """False if positions hide all keys of a block from all its queries; `None` if no option depends
    on positions."""
    conditions = []
    last_row, last_column = block.row + (block.rows - 1), block.column + (block.columns - 1)
    if masking.causal:
        conditions.append(comparison.le(block.column, last_row))
    if masking.window is not None:
        keys_before, keys_after = masking.window
        conditions.append(comparison.ge(last_column, block.row - keys_before))
        conditions.append(comparison.le(block.column, last_row + keys_after))
    has_key = None
    for condition in conditions:
        has_key = condition if has_key is None else has_key & condition
    return has_key
