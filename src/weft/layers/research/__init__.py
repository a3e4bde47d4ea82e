"""Research layers: positional encodings, relative and rotary attention, resampling."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "efficient_attention": """
            LSHFF EfficientAttentionBase EncDecAttention LSHSelfAttention MixedLSHSelfAttention
            PureLSHSelfAttention PureLSHSelfAttentionWrapper SelfAttention apply_broadcasted_dropout
            attend hash_vecs length_normalized look_adjacent mask_self_attention permute_via_gather
            permute_via_sort
        """,
        "position_encodings": """
            AxialPositionalEncoding FixedBasePositionalEncoding InfinitePositionalEncoding
            SinCosPositionalEncoding TimeBinPositionalEncoding threefry_2x32_prange
            threefry_2x32_prf
        """,
        "rel_attention": """
            CreateAttentionMaskLayer DotProductAttention PositionalEmbeddings RelativeAttention
            RelativeAttentionLMLayer RelativeAttentionLayer RelativeAttentionWrapper ShiftRightCls
            calc_funnel_ratio get_rel_att_inputs
        """,
        "resampling": """
            AttentionResampling AveragePooling FeedForwardBlock LinearPooling LinearUpsampling
            NaiveUpsampling NoUpsampling
        """,
        "rotary_positional_embedding": "Rotate rotate",
        "sparsity": """
            BlockSparseFF CausalFavor CausalFavorAttention ConvCausalAttention EinsumDense
            FactoredDense Favor FavorAttention LocallyConnectedDense LocallyConvDense
            LowRankCausalAttention LowRankDense MergeLastTwoAxes ModularCausalAttention
            MultiplicativeCausalAttention MultiplicativeConvCausalAttention
            MultiplicativeModularCausalAttention MultiplicativeModularSparseDense RandomLayer
            ReversibleRandomPermute ReversibleReshapePermute SparseDenseWithOptions SparseFF
            SplitLastAxis SwitchSparseFF
        """,
    },
    modules="""
        efficient_attention position_encodings rel_attention resampling rotary_positional_embedding
        sparsity
    """,
)
