"""Random numbers from TensorFlow's stateless generators, with keys of two words, uint32[2]."""

from typing import Any

import numpy as onp

from ..user_lines import noted
from .host_random import get_prng as words_of_seed
from .tensorflow_module import narrow_dtype, tensor, tf

ALGORITHM = "philox"  # gives the same numbers on every device


def get_prng(seed: Any) -> Any:
    """A key: the two halves of a seed."""
    if not tf.is_tensor(seed):
        return tf.constant(words_of_seed(seed))
    seed = tf.cast(seed, tf.uint64)
    return tf.stack([tf.cast(seed >> 32, tf.uint32), tf.cast(seed, tf.uint32)])


def _seed(key: Any) -> Any:
    """A key in the form of TensorFlow's functions."""
    if not hasattr(key, "shape") or tuple(key.shape) != (2,):
        raise noted(TypeError(f"expected a random key, an array uint32[2]; got {key!r}"))
    return tf.bitcast(tf.cast(key, tf.uint32), tf.int32)


def _shape(shape: Any) -> list[int]:
    return [int(shape)] if onp.ndim(shape) == 0 else [int(n) for n in shape]


def split(prng: Any, num: int = 2) -> Any:
    """New keys, uint32[num,2]."""
    return tf.bitcast(tf.random.split(_seed(prng), num, ALGORITHM), tf.uint32)


def fold_in(rng: Any, data: Any) -> Any:
    """A new key."""
    data = tf.cast(tensor(data), tf.int32)
    return tf.bitcast(tf.random.fold_in(_seed(rng), data, ALGORITHM), tf.uint32)


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Uniform numbers."""
    dtype = narrow_dtype(dtype or tf.float32)
    low, high = tensor(minval, dtype), tensor(maxval, dtype)
    samples = tf.random.stateless_uniform(_shape(shape), _seed(key), dtype=dtype, alg=ALGORITHM)
    return samples * (high - low) + low


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Normal numbers."""
    dtype = narrow_dtype(dtype or tf.float32)
    return tf.random.stateless_normal(_shape(shape), _seed(key), dtype=dtype, alg=ALGORITHM)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Normal numbers between bounds, computed as quantiles of uniform numbers."""
    dtype = narrow_dtype(dtype or tf.float32)
    low, high = tensor(lower, dtype), tensor(upper, dtype)
    root = tf.cast(2**0.5, dtype)
    ranks = uniform(key, shape, dtype, tf.math.erf(low / root), tf.math.erf(high / root))
    return tf.clip_by_value(root * tf.math.erfinv(ranks), low, high)


def tf_randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Random integers."""
    dtype = narrow_dtype(dtype or tf.int32)
    drawn = dtype if dtype in (tf.int32, tf.int64) else tf.int32
    low, high = tensor(minval, drawn), tensor(maxval, drawn)
    samples = tf.random.stateless_uniform(
        _shape(shape), _seed(key), low, high, drawn, alg=ALGORITHM
    )
    return tf.cast(samples, dtype)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """Booleans that are true with probability `p`."""
    p = tensor(p)
    return uniform(key, p.shape if shape is None else shape) < p
