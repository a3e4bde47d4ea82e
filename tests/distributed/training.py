"""Trains a small network on 8 devices, of however many processes, and prints the losses.

The argument says how: by `pmap`; by `jit`, the batch divided; by `jit`, the batch and the weights.
"""

import json
import os
import sys

import numpy as onp

import weft
import weft.numpy as np
from weft import lax
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

if "WEFT_NUM_PROCESSES" in os.environ:
    weft.distributed.initialize()
how, steps, rate = sys.argv[1], 40, 0.2
rank, own = weft.process_index(), weft.local_device_count()
rng = onp.random.default_rng(0)
weights = [
    onp.float32(rng.standard_normal(shape) / shape[0] ** 0.5)
    for shape in [(8, 32), (32, 32), (32, 1)]
]
batches = [onp.float32(rng.standard_normal((8, 4, 8))) for _ in range(steps)]
targets = [x[..., :1] / 2 for x in batches]


def loss(weights, x, y):
    first, second, last = weights
    return np.mean((np.tanh(np.tanh(x @ first) @ second) @ last - y) ** 2)


def moved(weights, gradients):
    return [w - rate * g for w, g in zip(weights, gradients, strict=True)]


def by_pmap():
    def step(weights, x, y):
        value, gradients = weft.value_and_grad(loss)(weights, x, y)
        return moved(weights, lax.pmean(gradients, "i")), lax.pmean(value, "i")

    mapped = weft.pmap(step, axis_name="i", in_axes=(None, 0, 0), out_axes=(None, None))
    mine = slice(rank * own, rank * own + own)
    now = weights
    for x, y in zip(batches, targets, strict=True):
        now, value = mapped(now, x[mine], y[mine])
        yield value


def by_jit(mesh, specs):
    @weft.jit
    def step(weights, x, y):
        value, gradients = weft.value_and_grad(loss)(weights, x, y)
        return moved(weights, gradients), value

    rows = NamedSharding(mesh, P("data"))
    now = weft.device_put(weights, [NamedSharding(mesh, spec) for spec in specs])
    for whole in zip(batches, targets, strict=True):
        # the rows that this process's devices have; with one process, all
        flat = [a.reshape(32, -1) for a in whole]
        part = 32 // weft.process_count()
        x, y = [
            weft.make_array_from_process_local_data(rows, a[rank * part : (rank + 1) * part])
            for a in flat
        ]
        now, value = step(now, x, y)
        yield value


if how == "pmap":
    values = by_pmap()
elif how == "jit":
    values = by_jit(Mesh(weft.devices(), "data"), [P()] * 3)
else:
    grid = onp.array(weft.devices()).reshape(4, 2)
    specs = [P(None, "model"), P("model", None), P("model")]
    values = by_jit(Mesh(grid, ("data", "model")), specs)
print(json.dumps([float(v) for v in values]))
