"""Sparse layers: dense layers with fewer weights, feed-forward blocks that use few of theirs."""

from .expert_feed_forward import BlockSparseFF, SwitchSparseFF
from .modular_dense import FactoredDense, LocallyConvDense, MergeLastTwoAxes, SplitLastAxis
from .sparse_dense import (
    EinsumDense,
    LocallyConnectedDense,
    LowRankDense,
    MultiplicativeModularSparseDense,
    RandomLayer,
    SparseDenseWithOptions,
)
from .sparse_feed_forward import SparseFF

__all__ = [
    "BlockSparseFF",
    "EinsumDense",
    "FactoredDense",
    "LocallyConnectedDense",
    "LocallyConvDense",
    "LowRankDense",
    "MergeLastTwoAxes",
    "MultiplicativeModularSparseDense",
    "RandomLayer",
    "SparseDenseWithOptions",
    "SparseFF",
    "SplitLastAxis",
    "SwitchSparseFF",
]
