"""Functions that may still change: JAX's `experimental`, and small libraries on weft."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        ".transforms.callbacks": "io_callback",
        "precision": "disable_x64 enable_x64",
    },
    modules="""
        checkify communication host_callback jet mesh_utils minmax multihost_utils ode optimizers
        pjit prefetch shard_map sparse stax
    """,
)
