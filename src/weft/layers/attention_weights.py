"""The arithmetic of attention on arrays: heads, masks and weighted means."""

import math
from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp

MASKED_SCORE = -1e9  # the score of a masked key


def attend(
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any = None,
    dropout: float = 0.0,
    mode: str = "eval",
    rng: Any = None,
) -> tuple[Any, Any]:
    """Means of values, weighted by softmax(queries keysᵀ / √features).

    A query whose keys are all masked gets the mean of all values.

    Args:
      queries: floats [..., queries, features].
      keys, values: [..., keys, features], [..., keys, value features].
      mask: broadcasts to [..., queries, keys]; nonzero where a query attends to a key.
      dropout: the rate at which weights are set to zero, in mode "train" only; the others are
        divided by 1 - dropout.
      rng: the key for dropout.
    Returns: the means [..., queries, value features] and the weights [..., queries, keys], both
      float32.
    """
    scores = jnp.matmul(queries * (1.0 / math.sqrt(queries.shape[-1])), jnp.swapaxes(keys, -1, -2))
    return weighted_means(scores, values, mask, dropout if mode == "train" else 0.0, rng)


def weighted_means(
    scores: Any, values: Any, mask: Any, dropout: float, rng: Any
) -> tuple[Any, Any]:
    """Means of values, weighted by how well their keys match, [..., queries, keys]; and the
    weights."""
    scores = widened(scores)
    weights = softmax(scores if mask is None else masked(scores, mask))
    if dropout:
        keep = fastmath.random.bernoulli(rng, 1.0 - dropout, weights.shape)
        weights = jnp.where(keep, weights / (1.0 - dropout), jnp.zeros_like(weights))
    return widened(jnp.matmul(weights, values)), widened(weights)


def wide_dtype(x: Any) -> Any:
    """float64 for an array or signature of float64, otherwise float32, on every backend."""
    return jnp.float64 if "float64" in str(x.dtype) else jnp.float32


def widened(x: Any) -> Any:
    """The array as float32; a float64 array is unchanged."""
    return x.astype(wide_dtype(x))


def masked(scores: Any, mask: Any) -> Any:
    """The scores, replaced by a very low score where the mask is zero or false."""
    return jnp.where(mask.astype(jnp.bool_), scores, jnp.full((), MASKED_SCORE, scores.dtype))


def softmax(scores: Any) -> Any:
    """exp(scores) / Σ exp(scores) over the last axis; uniform where all scores are equal."""
    greatest = fastmath.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    exponentials = jnp.exp(scores - greatest)
    return exponentials / jnp.sum(exponentials, axis=-1, keepdims=True)


def split_heads(x: Any, n_heads: int) -> Any:
    """[batch, length, heads * features] as [batch, heads, length, features]."""
    batch, length, depth = x.shape
    if depth % n_heads:
        raise ShapeError(
            f"the {depth} features of each position do not divide into {n_heads} heads\n"
            "  fix: choose a number of features that is a multiple of n_heads"
        )
    heads = jnp.reshape(x, (batch, length, n_heads, depth // n_heads))
    return jnp.transpose(heads, (0, 2, 1, 3))


def merge_heads(x: Any) -> Any:
    """[batch, heads, length, features] as [batch, length, heads * features]."""
    batch, heads, length, depth = x.shape
    return jnp.reshape(jnp.transpose(x, (0, 2, 1, 3)), (batch, length, heads * depth))


def causal_mask(length: int) -> Any:
    """Booleans [1, length, length]: the keys up to each query's own position."""
    positions = jnp.arange(length)
    return (positions[:, None] >= positions[None, :])[None]
