"""`random`, a RandomBackend: random numbers from keys, on the current backend."""

from collections.abc import Sequence
from typing import Any

from .backends import current

__all__ = ["RandomBackend", "random"]


class RandomBackend:
    """Functions of random keys. The same key gives the same numbers on one backend; the streams of
    two backends differ.

    The default dtype is float32 or int32; on the backend `numpy`, float64 or int64.

    Example:
      >>> from weft.fastmath import random
      >>> key = random.get_prng(0)
      >>> one, other = random.split(key)
      >>> random.normal(one, (2, 3)).shape
      (2, 3)
    Source: Trax documentation, `fastmath.ops.RandomBackend`.
    """

    def get_prng(self, seed: Any) -> Any:
        """Makes a key from an integer."""
        return current.operations.random_get_prng(seed)

    def split(self, prng: Any, num: int = 2) -> Any:
        """`num` new keys, as a sequence or as an array whose first axis counts them."""
        return current.operations.random_split(prng, num)

    def fold_in(self, rng: Any, data: Any) -> Any:
        """Makes a new key from a key and an integer."""
        return current.operations.random_fold_in(rng, data)

    def uniform(
        self,
        key: Any,
        shape: Sequence[int] = (),
        dtype: Any = None,
        minval: Any = 0.0,
        maxval: Any = 1.0,
    ) -> Any:
        """Uniform numbers from `minval` up to `maxval`."""
        return current.operations.random_uniform(key, shape, dtype, minval, maxval)

    def normal(self, key: Any, shape: Sequence[int] = (), dtype: Any = None) -> Any:
        """Normal numbers with mean 0 and variance 1."""
        return current.operations.random_normal(key, shape, dtype)

    def truncated_normal(
        self, key: Any, lower: Any, upper: Any, shape: Sequence[int] = (), dtype: Any = None
    ) -> Any:
        """Normal numbers, truncated to the interval from `lower` to `upper`."""
        return current.operations.random_truncated_normal(key, lower, upper, shape, dtype)

    def randint(
        self, key: Any, shape: Sequence[int], minval: Any, maxval: Any, dtype: Any = None
    ) -> Any:
        """Uniform integers from `minval` up to `maxval - 1`."""
        return current.operations.random_randint(key, shape, minval, maxval, dtype)

    def bernoulli(self, key: Any, p: Any = 0.5, shape: Sequence[int] | None = None) -> Any:
        """Booleans that are true with probability `p`; `shape` is the shape of `p` by default."""
        return current.operations.random_bernoulli(key, p, shape)


random = RandomBackend()
