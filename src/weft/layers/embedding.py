"""Embedding, a table of trained vectors for integers, and one_hot, which encodes integers as unit
vectors."""

from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import option_checks
from ..fastmath import numpy as jnp
from ..option_checks import INITIALIZER_SIGNATURE
from .assert_shape import assert_shape
from .base import Layer
from .dense import _unset
from .initializers import ScaledInitializer
from .layer_calls import known_values

_EMBEDDING = ScaledInitializer(
    out_dim=-1, in_dim=-2, scale=1.0, mode="fan_out", distribution="uniform"
)


@assert_shape("...->...d")
class Embedding(Layer):
    """Maps each id of a vocabulary to a trained vector: [...] -> [..., d_feature].

    Args:
      vocab_size: the number of ids, 0 … vocab_size - 1. Outside `jit`, other ids raise an error; in
        compiled programs they are clipped to this range.
      d_feature: the length of the vectors.
      use_bfloat16: whether the weights are bfloat16; outputs are always float32.
      kernel_initializer: function of (shape, rng) for the vectors.

    Raises:
      ValueError, TypeError: an option is out of its range; (when called) ids are not integers.
      IndexError: (when called outside `jit`) an id is outside the vocabulary.

    Weights are w [vocab_size, d_feature], independent of the input signature.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Embedding(10, 4)
      >>> _ = layer.init(None)
      >>> layer(np.array([[1, 2, 3]])).shape
      (1, 3, 4)

    Source: Trax documentation, `layers.core.Embedding`.
    """

    _needs_key = False

    def __init__(
        self,
        vocab_size: int,
        d_feature: int,
        use_bfloat16: bool = False,
        kernel_initializer: Callable[..., Any] = _EMBEDDING,
    ) -> None:
        name = "Embedding"
        self._vocab_size = option_checks.whole_number(name, "vocab_size", vocab_size)
        self._d_feature = option_checks.whole_number(name, "d_feature", d_feature)
        super().__init__(name=f"{name}_{vocab_size}_{d_feature}")
        self._use_bfloat16 = option_checks.flag(name, "use_bfloat16", use_bfloat16)
        self._kernel_initializer = option_checks.function(
            name, "kernel_initializer", kernel_initializer, INITIALIZER_SIGNATURE
        )

    def forward(self, x: Any) -> Any:
        """The vectors of ids."""
        w = self.weights
        if isinstance(w, list | tuple):
            raise ValueError(_unset(self, "w", w))
        if not jnp.issubdtype(x.dtype, jnp.integer):
            raise TypeError(f"{self._name}: expected ids, which are integers; got {x.dtype}")
        ids, size = known_values(x), w.shape[0]
        if ids is not None and ids.size and not 0 <= ids.min() <= ids.max() < size:
            strange = ids.min() if ids.min() < 0 else ids.max()
            raise IndexError(
                f"{self._name}: the id {strange} is outside the vocabulary of {size}\n"
                f"  fix: ids from 0 to {size - 1}, or a larger vocab_size"
            )
        y = jnp.take(w, x, axis=0, mode="clip")
        return y.astype(jnp.float32) if self._use_bfloat16 else y

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the vectors."""
        w = self._kernel_initializer((self._vocab_size, self._d_feature), self.rng)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w


def one_hot(x: Any, n_categories: int, dtype: Any = onp.float32) -> Any:
    """One-hot vectors of categories: 1 at the category's index, 0 elsewhere.

    Args:
      x: integer array [...], categories from 0 to n_categories - 1; others become zero vectors.
      n_categories: the number of categories.
      dtype: dtype of the result.
    Returns: array [..., n_categories].
    Example:
      >>> one_hot(np.array([1, 0]), 3)
      Array([[0., 1., 0.],
             [1., 0., 0.]], dtype=float32)
    Source: Trax documentation, `layers.core.one_hot`.
    """
    n = option_checks.whole_number("one_hot", "n_categories", n_categories, least=0)
    is_it = jnp.asarray(x)[..., None] == jnp.arange(n)
    return is_it.astype(dtype)
