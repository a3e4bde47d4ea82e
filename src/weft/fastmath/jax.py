"""The backend `jax` (JAX_BACKEND): weft's own engine, with one line for each operation."""

from collections.abc import Callable
from typing import Any

from .. import lax, numpy as np, ops, random
from ..scipy import special
from ..shapes import ShapeDtype
from ..transforms.checkpointing import checkpoint
from ..transforms.custom_derivatives import custom_vjp
from ..transforms.custom_gradient import custom_gradient
from ..transforms.derivatives import grad, value_and_grad, vjp
from ..transforms.devices.devices import device_count, local_device_count
from ..transforms.devices.pmap import pmap
from ..transforms.jit.function import jit
from ..transforms.tracing import eval_shape
from ..transforms.vmap import vmap
from ..tree_util import tree_map
from .arguments import without_nondiff
from .backends import Backend, Operations
from .host_arrays import dataset_as_numpy


def jax_conv(
    inp: Any,
    fltr: Any,
    window_strides: Any,
    padding: Any,
    dimension_numbers: Any,
    filter_dilation: Any = None,
    input_dilation: Any = None,
) -> Any:
    """A convolution; see `weft.fastmath.conv`."""
    return lax.conv_general_dilated(
        inp,
        fltr,
        window_strides,
        padding,
        lhs_dilation=input_dilation,
        rhs_dilation=filter_dilation,
        dimension_numbers=dimension_numbers,
    )


def _over_windows(
    operation: Callable[..., Any], initial: Any, x: Any, pool_size: Any, strides: Any, padding: Any
) -> Any:
    """Reduces windows over all axes except the first and the last."""
    strides = strides or (1,) * len(pool_size)
    sizes = (1, *pool_size, 1), (1, *strides, 1)
    return lax.reduce_window(x, initial, operation, *sizes, padding)


def jax_max_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The largest element of each window; see `weft.fastmath.max_pool`."""
    x = np.asarray(x)
    least = -np.inf if np.issubdtype(x.dtype, np.inexact) else np.iinfo(x.dtype).min
    return _over_windows(lax.max, np.array(least, x.dtype), x, pool_size, strides, padding)


def jax_sum_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The sum of each window; see `weft.fastmath.sum_pool`."""
    x = np.asarray(x)
    return _over_windows(lax.add, np.array(0, x.dtype), x, pool_size, strides, padding)


def jax_avg_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The mean of each window; see `weft.fastmath.avg_pool`."""
    x = np.asarray(x)
    ones = np.ones((1, *x.shape[1:-1], 1), np.result_type(x.dtype, np.float32))
    counts = jax_sum_pool(ones, pool_size, strides, padding)
    return jax_sum_pool(x, pool_size, strides, padding) / counts.astype(
        x.dtype if np.issubdtype(x.dtype, np.inexact) else counts.dtype
    )


def jax_abstract_eval(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of signatures; see `weft.fastmath.abstract_eval`."""

    def signatures(*args: Any, **kwargs: Any) -> Any:
        shapes = eval_shape(f, *args, **kwargs)
        return tree_map(lambda s: ShapeDtype(s.shape, s.dtype), shapes)

    return signatures


def jax_randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = np.int32) -> Any:
    """Random integers; see `weft.fastmath.random.randint`."""
    return random.randint(key, shape, minval, maxval, dtype)


def _custom_vjp(
    f: Callable[..., Any], f_fwd: Callable[..., Any], f_bwd: Callable[..., Any], nondiff: Any
) -> Callable[..., Any]:
    """A function with a custom derivative rule."""

    def with_rule(f: Any, f_fwd: Any, f_bwd: Any) -> Any:
        function = custom_vjp(f)
        function.defvjp(f_fwd, f_bwd)
        return function

    return without_nondiff(with_rule, f, f_fwd, f_bwd, nondiff)


JAX_BACKEND = Operations(
    Backend.JAX,
    np,
    {
        "abstract_eval": jax_abstract_eval,
        "avg_pool": jax_avg_pool,
        "cond": lax.cond,
        "conv": jax_conv,
        "custom_grad": lambda f_vjp, f_original=None: custom_gradient(f_vjp),
        "custom_vjp": _custom_vjp,
        "dataset_as_numpy": dataset_as_numpy,
        "dynamic_slice": lax.dynamic_slice,
        "dynamic_slice_in_dim": lax.dynamic_slice_in_dim,
        "dynamic_update_slice": lax.dynamic_update_slice,
        "dynamic_update_slice_in_dim": lax.dynamic_update_slice_in_dim,
        "erf": special.erf,
        "expit": special.expit,
        "fori_loop": lax.fori_loop,
        "global_device_count": device_count,
        "grad": grad,
        "index_add": ops.index_add,
        "index_max": ops.index_max,
        "index_min": ops.index_min,
        "index_update": ops.index_update,
        "jit": jit,
        "local_device_count": local_device_count,
        "logsumexp": special.logsumexp,
        "lt": np.less,
        "map": lax.map,
        "max_pool": jax_max_pool,
        "pmap": pmap,
        "psum": lax.psum,
        "random_bernoulli": random.bernoulli,
        "random_fold_in": random.fold_in,
        "random_get_prng": random.PRNGKey,
        "random_normal": random.normal,
        "random_randint": jax_randint,
        "random_split": random.split,
        "random_truncated_normal": random.truncated_normal,
        "random_uniform": random.uniform,
        "remat": checkpoint,
        "scan": lax.scan,
        "sort_key_val": lax.sort_key_val,
        "stop_gradient": lax.stop_gradient,
        "sum_pool": jax_sum_pool,
        "top_k": lax.top_k,
        "value_and_grad": value_and_grad,
        "vjp": vjp,
        "vmap": vmap,
    },
)
