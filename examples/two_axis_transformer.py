"""Trains a small transformer on a mesh of devices with two axes.

The batch is divided along the axis `data`; heads, hidden units and the vocabulary along the axis
`model`. The program says where parameters and batches lie, and XLA puts in the exchanges between
devices. Prints the loss, where each parameter lies, and what the devices send in a step.

    WEFT_CPU_DEVICES=8 python examples/two_axis_transformer.py [--data 2] [--model 4] [--steps 60]
"""

import argparse
import functools
import sys

import numpy as onp

import weft
import weft.numpy as np
from weft import jit, lax, random, value_and_grad
from weft.experimental.communication import Transformer, collectives, predicted, table
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P
from weft.tree_util import keystr, tree_flatten_with_path, tree_map

SIZES = Transformer(layers=2, width=64, heads=8, hidden=256, length=16, vocabulary=64)
BATCH = 16
STEP_SIZE = 0.2


# ---- the model: where its parameters lie, what they start as, what they do ----


def partitions():
    """Which axis of the mesh divides which axis of each parameter.

    The first product of each pair is divided along what it gives, the second along what it sums
    over: between the two nothing has to be exchanged. Blocks are stacked along a first axis.
    """
    blocks = {
        "norm1_scale": P(None),
        "norm1_shift": P(None),
        "qkv": P(None, None, None, "model", None),  # layer, width, which of three, head, feature
        "qkv_bias": P(None, None, "model", None),
        "out": P(None, "model", None, None),  # layer, head, feature, width
        "out_bias": P(None),
        "norm2_scale": P(None),
        "norm2_shift": P(None),
        "up": P(None, None, "model"),  # layer, width, hidden
        "up_bias": P(None, "model"),
        "down": P(None, "model", None),
        "down_bias": P(None),
    }
    ends = {
        "embedding": P("model", None),  # token, width
        "positions": P(),
        "norm_scale": P(),
        "norm_shift": P(),
    }
    return {"blocks": blocks, "ends": ends}


def init_params(key, sizes):
    """Parameters as GPT-2's: normal with standard deviation 0.02; scales 1, shifts 0."""
    layers, d, h, f = sizes.layers, sizes.width, sizes.heads, sizes.hidden
    keys = iter(random.split(key, 6))

    def normal(*shape):
        return 0.02 * random.normal(next(keys), shape)

    blocks = {
        "norm1_scale": np.ones((layers, d)),
        "norm1_shift": np.zeros((layers, d)),
        "qkv": normal(layers, d, 3, h, d // h),
        "qkv_bias": np.zeros((layers, 3, h, d // h)),
        "out": normal(layers, h, d // h, d),
        "out_bias": np.zeros((layers, d)),
        "norm2_scale": np.ones((layers, d)),
        "norm2_shift": np.zeros((layers, d)),
        "up": normal(layers, d, f),
        "up_bias": np.zeros((layers, f)),
        "down": normal(layers, f, d),
        "down_bias": np.zeros((layers, d)),
    }
    ends = {
        "embedding": normal(sizes.vocabulary, d),
        "positions": normal(sizes.length, d),
        "norm_scale": np.ones(d),
        "norm_shift": np.zeros(d),
    }
    return {"blocks": blocks, "ends": ends}


def normalise(x, scale, shift):
    """Mean 0 and variance 1 along the last axis, then scaled and shifted."""
    x = x - np.mean(x, -1, keepdims=True)
    return x * lax.rsqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * scale + shift


def gelu(x):
    """The smooth rectifier of GPT-2, by tanh."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def block(x, p, split):
    """Attention and two dense layers, each added to x [batch, length, width]."""
    length = x.shape[1]
    y = normalise(x, p["norm1_scale"], p["norm1_shift"])
    qkv = np.einsum("btd,dchk->cbhtk", y, p["qkv"]) + p["qkv_bias"][:, None, :, None]
    q, k, v = split(qkv, None, "data", "model")  # each device has its own heads
    scores = np.einsum("bhtk,bhsk->bhts", q, k) / float(q.shape[-1] ** 0.5)
    past = np.arange(length)[:, None] >= np.arange(length)[None]
    scores = np.where(past, scores, -1e9)
    weights = np.exp(scores - lax.stop_gradient(np.max(scores, -1, keepdims=True)))
    weights = weights / np.sum(weights, -1, keepdims=True)
    mixed = np.einsum("bhts,bhsk->bthk", weights, v)
    x = x + np.einsum("bthk,hkd->btd", mixed, p["out"]) + p["out_bias"]
    y = normalise(x, p["norm2_scale"], p["norm2_shift"])
    y = gelu(split(np.dot(y, p["up"]) + p["up_bias"], "data", None, "model"))
    return split(x + np.dot(y, p["down"]) + p["down_bias"], "data")


def loss(params, tokens, split):
    """Cross-entropy of each next token of tokens [batch, length + 1]."""
    ends = params["ends"]
    x = split(ends["embedding"][tokens[:, :-1]] + ends["positions"], "data")
    x, _ = lax.scan(lambda x, p: (block(x, p, split), None), x, params["blocks"])
    x = normalise(x, ends["norm_scale"], ends["norm_shift"])
    scores = split(np.einsum("btd,vd->btv", x, ends["embedding"]), "data", None, "model")
    scores = scores - lax.stop_gradient(np.max(scores, -1, keepdims=True))
    total = np.log(np.sum(np.exp(scores), -1))
    # A sum with one term, not an index: each device sums over the part of the vocabulary it has.
    is_next = tokens[:, 1:, None] == np.arange(scores.shape[-1])
    return np.mean(total - np.sum(np.where(is_next, scores, 0.0), -1))


# ---- the step, on one device or on a mesh ----


@functools.cache
def make_step(mesh=None):
    """A compiled step of gradient descent: (params, tokens) to (params, loss).

    On a mesh, `in_shardings` and `out_shardings` say where parameters and batches lie, and
    `with_sharding_constraint` where what is computed in between does. Without one it is the same
    step on one device.
    """

    def split(x, *spec):
        if mesh is None:
            return x
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def step(params, tokens):
        value, gradient = value_and_grad(loss)(params, tokens, split)
        return tree_map(lambda p, g: p - STEP_SIZE * g, params, gradient), value

    if mesh is None:
        return jit(step)
    places = param_shardings(mesh)
    batch, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    return jit(step, in_shardings=(places, batch), out_shardings=(places, everywhere))


def param_shardings(mesh):
    """`partitions`, of a mesh."""
    return {
        part: {name: NamedSharding(mesh, spec) for name, spec in specs.items()}
        for part, specs in partitions().items()
    }


def make_mesh(data, model):
    """The first data × model devices, as a mesh of that shape."""
    devices = weft.devices()
    if len(devices) < data * model:
        sys.exit(
            f"a mesh of {data} × {model} needs {data * model} devices; there are {len(devices)}\n"
            f"  fix: WEFT_CPU_DEVICES={data * model} python examples/two_axis_transformer.py"
        )
    return Mesh(onp.array(devices[: data * model]).reshape(data, model), ("data", "model"))


# ---- data, training, report ----


def batches(seed, sizes, batch=BATCH):
    """Sequences that count: from anywhere, in steps of one to three, modulo the vocabulary."""
    rng = onp.random.default_rng(seed)
    while True:
        first = rng.integers(sizes.vocabulary, size=(batch, 1))
        steps = rng.integers(1, 4, size=(batch, 1))
        places = onp.arange(sizes.length + 1)
        yield ((first + steps * places) % sizes.vocabulary).astype("int32")


def train(mesh, steps, sizes=SIZES):
    """The trained parameters, and the loss at each step."""
    params = init_params(random.PRNGKey(0), sizes)
    if mesh is not None:
        params = weft.device_put(params, param_shardings(mesh))
    step = make_step(mesh)
    losses = []
    for tokens, _ in zip(batches(0, sizes), range(steps), strict=False):
        params, value = step(params, tokens)
        losses.append(value)
    return params, [float(value) for value in losses]


def compiled_step(mesh, sizes=SIZES, batch=BATCH):
    """The step compiled for a mesh, of shapes alone: nothing of the model is in memory."""
    params = weft.eval_shape(lambda: init_params(random.PRNGKey(0), sizes))
    tokens = weft.ShapeDtypeStruct((batch, sizes.length + 1), "int32")
    return make_step(mesh).lower(params, tokens).compile()


def main():
    """Trains and reports; the exit status says whether the loss fell to a half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=int, default=2, help="parts of the batch")
    parser.add_argument("--model", type=int, default=4, help="parts of the weights")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()

    mesh = make_mesh(options.data, options.model)
    params, losses = train(mesh, options.steps)
    for i in range(0, len(losses), max(1, len(losses) // 8)):
        print(f"step {i:3d}  loss {losses[i]:.4f}")
    print(f"step {len(losses) - 1:3d}  loss {losses[-1]:.4f}\n")

    for path, x in tree_flatten_with_path(params)[0]:
        part = x.addressable_shards[0].data.shape
        print(f"{keystr(path):27s} {x.shape!s:18s} each device has {part!s:18s} {x.sharding.spec}")

    print("\nwhat a step sends, read from the compiled program:")
    print(table(collectives(compiled_step(mesh), mesh)))
    print("\nwhat it was predicted to send:")
    print(table(predicted(SIZES, mesh, BATCH)))
    return 0 if losses[-1] < losses[0] / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
