"""EfficientAttentionBase: base class of attention layers that compute a few heads at a time."""

from typing import Any

from ... import fastmath, option_checks
from ...fastmath import nested_map, nested_stack, numpy as jnp
from ...shapes import ShapeDtype
from ...user_lines import noted
from ..attention_gradients import is_inexact
from ..base import Layer
from ..serial import as_tuple, packed
from .sliced_heads import Results, SlicedPass, slices_of


class EfficientAttentionBase(Layer):
    """Base class of attention layers: a subclass defines one head of one example.

    The output is the sum over the heads. The backward pass recomputes the forward pass in slices of
    heads and examples, so a call stores only its input and state.

    Args:
      n_heads: number of heads.
      n_in: number of inputs.
      n_parallel_heads: the number of heads to compute at once: None for all heads of all examples,
        1 for the least memory, a divisor of `n_heads`, or a multiple of it for whole examples.
      incremental: whether a call continues after the last one, as in decoding.
      predict_mem_len: the number of positions to remember in decoding.
      predict_drop_len: the number of oldest positions to drop when the memory is full.
      use_python_loop: whether to unroll the loop over slices in a compiled program.
      use_reference_code: whether to compute heads one by one, with ordinary differentiation.

    Raises: ValueError: an option is invalid, or options are incompatible.

    A subclass defines `create_weights_unbatched`, `forward_unbatched`, and if necessary
    `create_state_unbatched` and `_incremental_forward_unbatched`. Weights are nested arrays
    [n_heads, ...], state [batch * n_heads, ...]; in incremental mode the state is (number of
    positions remembered, memory of each input, state of the heads).

    Example:
      >>> from weft import layers as tl
      >>> [cls.__name__ for cls in tl.SelfAttention.__mro__[:2]]
      ['SelfAttention', 'EfficientAttentionBase']

    Source: Trax documentation, `layers.research.efficient_attention.EfficientAttentionBase`.
    """

    def __init__(
        self,
        n_heads: int,
        n_in: int = 1,
        n_parallel_heads: int | None = None,
        incremental: bool = False,
        predict_mem_len: int | None = None,
        predict_drop_len: int | None = None,
        use_python_loop: bool = False,
        use_reference_code: bool = False,
    ) -> None:
        super().__init__(n_in=n_in, n_out=1)
        name = self._name
        n_heads = option_checks.whole_number(name, "n_heads", n_heads)
        if n_parallel_heads is not None:
            n_parallel_heads = option_checks.whole_number(
                name, "n_parallel_heads", n_parallel_heads
            )
            if n_parallel_heads % n_heads and n_heads % n_parallel_heads:
                raise noted(
                    ValueError(
                        f"{name}: n_parallel_heads is a multiple or a divisor of n_heads="
                        f"{n_heads}; got {n_parallel_heads}"
                    )
                )
        if incremental:
            _check_memory(name, predict_mem_len, predict_drop_len)
        self._n_heads, self._n_parallel_heads = n_heads, n_parallel_heads
        self._incremental = incremental
        self._mem_len, self._drop_len = predict_mem_len or 0, predict_drop_len or 0
        self._use_python_loop = use_python_loop
        self._use_reference_code = use_reference_code

    # Methods that subclasses define.

    def create_weights_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """The weights of one head, for inputs without a batch axis."""
        raise NotImplementedError(f"{self._name}: its class must define create_weights_unbatched")

    def create_state_unbatched(self, input_signature: Any, rng: Any) -> Any:
        """The state of one head of one example; empty by default."""
        return ()

    def forward_unbatched(self, *inputs: Any, **arguments: Any) -> tuple[Any, Any]:
        """(output, new state) of one head of one example.

        Args:
          *inputs: the inputs of one example.
          **arguments: `weights` and `state` of one head, `rng`, and `update_state`: True makes new
            random choices, False reads them from the state.
        """
        raise NotImplementedError(f"{self._name}: its class must define forward_unbatched")

    def _incremental_forward_unbatched(self, *inputs: Any, **arguments: Any) -> tuple[Any, Any]:
        """The same for `q_len` positions of a memory, starting at `q_start`."""
        raise NotImplementedError(
            f"{self._name}: its class must define _incremental_forward_unbatched"
        )

    def _are_per_head(self) -> tuple[bool, ...]:
        """For each input, whether its first axis counts both examples and heads."""
        return (False,) * self.n_in

    # Implementation.

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the weights of each head, and the state of each head of each example."""
        signatures = as_tuple(input_signature)
        n_examples = signatures[0].shape[0]
        alone = packed(tuple([ShapeDtype(tuple(s.shape[1:]), s.dtype) for s in signatures]))
        rng, n_heads = self.rng, self._n_heads
        keys = fastmath.random.split(rng, n_heads)
        heads = [self.create_weights_unbatched(alone, keys[i]) for i in range(n_heads)]
        self.weights = nested_stack(heads, np_module=jnp)
        self.state = self._initial_state(signatures, alone, n_examples * n_heads, rng)

    def _initial_state(self, signatures: tuple[Any, ...], alone: Any, count: int, rng: Any) -> Any:
        keys = fastmath.random.split(rng, count)
        states = [self.create_state_unbatched(alone, keys[i]) for i in range(count)]
        state = nested_stack(states, np_module=jnp)
        if not self._incremental:
            return state
        memory = [
            jnp.zeros((s.shape[0], self._mem_len, *s.shape[2:]), dtype=s.dtype) for s in signatures
        ]
        return jnp.asarray(0, dtype=jnp.int32), tuple(memory), state

    def forward(self, inputs: Any) -> Any:
        """Computes the output, and sets the new state."""
        output, self.state, _, _ = self.forward_and_or_backward(
            inputs, self.weights, self.state, self.rng
        )
        return output

    @property
    def has_backward(self) -> bool:
        """True unless the reference code is used."""
        return not self._use_reference_code

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
        return self.forward_and_or_backward(
            inputs,
            weights,
            new_state,
            rng,
            output_grad=grad,
            compute_output=False,
            update_state=False,
        )[2:]

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
        """The forward pass, the backward pass, or both at once, slice by slice.

        Args:
          inputs: the layer's inputs.
          weights: its weights.
          state: the state before the forward pass; with `update_state=False`, the state after it,
            to repeat its random choices.
          rng: the random key for all examples and heads.
          output_grad: the gradient with respect to the output; None for no backward pass.
          compute_output: whether to return the output.
          update_state: whether to return the new state.
        Returns: (output, new state, gradient for the inputs, gradient for the weights), with None
          for results not requested.
        Raises: ValueError: nothing is requested.
        """
        if not compute_output and output_grad is None:
            raise noted(
                ValueError(f"{self._name}: neither the output nor gradients were requested")
            )
        arrays = as_tuple(inputs)
        memory, xs, arguments = (), arrays, {}
        if self._incremental:
            xs, memory, state, q_start = self._remembered(arrays, state, update_state)
            arguments = {"q_start": q_start, "q_len": arrays[0].shape[1]}

        def one(xs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
            run = self._incremental_forward_unbatched if arguments else self.forward_unbatched
            return run(
                *xs, **arguments, weights=weights, state=state, rng=rng, update_state=update_state
            )

        results = self._all_heads(
            one, arrays, xs, weights, state, output_grad, compute_output, update_state
        )
        has_grad = output_grad is not None
        new_state = (*memory, results.state) if memory else results.state
        return (
            results.output if compute_output else None,
            new_state if update_state else None,
            self._own_positions(results.inputs_grad, **arguments) if has_grad else None,
            results.weights_grad if has_grad else None,
        )

    def _all_heads(
        self,
        one: Any,
        operands: tuple[Any, ...],
        xs: tuple[Any, ...],
        weights: Any,
        state: Any,
        output_grad: Any,
        compute_output: bool,
        update_state: bool,
    ) -> Results:
        """The results of all heads of all examples, with attention to `xs`."""
        n_examples, owns = self._n_examples(operands), self._are_per_head()

        def grouped(x: Any) -> Any:
            return jnp.reshape(x, (n_examples, self._n_heads, *x.shape[1:]))

        def joined(x: Any) -> Any:
            return jnp.reshape(x, (-1, *x.shape[2:]))

        results = SlicedPass(
            one,
            slices_of(n_examples, self._n_heads, self._parallel(n_examples)),
            tuple([grouped(x) if own else x for x, own in zip(xs, owns, strict=True)]),
            owns,
            weights,
            nested_map(grouped, state),
            grouped(operands[1]) if owns[0] else operands[0],
            grouped(output_grad) if owns[0] and output_grad is not None else output_grad,
            compute_output,
            update_state,
        ).run(self._use_python_loop or self._use_reference_code)
        grads = zip(results.inputs_grad, owns, strict=False)
        return results._replace(
            output=nested_map(joined, results.output) if owns[0] else results.output,
            state=nested_map(joined, results.state),
            inputs_grad=[joined(g) if own else g for g, own in grads],
        )

    def _own_positions(self, grads: list[Any], q_start: Any = None, q_len: int = 0) -> Any:
        """Gradients for a call's inputs, from gradients for the remembered positions."""
        if self._incremental:
            grads = [fastmath.dynamic_slice_in_dim(g, q_start, q_len, 1) for g in grads]
        return packed(tuple(grads))

    def _n_examples(self, inputs: tuple[Any, ...]) -> int:
        n = inputs[0].shape[0]
        return n // self._n_heads if self._are_per_head()[0] else n

    def _parallel(self, n_examples: int) -> int | None:
        return 1 if self._use_reference_code else self._n_parallel_heads

    # The decoding memory: the last positions of each input, oldest first.

    def _remembered(
        self, inputs: tuple[Any, ...], state: Any, update_state: bool
    ) -> tuple[tuple[Any, ...], Any, Any, Any]:
        """The arrays to attend to: (arrays, new memory, state of the heads, index of the call's
        first position in the arrays)."""
        end, memory, state = state
        n, mem_len, drop_len = inputs[0].shape[1], self._mem_len, self._drop_len
        if not update_state:
            return memory, (end, memory), state, end - n
        if n <= drop_len and n < mem_len:
            dropped = jnp.where(end + n > mem_len, jnp.minimum(end, drop_len), 0)
            end, outs = end - dropped, []
            for old, x in zip(memory, inputs, strict=True):
                old = jnp.concatenate([old, jnp.zeros_like(old[:, :drop_len])], 1)
                old = fastmath.dynamic_slice_in_dim(old, dropped, mem_len, 1)
                outs.append(fastmath.dynamic_update_slice_in_dim(old, x.astype(old.dtype), end, 1))
            xs = tuple(outs)
            return xs, (end + n, xs), state, end
        outs = []
        for old, x in zip(memory, inputs, strict=True):
            remembered = x[:, -mem_len:].astype(old.dtype)
            outs.append(jnp.concatenate([remembered, old[:, remembered.shape[1] :] * 0], axis=1))
        # A long prefix must begin a sequence. Later in a sequence the result is NaN, because a
        # traced program cannot raise an error.
        wrong = jnp.where(end == 0, 1.0, float("nan"))
        xs = tuple([
            x * wrong.astype(x.dtype) if is_inexact(x) else x for x in inputs
        ])  # fmt: skip
        new_end = jnp.asarray(min(n, mem_len), dtype=jnp.int32)
        return xs, (new_end, tuple(outs)), state, jnp.asarray(0, dtype=jnp.int32)


def _check_memory(name: str, mem_len: Any, drop_len: Any) -> None:
    for option, value in (("predict_mem_len", mem_len), ("predict_drop_len", drop_len)):
        if value is None:
            raise noted(
                ValueError(
                    f"{name}: decoding step by step needs predict_mem_len and predict_drop_len; "
                    f"{option} is None"
                )
            )
        option_checks.whole_number(name, option, value, least=0)
    if not 0 < drop_len <= mem_len:
        raise noted(
            ValueError(
                f"{name}: bad predict memory parameters: predict_drop_len={drop_len} is at least "
                f"1 and at most predict_mem_len={mem_len}"
            )
        )
