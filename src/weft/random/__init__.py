"""x"""

from .prng import Key, PRNGKey, bits, clone, fold_in, key, key_data, key_impl, split, wrap_key_data

__all__ = [
    "Key",
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_impl",
    "split",
    "wrap_key_data",
]
