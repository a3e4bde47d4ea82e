"""PureLSHSelfAttentionWrapper: LSH attention with projections. MixedLSHSelfAttention: LSH attention
for long sequences and full attention for short ones.
"""

from collections.abc import Callable
from typing import Any

from ... import fastmath, option_checks
from ...fastmath import numpy as jnp
from ...user_lines import noted
from ..attention import DotProductAttention, DotProductCausalAttention, MergeHeads, SplitIntoHeads
from ..attention_gradients import forward_and_or_backward_of, vjp_of_inexact
from ..base import Fn, Layer
from ..combinators import Branch
from ..dense import Dense
from ..parallel import Parallel
from ..serial import Combinator, Serial, as_tuple, inputs_from_stack, outputs_onto_stack
from .lsh_attention import PureLSHSelfAttention
from .rotary_positional_embedding import Rotate
from .sparse_dense import FactoredDense, LocallyConvDense


class MixedLSHSelfAttention(Combinator):
    """LSH attention for long sequences, and full attention for sequences up to a length.

    Args:
      n_heads: number of heads.
      d_qk: the depth of queries, which are also the keys, for each head.
      d_v: depth of values, for each head.
      causal: whether to hide later positions; set either this or `masked`.
      masked: whether there is a third input, a bool array [batch, length], False at padding.
      std_length: the maximal length for full attention; None always uses LSH attention.
      mode: 'train', 'eval' or 'predict'. Unless std_length is None, 'predict' always uses full
        attention, to predict_mem_len positions.
      output_dropout: see `LSHSelfAttention`.
      attention_dropout: see `LSHSelfAttention`.
      force_no_dropout: whether both rates are 0 even in training.
      **pure_lsh_implementation_kwargs: more options of `PureLSHSelfAttention`.

    Raises: ValueError: neither or both of `causal` and `masked`, or options are incompatible.

    Inputs are queries and values, each [batch * n_heads, length, d], and the mask. The output is
    like the values. The state has the states of both kinds of attention.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.MixedLSHSelfAttention(d_qk=4, d_v=4, causal=True, std_length=8, chunk_len=4)
      >>> inputs = np.ones((2, 8, 4), np.float32), np.ones((2, 8, 4), np.float32)
      >>> weights, state = layer.init(inputs)
      >>> layer(inputs).shape
      (2, 8, 4)

    Source: Trax documentation, `layers.research.efficient_attention.MixedLSHSelfAttention`.
    """

    def __init__(
        self,
        n_heads: int = 1,
        d_qk: int = 64,
        d_v: int = 64,
        causal: bool = False,
        masked: bool = False,
        std_length: int | None = None,
        mode: str = "train",
        output_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        force_no_dropout: bool = False,
        **pure_lsh_implementation_kwargs: Any,
    ) -> None:
        name = type(self).__name__
        if causal == masked:
            raise noted(
                ValueError(
                    f"{name}: full attention is causal without a mask, or masked and not causal; "
                    f"got causal={causal}, masked={masked}"
                )
            )
        if force_no_dropout:
            output_dropout = attention_dropout = 0.0
        if std_length is not None:
            std_length = option_checks.whole_number(name, "std_length", std_length)
        hashed = PureLSHSelfAttention(
            n_heads=n_heads,
            d_qk=d_qk,
            d_v=d_v,
            causal=causal,
            masked=masked,
            mode=mode,
            output_dropout=output_dropout,
            attention_dropout=attention_dropout,
            **pure_lsh_implementation_kwargs,
        )
        full = Serial(
            Fn("QKVM", lambda q, v, m: (q, q, v, _for_heads(m, n_heads)), n_out=4)
            if masked
            else Fn("QKV", lambda q, v: (q, q, v), n_out=3),
            DotProductAttention(dropout=attention_dropout, mode=mode)
            if masked
            else DotProductCausalAttention(
                dropout=attention_dropout,
                max_inference_length=pure_lsh_implementation_kwargs.get("predict_mem_len", 2048),
                mode=mode,
            ),
        )
        super().__init__(name=name)
        self._combine([hashed, full], hashed.n_in, 1)
        self._std_length, self._is_decoding = std_length, mode == "predict"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes both kinds of attention."""
        pieces = [layer.init(input_signature, use_cache=True) for layer in self._sublayers]
        self._init_marks([w for w, _ in pieces], [s for _, s in pieces])

    def _chosen(self, inputs: Any) -> int:
        """0 for hashed attention, 1 for full attention, by the static length. In decoding all
        pieces use the same kind, because their lengths do not determine the sequence's."""
        if self._std_length is None:
            return 0
        return int(self._is_decoding or inputs[0].shape[1] <= self._std_length)

    def _apply(self, xs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
        i = self._chosen(xs)
        states, key = list(state), self._keys(self._rng)[i]
        out, states[i] = self._sublayers[i].pure_fn(xs, weights[i], state[i], key, True)
        return out, self._new_state(states)

    def forward_and_or_backward(
        self,
        inputs: Any,
        state: Any,
        rng: Any,
        output_grad: Any = None,
        compute_output: bool = True,
        update_state: bool = True,
    ) -> tuple[Any, Any, Any]:
        """(output, new state, gradient for the inputs); see `PureLSHSelfAttention`."""
        i = self._chosen(inputs)
        key = fastmath.random.split(rng, 2)[i]
        hashed, full = self._sublayers
        requests = (output_grad, compute_output, update_state)
        if i == 0:
            out, new, grad = hashed.forward_and_or_backward(inputs, state[0], key, *requests)  # type: ignore[attr-defined]
        else:
            run = forward_and_or_backward_of(full)
            out, new, grad, _ = run(inputs, full.weights, state[1], key, *requests)
        states = None
        if update_state:
            states = (new, state[1]) if i == 0 else (state[0], new)
        return out, states, grad


def _for_heads(mask: Any, n_heads: int) -> Any:
    """A mask [batch, length], repeated for each head: [batch * n_heads, 1, length]."""
    return jnp.repeat(mask, n_heads, axis=0)[:, None, :]


class PureLSHSelfAttentionWrapper(Serial):
    """Projections to queries and values, LSH attention over these, and a projection of its output.

    Args:
      n_heads: number of heads.
      d_qk: the depth of queries, which are also the keys, for each head.
      d_v: depth of values, for each head.
      causal: whether to hide later positions.
      masked: whether there is a second input, a bool array [batch, length], False at padding.
      output_dropout: see `LSHSelfAttention`.
      attention_dropout: see `LSHSelfAttention`.
      pure_lsh_implementation: `PureLSHSelfAttention` or `MixedLSHSelfAttention`.
      bias: whether projections have a bias.
      mode: 'train', 'eval' or 'predict'.
      num_weights: 3 for queries, keys (whose mean is taken) and values, 2 for queries and values.
      sparsity: the number of modules of the 'sparse' format.
      weights_format: 'model' for dense projections, 'sparse' for factored ones with convolutions.
      rotary_position_emb: whether to rotate queries and keys by their positions ('model').
      **pure_lsh_implementation_kwargs: more options of `pure_lsh_implementation`.

    Raises: ValueError: options are invalid or incompatible.

    Inputs [batch, length, n_heads * d_qk] become outputs of the same shape.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.PureLSHSelfAttentionWrapper(
      ...     n_heads=2, d_qk=4, d_v=4, pure_lsh_implementation=tl.PureLSHSelfAttention, chunk_len=4
      ... )
      >>> weights, state = layer.init(np.ones((1, 8, 8), np.float32))
      >>> layer(np.ones((1, 8, 8), np.float32)).shape
      (1, 8, 8)

    Source: Trax documentation, `layers.research.efficient_attention.PureLSHSelfAttentionWrapper`.
    """

    def __init__(
        self,
        n_heads: int = 1,
        d_qk: int = 64,
        d_v: int = 64,
        causal: bool = False,
        masked: bool = False,
        output_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        pure_lsh_implementation: Callable[..., Layer] | None = None,
        bias: bool = True,
        mode: str = "train",
        num_weights: int = 3,
        sparsity: int = 16,
        weights_format: str = "model",
        rotary_position_emb: bool = False,
        **pure_lsh_implementation_kwargs: Any,
    ) -> None:
        name = type(self).__name__
        if pure_lsh_implementation is None:
            raise noted(
                ValueError(
                    f"{name}: pure_lsh_implementation is a class of attention\n"
                    "  fix: pure_lsh_implementation=tl.PureLSHSelfAttention"
                )
            )
        option_checks.choice(name, "weights_format", weights_format, ("model", "sparse"))
        if num_weights not in (2, 3):
            raise noted(ValueError(f"{name}: num_weights is 2 or 3; got {num_weights!r}"))
        if rotary_position_emb and weights_format == "sparse":
            raise noted(
                ValueError(
                    f"{name}: rotary_position_emb needs weights_format='model'; got 'sparse'"
                )
            )
        d_model = d_qk * n_heads
        if weights_format == "model":
            projections = _dense(d_model, n_heads, num_weights, bias, rotary_position_emb, mode)
        else:
            projections = _sparse(d_model, n_heads, num_weights, sparsity, mode)
        attention = pure_lsh_implementation(
            n_heads=n_heads,
            d_qk=d_qk,
            d_v=d_v,
            causal=causal,
            masked=masked,
            mode=mode,
            output_dropout=output_dropout,
            attention_dropout=attention_dropout,
            **pure_lsh_implementation_kwargs,
        )
        after = [Dense(d_model, use_bias=bias)] if weights_format == "model" else []
        super().__init__(projections, attention, MergeHeads(n_heads), *after)

    def forward_and_or_backward(
        self,
        inputs: Any,
        weights: Any,
        state: Any,
        rng: Any,
        output_grad: Any = None,
        compute_output: bool = True,
        update_state: bool = True,
    ) -> tuple[Any, Any, Any, Any]:
        """(output, new state, gradient for the inputs, gradient for the weights), as in
        `EfficientAttentionBase`. With `update_state=False` it uses the buckets in the state."""
        before, attention, *after = self._sublayers
        keys = self._keys(rng)

        def projected(inputs: Any, weights: Any) -> Any:
            x = inputs_from_stack(inputs, before.n_in)
            outputs, s = before.pure_fn(x, weights, state[0], keys[0])
            return as_tuple(outputs_onto_stack(outputs, inputs, before.n_in)), s

        def merged(x: Any, weights: Any) -> Any:
            states = []
            for layer, w, s, key in zip(after, weights, state[2:], keys[2:], strict=True):
                x, s = layer.pure_fn(x, w, s, key)
                states.append(s)
            return x, tuple(states)

        has_grad = output_grad is not None
        if has_grad:
            qv, pull_before, first = vjp_of_inexact(projected, inputs, weights[0])
        else:
            qv, first = projected(inputs, weights[0])
        run = attention.forward_and_or_backward  # type: ignore[attr-defined]
        x, new, _ = run(qv, state[1], keys[1], None, True, update_state)
        inputs_grad = weights_grad = None
        if has_grad:
            output, pull_after, last = fastmath.vjp(merged, x, tuple(weights[2:]), has_aux=True)
            x_grad, after_grad = pull_after(output_grad)
            chosen = new if update_state else state[1]
            qv_grad = run(qv, chosen, keys[1], x_grad, True, False)[2]
            inputs_grad, before_grad = pull_before(qv_grad)
            weights_grad = (before_grad, weights[1], *after_grad)
        else:
            output, last = merged(x, weights[2:])
        return (
            output if compute_output else None,
            (first, new, *last) if update_state else None,
            inputs_grad,
            weights_grad,
        )


def _dense(d_model: int, n_heads: int, n: int, bias: bool, rotary: bool, mode: str) -> Layer:
    """Dense projections to (queries, values), split into heads."""

    def asked() -> list[Any]:
        return [Dense(d_model, use_bias=bias), *([Rotate(mode=mode)] if rotary else [])]

    values = [Dense(d_model, use_bias=bias), SplitIntoHeads(n_heads)]
    if n == 2:
        return Branch([*asked(), SplitIntoHeads(n_heads)], values)
    return _mean_of_queries_and_keys(asked(), asked(), values, n_heads)


def _sparse(d_model: int, n_heads: int, n: int, sparsity: int, mode: str) -> Layer:
    """Factored projections with convolutions to (queries, values), split into heads."""

    def convolved(kernel_size: int) -> Layer:
        return LocallyConvDense(
            sparsity, d_model // sparsity, mode=mode, kernel_size=kernel_size, length_kernel_size=3
        )

    values = [convolved(1), SplitIntoHeads(n_heads)]
    shared = FactoredDense(sparsity, d_model, d_model)
    if n == 2:
        return Serial(shared, Branch([convolved(3), SplitIntoHeads(n_heads)], values))
    value_layers = _mean_of_queries_and_keys([convolved(3)], [convolved(3)], values, n_heads)
    return Serial(shared, value_layers)


def _mean_of_queries_and_keys(q: Any, k: Any, v: Any, n_heads: int) -> Layer:
    mean = Fn("Mean", lambda q, k: (q + k) / 2)
    heads = Parallel(SplitIntoHeads(n_heads), None)
    return Serial(Branch(q, k, v), mean, heads)
