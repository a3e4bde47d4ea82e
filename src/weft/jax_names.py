"""Public names of JAX, Trax and PyTorch that weft does not have, with replacements, for messages.

Loaded when a missing name is used (`lazy.py`).
"""

NOT_YET = {
    "weft": """
        ad auto_pcast ds make_user_context memory version NamedSharding P Shard
        allow_f16_reductions array_garbage_collection_guard cfg clear_backends clear_caches
        copy_to_host_async custom_transpose empty_ref explain_cache_misses ffi float0
        free_ref fwd_and_bwd host_count host_id host_ids
        jax2tf_associative_scan_reductions jaxpr_debug_info legacy_prng_key lib linear_util
        live_arrays monitoring no_execution no_tracing print_environment_info
        remove_size_one_mesh_axis_from_type reshard safe_map set_mesh smap
        softmax_custom_jvp thread_guard tree_multimap
    """,
    "weft.numpy": "DeviceArray float6_e2m3fn float6_e3m2fn int1 uint1",
    "weft.lax": """
        after_all composite create_token dce_sink infeed outfeed pcast pdot precv psend
        pvary ragged_all_to_all pbroadcast shape_as_value stage xeinsum
    """,
    "weft.profiler": "ProfileEvent ProfilePlane",
    "weft.random": """
        PRNGKeyArray KeyArray default_prng_impl random_gamma_p threefry2x32_key
        threefry_2x32
    """,
    "weft.experimental": """
        EArray array_serialization callback colocated_python compilation_cache compute_on
        cur_qdd custom_partitioning djax fused general_dtypes global_device_array hijax
        jax2tf key_reuse layout loops maps mosaic pallas primal_tangent_dtype profiler
        random rnn roofline serialize_executable shard_alike sharded_jit topologies transfer
        x64_context xla_metadata xmap
    """,
    "weft.ad_checkpoint": "Offloadable Recompute Saveable",
    "weft.custom_derivatives": """
        custom_vjp_primal_tree_values linear_call remat_opt_p zero_from_primal
        custom_jvp_call_p custom_vjp_call_p
    """,
    "weft.debug": "DebugEffect OrderedDebugEffect inspect_array_sharding log",
    "weft.errors": """
        InconclusiveDimensionOperation JAXIndexError JAXTypeError JaxRuntimeError
        JaxprTypeError
    """,
    "weft.export": "SymbolicScope is_symbolic_dim symbolic_args_specs symbolic_shape",
    "weft.sharding": """
        AbstractDevice AbstractMesh AxisType ManualAxisType auto_axes explicit_axes
        get_abstract_mesh get_mesh make_single_device_sharding reshard set_mesh
        use_abstract_mesh
    """,
    "weft.stages": "CompilerOptions",
    "weft.tree": "static",
    "weft.tree_util": """
        KeyEntry default_registry flatten_one_level flatten_one_level_with_keys is_tree_node
    """,
}
"""Names of JAX's, of this year and of earlier ones, by namespace: `weft.…` for `jax.…`."""

INSTEAD = {
    "weft.clear_backends": "weft.jit(f).clear_cache() drops the programs of one function",
    "weft.clear_caches": "weft.jit(f).clear_cache() drops the programs of one function",
    "weft.experimental.callback": "weft.experimental.io_callback, weft.pure_callback",
    "weft.experimental.loops": "weft.lax.fori_loop, weft.lax.scan",
    "weft.experimental.maps": "weft.shard_map, or weft.jit with in_shardings",
    "weft.experimental.sharded_jit": "weft.jit with in_shardings and out_shardings",
    "weft.ffi": "weft.extend.ffi",
    "weft.float0": "weft.dtypes.float0",
    "weft.host_count": "weft.process_count",
    "weft.host_ids": "weft.process_indices",
    "weft.host_id": "weft.process_index",
    "weft.NamedSharding": "weft.sharding.NamedSharding",
    "weft.P": "weft.sharding.PartitionSpec",
    "weft.tree_multimap": "weft.tree_util.tree_map, which takes several trees",
    "weft.lax.xeinsum": "weft.numpy.einsum",
    "weft.numpy.DeviceArray": "weft.Array",
    "weft.random.default_prng_impl": "weft.default_prng_impl",
    "weft.random.KeyArray": "weft.Array",
    "weft.random.PRNGKeyArray": "weft.Array",
}
"""The replacement, by full name. Names that begin with `weft.` exist."""

TRAX_NOT_YET = {
    "weft.models": """
        AtariCnn AtariCnnBody EveryOtherLayerDropTransformerLM FrameStackMLP LayerDropTransformerLM
        NeuralGPU Policy PolicyAndValue Quality ReZeroTransformer ReZeroTransformerDecoder
        ReZeroTransformerEncoder ReZeroTransformerLM ResidualShuffleExchange
        SkippingTransformerLM Transformer2 Value
    """,
    "weft.supervised": "SerializedModelEvaluation",
}
"""Names of Trax's, by namespace: `weft.…` for `trax.…`."""

OPTIMIZERS = {
    "AdamW": "adamw", "Adadelta": "adadelta", "Adagrad": "adagrad", "Adamax": "adamax",
    "Lamb": "lamb", "Lars": "lars", "LBFGS": "lbfgs", "Lion": "lion", "NAdam": "nadam",
    "Nadam": "nadam", "RAdam": "radam",
}  # fmt: skip
"""Optimizers of other libraries, with their names in optax."""

PRIMITIVE = "weft's primitives have other parameters than JAX's: see weft.extend, docs/extending.md"
"""The replacement for `weft.lax.…_p`."""

NO_SHARDED_TYPES = "weft's types have no shardings; jit and shard_map take them as arguments"

NO_SYMBOLS = "lengths are numbers in weft's programs: export a function once for each shape"
NO_EFFECTS = "weft's types have no effects"

LEFT_OUT = {
    "weft.ds": "a Ref is indexed as an array is: weft.lax.dynamic_slice reads at a traced place",
    "weft.empty_ref": "weft.new_ref(weft.numpy.zeros(shape))",
    "weft.free_ref": "weft.freeze(ref), or nothing: the memory is freed with the last reference",
    "weft.ad": "cotangents are values: ref[...] += cotangent adds one to a Ref",
    "weft.auto_pcast": "weft detects which values vary: leave it out",
    "weft.memory": "weft's arrays are in one kind of memory of a device",
    "weft.make_user_context": "a static argument of the function is a part of the cache's key",
    "weft.custom_derivatives.custom_jvp_call_p": "weft.custom_jvp makes its own operation",
    "weft.custom_derivatives.custom_vjp_call_p": "weft.custom_vjp makes its own operation",
    "weft.custom_derivatives.custom_vjp_primal_tree_values": "it is a part of JAX's symbolic zeros",
    "weft.custom_derivatives.remat_opt_p": "it is an internal optimisation of JAX",
    "weft.custom_derivatives.zero_from_primal": "rules return None or zeros for no tangent",
    "weft.debug.DebugEffect": NO_EFFECTS,
    "weft.debug.OrderedDebugEffect": NO_EFFECTS,
    "weft.errors.InconclusiveDimensionOperation": NO_SYMBOLS,
    "weft.profiler.ProfileEvent": "weft.profiler.ProfileData has the events",
    "weft.profiler.ProfilePlane": "weft.profiler.ProfileData has the planes",
    "weft.errors.JaxprTypeError": "weft.errors.InvalidJaxprError is raised",
    "weft.errors.JAXIndexError": "weft.errors.IndexingError is raised",
    "weft.errors.JAXTypeError": "weft.errors.ShapeError is raised, or a TypeError",
    "weft.errors.JaxRuntimeError": "weft.errors.ExecutionError is raised",
    "weft.export.SymbolicScope": NO_SYMBOLS,
    "weft.export.is_symbolic_dim": NO_SYMBOLS,
    "weft.export.symbolic_args_specs": NO_SYMBOLS,
    "weft.export.symbolic_shape": NO_SYMBOLS,
    "weft.lax.pbroadcast": "weft detects which values vary: leave it out",
    "weft.numpy.float6_e2m3fn": "XLA's CPU backend cannot store it",
    "weft.numpy.float6_e3m2fn": "XLA's CPU backend cannot store it",
    "weft.numpy.int1": "XLA's CPU backend cannot compute with it",
    "weft.numpy.uint1": "XLA's CPU backend cannot compute with it",
    "weft.random.random_gamma_p": "random.gamma consists of other operations",
    "weft.version": "weft.__version__",
    **{
        f"weft.sharding.{name}": NO_SHARDED_TYPES
        for name in (  # noqa: SIM905
            "AbstractDevice AbstractMesh AxisType ManualAxisType auto_axes explicit_axes "
            "get_abstract_mesh get_mesh reshard set_mesh use_abstract_mesh"
        ).split()
    },
    "weft.sharding.make_single_device_sharding": "weft.sharding.SingleDeviceSharding(device)",
    "weft.stages.CompilerOptions": "it is the type of a dict",
    "weft.tree_util.KeyEntry": "entries of paths have classes: weft.tree_util.DictKey",
    "weft.tree_util.default_registry": "weft has one registry: weft.tree_util.register_pytree_node",
    "weft.experimental.custom_partitioning": "weft.shard_map runs a function on each device",
    "weft.experimental.djax": "it was an experiment",
    "weft.experimental.hijax": "it is an experiment of JAX's with its own types",
    "weft.experimental.jax2tf": "weft.jit(f).lower(x).as_text() is StableHLO, which others read",
    "weft.experimental.mosaic": "native kernels are called through weft.extend.ffi",
    "weft.experimental.pallas": "native kernels are called through weft.extend.ffi",
    "weft.experimental.xmap": "use weft.shard_map, or weft.vmap with names of axes",
    "weft.lib": "it is JAX's internal access to jaxlib",
    "weft.lax.after_all": "effects keep their order by themselves: leave tokens out",
    "weft.lax.create_token": "effects keep their order by themselves: leave tokens out",
    "weft.lax.infeed": "use an argument of the function, or weft.experimental.io_callback",
    "weft.lax.outfeed": "use a result of the function, or weft.experimental.io_callback",
    "weft.lax.pcast": "weft detects which values vary: leave it out",
    "weft.lax.pvary": "weft detects which values vary: leave it out",
    "weft.reshard": NO_SHARDED_TYPES,
    "weft.remove_size_one_mesh_axis_from_type": NO_SHARDED_TYPES,
    "weft.safe_map": "Python's zip(…, strict=True) does it",
}
"""The reason why weft does not have a name, by full name."""

UNSUPPORTED_MODULES = {
    "weft.api_util": "JAX's own way to flatten arguments; weft.tree_util does it for users",
    "weft.experimental": "see the table of experimental names",
    "weft.extend": "weft.extend has its own parts: docs/extending.md",
    "weft.extend.core": "weft's programs and traces are its own: docs/extending.md",
    "weft.extend.linear_util": "JAX's own way to compose transformations",
    "weft.ffi": "weft.extend.ffi",
    "weft.interpreters": "weft.extend has the interpreters: docs/extending.md",
    "weft.monitoring": "weft records no events; use `explain_cache_misses` and `weft.info`",
}
"""The reason for all names of a namespace, unless a name has its own."""
