"""MLP: a multilayer perceptron."""

from collections.abc import Callable, Sequence

from .. import layers as tl, option_checks
from ..layers.activation_fns import Relu
from ..layers.base import Layer
from ..option_checks import checked_mode

__all__ = ["MLP"]


def MLP(
    layer_widths: Sequence[int] = (128, 64),
    activation_fn: Callable[[], Layer] = Relu,
    out_activation: bool = False,
    flatten: bool = True,
    mode: str = "train",
) -> Layer:
    """A multilayer perceptron: dense layers with an activation between them.

    Args:
      layer_widths: the number of units of each `Dense` layer; the last is the number of outputs.
      activation_fn: makes an activation layer.
      out_activation: whether an activation follows the last `Dense` layer too.
      flatten: whether to first flatten all axes of the input except the batch axis.
      mode: "train", "eval" or "predict", which are the same here.
    Returns: a layer from floats [batch, ...] to floats [batch, layer_widths[-1]].
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> model = MLP((4, 3))
      >>> _ = model.init(np.ones((2, 5, 5), np.float32))
      >>> model(np.ones((2, 5, 5), np.float32)).shape
      (2, 3)
    Source: Trax documentation, `models.MLP`.
    """
    widths = option_checks.lengths("MLP", "layer_widths", layer_widths)
    option_checks.function("MLP", "activation_fn", activation_fn, "that makes a layer")
    checked_mode("MLP", mode)
    layers: list[Layer] = [tl.Flatten()] if option_checks.flag("MLP", "flatten", flatten) else []
    option_checks.flag("MLP", "out_activation", out_activation)
    for i, width in enumerate(widths):
        layers.append(tl.Dense(width))
        if out_activation or i < len(widths) - 1:
            layers.append(activation_fn())
    return tl.Serial(*layers)
