"""A training loop gives the same losses on one device and on several, in each way to divide it.

The reference is the same loop in NumPy, in float64. Sums of 64 numbers in another order differ by
some 1e-7 in float32, and the loop is short and smooth: 1e-6 is what is asked for.
"""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

DEVICES = weft.devices()
STEPS, RATE, MOMENTUM = 20, 0.1, 0.9
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(64, 8))
LABELS = np.eye(4)[RNG.integers(0, 4, 64)]
START = {
    "w1": RNG.normal(size=(8, 16)) / 3, "b1": np.zeros(16),
    "w2": RNG.normal(size=(16, 4)) / 4, "b2": np.zeros(4),
}  # fmt: skip


def reference():
    """The losses, with gradients by hand."""
    p, velocity, losses = dict(START), {k: 0.0 for k in START}, []
    for _ in range(STEPS):
        h = np.tanh(INPUTS @ p["w1"] + p["b1"])
        logits = h @ p["w2"] + p["b2"]
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        losses.append(-(logs * LABELS).sum(1).mean())
        d = (np.exp(logs) - LABELS) / len(LABELS)
        dh = d @ p["w2"].T * (1 - h * h)
        g = {"w1": INPUTS.T @ dh, "b1": dh.sum(0), "w2": h.T @ d, "b2": d.sum(0)}
        velocity = {k: MOMENTUM * velocity[k] + g[k] for k in p}
        p = {k: p[k] - RATE * velocity[k] for k in p}
    return np.array(losses)


def loss(p, x, y):
    h = wnp.tanh(x @ p["w1"] + p["b1"])
    logits = h @ p["w2"] + p["b2"]
    logs = logits - wnp.log(wnp.exp(logits).sum(1, keepdims=True))
    return -(logs * y).sum(1).mean()


def step(state, x, y, mean=lambda tree: tree):
    p, velocity = state
    value, g = mean(weft.value_and_grad(loss)(p, x, y))
    velocity = weft.tree_util.tree_map(lambda v, d: MOMENTUM * v + d, velocity, g)
    p = weft.tree_util.tree_map(lambda w, v: w - RATE * v, p, velocity)
    return (p, velocity), value


def by_jit(n):
    return weft.jit(step), START, (INPUTS, LABELS)


def by_pmap(n):
    mean = lambda tree: lax.pmean(tree, "i")  # noqa: E731
    run = weft.pmap(
        lambda s, x, y: step(s, x, y, mean), "i", in_axes=(None, 0, 0), out_axes=(None, None)
    )
    return run, START, (INPUTS.reshape(n, -1, 8), LABELS.reshape(n, -1, 4))


def by_stacked_pmap(n):
    """Parameters with an axis of copies, as pmap's users of old have them."""
    mean = lambda tree: lax.pmean(tree, "i")  # noqa: E731
    run = weft.pmap(lambda s, x, y: step(s, x, y, mean), "i", donate_argnums=0)
    start = weft.device_put_replicated(START, DEVICES[:n])
    return run, start, (INPUTS.reshape(n, -1, 8), LABELS.reshape(n, -1, 4))


def by_sharded_jit(n):
    mesh = Mesh(DEVICES[:n], "data")
    batch = weft.device_put((INPUTS, LABELS), NamedSharding(mesh, P("data")))
    return weft.jit(step), weft.device_put(START, NamedSharding(mesh, P())), batch


def by_in_shardings(n):
    mesh = Mesh(DEVICES[:n], "data")
    rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    run = weft.jit(step, in_shardings=(everywhere, rows, rows), out_shardings=everywhere,
                   donate_argnums=0)  # fmt: skip
    return run, START, (INPUTS, LABELS)


def by_shard_map(n):
    mesh = Mesh(DEVICES[:n], "data")
    mean = lambda tree: lax.pmean(tree, "data")  # noqa: E731
    run = weft.shard_map(
        lambda s, x, y: step(s, x, y, mean),
        mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(),
    )  # fmt: skip
    return weft.jit(run), START, (INPUTS, LABELS)


def by_two_axes(n):
    """The batch along one axis of the mesh, the hidden layer along the other."""
    mesh = Mesh(np.array(DEVICES[:n], object).reshape(-1, 2), ("data", "model"))
    put = lambda x, *spec: weft.device_put(x, NamedSharding(mesh, P(*spec)))  # noqa: E731
    specs = {"w1": (None, "model"), "b1": ("model",), "w2": ("model",), "b2": ()}
    start = {k: put(START[k], *spec) for k, spec in specs.items()}
    return weft.jit(step), start, (put(INPUTS, "data"), put(LABELS, "data"))


WAYS = [
    by_jit,
    by_pmap,
    by_stacked_pmap,
    by_sharded_jit,
    by_in_shardings,
    by_shard_map,
    by_two_axes,
]
EXPECTED = reference()


@pytest.mark.parametrize(
    ("way", "n"),
    [
        pytest.param(way, n, marks=pytest.mark.devices(n), id=f"{way.__name__}-{n}")
        for way in WAYS
        for n in (1, 2, 4, 8)
        if (way is not by_jit or n == 1) and (way is not by_two_axes or n > 1)
    ],
)
def test_losses_are_the_same(way, n):
    run, start, batch = way(n)
    state, losses = (start, weft.tree_util.tree_map(lambda x: x * 0, start)), []
    for _ in range(STEPS):
        state, value = run(state, *batch)
        losses.append(np.asarray(value).ravel()[0])
    assert len(weft.tree_util.tree_leaves(state)[0].devices()) == n
    np.testing.assert_allclose(losses, EXPECTED, rtol=1e-6)
    assert losses[-1] < losses[0]
