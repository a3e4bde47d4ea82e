"""Chooses the next token: Sampling has the options temperature, top_k and top_p; sampled and
most_likely choose from logits, and row_keys makes the random keys of a batch.
"""

from typing import Any, NamedTuple

import numpy as onp

from .. import fastmath, option_checks
from ..dtypes import issubdtype, prng_key
from ..fastmath import numpy as jnp
from ..layers.core import log_softmax
from ..user_lines import noted

__all__ = ["Sampling", "most_likely", "row_keys", "sampled"]

LEAST = 1e-6
"""Uniform random numbers lie between LEAST and 1 - LEAST, so that their logarithms are finite."""


class Sampling(NamedTuple):
    """Options for choosing tokens, as numbers that a compiled function takes as arguments."""

    temperature: float
    top_k: int
    top_p: float

    @classmethod
    def checked(
        cls, name: str, temperature: Any, top_k: Any = None, top_p: Any = None
    ) -> "Sampling":
        """Checks the options of a function `name`; None for options that exclude no token."""
        option_checks.number(name, "temperature", temperature, least=0.0)
        if not onp.isfinite(temperature):
            raise option_checks.wrong_value(name, "temperature", "finite", temperature)
        k = 0 if top_k is None else option_checks.whole_number(name, "top_k", top_k)
        p = 1.0 if top_p is None else option_checks.number(name, "top_p", top_p, most=1.0, above=0)
        return cls(float(temperature), k, float(p))

    @property
    def is_greedy(self) -> bool:
        """True if the most likely token is chosen."""
        return self.temperature == 0.0

    @property
    def leaves_out(self) -> bool:
        """True if some tokens may be excluded."""
        return not self.is_greedy and (self.top_k > 0 or self.top_p < 1.0)


def sampled(logits: Any, keys: Any, options: Sampling, leaves_out: bool) -> Any:
    """Draws random tokens: the argmax of log p + temperature · G, where G has Gumbel's
    distribution. This samples from softmax(logits / temperature). With `top_k`, only the k most
    likely tokens can be drawn; with `top_p`, only the most likely of these whose probabilities add
    up to p. Tokens as likely as the last of these are included.

    Args:
      logits: floats [batch, vocabulary].
      keys: a random key for each row.
      options: temperature, top_k and top_p; top_k = 0 and top_p = 1 allow all tokens.
      leaves_out: whether there is a top_k or top_p; a constant of the program.
    Returns: integers [batch]; -1 for a row of NaN.
    Example:
      >>> keys = row_keys("sampled", random.PRNGKey(0), 2)
      >>> sampled(np.array([[0.0, 9.0], [9.0, 0.0]]), keys, Sampling(0.1, 0, 1.0), False)
      Array([1, 0], dtype=int32)
    Source: Gumbel (1954); top_p: Holtzman et al. (2020), arXiv:1904.09751; Trax documentation,
      `layers.logsoftmax_sample`.
    """
    logp = log_softmax(logits.astype(jnp.float32), axis=-1)
    chosen = logp
    if leaves_out:
        chosen = jnp.where(_in_question(logp, options), logp, -jnp.inf)

    def noise(key: Any) -> Any:
        u = fastmath.random.uniform(key, logits.shape[-1:], jnp.float32, LEAST, 1.0 - LEAST)
        return -jnp.log(-jnp.log(u))

    noisy = chosen + options.temperature * fastmath.vmap(noise)(keys)
    return _unless_nan(jnp.argmax(noisy, axis=-1), logp)


def most_likely(logits: Any) -> Any:
    """The most likely token of each row, integers [batch]; -1 for a row of NaN.

    Example:
      >>> most_likely(np.array([[0.0, 9.0], [9.0, 0.0]]))
      Array([1, 0], dtype=int32)
    """
    return _unless_nan(jnp.argmax(logits, axis=-1), logits)


def row_keys(name: str, rng: Any, n: int) -> Any:
    """A random key for each of `n` rows, for a function `name`: uint32 [n, 2].

    Args:
      name: the function, for its errors.
      rng: None for seed 0, a key, or keys for the rows.
      n: the number of rows.
    Returns: an array of keys.
    Raises: ValueError: the number of keys is not `n`.
    Example:
      >>> row_keys("f", None, 3).shape
      (3, 2)
    """
    if rng is None:
        rng = fastmath.random.get_prng(0)
    shape = tuple(onp.shape(rng))
    is_typed = fastmath.is_backend(fastmath.Backend.JAX) and isinstance(rng, jnp.ndarray)
    one = () if is_typed and issubdtype(rng.dtype, prng_key) else (2,)
    if shape == (n, *one):
        return rng
    if shape != one:
        raise noted(
            ValueError(
                f"{name}: rng must be a random key, or an array of {n} keys, one for each row; "
                f"got {type(rng).__name__} of shape {shape}\n  fix: rng=weft.random.PRNGKey(0)"
            )
        )
    return fastmath.random.split(rng, n)


def _in_question(logp: Any, options: Sampling) -> Any:
    """True for the tokens that `top_k` and `top_p` allow."""
    _, top_k, top_p = options
    size = logp.shape[-1]
    scaled = logp / options.temperature
    ordered = -jnp.sort(-scaled, axis=-1)
    last = jnp.where(top_k > 0, jnp.minimum(top_k, size), size) - 1
    rank = jnp.arange(size, dtype=jnp.int32)
    ordered = jnp.where(rank <= last, ordered, -jnp.inf)
    p = jnp.exp(log_softmax(ordered, axis=-1))
    before = jnp.cumsum(p, axis=-1) - p  # the total probability of more likely tokens
    is_likely = (before < top_p) | (top_p >= 1.0)
    least = jnp.min(jnp.where(is_likely & (rank <= last), ordered, jnp.inf), axis=-1, keepdims=True)
    return scaled >= least


def _unless_nan(tokens: Any, logits: Any) -> Any:
    is_nan = jnp.any(jnp.isnan(logits), axis=-1)
    return jnp.where(is_nan, -1, tokens).astype(jnp.int32)
