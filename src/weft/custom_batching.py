"""Functions with a batching rule of the user's: `custom_vmap`, `sequential_vmap`."""

from .transforms.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
