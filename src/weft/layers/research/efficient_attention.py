"""Attention for long sequences: in chunks, over hash buckets, a few heads at a time."""

from .chunked_attention import (
    apply_broadcasted_dropout,
    attend,
    hash_vecs,
    length_normalized,
    look_adjacent,
    mask_self_attention,
    permute_via_gather,
    permute_via_sort,
)
from .efficient_attention_base import EfficientAttentionBase
from .lsh_attention import LSHSelfAttention, PureLSHSelfAttention
from .lsh_feed_forward import LSHFF
from .mixed_lsh_attention import MixedLSHSelfAttention, PureLSHSelfAttentionWrapper
from .self_attention import EncDecAttention, SelfAttention

__all__ = [
    "LSHFF",
    "EfficientAttentionBase",
    "EncDecAttention",
    "LSHSelfAttention",
    "MixedLSHSelfAttention",
    "PureLSHSelfAttention",
    "PureLSHSelfAttentionWrapper",
    "SelfAttention",
    "apply_broadcasted_dropout",
    "attend",
    "hash_vecs",
    "length_normalized",
    "look_adjacent",
    "mask_self_attention",
    "permute_via_gather",
    "permute_via_sort",
]
