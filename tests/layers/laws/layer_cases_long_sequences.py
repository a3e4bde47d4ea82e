"""Rows of reversible layers and of attention over long sequences."""

import functools

import numpy as onp
from layer_cases import LayerCase

from weft import layers as tl

RANDOM = {"backends": "random streams differ"}
CHUNKS = {"n_heads": 2, "d_qk": 3, "d_v": 3, "chunk_len": 2, "n_hashes": 2, "n_buckets": 4}
hashed = functools.partial(tl.LSHSelfAttention, **CHUNKS)
pure = functools.partial(tl.PureLSHSelfAttention, **CHUNKS)
# Finite differences and other precisions move vectors to other buckets.
BUCKETS = {"derivative": "buckets are chosen anew", "bfloat16": "buckets are chosen anew", **RANDOM}
PADDED = onp.array([[1] * 4, [1] * 3 + [0]], bool)
PAIR = ((2, 4, 3), (2, 4, 3))


def swapped(*layers):
    """Reversible residual layers, each with the two streams swapped after it."""
    halves = [[tl.ReversibleHalfResidual(layer), tl.ReversibleSwap()] for layer in layers]
    return tl.ReversibleSerial(*halves)


attention = functools.partial(tl.SelfAttention, n_heads=2, d_qk=3, d_v=2)

CASES = [
    LayerCase("ReversibleConcatenatePair", tl.ReversibleConcatenatePair, ((2, 3), (2, 3))),
    LayerCase("ReversibleSelect", lambda: tl.ReversibleSelect([1, 0, 1]), ((2, 3), (3,))),
    LayerCase("ReversibleSwap", tl.ReversibleSwap, ((2, 3), (3,))),
    LayerCase("ReversibleReshape", lambda: tl.ReversibleReshape((2, 3), (3, 2)), ((2, 3, 2),)),
    LayerCase("ReversibleSerial", lambda: swapped(tl.Dense(3), [tl.LayerNorm(), tl.Dense(3)]),
              ((2, 3), (2, 3))),
    LayerCase("ReversibleHalfResidual", lambda: tl.ReversibleHalfResidual(
        tl.LayerNorm(), attention_layer=attention(causal=True)), ((2, 4, 3), (2, 4, 3))),
    LayerCase("ReversibleHalfResidual, dropout", lambda: swapped(tl.Dropout(0.5), tl.Dense(3)),
              ((2, 3), (2, 3)), RANDOM),
    LayerCase("SelfAttention", attention, ((2, 4, 3),)),
    LayerCase("SelfAttention, chunks", lambda: attention(
        causal=True, share_qk=True, chunk_len=2, n_chunks_before=1, n_parallel_heads=1),
        ((1, 4, 3),)),
    LayerCase("SelfAttention, a group of chunks and the rest", lambda: tl.SelfAttention(
        n_heads=1, d_qk=2, d_v=2, chunk_len=64, n_chunks_before=1), ((1, 384, 2),),
        {"backends": "others take all chunks at once"}),
    LayerCase("SelfAttention, masked", lambda: attention(
        masked=True, bias=True, n_parallel_heads=2), ((2, 4, 3), PADDED)),
    LayerCase("SelfAttention, dropout", lambda: attention(
        attention_dropout=0.5, output_dropout=0.5, n_parallel_heads=2), ((2, 4, 3),), RANDOM),
    LayerCase("EncDecAttention", lambda: tl.EncDecAttention(n_heads=2, d_qk=3, d_v=2),
              ((2, 3, 4), (2, 4, 5), PADDED)),
    LayerCase("LSHSelfAttention", lambda: hashed(causal=True), ((2, 4, 3),), BUCKETS),
    LayerCase("LSHSelfAttention, masked", lambda: hashed(
        masked=True, bias=True, n_parallel_heads=2), ((2, 4, 3), PADDED), BUCKETS),
    LayerCase("PureLSHSelfAttention", lambda: pure(causal=True), ((4, 4, 3), (4, 4, 3)), BUCKETS),
    LayerCase("MixedLSHSelfAttention", lambda: tl.MixedLSHSelfAttention(
        causal=True, std_length=4, **CHUNKS), ((4, 4, 3), (4, 4, 3)),
        gives="float32"),
    LayerCase("PureLSHSelfAttentionWrapper", lambda: tl.PureLSHSelfAttentionWrapper(
        causal=True, pure_lsh_implementation=tl.PureLSHSelfAttention, **CHUNKS), ((2, 4, 6),),
        BUCKETS),
    LayerCase("LSHFF", lambda: tl.LSHFF(8, n_buckets=2, n_hashes=1), ((3, 4),), BUCKETS),
]  # fmt: skip
