"""Assertions, dataclasses and test variants of chex."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from .registry import numbers, program, refusals


@program
def shapes_and_ranks() -> Any:
    x, y = numbers(2, 3), numbers(3, seed=1)
    return refusals(
        lambda: chex.assert_shape(x, (2, 3)),
        lambda: chex.assert_shape(x, (None, 3)),
        lambda: chex.assert_shape(x, (..., 4)),
        lambda: chex.assert_shape([x, y], [(2, 3), (3,)]),
        lambda: chex.assert_rank(x, 2),
        lambda: chex.assert_rank([x, y], 2),
        lambda: chex.assert_rank(x, {1, 2}),
        lambda: chex.assert_equal_shape([x, x]),
        lambda: chex.assert_equal_shape([x, y]),
        lambda: chex.assert_equal_rank([x, y]),
        lambda: chex.assert_axis_dimension(x, 1, 3),
        lambda: chex.assert_axis_dimension(x, 1, 2),
        lambda: chex.assert_equal_size([x, y]),
        lambda: chex.assert_is_broadcastable((3,), (2, 3)),
    )


@program
def types_and_scalars() -> Any:
    x, n = numbers(2), jnp.arange(3)
    return refusals(
        lambda: chex.assert_type(x, float),
        lambda: chex.assert_type(x, jnp.float32),
        lambda: chex.assert_type(n, float),
        lambda: chex.assert_type([x, n], [float, int]),
        lambda: chex.assert_scalar(1.0),
        lambda: chex.assert_scalar(x),
        lambda: chex.assert_scalar_in(0.5, 0, 1),
        lambda: chex.assert_scalar_in(1.5, 0, 1),
        lambda: chex.assert_scalar_positive(-1.0),
        lambda: chex.assert_not_both_none(None, None),
        lambda: chex.assert_exactly_one_is_none(None, x),
    )


@program
def trees() -> Any:
    a = {"w": numbers(2), "b": [numbers(3, seed=1)]}
    near = jax.tree_util.tree_map(lambda x: x + 1e-9, a)
    far = jax.tree_util.tree_map(lambda x: x + 1, a)
    other = {"w": numbers(3), "b": [numbers(3, seed=1)]}
    nan = {"w": jnp.array([jnp.nan]), "b": []}
    return refusals(
        lambda: chex.assert_trees_all_close(a, near),
        lambda: chex.assert_trees_all_close(a, far),
        lambda: chex.assert_trees_all_equal(a, a),
        lambda: chex.assert_trees_all_equal(a, far),
        lambda: chex.assert_trees_all_equal_shapes(a, other),
        lambda: chex.assert_trees_all_equal_shapes_and_dtypes(a, far),
        lambda: chex.assert_trees_all_equal_dtypes(a, other),
        lambda: chex.assert_trees_all_equal_structs(a, other),
        lambda: chex.assert_trees_all_equal_structs(a, nan),
        lambda: chex.assert_tree_all_finite(a),
        lambda: chex.assert_tree_all_finite(nan),
        lambda: chex.assert_tree_shape_prefix({"a": numbers(2, 3), "b": numbers(2)}, (2,)),
        lambda: chex.assert_tree_no_nones({"a": None}),
        lambda: chex.assert_tree_has_only_ndarrays(a),
        lambda: chex.assert_trees_all_close(a, near, far),
    )


@program
def assertions_while_tracing() -> Any:
    @jax.jit
    def f(x: Any) -> Any:
        chex.assert_shape(x, (2, None))
        chex.assert_type(x, float)
        return jax.vmap(g)(x)

    def g(row: Any) -> Any:
        chex.assert_rank(row, 1)
        return row * 2

    return f(numbers(2, 3)), refusals(lambda: f(numbers(3, 3)), lambda: f(jnp.ones((2, 2), int)))


@program
def counted_traces() -> Any:
    @jax.jit
    @chex.assert_max_traces(n=1)
    def f(x: Any) -> Any:
        return x + 1

    f(numbers(2))
    f(numbers(2, seed=1))
    result = refusals(lambda: f(numbers(3)))
    chex.clear_trace_counter()
    return result


@program
def numerical_gradients() -> Any:
    wrong = jax.custom_jvp(lambda x: x**2)
    wrong.defjvp(lambda primals, tangents: (primals[0] ** 2, 3.0 * primals[0] * tangents[0]))
    x = jnp.asarray(1.5)
    return refusals(
        lambda: chex.assert_numerical_grads(jnp.sin, (x,), order=1),
        lambda: chex.assert_numerical_grads(wrong, (x,), order=1),
    )


@program
def dataclasses() -> Any:
    @chex.dataclass
    class State:
        position: Any
        velocity: Any
        steps: int = 0

    @chex.dataclass(frozen=True)
    class Fixed:
        x: Any

    state = State(position=numbers(2), velocity=numbers(2, seed=1))

    @jax.jit
    def move(s: Any) -> Any:
        return s.replace(position=s.position + 0.1 * s.velocity, steps=s.steps + 1)

    end = move(move(state))
    summed = jax.tree_util.tree_map(lambda a, b: a + b, end, state)
    gradient = jax.grad(lambda s: jnp.sum(s.x**2))(Fixed(x=numbers(3)))
    return [end.position, end.steps, summed.velocity, gradient.x, *end.to_tuple()]


@program
def switched_off_jit() -> Any:
    seen = []

    def f(x: Any) -> Any:
        seen.append(isinstance(x, jax.core.Tracer))
        return x + 1

    with chex.fake_jit():
        inside = jax.jit(f)(numbers(2))
    with chex.fake_pmap():
        mapped = jax.pmap(lambda x: x * 2)(numbers(1, 2))
    return inside, mapped, jax.jit(f)(numbers(2)), np.array(seen)


@program
def checks_of_values_in_jit() -> Any:
    @chex.chexify
    @jax.jit
    def f(x: Any) -> Any:
        chex.assert_tree_all_finite(x)
        return jnp.sum(x)

    def run(x: Any) -> Any:
        result = f(x)
        chex.block_until_chexify_assertions_complete()
        return result

    return run(numbers(2)), refusals(lambda: run(jnp.array([1.0, jnp.nan])))


@program
def devices() -> Any:
    return refusals(
        lambda: chex.assert_tree_is_on_host(np.ones(2)),
        lambda: chex.assert_devices_available(1, "cpu"),
        lambda: chex.assert_devices_available(9, "cpu"),
    )


@program
def where_arrays_are() -> Any:
    x, on_host = numbers(2), np.ones(2)
    device = jax.devices("cpu")[0]
    return refusals(
        lambda: chex.assert_tree_is_on_device(x),
        lambda: chex.assert_tree_is_on_device(x, platform="cpu"),
        lambda: chex.assert_tree_is_on_device({"a": x, "b": [x]}, platform=("cpu", "gpu")),
        lambda: chex.assert_tree_is_on_device(x, device=device),
        lambda: chex.assert_tree_is_on_device(on_host, platform="cpu"),
        lambda: chex.assert_tree_is_on_host(x),
        lambda: chex.assert_tree_is_on_host(x, allow_cpu_device=False),
        lambda: chex.assert_tree_is_on_host(on_host),
        lambda: chex.assert_tree_is_sharded(x, devices=[device]),
    )
