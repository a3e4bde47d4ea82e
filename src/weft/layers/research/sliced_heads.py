"""Runs a computation for one head and one example over all heads and examples, in slices of bounded
memory. The backward pass of a slice directly follows its forward pass, so only sums are kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import fastmath
from ...fastmath import nested_map, nested_map_multiarg, numpy as jnp
from ..attention_gradients import is_inexact

HeadFunction = Callable[[tuple[Any, ...], Any, Any], tuple[Any, Any]]
"""Maps (inputs, weights, state) of one head and one example to (output, new state)."""


class Slices(NamedTuple):
    """The division of examples and heads into slices."""

    n_examples: int
    n_heads: int
    examples: int
    """The number of examples in each slice."""
    heads: int
    """The number of heads in each slice."""

    @property
    def total(self) -> int:
        """The number of slices."""
        return (self.n_examples // self.examples) * (self.n_heads // self.heads)

    def start(self, i: Any) -> tuple[Any, Any]:
        """The first example and the first head of slice `i`."""
        n = self.n_heads // self.heads
        return i // n * self.examples, i % n * self.heads


def slices_of(n_examples: int, n_heads: int, n_parallel: int | None) -> Slices:
    """Slices of at most `n_parallel` heads, in one example or in whole examples; None for all.

    Raises: ValueError: the slices would differ in size.
    """
    everything = n_examples * n_heads
    n_parallel = everything if n_parallel is None else min(n_parallel, everything)
    examples, heads = max(n_parallel // n_heads, 1), min(n_parallel, n_heads)
    if n_examples % examples or n_heads % heads:
        raise ValueError(
            f"n_parallel_heads={n_parallel} makes slices of {examples} examples and {heads} heads; "
            f"{n_examples} examples of {n_heads} heads can't be cut in such slices"
        )
    return Slices(n_examples, n_heads, examples, heads)


class Results(NamedTuple):
    """The results of a pass over all slices; empty tuples for results not requested."""

    output: Any
    state: Any
    inputs_grad: Any
    weights_grad: Any


class SlicedPass:
    """Runs the computation of one head of one example over all heads and examples.

    Args:
      one: the computation.
      slices: the division of heads and examples.
      inputs: arrays [examples, ...], or [examples, heads, ...] where `are_per_head` is True.
      are_per_head: for each input, whether each head has its own part.
      weights: nested arrays [heads, ...].
      state: nested arrays [examples, heads, ...].
      output_like: an array like the output: [examples, ...] for a sum over heads, or [examples,
        heads, ...] if inputs are per head.
      output_grad: the gradient with respect to the output, or None for no backward pass.
      compute_output: whether to return the output.
      update_state: whether to return the new state.
    """

    def __init__(
        self,
        one: HeadFunction,
        slices: Slices,
        inputs: tuple[Any, ...],
        are_per_head: tuple[bool, ...],
        weights: Any,
        state: Any,
        output_like: Any,
        output_grad: Any,
        compute_output: bool,
        update_state: bool,
    ) -> None:
        self.slices, self.inputs, self.are_per_head = slices, inputs, are_per_head
        self.weights, self.state = weights, state
        self.output_like, self.output_grad = output_like, output_grad
        self.compute_output, self.update_state = compute_output, update_state
        self.stacked = any(are_per_head)
        self.places = [i for i, x in enumerate(inputs) if is_inexact(x)]
        inner_axes = tuple([0 if own else None for own in are_per_head])

        def over_heads(inputs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
            out, new_state = fastmath.vmap(one, in_axes=(inner_axes, 0, 0))(inputs, weights, state)
            return (out if self.stacked else jnp.sum(out, axis=0)), new_state

        self.over_all = fastmath.vmap(over_heads, in_axes=(0, None, 0))

    def run(self, use_python_loop: bool) -> Results:
        """Runs the slices. The gradients of inputs that are not inexact are zeros.

        Args:
          use_python_loop: whether to unroll the loop over slices in a compiled program.
        """
        has_grad = self.output_grad is not None
        results = Results(
            jnp.zeros_like(self.output_like) if self.compute_output else (),
            self.state if self.update_state else (),
            [jnp.zeros_like(self.inputs[i]) for i in self.places] if has_grad else (),
            nested_map(jnp.zeros_like, self.weights) if has_grad else (),
        )
        if use_python_loop or self.slices.total == 1:
            for i in range(self.slices.total):
                results = self.step(i, results)
        else:
            results = fastmath.fori_loop(0, self.slices.total, self.step, results)
        if has_grad:
            grads = [jnp.zeros_like(x) for x in self.inputs]
            for place, grad in zip(self.places, results.inputs_grad, strict=True):
                grads[place] = grad
            results = results._replace(inputs_grad=tuple(grads))
        return results

    def step(self, i: Any, so_far: Results) -> Results:
        """The results after slice `i`."""
        slices, (b, h) = self.slices, self.slices.start(i)
        own = h if self.stacked else None
        out, new, inputs_grads, weights_grads = self._slice(b, h)
        output, states, inputs_grad, weights_grad = so_far
        if self.compute_output:
            output = _added(output, out, slices, b, own)
        if self.update_state:
            states = _put(states, new, slices, b, h)
        if self.output_grad is not None:
            owns = [self.are_per_head[i] for i in self.places]
            rows = zip(inputs_grad, inputs_grads, owns, strict=True)
            inputs_grad = [_added(x, g, slices, b, h if o else None) for x, g, o in rows]
            weights_grad = _added(weights_grad, weights_grads, slices, None, h)
        return Results(output, states, inputs_grad, weights_grad)

    def _slice(self, b: Any, h: Any) -> Results:
        """The results of the slice that begins at an example and a head."""
        slices = self.slices
        pairs = zip(self.inputs, self.are_per_head, strict=True)
        xs = [_cut(x, slices, b, h if own else None) for x, own in pairs]
        weights, state = _cut(self.weights, slices, None, h), _cut(self.state, slices, b, h)

        def run(floats: list[Any], weights: Any) -> Any:
            arguments = list(xs)
            for place, x in zip(self.places, floats, strict=True):
                arguments[place] = x
            return self.over_all(tuple(arguments), weights, state)

        floats = [xs[i] for i in self.places]
        if self.output_grad is None:
            out, new = run(floats, weights)
            return Results(out, new, (), ())
        out, pull, new = fastmath.vjp(run, floats, weights, has_aux=True)
        ct = _cut(self.output_grad, slices, b, h if self.stacked else None)
        inputs_grads, weights_grads = pull(ct.astype(out.dtype))
        return Results(out, new, inputs_grads, weights_grads)


def _cut(tree: Any, slices: Slices, b: Any, h: Any) -> Any:
    """A slice of nested arrays, along the example and head axes that are not None."""

    def cut(x: Any) -> Any:
        for axis, start, size in _axes(slices, b, h):
            if x.shape[axis] != size:
                x = fastmath.dynamic_slice_in_dim(x, start, size, axis)
        return x

    return nested_map(cut, tree)


def _axes(slices: Slices, b: Any, h: Any) -> list[tuple[int, Any, int]]:
    """The axes to slice: (axis, start, length)."""
    axes = [] if b is None else [(0, b, slices.examples)]
    return axes if h is None else [*axes, (len(axes), h, slices.heads)]


def _put(tree: Any, part: Any, slices: Slices, b: Any, h: Any) -> Any:
    """Nested arrays with a slice replaced."""

    def put(x: Any, y: Any) -> Any:
        starts: list[Any] = [0] * x.ndim
        for axis, start, _ in _axes(slices, b, h):
            starts[axis] = start
        return y if x.shape == y.shape else fastmath.dynamic_update_slice(x, y, starts)

    return nested_map_multiarg(put, tree, part)


def _added(tree: Any, part: Any, slices: Slices, b: Any, h: Any) -> Any:
    """Nested arrays with a slice increased by other nested arrays."""
    old = _cut(tree, slices, b, h)
    return _put(
        tree, nested_map_multiarg(lambda x, y: x + y.astype(x.dtype), old, part), slices, b, h
    )
