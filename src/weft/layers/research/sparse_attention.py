"""Causal attention whose layers for queries, keys, values and heads have fewer weights than
`Dense`.

All are `ConfigurableAttention` over `DotProductCausalAttention`. Source: Jaszczur et al. (2021),
Sparse is Enough in Scaling Transformers, arXiv:2111.12763.
"""

from collections.abc import Callable
from typing import Any

from ...fastmath import numpy as jnp
from ...option_checks import choice, divided, flag
from .. import combinators as cb
from ..assert_shape import assert_shape
from ..attention import (
    ConfigurableAttention,
    DotProductCausalAttention,
    MergeHeads,
    SplitIntoHeads,
)
from ..base import Fn, Layer
from .sparse_dense import (
    FactoredDense,
    LocallyConnectedDense,
    LocallyConvDense,
    LowRankDense,
    MultiplicativeModularSparseDense,
)


def _attention(
    name: str,
    layer: Callable[[], Layer],
    d_feature: int,
    n_heads: int,
    dropout: float,
    max_inference_length: int,
    mode: str,
) -> Layer:
    """Attention with four layers of one kind."""
    divided(name, "d_feature", d_feature, "n_heads", n_heads)
    core = DotProductCausalAttention(
        dropout=dropout, max_inference_length=max_inference_length, mode=mode
    )
    return ConfigurableAttention(
        layer(), layer(), layer(), layer(), n_heads=n_heads, qkv_attention_layer=core
    )


def _modules(name: str, d_feature: int, n_heads: int, sparsity: int | None) -> tuple[int, int]:
    """The number of modules, by default the number of heads, and the number of features of each
    module."""
    option, count = ("n_heads", n_heads) if sparsity is None else ("sparsity", sparsity)
    return count, divided(name, "d_feature", d_feature, option, count)


@assert_shape("bld->bld")
def ModularCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    sparsity: int | None = None,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    kernel_size: int = 1,
    mode: str = "train",
) -> Layer:
    """`CausalAttention` with projections by a small matrix for each module of the features.

    Args:
      d_feature: the features of input and output vectors.
      n_heads: the number of attention heads; divides d_feature.
      sparsity: the number of modules of the features; divides d_feature. By default, n_heads.
      dropout: the rate at which attention weights are set to zero, in mode "train".
      max_inference_length: the maximal length of sequences in mode "predict".
      kernel_size: the number of input modules on which an output module depends, in a ring; odd.
      mode: "train", "eval", "predict" or "viz".
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four
      `LocallyConnectedDense` layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = ModularCausalAttention(8, n_heads=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: arXiv:2111.12763; Trax's module `layers.research.sparsity`.
    """
    name = "ModularCausalAttention"
    modules, width = _modules(name, d_feature, n_heads, sparsity)

    def layer() -> Layer:
        return LocallyConnectedDense(modules, width, kernel_size=kernel_size)

    return _attention(name, layer, d_feature, n_heads, dropout, max_inference_length, mode)


@assert_shape("bld->bld")
def ConvCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    sparsity: int | None = None,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    kernel_size: int = 1,
    mode: str = "train",
) -> Layer:
    """`CausalAttention` with projections by one small matrix for all modules.

    Args:
      d_feature, n_heads, sparsity, dropout, max_inference_length, mode: as for
        `ModularCausalAttention`.
      kernel_size: the number of input modules on which an output module depends, with zeros beyond
        the ends; odd.
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four
      `LocallyConvDense` layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = ConvCausalAttention(8, n_heads=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: arXiv:2111.12763; Trax's module `layers.research.sparsity`.
    """
    name = "ConvCausalAttention"
    modules, width = _modules(name, d_feature, n_heads, sparsity)

    def layer() -> Layer:
        return LocallyConvDense(modules, width, mode=mode, kernel_size=kernel_size)

    return _attention(name, layer, d_feature, n_heads, dropout, max_inference_length, mode)


@assert_shape("bld->bld")
def LowRankCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    lowrank: int = 64,
    mode: str = "train",
) -> Layer:
    """`CausalAttention` with low-rank projections.

    Args:
      d_feature, n_heads, dropout, max_inference_length, mode: as for `ModularCausalAttention`.
      lowrank: the rank of the projections.
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four
      `LowRankDense` layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = LowRankCausalAttention(8, n_heads=2, lowrank=3)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: Trax's module `layers.research.sparsity`.
    """

    def layer() -> Layer:
        return LowRankDense(d_feature, lowrank)

    name = "LowRankCausalAttention"
    return _attention(name, layer, d_feature, n_heads, dropout, max_inference_length, mode)


@assert_shape("bld->bld")
def MultiplicativeCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    sparsity: int | None = None,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    mode: str = "train",
) -> Layer:
    """`CausalAttention` with projections by one matrix for all modules and a gate for each.

    Args:
      d_feature, n_heads, sparsity, dropout, max_inference_length, mode: as for
        `ModularCausalAttention`.
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four
      `FactoredDense` layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = MultiplicativeCausalAttention(8, n_heads=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: arXiv:2111.12763; Trax's module `layers.research.sparsity`.
    """
    name = "MultiplicativeCausalAttention"
    modules, _ = _modules(name, d_feature, n_heads, sparsity)

    def layer() -> Layer:
        return FactoredDense(modules, d_feature, d_feature)

    return _attention(name, layer, d_feature, n_heads, dropout, max_inference_length, mode)


@assert_shape("bld->bld")
def MultiplicativeModularCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    sparsity: int | None = None,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    mode: str = "train",
) -> Layer:
    """`CausalAttention` with a gate and a small matrix for each module, and one matrix for all.

    Args:
      d_feature, n_heads, sparsity, dropout, max_inference_length, mode: as for
        `ModularCausalAttention`.
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four
      `MultiplicativeModularSparseDense` layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = MultiplicativeModularCausalAttention(8, n_heads=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: Trax's module `layers.research.sparsity`.
    """
    name = "MultiplicativeModularCausalAttention"
    modules, _ = _modules(name, d_feature, n_heads, sparsity)

    def layer() -> Layer:
        return MultiplicativeModularSparseDense(modules, d_feature)

    return _attention(name, layer, d_feature, n_heads, dropout, max_inference_length, mode)


_OUTPUT_LAYERS = ("none", "mult", "conv", "multconv")
_VALUES = ("original", "fixed", "none")


@assert_shape("bld->bld")
def MultiplicativeConvCausalAttention(
    d_feature: int,
    n_heads: int = 1,
    sparsity: int | None = None,
    length_kernel_size: int = 3,
    dropout: float = 0.0,
    force_no_dropout: bool = False,
    max_inference_length: int = 2048,
    share_qk: bool = False,
    output_layer_type: str = "none",
    v_concat_type: str = "none",
    mode: str = "train",
) -> Layer:
    """The causal attention of Terraformer: a multiplicative layer, and convolutions of its modules.

    A `FactoredDense` layer maps the vectors to y. `LocallyConvDense` layers map y to queries, keys
    and values: over three modules for queries and keys, one module for values, and the last
    length_kernel_size positions.

    Args:
      d_feature, n_heads, sparsity, max_inference_length, mode: as for `ModularCausalAttention`.
      length_kernel_size: the number of positions that a convolution spans, up to the current one.
      dropout: the rate at which attention weights are set to zero, in mode "train".
      force_no_dropout: whether dropout is always 0.
      share_qk: whether to use the queries as keys.
      output_layer_type: the layer after the heads: "none"; "mult", a `FactoredDense` layer;
        "conv", a `LocallyConvDense` layer; "multconv", both in series.
      v_concat_type: the input of the values: "none", y; "original", y and the vectors,
        concatenated; "fixed", the same, concatenated module by module.
      mode: "train", "eval", "predict" or "viz".
    Returns: a layer from floats [batch, length, d_feature] to the same shape.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = MultiplicativeConvCausalAttention(8, n_heads=2, sparsity=4)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: arXiv:2111.12763; Trax's module `layers.research.sparsity`.
    """
    name = "MultiplicativeConvCausalAttention"
    choice(name, "output_layer_type", output_layer_type, _OUTPUT_LAYERS)
    choice(name, "v_concat_type", v_concat_type, _VALUES)
    divided(name, "d_feature", d_feature, "n_heads", n_heads)
    modules, width = _modules(name, d_feature, n_heads, sparsity)
    rate = 0.0 if flag(name, "force_no_dropout", force_no_dropout) else dropout

    def convolved(kernel_size: int) -> Layer:
        return LocallyConvDense(
            modules,
            width,
            mode=mode,
            kernel_size=kernel_size,
            length_kernel_size=length_kernel_size,
        )

    def heads(kernel_size: int) -> list[Layer]:
        return [convolved(kernel_size), SplitIntoHeads(n_heads)]

    if flag(name, "share_qk", share_qk):
        to_heads: Layer = cb.Parallel([*heads(3), cb.Dup()], heads(1))
    else:
        to_heads = cb.Serial(cb.Select([0, 0, 1]), cb.Parallel(heads(3), heads(3), heads(1)))
    output_layers: list[Layer] = []
    if "mult" in output_layer_type:
        output_layers.append(FactoredDense(modules, d_feature, d_feature))
    if "conv" in output_layer_type:
        output_layers.append(convolved(3))
    return cb.Serial(
        cb.Branch(FactoredDense(modules, d_feature, d_feature), None),
        Fn("ValueInputs", _value_inputs(v_concat_type, modules), n_out=2),
        to_heads,
        DotProductCausalAttention(
            dropout=rate, max_inference_length=max_inference_length, mode=mode
        ),
        MergeHeads(n_heads),
        *output_layers,
    )


def _value_inputs(v_concat_type: str, modules: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function of y and the vectors x that returns y and the input of the values."""

    def inputs(y: Any, x: Any) -> tuple[Any, Any]:
        if v_concat_type == "none":
            return y, y
        if v_concat_type == "original":
            return y, jnp.concatenate([y, x], axis=-1)
        parts = [jnp.reshape(a, (*a.shape[:-1], modules, a.shape[-1] // modules)) for a in (y, x)]
        both = jnp.concatenate(parts, axis=-1)
        return y, jnp.reshape(both, (*y.shape[:-1], 2 * y.shape[-1]))

    return inputs
