# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from ..transforms.callbacks import io_callback as io_callback
from . import (
    checkify as checkify,
    communication as communication,
    host_callback as host_callback,
    jet as jet,
    mesh_utils as mesh_utils,
    minmax as minmax,
    multihost_utils as multihost_utils,
    ode as ode,
    optimizers as optimizers,
    pjit as pjit,
    prefetch as prefetch,
    shard_map as shard_map,
    sparse as sparse,
    stax as stax,
)
from .precision import disable_x64 as disable_x64, enable_x64 as enable_x64
