"""Rows of sparse layers."""

import functools

import numpy as onp
from layer_cases import LayerCase

from weft import layers as tl

RANDOM = {"backends": "random streams differ"}
THROUGH = {"derivative": "that of probabilities stands for that of choices", **RANDOM}
CHOSEN = {"bfloat16": "other choices are the likeliest"}
X = ((2, 3, 4),)
PADDED = onp.array([[[[1, 1, 1]]], [[[1, 1, 0]]]], bool)
sparse_ff = functools.partial(tl.SparseFF, 12, n_elements_in_block=3, d_lowrank=2)


def dense(kind, **options):
    return lambda: tl.SparseDenseWithOptions(
        6, d_input=4, sparsity_type=kind, sparsity=2, d_lowrank=2, **options
    )


ATTENTION = {
    "ModularCausalAttention": {},
    "ConvCausalAttention": {"sparsity": 4, "kernel_size": 3},
    "LowRankCausalAttention": {"lowrank": 2},
    "MultiplicativeCausalAttention": {},
    "MultiplicativeModularCausalAttention": {},
    "MultiplicativeConvCausalAttention": {
        "v_concat_type": "fixed", "output_layer_type": "multconv"
    },
}  # fmt: skip

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
    *(LayerCase(name, functools.partial(getattr(tl, name), 4, 2, **options), X, gives="float32")
      for name, options in ATTENTION.items()),
    LayerCase("MultiplicativeConvCausalAttention, shared", lambda:
              tl.MultiplicativeConvCausalAttention(4, 2, dropout=0.5, share_qk=True), X, RANDOM,
              "float32"),
    LayerCase("FavorAttention", tl.FavorAttention, (*[(2, 3, 4)] * 3, PADDED)),
    LayerCase("FavorAttention, random", lambda: tl.FavorAttention(
        6, 2, 5, use_approximate_softmax=True, normalize_data=True), (*[(4, 3, 3)] * 3, PADDED)),
    LayerCase("Favor", lambda: tl.Favor(4, 2), (*X, PADDED)),
    LayerCase("CausalFavorAttention", tl.CausalFavorAttention, ((2, 3, 4), (2, 3, 4), (2, 3, 5))),
    LayerCase("CausalFavorAttention, chunks", tl.CausalFavorAttention, ((1, 70, 2),) * 3),
    LayerCase("CausalFavor", lambda: tl.CausalFavor(4, 2), X),
    LayerCase("ReversibleReshapePermute", tl.ReversibleReshapePermute, ((2, 3, 32),)),
    LayerCase("ReversibleRandomPermute", tl.ReversibleRandomPermute, ((2, 3, 7),)),
    LayerCase("SparseFF", lambda: sparse_ff(dropout_rate=0.5), X, THROUGH | CHOSEN),
    LayerCase("SparseFF, all units", lambda: sparse_ff(
        quant_prob=0.0, multiply_by_controller_output=True), X, RANDOM),
    LayerCase("SparseFF, eval", lambda: sparse_ff(mode="eval"), X, CHOSEN),
    LayerCase("SparseFF, predict", lambda: sparse_ff(
        mode="predict", multiply_by_controller_output=True), ((4,),), CHOSEN),
    LayerCase("BlockSparseFF", lambda: tl.BlockSparseFF(12, n_experts=3), X, THROUGH | CHOSEN),
    LayerCase("BlockSparseFF, predict", lambda: tl.BlockSparseFF(12, 3, mode="predict"), ((4,),)),
    LayerCase("SwitchSparseFF", lambda: tl.SwitchSparseFF(12, n_experts=3), X, RANDOM | CHOSEN),
    LayerCase("SwitchSparseFF, predict", lambda: tl.SwitchSparseFF(12, 3, mode="predict"), ((4,),)),
]  # fmt: skip
