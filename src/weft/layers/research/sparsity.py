"""Sparse layers: dense layers and attention with fewer weights, attention in linear time, blocks
that use few of their units.
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
