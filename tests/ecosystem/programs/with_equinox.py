"""Modules of equinox: arrays in dataclasses, filtered transformations, stateful layers."""

import inspect
import io
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from .registry import filled, numbers, program, refusals

KEY = jax.random.PRNGKey(0)


def weights(model: Any) -> Any:
    """A module with numbers from NumPy."""
    arrays, rest = eqx.partition(model, eqx.is_inexact_array)
    return eqx.combine(filled(arrays), rest)


def leaves(model: Any) -> Any:
    return jax.tree_util.tree_leaves(eqx.filter(model, eqx.is_array))


@program
def mlp() -> Any:
    model = weights(eqx.nn.MLP(5, 3, 8, 2, key=KEY))
    x = numbers(4, 5)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(model: Any, x: Any) -> Any:
        return jnp.mean(jax.vmap(model)(x) ** 2)

    value, grads = loss(model, x)
    return jax.vmap(model)(x), value, leaves(grads)


@program
def initial_weights() -> Any:
    return leaves(eqx.nn.MLP(5, 3, 8, 2, key=KEY)), leaves(eqx.nn.Conv2d(2, 3, 3, key=KEY))


@program
def own_module() -> Any:
    class Scaled(eqx.Module):
        weight: jax.Array
        layer: eqx.nn.Linear
        power: int = eqx.field(static=True)

        def __call__(self, x: Any) -> Any:
            return self.layer(self.weight * x) ** self.power

    model = weights(Scaled(jnp.ones(3), eqx.nn.Linear(3, 2, key=KEY), 2))
    changed = eqx.tree_at(lambda m: m.layer.bias, model, jnp.zeros(2))
    x = numbers(3)
    jitted = eqx.filter_jit(lambda m, x: m(x))
    gradient = eqx.filter_grad(lambda m, x: jnp.sum(m(x)))(model, x)
    same = eqx.tree_equal(model, model), eqx.tree_equal(model, changed)
    return jitted(model, x), jitted(changed, x), leaves(gradient), np.array([bool(s) for s in same])


def batch_norm(n: int) -> Any:
    """The running statistics as they were in 2024, whatever the default is."""
    modes = "mode" in inspect.signature(eqx.nn.BatchNorm.__init__).parameters
    return eqx.nn.BatchNorm(n, axis_name="batch", **({"mode": "ema"} if modes else {}))


class ConvNet(eqx.Module):
    """A convolution with batch norm and dropout."""

    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    pool: eqx.nn.MaxPool2d
    dropout: eqx.nn.Dropout
    out: eqx.nn.Linear

    def __init__(self) -> None:
        self.conv = eqx.nn.Conv2d(2, 4, 3, stride=2, padding=1, use_bias=False, key=KEY)
        self.norm = batch_norm(4)
        self.pool = eqx.nn.MaxPool2d(2, 2)
        self.dropout = eqx.nn.Dropout(0.4)
        self.out = eqx.nn.Linear(16, 3, key=KEY)

    def __call__(self, x: Any, state: Any, key: Any = None, inference: bool = False) -> Any:
        x, state = self.norm(self.conv(x), state, inference=inference)
        x = self.pool(jax.nn.relu(x)).reshape(-1)
        return self.out(self.dropout(x, key=key, inference=inference)), state


@program
def convnet() -> Any:
    model, state = eqx.nn.make_with_state(ConvNet)()
    model, x, labels = weights(model), numbers(4, 2, 8, 8), jnp.array([0, 2, 1, 0])
    optimizer = optax.adam(1e-2)
    moments = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    def loss(model: Any, state: Any, keys: Any) -> Any:
        mapped = jax.vmap(model, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
        logits, state = mapped(x, state, keys)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), state

    @eqx.filter_jit
    def step(model: Any, state: Any, moments: Any, key: Any) -> Any:
        keys = jax.random.split(key, 4)
        value_and_grad = eqx.filter_value_and_grad(loss, has_aux=True)
        (value, state), grads = value_and_grad(model, state, keys)
        updates, moments = optimizer.update(grads, moments)
        return eqx.apply_updates(model, updates), state, moments, value

    values = []
    for n in range(3):
        model, state, moments, value = step(model, state, moments, jax.random.PRNGKey(n))
        values.append(value)

    def infer(x):
        return model(x, state, inference=True)[0]

    return values, leaves(model), jax.vmap(infer)(x)


@program
def transformer_block() -> Any:
    class Block(eqx.Module):
        attention: eqx.nn.MultiheadAttention
        norms: list
        mlp: eqx.nn.MLP

        def __init__(self) -> None:
            self.attention = eqx.nn.MultiheadAttention(2, 8, key=KEY)
            self.norms = [eqx.nn.LayerNorm(8), eqx.nn.RMSNorm(8)]
            self.mlp = eqx.nn.MLP(8, 8, 16, 1, activation=jax.nn.gelu, key=KEY)

        def __call__(self, x: Any) -> Any:
            y = jax.vmap(self.norms[0])(x)
            x = x + self.attention(y, y, y, mask=jnp.tril(jnp.ones((5, 5), bool)))
            return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))

    model, x = weights(Block()), numbers(5, 8)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m: jnp.sum(jnp.sin(m(x)))))
    return model(x), leaves(gradient(model))


@program
def lstm() -> Any:
    cell, x = weights(eqx.nn.LSTMCell(3, 5, key=KEY)), numbers(6, 3)

    def last(cell: Any) -> Any:
        def step(carry, x):
            return (cell(x, carry), carry[0])

        return jax.lax.scan(step, (jnp.zeros(5), jnp.zeros(5)), x)

    gradient = eqx.filter_jit(eqx.filter_grad(lambda c: jnp.sum(last(c)[0][0] ** 2)))
    return last(cell), leaves(gradient(cell))


@program
def layers() -> Any:
    made = [
        (eqx.nn.GRUCell(3, 4, key=KEY), (numbers(3), numbers(4))),
        (eqx.nn.Embedding(7, 4, key=KEY), (jnp.array(3),)),
        (eqx.nn.GroupNorm(2, 4), (numbers(4, 3),)),
        (eqx.nn.Conv1d(2, 4, 3, groups=2, key=KEY), (numbers(2, 7),)),
        (eqx.nn.ConvTranspose2d(2, 3, 3, stride=2, key=KEY), (numbers(2, 5, 5),)),
        (eqx.nn.AvgPool1d(3, 2), (numbers(2, 9),)),
        (eqx.nn.AdaptiveAvgPool2d(2), (numbers(2, 6, 6),)),
        (eqx.nn.PReLU(0.2), (numbers(5),)),
    ]
    return [weights(layer)(*args) for layer, args in made]


@program
def sequences() -> Any:
    model = eqx.nn.Sequential(
        [eqx.nn.Linear(4, 6, key=KEY), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(6, 2, key=KEY)]
    )
    return jax.vmap(weights(model))(numbers(3, 4))


@program
def ensembles() -> Any:
    make = eqx.filter_vmap(lambda key: eqx.nn.Linear(3, 2, key=key))
    models = make(jax.random.split(KEY, 4))
    drawn = leaves(models)
    each = eqx.filter_vmap(lambda model, x: model(x), in_axes=(eqx.if_array(0), None))
    return drawn, each(weights(models), numbers(3))


@program
def filters() -> Any:
    tree = [1, 2.5, jnp.ones(2), np.zeros(3), "a", jnp.arange(2), None, True]
    tests = (eqx.is_array, eqx.is_array_like, eqx.is_inexact_array, eqx.is_inexact_array_like)
    answers = [[bool(test(x)) for x in tree] for test in tests]
    traced = []
    eqx.filter_jit(lambda x, flag: traced.append(eqx.is_array(x)) or flag)(tree[2], "static")
    return np.array(answers), np.array(traced)


@program
def derivatives() -> Any:
    @eqx.filter_custom_vjp
    def twice(x: Any) -> Any:
        return x * 2

    twice.def_fwd(lambda perturbed, x: (x * 2, None))
    twice.def_bwd(lambda residual, ct, perturbed, x: ct * 5)

    x = numbers(3)
    out, pull = eqx.filter_vjp(jnp.sin, x)
    return [
        jax.grad(lambda x: jnp.sum(twice(x)))(x),
        [out, pull(x)],
        eqx.filter_jacrev(jnp.sin)(x),
        eqx.filter_checkpoint(jnp.sin)(x),
        eqx.filter_grad(eqx.filter_checkpoint(lambda x: jnp.sum(jnp.sin(x))))(x),
    ]


@program
def forward_derivatives() -> Any:
    """Of arguments and results that aren't all arrays; what has no tangent gets None."""
    x = numbers(3)

    def f(x: Any, n: int, name: str) -> Any:
        return jnp.sin(x) * n, 3, name, jnp.ones(2), x

    def inner(y: Any) -> Any:
        return eqx.filter_jvp(jnp.sin, (y,), (jnp.ones(3),))[1]

    (sine, _, _, ones, _), tangents = eqx.filter_jvp(f, (x, 2, "a"), (x + 1, None, None))
    return [
        [sine, ones, [t for t in tangents if t is not None]],
        np.array([t is None for t in tangents]),
        eqx.filter_jit(inner)(x),
        eqx.filter_jvp(inner, (x,), (x,)),
        jax.grad(lambda x: jnp.sum(inner(x)))(x),
        jax.vmap(lambda x: eqx.filter_jvp(jnp.sin, (x,), (1.0,))[1])(x),
    ]


@program
def rules_that_know_zeros() -> Any:
    x, y = numbers(3), numbers(3, seed=1)
    seen = []

    @eqx.filter_custom_jvp
    def product(x: Any, y: Any, n: int) -> Any:
        return x * y * n

    @product.def_jvp
    def _(primals: Any, tangents: Any) -> Any:
        x, y, n = primals
        dx, dy, dn = tangents
        seen.append([dx is None, dy is None, dn is None])
        terms = [] if dx is None else [10 * dx * y * n]
        terms += [] if dy is None else [100 * x * dy * n]
        return x * y * n, sum(terms) if terms else None

    @eqx.filter_custom_vjp
    def scaled(xs: Any, k: float, name: str = "") -> Any:
        return xs[0] * xs[1] * k, 5, jnp.arange(2)

    def forward(perturbed: Any, xs: Any, k: float, name: str = "") -> Any:
        return scaled.fn(xs, k, name), (xs[1], "kept")

    def backward(residual: Any, ct: Any, perturbed: Any, xs: Any, k: float, name: str = "") -> Any:
        seen.append([bool(p) for p in perturbed])
        second = 100 * ct[0] * xs[0] * k if perturbed[1] else None
        return 10 * ct[0] * residual[0] * k, second, None

    scaled.def_fwd(forward)
    scaled.def_bwd(backward)

    def first(x: Any) -> Any:
        return jnp.sum(scaled((x, y, 3), 2.0)[0])

    def both(x: Any) -> Any:
        return jnp.sum(scaled((x, x, 3), 2.0, name="b")[0])

    found = [
        jax.grad(lambda x: jnp.sum(product(x, y, 2)))(x),
        jax.jit(jax.grad(lambda y: jnp.sum(product(x, y, 2))))(y),
        jax.jvp(lambda x: product(x, x, 2), (x,), (y,)),
        jax.jvp(lambda n: product(x, y, n), (x,), (y,)),
        eqx.filter_jvp(lambda x: product(x, y, 2), (x,), (y,)),
        jax.grad(first)(x),
        jax.jit(jax.grad(both))(x),
        scaled((x, y, 3), 2.0)[2],
    ]
    refused = refusals(
        lambda: jax.grad(lambda k: jnp.sum(scaled((x, y, 3), k)[0]))(jnp.array(2.0)),
        error=RuntimeError,
    )
    return found, np.array(seen), refused


@program
def saved_and_restored() -> Any:
    model = weights(eqx.nn.MLP(3, 2, 4, 1, key=KEY))
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    file.seek(0)
    return leaves(eqx.tree_deserialise_leaves(file, eqx.nn.MLP(3, 2, 4, 1, key=KEY)))


@program
def shapes_without_computing() -> Any:
    made = eqx.filter_eval_shape(eqx.nn.MLP, 3, 2, 4, 1, key=KEY)
    out = eqx.filter_eval_shape(lambda m, x: m(x), made, jax.ShapeDtypeStruct((3,), jnp.float32))
    shapes = [leaf for leaf in jax.tree_util.tree_leaves(made) if hasattr(leaf, "shape")]
    return [np.array(s.shape) for s in [*shapes, out]]


@program
def errors_at_run_time() -> Any:
    @eqx.filter_jit
    def f(x: Any) -> Any:
        return eqx.error_if(x, x < 0, "negative") * 2

    return f(jnp.asarray(2.0)), refusals(lambda: f(jnp.asarray(-2.0)), error=Exception)
