"""x"""

from .distributions import bernoulli, normal, rademacher, randint, truncated_normal, uniform
from .prng import Key, PRNGKey, bits, clone, fold_in, key, key_data, key_impl, split, wrap_key_data

__all__ = [
    "Key",
    "PRNGKey",
    "bernoulli",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_impl",
    "normal",
    "rademacher",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
    "wrap_key_data",
]
