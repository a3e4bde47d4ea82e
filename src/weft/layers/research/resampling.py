"""Layers that shorten and lengthen sequences: AveragePooling, LinearPooling, LinearUpsampling,
NaiveUpsampling, NoUpsampling, and AttentionResampling and FeedForwardBlock between two resolutions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, number, whole_number
from .. import combinators as cb
from ..base import Fn, Layer
from ..dense import Dense
from ..dropout import Dropout
from ..normalization import LayerNorm
from ..pooling import AvgPool
from .rel_attention import RelativeAttentionLMLayer

__all__ = [
    "AttentionResampling",
    "AveragePooling",
    "FeedForwardBlock",
    "LinearPooling",
    "LinearUpsampling",
    "NaiveUpsampling",
    "NoUpsampling",
]

Resampling = Callable[..., Layer]


def AveragePooling(
    shorten_factor: int, d_model: int | None = None, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that replaces each group of vectors by their mean.

    Args:
      shorten_factor: the number of vectors in a group. Vectors after the last full group are
        dropped.
      d_model, dropout, mode: not used; all resampling layers share a signature.
    Returns: a layer from floats [batch, length, d] to [batch, length / shorten_factor, d].
    Example:
      >>> from weft import layers as tl
      >>> tl.AveragePooling(2)(np.array([[[1.0], [3.0], [5.0], [7.0]]]))
      Array([[[2.],
              [6.]]], dtype=float32)
    Source: arXiv:2110.13711.
    """
    factor = whole_number("AveragePooling", "shorten_factor", shorten_factor)
    return AvgPool(pool_size=(factor,), strides=(factor,))


def LinearPooling(
    shorten_factor: int, d_model: int, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that maps each group of vectors to one vector, by a trained matrix.

    Args:
      shorten_factor: the number of vectors in a group; divides the length.
      d_model: the features of output vectors.
      dropout, mode: the options of a `Dropout` layer after it.
    Returns: a layer from floats [batch, length, d] to [batch, length / shorten_factor, d_model].
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LinearPooling(2, d_model=8, mode="eval")
      >>> _ = layer.init(np.ones((1, 6, 8)))
      >>> layer(np.ones((1, 6, 8))).shape
      (1, 3, 8)
    Source: arXiv:2110.13711.
    """
    factor = whole_number("LinearPooling", "shorten_factor", shorten_factor)

    def shorten(x: Any) -> Any:
        batch, length, depth = x.shape
        if length % factor:
            raise ShapeError(
                f"LinearPooling: the length must be a multiple of shorten_factor, {factor}; "
                f"got shape {tuple(x.shape)}"
            )
        return jnp.reshape(x, (batch, length // factor, factor * depth))

    n_units = whole_number("LinearPooling", "d_model", d_model)
    rate = number("LinearPooling", "dropout", dropout, least=0.0, most=1.0)
    return cb.Serial(Fn("Shorten", shorten), Dense(n_units), Dropout(rate=rate, mode=mode))


def LinearUpsampling(
    shorten_factor: int, d_model: int, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that maps each vector to several vectors, by a trained matrix.

    Args:
      shorten_factor: the number of output vectors per input vector.
      d_model: the features of output vectors.
      dropout, mode: the options of an inner `Dropout` layer.
    Returns: a layer from floats [batch, length, d] to [batch, length * shorten_factor, d_model].
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LinearUpsampling(2, d_model=8, mode="eval")
      >>> _ = layer.init(np.ones((1, 3, 8)))
      >>> layer(np.ones((1, 3, 8))).shape
      (1, 6, 8)
    Source: arXiv:2110.13711.
    """
    factor = whole_number("LinearUpsampling", "shorten_factor", shorten_factor)
    rate = number("LinearUpsampling", "dropout", dropout, least=0.0, most=1.0)

    def prolong(x: Any) -> Any:
        batch, length, _ = x.shape
        return jnp.reshape(x, (batch, length * factor, d_model))

    return cb.Serial(
        Dense(factor * whole_number("LinearUpsampling", "d_model", d_model)),
        Dropout(rate=rate, mode=mode),
        Fn("ProlongBack", prolong),
    )


def NaiveUpsampling(
    shorten_factor: int, d_model: int | None = None, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that repeats each vector.

    Args:
      shorten_factor: the number of repetitions.
      d_model, dropout, mode: not used; all resampling layers share a signature.
    Returns: a layer from [batch, length, d] to [batch, length * shorten_factor, d].
    Example:
      >>> from weft import layers as tl
      >>> tl.NaiveUpsampling(2)(np.array([[[1.0], [3.0]]]))
      Array([[[1.],
              [1.],
              [3.],
              [3.]]], dtype=float32)
    Source: arXiv:2110.13711.
    """
    factor = whole_number("NaiveUpsampling", "shorten_factor", shorten_factor)
    return Fn("NaiveUpsampling", lambda x: jnp.repeat(x, factor, axis=1))


def NoUpsampling(
    shorten_factor: int, d_model: int | None = None, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that returns zeros with the upsampled length, so only the residual branch remains.

    Args:
      shorten_factor: the ratio of the lengths.
      d_model, dropout, mode: not used; all resampling layers share a signature.
    Returns: a layer from [batch, length, d] to zeros [batch, length * shorten_factor, d].
    Example:
      >>> from weft import layers as tl
      >>> tl.NoUpsampling(2)(np.array([[[1.0], [3.0]]]))
      Array([[[0.],
              [0.],
              [0.],
              [0.]]], dtype=float32)
    Source: arXiv:2110.13711.
    """
    factor = whole_number("NoUpsampling", "shorten_factor", shorten_factor)

    def zeros(x: Any) -> Any:
        return jnp.zeros((x.shape[0], x.shape[1] * factor, *x.shape[2:]), x.dtype)

    return Fn("NoUpsampling", zeros)


def FeedForwardBlock(
    d_model: int,
    d_ff: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    activation: Callable[[], Layer],
) -> list[Layer]:
    """The feed-forward part of a Transformer block: dense layers to and from a wider vector.

    Args:
      d_model: features of the vectors.
      d_ff: the features of the wider vectors.
      dropout, dropout_shared_axes, mode: the options of a `Dropout` layer between them.
      activation: makes the activation layer.
    Returns: a list of layers, from floats [batch, length, d_model] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.FeedForwardBlock(8, 32, 0.1, None, "eval", tl.Relu))
      >>> print(layer)
      Serial[
        Dense_32
        Serial[
          Relu
        ]
        Dropout
        Dense_8
      ]
    """
    return [
        Dense(d_ff),
        activation(),
        Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode),
        Dense(d_model),
    ]


def AttentionResampling(
    shorten_factor: int,
    d_model: int,
    is_upsampling: bool,
    d_ff: int,
    n_heads: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    ff_activation: Callable[[], Layer],
    context_bias_layer: Layer,
    location_bias_layer: Layer,
    total_pooling: int,
    resampling_fn: Resampling,
) -> list[Layer]:
    """A block that shortens or lengthens a sequence: the new vectors attend to the old ones.

    Args:
      shorten_factor: the ratio of the lengths.
      d_model: the features of the vectors.
      is_upsampling: whether to lengthen. Then the second item of the stack, which has the new
        length, is added to the new vectors and stays on the stack.
      d_ff, ff_activation: the options of the feed-forward part.
      n_heads: the number of attention heads.
      dropout, dropout_shared_axes, mode: the options of attention and of `Dropout` layers.
      context_bias_layer, location_bias_layer: the layers from `rel_attention.get_rel_att_inputs`.
      total_pooling: the number of tokens of the model's input per old vector.
      resampling_fn: makes the layer for the initial new vectors, called as
        resampling_fn(shorten_factor, d_model, mode=mode): `AveragePooling`, `LinearPooling`,
        `LinearUpsampling`, ….
    Returns: a list of layers with one input, or two for upsampling.
    Example:
      >>> from weft import layers as tl
      >>> biases = tl.get_rel_att_inputs(8, 2)
      >>> layer = tl.Serial(
      ...     tl.AttentionResampling(
      ...         2, 8, False, 32, 2, 0.1, None, "eval", tl.Relu, *biases, 1, tl.AveragePooling
      ...     )
      ... )
      >>> _ = layer.init(np.ones((1, 6, 8)))
      >>> layer(np.ones((1, 6, 8))).shape
      (1, 3, 8)
    Source: arXiv:2110.13711.
    """
    checked_mode("AttentionResampling", mode)

    def dropped() -> Layer:
        return Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode)

    attention = RelativeAttentionLMLayer(
        d_model,
        context_bias_layer,
        location_bias_layer,
        total_pooling,
        n_heads=n_heads,
        dropout=dropout,
        mode=mode,
    )
    feed_forward = FeedForwardBlock(
        d_model, d_ff, dropout, dropout_shared_axes, mode, ff_activation
    )
    resampled = resampling_fn(shorten_factor, d_model, mode=mode)
    add_skipped = [cb.Serial(cb.Select([0, 2, 1, 2]), cb.Add())] if is_upsampling else []
    return [
        LayerNorm(),
        cb.Branch(cb.Serial(resampled, LayerNorm()), None),
        *add_skipped,
        cb.Residual(cb.Select([0, 1, 1]), attention, dropped()),
        cb.Residual(LayerNorm(), feed_forward, dropped()),
    ]
