"""dot_product_attention: weighted means of values, with weights from the products of queries and
keys.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import as_int
from ..numpy.plans import composite
from ..numpy.promotion import cast, value
from ..primitives import arithmetic, comparison, creation, reductions, selection, structural
from ..primitives.exponential import exp, log
from ..typing import ArrayLike
from .attention_masks import Block, Masking, scores, times
from .blockwise_attention import blockwise

__all__ = ["dot_product_attention"]

NAME = "dot_product_attention"
MIN_BLOCKWISE_PAIRS = 1 << 20
"""The number of (query, key) pairs from which on the scores are never all in memory."""

like, where = arithmetic.like, selection.where


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = ...,
    mask: ArrayLike | None = ...,
    *,
    scale: float | None = ...,
    is_causal: bool = ...,
    query_seq_lengths: ArrayLike | None = ...,
    key_value_seq_lengths: ArrayLike | None = ...,
    local_window_size: int | tuple[int, int] | None = ...,
    implementation: Literal["xla"] | None = ...,
    return_residual: Literal[False] = ...,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = ...,
    mask: ArrayLike | None = ...,
    *,
    scale: float | None = ...,
    is_causal: bool = ...,
    query_seq_lengths: ArrayLike | None = ...,
    key_value_seq_lengths: ArrayLike | None = ...,
    local_window_size: int | tuple[int, int] | None = ...,
    implementation: Literal["xla"] | None = ...,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
@located
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla"] | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query keyᵀ scale + bias) value, for each head.

    Sums are computed in float32 (float64 for float64), even for narrower operands. For 2²⁰ or more
    pairs of a query and a key, the scores are computed block by block, so memory is proportional to
    the lengths, not to their product, also in derivatives.

    Args:
      query: floats [batch, queries, heads, features]; the batch axis may be omitted in all
        operands.
      key, value: [batch, keys, key heads, features], of the same dtype. `heads` is a multiple of
        `key heads`: `heads / key heads` consecutive query heads share a key head.
      bias: added to the scores; broadcasts to [batch, heads, queries, keys].
      mask: booleans, True where a query attends to a key; broadcasts like `bias`.
      scale: the factor of the products; 1 / sqrt(features) by default.
      is_causal: whether to hide keys after the query; both are numbered from 0.
      query_seq_lengths, key_value_seq_lengths: integers [batch], the numbers of valid queries and
        keys.
      local_window_size: the numbers of visible keys before and after a query, besides the one at
        its own position; one number for both, or a pair.
      implementation: `None` or "xla", which are the same here.
      return_residual: whether to also return the logarithm of the sum of exponentials of each
        query's scores, [batch, queries, heads].
    Returns: array of the shape and dtype of `query`. A query whose keys are all hidden gets 0, and
      the residual -inf.
    Raises: TypeError: shapes or dtypes do not match, or an operand is an integer. ValueError: an
      option is invalid.
    Example:
      >>> from weft import nn
      >>> q, k = np.ones((1, 1, 2)), np.zeros((2, 1, 2))
      >>> nn.dot_product_attention(q, k, np.array([[[1.0, 2.0]], [[3.0, 4.0]]]))
      Array([[[2., 3.]]], dtype=float32)
    Source: arXiv:1706.03762; JAX documentation, `jax.nn.dot_product_attention`.
    """
    q, k, v = (_operand(x, n) for x, n in ((query, "query"), (key, "key"), (value, "value")))
    batched = q.ndim == 4
    q, k, v = (x if batched else structural.reshape(x, shape=(1, *x.shape)) for x in (q, k, v))
    _check_operands(q, k, v)
    _check_implementation(implementation)
    bias_and_mask: dict[str, Any] = {}
    if bias is not None:
        bias_and_mask["bias"] = _of_pairs(bias, "bias", q, k)
    if mask is not None:
        bias_and_mask["mask"] = _of_pairs(mask, "mask", q, k)
    for name, lengths in (("queries", query_seq_lengths), ("keys", key_value_seq_lengths)):
        if lengths is not None:
            argument = "query" if name == "queries" else "key_value"
            bias_and_mask[name] = _lengths(lengths, f"{argument}_seq_lengths", q.shape[0])
    masking = Masking(
        scale=_scale(scale, q.shape[3]),
        causal=bool(is_causal),
        window=_window(local_window_size),
        extras=tuple(bias_and_mask),
        queries=q.shape[1],
        keys=k.shape[1],
    )
    out, logs = _attention(q, k, v, *bias_and_mask.values(), masking=masking)
    if not batched:
        out, logs = (structural.reshape(x, shape=x.shape[1:]) for x in (out, logs))
    return (out, logs) if return_residual else out


# --- arguments ---


def _operand(x: Any, argument: str) -> Any:
    x = value(NAME, x, argument)
    if x.ndim not in (3, 4) or not dtypes.is_float(x.dtype):
        raise ShapeError(
            f"{NAME}: {argument} must be floats [batch, length, heads, features] or [length, "
            f"heads, features]; got {x.aval}"
        )
    return x


def _check_operands(q: Any, k: Any, v: Any) -> None:
    for x, argument in ((k, "key"), (v, "value")):
        expected = (q.shape[0], k.shape[1], k.shape[2], q.shape[3])
        if x.shape != expected or x.dtype != q.dtype or x.ndim != q.ndim:
            raise ShapeError(
                f"{NAME}: {argument} must be {q.dtype}{list(expected)}, for query {q.aval} and key "
                f"{k.aval}; got {x.aval}"
            )
    if not k.shape[2] or q.shape[2] % k.shape[2]:
        raise ShapeError(
            f"{NAME}: the number of heads must be a multiple of the number of key heads; got query "
            f"{q.aval} and key {k.aval}"
        )


def _check_implementation(implementation: Any) -> None:
    if implementation not in (None, "xla"):
        raise ValueError(
            f"{NAME}: implementation must be None or 'xla'; got {implementation!r}\n"
            "  fix: leave it out: long sequences take little memory here on every device"
        )


def _of_pairs(x: Any, argument: str, q: Any, k: Any) -> Any:
    """A bias or a mask as [batch, key heads, heads of a group, queries, keys]; axes of length 1
    broadcast."""
    x = value(NAME, x, argument)
    is_mask = argument == "mask"
    full_shape = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    shape = (1,) * (4 - x.ndim) + x.shape
    shape_fits = len(shape) == 4 and all(
        n in (1, w) for n, w in zip(shape, full_shape, strict=True)
    )
    if not shape_fits or (not dtypes.is_bool(x.dtype) if is_mask else not dtypes.is_float(x.dtype)):
        raise ShapeError(
            f"{NAME}: {argument} must be {'booleans' if is_mask else 'floats'} that broadcast to "
            f"[batch, heads, queries, keys], {list(full_shape)}; got {x.aval}"
        )
    heads = (k.shape[2], q.shape[2] // k.shape[2]) if shape[1] > 1 else (1, 1)
    return structural.reshape(x, shape=(shape[0], *heads, *shape[2:]))


def _lengths(x: Any, argument: str, batch: int) -> Any:
    x = value(NAME, x, argument)
    if not dtypes.is_integer(x.dtype) or x.shape != (batch,):
        raise ShapeError(f"{NAME}: {argument} must be integers [{batch}]; got {x.aval}")
    return structural.reshape(cast(x, dtypes.int32), shape=(batch, 1, 1, 1, 1))


def _scale(scale: Any, features: int) -> float:
    if scale is None:
        return 1 / math.sqrt(max(features, 1))
    try:
        return float(scale)
    except (TypeError, ValueError):
        raise TypeError(f"{NAME}: scale must be a number; got {scale!r}") from None


def _window(window: Any) -> tuple[int, int] | None:
    if window is None:
        return None
    pair = window if isinstance(window, Sequence) else (window, window)
    if len(pair) != 2:
        raise ValueError(f"{NAME}: local_window_size must be one or two ints; got {window!r}")
    keys_before, keys_after = (as_int(NAME, n, "local_window_size") for n in pair)
    if keys_before < 0 or keys_after < 0:
        raise ValueError(f"{NAME}: local_window_size must be at least 0; got {window!r}")
    return keys_before, keys_after


# --- computation ---


@composite
def _attention(q: Any, k: Any, v: Any, *bias_and_mask: Any, masking: Masking) -> tuple[Any, Any]:
    """The means [batch, queries, heads, features], and the logarithms of the sums."""
    dtype, (batch, queries, heads, features) = q.aval.dtype, q.shape
    group = heads // k.shape[2]
    grouped_q = structural.reshape(q, shape=(batch, queries, k.shape[2], group, features))
    operands = (
        structural.transpose(grouped_q, permutation=(0, 2, 3, 1, 4)),
        structural.transpose(k, permutation=(0, 2, 1, 3)),
        structural.transpose(v, permutation=(0, 2, 1, 3)),
        *bias_and_mask,
    )
    if not masking.keys:
        logs = creation.full(q.aval.update(shape=operands[0].shape[:4], weak_type=False), -math.inf)
        out = creation.full(operands[0].aval.strong(), 0)
    elif masking.queries * masking.keys < MIN_BLOCKWISE_PAIRS:
        out, logs = _direct(operands, masking)
    else:
        out, logs = blockwise(masking, operands)
    out = structural.transpose(cast(out, dtype), permutation=(0, 3, 1, 2, 4))
    logs = structural.transpose(cast(logs, dtype), permutation=(0, 3, 1, 2))
    return (
        structural.reshape(out, shape=(batch, queries, heads, features)),
        structural.reshape(logs, shape=(batch, queries, heads)),
    )


def _direct(operands: tuple[Any, ...], masking: Masking) -> tuple[Any, Any]:
    """Computes all scores at once."""
    q, k, v, *bias_and_mask = operands
    block = Block(0, 0, masking.queries, masking.keys)
    s = scores(q, k, dict(zip(masking.extras, bias_and_mask, strict=True)), masking, block)
    rows = (*s.shape[:4], 1)
    maximum = structural.reshape(
        reductions.reduce_max(selection.stop_gradient(s), axes=(4,)), shape=rows
    )
    maximum = where(comparison.eq(maximum, like(maximum, -math.inf)), like(maximum, 0), maximum)
    terms = exp(s - maximum)
    total = structural.reshape(structural.reduce_sum(terms, axes=(4,)), shape=rows)
    is_hidden = comparison.eq(total, like(total, 0))
    divisor = where(is_hidden, like(total, 1), total)
    out = times(cast(terms / divisor, v.aval.dtype), v, (4, 2))
    logs = where(is_hidden, like(total, -math.inf), maximum + log(divisor))
    return out, structural.reshape(logs, shape=rows[:4])
