"""weft: NumPy-style functions, traced, transformed, and run at XLA speed."""

from . import dtypes, errors, tree_util
from .config import config, enable_checks, enable_x64
from .core.array import Array
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
from .numpy import operators
