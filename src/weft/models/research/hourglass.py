"""HourglassLM: a language model whose inner blocks see shortened sequences.

Each level of the hierarchy pools vectors, runs its blocks and the next level on the result,
restores the length, and adds a residual.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import layers as tl, option_checks
from ...errors import ShapeError
from ...layers.activation_fns import FastGelu
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...layers.research.rel_attention import RelativeAttentionWrapper, get_rel_att_inputs
from ...layers.research.resampling import (
    AttentionResampling,
    AveragePooling,
    FeedForwardBlock,
    LinearUpsampling,
)
from ...user_lines import noted
from .transformer_parts import ApplyAttentionLayer, checked_sizes

__all__ = ["HourglassLM"]

Make = Callable[..., Any]


@takes_mode
def HourglassLM(
    vocab_size: int,
    d_model: int = 512,
    d_ff: int = 2048,
    vanilla_layers: Sequence[int] = (1, 1),
    hierarchy: str = "6@3",
    n_heads: int = 8,
    dropout: float = 0.1,
    dropout_shared_axes: Sequence[int] | None = None,
    mode: str = "train",
    ff_activation: Callable[[], Layer] = FastGelu,
    vanilla_attn_type: Make = RelativeAttentionWrapper,
    middle_attn_type: Make = RelativeAttentionWrapper,
    downsampling_fn: Make = AttentionResampling,
    upsampling_fn: Make = AttentionResampling,
    attention_downsampling_fn: Make = AveragePooling,
    attention_upsampling_fn: Make = LinearUpsampling,
) -> Layer:
    """A language model whose middle blocks process one vector for each group of tokens.

    The model is causal. The tokens are the targets, which the model shifts to the right; there is
    no mode "predict", because a middle vector stands for several tokens.

    Positions come from relative attention: with other kinds for both attention types, the model
    does not know the order of tokens except by its causal masks.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model: features of a vector; a multiple of 2 n_heads.
      d_ff: units of the hidden layer of each block.
      vanilla_layers: the numbers of blocks at full length, before and after the middle.
      hierarchy: the levels in the middle, "blocks@factor" each. The factor is the number of tokens
        per vector, a multiple of the factor before. "2@3" has one level of 2 blocks; "1@2 4@6 1@2"
        has one block on pairs of tokens, 4 on groups of six, and one on pairs again; it must be
        the same in both directions.
      n_heads: the number of attention heads; divides d_model.
      dropout: rate at which features, and weights of attention, become zero in mode "train".
      dropout_shared_axes: axes of vectors [batch, length, d_model] along which features are dropped
        together.
      mode: "train" or "eval".
      ff_activation: makes the activation layer of each block.
      vanilla_attn_type, middle_attn_type: make the layers of causal attention at full length and in
        the middle: `RelativeAttentionWrapper`, or a class that `ApplyAttentionLayer` takes.
      downsampling_fn: shortens a sequence: `AttentionResampling`, `AveragePooling` or
        `LinearPooling`.
      upsampling_fn: restores the length: `AttentionResampling`, `LinearUpsampling`,
        `NaiveUpsampling` or `NoUpsampling`.
      attention_downsampling_fn, attention_upsampling_fn: the resampling_fn of an
        `AttentionResampling`.
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the last factor of the middle does not divide the length.
    Example:
      >>> model = HourglassLM(9, d_model=4, d_ff=8, hierarchy="1@2", n_heads=2, mode="eval")
      >>> tokens = np.array([[5, 2, 7, 1]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 4, 9)
    Source: Nawrot et al. (2021), arXiv:2110.13711; Trax's module `models.research.hourglass`.
    """
    name = "HourglassLM"
    if mode == "predict":
        raise noted(
            ValueError(
                f"{name}: there is no mode 'predict', because a middle vector has several tokens\n"
                "  fix: mode='eval' on the sequence so far; TransformerLM decodes"
            )
        )
    option_checks.choice(name, "mode", mode, ("train", "eval"))
    checked_sizes(name, dropout, vocab_size=vocab_size, d_model=d_model, d_ff=d_ff)
    before, after = option_checks.lengths(name, "vanilla_layers", vanilla_layers, 2, least=0)
    for option, make in (
        ("vanilla_attn_type", vanilla_attn_type),
        ("middle_attn_type", middle_attn_type),
        ("downsampling_fn", downsampling_fn),
        ("upsampling_fn", upsampling_fn),
    ):
        option_checks.function(name, option, make, "that makes layers")
    counts, factors = _parse_hierarchy(hierarchy)
    parts = _Parts(d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation)
    middle = _Middle(
        parts, counts, factors, middle_attn_type, downsampling_fn, upsampling_fn,
        attention_downsampling_fn, attention_upsampling_fn,
    )  # fmt: skip
    return tl.Serial(
        _of_length(math.prod(factors)),
        tl.ShiftRight(mode=mode),
        tl.Embedding(vocab_size, d_model),
        parts.dropped(),
        parts.blocks(before, vanilla_attn_type, 1),
        middle.level(0, 1),
        parts.blocks(after, vanilla_attn_type, 1),
        tl.Dense(vocab_size),
    )


class _Parts:
    """Makes the blocks of the model. All relative attention layers share two layers of biases."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_heads: int,
        dropout: float,
        dropout_shared_axes: Sequence[int] | None,
        mode: str,
        ff_activation: Callable[[], Layer],
    ) -> None:
        self.depth = option_checks.divided("HourglassLM", "d_model", d_model, "n_heads", n_heads)
        self.d_model, self.d_ff, self.n_heads, self.mode = d_model, d_ff, n_heads, mode
        self.dropout, self.shared_axes, self.activation = (
            dropout,
            dropout_shared_axes,
            ff_activation,
        )
        context, location = get_rel_att_inputs(d_model, n_heads)
        self.biases = {"context_bias_layer": context, "location_bias_layer": location}

    def dropped(self) -> Layer:
        """Dropout of features."""
        return tl.Dropout(rate=self.dropout, shared_axes=self.shared_axes, mode=self.mode)

    def attention(self, attention_type: Make, pooling: int) -> Layer:
        """Causal attention between vectors of `pooling` tokens each."""
        if "context_bias_layer" in inspect.signature(attention_type).parameters:
            options = {"n_heads": self.n_heads, "dropout": self.dropout, "mode": self.mode}
            layer: Layer = attention_type(
                self.d_model, total_pooling=pooling, **options, **self.biases
            )
            return layer
        return ApplyAttentionLayer(
            attention_type, self.d_model, self.n_heads, self.depth, self.depth, True, False,
            self.dropout, self.dropout, 0, self.mode,
        )  # fmt: skip

    def blocks(self, count: int, attention_type: Make, pooling: int) -> list[Layer]:
        """Blocks of attention and a feed-forward part, and a normalization."""
        layers: list[Layer] = []
        for _ in range(count):
            attention = self.attention(attention_type, pooling)
            feed_forward = FeedForwardBlock(
                self.d_model, self.d_ff, self.dropout, self.shared_axes, self.mode, self.activation
            )
            layers += [
                tl.Residual(tl.LayerNorm(), attention, self.dropped()),
                tl.Residual(tl.LayerNorm(), feed_forward, self.dropped()),
            ]
        return [*layers, tl.LayerNorm()]

    def resampled(
        self, make: Make, resampling_fn: Make, factor: int, is_upsampling: bool, pooling: int
    ) -> list[Layer]:
        """Layers that shorten a sequence, or lengthen it, by a factor."""
        if "resampling_fn" not in inspect.signature(make).parameters:
            return [make(factor, self.d_model, dropout=self.dropout, mode=self.mode)]
        layers: list[Layer] = make(
            factor, self.d_model, is_upsampling, self.d_ff, self.n_heads, self.dropout,
            self.shared_axes, self.mode, self.activation, total_pooling=pooling,
            resampling_fn=resampling_fn, **self.biases,
        )  # fmt: skip
        return layers


class _Middle(NamedTuple):
    """The levels of the hierarchy, outermost first."""

    parts: _Parts
    counts: list[int]
    factors: list[int]
    attention_type: Make
    downsampling_fn: Make
    upsampling_fn: Make
    attention_downsampling_fn: Make
    attention_upsampling_fn: Make

    def level(self, at: int, pooling: int) -> list[Layer]:
        """The layers of a level and those inside it, with a residual around all of them."""
        parts, factor, count = self.parts, self.factors[at], self.counts[at]
        pooled = pooling * factor
        inner = parts.blocks(count, self.attention_type, pooled)
        if at + 1 < len(self.factors):
            inner += self.level(at + 1, pooled) + parts.blocks(count, self.attention_type, pooled)
        return [
            tl.Dup(),
            tl.ShiftRight(n_positions=factor - 1, mode=parts.mode),
            *parts.resampled(
                self.downsampling_fn, self.attention_downsampling_fn, factor, False, pooling
            ),
            *inner,
            *parts.resampled(
                self.upsampling_fn, self.attention_upsampling_fn, factor, True, pooled
            ),
            tl.LayerNorm(),
            tl.Add(),
        ]


def _parse_hierarchy(hierarchy: str) -> tuple[list[int], list[int]]:
    """(numbers of blocks, factors by which each level shortens) of the levels, outermost first."""
    form = "levels such as '6@3' or '1@2 4@6 1@2'"
    if not isinstance(hierarchy, str):
        raise option_checks.wrong_type("HourglassLM", "hierarchy", form, hierarchy)
    pairs = [level.split("@") for level in hierarchy.split()]
    if not pairs or any(len(p) != 2 or not (p[0] + p[1]).isdecimal() for p in pairs):
        raise option_checks.wrong_value("HourglassLM", "hierarchy", form, hierarchy)
    levels = [(int(count), int(total)) for count, total in pairs]
    if levels != levels[::-1]:
        raise option_checks.wrong_value(
            "HourglassLM", "hierarchy", "the same in both directions, as '1@2 4@6 1@2'", hierarchy
        )
    outer = levels[: (len(levels) + 1) // 2]
    totals = [1, *(total for _, total in outer)]
    steps = list(itertools.pairwise(totals))
    if any(total < 1 or total % before for before, total in steps):
        raise option_checks.wrong_value(
            "HourglassLM", "hierarchy", "factors, each a multiple of the one before", hierarchy
        )
    return [count for count, _ in outer], [total // before for before, total in steps]


def _of_length(total: int) -> Layer:
    """A layer that returns its input, whose length must be a multiple of `total`."""

    def checked(tokens: Any) -> Any:
        if tokens.ndim != 2 or tokens.shape[1] % total:
            raise ShapeError(
                f"HourglassLM: expected tokens [batch, length], with a length that is a multiple "
                f"of {total}; got shape {tuple(tokens.shape)}\n  fix: pad the sequences"
            )
        return tokens

    return tl.Fn("CheckedLength", checked)
