"""Reversible layers that mix features: fixed permutations of the last axis."""

import random
from typing import Any

import numpy as onp

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ..assert_shape import assert_shape
from ..reversible import ReversibleLayer


@assert_shape("...->...")
class ReversibleReshapePermute(ReversibleLayer):
    """Permutes features by transposing a matrix of them. The number of features must be a power of
    two.

    Features [d] are read as a matrix [d / m, m] and returned column by column. m is a power of two
    too: 2 for d = 2, 4, 8, 16 and 64, 4 for 32, 8 for 128 and 256, 16 for 512 and 1024, and so on;
    its exponent is the largest number up to half of log2(d) that does not divide log2(d), or 1 if
    there is none. Several such permutations give each feature new neighbours, for layers that
    combine neighbouring features.

    Inputs and outputs: [..., d], of any dtype.

    Raises: LayerError: d is not a power of two.

    Example:
      >>> ReversibleReshapePermute()(np.arange(8))
      Array([0, 2, 4, 6, 1, 3, 5, 7], dtype=int32)

    Source: Trax's module `layers.research.sparsity`.
    """

    _needs_key = False

    def forward(self, x: Any) -> Any:
        """The features, column by column."""
        d, m = _columns(self._name, x)
        return _transposed(x, (d // m, m))

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The features, row by row."""
        d, m = _columns(self._name, output)
        return _transposed(output, (m, d // m))


def _columns(name: str, x: Any) -> tuple[int, int]:
    """The number of features, and the number of columns of their matrix."""
    d = x.shape[-1] if x.ndim else 0
    exponent = d.bit_length() - 1
    if d < 1 or d != 2**exponent:
        raise ShapeError(
            f"{name}: the number of features must be a power of two; got shape {tuple(x.shape)}"
        )
    # as in Trax, which tests whether the exponent is divisible, although coprimality is meant
    divisors = (i for i in range(exponent // 2, 0, -1) if exponent % i)
    return d, min(d, 2 ** next(divisors, 1))


def _transposed(x: Any, shape: tuple[int, int]) -> Any:
    matrix = jnp.reshape(x, (*x.shape[:-1], *shape))
    return jnp.reshape(jnp.swapaxes(matrix, -1, -2), x.shape)


@assert_shape("...->...")
class ReversibleRandomPermute(ReversibleLayer):
    """Permutes features randomly, in the same way in all layers with the same number of features.

    The permutation is Python's `random.Random(42).shuffle` of the indices.

    Inputs and outputs: [..., d], of any dtype.

    Example:
      >>> ReversibleRandomPermute()(np.arange(8))
      Array([3, 4, 6, 7, 2, 5, 0, 1], dtype=int32)

    Source: Trax's module `layers.research.sparsity`.
    """

    _needs_key = False

    def forward(self, x: Any) -> Any:
        """The features in the new order."""
        return jnp.take(x, _shuffled(self._name, x), axis=-1)

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The features in the original order."""
        return jnp.take(output, onp.argsort(_shuffled(self._name, output)), axis=-1)


def _shuffled(name: str, x: Any) -> onp.ndarray[Any, Any]:
    """For each feature of the output, its index in the input."""
    if not x.ndim:
        raise ShapeError(f"{name}: expected features [..., d]; got a scalar")
    order = list(range(x.shape[-1]))
    random.Random(42).shuffle(order)
    return onp.array(order, onp.int32)
