# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .gradients import clip_grads as clip_grads, l2_norm as l2_norm
from .schedules import (
    constant as constant,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    make_schedule as make_schedule,
    piecewise_constant as piecewise_constant,
    polynomial_decay as polynomial_decay,
)
from .states import (
    JoinPoint as JoinPoint,
    Optimizer as Optimizer,
    OptimizerState as OptimizerState,
    optimizer as optimizer,
    pack_optimizer_state as pack_optimizer_state,
    unpack_optimizer_state as unpack_optimizer_state,
)
from .update_rules import (
    adagrad as adagrad,
    adam as adam,
    adamax as adamax,
    momentum as momentum,
    nesterov as nesterov,
    rmsprop as rmsprop,
    rmsprop_momentum as rmsprop_momentum,
    sgd as sgd,
    sm3 as sm3,
)
