"""Functions that may still change: those of JAX's `experimental`, and small libraries on weft."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from . import communication, host_callback, multihost_utils, pjit, prefetch, shard_map
    from .callbacks import io_callback

__all__ = [
    "communication",
    "host_callback",
    "io_callback",
    "multihost_utils",
    "pjit",
    "prefetch",
    "shard_map",
]

__getattr__, __dir__ = exports(
    __name__,
    {"callbacks": ("io_callback",)},
    modules=("communication", "host_callback", "multihost_utils", "pjit", "prefetch", "shard_map"),
)
