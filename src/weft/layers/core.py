"""Core layers, as in Trax's module with this name.

Flatten, PrintShape, ToFloat, ThresholdToBinary, Negate and StopGradient are defined here; the
others come from the files named after them.
"""

from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .assert_shape import assert_shape
from .base import Fn, Layer, PureLayer
from .dense import Dense
from .dropout import Dropout
from .embedding import Embedding, one_hot
from .gaussian import log_gaussian_diag_pdf, log_gaussian_pdf, multigaussian_loss
from .locally_connected import LocallyConnected1d
from .reductions import ArgMax, LogSumExp, Max, Mean, Min, Sum
from .softmax import LogSoftmax, Softmax, log_softmax, logsoftmax_sample
from .summary_layers import SummaryImage, SummaryScalar
from .weights import RandomUniform, Weights

__all__ = [
    "ArgMax",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "LocallyConnected1d",
    "LogSoftmax",
    "LogSumExp",
    "Max",
    "Mean",
    "Min",
    "Negate",
    "PrintShape",
    "RandomUniform",
    "Softmax",
    "StopGradient",
    "Sum",
    "SummaryImage",
    "SummaryScalar",
    "ThresholdToBinary",
    "ToFloat",
    "Weights",
    "log_gaussian_diag_pdf",
    "log_gaussian_pdf",
    "log_softmax",
    "logsoftmax_sample",
    "multigaussian_loss",
    "one_hot",
]


def PrintShape(n_in: int = 1, msg: str = "") -> Layer:
    """A layer that prints the shapes of its inputs; under `jit`, during tracing.

    Args:
      n_in: the number of inputs and outputs.
      msg: text to print before the shapes.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Flatten(), tl.PrintShape(msg="flat"))
      >>> _ = layer(np.ones((2, 3, 4)))
      PrintShape: flat: [(2, 12)[float32]]
    Source: Trax documentation, `layers.core.PrintShape`.
    """
    n = option_checks.whole_number("PrintShape", "n_in", n_in)

    def shown(xs: Any) -> Any:
        shapes = [f"{tuple(x.shape)}[{x.dtype}]" for x in (xs if n > 1 else (xs,))]
        print(f"PrintShape: {msg}: [{', '.join(shapes)}]")
        return xs

    return PureLayer(shown, n, n, f"PrintShape_{n}")


def Flatten(n_axes_to_keep: int = 1) -> Layer:
    """A layer that merges the last axes: [a, b, c, d] -> [a, b · c · d].

    Args:
      n_axes_to_keep: the number of leading axes to keep.
    Raises: ValueError (when called): the input does not have more axes than that.
    Example:
      >>> from weft import layers as tl
      >>> tl.Flatten(n_axes_to_keep=2)(np.ones((2, 3, 5, 7, 11))).shape
      (2, 3, 385)
    Source: Trax documentation, `layers.core.Flatten`.
    """
    n = option_checks.whole_number("Flatten", "n_axes_to_keep", n_axes_to_keep, least=0)
    name = f"Flatten_keep{n}"

    def flat(x: Any) -> Any:
        if len(x.shape) <= n:
            raise ShapeError(f"{name}: expected more than {n} axes; got shape {tuple(x.shape)}")
        last = 1
        for length in x.shape[n:]:
            last *= length
        return jnp.reshape(x, (*x.shape[:n], last))

    return Fn(name, flat)


def ToFloat() -> Layer:
    """A layer that converts numbers to float32.

    Example:
      >>> from weft import layers as tl
      >>> tl.ToFloat()(np.array([1, 2]))
      Array([1., 2.], dtype=float32)

    Source: Trax documentation, `layers.core.ToFloat`.
    """
    return Fn("ToFloat", lambda x: x.astype(jnp.float32))


def ThresholdToBinary(threshold: float = 0.5) -> Layer:
    """A layer that returns int32: 1 where the input is greater than a threshold, 0 elsewhere.

    Args:
      threshold: the threshold.
    Example:
      >>> from weft import layers as tl
      >>> tl.ThresholdToBinary(0.5)(np.array([0.25, 0.75]))
      Array([0, 1], dtype=int32)
    Source: Trax documentation, `layers.core.ThresholdToBinary`.
    """
    option_checks.number("ThresholdToBinary", "threshold", threshold)
    return Fn("ThresholdToBinary", lambda x: (x > threshold).astype(jnp.int32))


@assert_shape("...->...")
def Negate() -> Layer:
    """A layer that computes -x.

    Example:
      >>> from weft import layers as tl
      >>> tl.Negate()(np.array([1.0, -2.0]))
      Array([-1.,  2.], dtype=float32)

    Source: Trax documentation, `layers.core.Negate`.
    """
    return Fn("Negate", lambda x: -x)


@assert_shape("...->...")
def StopGradient() -> Layer:
    """A layer that returns its input, with a derivative of zero.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dup(), tl.Parallel(tl.StopGradient(), None), tl.Multiply())
      >>> weft.grad(lambda x: layer(x))(3.0)
      Array(3., dtype=float32, weak_type=True)

    Source: Trax documentation, `layers.core.StopGradient`.
    """
    return Fn("StopGradient", lambda x: fastmath.stop_gradient(x))
