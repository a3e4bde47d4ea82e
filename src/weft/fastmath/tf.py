"""The backend `tensorflow-numpy` (TF_BACKEND): TensorFlow, with one line for each operation."""

from . import (
    tf_arrays as arrays,
    tf_derivatives as derivatives,
    tf_loops as loops,
    tf_random as random,
)
from .backends import Backend, Operations
from .host_arrays import dataset_as_numpy
from .tensorflow_module import tf
from .tf_loops import (
    abstract_eval as tf_abstract_eval,
    set_tf_xla_forced_compile,
    tf_xla_forced_compile_enabled,
)
from .tf_numpy import TF_NUMPY
from .tf_random import tf_randint

__all__ = [
    "TF_BACKEND",
    "set_tf_xla_forced_compile",
    "tf_abstract_eval",
    "tf_randint",
    "tf_xla_forced_compile_enabled",
]


def _device_count() -> int:
    return len(loops.devices())


TF_BACKEND = Operations(
    Backend.TFNP,
    TF_NUMPY,
    {
        "abstract_eval": tf_abstract_eval,
        "avg_pool": arrays.avg_pool,
        "cond": loops.cond,
        "conv": arrays.conv,
        "custom_grad": derivatives.custom_grad,
        "custom_vjp": derivatives.custom_vjp,
        "dataset_as_numpy": dataset_as_numpy,
        "dynamic_slice": arrays.dynamic_slice,
        "dynamic_slice_in_dim": arrays.dynamic_slice_in_dim,
        "dynamic_update_slice": arrays.dynamic_update_slice,
        "dynamic_update_slice_in_dim": arrays.dynamic_update_slice_in_dim,
        "erf": arrays.floating(tf.math.erf),
        "expit": arrays.floating(tf.sigmoid),
        "fori_loop": loops.fori_loop,
        "global_device_count": _device_count,
        "grad": derivatives.grad,
        "index_add": arrays.index_add,
        "index_max": arrays.index_max,
        "index_min": arrays.index_min,
        "index_update": arrays.index_update,
        "jit": loops.jit,
        "local_device_count": _device_count,
        "logsumexp": arrays.floating(tf.reduce_logsumexp),
        "lt": TF_NUMPY.less,
        "map": loops.map,
        "max_pool": arrays.max_pool,
        "pmap": loops.pmap,
        "psum": loops.psum,
        "random_bernoulli": random.bernoulli,
        "random_fold_in": random.fold_in,
        "random_get_prng": random.get_prng,
        "random_normal": random.normal,
        "random_randint": tf_randint,
        "random_split": random.split,
        "random_truncated_normal": random.truncated_normal,
        "random_uniform": random.uniform,
        "remat": derivatives.remat,
        "scan": loops.scan,
        "sort_key_val": arrays.sort_key_val,
        "stop_gradient": derivatives.stop_gradient,
        "sum_pool": arrays.sum_pool,
        "top_k": arrays.top_k,
        "value_and_grad": derivatives.value_and_grad,
        "vjp": derivatives.vjp,
        "vmap": loops.vmap,
    },
)
