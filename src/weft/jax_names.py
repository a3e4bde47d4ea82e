"""JAX's public names that weft may lack, and the way out of each: for messages (`lazy.py`).

An entry counts while the name is absent only, so one may stay when the name comes. Knows names
only, and is loaded when somebody asks for one that isn't there.
"""

NOT_YET = {
    "weft": """
        NamedSharding P Ref Shard allow_f16_reductions api_util array_garbage_collection_guard cfg
        clear_backends clear_caches copy_to_host_async core custom_batching custom_transpose
        debug_key_reuse dtypes effects_barrier empty_ref errors explain_cache_misses export
        ffi float0 free_ref freeze fwd_and_bwd host_count host_id host_ids image interpreters
        jacobian jax2tf_associative_scan_reductions jaxpr_debug_info legacy_prng_key lib linear_util
        live_arrays monitoring new_ref nn no_execution no_tracing numpy_dtype_promotion
        print_environment_info process_indices profiler remove_size_one_mesh_axis_from_type reshard
        safe_map scipy set_mesh smap softmax_custom_jvp stages test_util thread_guard tree tree_all
        tree_flatten tree_leaves tree_map tree_multimap tree_reduce tree_structure tree_transpose
        tree_unflatten typeof typing util
    """,
    "weft.numpy": """
        DeviceArray fft float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
        float8_e8m0fnu frompyfunc int2 linalg poly polyfit roots ufunc uint2
    """,
    "weft.lax": """
        AccuracyMode DotAlgorithm DotAlgorithmPreset FftType RaggedDotDimensionNumbers
        RandomAlgorithm Tolerance after_all broadcast_like composite conv_general_dilated_local
        conv_general_permutations conv_general_shape_tuple conv_shape_tuple
        conv_transpose_shape_tuple create_token cumlogsumexp dce_sink dtype fft infeed linalg mulhi
        outfeed pcast pdot platform_dependent precv psend pvary ragged_all_to_all ragged_dot
        ragged_dot_general rng_bit_generator rng_uniform scaled_dot select_and_gather_add
        select_and_scatter select_and_scatter_add shape_as_value stack stage tie_in unstack xeinsum
    """,
    "weft.random": """
        PRNGKeyArray ball binomial chisquare f generalized_normal key_data key_dtype key_impl
        multinomial multivariate_normal orthogonal threefry2x32_key threefry_2x32 clone KeyArray
        default_prng_impl
    """,
    "weft.experimental": """
        EArray array_serialization callback checkify colocated_python compilation_cache compute_on
        cur_qdd custom_partitioning djax enable_x64 disable_x64 fused general_dtypes
        global_device_array hijax jax2tf jet key_reuse layout loops maps mesh_utils minmax mosaic
        ode optimizers pallas primal_tangent_dtype profiler random rnn roofline serialize_executable
        shard_alike sharded_jit sparse stax topologies transfer x64_context xla_metadata xmap
    """,
}
"""Names of JAX's, of this year and of earlier ones, by namespace: `weft.…` for `jax.…`."""

ON_THE_HOST = (
    "on the host: weft.pure_callback calls NumPy's or SciPy's function, also within weft.jit"
)

INSTEAD = {
    "weft.clear_backends": "weft.jit(f).clear_cache() forgets what one function was compiled to",
    "weft.clear_caches": "weft.jit(f).clear_cache() forgets what one function was compiled to",
    "weft.core": "weft.extend has primitives, traces and programs; weft.make_jaxpr makes one",
    "weft.effects_barrier": "weft.block_until_ready(results) waits for their callbacks too",
    "weft.experimental.callback": "weft.experimental.io_callback, weft.pure_callback",
    "weft.experimental.enable_x64": "weft.enable_x64(True), a context manager",
    "weft.experimental.disable_x64": "weft.enable_x64(False), a context manager",
    "weft.experimental.loops": "weft.lax.fori_loop, weft.lax.scan",
    "weft.experimental.maps": "weft.shard_map, or weft.jit with in_shardings",
    "weft.experimental.mesh_utils": "weft.make_mesh",
    "weft.experimental.sharded_jit": "weft.jit with in_shardings and out_shardings",
    "weft.ffi": "weft.extend.ffi",
    "weft.float0": "weft.dtypes.float0",
    "weft.host_count": "weft.process_count",
    "weft.host_id": "weft.process_index",
    "weft.interpreters": "weft.extend has the interpreters; docs/extending.md shows them",
    "weft.jacobian": "weft.jacrev, or weft.jacfwd",
    "weft.NamedSharding": "weft.sharding.NamedSharding",
    "weft.P": "weft.sharding.PartitionSpec",
    "weft.nn": "weft.numpy has the parts: relu(x) is weft.numpy.maximum(x, 0)",
    "weft.scipy": ON_THE_HOST,
    "weft.tree": "weft.tree_util: its names begin with tree_, as weft.tree_util.tree_map",
    "weft.tree_multimap": "weft.tree_util.tree_map, which takes several trees",
    "weft.typeof": "x.shape, x.dtype, x.weak_type",
    "weft.lax.dtype": "weft.numpy.result_type(x)",
    "weft.lax.fft": ON_THE_HOST,
    "weft.lax.linalg": ON_THE_HOST,
    "weft.lax.rng_uniform": "weft.random.uniform",
    "weft.lax.rng_bit_generator": "weft.random.bits",
    "weft.lax.xeinsum": "weft.numpy.einsum",
    "weft.numpy.DeviceArray": "weft.Array",
    "weft.numpy.fft": ON_THE_HOST,
    "weft.numpy.frompyfunc": "weft.numpy.vectorize",
    "weft.numpy.linalg": ON_THE_HOST,
    "weft.numpy.polyfit": "least squares " + ON_THE_HOST,
    "weft.numpy.roots": ON_THE_HOST,
    "weft.random.default_prng_impl": "weft.default_prng_impl",
    "weft.random.KeyArray": "weft.Array",
    "weft.random.PRNGKeyArray": "weft.Array",
}
"""The way out, by full name. What is written as `weft.…` is there."""

PRIMITIVE = "weft's primitives have other parameters than JAX's: see weft.extend, docs/extending.md"
"""The way out for `weft.lax.…_p`."""

NO_SHARDED_TYPES = "shardings are no part of weft's types; jit and shard_map take them as arguments"

LEFT_OUT = {
    "weft.experimental.custom_partitioning": "weft.shard_map says what each device does",
    "weft.experimental.djax": "it was an experiment",
    "weft.experimental.hijax": "it is an experiment of JAX's with its own types",
    "weft.experimental.jax2tf": "weft.jit(f).lower(x).as_text() is StableHLO, which others read",
    "weft.experimental.mosaic": "kernels of one's own come in through weft.extend.ffi",
    "weft.experimental.pallas": "kernels of one's own come in through weft.extend.ffi",
    "weft.experimental.xmap": "use weft.shard_map, or weft.vmap with names of axes",
    "weft.lib": "it is JAX's own way to jaxlib",
    "weft.lax.after_all": "effects keep their order by themselves: leave tokens out",
    "weft.lax.create_token": "effects keep their order by themselves: leave tokens out",
    "weft.lax.infeed": "use an argument of the function, or weft.experimental.io_callback",
    "weft.lax.outfeed": "use a result of the function, or weft.experimental.io_callback",
    "weft.lax.pcast": "weft finds out by itself which values vary: leave it out",
    "weft.lax.pvary": "weft finds out by itself which values vary: leave it out",
    "weft.lax.tie_in": "constants are a part of the traced program: leave it out",
    "weft.reshard": NO_SHARDED_TYPES,
    "weft.remove_size_one_mesh_axis_from_type": NO_SHARDED_TYPES,
    "weft.safe_map": "Python's zip(…, strict=True) does it",
}
"""The reason for a name that weft won't have, by full name."""
