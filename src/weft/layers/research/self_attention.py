"""SelfAttention and EncDecAttention: attention of a sequence to itself or to another sequence."""

import functools
import math
from typing import Any

from ... import fastmath, option_checks
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, checked_rate
from ...user_lines import noted
from .chunked_attention import (
    MASK_PENALTY,
    apply_broadcasted_dropout,
    attend,
    length_normalized,
    mask_self_attention,
    padded_positions,
)
from .efficient_attention_base import EfficientAttentionBase


def kernel(rng: Any, fan_in: int, depth: int, n_heads: int) -> Any:
    """The weights [fan_in, depth] of one head; Glorot uniform for all heads together."""
    limit = math.sqrt(6.0 / (fan_in + depth * n_heads))
    return fastmath.random.uniform(rng, (fan_in, depth), minval=-limit, maxval=limit)


def projections(
    rng: Any, depths: dict[str, tuple[int, int]], n_heads: int, d_model: int, d_v: int
) -> tuple[Any, ...]:
    """The weights of one head for the projections named in `depths`, and for its output [d_v,
    d_model].

    Args:
      rng: random key.
      depths: (depth of the input, depth of the projection) for "q", "k" and "v".
      n_heads: number of heads.
      d_model: depth of the output.
      d_v: depth of values.
    """
    keys = dict(zip("qkvo", fastmath.random.split(rng, 4), strict=True))
    initial = [kernel(keys[name], *depth, n_heads) for name, depth in depths.items()]
    return *initial, jnp.transpose(kernel(keys["o"], d_model, d_v, n_heads))


def dropouts(layer: str, mode: Any, attention: Any, output: Any) -> tuple[float, float]:
    """The dropout rates for attention and output; 0 except in training."""
    checked_mode(layer, mode)
    attention = checked_rate(layer, attention, "attention_dropout")
    output = checked_rate(layer, output, "output_dropout")
    return (attention, output) if mode == "train" else (0.0, 0.0)


def refuse_masked_prediction(layer: str, masked: bool, mode: str) -> None:
    """Raises ValueError for a mask in decoding, where there is no padding."""
    if masked and mode == "predict":
        raise noted(
            ValueError(
                f"{layer}: masked=True has no meaning with mode='predict', which remembers "
                "positions without a mask\n  fix: masked=False"
            )
        )


class SelfAttention(EfficientAttentionBase):
    """Multi-head self-attention, in chunks or over all positions, in bounded memory.

    Args:
      n_heads: number of heads.
      d_qk: depth of queries and keys, for each head.
      d_v: depth of values, for each head.
      share_qk: whether to use the queries as keys, scaled to a length of √d_qk.
      causal: whether to hide later positions.
      masked: whether there is a second input, a bool array [batch, length], False at padding.
      chunk_len: the length of chunks, which attend only to neighbouring chunks; the length of
        sequences must be a multiple of it. None for no chunks.
      n_chunks_before: the number of earlier chunks that each chunk sees.
      n_chunks_after: the number of later chunks that each chunk sees. The first chunk follows the
        last.
      bias: whether queries, keys and values have a bias.
      mode: 'train', 'eval' or 'predict', which continues after the last call.
      predict_mem_len: the number of positions that 'predict' remembers; with chunks, at least the
        number that a chunk sees.
      predict_drop_len: the number of positions to drop at once; with chunks, as few whole chunks as
        possible.
      attention_dropout: the probability that an attention weight becomes zero in training.
      output_dropout: the probability that a feature of a head's output becomes zero.
      n_parallel_heads: see `EfficientAttentionBase`.
      use_python_loop: see `EfficientAttentionBase`.
      use_reference_code: see `EfficientAttentionBase`.

    Raises: ValueError: options are incompatible.

    Inputs [batch, length, depth] become outputs of the same shape. Weights are (w_q, w_k, w_v, w_o)
    and with `bias` (b_q, b_k, b_v), each with a first axis of heads; with `share_qk` there are no
    w_k and b_k.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.SelfAttention(n_heads=2, d_qk=4, d_v=4, causal=True, mode="eval")
      >>> weights, state = layer.init(np.ones((1, 6, 8), np.float32))
      >>> layer(np.ones((1, 6, 8), np.float32)).shape, [w.shape for w in weights]
      ((1, 6, 8), [(2, 8, 4), (2, 8, 4), (2, 8, 4), (2, 4, 8)])

    Source: Kitaev, Kaiser, Levskaya (2020), Reformer; Trax documentation,
    `layers.research.efficient_attention.SelfAttention`.
    """

    def __init__(
        self,
        n_heads: int = 2,
        d_qk: int = 64,
        d_v: int = 64,
        share_qk: bool = False,
        causal: bool = False,
        masked: bool = False,
        chunk_len: int | None = None,
        n_chunks_before: int = 0,
        n_chunks_after: int = 0,
        bias: bool = False,
        mode: str = "train",
        predict_mem_len: int | None = None,
        predict_drop_len: int | None = None,
        attention_dropout: float = 0.0,
        output_dropout: float = 0.0,
        n_parallel_heads: int | None = None,
        use_python_loop: bool = False,
        use_reference_code: bool = False,
    ) -> None:
        name = type(self).__name__
        self._dropouts = dropouts(name, mode, attention_dropout, output_dropout)
        refuse_masked_prediction(name, masked, mode)
        incremental = mode == "predict"
        if incremental:
            if not causal:
                raise noted(
                    ValueError(f"{name}: mode='predict' needs causal=True: later is not yet there")
                )
            if chunk_len is not None:
                sees = chunk_len * (1 + n_chunks_before)
                predict_mem_len = max(predict_mem_len or 0, sees)
                predict_drop_len = predict_drop_len or chunk_len
        super().__init__(
            n_heads=n_heads,
            n_in=2 if masked else 1,
            n_parallel_heads=n_parallel_heads,
            incremental=incremental,
            predict_mem_len=predict_mem_len,
            predict_drop_len=predict_drop_len,
            use_python_loop=use_python_loop,
            use_reference_code=use_reference_code,
        )
        self._d_qk = option_checks.whole_number(name, "d_qk", d_qk)
        self._d_v = option_checks.whole_number(name, "d_v", d_v)
        if chunk_len is not None:
            option_checks.whole_number(name, "chunk_len", chunk_len)
        elif n_chunks_before or n_chunks_after:
            raise noted(
                ValueError(
                    f"{name}: n_chunks_before={n_chunks_before} and n_chunks_after="
                    f"{n_chunks_after} need chunk_len"
                )
            )
        self._share_qk, self._causal, self._masked = share_qk, causal, masked
        self._chunk_len, self._bias = chunk_len, bias
        self._around = {"n_chunks_before": n_chunks_before, "n_chunks_after": n_chunks_after}

    def create_weights_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """(w_q, w_k, w_v, w_o) of one head, and its biases."""
        signature = input_signature[0] if self._masked else input_signature
        d_model = signature.shape[-1]
        depths = {"q": self._d_qk, "k": self._d_qk, "v": self._d_v}
        if self._share_qk:
            del depths["k"]
        weights = projections(
            rng, {n: (d_model, d) for n, d in depths.items()}, self._n_heads, d_model, self._d_v
        )
        biases = [jnp.zeros((d,)) for d in depths.values()] if self._bias else []
        return (*weights, *biases)

    def _projected(self, weights: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """The kernels and biases for "q", "k" and "v", and the output's kernel."""
        names = "qv" if self._share_qk else "qkv"
        kernels = dict(zip(names, weights, strict=False))
        rest = weights[len(names) + 1 :]
        return kernels, dict(zip(names, rest, strict=False)), weights[len(names)]

    def forward_unbatched(
        self, x: Any, mask: Any = None, *, weights: Any, state: Any, rng: Any, update_state: bool
    ) -> tuple[Any, Any]:
        """(output, new state) of one head: `x` [length, depth], `mask` [length] or None."""
        keys = fastmath.random.split(rng)  # for attention, for the output
        kernels, biases, w_o = self._projected(weights)
        projections = {n: jnp.matmul(x, w) for n, w in kernels.items()}
        projections = {n: y + biases[n] if self._bias else y for n, y in projections.items()}
        positions = jnp.arange(x.shape[0])
        out, _ = attend(
            projections["q"],
            projections.get("k"),
            projections["v"],
            q_chunk_len=self._chunk_len,
            kv_chunk_len=self._chunk_len,
            mask_fn=functools.partial(
                mask_self_attention,
                causal=self._causal,
                exclude_self=self._share_qk,
                masked=self._masked,
            ),
            q_info=positions,
            kv_info=padded_positions(positions, mask),
            dropout=self._dropouts[0],
            rng=keys[0],
            **self._around,
        )
        out = jnp.matmul(out, w_o)
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
        kernels, biases, w_o = self._projected(weights)

        def projected(name: str, x: Any) -> Any:
            y = jnp.matmul(x, kernels[name])
            return y + biases[name] if self._bias else y

        keys = length_normalized(projected("q", x)) if self._share_qk else projected("k", x)
        chunks: dict[str, Any] = {}
        if self._chunk_len is not None and q_len > self._chunk_len:
            queries = projected("q", x)
            chunks = {
                "q_chunk_len": self._chunk_len,
                "kv_chunk_len": self._chunk_len,
                **self._around,
            }
        else:
            queries = projected("q", fastmath.dynamic_slice_in_dim(x, q_start, q_len, 0))
        out, _ = attend(
            queries,
            keys,
            projected("v", x),
            mask_fn=self._hide_unseen,
            q_info=(0 if chunks else q_start) + jnp.arange(queries.shape[0]),
            kv_info=jnp.arange(x.shape[0]),
            **chunks,
        )
        if chunks:
            out = fastmath.dynamic_slice_in_dim(out, q_start, q_len, 0)
        return jnp.matmul(out, w_o), state

    def _hide_unseen(self, dots: Any, q_info: Any, kv_info: Any) -> Any:
        """Logits in decoding; later positions and chunks that are too far away are hidden."""
        dots = mask_self_attention(
            dots, q_info, kv_info, causal=True, exclude_self=self._share_qk, masked=False
        )
        if self._chunk_len is None:
            return dots
        distance = (q_info - 1) // self._chunk_len - (kv_info - 1) // self._chunk_len
        return jnp.where(distance > self._around["n_chunks_before"], dots - MASK_PENALTY, dots)

    def _remembered(
        self, inputs: tuple[Any, ...], state: Any, update_state: bool
    ) -> tuple[tuple[Any, ...], Any, Any, Any]:
        """With chunks: the memory followed by the call's own positions, so that each of these finds
        the keys of its chunk. The memory begins with a whole chunk, and as few chunks as possible
        are dropped; the state is always the state before the call."""
        chunk_len = self._chunk_len
        if chunk_len is None:
            return super()._remembered(inputs, state, update_state)
        end, (old,), heads = state
        (x,), mem_len = inputs, self._mem_len
        n = x.shape[1]
        room = -(-(mem_len + n) // chunk_len) * chunk_len + chunk_len
        empty = jnp.zeros((old.shape[0], room - mem_len, *old.shape[2:]), old.dtype)
        x = fastmath.dynamic_update_slice_in_dim(
            jnp.concatenate([old, empty], axis=1), x.astype(old.dtype), end, 1
        )
        too_many = jnp.maximum(end + n - mem_len, 0)
        forgotten = (too_many + chunk_len - 1) // chunk_len * chunk_len
        remembered = fastmath.dynamic_slice_in_dim(x, forgotten, mem_len, 1)
        return (x,), (end + n - forgotten, (remembered,)), heads, end

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
        """The gradients; with chunks, they use the memory from before the call."""
        if self._incremental and self._chunk_len is not None:
            new_state = state
        return super().backward(inputs, output, grad, weights, state, new_state, rng, **kwargs)


class EncDecAttention(EfficientAttentionBase):
    """Multi-head attention of one sequence to another, in bounded memory.

    Args:
      n_heads: number of heads.
      d_qk: depth of queries and keys, for each head.
      d_v: depth of values, for each head.
      masked: whether there is a third input, a bool array [batch, other length], False at padding.
      mode: 'train', 'eval' or 'predict': 'predict' keeps the keys and values of the first call,
        because the other sequence does not change during decoding.
      attention_dropout: the probability that an attention weight becomes zero in training.
      output_dropout: the probability that a feature of a head's output becomes zero.
      n_parallel_heads: see `EfficientAttentionBase`.
      use_python_loop: see `EfficientAttentionBase`.
      use_reference_code: see `EfficientAttentionBase`.

    Inputs are the sequence of queries [batch, length, depth], the sequence to attend to [batch,
    other length, other depth], and the mask; the output has the shape of the first input. Weights
    are (w_q, w_k, w_v, w_o), each with a first axis of heads. The state is `()`, and in 'predict'
    after the first call (keys, values), each [batch * n_heads, other length, d].

    Raises: LayerError (when called): in 'predict', the shape of the other sequence differs from the
      first call's.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.EncDecAttention(n_heads=2, d_qk=4, d_v=4, masked=False, mode="eval")
      >>> inputs = np.ones((1, 3, 8), np.float32), np.ones((1, 5, 6), np.float32)
      >>> weights, state = layer.init(inputs)
      >>> layer(inputs).shape
      (1, 3, 8)

    Source: Trax documentation, `layers.research.efficient_attention.EncDecAttention`.
    """

    def __init__(
        self,
        n_heads: int = 2,
        d_qk: int = 64,
        d_v: int = 64,
        masked: bool = True,
        mode: str = "train",
        attention_dropout: float = 0.0,
        output_dropout: float = 0.0,
        n_parallel_heads: int | None = None,
        use_python_loop: bool = False,
        use_reference_code: bool = False,
    ) -> None:
        name = type(self).__name__
        self._dropouts = dropouts(name, mode, attention_dropout, output_dropout)
        super().__init__(
            n_heads=n_heads,
            n_in=3 if masked else 2,
            n_parallel_heads=n_parallel_heads,
            use_python_loop=use_python_loop,
            use_reference_code=use_reference_code,
        )
        self._d_qk = option_checks.whole_number(name, "d_qk", d_qk)
        self._d_v = option_checks.whole_number(name, "d_v", d_v)
        self._masked, self._mode = masked, mode

    def create_weights_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """(w_q, w_k, w_v, w_o) of one head."""
        d_model, d_other = [s.shape[-1] for s in input_signature[:2]]
        depths = {
            "q": (d_model, self._d_qk),
            "k": (d_other, self._d_qk),
            "v": (d_other, self._d_v),
        }
        return projections(rng, depths, self._n_heads, d_model, self._d_v)

    def forward_unbatched(
        self,
        q_antecedent: Any,
        kv_antecedent: Any,
        mask: Any = None,
        *,
        weights: Any,
        state: Any,
        rng: Any,
        update_state: bool,
    ) -> tuple[Any, Any]:
        """(output, new state) of one head of one example; the state is its keys and values, or
        `()`."""
        rngs = fastmath.random.split(rng)  # for attention, for the output
        w_q, w_k, w_v, w_o = weights
        keys, values = state or (jnp.matmul(kv_antecedent, w) for w in (w_k, w_v))
        kv_info = None if mask is None else jnp.asarray(mask).astype(jnp.int32)
        out, _ = attend(
            jnp.matmul(q_antecedent, w_q),
            keys,
            values,
            mask_fn=_hidden_where_zero if self._masked else None,
            kv_info=kv_info,
            dropout=self._dropouts[0],
            rng=rngs[0],
        )
        out = jnp.matmul(out, w_o)
        return apply_broadcasted_dropout(out, self._dropouts[1], rngs[1]), state

    def forward(self, inputs: Any) -> Any:
        """Computes the output. In decoding, the state is the keys and values of the first call."""
        if self._mode != "predict":
            return super().forward(inputs)
        if not self.state:
            self.state = self._keys_and_values(inputs[1])
        self._check_same(inputs[1], self.state[0])
        return self.forward_and_or_backward(
            inputs, self.weights, self.state, self.rng, update_state=False
        )[0]

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
        """The gradients; keys and values are recomputed."""
        return super().backward(inputs, output, grad, weights, (), (), rng, **kwargs)

    def _keys_and_values(self, kv_antecedent: Any) -> tuple[Any, Any]:
        """The keys and values of all heads of all examples, each [batch * n_heads, length, d]."""
        _, w_k, w_v, _ = self.weights
        projections = [jnp.matmul(kv_antecedent[:, None], w) for w in (w_k, w_v)]
        return tuple([jnp.reshape(x, (-1, *x.shape[2:])) for x in projections])  # type: ignore[return-value]

    def _check_same(self, kv_antecedent: Any, keys: Any) -> None:
        """Raises ShapeError if the shape of a sequence differs from the stored keys'."""
        shape = (keys.shape[0] // self._n_heads, keys.shape[1])
        if tuple(kv_antecedent.shape[:2]) != shape:
            raise ShapeError(
                f"{self._name}: mode='predict' keeps the keys of the first call's sequence, "
                f"[batch, length] = {list(shape)}; got {list(kv_antecedent.shape[:2])}\n"
                "  fix: give the layer its first state before another sequence"
            )


def _hidden_where_zero(dots: Any, q_info: Any, kv_info: Any) -> Any:
    """Logits in which keys with info 0 are hidden; `attend` adds 1 to the infos."""
    return jnp.where(kv_info > 1, dots, dots - MASK_PENALTY)
