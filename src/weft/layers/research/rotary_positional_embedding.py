"""Rotate and rotate: rotary position embedding by rotating pairs of features."""

from typing import Any

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode
from ...user_lines import noted
from ..base import Fn, Layer
from ..positional_encoding import frequencies
from ..recipes import takes_mode

__all__ = ["Rotate", "rotate"]


def rotate(x: Any, start: Any = 0) -> Any:
    """Rotates each vector by its position.

    Feature i of the first half and feature i of the second half span a plane, which is rotated by
    the angle p 10000^(-2i/d) at position p. The dot product of two rotated vectors depends on their
    positions only through the difference.

    Args:
      x: floats [..., length, d], d even.
      start: the first position, an integer.
    Returns: the same shape.
    Raises: ShapeError: the number of features is odd, or there is no position axis.
    Example:
      >>> rotate(np.array([[[1.0, 0.0], [1.0, 0.0]]]))
      Array([[[1.       , 0.       ],
              [0.5403023, 0.841471 ]]], dtype=float32)
    Source: arXiv:2104.09864.
    """
    if x.ndim < 2 or x.shape[-1] % 2:
        raise noted(
            ShapeError(
                "rotate: expected [..., length, d] with an even number d of features; "
                f"got shape {tuple(x.shape)}"
            )
        )
    positions = (jnp.arange(x.shape[-2], dtype=jnp.int32) + start).astype(jnp.float32)
    angles = positions[:, None] * frequencies(x.shape[-1]).astype("float32")
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@takes_mode
def Rotate(mode: str = "train") -> Layer:
    """A layer that rotates each vector by its position, like `rotate`.

    Args:
      mode: in "predict" sequences arrive in pieces, and the state is the next position.
    Returns: a layer from floats [batch, length, d] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Rotate()(np.array([[[1.0, 0.0], [1.0, 0.0]]]))
      Array([[[1.       , 0.       ],
              [0.5403023, 0.841471 ]]], dtype=float32)
    Source: arXiv:2104.09864.
    """
    if checked_mode("Rotate", mode) == "predict":
        return _RotateInPieces(name="Rotate")
    return Fn("Rotate", lambda x: rotate(x))


class _RotateInPieces(Layer):
    _needs_key = False

    def init_weights_and_state(self, input_signature: Any) -> None:
        self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        start = self.state
        self.state = start + inputs.shape[-2]
        return rotate(inputs, start)
