"""Modules of flax.linen: layers, state, random numbers, lifted transformations, training."""

from collections.abc import Sequence
from typing import Any

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization, traverse_util
from flax.training import train_state

from .registry import filled, numbers, program

KEY = 0


class MLP(nn.Module):
    features: Sequence[int]

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for n in self.features[:-1]:
            x = nn.relu(nn.Dense(n)(x))
        return nn.Dense(self.features[-1])(x)


class ConvNet(nn.Module):
    """Convolutions with batch norm and dropout."""

    @nn.compact
    def __call__(self, x: Any, train: bool) -> Any:
        x = nn.Conv(4, (3, 3), use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = nn.Conv(6, (3, 3), strides=2, padding="VALID")(x)
        x = nn.gelu(nn.GroupNorm(num_groups=2)(x))
        x = nn.max_pool(x, (2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(3)(x)


class Block(nn.Module):
    """A block of a transformer."""

    heads: int = 2

    @nn.compact
    def __call__(self, x: Any, mask: Any = None) -> Any:
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(num_heads=self.heads)(y, y, mask=mask)
        x = x + y
        y = nn.LayerNorm()(x)
        y = nn.Dense(2 * x.shape[-1])(y)
        return x + nn.Dense(x.shape[-1])(nn.gelu(y))


def weights(module: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's variables with numbers from NumPy."""
    variables = module.init(jax.random.PRNGKey(KEY), *args, **kwargs)
    return {**variables, "params": filled(variables["params"])}


@program
def mlp() -> Any:
    x, model = numbers(4, 5), MLP((8, 6, 3))
    variables = weights(model, x)

    def loss(v):
        return jnp.mean(model.apply(v, x) ** 2)

    return model.apply(variables, x), jax.jit(jax.value_and_grad(loss))(variables)


@program
def initial_weights() -> Any:
    variables = MLP((8, 6, 3)).init(jax.random.PRNGKey(1), numbers(4, 5))
    return variables, jax.jit(Block().init)(jax.random.PRNGKey(2), numbers(2, 3, 4))


@program
def setup_and_sharing() -> Any:
    class Tied(nn.Module):
        def setup(self) -> None:
            self.table = nn.Embed(7, 4)
            self.inner = MLP((5, 4))

        def __call__(self, ids: Any) -> Any:
            return self.table.attend(self.inner(self.table(ids)))

        def embed(self, ids: Any) -> Any:
            return self.table(ids)

    model, ids = Tied(), jnp.array([[0, 3], [6, 2]])
    variables = weights(model, ids)
    return model.apply(variables, ids), model.apply(variables, ids, method=Tied.embed)


@program
def convnet_inference() -> Any:
    x, model = numbers(2, 12, 12, 3), ConvNet()
    return model.apply(weights(model, x, train=False), x, train=False)


@program
def convnet_training() -> Any:
    x, labels, model = numbers(4, 12, 12, 3), jnp.array([0, 2, 1, 0]), ConvNet()
    variables = weights(model, x, train=False)
    optimizer = optax.adam(1e-2)

    @jax.jit
    def step(params: Any, stats: Any, state: Any, key: Any) -> Any:
        def loss(params: Any) -> Any:
            logits, changed = model.apply(
                {"params": params, "batch_stats": stats},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            value = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
            return value, changed["batch_stats"]

        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), stats, state, value

    params, stats = variables["params"], variables["batch_stats"]
    state, values = optimizer.init(params), []
    for n in range(3):
        key = jax.random.fold_in(jax.random.PRNGKey(7), n)
        params, stats, state, value = step(params, stats, state, key)
        values.append(value)
    return params["Dense_0"], stats, values


@program
def transformer_block() -> Any:
    x, model = numbers(2, 5, 8), Block()
    mask = nn.make_causal_mask(jnp.ones((2, 5)))
    variables = weights(model, x)

    def loss(v, x):
        return jnp.sum(jnp.sin(model.apply(v, x, mask)))

    return model.apply(variables, x, mask), jax.jit(jax.grad(loss, (0, 1)))(variables, x)


@program
def normalizations() -> Any:
    x = numbers(3, 4, 6)
    layers = [
        nn.LayerNorm(),
        nn.RMSNorm(),
        nn.GroupNorm(num_groups=3),
        nn.LayerNorm(use_bias=False),
    ]
    return [layer.apply(weights(layer, x), x) for layer in layers]


@program
def convolutions() -> Any:
    x = numbers(2, 7, 7, 4)
    layers = [
        nn.Conv(4, (3, 3), feature_group_count=2),
        nn.Conv(3, (3, 3), kernel_dilation=2, padding="CIRCULAR"),
        nn.Conv(3, (2, 2), padding=((1, 0), (0, 1))),
        nn.ConvTranspose(3, (3, 3), strides=(2, 2)),
    ]
    return [layer.apply(weights(layer, x), x) for layer in layers]


@program
def activations() -> Any:
    x = numbers(20, scale=3.0)
    functions = (nn.relu, nn.gelu, nn.silu, nn.elu, nn.selu, nn.celu, nn.leaky_relu, nn.softplus)
    functions += (nn.sigmoid, nn.tanh, nn.softmax, nn.log_softmax, nn.hard_tanh, nn.log_sigmoid)
    functions += (nn.soft_sign, nn.relu6, nn.hard_sigmoid, nn.hard_swish, nn.standardize)

    def gradient(f: Any, x: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(f(x) * x))(x)

    gradients = jax.jit(lambda x: [gradient(f, x) for f in functions])
    return [f(x) for f in functions], gradients(x), nn.glu(x)


@program
def lstm() -> Any:
    x = numbers(2, 6, 3)
    model = nn.RNN(nn.OptimizedLSTMCell(5), return_carry=True)
    variables = weights(model, x)

    def loss(v):
        return jnp.sum(model.apply(v, x, seq_lengths=jnp.array([6, 4]))[1] ** 2)

    return model.apply(variables, x), jax.jit(jax.grad(loss))(variables)


@program
def other_cells() -> Any:
    x = numbers(2, 4, 3)
    cells = [nn.LSTMCell(4), nn.GRUCell(4), nn.SimpleCell(4)]
    runs = [nn.RNN(cell, reverse=True, keep_order=True) for cell in cells]
    runs += [nn.Bidirectional(nn.RNN(nn.GRUCell(3)), nn.RNN(nn.GRUCell(3)))]
    return [run.apply(weights(run, x), x) for run in runs]


@program
def scanned_layers() -> Any:
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x: Any, _: Any) -> Any:
            return nn.tanh(nn.Dense(x.shape[-1])(x)), jnp.sum(x)

    class Deep(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            layer = nn.scan(
                nn.remat(Layer),
                variable_axes={"params": 0},
                split_rngs={"params": True},
                length=3,
            )
            return layer()(x, None)

    x, model = numbers(2, 4), Deep()
    drawn = model.init(jax.random.PRNGKey(4), x)
    variables = weights(model, x)

    def loss(v):
        return jnp.sum(model.apply(v, x)[0] ** 2)

    return drawn, model.apply(variables, x), jax.jit(jax.grad(loss))(variables)


@program
def mapped_layers() -> Any:
    Many = nn.vmap(
        nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=0, out_axes=0
    )
    x, model = numbers(3, 2, 4), Many(5)
    return model.apply(weights(model, x), x), nn.jit(MLP)((4, 2)).apply(
        weights(MLP((4, 2)), numbers(2, 3)), numbers(2, 3)
    )


@program
def dropout_and_streams() -> Any:
    class Noisy(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.Dropout(0.4, deterministic=False)(x)
            return x + jax.random.normal(self.make_rng("noise"), x.shape)

    keys = {"dropout": jax.random.PRNGKey(1), "noise": jax.random.PRNGKey(2)}
    return Noisy().apply({}, numbers(4, 5), rngs=keys)


@program
def intermediate_values() -> Any:
    class Watched(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.Dense(4)(x)
            self.sow("intermediates", "hidden", x)
            count = self.variable("counts", "calls", lambda: jnp.zeros((), jnp.int32))
            count.value = count.value + 1
            return nn.Dense(2)(nn.relu(x))

    x, model = numbers(2, 3), Watched()
    variables = weights(model, x)
    return model.apply(variables, x, mutable=["intermediates", "counts"])


@program
def train_states() -> Any:
    x, model = numbers(6, 5), MLP((7, 1))
    params = weights(model, x)["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-2))

    @jax.jit
    def step(state: Any) -> Any:
        def loss(p):
            return jnp.mean((state.apply_fn({"params": p}, x) - 1.0) ** 2)

        return state.apply_gradients(grads=jax.grad(loss)(state.params))

    for _ in range(3):
        state = step(state)
    return state.params, state.step


@program
def saved_and_restored() -> Any:
    variables = weights(MLP((3, 2)), numbers(2, 3))
    saved = serialization.to_bytes(variables)
    empty = jax.tree_util.tree_map(jnp.zeros_like, variables)
    flat = traverse_util.flatten_dict(serialization.from_bytes(empty, saved))
    frozen = flax.core.freeze(variables)
    thawed = flax.core.unfreeze(jax.tree_util.tree_map(lambda x: x * 2, frozen))
    return {"/".join(k): v for k, v in flat.items()}, thawed, np.frombuffer(saved, "u1")


@program
def shapes_without_computing() -> Any:
    model, x = Block(), jax.ShapeDtypeStruct((2, 3, 4), jnp.float32)
    shapes = jax.eval_shape(model.init, jax.random.PRNGKey(0), x)
    lazy = MLP((4, 2)).lazy_init(jax.random.PRNGKey(0), jax.ShapeDtypeStruct((1, 3), jnp.float32))
    return [np.array(s.shape) for s in jax.tree_util.tree_leaves(shapes)], lazy
