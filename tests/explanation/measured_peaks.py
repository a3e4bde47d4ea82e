"""Twenty programs, and the growth of this process's memory while each of them runs.

Run as a script, it prints for each program the predicted and the measured peak, as JSON. The
measured one is the largest resident memory of the process during a call, which Linux records
(`VmHWM`, reset before the call), less the resident memory before the arguments were made. Programs
are compiled before. They take 50 to 350 MB, because a product takes some 10 to 20 MB of scratch
memory, whatever its size, which no plan of XLA's has.
"""

import ctypes
import gc
import json
import re
import time

import weft
import weft.numpy as np
from weft import grad, jit, lax, nn, random, vmap

N = 2500  # a matrix of N × N numbers in float32 takes 25 MB
struct = weft.ShapeDtypeStruct


def matrices(count, n=N):
    return [struct((n, n), "float32")] * count


def loss(params, x):
    for w in params:
        x = np.tanh(x @ w)
    return np.mean(x**2)


def attention(q, k, v):
    return nn.softmax(q @ k.T / 8.0) @ v


def chain(x):
    return np.sin(np.cumsum(np.cos(np.sort(x, axis=0)), axis=0)) @ x


def body(carry, _):
    return np.tanh(carry @ carry / N), np.sum(carry)


def checkpointed(w, x):
    layer = weft.checkpoint(lambda x: np.tanh(x @ w))
    return grad(lambda x: np.sum(layer(layer(layer(x)))))(x)


# name: (function, arguments, options of jit)
PROGRAMS = {
    "elementwise": (lambda x, y: np.exp(x) * y + np.sin(y), matrices(2), {}),
    "elementwise, donated": (lambda x, y: x + 0.1 * y, matrices(2), {"donate_argnums": 0}),
    "product": (lambda x, y: x @ y, matrices(2), {}),
    "three products": (lambda x, y: np.tanh(np.tanh(x @ y) @ y) @ x, matrices(2), {}),
    "sort, cumsum and product": (chain, matrices(1), {}),
    "sum": (lambda x, y: np.sum(x * y), matrices(2), {}),
    "gradient of two layers": (grad(loss), [matrices(2, 3200), *matrices(1, 3200)], {}),
    "gradient of five layers": (grad(loss), [matrices(5), *matrices(1)], {}),
    "step of two layers, donated": (
        lambda p, x: weft.tree_util.tree_map(lambda w, g: w - g, p, grad(loss)(p, x)),
        [matrices(2), *matrices(1)],
        {"donate_argnums": 0},
    ),
    "checkpoint": (checkpointed, matrices(2), {}),
    "scan of products": (lambda x: lax.scan(body, x, None, length=4), matrices(1), {}),
    "scan that stacks": (
        lambda x: lax.scan(lambda c, _: (c * 0.5, c), x, None, length=6),
        matrices(1, 1500),
        {},
    ),
    "attention": (attention, [struct((6000, 64), "float32")] * 3, {}),
    "batch of attention": (vmap(attention), [struct((8, 1500, 64), "float32")] * 3, {}),
    "update of a buffer": (
        lambda x, row: x.at[3].set(row),
        [*matrices(1, 4000), struct((4000,), "float32")],
        {},
    ),
    "update of a donated buffer": (
        lambda x, row: x.at[3].set(row),
        [*matrices(1, 4000), struct((4000,), "float32")],
        {"donate_argnums": 0},
    ),
    "look-up of rows": (
        lambda table, ids: np.take(table, ids, axis=0) * 2,
        [struct((20_000, 512), "float32"), struct((40_000,), "int32")],
        {},
    ),
    "random numbers": (
        lambda x: random.normal(random.key(0), x.shape) + x,
        matrices(1, 4000),
        {},
    ),
    "pairs of points": (
        lambda x: np.sqrt(np.sum((x[:, None] - x[None]) ** 2, -1)),
        [struct((5000, 3), "float32")],
        {},
    ),
    "convolution": (
        lambda x, w: nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME")),
        [struct((16, 16, 256, 256), "float32"), struct((16, 16, 3, 3), "float32")],
        {},
    ),
}


def kilobytes(name):
    """A line of the process's status."""
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\s+(\d+) kB", file.read())[1])


def made(tree):
    """Arrays of these shapes, on the device, with all elements written."""
    fill = jit(lambda: weft.tree_util.tree_map(lambda s: np.ones(s.shape, s.dtype), tree))
    return weft.block_until_ready(fill())


def give_back():
    """Returns free memory to the system."""
    gc.collect()
    time.sleep(0.05)  # XLA frees arrays in the background
    ctypes.CDLL(None).malloc_trim(0)


def measured(name):
    """The predicted and the measured bytes of a program."""
    function, shapes, options = PROGRAMS[name]
    f = jit(function, **options)
    predicted = f.memory(*shapes).peak_bytes
    compiled = f.lower(*shapes).compile()  # so that the call only looks it up
    made(shapes)
    give_back()
    before = kilobytes("VmRSS")
    args = made(shapes)
    give_back()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    results = weft.block_until_ready(f(*args))
    peak = kilobytes("VmHWM")
    del results, args, compiled
    return predicted, (peak - before) * 1024


if __name__ == "__main__":
    print(json.dumps({name: measured(name) for name in PROGRAMS}))
