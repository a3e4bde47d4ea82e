"""Stax: neural networks as pairs (init_fun, apply_fun), composed in series and in parallel."""

from .activations import (
    Elu,
    Exp,
    Gelu,
    LeakyRelu,
    LogSoftmax,
    Relu,
    Selu,
    Sigmoid,
    Softmax,
    Softplus,
    Tanh,
    elementwise,
)
from .basic_layers import BatchNorm, Dense, Dropout, Flatten, Identity, glorot, randn
from .combinators import FanInConcat, FanInSum, FanOut, parallel, serial, shape_dependent
from .convolutions import (
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
)
from .pooling import AvgPool, MaxPool, SumPool

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "parallel",
    "randn",
    "serial",
    "shape_dependent",
]
