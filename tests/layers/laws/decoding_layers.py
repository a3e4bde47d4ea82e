"""Layers that decode: name -> function that makes one in a mode, for floats [2, 6, 8]; the language
model takes tokens. Those of `ONE_AT_A_TIME` take one position at a call.
"""

import functools

from weft import layers as tl
from weft.layers.research import rotary_positional_embedding, sparse_dense


def language_model(mode):
    """Transformer blocks and a recurrent layer, as users build them."""
    return tl.Serial(
        tl.Embedding(7, 8),
        tl.PositionalEncoding(max_len=8, mode=mode),
        [
            [
                tl.Residual(
                    tl.LayerNorm(),
                    tl.CausalAttention(8, n_heads=2, max_inference_length=8, mode=mode),
                ),
                tl.Residual(tl.LayerNorm(), tl.Dense(16), tl.Relu(), tl.Dense(8)),
            ]
            for _ in range(2)
        ],
        tl.SRU(8, mode=mode),
        tl.Dense(7),
    )


MEMORY = {"n_heads": 2, "d_qk": 4, "d_v": 4, "causal": True, "predict_mem_len": 6}
attention = functools.partial(tl.SelfAttention, predict_drop_len=6, **MEMORY)
# Each chunk holds the whole sequence, so that all positions are attended to, whatever the buckets.
COVERING = {
    "chunk_len": 6, "n_hashes": 2, "n_buckets": 4, "predict_drop_len": 4, "n_parallel_heads": None,
    **MEMORY,
}  # fmt: skip
hashed = functools.partial(tl.LSHSelfAttention, **COVERING)
wrapped = functools.partial(
    tl.PureLSHSelfAttentionWrapper, pure_lsh_implementation=tl.PureLSHSelfAttention, **COVERING
)

LAYERS = {
    "SelfAttention": attention,
    "SelfAttention, keys are queries": functools.partial(attention, share_qk=True, bias=True),
    "SelfAttention in chunks": functools.partial(
        attention, chunk_len=3, n_chunks_before=1, predict_drop_len=3
    ),
    "LSHSelfAttention": hashed,
    "LSHSelfAttention in one round": functools.partial(
        hashed, n_hashes=1, n_chunks_before=0, bias=True
    ),
    "PureLSHSelfAttentionWrapper": wrapped,
    "PureLSHSelfAttentionWrapper, rotated": functools.partial(wrapped, rotary_position_emb=True),
    "PureLSHSelfAttentionWrapper, sparse": functools.partial(
        wrapped, weights_format="sparse", sparsity=2, num_weights=2
    ),
    "MixedLSHSelfAttention": functools.partial(
        wrapped, pure_lsh_implementation=tl.MixedLSHSelfAttention, std_length=6
    ),
    "CausalAttention": lambda mode: tl.CausalAttention(8, 2, max_inference_length=6, mode=mode),
    "GRU": lambda mode: tl.GRU(8, mode=mode),
    "GRU of other width": lambda mode: tl.GRU(3, mode=mode),
    "LSTM": lambda mode: tl.LSTM(8, mode=mode),
    "LSTM of other width": lambda mode: tl.LSTM(5, mode=mode),
    "SRU": lambda mode: tl.SRU(8, mode=mode),
    "SRU with tanh": lambda mode: tl.SRU(8, activation=tl.Tanh(), mode=mode),
    "PositionalEncoding": lambda mode: tl.PositionalEncoding(max_len=6, mode=mode),
    "PositionalEncoding of d_feature": lambda mode: tl.PositionalEncoding(
        max_len=9, d_feature=4, mode=mode
    ),
    "AxialPositionalEncoding": lambda mode: tl.AxialPositionalEncoding((2, 3), (5, 3), mode=mode),
    "SinCosPositionalEncoding": lambda mode: tl.SinCosPositionalEncoding(mode=mode),
    "FixedBasePositionalEncoding": lambda mode: tl.FixedBasePositionalEncoding(
        [3, 5], 4, mode=mode
    ),
    "LocallyConvDense": lambda mode: sparse_dense.LocallyConvDense(4, 2, mode, 3, 3),
    "ModularCausalAttention": lambda mode: tl.ModularCausalAttention(
        8, 2, sparsity=4, kernel_size=3, max_inference_length=6, mode=mode
    ),
    "LowRankCausalAttention": lambda mode: tl.LowRankCausalAttention(
        8, 2, lowrank=3, max_inference_length=6, mode=mode
    ),
    "MultiplicativeCausalAttention": lambda mode: tl.MultiplicativeCausalAttention(
        8, 2, max_inference_length=6, mode=mode
    ),
    "ConvCausalAttention": lambda mode: tl.ConvCausalAttention(
        8, 2, kernel_size=3, max_inference_length=6, mode=mode
    ),
    "MultiplicativeConvCausalAttention": lambda mode: tl.MultiplicativeConvCausalAttention(
        8, 2, 4, v_concat_type="original", output_layer_type="conv", mode=mode
    ),
    "CausalFavor": lambda mode: tl.CausalFavor(8, 2, mode=mode),
    "SparseFF": lambda mode: tl.SparseFF(24, 4, 3, mode=mode),
    "SparseFF times probabilities": lambda mode: tl.SparseFF(
        24, 4, 3, mode=mode, multiply_by_controller_output=True, ff_chunk_size=2
    ),
    "BlockSparseFF": lambda mode: tl.BlockSparseFF(24, 4, mode=mode),
    "SwitchSparseFF": lambda mode: tl.SwitchSparseFF(24, 4, mode=mode),
    "sparse or dense": lambda mode: tl.SparseDenseWithOptions(
        5, 8, "mult", 5, prob_sparse=0.3, mode=mode
    ),
    "Rotate": lambda mode: rotary_positional_embedding.Rotate(mode=mode),
    "language model": language_model,
}
ONE_AT_A_TIME = {
    "InfinitePositionalEncoding": lambda mode: tl.InfinitePositionalEncoding(
        affine=False, transform="diag", time_bin_length=2, mode=mode
    ),
    "InfinitePositionalEncoding, any": lambda mode: tl.InfinitePositionalEncoding(
        affine=False, mode=mode
    ),
    "TimeBinPositionalEncoding": lambda mode: tl.TimeBinPositionalEncoding(3, mode=mode),
}
