"""The table of names: the names of `jax.X` that are not `weft.X` under the same name.

Each entry is a definition: weft's own object under its JAX name, an adaptation, or a `Refused` with
the reason.
"""

import contextlib
import functools
import gc
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy

from .. import dtypes, lax, nn, numpy as weft_numpy, random, sharding, test_util
from ..api_util import shaped_abstractify
from ..config import config
from ..core.array import Array
from ..core.aval import Aval
from ..core.interface import typeof
from ..core.trace import Trace
from ..core.value import Value
from ..errors import InvalidJaxprError
from ..extend import linear_util
from ..interpreters.batch import BatchTracer
from ..interpreters.linearize import LinearizeTracer
from ..interpreters.stage import StageTracer
from ..ref import AbstractRef, Ref, new_ref
from ..runtime import client as clients
from ..runtime.client import Device
from ..runtime.failures import XlaError
from ..runtime.versions import jaxlib_is_refused
from ..sharding import SingleDeviceSharding
from ..transforms import callbacks
from ..transforms.jit.function import JittedFunction
from ..transforms.symbolic_zeros import SymbolicZero
from ..tree_util import tree_map
from . import (
    array_serialization,
    classes,
    comparisons,
    layouts,
    monitoring,
    numpy_arguments,
    of_2024,
    pretty_printer,
    primitives,
    registry,
    shardings,
    tracing,
)  # fmt: skip
from .stand_ins import Refused

INTERNAL = "it is an internal part of JAX"
TRACING = """
    find_top_trace raise_to_shaped mapped_aval unmapped_aval thread_local_state
    take_current_trace set_current_trace trace_state_clean valid_jaxtype
"""

EFFECT_SETS = """
    lowerable_effects ordered_effects control_flow_allowed_effects remat_allowed_effects
    custom_derivatives_allowed_effects shardable_ordered_effects partial_eval_kept_effects
"""

INTERNAL_MODULES = """
    compiler earray util config
    array custom_batching prng ad_checkpoint lib
    lib.xla_client lib.mlir layout hijax named_sharding op_shardings
"""

MONITORING = """
    record_event record_event_duration_secs record_event_time_span record_scalar
    register_event_listener register_event_duration_secs_listener
    register_event_time_span_listener register_scalar_listener
    unregister_event_listener unregister_event_duration_listener
    unregister_event_time_span_listener unregister_scalar_listener clear_event_listeners
"""

ACTIVATIONS = """
    relu log_softmax softmax softplus sigmoid elu leaky_relu selu gelu standardize
"""

BRIDGE = "device_count devices local_device_count local_devices process_count process_index"

SERIALIZATION = """
    GlobalAsyncCheckpointManagerBase get_tensorstore_spec async_serialize async_deserialize
    run_serialization run_deserialization
"""

PROMOTION = """
    check_arraylike check_arraylike_or_none ensure_arraylike ensure_arraylike_tuple promote_shapes
    promote_dtypes promote_dtypes_inexact promote_dtypes_numeric promote_dtypes_complex
    promote_args promote_args_inexact promote_args_numeric promote_args_complex
"""

PRINTER = "Doc brk concat group join nest nil text"

MESHES = "AbstractMesh AxisType Mesh get_abstract_mesh use_abstract_mesh"
CONSTRAINTS = "reshard auto_axes explicit_axes with_sharding_constraint"
SHARDINGS = f"{MESHES} get_mesh set_mesh reshard auto_axes explicit_axes"

DIFFERENTIATION = """
    Zero UndefinedPrimal is_undefined_primal instantiate_zeros add_tangents deflinear2 defjvp
    primitive_jvps primitive_transposes
"""

BATCHERS = """
    not_mapped NotMapped AxisData primitive_batchers axis_primitive_batchers
    fancy_primitive_batchers
"""


EXTEND_CORE = """
    AbstractToken CallPrimitive DebugInfo InconclusiveDimensionOperation Token array_types
    call_impl check_jaxpr concrete_or_error jaxprs_in_params nonempty_axis_env_DO_NOT_USE
    primal_dtype_to_tangent_dtype subjaxprs unsafe_am_i_under_a_jit_DO_NOT_USE
    unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE
"""

FFI = """
    build_ffi_lowering_function ffi_lowering include_dir register_ffi_target_as_batch_partitionable
    register_ffi_type register_ffi_type_id
"""

EXTEND_BACKEND = """
    backend_xla_version clear_backends get_compile_options ifrt_proxy register_backend_cache
    register_backend_factory
"""

EXTEND_LINEAR_UTIL = "cache merge_linear_aux"


def refused(module: str, names: str, reason: str) -> dict[str, Refused]:
    """Marks names of a module as `Refused`."""
    return {name: Refused(f"{module}.{name}", reason) for name in names.split()}


def every_name(module: str, reason: str) -> dict[str, Any]:
    """A module that has every name, all of them `Refused`. It has no names when jaxlib asks for
    them."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__") or jaxlib_is_refused():
            raise AttributeError(name)
        return Refused(f"{module}.{name}", reason)

    return {"__getattr__": __getattr__}


def serialization_name(name: str) -> Any:
    """A name of `array_serialization.serialization`: a tensorstore context, or `Refused`."""
    if name == "TS_CONTEXT":
        return array_serialization.default_context()
    return every_name("jax.experimental.array_serialization.serialization", INTERNAL)[
        "__getattr__"
    ](name)


def all_primitives(module: str) -> dict[str, Any]:
    """A module that has every name ending in `_p`: weft's primitives."""

    def __getattr__(name: str) -> Any:
        if not name.endswith("_p") or name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return primitives.primitive_named(module, name)

    return {"__getattr__": __getattr__}


HANDLERS: dict[type, Any] = {numpy.ndarray: typeof}
"""Tables that libraries fill for their array classes. weft does not read them."""

ALLOWED_EFFECTS = dict.fromkeys(EFFECT_SETS.split(), classes.EffectTypeSet())


def live_arrays(platform: str | None = None) -> list[Array]:
    """The living arrays, on this platform or on all."""
    arrays = [x for x in gc.get_objects() if type(x) is Array]
    return [x for x in arrays if platform is None or x.platform() == platform]


def clear_caches() -> None:
    """Drops the programs of all jitted functions."""
    for function in [f for f in gc.get_objects() if isinstance(f, JittedFunction)]:
        function.clear_cache()


def canonicalize_dtype(dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`weft.dtypes.canonicalize_dtype`, where `None` means the widest float, JAX's default."""
    return dtypes.canonicalize_dtype(float if dtype is None else dtype, *args, **kwargs)


def shape(a: Any) -> tuple[int, ...]:
    """`weft.numpy.shape`, where `None` has the shape of a scalar, as in JAX."""
    return () if a is None else weft_numpy.shape(a)


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """`weft.random.uniform`, where bounds of one element count as scalars in a call for a scalar:
    the result has the shape of `minval`, as in JAX."""
    bounds = (minval, maxval)
    if shape != () or not any(map(numpy.ndim, bounds)) or {*map(numpy.size, bounds)} != {1}:
        return random.uniform(key, shape, dtype, minval, maxval)
    low, high = (weft_numpy.reshape(bound, ()) for bound in bounds)
    return weft_numpy.reshape(random.uniform(key, (), dtype, low, high), numpy.shape(minval))


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Zero tangents for a tree of values, as arrays or as symbolic zeros."""

    def zero(x: Any) -> Any:
        tangent = typeof(x).tangent()
        return SymbolicZero(tangent) if symbolic_zeros else primitives.zeros(tangent)

    return tree_map(zero, val)


def batch_at_front(x: Any, dim: int | None, size: int) -> Any:
    """The array with its batch axis in front, repeated if it has none."""
    if dim is None:
        return weft_numpy.broadcast_to(x, (size, *x.shape))
    return weft_numpy.moveaxis(x, dim, 0)


CORE = {
    "get_aval": shaped_abstractify,  # also for a ShapeDtypeStruct
    "pytype_aval_mappings": HANDLERS,
    "Primitive": primitives.Primitive,
    "AbstractValue": Aval,
    "Value": Value,
    "Trace": Trace,
    "Effect": classes.Effect,
    "Effects": set[classes.Effect],
    "DropVar": classes.DropVar,
    "ConcreteArray": classes.ConcreteArray,
    "TraceTag": tracing.TraceTag,
    "Atom": Any,
    "JaxprTypeError": InvalidJaxprError,
    "cur_sublevel": lambda: 0,
    "no_effects": frozenset(),
    **{name: getattr(tracing, name) for name in TRACING.split()},
    "pp_eqn_rules": {},
    **refused("jax.core", "new_jaxpr_eqn new_main gensym Sublevel MainTrace EvalTrace", INTERNAL),
}

AD = {name: getattr(primitives, name) for name in DIFFERENTIATION.split()} | {
    "JVPTracer": classes.JVPTracer,
    "LinearizeTracer": LinearizeTracer,
    "reducing_transposes": {},
    "zeros_like_aval": primitives.zeros,
    "deflinear": primitives.deflinear,
    **every_name("jax.interpreters.ad", INTERNAL),
}

BATCHING = {name: getattr(primitives, name) for name in BATCHERS.split()} | {
    "BatchTracer": BatchTracer,
    "spmd_axis_primitive_batchers": {},
    "register_vmappable": registry.register_vmappable,
    "unregister_vmappable": registry.unregister_vmappable,
    "is_vmappable": registry.is_vmappable,
    "moveaxis": weft_numpy.moveaxis,
    "bdim_at_front": batch_at_front,
    **every_name("jax.interpreters.batching", INTERNAL),
}

MLIR = {
    "register_lowering": primitives.register_lowering,
    "lower_fun": primitives.lower_function,
    **every_name("jax.interpreters.mlir", "weft writes StableHLO as text"),
}

PARTIAL_EVAL = {
    "PartialVal": tracing.PartialVal,
    "trace_to_jaxpr_nounits": tracing.trace_to_jaxpr_nounits,
    "DynamicJaxprTracer": StageTracer,
    "JaxprTracer": LinearizeTracer,
    "custom_partial_eval_rules": {},
    "partial_eval_jaxpr_custom_rules": {},
    "dce_rules": {},
    "padding_rules": {},
    **every_name("jax.interpreters.partial_eval", INTERNAL),
}

STAX = {
    "logsoftmax": nn.log_softmax,
    "glorot_normal": nn.initializers.glorot_normal,
    "normal": nn.initializers.normal,
    **{name: getattr(nn, name) for name in ACTIVATIONS.split()},
}
"""Functions of `stax` besides its layers."""

PXLA = {"thread_resources": shardings.thread_resources}

XLA_EXTENSION = {
    "ArrayImpl": Array,
    "Device": Device,
    "PjitFunction": classes.PjitFunction,
    "XlaRuntimeError": XlaError,
}

XLA = {
    "xe": SimpleNamespace(PjitFunction=classes.PjitFunction, PmapFunction=classes.PmapFunction),
    "canonicalize_dtype_handlers": HANDLERS,
    "pytype_aval_mappings": HANDLERS,
    "canonicalize_dtype": lambda x: x,
    "abstractify": shaped_abstractify,
    **every_name("jax.interpreters.xla", INTERNAL),
}

LINEAR_UTIL = {
    "wrap_init": linear_util.wrap_init,
    "WrappedFun": linear_util.WrappedFun,
    "transformation": tracing.transformation,
    "transformation2": tracing.transformation2,
    "transformation_with_aux": tracing.transformation_with_aux,
    "transformation_with_aux2": tracing.transformation_with_aux2,
    "Store": tracing.Store,
    "StoreException": tracing.StoreException,
}

API_UTIL = {
    "debug_info": tracing.debug_info,
    "infer_argnums_and_argnames": tracing.infer_argnums_and_argnames,
}

SOURCE_INFO = {
    "current": lambda: None,
    "user_context": lambda *args, **kwargs: contextlib.nullcontext(),
    "register_exclusion": lambda path: None,
    **every_name("jax._src.source_info_util", INTERNAL),
}

REFS_OF_2025 = {
    "ArrayRef": Ref,
    "array_ref": new_ref,
    "MutableArray": Ref,
    "mutable_array": new_ref,
}
"""The names of refs in 2025, before `Ref` and `new_ref`."""

CONFIG = {"config": config, "__shown__": config}
"""`jax.config` is the object and, for `from jax.config import config`, a module."""

TOP = {
    "partial": functools.partial,
    "tree_multimap": tree_map,
    "ArrayRef": Ref,
    "array_ref": new_ref,
    "Array": Value,
    "P": sharding.PartitionSpec,
    "NamedSharding": sharding.NamedSharding,
    "device_put": layouts.device_put,
    "make_mesh": shardings.make_mesh,
    "set_mesh": shardings.set_mesh,
    "reshard": shardings.reshard,
    "live_arrays": live_arrays,
    "clear_caches": clear_caches,
    "float0": dtypes.float0,
}

PUBLIC: dict[str, dict[str, Any]] = {
    "jax.monitoring": {name: getattr(monitoring, name) for name in MONITORING.split()},
    "jax.core": CORE | all_primitives("jax.core"),
    "jax.extend.core": CORE | refused("jax.extend.core", EXTEND_CORE, INTERNAL),
    "jax.extend": refused("jax.extend", "lowering mlir pallas random sharding xla", INTERNAL),
    "jax.extend.core.primitives": all_primitives("jax.extend.core.primitives"),
    "jax.extend.linear_util": LINEAR_UTIL
    | refused("jax.extend.linear_util", EXTEND_LINEAR_UTIL, INTERNAL),
    "jax.extend.source_info_util": SOURCE_INFO,
    "jax.extend.backend": {
        "backends": registry.backends,
        "clear_in_memory_compilation_cache": clear_caches,
        "get_backend": registry.get_backend,
        "get_default_device": registry.get_default_device,
        **refused("jax.extend.backend", EXTEND_BACKEND, INTERNAL),
    },
    "jax.extend.ifrt_programs": every_name("jax.extend.ifrt_programs", INTERNAL),
    "jax.ffi": refused("jax.ffi", FFI, "weft.extend.ffi has calls and targets only"),
    "jax.linear_util": LINEAR_UTIL,
    "jax.api_util": API_UTIL
    | refused(
        "jax.api_util",
        "argnums_partial donation_vector flatten_axes rebase_donate_argnums safe_map",
        INTERNAL,
    ),
    "jax.abstract_arrays": {"ShapedArray": Aval},
    "jax.config": CONFIG,
    "jax.numpy": {
        **shardings.out_sharding_names("jax.numpy", weft_numpy),
        "ndarray": Value,
        "shape": shape,
    },
    "jax.numpy.linalg": shardings.out_sharding_names("jax.numpy.linalg", weft_numpy.linalg),
    "jax.random": {
        **shardings.out_sharding_names("jax.random", random),
        "uniform": shardings.taking_out_sharding(uniform),
    },
    "jax.nn.initializers": shardings.out_sharding_names("jax.nn.initializers", nn.initializers),
    "jax.dtypes": {"canonicalize_dtype": canonicalize_dtype},
    "jax.experimental.stax": STAX,
    "jax.experimental.pjit": all_primitives("jax.experimental.pjit"),
    "jax.lax": {
        **all_primitives("jax.lax"),
        **shardings.out_sharding_names("jax.lax", lax),
        "with_sharding_constraint": shardings.with_sharding_constraint,
    },
    "jax.custom_derivatives": {
        "zero_from_primal": zero_from_primal,
        **all_primitives("jax.custom_derivatives"),
    },
    "jax.errors": {"JaxRuntimeError": XlaError},
    "jax.tree_util": {
        "tree_multimap": tree_map,
        "default_registry": registry.DEFAULT_REGISTRY,
        "flatten_one_level": registry.flatten_one_level,
        "flatten_one_level_with_keys": registry.flatten_one_level_with_keys,
    },
    "jax.sharding": {
        "PmapSharding": type("PmapSharding", (), {}),
        "use_mesh": shardings.set_mesh,
        **{name: getattr(shardings, name) for name in SHARDINGS.split()},
    },
    "jax.example_libraries.stax": STAX,
    "jax.experimental": REFS_OF_2025,
    "jax.experimental.array_serialization": {},
    "jax.experimental.array_serialization.serialization": {
        **{name: getattr(array_serialization, name) for name in SERIALIZATION.split()},
        "_DEFAULT_DRIVER": array_serialization.DRIVER,
        "_LimitInFlightBytes": array_serialization.LimitInFlightBytes,
        "__getattr__": serialization_name,
    },
    "jax.experimental.colocated_python": every_name(
        "jax.experimental.colocated_python", "weft runs no Python on other hosts"
    ),
    "jax.experimental.hijax": {
        **ALLOWED_EFFECTS,
        "HiPrimitive": classes.HiPrimitive,
        "register_hitype": lambda *args: None,
        "aval_method": lambda function: function,
        "aval_property": property,
        **every_name("jax.experimental.hijax", INTERNAL),
    },
    "jax.experimental.jax2tf": every_name("jax.experimental.jax2tf", "it writes TensorFlow"),
    "jax.experimental.layout": {
        "Layout": layouts.Layout,
        "DeviceLocalLayout": layouts.Layout,
        "Format": layouts.Format,
        "with_layout_constraint": layouts.with_layout_constraint,
    },
    "jax.experimental.multihost_utils": {
        "reached_preemption_sync_point": lambda step_id: False,  # no service announces preemptions
    },
    "jax.experimental.pallas": every_name("jax.experimental.pallas", "weft runs no kernels"),
    "jax.interpreters": refused("jax.interpreters", "traceback_util", INTERNAL),
    "jax.interpreters.ad": AD,
    "jax.interpreters.batching": BATCHING,
    "jax.interpreters.mlir": MLIR,
    "jax.interpreters.partial_eval": PARTIAL_EVAL,
    "jax.interpreters.pxla": PXLA | every_name("jax.interpreters.pxla", INTERNAL),
    "jax.interpreters.xla": XLA,
    "jax.lib": {},
    "jax.lib.xla_bridge": {
        "get_backend": registry.get_backend,
        "_backends": {},
        **{name: getattr(clients, name) for name in BRIDGE.split()},
    },
    "jax.lib.xla_client": every_name("jax.lib.xla_client", INTERNAL),
}
"""Public modules of JAX: module -> name -> definition."""

INTERNALS: dict[str, dict[str, Any]] = {
    "jax._src": {},
    "jax._src.ad_util": {
        name: AD[name] for name in ("Zero", "instantiate_zeros", "zeros_like_aval")
    }
    | every_name("jax._src.ad_util", INTERNAL),
    "jax._src.api": {
        "_infer_argnums_and_argnames": tracing.infer_argnums_and_argnames,
        **every_name("jax._src.api", INTERNAL),
    },
    "jax._src.api_util": API_UTIL,
    "jax._src.basearray": {"Array": Value, **every_name("jax._src.basearray", INTERNAL)},
    "jax._src.core": CORE | every_name("jax._src.core", INTERNAL),
    "jax._src.dispatch": {"wait_for_tokens": callbacks.effects_barrier},
    "jax._src.distributed": {"global_state": SimpleNamespace(client=None, process_id=0)},
    "jax._src.dtypes": {
        "TypePromotionError": TypeError,
        "ExtendedDType": type("ExtendedDType", (), {}),
        "extended": type("extended", (), {}),
        **every_name("jax._src.dtypes", INTERNAL),
    },
    "jax._src.effects": {"Effect": classes.Effect, **ALLOWED_EFFECTS},
    "jax._src.interpreters": {},
    "jax._src.interpreters.ad": AD,
    "jax._src.interpreters.batching": BATCHING,
    "jax._src.interpreters.mlir": MLIR,
    "jax._src.interpreters.partial_eval": PARTIAL_EVAL,
    "jax._src.interpreters.pxla": PXLA | every_name("jax._src.interpreters.pxla", INTERNAL),
    "jax._src.linear_util": LINEAR_UTIL,
    "jax._src.numpy": {},
    "jax._src.numpy.util": {
        **{name: getattr(numpy_arguments, name) for name in PROMOTION.split()},
        **every_name("jax._src.numpy.util", INTERNAL),
    },
    "jax._src.mesh": {
        **PXLA,
        **{name: getattr(shardings, name) for name in MESHES.split()},
        **every_name("jax._src.mesh", INTERNAL),
    },
    "jax._src.pjit": {
        **{name: getattr(shardings, name) for name in CONSTRAINTS.split()},
        **every_name("jax._src.pjit", INTERNAL),
    },
    "jax._src.public_test_util": {
        **{name: getattr(test_util, name) for name in test_util.__all__},
        "check_close": comparisons.check_close,
    },
    "jax._src.pretty_printer": {name: getattr(pretty_printer, name) for name in PRINTER.split()},
    "jax._src.literals": {
        "TypedNdArray": classes.TypedNdArray,
        "TypedInt": classes.TypedInt,
        "TypedFloat": classes.TypedFloat,
        "TypedComplex": classes.TypedComplex,
    },
    "jax._src.sharding_impls": {
        # jaxlib calls it for the parts of an array, if a module with this name exists
        "make_single_device_sharding": lambda device, **options: SingleDeviceSharding(device),
        "canonicalize_sharding": shardings.canonicalize_sharding,
        "NamedSharding": sharding.NamedSharding,
        "PartitionSpec": sharding.PartitionSpec,
        "SingleDeviceSharding": SingleDeviceSharding,
        **every_name("jax._src.sharding_impls", INTERNAL),
    },
    "jax._src.source_info_util": SOURCE_INFO,
    "jax._src.state": {},
    "jax._src.state.types": {
        "AbstractRef": AbstractRef,
        **every_name("jax._src.state.types", INTERNAL),
    },
    "jax._src.traceback_util": {
        "include_frame": lambda frame: True,
        "register_exclusion": lambda path: None,
        "_exclude_paths": [],  # weft only filters its own frames
        "api_boundary": tracing.api_boundary,
    },
    "jax._src.tree_util": {
        "_registry": registry.ENTRIES,
        "default_registry": registry.DEFAULT_REGISTRY,
        "flatten_one_level": registry.flatten_one_level,
        "flatten_one_level_with_keys": registry.flatten_one_level_with_keys,
        **every_name("jax._src.tree_util", INTERNAL),
    },
    "jax._src.typing": dict.fromkeys(("DType", "DTypeLike", "Shape"), Any),
    "jax._src.xla_bridge": {
        "get_backend": registry.get_backend,
        "_backends": {},
        "backends": registry.backends,
    },
    "jaxlib.xla_extension": XLA_EXTENSION,
    **{
        f"jax._src.{name}": every_name(f"jax._src.{name}", INTERNAL)
        for name in INTERNAL_MODULES.split()
    },
}
"""Internal modules of JAX that libraries nevertheless import."""


NAMES_OF_2024 = {
    ("jax", "tree_map"): of_2024.tree_map,
    ("jax.tree", "map"): of_2024.tree_map,
    ("jax.tree_util", "tree_map"): of_2024.tree_map,
    ("jax", "custom_jvp"): of_2024.custom_jvp,
    ("jax.custom_derivatives", "custom_jvp"): of_2024.custom_jvp,
}
"""(module, name) -> the definition in JAX of 2024."""


def names_of(version: str) -> Mapping[str, Mapping[str, Any]]:
    """The table for a version of JAX: module -> name -> definition."""
    info = tuple(map(int, version.split(".")))
    numbers: dict[str, Any] = {"__version__": version, "__version_info__": info}
    table = {"jax": TOP | numbers, "jax.version": numbers} | PUBLIC | INTERNALS
    if info < (0, 4, 34):
        for (module, name), definition in NAMES_OF_2024.items():
            table[module] = {**table.get(module, {}), name: definition}
    return table
