"""LSHSelfAttention and PureLSHSelfAttention: each position attends to positions in its hash bucket.

Source: Kitaev, Kaiser, Levskaya (2020), Reformer: The Efficient Transformer.
"""

import functools
from typing import Any

from ... import fastmath, option_checks
from ...fastmath import numpy as jnp
from ...shapes import ShapeDtype
from ...user_lines import noted
from .chunked_attention import (
    MASK_PENALTY,
    apply_broadcasted_dropout,
    attend,
    factors_of_buckets,
    hash_vecs,
    length_normalized,
    mask_self_attention,
    padded_positions,
    permute_via_gather,
)
from .efficient_attention_base import EfficientAttentionBase
from .self_attention import dropouts, projections, refuse_masked_prediction


class HashedAttention(EfficientAttentionBase):
    """The shared options and computation of both kinds of LSH attention.

    It takes the arguments of `LSHSelfAttention`.
    """

    _extra_inputs = 0  # besides the first input and the mask

    def __init__(
        self,
        n_heads: int = 2,
        d_qk: int = 64,
        d_v: int = 64,
        share_qk: Any = "unused",
        causal: bool = False,
        masked: bool = False,
        chunk_len: int = 128,
        n_chunks_before: int = 1,
        n_chunks_after: int = 0,
        n_hashes: int = 1,
        n_buckets: Any = None,
        mode: str = "train",
        predict_mem_len: int | None = 2048,
        predict_drop_len: int | None = 256,
        attention_dropout: float = 0.0,
        output_dropout: float = 0.0,
        max_length_for_buckets: int | None = None,
        bias: bool = False,
        n_parallel_heads: int | None = 1,
        use_python_loop: bool = False,
        use_reference_code: bool = False,
    ) -> None:
        name = type(self).__name__
        self._dropouts = dropouts(name, mode, attention_dropout, output_dropout)
        refuse_masked_prediction(name, masked, mode)
        if bias and self._extra_inputs:
            raise noted(ValueError(f"{name}: it has no weights, so no bias; got bias={bias}"))
        if mode == "predict" and (not causal or n_chunks_after):
            raise noted(
                ValueError(
                    f"{name}: mode='predict' needs causal=True and n_chunks_after=0; got "
                    f"causal={causal}, n_chunks_after={n_chunks_after}"
                )
            )
        super().__init__(
            n_heads=n_heads,
            n_in=1 + self._extra_inputs + masked,
            n_parallel_heads=n_parallel_heads,
            incremental=mode == "predict",
            predict_mem_len=predict_mem_len,
            predict_drop_len=predict_drop_len,
            use_python_loop=use_python_loop,
            use_reference_code=use_reference_code,
        )
        self._d_qk = option_checks.whole_number(name, "d_qk", d_qk)
        self._d_v = option_checks.whole_number(name, "d_v", d_v)
        self._chunk_len = option_checks.whole_number(name, "chunk_len", chunk_len)
        self._n_hashes = option_checks.whole_number(name, "n_hashes", n_hashes)
        if max_length_for_buckets is not None:
            option_checks.whole_number(name, "max_length_for_buckets", max_length_for_buckets)
        for factor in n_buckets if isinstance(n_buckets, list | tuple) else [n_buckets]:
            if factor is not None and option_checks.whole_number(name, "n_buckets", factor) % 2:
                raise noted(ValueError(f"{name}: n_buckets must be even; got {n_buckets}"))
        self._n_buckets, self._max_len = n_buckets, max_length_for_buckets
        self._causal, self._masked, self._bias = causal, masked, bias
        self._around = {"n_chunks_before": n_chunks_before, "n_chunks_after": n_chunks_after}

    def create_state_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """(buckets, random key) of one head of one example; in decoding, (buckets, number of
        positions with a bucket, random key)."""
        first = input_signature[0] if self.n_in > 1 else input_signature
        if self._incremental:
            buckets = jnp.zeros((self._n_hashes * self._mem_len,), dtype=jnp.int32)
            return buckets, jnp.asarray(0, dtype=jnp.int32), rng
        length = self._max_len or first.shape[0]
        return jnp.zeros((self._n_hashes * length,), dtype=jnp.int32), rng

    def hash_vectors(self, vecs: Any, rng: Any, mask: Any = None) -> Any:
        """The buckets of vectors in each round. Rounds do not share buckets.

        Args:
          vecs: array [length, depth].
          rng: random key.
          mask: bool array [length], False at padding, which has its own bucket.
        Returns: int32 array [n_hashes * length], one round after the other.
        """
        n_buckets = self._n_buckets
        if n_buckets is None:  # in decoding, equal for a prefix and for single positions
            length = self._mem_len if self._incremental else vecs.shape[0]
            n_buckets = factors_of_buckets(length, self._chunk_len)
        buckets, count = hash_vecs(vecs, n_buckets, self._n_hashes, rng)
        if mask is not None:
            buckets, count = jnp.where(mask, buckets, count), count + 1
        offsets = jnp.arange(self._n_hashes, dtype=jnp.int32)[:, None] * count
        return jnp.reshape(buckets + offsets, (-1,))

    def _attended(
        self, q: Any, v: Any, mask: Any, state: Any, rng: Any, update_state: bool
    ) -> tuple[Any, Any]:
        """(output of all rounds [length, d_v], new state). The queries are also the keys."""
        buckets, key, *_ = state
        length = q.shape[0]
        if update_state:
            keys = fastmath.random.split(key)
            buckets = self.hash_vectors(fastmath.stop_gradient(q), keys[1], mask)
            state = self._padded(buckets, length), keys[0]
        else:
            buckets = buckets[: self._n_hashes * length]
        return self._over_buckets(q, v, mask, buckets, rng), state

    def _padded(self, buckets: Any, length: int) -> Any:
        """Buckets padded to the size of the state, the maximal length of a sequence."""
        if self._max_len is None:
            return buckets
        missing = self._n_hashes * (self._max_len - length)
        if missing < 0:
            raise ValueError(
                f"{self._name}: a sequence of {length} positions is longer than "
                f"max_length_for_buckets={self._max_len}"
            )
        return jnp.concatenate([buckets, jnp.zeros((missing,), dtype=buckets.dtype)])

    def _over_buckets(self, q: Any, v: Any, mask: Any, buckets: Any, rng: Any) -> Any:
        """Attention in chunks of positions sorted by bucket, for all rounds at once."""
        length, n_hashes = q.shape[0], self._n_hashes
        if buckets.shape[0] != n_hashes * length or buckets.shape[0] % self._chunk_len:
            raise ValueError(
                f"{self._name}: {n_hashes} rounds of {length} positions are "
                f"{n_hashes * length}, which is no multiple of chunk_len={self._chunk_len}, or not "
                f"the {buckets.shape[0]} of the state\n  fix: pad the sequence; "
                "max_length_for_buckets for sequences of several lengths"
            )
        at = _by_bucket(jnp.reshape(buckets, (n_hashes, length)))
        sticker = jnp.reshape(at + length * jnp.arange(n_hashes)[:, None], (-1,))
        at = jnp.reshape(at, (-1,))
        undo = fastmath.index_update(sticker, sticker, jnp.arange(n_hashes * length))
        out, logits = attend(
            jnp.take(q, at, axis=0),
            None,
            jnp.take(v, at, axis=0),
            q_chunk_len=self._chunk_len,
            mask_fn=functools.partial(
                mask_self_attention, causal=self._causal, exclude_self=True, masked=self._masked
            ),
            q_info=at,
            kv_info=padded_positions(at, None if mask is None else jnp.take(mask, at, axis=0)),
            dropout=self._dropouts[0],
            rng=rng,
            **self._around,
        )
        out = permute_via_gather(out, undo, sticker)
        if n_hashes == 1:
            return out
        logits = jnp.reshape(permute_via_gather(logits, undo, sticker), (n_hashes, length, 1))
        weights = jnp.exp(logits - fastmath.logsumexp(logits, axis=0, keepdims=True))
        # compared with the numbers subtracted for hidden keys, the logarithm of the number of
        # rounds is negligible
        is_hidden = jnp.max(logits, axis=0, keepdims=True) < -MASK_PENALTY / 2
        weights = jnp.where(is_hidden, 1.0 / n_hashes, weights)
        rounds = jnp.reshape(out, (n_hashes, length, -1))
        return jnp.sum(rounds * weights, axis=0).astype(out.dtype)

    # Decoding.

    def _prefix(self, q: Any, v: Any, state: Any, rng: Any) -> tuple[Any, tuple[Any, Any, Any]]:
        """(output, new state) for the first positions of a sequence, processed at once."""
        buckets, _, key = state
        n, mem_len = q.shape[0], self._mem_len
        extra = -n % self._chunk_len
        if extra:
            q, v = [
                jnp.concatenate([x, jnp.zeros((extra, x.shape[-1]), dtype=x.dtype)]) for x in (q, v)
            ]
        hashes = self.hash_vectors(q, key)
        out = self._over_buckets(q, v, None, hashes, rng)[:n]
        hashes = jnp.reshape(hashes, (self._n_hashes, -1))[:, :n][:, -mem_len:]
        table = jnp.reshape(buckets, (self._n_hashes, mem_len))
        table = jnp.concatenate([hashes, table[:, hashes.shape[1] :]], axis=1)
        end = jnp.asarray(min(n, mem_len), dtype=jnp.int32)
        return out, (jnp.reshape(table, (-1,)), end, key)

    def _next_positions(
        self, q: Any, memory: Any, state: Any, q_start: Any
    ) -> tuple[Any, tuple[Any, Any, Any]]:
        """The positions of the memory to which each query attends: the latest ones in its buckets
        first. Returns (positions [n, count], some of which may be later than the query, the new
        state)."""
        buckets, end, key = state
        n, length = q.shape[0], memory.shape[0]
        table = jnp.reshape(buckets, (self._n_hashes, length))
        # if the oldest positions were dropped since then, the remaining ones have moved to the
        # front
        places = jnp.arange(length)
        rows = places + jnp.maximum(end - q_start, 0)
        kept = jnp.take(table, jnp.minimum(rows, length - 1), axis=1)
        table = jnp.where(rows < length, kept, 0)
        own = jnp.reshape(self.hash_vectors(q, key), (self._n_hashes, n))
        table = fastmath.dynamic_update_slice_in_dim(table, own, q_start, 1)
        is_same = jnp.max((table[:, None] == own[..., None]).astype(jnp.int32), axis=0)
        is_there = (places <= q_start + jnp.arange(n)[:, None]).astype(jnp.int32)
        priority = places + length * is_same - 4 * length * (1 - is_there)
        count = self._n_hashes * self._chunk_len * (1 + self._around["n_chunks_before"])
        places = jnp.broadcast_to(places, (n, length))
        _, order = fastmath.sort_key_val(priority, places, dimension=-1)
        return order[:, -count:], (jnp.reshape(table, (-1,)), q_start + n, key)

    def _attend_to(self, q: Any, chosen_q: Any, chosen_v: Any, chosen: Any, q_start: Any) -> Any:
        """The outputs of queries, each of which attends to its own positions."""
        mask = functools.partial(mask_self_attention, causal=True, exclude_self=True, masked=False)

        def one(q: Any, k: Any, v: Any, position: Any, chosen: Any) -> Any:
            k = length_normalized(k)
            return attend(q[None], k, v, mask_fn=mask, q_info=position[None], kv_info=chosen)[0][0]

        positions = q_start + jnp.arange(q.shape[0])
        return fastmath.vmap(one)(q, chosen_q, chosen_v, positions, chosen)

    def _check_step(self, update_state: bool) -> None:
        """Raises ValueError for a backward pass in decoding."""
        if not update_state:
            raise ValueError(f"{self._name}: decoding step by step has no backward pass")


def _by_bucket(buckets: Any) -> Any:
    """The positions of each round [n_hashes, length], sorted by bucket, and by position within a
    bucket."""
    length = buckets.shape[1]
    # on the CPU, sorting one combined number is several times faster than sorting a key and a value
    return jnp.sort(length * buckets + jnp.arange(length), axis=-1) % length


class LSHSelfAttention(HashedAttention):
    """Multi-head self-attention over hash buckets, in time and memory linear in the length.

    Args:
      n_heads: number of heads.
      d_qk: the depth of queries, which are also the keys, for each head.
      d_v: depth of values, for each head.
      share_qk: ignored; keys are always the queries, scaled to a length of √d_qk.
      causal: whether to hide later positions.
      masked: whether there is a second input, a bool array [batch, length], False at padding.
      chunk_len: the length of chunks of the positions sorted by bucket.
      n_chunks_before: the number of earlier chunks that each chunk sees.
      n_chunks_after: the number of later chunks that each chunk sees. The first chunk follows the
        last.
      n_hashes: the number of independent rounds of hashing.
      n_buckets: an even number of buckets, or a list of even factors of it; by default about two
        per chunk.
      mode: 'train', 'eval' or 'predict', which continues after the last call.
      predict_mem_len: the number of positions that 'predict' remembers.
      predict_drop_len: the number of positions to drop when the memory is full.
      attention_dropout: the probability that an attention weight becomes zero in training.
      output_dropout: the probability that a feature of a head's output becomes zero.
      max_length_for_buckets: the maximal length of sequences, if lengths differ; the state has room
        for their buckets.
      bias: whether queries and values have a bias.
      n_parallel_heads: see `EfficientAttentionBase`; by default, one head at a time.
      use_python_loop: see `EfficientAttentionBase`.
      use_reference_code: see `EfficientAttentionBase`.

    Raises: ValueError: options are incompatible.

    Inputs [batch, length, depth] become outputs of the same shape; n_hashes * length must be a
    multiple of `chunk_len`. Weights are (w_q, w_v, w_o) and with `bias` (b_q, b_v), each with a
    first axis of heads. The state has the buckets of the last call and a random key; each call in
    training and evaluation uses new rotations.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LSHSelfAttention(n_heads=2, d_qk=4, d_v=4, chunk_len=4, n_hashes=2)
      >>> weights, state = layer.init(np.ones((1, 16, 8), np.float32))
      >>> layer(np.ones((1, 16, 8), np.float32)).shape
      (1, 16, 8)

    Source: Kitaev, Kaiser, Levskaya (2020), Reformer; Trax documentation,
    `layers.research.efficient_attention.LSHSelfAttention`.
    """

    def create_weights_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """(w_q, w_v, w_o) of one head, and its biases."""
        signature = input_signature[0] if self._masked else input_signature
        d_model = signature.shape[-1]
        depths = {"q": (d_model, self._d_qk), "v": (d_model, self._d_v)}
        weights = projections(rng, depths, self._n_heads, d_model, self._d_v)
        biases = [jnp.zeros((d,)) for _, d in depths.values()] if self._bias else []
        return (*weights, *biases)

    def _projected(self, x: Any, weights: Any) -> tuple[Any, Any]:
        """The queries and the values of positions."""
        w_q, w_v, _, *biases = weights
        projections = jnp.matmul(x, w_q), jnp.matmul(x, w_v)
        return (projections[0] + biases[0], projections[1] + biases[1]) if biases else projections

    def forward_unbatched(
        self, x: Any, mask: Any = None, *, weights: Any, state: Any, rng: Any, update_state: bool
    ) -> tuple[Any, Any]:
        """(output, new state) of one head: `x` [length, depth], `mask` [length] or None."""
        keys = fastmath.random.split(rng)  # for attention, for the output
        q, v = self._projected(x, weights)
        out, state = self._attended(q, v, mask, state, keys[0], update_state)
        out = jnp.matmul(out, weights[2])
        return apply_broadcasted_dropout(out, self._dropouts[1], keys[1]), state

    def _incremental_forward_unbatched(
        self,
        x: Any,
        *,
        q_start: Any,
        q_len: int,
        weights: Any,
        state: Any,
        rng: Any,
        update_state: bool,
    ) -> tuple[Any, Any]:
        self._check_step(update_state)
        if x.shape[0] == q_len > 1:
            out, state = self._prefix(*self._projected(x, weights), state, rng)
        else:
            q, _ = self._projected(fastmath.dynamic_slice_in_dim(x, q_start, q_len, 0), weights)
            chosen, state = self._next_positions(q, x, state, q_start)
            chosen_q, chosen_v = self._projected(jnp.take(x, chosen, axis=0), weights)
            out = self._attend_to(q, chosen_q, chosen_v, chosen, q_start)
        return jnp.matmul(out, weights[2]), state


class PureLSHSelfAttention(HashedAttention):
    """LSH attention without weights: queries and values are inputs.

    Args: as for `LSHSelfAttention`, without `bias`.

    Raises: ValueError: options are incompatible, or `bias` is set.

    Inputs are queries, which are also the keys, and values, each [batch * n_heads, length, d], and
    with `masked` a bool array [batch, length], False at padding. The output is like the values.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.PureLSHSelfAttention(n_heads=2, d_qk=4, d_v=4, chunk_len=4)
      >>> inputs = np.ones((2, 8, 4), np.float32), np.ones((2, 8, 4), np.float32)
      >>> weights, state = layer.init(inputs)
      >>> layer(inputs).shape
      (2, 8, 4)

    Source: Trax documentation, `layers.research.efficient_attention.PureLSHSelfAttention`.
    """

    _extra_inputs = 1

    def _are_per_head(self) -> tuple[bool, ...]:
        return (True, True, False)[: self.n_in]

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the state of each row of queries."""
        rows = input_signature[0].shape[0]
        if rows % self._n_heads:
            raise ValueError(
                f"{self._name}: inputs have batch * n_heads rows; got {rows} rows, which is no "
                f"multiple of n_heads={self._n_heads}"
            )
        alone = tuple([ShapeDtype(tuple(s.shape[1:]), s.dtype) for s in input_signature])
        self.state = self._initial_state(input_signature, alone, rows, self.rng)

    def forward_unbatched(
        self, qk: Any, v: Any, mask: Any = None, *, weights: Any = (), state: Any, rng: Any,
        update_state: bool,
    ) -> tuple[Any, Any]:  # fmt: skip
        """(output, new state) of one row: `qk` and `v` [length, d], `mask` [length] or None."""
        keys = fastmath.random.split(rng)  # for attention, for the output
        out, state = self._attended(qk, v, mask, state, keys[0], update_state)
        return apply_broadcasted_dropout(out, self._dropouts[1], keys[1]), state

    def _incremental_forward_unbatched(
        self,
        qk: Any,
        v: Any,
        *,
        q_start: Any,
        q_len: int,
        weights: Any = (),
        state: Any,
        rng: Any,
        update_state: bool,
    ) -> tuple[Any, Any]:
        self._check_step(update_state)
        if qk.shape[0] == q_len > 1:
            return self._prefix(qk, v, state, rng)
        q = fastmath.dynamic_slice_in_dim(qk, q_start, q_len, 0)
        chosen, state = self._next_positions(q, qk, state, q_start)
        chosen_q, chosen_v = jnp.take(qk, chosen, axis=0), jnp.take(v, chosen, axis=0)
        return self._attend_to(q, chosen_q, chosen_v, chosen, q_start), state

    def forward(self, inputs: Any) -> Any:
        """Computes the output, and sets the new state."""
        output, self.state, _ = self.forward_and_or_backward(inputs, self.state, self.rng)
        return output

    def backward(
        self,
        inputs: Any,
        output: Any,
        grad: Any,
        weights: Any,
        state: Any,
        new_state: Any,
        rng: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, Any]:
        """Computes the gradients, with the choices of the forward pass, which are in the new
        state."""
        _, _, inputs_grad = self.forward_and_or_backward(
            inputs, new_state, rng, output_grad=grad, compute_output=False, update_state=False
        )
        return inputs_grad, ()

    def forward_and_or_backward(  # type: ignore[override]  # without weights, as documented
        self,
        inputs: Any,
        state: Any,
        rng: Any,
        output_grad: Any = None,
        compute_output: bool = True,
        update_state: bool = True,
    ) -> tuple[Any, Any, Any]:
        """Like `EfficientAttentionBase.forward_and_or_backward`, without weights and their
        gradient."""
        return super().forward_and_or_backward(
            inputs, (), state, rng, output_grad, compute_output, update_state
        )[:3]
