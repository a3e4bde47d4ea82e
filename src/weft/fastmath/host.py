"""The backend `numpy` (NUMPY_BACKEND): NumPy and SciPy, with one line for each operation. It has no
derivatives.
"""

import ml_dtypes
import numpy as onp
from scipy import special

from . import host_arrays as arrays, host_loops as loops, host_random as random
from .backends import Backend, Operations
from .host_arrays import dataset_as_numpy
from .namespaces import Names

NUMPY_BACKEND = Operations(
    Backend.NUMPY,
    Names(
        Backend.NUMPY,
        onp,
        {
            "DeviceArray": onp.ndarray,
            "bfloat16": ml_dtypes.bfloat16,
            "complex_": onp.complex128,
            "float_": onp.float64,
        },
    ),
    {
        "abstract_eval": loops.abstract_eval,
        "avg_pool": arrays.avg_pool,
        "cond": loops.cond,
        "conv": arrays.conv,
        "custom_grad": lambda f_vjp, f_original: lambda *args: f_vjp(*args)[0],
        "custom_vjp": lambda f, f_fwd, f_bwd, nondiff: f,
        "dataset_as_numpy": dataset_as_numpy,
        "dynamic_slice": arrays.dynamic_slice,
        "dynamic_slice_in_dim": arrays.dynamic_slice_in_dim,
        "dynamic_update_slice": arrays.dynamic_update_slice,
        "dynamic_update_slice_in_dim": arrays.dynamic_update_slice_in_dim,
        "erf": arrays.floating(special.erf),
        "expit": arrays.floating(special.expit),
        "fori_loop": loops.fori_loop,
        "global_device_count": lambda: 1,
        "index_add": arrays.index_add,
        "index_max": arrays.index_max,
        "index_min": arrays.index_min,
        "index_update": arrays.index_update,
        "jit": loops.jit,
        "local_device_count": lambda: 1,
        "logsumexp": arrays.floating(special.logsumexp),
        "lt": onp.less,
        "map": loops.map,
        "max_pool": arrays.max_pool,
        "pmap": loops.pmap,
        "psum": loops.psum,
        "random_bernoulli": random.random_bernoulli,
        "random_fold_in": random.fold_in,
        "random_get_prng": random.get_prng,
        "random_normal": random.random_normal,
        "random_randint": random.random_randint,
        "random_split": random.split,
        "random_truncated_normal": random.truncated_normal,
        "random_uniform": random.random_uniform,
        "remat": lambda f: f,
        "scan": loops.scan,
        "sort_key_val": arrays.sort_key_val,
        "stop_gradient": lambda x: x,
        "sum_pool": arrays.sum_pool,
        "top_k": arrays.top_k,
        "vmap": loops.vmap,
    },
)
