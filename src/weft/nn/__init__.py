"""Functions for neural networks: activations, normalisation, attention, initial values."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from . import initializers
    from .activations import (
        celu,
        elu,
        gelu,
        glu,
        hard_sigmoid,
        hard_silu,
        hard_swish,
        hard_tanh,
        identity,
        leaky_relu,
        log1mexp,
        log_sigmoid,
        mish,
        relu,
        relu6,
        selu,
        sigmoid,
        silu,
        soft_sign,
        softplus,
        sparse_plus,
        sparse_sigmoid,
        squareplus,
        swish,
        tanh,
    )
    from .attention import dot_product_attention
    from .block_scaling import get_scaled_dot_general_config, scaled_dot_general
    from .encodings import one_hot
    from .normalization import log_softmax, logmeanexp, logsumexp, normalize, softmax, standardize
    from .scaled_products import scaled_matmul

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "get_scaled_dot_general_config",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "normalize",
    "one_hot",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "activations": (
            "celu",
            "elu",
            "gelu",
            "glu",
            "hard_sigmoid",
            "hard_silu",
            "hard_swish",
            "hard_tanh",
            "identity",
            "leaky_relu",
            "log1mexp",
            "log_sigmoid",
            "mish",
            "relu",
            "relu6",
            "selu",
            "sigmoid",
            "silu",
            "soft_sign",
            "softplus",
            "sparse_plus",
            "sparse_sigmoid",
            "squareplus",
            "swish",
            "tanh",
        ),
        "attention": ("dot_product_attention",),
        "block_scaling": (
            "get_scaled_dot_general_config",
            "scaled_dot_general",
        ),
        "encodings": ("one_hot",),
        "normalization": (
            "log_softmax",
            "logmeanexp",
            "logsumexp",
            "normalize",
            "softmax",
            "standardize",
        ),
        "scaled_products": ("scaled_matmul",),
    },
    modules=("initializers",),
)
