"""A deep network of equal layers, and arguments for it."""

import numpy as onp

import weft.numpy as np


def layer(x, w):
    """Some 40 equations, with a product of matrices and a residual sum."""
    h = x
    for i in range(9):
        h = np.tanh(h * (1.0 + i)) + np.sin(h) * 0.5 - h / 3.0
    return x + np.dot(h, w)


def network(ws, x):
    for w in ws:
        x = layer(x, w)
    return np.sum(x * x)


def arguments(depth, width=4, rows=3):
    """The weights of `depth` layers, and an input."""
    r = onp.random.RandomState(0)
    ws = [np.array(r.randn(width, width).astype("float32")) * 0.1 for _ in range(depth)]
    return ws, np.array(r.randn(rows, width).astype("float32"))
