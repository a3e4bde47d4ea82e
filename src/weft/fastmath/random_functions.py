"""`random`, a RandomBackend: random numbers by keys, on the backend in use."""

from collections.abc import Sequence
from typing import Any

from .backends import current

__all__ = ["RandomBackend", "random"]


class RandomBackend:
    """Functions of random keys. The same key gives the same numbers on one backend; the streams of
    two backends differ.

    Where a dtype isn't given, it is float32 or int32; on the backend `numpy`, float64 or int64.

    Example:
      >>> from weft.fastmath import random
      >>> key = random.get_prng(0)
      >>> one, other = random.split(key)
      >>> random.normal(one, (2, 3)).shape
      (2, 3)
    Source: Trax documentation, `fastmath.ops.RandomBackend`.
    """

    def get_prng(self, seed: Any) -> Any:
        """A key made from an integer."""
        return current.operations.random_get_prng(seed)

    def split(self, prng: Any, num: int = 2) -> Any:
        """`num` new keys, in a sequence or an array whose first axis counts them."""
        return current.operations.random_split(prng, num)

    def fold_in(self, rng: Any, data: Any) -> Any:
        """A new key made from a key and an integer."""
        return current.operations.random_fold_in(rng, data)

    def uniform(
        self,
        key: Any,
        shape: Sequence[int] = (),
        dtype: Any = None,
        minval: Any = 0.0,
        maxval: Any = 1.0,
    ) -> Any:
        """Numbers from `minval` up to `maxval`, all equally likely."""
        return current.operations.random_uniform(key, shape, dtype, minval, maxval)

    def normal(self, key: Any, shape: Sequence[int] = (), dtype: Any = None) -> Any:
        """Numbers of mean 0 and variance 1, normally distributed."""
        return current.operations.random_normal(key, shape, dtype)

    def truncated_normal(
        self, key: Any, lower: Any, upper: Any, shape: Sequence[int] = (), dtype: Any = None
    ) -> Any:
        """Normally distributed numbers, of those between `lower` and `upper`."""
        return current.operations.random_truncated_normal(key, lower, upper, shape, dtype)

    def randint(
        self, key: Any, shape: Sequence[int], minval: Any, maxval: Any, dtype: Any = None
    ) -> Any:
        """Whole numbers from `minval` up to `maxval - 1`, all equally likely."""
        return current.operations.random_randint(key, shape, minval, maxval, dtype)

    def bernoulli(self, key: Any, p: Any = 0.5, shape: Sequence[int] | None = None) -> Any:
        """Booleans that are true with probability `p`; `shape` is the shape of `p` by default."""
        return current.operations.random_bernoulli(key, p, shape)


random = RandomBackend()
