"""Shorter and longer sequences: pooling, upsampling, and attention between two resolutions."""

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from .. import combinators as cb
from ..base import Fn, Layer
from ..checked_options import checked_mode
from ..core import Dense, Dropout
from ..normalization import LayerNorm
from ..options import whole_number
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
      shorten_factor: vectors in a group. Those after the last whole group are left out.
      d_model, dropout, mode: for the sake of the signature, which all resampling layers share.
    Returns: a layer from floats [batch, length, d] to [batch, length / shorten_factor, d].
    Source: arXiv:2110.13711.
    """
    factor = whole_number("AveragePooling", "shorten_factor", shorten_factor)
    return AvgPool(pool_size=(factor,), strides=(factor,))


def LinearPooling(
    shorten_factor: int, d_model: int, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that maps each group of vectors to one, by a trained matrix.

    Args:
      shorten_factor: vectors in a group; divides the length.
      d_model: features of the vectors that go out.
      dropout, mode: of a `Dropout` layer after it.
    Returns: a layer from floats [batch, length, d] to [batch, length / shorten_factor, d_model].
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

    return cb.Serial(Fn("Shorten", shorten), Dense(d_model), Dropout(rate=dropout, mode=mode))


def LinearUpsampling(
    shorten_factor: int, d_model: int, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that maps each vector to several, by a trained matrix.

    Args:
      shorten_factor: how many vectors become of one.
      d_model: features of the vectors that go out.
      dropout, mode: of a `Dropout` layer inside.
    Returns: a layer from floats [batch, length, d] to [batch, length * shorten_factor, d_model].
    Source: arXiv:2110.13711.
    """
    factor = whole_number("LinearUpsampling", "shorten_factor", shorten_factor)

    def prolong(x: Any) -> Any:
        batch, length, _ = x.shape
        return jnp.reshape(x, (batch, length * factor, d_model))

    return cb.Serial(
        Dense(factor * whole_number("LinearUpsampling", "d_model", d_model)),
        Dropout(rate=dropout, mode=mode),
        Fn("ProlongBack", prolong),
    )


def NaiveUpsampling(
    shorten_factor: int, d_model: int | None = None, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that repeats each vector.

    Args:
      shorten_factor: how often.
      d_model, dropout, mode: for the sake of the signature, which all resampling layers share.
    Returns: a layer from [batch, length, d] to [batch, length * shorten_factor, d].
    Source: arXiv:2110.13711.
    """
    factor = whole_number("NaiveUpsampling", "shorten_factor", shorten_factor)
    return Fn("NaiveUpsampling", lambda x: jnp.repeat(x, factor, axis=1))


def NoUpsampling(
    shorten_factor: int, d_model: int | None = None, dropout: float = 0.0, mode: str = "train"
) -> Layer:
    """A layer that gives zeros of the length of upsampling: only what goes around it stays.

    Args:
      shorten_factor: the factor of lengths.
      d_model, dropout, mode: for the sake of the signature, which all resampling layers share.
    Returns: a layer from [batch, length, d] to zeros [batch, length * shorten_factor, d].
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
    """The feed-forward part of a Transformer's block: wider, an activation, and back.

    Args:
      d_model: features of the vectors.
      d_ff: features between.
      dropout, dropout_shared_axes, mode: of a `Dropout` layer between.
      activation: makes the layer between.
    Returns: a list of layers, from floats [batch, length, d_model] to the same shape.
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
    """A block that shortens or prolongs a sequence: the new vectors attend to the old ones.

    Args:
      shorten_factor: the factor between the lengths.
      d_model: features of the vectors.
      is_upsampling: to the longer one. The second item of the stack, of that length, is added to
        the new vectors, and stays on the stack.
      d_ff, ff_activation: of the feed-forward part.
      n_heads: of attention.
      dropout, dropout_shared_axes, mode: of attention and of `Dropout` layers.
      context_bias_layer, location_bias_layer: what `rel_attention.get_rel_att_inputs` gives.
      total_pooling: how many tokens of the model's input an old vector stands for.
      resampling_fn: makes the layer that new vectors begin as, from (shorten_factor, d_model,
        mode=mode): `AveragePooling`, `LinearPooling`, `LinearUpsampling`, ….
    Returns: a list of layers, of one input, or two for upsampling.
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
