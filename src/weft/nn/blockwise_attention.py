"""Attention with memory proportional to the length, not to its square. The scores are computed
block by block with a running softmax: the sums so far are rescaled when a larger score occurs. For
derivatives, only the operands, the result and the logarithm of each query's sum are stored; the
derivative recomputes each block from these. The derivative rule is linear in the tangents, block by
block; its transpose is the backward pass.

Source: arXiv:1805.02867 (a softmax in one pass); arXiv:2205.14135, arXiv:2112.05682 (attention).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.array import literal
from ..lax.conditionals import choose
from ..lax.loops import scan
from ..numpy.promotion import cast
from ..primitives import arithmetic, comparison, reductions, selection, slicing, structural
from ..primitives.creation import iota
from ..primitives.exponential import exp, log
from ..transforms.checkpointing import checkpoint
from ..transforms.custom_derivatives import custom_jvp
from ..transforms.symbolic_zeros import SymbolicZero
from .attention_masks import Block, Masking, has_any, products, scores, times, wide_dtype

BLOCK_QUERIES, BLOCK_KEYS = 512, 512
"""The numbers of queries and keys in a block."""

AXES: dict[str, tuple[int | None, int | None]] = {
    "q": (3, None),
    "out": (3, None),
    "logs": (3, None),
    "k": (None, 2),
    "v": (None, 2),
    "bias": (3, 4),
    "mask": (3, 4),
    "nowhere": (3, None),
}
"""The axes of queries and of keys of each operand. A bias and a mask may broadcast along them."""

TANGENT_PREFIX = "tangent of "
FIRST_QUERY, FIRST_KEY, IS_NEEDED = "first query", "first key", "needed"

INT32 = np.dtype(np.int32)

_INFINITY = math.inf
like, where = arithmetic.like, selection.where
Named = dict[str, Any]


def axes_of(name: str, x: Any) -> tuple[int | None, int | None]:
    """The axes of an operand that are divided into blocks."""
    row, column = AXES.get(name.removeprefix(TANGENT_PREFIX), (None, None))
    if name.removeprefix(TANGENT_PREFIX) in ("bias", "mask"):
        return (None if x.shape[3] == 1 else row, None if x.shape[4] == 1 else column)
    return row, column


def sizes(masking: Masking) -> tuple[int, int]:
    """The numbers of queries and keys in a block."""
    return min(BLOCK_QUERIES, masking.queries), min(BLOCK_KEYS, masking.keys)


def blocks(x: Any, axis: int, block_size: int) -> Any:
    """Divides an axis into blocks, padded with zeros; returns [block, …], and the axis as long as
    one block."""
    padding_length = -x.shape[axis] % block_size
    if padding_length:
        padding = tuple((0, padding_length if i == axis else 0, 0) for i in range(x.ndim))
        x = slicing.pad(x, like(x, 0), padding=padding)
    shape = x.shape
    x = structural.reshape(
        x, shape=(*shape[:axis], shape[axis] // block_size, block_size, *shape[axis + 1 :])
    )
    order = (axis, *(i for i in range(x.ndim) if i != axis))
    return structural.transpose(x, permutation=order)


def _split_operands(operands: Mapping[str, Any], kind: int, block_size: int) -> Named:
    """The operands that have a query axis (0) or a key axis (1), in blocks along it."""
    named_blocks = {}
    for name, x in operands.items():
        axis = axes_of(name, x)[kind]
        if axis is not None:
            named_blocks[name] = blocks(x, axis, block_size)
    return named_blocks


def _grid(masking: Masking) -> tuple[Any, Any, Any]:
    """The first query and the first key of each block, and a table with 0 for each pair of blocks
    whose keys are all hidden, otherwise 1; `None` if there is no such pair.

    It is computed before the loops, because values of a loop are stored for its derivative.
    """
    rows, columns = sizes(masking)
    row_count, column_count = -(-masking.queries // rows), -(-masking.keys // columns)
    row = iota(dtype=INT32, shape=(row_count,), dimension=0) * rows
    column = iota(dtype=INT32, shape=(column_count,), dimension=0) * columns
    row_column = structural.reshape(row, shape=(row_count, 1))
    is_needed = has_any(masking, Block(row_column, column, rows, columns))
    if is_needed is not None:
        is_needed = cast(structural.widen(is_needed, (row_count, column_count)), INT32)
    return row, column, is_needed


def _map_rows(
    function: Callable[[Named, Named], Any], operands: Mapping[str, Any], masking: Masking
) -> Any:
    """Applies `function(operands in blocks of keys, the others, first query)` to each block of
    queries; the results are joined without the padding."""
    rows, columns = sizes(masking)
    row, column, is_needed = _grid(masking)
    by_rows = {**_split_operands(operands, 0, rows), FIRST_QUERY: row}
    shared = {name: x for name, x in operands.items() if name not in by_rows}
    by_columns = {**_split_operands(shared, 1, columns), FIRST_KEY: column}
    undivided_operands = {name: x for name, x in shared.items() if name not in by_columns}
    if is_needed is not None:
        by_rows[IS_NEEDED] = is_needed

    def body(_: None, row_operands: Named) -> Any:
        pair_blocks = _split_operands(row_operands, 1, columns)
        key_blocks = {**by_columns, **pair_blocks}
        if IS_NEEDED in row_operands:
            key_blocks[IS_NEEDED] = row_operands[IS_NEEDED]
        others = {name: v for name, v in row_operands.items() if name not in key_blocks}
        return None, function(key_blocks, {**undivided_operands, **others})

    _, outs = scan(body, None, by_rows)
    count = row.shape[0]

    def join_blocks(x: Any) -> Any:  # [blocks, batch, heads, group, rows, …]
        x = structural.transpose(x, permutation=(1, 2, 3, 0, *range(4, x.ndim)))
        x = structural.reshape(x, shape=(*x.shape[:3], count * rows, *x.shape[5:]))
        limit = tuple(masking.queries if i == 3 else n for i, n in enumerate(x.shape))
        return slicing.slice_(x, start=(0,) * x.ndim, limit=limit, strides=(1,) * x.ndim)

    return tuple([join_blocks(x) for x in outs])


def _scan_blocks(step: Callable[[Any, Named], Any], start: Any, key_blocks: Named) -> Any:
    """The carry after the steps over the visible blocks of keys of a block of queries."""

    def body(carry: Any, key_block: Named) -> tuple[Any, None]:
        if IS_NEEDED not in key_block:
            return step(carry, key_block), None
        operands = carry, {name: x for name, x in key_block.items() if name != IS_NEEDED}
        return branch_by_index(key_block[IS_NEEDED], lambda carry, _: carry, step, operands), None

    return scan(body, start, key_blocks)[0]


def branch_by_index(
    index: Any, first_function: Any, second_function: Any, operands: tuple[Any, ...]
) -> Any:
    """The first function's result for index 0, the second's for index 1, without the index
    conversions of `lax.cond`, which a derivative would store."""
    names = ["first", "second"]
    return choose(
        "cond",
        index,
        [first_function, second_function],
        [first_function, second_function],
        names,
        operands,
    )


def _with_last_axis(x: Any) -> Any:
    return structural.reshape(x, shape=(*x.shape, 1))


def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return structural.broadcast_in_dim(literal(0.0, dtype), shape=shape, dims=())


def _finite(x: Any) -> Any:
    """0 where x is -inf, because all keys are hidden."""
    return where(comparison.eq(x, like(x, -_INFINITY)), like(x, 0), x)


def _named(operands: tuple[Any, ...], masking: Masking) -> Named:
    return dict(zip(("q", "k", "v", *masking.extras), operands, strict=True))


def _blockwise(masking: Masking, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    """Attention, and the logarithms of the sums of exponentials of each query's scores.

    Args:
      masking: the options.
      operands: queries, keys, values, and the additional operands that `masking` names.
    """

    def of_rows(key_blocks: Named, row_operands: Named) -> tuple[Any, Any]:
        q = row_operands["q"]
        sum_dtype = wide_dtype(q.aval.dtype)

        def step(carry: Any, key_block: Named) -> Any:
            out, maximum, total = carry
            block = Block(row_operands[FIRST_QUERY], key_block[FIRST_KEY], *sizes(masking))
            s = scores(q, key_block["k"], {**row_operands, **key_block}, masking, block)
            new_maximum = arithmetic.max_(maximum, reductions.reduce_max(s, axes=(4,)))
            p = exp(s - _with_last_axis(_finite(new_maximum)))
            decay = exp(maximum - _finite(new_maximum))
            weighted_values = times(cast(p, q.aval.dtype), key_block["v"], (4, 2))
            total = total * decay + structural.reduce_sum(p, axes=(4,))
            return out * _with_last_axis(decay) + weighted_values, new_maximum, total

        zeros = _zeros(q.shape[:4], sum_dtype)
        start = _zeros(q.shape, sum_dtype), zeros - _INFINITY, zeros
        out, maximum, total = _scan_blocks(step, start, key_blocks)
        is_hidden = comparison.eq(total, like(total, 0))
        total = where(is_hidden, like(total, 1), total)
        return out / _with_last_axis(total), where(
            is_hidden, like(maximum, -_INFINITY), maximum + log(total)
        )

    return _map_rows(of_rows, _named(operands, masking), masking)


blockwise = custom_jvp(_blockwise, nondiff_argnums=(0,))


def _rule(masking: Masking, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (operands,), (operand_tangents,) = primals, tangents
    out, logs = blockwise(masking, operands)
    is_hidden = comparison.eq(logs, like(logs, -_INFINITY))  # where all keys are hidden
    named_operands = {
        **_named(operands, masking),
        "out": out,
        "logs": _finite(logs),
        "nowhere": is_hidden,
    }
    for name, t in _named(operand_tangents, masking).items():
        if not isinstance(t, SymbolicZero):
            named_operands[TANGENT_PREFIX + name] = t
    return (out, logs), _tangents(named_operands, masking)


blockwise.defjvp(_rule, symbolic_zeros=True)


def _tangents(operands: Named, masking: Masking) -> tuple[Any, Any]:
    """The tangents of the result and of the logarithms, computed block by block."""

    def of_rows(key_blocks: Named, row_operands: Named) -> tuple[Any, Any]:
        @checkpoint
        def tangents_of_block(key_block: Named, row_operands: Named) -> tuple[Any, Any]:
            block = Block(row_operands[FIRST_QUERY], key_block[FIRST_KEY], *sizes(masking))
            return _tangent_sums({**row_operands, **key_block}, masking, block)

        def step(carry: Any, key_block: Named) -> Any:
            block_tangents = tangents_of_block(key_block, row_operands)
            return tuple([a + b for a, b in zip(carry, block_tangents, strict=True)])

        out, logs = row_operands["out"], row_operands["logs"]
        start = tuple([_zeros(x.shape, out.aval.dtype) for x in (out, logs)])
        total, log_tangent = _scan_blocks(step, start, key_blocks)
        log_tangent = where(row_operands["nowhere"], like(log_tangent, 0), log_tangent)
        return total - out * _with_last_axis(log_tangent), log_tangent

    return _map_rows(of_rows, operands, masking)


def _tangent_sums(operands: Named, masking: Masking, block: Block) -> tuple[Any, Any]:
    """A block's part of two sums: of the tangents of the weighted values, and of the tangents of
    the weights."""
    q, k, v = operands["q"], operands["k"], operands["v"]
    s = scores(q, k, operands, masking, block)
    p = exp(s - _with_last_axis(operands["logs"]))
    dq, dk, dv, dbias = (operands.get(TANGENT_PREFIX + name) for name in ("q", "k", "v", "bias"))
    changes = []
    if dq is not None:
        changes.append(products(dq, k, masking))
    if dk is not None:
        changes.append(products(q, dk, masking))
    if dbias is not None:
        changes.append(structural.widen(cast(dbias, s.aval.dtype), s.shape))
    weights = p * _sum(changes) if changes else _zeros(s.shape, s.aval.dtype)
    total = times(cast(weights, v.aval.dtype), v, (4, 2))
    if dv is not None:
        total = total + times(cast(p, v.aval.dtype), dv, (4, 2))
    return total, structural.reduce_sum(weights, axes=(4,))


def _sum(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
