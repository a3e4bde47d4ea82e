"""weft: NumPy-style functions, traced, transformed, and run at XLA speed.

The transformations are here: `weft.jit`, `weft.grad`, `weft.vmap`, …. Arrays and the functions of
arrays are in `weft.numpy`, `weft.lax` and `weft.random`.
"""

from .lazy import exports

__version__ = "0.1.0"

# einsum, tensordot, transpose: opt_einsum looks for these in the package of an array's class.
__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "config": """
            check_derivatives check_tracer_leaks checking_leaks config debug_infs debug_key_reuse
            debug_nans default_device default_matmul_precision default_prng_impl disable_jit
            enable_checks enable_custom_prng enable_x64 log_compiles numpy_dtype_promotion
            numpy_rank_promotion threefry_partitionable transfer_guard
            transfer_guard_device_to_device transfer_guard_device_to_host
            transfer_guard_host_to_device
        """,
        "core.interface": "typeof",
        "explanation.difference": "diff",
        "explanation.explain": "explain",
        "numpy.einsum": "einsum",
        "numpy.products": "tensordot",
        "numpy.shapes": "transpose",
        "ref": "Ref freeze new_ref",
        "runtime.client": "Device",
        "transforms.callbacks": "effects_barrier pure_callback",
        "transforms.checkpointing": "checkpoint checkpoint_policies remat",
        "transforms.closures": "closure_convert",
        "transforms.custom_derivatives": "custom_jvp custom_vjp",
        "transforms.custom_gradient": "custom_gradient",
        "transforms.derivatives": "grad jvp linearize value_and_grad vjp",
        "transforms.devices.device_put": """
            block_until_ready device_get device_put device_put_replicated device_put_sharded
        """,
        "transforms.devices.devices": """
            default_backend device_count devices local_device_count local_devices make_mesh
            process_count process_index process_indices
        """,
        "transforms.devices.make_array": """
            make_array_from_callback make_array_from_process_local_data
            make_array_from_single_device_arrays
        """,
        "transforms.devices.pmap": "pmap",
        "transforms.devices.shard_map": "shard_map",
        "transforms.jacobians": "hessian jacfwd jacobian jacrev",
        "transforms.jit.function": "jit",
        "transforms.linear_transpose": "linear_transpose",
        "transforms.tracing": """
            ShapeDtypeStruct ensure_compile_time_eval eval_shape make_jaxpr named_call named_scope
        """,
        "transforms.vmap": "vmap",
        "transforms.xla_computation": "xla_computation",
        "tree_util": """
            tree_all tree_flatten tree_leaves tree_map tree_reduce tree_structure tree_transpose
            tree_unflatten
        """,
        "typing": "Array",
    },
    modules="""
        ad_checkpoint api_util checkpoints core custom_batching custom_derivatives data debug
        distributed dlpack dtypes errors experimental export extend fastmath flatten_util image
        interop lax layers models nn numpy ops optimizers profiler random ref scipy shapes sharding
        stages supervised test_util tree tree_util typing util
    """,
)
