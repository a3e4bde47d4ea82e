"""Modules of dm-haiku: layers, state, random numbers, control flow."""

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax

from .registry import filled, numbers, program


def run(f: Any, *args: Any) -> Any:
    """Initial parameters, a forward pass and the gradient, with numbers from NumPy."""
    transformed = hk.without_apply_rng(hk.transform(f))
    drawn = transformed.init(jax.random.PRNGKey(3), *args)
    params = filled(drawn)

    def loss(p):
        return sum(jnp.sum(jnp.sin(x)) for x in jax.tree_util.tree_leaves(apply(p, *args)))

    apply = transformed.apply
    return drawn, apply(params, *args), jax.jit(jax.grad(loss))(params)


@program
def mlp() -> Any:
    return run(lambda x: hk.nets.MLP([8, 6, 3])(x), numbers(4, 5))


@program
def parameters_of_a_module() -> Any:
    class Scale(hk.Module):
        def __call__(self, x: Any) -> Any:
            w = hk.get_parameter("w", x.shape[-1:], init=hk.initializers.RandomNormal(0.5))
            b = hk.get_parameter("b", [], init=hk.initializers.Constant(0.1))
            return x * w + b

    return run(lambda x: Scale(name="outer")(Scale()(x)), numbers(2, 3))


@program
def initializers() -> Any:
    made = [
        hk.initializers.TruncatedNormal(0.3),
        hk.initializers.RandomUniform(-1, 1),
        hk.initializers.VarianceScaling(2.0, "fan_avg", "uniform"),
        hk.initializers.Identity(),
    ]

    def f() -> Any:
        return [hk.get_parameter(f"p{n}", [4, 4], init=init) for n, init in enumerate(made)]

    return hk.transform(f).init(jax.random.PRNGKey(5))


@program
def convnet() -> Any:
    """With batch norm and dropout, three steps of training."""

    def net(x: Any, training: bool) -> Any:
        x = hk.Conv2D(4, 3, with_bias=False)(x)
        x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, training))
        x = hk.AvgPool(2, 2, "SAME")(x)
        x = hk.Conv2D(5, 3, stride=2, padding="VALID")(x)
        x = hk.Flatten()(hk.MaxPool(2, 1, "VALID")(x))
        if training:
            x = hk.dropout(hk.next_rng_key(), 0.3, x)
        return hk.Linear(3)(x)

    x, labels = numbers(3, 10, 10, 2), jnp.array([0, 2, 1])
    model = hk.transform_with_state(net)
    params, state = model.init(jax.random.PRNGKey(0), x, True)
    params = filled(params)
    optimizer = optax.sgd(0.1, momentum=0.9)

    def loss(params: Any, state: Any, key: Any) -> Any:
        logits, state = model.apply(params, state, key, x, True)
        return jnp.mean(optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, 3))), state

    @jax.jit
    def step(params: Any, state: Any, moments: Any, key: Any) -> Any:
        (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params, state, key)
        updates, moments = optimizer.update(grads, moments)
        return optax.apply_updates(params, updates), state, moments, value

    moments, values, keys = optimizer.init(params), [], hk.PRNGSequence(9)
    for _ in range(3):
        params, state, moments, value = step(params, state, moments, next(keys))
        values.append(value)
    return values, state, params["linear"], model.apply(params, state, None, x, False)[0]


@program
def transformer_block() -> Any:
    def block(x: Any) -> Any:
        y = hk.LayerNorm(-1, True, True)(x)
        mask = jnp.tril(jnp.ones((1, 1, x.shape[1], x.shape[1])))
        init = hk.initializers.VarianceScaling(1.0)
        x = x + hk.MultiHeadAttention(2, 4, w_init=init)(y, y, y, mask=mask)
        y = hk.LayerNorm(-1, True, True)(x)
        return x + hk.Sequential([hk.Linear(16), jax.nn.gelu, hk.Linear(8)])(y)

    return run(block, numbers(2, 5, 8))


@program
def lstm() -> Any:
    def f(x: Any) -> Any:
        core = hk.LSTM(5)
        out, state = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return out, state.hidden, state.cell

    return run(f, numbers(6, 2, 3))


@program
def other_cells() -> Any:
    def f(x: Any) -> Any:
        core = hk.DeepRNN([hk.GRU(4), jax.nn.relu, hk.VanillaRNN(3)])
        return hk.static_unroll(core, x, core.initial_state(x.shape[1]))[0]

    return run(f, numbers(4, 2, 3))


@program
def embeddings_and_norms() -> Any:
    def f(ids: Any) -> Any:
        x = hk.Embed(7, 4)(ids)
        return hk.RMSNorm(-1)(x), hk.GroupNorm(2)(x), hk.InstanceNorm(True, True)(x)

    return run(f, jnp.array([[0, 3, 6], [6, 2, 1]]))


@program
def convolutions() -> Any:
    def f(x: Any) -> Any:
        x = hk.Conv2DTranspose(3, 3, stride=2)(x)
        return hk.DepthwiseConv2D(2, 3)(x), hk.SeparableDepthwiseConv2D(1, 3)(x)

    return run(f, numbers(2, 5, 5, 2))


@program
def control_flow() -> Any:
    def f(x: Any) -> Any:
        layer = hk.Linear(3)

        def body(carry: Any, x: Any) -> Any:
            return jnp.tanh(layer(carry)) + x, jnp.sum(carry)

        last, sums = hk.scan(body, jnp.ones(3), x)
        chosen = hk.cond(jnp.sum(x) > 0, lambda x: layer(x), lambda x: -layer(x), x)
        looped = hk.fori_loop(0, 3, lambda i, x: layer(x), x)
        mapped = hk.vmap(layer, split_rng=False)(x)
        return last, sums, chosen, looped, mapped, hk.remat(layer)(x)

    return run(f, numbers(4, 3))


@program
def stacked_layers() -> Any:
    def f(x: Any) -> Any:
        return hk.experimental.layer_stack(3)(lambda x: jnp.tanh(hk.Linear(4)(x)))(x)

    return run(f, numbers(2, 4))


@program
def state_and_averages() -> Any:
    def f(x: Any) -> Any:
        count = hk.get_state("count", [], jnp.int32, init=jnp.zeros)
        hk.set_state("count", count + 1)
        return hk.ExponentialMovingAverage(0.9)(x), count

    model = hk.transform_with_state(f)
    params, state = model.init(None, numbers(3))
    for n in range(3):
        out, state = jax.jit(model.apply)(params, state, None, numbers(3, seed=n))
    return out, state


@program
def random_numbers() -> Any:
    def f() -> Any:
        keys = hk.next_rng_keys(2)
        return jax.random.normal(hk.next_rng_key(), (3,)), jax.random.uniform(keys[0], (2,))

    return hk.transform(f).apply({}, jax.random.PRNGKey(11))


@program
def several_functions() -> Any:
    def f() -> Any:
        encoder, decoder = hk.Linear(2, name="encoder"), hk.Linear(4, name="decoder")

        def init(x: Any) -> Any:
            return decoder(encoder(x))

        return init, (encoder, decoder)

    model = hk.multi_transform(f)
    x = numbers(3, 4)
    params = filled(model.init(jax.random.PRNGKey(0), x))
    encode, decode = model.apply
    return decode(params, None, encode(params, None, x)), hk.data_structures.tree_size(params)
