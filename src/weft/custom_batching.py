"""Custom rules for `vmap`: `custom_vmap`, `sequential_vmap`."""

from .transforms.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
