"""Layers of research: encodings of positions, relative and rotary attention, resampling."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from . import (
        modular_dense,
        position_encodings,
        rel_attention,
        resampling,
        rotary_positional_embedding,
    )
    from .modular_dense import FactoredDense, LocallyConvDense, MergeLastTwoAxes, SplitLastAxis
    from .position_encodings import (
        AxialPositionalEncoding,
        FixedBasePositionalEncoding,
        InfinitePositionalEncoding,
        SinCosPositionalEncoding,
        TimeBinPositionalEncoding,
        threefry_2x32_prange,
        threefry_2x32_prf,
    )
    from .rel_attention import (
        CreateAttentionMaskLayer,
        DotProductAttention,
        PositionalEmbeddings,
        RelativeAttention,
        RelativeAttentionLayer,
        RelativeAttentionLMLayer,
        RelativeAttentionWrapper,
        ShiftRightCls,
        calc_funnel_ratio,
        get_rel_att_inputs,
    )
    from .resampling import (
        AttentionResampling,
        AveragePooling,
        FeedForwardBlock,
        LinearPooling,
        LinearUpsampling,
        NaiveUpsampling,
        NoUpsampling,
    )
    from .rotary_positional_embedding import Rotate, rotate

__all__ = [
    "AttentionResampling",
    "AveragePooling",
    "AxialPositionalEncoding",
    "CreateAttentionMaskLayer",
    "DotProductAttention",
    "FactoredDense",
    "FeedForwardBlock",
    "FixedBasePositionalEncoding",
    "InfinitePositionalEncoding",
    "LinearPooling",
    "LinearUpsampling",
    "LocallyConvDense",
    "MergeLastTwoAxes",
    "NaiveUpsampling",
    "NoUpsampling",
    "PositionalEmbeddings",
    "RelativeAttention",
    "RelativeAttentionLMLayer",
    "RelativeAttentionLayer",
    "RelativeAttentionWrapper",
    "Rotate",
    "ShiftRightCls",
    "SinCosPositionalEncoding",
    "SplitLastAxis",
    "TimeBinPositionalEncoding",
    "calc_funnel_ratio",
    "get_rel_att_inputs",
    "modular_dense",
    "position_encodings",
    "rel_attention",
    "resampling",
    "rotary_positional_embedding",
    "rotate",
    "threefry_2x32_prange",
    "threefry_2x32_prf",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "modular_dense": (
            "FactoredDense",
            "LocallyConvDense",
            "MergeLastTwoAxes",
            "SplitLastAxis",
        ),
        "position_encodings": (
            "AxialPositionalEncoding",
            "FixedBasePositionalEncoding",
            "InfinitePositionalEncoding",
            "SinCosPositionalEncoding",
            "TimeBinPositionalEncoding",
            "threefry_2x32_prange",
            "threefry_2x32_prf",
        ),
        "rel_attention": (
            "CreateAttentionMaskLayer",
            "DotProductAttention",
            "PositionalEmbeddings",
            "RelativeAttention",
            "RelativeAttentionLMLayer",
            "RelativeAttentionLayer",
            "RelativeAttentionWrapper",
            "ShiftRightCls",
            "calc_funnel_ratio",
            "get_rel_att_inputs",
        ),
        "resampling": (
            "AttentionResampling",
            "AveragePooling",
            "FeedForwardBlock",
            "LinearPooling",
            "LinearUpsampling",
            "NaiveUpsampling",
            "NoUpsampling",
        ),
        "rotary_positional_embedding": (
            "Rotate",
            "rotate",
        ),
    },
    with_modules=True,
)
