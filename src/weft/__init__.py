"""weft: NumPy-style functions, traced, transformed, and run at XLA speed.

The transformations are here: `weft.jit`, `weft.grad`, `weft.vmap`, …. Arrays and the functions of
arrays are in `weft.numpy`, `weft.lax` and `weft.random`.
"""

from typing import TYPE_CHECKING

from .config import (
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    log_compiles,
    numpy_rank_promotion,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from .lazy import exports

if TYPE_CHECKING:
    from . import (
        ad_checkpoint,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        dtypes,
        errors,
        experimental,
        extend,
        flatten_util,
        interop,
        lax,
        numpy,
        ops,
        random,
        sharding,
        tree_util,
        typing,
    )
    from .numpy.einsums import einsum
    from .numpy.products import tensordot
    from .numpy.shapes import transpose
    from .runtime.client import Device
    from .transforms.callbacks import pure_callback
    from .transforms.checkpointing import checkpoint, checkpoint_policies, remat
    from .transforms.computation import xla_computation
    from .transforms.custom_derivatives import (
        closure_convert,
        custom_gradient,
        custom_jvp,
        custom_vjp,
    )
    from .transforms.derivatives import grad, hessian, jacfwd, jacrev, value_and_grad
    from .transforms.devices.making import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from .transforms.devices.meshes import make_mesh
    from .transforms.devices.placing import (
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
    from .transforms.devices.pmap import pmap
    from .transforms.devices.shard_map import shard_map
    from .transforms.devices.sharded import device_put_replicated, device_put_sharded
    from .transforms.jit.function import jit
    from .transforms.linear_maps import jvp, linear_transpose, linearize, vjp
    from .transforms.tracing import (
        ShapeDtypeStruct,
        ensure_compile_time_eval,
        eval_shape,
        make_jaxpr,
        named_call,
        named_scope,
    )
    from .transforms.vmap import vmap
    from .typing import Array

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "dtypes",
    "einsum",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "experimental",
    "extend",
    "flatten_util",
    "grad",
    "hessian",
    "interop",
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
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "numpy",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "process_count",
    "process_index",
    "pure_callback",
    "random",
    "remat",
    "shard_map",
    "sharding",
    "tensordot",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "transpose",
    "tree_util",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
    "xla_computation",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        # opt_einsum looks for these in the package of an array's class
        "numpy.einsums": ("einsum",),
        "numpy.products": ("tensordot",),
        "numpy.shapes": ("transpose",),
        "runtime.client": ("Device",),
        "typing": ("Array",),
        "transforms.callbacks": ("pure_callback",),
        "transforms.checkpointing": (
            "checkpoint",
            "checkpoint_policies",
            "remat",
        ),
        "transforms.computation": ("xla_computation",),
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
        "transforms.devices.placing": (
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
        "transforms.tracing": (
            "ShapeDtypeStruct",
            "ensure_compile_time_eval",
            "eval_shape",
            "make_jaxpr",
            "named_call",
            "named_scope",
        ),
        "transforms.jit.function": ("jit",),
        "transforms.linear_maps": (
            "jvp",
            "linear_transpose",
            "linearize",
            "vjp",
        ),
        "transforms.devices.sharded": ("device_put_replicated", "device_put_sharded"),
        "transforms.devices.meshes": ("make_mesh",),
        "transforms.devices.pmap": ("pmap",),
        "transforms.devices.making": (
            "make_array_from_callback",
            "make_array_from_process_local_data",
            "make_array_from_single_device_arrays",
        ),
        "transforms.devices.shard_map": ("shard_map",),
        "transforms.vmap": ("vmap",),
    },
    modules=(
        "ad_checkpoint",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "dtypes",
        "errors",
        "experimental",
        "extend",
        "flatten_util",
        "interop",
        "lax",
        "numpy",
        "ops",
        "random",
        "sharding",
        "tree_util",
        "typing",
    ),
)
