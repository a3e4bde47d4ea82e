"""Random numbers from NumPy's Philox generator, with keys of two words. The key None means NumPy's
global generator, `numpy.random.seed`.
"""

from typing import Any

import numpy as onp
from scipy import special

from ..user_lines import noted

Key = Any


def get_prng(seed: Any) -> Key:
    """A key: the two halves of a seed, uint32[2]."""
    if onp.ndim(seed) or not onp.issubdtype(onp.asarray(seed).dtype, onp.integer):
        raise noted(TypeError(f"get_prng: expected an integer; got {seed!r}"))
    seed = int(seed) & 0xFFFFFFFFFFFFFFFF
    return onp.array([seed >> 32, seed & 0xFFFFFFFF], onp.uint32)


def _generator(key: Key, *purpose: int) -> onp.random.Generator:
    """The generator of a key; each purpose has its own."""
    words = onp.random.randint(1 << 32, size=2, dtype=onp.uint64) if key is None else key
    words = onp.asarray(words)
    if words.shape != (2,) or words.dtype.kind not in "iu":
        raise noted(TypeError(f"expected a random key, an array uint32[2]; got {key!r}"))
    seeds = onp.random.SeedSequence([*(int(w) & 0xFFFFFFFF for w in words), *purpose])
    return onp.random.Generator(onp.random.Philox(seeds))


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if onp.ndim(shape) == 0 else tuple(int(n) for n in shape)


def split(prng: Key, num: int = 2) -> Any:
    """New keys, uint32[num,2]; for the key None, a list of `num` Nones."""
    if prng is None:
        return (None,) * num
    return _generator(prng, 1).integers(1 << 32, size=(num, 2), dtype=onp.uint32)


def fold_in(rng: Key, data: Any) -> Key:
    """A new key; None for the key None."""
    if rng is None:
        return None
    return _generator(rng, 2, int(data) & 0xFFFFFFFF).integers(1 << 32, size=2, dtype=onp.uint32)


def random_uniform(
    rng: Key, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Uniform numbers."""
    samples = _generator(rng, 0).random(_shape(shape)) * (maxval - minval) + minval
    return onp.asarray(samples, dtype or onp.float64)


def random_normal(rng: Key, shape: Any = (), dtype: Any = None) -> Any:
    """Normal numbers."""
    return onp.asarray(_generator(rng, 0).standard_normal(_shape(shape)), dtype or onp.float64)


def truncated_normal(rng: Key, lower: Any, upper: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Normal numbers between bounds, computed as quantiles of uniform numbers."""
    low, high = special.ndtr(lower), special.ndtr(upper)
    ranks = random_uniform(rng, shape, None, low, high)
    return onp.asarray(onp.clip(special.ndtri(ranks), lower, upper), dtype or onp.float64)


def random_randint(rng: Key, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Random integers."""
    samples = _generator(rng, 0).integers(minval, maxval, size=_shape(shape))
    return onp.asarray(samples, dtype or onp.int64)


def random_bernoulli(rng: Key, p: Any = 0.5, shape: Any = None) -> Any:
    """Booleans that are true with probability `p`."""
    return random_uniform(rng, onp.shape(p) if shape is None else shape) < p
