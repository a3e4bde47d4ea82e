"""Chunked attention of one head over one sequence, and hashing of vectors into buckets.

Source: Kitaev, Kaiser, Levskaya (2020), Reformer: The Efficient Transformer.
"""

import math
from collections.abc import Callable
from typing import Any

from ... import fastmath
from ...fastmath import numpy as jnp
from ...user_lines import noted
from ..attention_weights import widened

MASK_PENALTY = 1e9
"""Subtracted from the logit of a hidden key."""

SELF_PENALTY = 1e5
"""Subtracted where a query is its own key, so that it attends to itself only if all other keys are
hidden."""

PAIRS_AT_ONCE = 2**15
"""The number of (query, key) pairs that chunked attention computes at a time, small enough for a
core's cache. Computing all pairs of 65,536 positions at once is three times slower per pair than
1,024 at a time (benchmarks/long_sequences.py)."""


def length_normalized(x: Any, epsilon: float = 1e-6) -> Any:
    """Vectors divided by their root mean square, so their length becomes √depth.

    Args:
      x: array [..., depth].
      epsilon: added to the mean of the squares.
    Returns: array of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.length_normalized(np.array([3.0, 4.0]), epsilon=0.0)
      Array([0.84852815, 1.1313709 ], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.length_normalized`.
    """
    x = jnp.asarray(x)
    return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + epsilon)


def hash_vecs(vecs: Any, n_buckets_in: Any, n_hashes: int, rng: Any) -> tuple[Any, int]:
    """Hashes vectors so that close vectors often share a bucket: the bucket is the index of the
    largest coordinate, or its opposite, after a random rotation.

    Args:
      vecs: array [n, depth].
      n_buckets_in: an even number of buckets, or a list of even factors of it, one for each digit
        of the bucket, the least significant first. Factors need less work.
      n_hashes: number of independent rounds.
      rng: random key; equal keys and depths give equal rotations.
    Returns: (int32 array [n_hashes, n] of buckets, the number of buckets).
    Raises: ValueError: a number of buckets is odd or not positive.
    Example:
      >>> from weft import fastmath, layers as tl
      >>> vecs = np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0]], np.float32)
      >>> buckets, n_buckets = tl.hash_vecs(vecs, 4, 2, fastmath.random.get_prng(0))
      >>> n_buckets, bool((buckets[:, 0] == buckets[:, 1]).all())
      (4, True)
    Source: Andoni et al. (2015), Practical and Optimal LSH for Angular Distance.
    """
    factors = [*n_buckets_in] if isinstance(n_buckets_in, list | tuple) else [n_buckets_in]
    for factor in factors:
        if isinstance(factor, bool) or factor <= 0 or factor % 2:
            raise noted(
                ValueError(
                    f"hash_vecs: numbers of buckets must be even and positive; got {n_buckets_in}"
                )
            )
    size = sum(factors) // 2
    rotations = fastmath.random.normal(rng, (vecs.shape[-1], n_hashes, size))
    rotated = jnp.einsum("td,dhb->htb", vecs, rotations.astype(vecs.dtype))
    buckets: Any = 0
    start, weight = 0, 1
    for factor in factors:
        part = rotated[..., start : start + factor // 2]
        is_opposite = jnp.max(part, axis=-1) < -jnp.min(part, axis=-1)
        digit = jnp.where(
            is_opposite, factor // 2 + jnp.argmin(part, axis=-1), jnp.argmax(part, axis=-1)
        )
        buckets = buckets + weight * digit.astype(jnp.int32)
        start, weight = start + factor // 2, weight * factor
    return buckets, weight


def look_adjacent(x: Any, n_chunks_before: int, n_chunks_after: int) -> Any:
    """Concatenates each chunk with the chunks before and after it; the first and last chunks are
    neighbours.

    Args:
      x: array [n_chunks, chunk_len, ...].
      n_chunks_before: number of earlier chunks to put before each chunk.
      n_chunks_after: number of later chunks to put after each chunk.
    Returns: array [n_chunks, (1 + n_chunks_before + n_chunks_after) * chunk_len, ...].
    Example:
      >>> from weft import layers as tl
      >>> tl.look_adjacent(np.arange(6).reshape(3, 2), 1, 0)
      Array([[4, 5, 0, 1],
             [0, 1, 2, 3],
             [2, 3, 4, 5]], dtype=int32)
    Source: Trax documentation, `layers.research.efficient_attention.look_adjacent`.
    """
    if n_chunks_before == n_chunks_after == 0:
        return jnp.asarray(x)
    n = x.shape[0]
    around = []
    for shift in range(-n_chunks_before, n_chunks_after + 1):
        shift %= n
        around.append(jnp.concatenate([x[shift:], x[:shift]], axis=0) if shift else jnp.asarray(x))
    return jnp.concatenate(around, axis=1)


def mask_self_attention(
    dots: Any,
    q_info: Any,
    kv_info: Any,
    causal: bool = True,
    exclude_self: bool = True,
    masked: bool = False,
) -> Any:
    """Subtracts large numbers from logits where a key is hidden from a query.

    Args:
      dots: array of logits.
      q_info: positions of the queries, which broadcast with `dots`.
      kv_info: positions of the keys; negative where a key is padding.
      causal: whether to hide later keys.
      exclude_self: whether a query attends to itself only if all other keys are hidden.
      masked: whether to hide padding.
    Returns: array of the shape of `dots`.
    Example:
      >>> from weft import layers as tl
      >>> at = np.arange(2)
      >>> tl.mask_self_attention(np.zeros((2, 2), np.float32), at[:, None], at, exclude_self=False)
      Array([[ 0.e+00, -1.e+09],
             [ 0.e+00,  0.e+00]], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.mask_self_attention`.
    """
    hidden: Any = 0.0
    if causal:
        hidden = hidden + _where(q_info < kv_info, MASK_PENALTY, dots)
    if exclude_self:
        hidden = hidden + _where(q_info == kv_info, SELF_PENALTY, dots)
    if masked:
        hidden = hidden + _where(kv_info < 0, MASK_PENALTY, dots)
    return dots - hidden


def _where(condition: Any, amount: float, like: Any) -> Any:
    """A number where a condition holds, otherwise 0; in float16, a quarter of the largest
    number."""
    dtype = str(like.dtype)
    if "float16" in dtype and "bfloat16" not in dtype:
        amount = min(amount, 65504 / 4)
    return amount * jnp.asarray(condition).astype(like.dtype)


def padded_positions(positions: Any, mask: Any) -> Any:
    """Positions for `attend`: negative at padding, even after 1 is added.

    Args:
      positions: int array.
      mask: bool array, False at padding; None for no padding.
    Returns: int array.
    """
    return positions if mask is None else jnp.where(mask, positions, -2 - positions)


def attend(
    q: Any,
    k: Any = None,
    v: Any = None,
    q_chunk_len: int | None = None,
    kv_chunk_len: int | None = None,
    n_chunks_before: int = 0,
    n_chunks_after: int = 0,
    mask_fn: Callable[[Any, Any, Any], Any] | None = None,
    q_info: Any = None,
    kv_info: Any = None,
    dropout: float = 0.0,
    rng: Any = None,
) -> tuple[Any, Any]:
    """Dot-product attention of one head over one sequence, optionally in chunks.

    Args:
      q: queries [q_len, d_qk].
      k: keys [kv_len, d_qk]; by default, the queries with a length of √d_qk.
      v: values [kv_len, d_v].
      q_chunk_len: the length of chunks of queries, each of which sees only the chunk of keys with
        the same number and neighbouring chunks; it must divide `q_len`.
      kv_chunk_len: the length of chunks of keys; by default `q_chunk_len`, if the queries are used
        as keys.
      n_chunks_before: the number of visible earlier chunks.
      n_chunks_after: the number of visible later chunks. The first chunk follows the last.
      mask_fn: a function of (logits, q_info, kv_info) that hides keys, such as
        `mask_self_attention`; it is called with both infos plus 1, with axes that broadcast.
      q_info: [q_len]; by default, positions.
      kv_info: [kv_len]; by default, positions, or `q_info` if the queries are used as keys.
      dropout: the probability that an attention weight becomes zero.
      rng: the random key for dropout.
    Returns: (outputs [q_len, d_v], logsumexp of the logits [q_len], float32 or wider, for combining
      rounds).
    Raises: ValueError: options or lengths are incompatible.
    Example:
      >>> from weft import layers as tl
      >>> q = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
      >>> tl.attend(q, q * 100, np.array([[1.0], [2.0]], np.float32))[0]
      Array([[1.],
             [2.]], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.attend`.
    """
    is_shared = k is None
    kv_chunk_len = _checked_chunks(
        q, k, v, q_chunk_len, kv_chunk_len, n_chunks_before, n_chunks_after, dropout, rng
    )
    q_info = jnp.arange(q.shape[0]) if q_info is None else q_info
    if kv_info is None:
        kv_info = q_info if is_shared else jnp.arange(v.shape[0])
    q_info, kv_info = q_info + 1, kv_info + 1
    k = q if is_shared else k
    n_keys = v.shape[0]
    if kv_chunk_len:
        n_keys = kv_chunk_len * (1 + n_chunks_before + n_chunks_after)
    keep_mask: Any = None
    if dropout > 0.0:
        keep_mask = fastmath.random.bernoulli(
            rng, 1.0 - dropout, (q_chunk_len or q.shape[0], n_keys)
        )

    def within(arrays: Any) -> tuple[Any, Any]:
        q, k, v, q_info, kv_info = arrays
        k = length_normalized(k) if is_shared else k
        # the numbers subtracted for hidden keys exceed float16's range, and their sums exceed
        # bfloat16's precision
        dots = widened(jnp.matmul(q, jnp.swapaxes(k / math.sqrt(q.shape[-1]), -1, -2)))
        if mask_fn is not None:
            dots = mask_fn(dots, q_info[..., :, None], kv_info[..., None, :])
        weights, logsumexp = _softmax(dots)
        if keep_mask is not None:
            weights = weights * (keep_mask.astype(weights.dtype) / (1.0 - dropout))
        return jnp.matmul(weights, v).astype(jnp.result_type(q, k, v)), logsumexp

    if q_chunk_len:
        around = [
            look_adjacent(_chunks(x, kv_chunk_len), n_chunks_before, n_chunks_after)
            for x in (k, v, kv_info)
        ]
        chunks = (_chunks(q, q_chunk_len), *around[:2], _chunks(q_info, q_chunk_len), around[2])
        out, logsumexp = _by_groups(within, chunks, max(1, PAIRS_AT_ONCE // (q_chunk_len * n_keys)))
    else:
        out, logsumexp = within((q, k, v, q_info, kv_info))
    return jnp.reshape(out, (-1, out.shape[-1])), jnp.reshape(logsumexp, (-1,))


def _softmax(dots: Any) -> tuple[Any, Any]:
    """The weights of logits along the last axis, and the logarithms of the sums of exponentials."""
    logsumexp = fastmath.logsumexp(dots, axis=-1, keepdims=True)
    weights = jnp.exp(dots - logsumexp)
    # If all keys are hidden, the logits are equal and so large that rounding loses the logarithm of
    # the number of keys, and the weights would sum to that number.
    is_hidden = jnp.max(dots, axis=-1, keepdims=True) < -MASK_PENALTY / 2
    total = jnp.sum(weights, axis=-1, keepdims=True)
    weights = jnp.where(is_hidden, weights / total, weights)
    return weights, logsumexp


def _by_groups(f: Callable[[Any], Any], chunks: tuple[Any, ...], size: int) -> Any:
    """The results of `f` for chunks [n, ...], `size` chunks at a time, so that intermediate values
    of only one group are stored in either pass. Other backends than `jax` process all chunks at
    once."""
    n = chunks[0].shape[0]
    if n <= size or not fastmath.is_backend(fastmath.Backend.JAX):
        return f(chunks)
    first, rest = n - n % size, n % size
    groups = [jnp.reshape(x[:first], (-1, size, *x.shape[1:])) for x in chunks]
    outputs = fastmath.map(fastmath.remat(f), tuple(groups))
    outputs = [jnp.reshape(x, (first, *x.shape[2:])) for x in outputs]
    if rest:
        last = f(tuple([x[first:] for x in chunks]))
        outputs = [jnp.concatenate(parts, axis=0) for parts in zip(outputs, last, strict=True)]
    return outputs


def _checked_chunks(
    q: Any,
    k: Any,
    v: Any,
    q_chunk_len: int | None,
    kv_chunk_len: int | None,
    n_chunks_before: int,
    n_chunks_after: int,
    dropout: float,
    rng: Any,
) -> Any:
    """The length of chunks of keys. Raises an error unless the options of `attend` are
    compatible."""
    if v is None:
        raise noted(ValueError("attend: no values v were given"))
    if k is None and kv_chunk_len not in (None, q_chunk_len):
        raise noted(
            ValueError(
                f"attend: without keys k these are the queries, in chunks of {q_chunk_len}; got "
                f"kv_chunk_len={kv_chunk_len}"
            )
        )
    kv_chunk_len = q_chunk_len if k is None else kv_chunk_len
    if bool(q_chunk_len) != bool(kv_chunk_len):
        raise noted(
            ValueError(
                "attend: queries and keys are cut in chunks, or neither; got "
                f"q_chunk_len={q_chunk_len}, kv_chunk_len={kv_chunk_len}"
            )
        )
    if not q_chunk_len and (n_chunks_before or n_chunks_after):
        raise noted(
            ValueError(
                f"attend: n_chunks_before={n_chunks_before} and n_chunks_after={n_chunks_after} "
                "need q_chunk_len"
            )
        )
    if q_chunk_len and kv_chunk_len:
        lengths = (("queries", q, q_chunk_len), ("values", v, kv_chunk_len))
        for what, x, chunk_len in lengths:
            if x.shape[0] % chunk_len:
                raise noted(
                    ValueError(
                        f"attend: {x.shape[0]} {what} are not a multiple of the chunk length "
                        f"{chunk_len}\n  fix: pad the sequence, with a mask over the padding"
                    )
                )
        if q.shape[0] // q_chunk_len != v.shape[0] // kv_chunk_len:
            raise noted(
                ValueError(
                    f"attend: {q.shape[0] // q_chunk_len} chunks of queries, and "
                    f"{v.shape[0] // kv_chunk_len} of values; expected as many"
                )
            )
    if dropout > 0.0 and rng is None:
        raise noted(ValueError(f"attend: dropout={dropout} needs a random key rng"))
    return kv_chunk_len


def _chunks(x: Any, length: Any) -> Any:
    return jnp.reshape(x, (-1, length, *x.shape[1:]))


def apply_broadcasted_dropout(vecs: Any, dropout_rate: float, rng: Any) -> Any:
    """Dropout that zeroes the same random features in all vectors.

    Args:
      vecs: array [..., depth].
      dropout_rate: the probability that a feature becomes zero, below 1; 0 or less for no dropout.
      rng: random key.
    Returns: array of the same shape.
    Raises: ValueError: `rng` is None and the rate is positive.
    Example:
      >>> from weft import layers as tl
      >>> tl.apply_broadcasted_dropout(np.ones(2), 0.0, None)
      Array([1., 1.], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.apply_broadcasted_dropout`.
    """
    if dropout_rate <= 0.0:
        return vecs
    if rng is None:
        raise noted(
            ValueError(f"apply_broadcasted_dropout: rate {dropout_rate} needs a random key")
        )
    keep_mask = fastmath.random.bernoulli(rng, 1.0 - dropout_rate, (vecs.shape[-1],))
    return vecs * (keep_mask.astype(vecs.dtype) / (1.0 - dropout_rate))


def permute_via_gather(val: Any, permutation: Any, inverse_permutation: Any, axis: int = 0) -> Any:
    """Permutes slices of an array; the gradient is a gather too, not a scatter.

    Args:
      val: array.
      permutation: int array [n], the index of the slice for each position.
      inverse_permutation: int array [n], the inverse.
      axis: axis of length n.
    Returns: array of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.permute_via_gather(np.array([5.0, 6.0, 7.0]), np.array([2, 0, 1]), np.array([1, 2, 0]))
      Array([7., 5., 6.], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.permute_via_gather`.
    """

    def forward(val: Any) -> Any:
        return jnp.take(val, permutation, axis=axis)

    def with_pullback(val: Any) -> tuple[Any, Callable[[Any], Any]]:
        return forward(val), lambda ct: (jnp.take(ct, inverse_permutation, axis=axis),)

    return fastmath.custom_grad(with_pullback, forward)(jnp.asarray(val))


def permute_via_sort(val: Any, keys: Any, inverse_keys: Any, axis: int = 0) -> Any:
    """Sorts elements of an array by keys; the gradient is a sort too.

    Args:
      val: array of the shape of the keys.
      keys: the sort keys along the axis.
      inverse_keys: the keys that restore the original order.
      axis: the axis.
    Returns: array of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.permute_via_sort(np.array([5.0, 6.0, 7.0]), np.array([1, 2, 0]), np.array([2, 0, 1]))
      Array([7., 5., 6.], dtype=float32)
    Source: Trax documentation, `layers.research.efficient_attention.permute_via_sort`.
    """

    def forward(val: Any) -> Any:
        return fastmath.sort_key_val(keys, val, dimension=axis)[1]

    def with_pullback(val: Any) -> tuple[Any, Callable[[Any], Any]]:
        def pull(ct: Any) -> tuple[Any]:
            return (fastmath.sort_key_val(inverse_keys, ct, dimension=axis)[1],)

        return forward(val), pull

    return fastmath.custom_grad(with_pullback, forward)(jnp.asarray(val))


def factors_of_buckets(n_positions: int, chunk_len: int) -> int | list[int]:
    """A number of buckets with about half a chunk each, as two factors if there are many.

    Args:
      n_positions: length of the sequence.
      chunk_len: length of its chunks.
    Returns: an even number, or two.
    """
    n_buckets = 2 * max(1, n_positions // chunk_len)
    if n_buckets <= 128:
        return n_buckets
    first = 2 ** math.ceil(math.log2(math.sqrt(n_buckets)))
    return [first, 2 * (n_buckets // (2 * first))]
