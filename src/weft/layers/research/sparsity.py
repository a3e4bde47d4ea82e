"""Sparse layers: all layers of Trax's module `sparsity`.

- sparse_dense: dense layers with fewer weights;
- sparse_attention: attention with such dense layers;
- favor: attention in linear time, by random features (Performer);
- sparse_feed_forward and expert_feed_forward: feed-forward blocks that use few of their units;
- permutations: reversible layers that reorder the features.
"""

from .expert_feed_forward import BlockSparseFF, SwitchSparseFF
from .favor import CausalFavor, CausalFavorAttention, Favor, FavorAttention
from .permutations import ReversibleRandomPermute, ReversibleReshapePermute
from .sparse_attention import (
    ConvCausalAttention,
    LowRankCausalAttention,
    ModularCausalAttention,
    MultiplicativeCausalAttention,
    MultiplicativeConvCausalAttention,
    MultiplicativeModularCausalAttention,
)
from .sparse_dense import (
    EinsumDense,
    FactoredDense,
    LocallyConnectedDense,
    LocallyConvDense,
    LowRankDense,
    MergeLastTwoAxes,
    MultiplicativeModularSparseDense,
    RandomLayer,
    SparseDenseWithOptions,
    SplitLastAxis,
)
from .sparse_feed_forward import SparseFF

__all__ = [
    "BlockSparseFF",
    "CausalFavor",
    "CausalFavorAttention",
    "ConvCausalAttention",
    "EinsumDense",
    "FactoredDense",
    "Favor",
    "FavorAttention",
    "LocallyConnectedDense",
    "LocallyConvDense",
    "LowRankCausalAttention",
    "LowRankDense",
    "MergeLastTwoAxes",
    "ModularCausalAttention",
    "MultiplicativeCausalAttention",
    "MultiplicativeConvCausalAttention",
    "MultiplicativeModularCausalAttention",
    "MultiplicativeModularSparseDense",
    "RandomLayer",
    "ReversibleRandomPermute",
    "ReversibleReshapePermute",
    "SparseDenseWithOptions",
    "SparseFF",
    "SplitLastAxis",
    "SwitchSparseFF",
]
