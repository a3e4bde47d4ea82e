"""Functions that may still change: those of JAX's `experimental`, and small libraries on weft."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from . import (
        checkify,
        communication,
        host_callback,
        jet,
        mesh_utils,
        minmax,
        multihost_utils,
        ode,
        optimizers,
        pjit,
        prefetch,
        shard_map,
        sparse,
        stax,
    )
    from .callbacks import io_callback
    from .precision import disable_x64, enable_x64

__all__ = [
    "checkify",
    "communication",
    "disable_x64",
    "enable_x64",
    "host_callback",
    "io_callback",
    "jet",
    "mesh_utils",
    "minmax",
    "multihost_utils",
    "ode",
    "optimizers",
    "pjit",
    "prefetch",
    "shard_map",
    "sparse",
    "stax",
]

__getattr__, __dir__ = exports(
    __name__,
    {"callbacks": ("io_callback",), "precision": ("disable_x64", "enable_x64")},
    modules=(
        "checkify",
        "communication",
        "host_callback",
        "jet",
        "mesh_utils",
        "minmax",
        "multihost_utils",
        "ode",
        "optimizers",
        "pjit",
        "prefetch",
        "shard_map",
        "sparse",
        "stax",
    ),
)
