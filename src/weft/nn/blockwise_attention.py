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


def blocks(x: Any, axis: int, size: int) -> Any:
    """Divides an axis into blocks, padded with zeros; returns [block, …], and the axis as long as
    one block."""
    more = -x.shape[axis] % size
    if more:
        padding = tuple((0, more if i == axis else 0, 0) for i in range(x.ndim))
        x = slicing.pad(x, like(x, 0), padding=padding)
    shape = x.shape
    x = structural.reshape(x, shape=(*shape[:axis], shape[axis] // size, size, *shape[axis + 1 :]))
    order = (axis, *(i for i in range(x.ndim) if i != axis))
    return structural.transpose(x, permutation=order)


def _over(operands: Mapping[str, Any], which: int, size: int) -> Named:
    """The operands that have a query axis (0) or a key axis (1), in blocks along it."""
    cut = {}
    for name, x in operands.items():
        axis = axes_of(name, x)[which]
        if axis is not None:
            cut[name] = blocks(x, axis, size)
    return cut


def _grid(masking: Masking) -> tuple[Any, Any, Any]:
    """The first query and the first key of each block, and a table with 0 for each pair of blocks
    whose keys are all hidden, otherwise 1; `None` if there is no such pair.

    It is computed before the loops, because values of a loop are stored for its derivative.
    """
    rows, columns = sizes(masking)
    first, second = -(-masking.queries // rows), -(-masking.keys // columns)
    row = iota(dtype=INT32, shape=(first,), dimension=0) * rows
    column = iota(dtype=INT32, shape=(second,), dimension=0) * columns
    wide = structural.reshape(row, shape=(first, 1))
    needed = has_any(masking, Block(wide, column, rows, columns))
    if needed is not None:
        needed = cast(structural.widen(needed, (first, second)), INT32)
    return row, column, needed


def _of_rows(
    function: Callable[[Named, Named], Any], operands: Mapping[str, Any], masking: Masking
) -> Any:
    """Applies `function(operands in blocks of keys, the others, first query)` to each block of
    queries; the results are joined without the padding."""
    rows, columns = sizes(masking)
    row, column, needed = _grid(masking)
    by_rows = {**_over(operands, 0, rows), FIRST_QUERY: row}
    shared = {name: x for name, x in operands.items() if name not in by_rows}
    by_columns = {**_over(shared, 1, columns), FIRST_KEY: column}
    unsliced = {name: x for name, x in shared.items() if name not in by_columns}
    if needed is not None:
        by_rows[IS_NEEDED] = needed

    def body(_: None, mine: Named) -> Any:
        both = _over(mine, 1, columns)
        cut = {**by_columns, **both}
        if IS_NEEDED in mine:
            cut[IS_NEEDED] = mine[IS_NEEDED]
        others = {name: v for name, v in mine.items() if name not in cut}
        return None, function(cut, {**unsliced, **others})

    _, outs = scan(body, None, by_rows)
    count = row.shape[0]

    def joined(x: Any) -> Any:  # [blocks, batch, heads, group, rows, …]
        x = structural.transpose(x, permutation=(1, 2, 3, 0, *range(4, x.ndim)))
        x = structural.reshape(x, shape=(*x.shape[:3], count * rows, *x.shape[5:]))
        limit = tuple(masking.queries if i == 3 else n for i, n in enumerate(x.shape))
        return slicing.slice_(x, start=(0,) * x.ndim, limit=limit, strides=(1,) * x.ndim)

    return tuple([joined(x) for x in outs])


def _each(step: Callable[[Any, Named], Any], start: Any, cut: Named) -> Any:
    """The carry after the steps over the visible blocks of keys of a block of queries."""

    def body(carry: Any, mine: Named) -> tuple[Any, None]:
        if IS_NEEDED not in mine:
            return step(carry, mine), None
        operands = carry, {name: x for name, x in mine.items() if name != IS_NEEDED}
        return switched(mine[IS_NEEDED], lambda carry, _: carry, step, operands), None

    return scan(body, start, cut)[0]


def switched(index: Any, first: Any, second: Any, operands: tuple[Any, ...]) -> Any:
    """The first function's result for index 0, the second's for index 1, without the index
    conversions of `lax.cond`, which a derivative would store."""
    names = ["first", "second"]
    return choose("cond", index, [first, second], [first, second], names, operands)


def _last(x: Any) -> Any:
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

    def of_rows(cut: Named, rest: Named) -> tuple[Any, Any]:
        q = rest["q"]
        sum_dtype = wide_dtype(q.aval.dtype)

        def step(carry: Any, mine: Named) -> Any:
            out, top, total = carry
            block = Block(rest[FIRST_QUERY], mine[FIRST_KEY], *sizes(masking))
            s = scores(q, mine["k"], {**rest, **mine}, masking, block)
            new = arithmetic.max_(top, reductions.reduce_max(s, axes=(4,)))
            p = exp(s - _last(_finite(new)))
            shrunk = exp(top - _finite(new))
            share = times(cast(p, q.aval.dtype), mine["v"], (4, 2))
            total = total * shrunk + structural.reduce_sum(p, axes=(4,))
            return out * _last(shrunk) + share, new, total

        zeros = _zeros(q.shape[:4], sum_dtype)
        start = _zeros(q.shape, sum_dtype), zeros - _INFINITY, zeros
        out, top, total = _each(step, start, cut)
        none = comparison.eq(total, like(total, 0))
        total = where(none, like(total, 1), total)
        return out / _last(total), where(none, like(top, -_INFINITY), top + log(total))

    return _of_rows(of_rows, _named(operands, masking), masking)


blockwise = custom_jvp(_blockwise, nondiff_argnums=(0,))


def _rule(masking: Masking, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (operands,), (moving,) = primals, tangents
    out, logs = blockwise(masking, operands)
    nowhere = comparison.eq(logs, like(logs, -_INFINITY))  # where all keys are hidden
    named = {**_named(operands, masking), "out": out, "logs": _finite(logs), "nowhere": nowhere}
    for name, t in _named(moving, masking).items():
        if not isinstance(t, SymbolicZero):
            named[TANGENT_PREFIX + name] = t
    return (out, logs), _tangents(named, masking)


blockwise.defjvp(_rule, symbolic_zeros=True)


def _tangents(operands: Named, masking: Masking) -> tuple[Any, Any]:
    """The tangents of the result and of the logarithms, computed block by block."""

    def of_rows(cut: Named, rest: Named) -> tuple[Any, Any]:
        @checkpoint
        def shares(mine: Named, rest: Named) -> tuple[Any, Any]:
            block = Block(rest[FIRST_QUERY], mine[FIRST_KEY], *sizes(masking))
            return _shares({**rest, **mine}, masking, block)

        def step(carry: Any, mine: Named) -> Any:
            more = shares(mine, rest)
            return tuple([a + b for a, b in zip(carry, more, strict=True)])

        out, logs = rest["out"], rest["logs"]
        start = tuple([_zeros(x.shape, out.aval.dtype) for x in (out, logs)])
        total, moved = _each(step, start, cut)
        moved = where(rest["nowhere"], like(moved, 0), moved)
        return total - out * _last(moved), moved

    return _of_rows(of_rows, operands, masking)


def _shares(operands: Named, masking: Masking, block: Block) -> tuple[Any, Any]:
    """A block's part of the tangents of the sums of weighted values and of weights."""
    q, k, v = operands["q"], operands["k"], operands["v"]
    s = scores(q, k, operands, masking, block)
    p = exp(s - _last(operands["logs"]))
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
