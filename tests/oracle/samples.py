"""What tables of the oracle are made of: arrays of any dtype, and both directions of derivatives.

Runs in the peer's interpreter too: knows NumPy only.
"""

import ml_dtypes
import numpy as onp


def named(dtype):
    return onp.dtype(getattr(ml_dtypes, dtype, dtype))


def wave(shape, phase=0.0, dtype="float32"):
    """Numbers from -3 to 3, without repeats if they are floats."""
    shape = (shape,) if isinstance(shape, int) else shape
    n = int(onp.prod(shape))
    real = 3 * onp.cos(onp.arange(n) * 1.7 + phase).reshape(shape)
    dtype = named(dtype)
    if dtype.kind == "c":
        return (real + 2j * onp.sin(onp.arange(n) * 0.9 + phase).reshape(shape)).astype(dtype)
    if dtype.kind == "b":
        return real > 0
    if dtype.kind in "iu" or "int" in dtype.name:
        real = onp.round(abs(real) if "uint" in dtype.name else real)
    return real.astype(dtype)


def special(dtype):
    """Zeros, infinities, NaN and large numbers; of integers the extremes."""
    dtype = named(dtype)
    if dtype.kind == "b":
        return onp.array([True, False])
    if dtype.kind in "iu":
        info = onp.iinfo(dtype)
        return onp.array([info.min, info.max, 0, 1, 2, info.max - 1, info.min + 1, 7], dtype)
    large = 1e4 if dtype == onp.float16 else 1e30
    numbers = [0.0, -0.0, 1, -1, onp.inf, -onp.inf, onp.nan, 0.5, -2.5, large, -large, 3, 2, -0.5]
    return onp.array(numbers).astype(dtype)


def pairs(numbers, dtype="float32"):
    """Each with each, as two arrays."""
    numbers = onp.array(numbers, named(dtype))
    return onp.repeat(numbers, numbers.size), onp.tile(numbers, numbers.size)


def floats(api, value):
    """The leaves of a tree that have derivatives."""
    return [x for x in api.tree_util.tree_leaves(value) if x.dtype.kind not in "biu"]


def slopes(api, np, f, xs):
    """A function's value, and its derivative along fixed directions, forwards and backwards."""
    xs = [np.asarray(x) for x in xs]
    along = [np.asarray(wave(x.shape, i + 1, str(x.dtype))) for i, x in enumerate(xs)]

    def outputs(*xs):
        return floats(api, f(*xs))

    def back(*xs):
        outs, pull = api.vjp(outputs, *xs)
        return pull([np.asarray(wave(o.shape, 9 + i, str(o.dtype))) for i, o in enumerate(outs)])

    return api.jvp(outputs, tuple(xs), tuple(along)), back(*xs)
