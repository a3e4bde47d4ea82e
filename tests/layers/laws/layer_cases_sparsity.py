"""Rows of sparse layers."""

import functools

from layer_cases import LayerCase

from weft import layers as tl

RANDOM = {"backends": "random streams differ"}
THROUGH = {"derivative": "that of probabilities stands for that of choices", **RANDOM}
CHOSEN = {"bfloat16": "other choices are the likeliest"}
X = ((2, 3, 4),)
sparse_ff = functools.partial(tl.SparseFF, 12, n_elements_in_block=3, d_lowrank=2)


def dense(kind, **options):
    return lambda: tl.SparseDenseWithOptions(
        6, d_input=4, sparsity_type=kind, sparsity=2, d_lowrank=2, **options
    )


CASES = [
    LayerCase("LocallyConnectedDense", lambda: tl.LocallyConnectedDense(4, 2, kernel_size=3), X),
    LayerCase("LocallyConnectedDense, no bias", lambda: tl.LocallyConnectedDense(
        2, 3, use_bias=False), X),
    LayerCase("LowRankDense", lambda: tl.LowRankDense(5, 2), X),
    LayerCase("EinsumDense", lambda: tl.EinsumDense(4, 5, use_bias=True), X),
    LayerCase("MultiplicativeModularSparseDense", lambda: tl.MultiplicativeModularSparseDense(2, 4),
              X),
    LayerCase("RandomLayer", lambda: tl.RandomLayer(tl.Dense(3), tl.LowRankDense(3, 1), 0.5), X,
              RANDOM),
    LayerCase("sparse dense", dense("mult", use_bias=False), X),
    LayerCase("sparse dense, local", dense("local"), X),
    LayerCase("sparse or dense", dense("einsum", prob_sparse=0.5), X, RANDOM),
    LayerCase("SparseFF", lambda: sparse_ff(dropout_rate=0.5), X, THROUGH | CHOSEN),
    LayerCase("SparseFF, all units", lambda: sparse_ff(
        quant_prob=0.0, multiply_by_controller_output=True), X, RANDOM),
    LayerCase("SparseFF, eval", lambda: sparse_ff(mode="eval"), X, CHOSEN),
    LayerCase("SparseFF, predict", lambda: sparse_ff(
        mode="predict", multiply_by_controller_output=True), ((3, 4),), CHOSEN),
    LayerCase("BlockSparseFF", lambda: tl.BlockSparseFF(12, n_experts=3), X, THROUGH | CHOSEN),
    LayerCase("BlockSparseFF, predict", lambda: tl.BlockSparseFF(12, 3, mode="predict"), ((4,),)),
    LayerCase("SwitchSparseFF", lambda: tl.SwitchSparseFF(12, n_experts=3), X, RANDOM | CHOSEN),
    LayerCase("SwitchSparseFF, predict", lambda: tl.SwitchSparseFF(12, 3, mode="predict"), ((4,),)),
]  # fmt: skip
