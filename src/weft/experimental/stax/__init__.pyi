# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .activations import (
    Elu as Elu,
    Exp as Exp,
    Gelu as Gelu,
    LeakyRelu as LeakyRelu,
    LogSoftmax as LogSoftmax,
    Relu as Relu,
    Selu as Selu,
    Sigmoid as Sigmoid,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
    elementwise as elementwise,
)
from .basic_layers import (
    BatchNorm as BatchNorm,
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    Identity as Identity,
    glorot as glorot,
    randn as randn,
)
from .combinators import (
    FanInConcat as FanInConcat,
    FanInSum as FanInSum,
    FanOut as FanOut,
    parallel as parallel,
    serial as serial,
    shape_dependent as shape_dependent,
)
from .convolutions import (
    Conv as Conv,
    Conv1DTranspose as Conv1DTranspose,
    ConvTranspose as ConvTranspose,
    GeneralConv as GeneralConv,
    GeneralConvTranspose as GeneralConvTranspose,
)
from .pooling import AvgPool as AvgPool, MaxPool as MaxPool, SumPool as SumPool
