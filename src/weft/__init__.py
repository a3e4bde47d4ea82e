"""weft: NumPy-style functions, traced, transformed, and run at XLA speed.

The names of the documents are here: `weft.jit`, `weft.grad`, `weft.vmap`, …; arrays and functions
on them are in `weft.numpy`, `weft.lax` and `weft.random`.
"""

from typing import TYPE_CHECKING

from .config import (
    check_tracer_leaks,
    config,
    default_matmul_precision,
    disable_jit,
    enable_checks,
    enable_x64,
    log_compiles,
    numpy_rank_promotion,
)
from .lazy import exports

if TYPE_CHECKING:
    from . import dtypes, errors, flatten_util, lax, numpy, random, tree_util
    from .core.array import Array
    from .runtime.client import Device
    from .transforms.checkpoint import checkpoint, checkpoint_policies, remat
    from .transforms.custom_derivatives import (
        closure_convert,
        custom_gradient,
        custom_jvp,
        custom_vjp,
    )
    from .transforms.derivatives import grad, hessian, jacfwd, jacrev, value_and_grad
    from .transforms.devices import (
        block_until_ready,
        default_backend,
        device_count,
        device_get,
        device_put,
        devices,
        local_device_count,
        local_devices,
        process_count,
        process_index,
    )
    from .transforms.inspect import ShapeDtypeStruct, eval_shape, make_jaxpr
    from .transforms.jit import jit
    from .transforms.linear_maps import jvp, linear_transpose, linearize, vjp
    from .transforms.vmap import vmap

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "block_until_ready",
    "check_tracer_leaks",
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "default_backend",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dtypes",
    "enable_checks",
    "enable_x64",
    "errors",
    "eval_shape",
    "flatten_util",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "numpy",
    "numpy_rank_promotion",
    "process_count",
    "process_index",
    "random",
    "remat",
    "tree_util",
    "value_and_grad",
    "vjp",
    "vmap",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "core.array": ("Array",),
        "runtime.client": ("Device",),
        "transforms.checkpoint": (
            "checkpoint",
            "checkpoint_policies",
            "remat",
        ),
        "transforms.custom_derivatives": (
            "closure_convert",
            "custom_gradient",
            "custom_jvp",
            "custom_vjp",
        ),
        "transforms.derivatives": (
            "grad",
            "hessian",
            "jacfwd",
            "jacrev",
            "value_and_grad",
        ),
        "transforms.devices": (
            "block_until_ready",
            "default_backend",
            "device_count",
            "device_get",
            "device_put",
            "devices",
            "local_device_count",
            "local_devices",
            "process_count",
            "process_index",
        ),
        "transforms.inspect": (
            "ShapeDtypeStruct",
            "eval_shape",
            "make_jaxpr",
        ),
        "transforms.jit": ("jit",),
        "transforms.linear_maps": (
            "jvp",
            "linear_transpose",
            "linearize",
            "vjp",
        ),
        "transforms.vmap": ("vmap",),
    },
    modules=("dtypes", "errors", "flatten_util", "lax", "numpy", "random", "tree_util"),
)
