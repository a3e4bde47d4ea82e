"""Optimizers of first order: (init_fun, update_fun, get_params) for trees of parameters."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "gradients": "clip_grads l2_norm",
        "schedules": """
            constant exponential_decay inverse_time_decay make_schedule piecewise_constant
            polynomial_decay
        """,
        "states": """
            JoinPoint Optimizer OptimizerState optimizer pack_optimizer_state unpack_optimizer_state
        """,
        "update_rules": "adagrad adam adamax momentum nesterov rmsprop rmsprop_momentum sgd sm3",
    },
)
