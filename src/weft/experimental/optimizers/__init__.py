"""Optimizers of first order: (init_fun, update_fun, get_params) for trees of parameters."""

from .gradients import clip_grads, l2_norm
from .rules import (
    adagrad,
    adam,
    adamax,
    momentum,
    nesterov,
    rmsprop,
    rmsprop_momentum,
    sgd,
    sm3,
)
from .schedules import (
    constant,
    exponential_decay,
    inverse_time_decay,
    make_schedule,
    piecewise_constant,
    polynomial_decay,
)
from .states import (
    JoinPoint,
    Optimizer,
    OptimizerState,
    optimizer,
    pack_optimizer_state,
    unpack_optimizer_state,
)

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
