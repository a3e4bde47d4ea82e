# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    ad_checkpoint as ad_checkpoint,
    api_util as api_util,
    checkpoints as checkpoints,
    core as core,
    custom_batching as custom_batching,
    custom_derivatives as custom_derivatives,
    data as data,
    debug as debug,
    distributed as distributed,
    dlpack as dlpack,
    dtypes as dtypes,
    errors as errors,
    experimental as experimental,
    export as export,
    extend as extend,
    fastmath as fastmath,
    flatten_util as flatten_util,
    image as image,
    interop as interop,
    lax as lax,
    layers as layers,
    models as models,
    nn as nn,
    numpy as numpy,
    ops as ops,
    optimizers as optimizers,
    profiler as profiler,
    random as random,
    ref as ref,
    scipy as scipy,
    shapes as shapes,
    sharding as sharding,
    stages as stages,
    supervised as supervised,
    test_util as test_util,
    tree as tree,
    tree_util as tree_util,
    typing as typing,
    util as util,
)
from .config import (
    check_derivatives as check_derivatives,
    check_tracer_leaks as check_tracer_leaks,
    checking_leaks as checking_leaks,
    config as config,
    debug_infs as debug_infs,
    debug_key_reuse as debug_key_reuse,
    debug_nans as debug_nans,
    default_device as default_device,
    default_matmul_precision as default_matmul_precision,
    default_prng_impl as default_prng_impl,
    disable_jit as disable_jit,
    enable_checks as enable_checks,
    enable_custom_prng as enable_custom_prng,
    enable_x64 as enable_x64,
    log_compiles as log_compiles,
    numpy_dtype_promotion as numpy_dtype_promotion,
    numpy_rank_promotion as numpy_rank_promotion,
    threefry_partitionable as threefry_partitionable,
    transfer_guard as transfer_guard,
    transfer_guard_device_to_device as transfer_guard_device_to_device,
    transfer_guard_device_to_host as transfer_guard_device_to_host,
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from .core.interface import typeof as typeof
from .explanation.difference import diff as diff
from .explanation.explain import explain as explain
from .numpy.einsum import einsum as einsum
from .numpy.products import tensordot as tensordot
from .numpy.shapes import transpose as transpose
from .ref import Ref as Ref, freeze as freeze, new_ref as new_ref
from .runtime.client import Device as Device
from .transforms.callbacks import effects_barrier as effects_barrier, pure_callback as pure_callback
from .transforms.checkpointing import (
    checkpoint as checkpoint,
    checkpoint_policies as checkpoint_policies,
    remat as remat,
)
from .transforms.closures import closure_convert as closure_convert
from .transforms.custom_derivatives import custom_jvp as custom_jvp, custom_vjp as custom_vjp
from .transforms.custom_gradient import custom_gradient as custom_gradient
from .transforms.derivatives import (
    grad as grad,
    jvp as jvp,
    linearize as linearize,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from .transforms.devices.device_put import (
    block_until_ready as block_until_ready,
    device_get as device_get,
    device_put as device_put,
    device_put_replicated as device_put_replicated,
    device_put_sharded as device_put_sharded,
)
from .transforms.devices.devices import (
    default_backend as default_backend,
    device_count as device_count,
    devices as devices,
    local_device_count as local_device_count,
    local_devices as local_devices,
    make_mesh as make_mesh,
    process_count as process_count,
    process_index as process_index,
    process_indices as process_indices,
)
from .transforms.devices.make_array import (
    make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from .transforms.devices.pmap import pmap as pmap
from .transforms.devices.shard_map import shard_map as shard_map
from .transforms.jacobians import (
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
)
from .transforms.jit.function import jit as jit
from .transforms.linear_transpose import linear_transpose as linear_transpose
from .transforms.tracing import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    ensure_compile_time_eval as ensure_compile_time_eval,
    eval_shape as eval_shape,
    make_jaxpr as make_jaxpr,
    named_call as named_call,
    named_scope as named_scope,
)
from .transforms.vmap import vmap as vmap
from .transforms.xla_computation import xla_computation as xla_computation
from .tree_util import (
    tree_all as tree_all,
    tree_flatten as tree_flatten,
    tree_leaves as tree_leaves,
    tree_map as tree_map,
    tree_reduce as tree_reduce,
    tree_structure as tree_structure,
    tree_transpose as tree_transpose,
    tree_unflatten as tree_unflatten,
)
from .typing import Array as Array

__version__: str
