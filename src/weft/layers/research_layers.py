"""The layers of `layers.research` that are names of `layers` too.

All but `rel_attention.DotProductAttention`, a function; `layers` has the layer of that name.
"""

from .research.modular_dense import (
    FactoredDense,
    LocallyConvDense,
    MergeLastTwoAxes,
    SplitLastAxis,
)
from .research.position_encodings import (
    AxialPositionalEncoding,
    FixedBasePositionalEncoding,
    InfinitePositionalEncoding,
    SinCosPositionalEncoding,
    TimeBinPositionalEncoding,
    threefry_2x32_prange,
    threefry_2x32_prf,
)
from .research.rel_attention import (
    CreateAttentionMaskLayer,
    PositionalEmbeddings,
    RelativeAttention,
    RelativeAttentionLayer,
    RelativeAttentionLMLayer,
    RelativeAttentionWrapper,
    ShiftRightCls,
    calc_funnel_ratio,
    get_rel_att_inputs,
)
from .research.resampling import (
    AttentionResampling,
    AveragePooling,
    FeedForwardBlock,
    LinearPooling,
    LinearUpsampling,
    NaiveUpsampling,
    NoUpsampling,
)
from .research.rotary_positional_embedding import Rotate, rotate

__all__ = [
    "AttentionResampling",
    "AveragePooling",
    "AxialPositionalEncoding",
    "CreateAttentionMaskLayer",
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
    "rotate",
    "threefry_2x32_prange",
    "threefry_2x32_prf",
]
