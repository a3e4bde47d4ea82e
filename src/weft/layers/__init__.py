"""Neural-network layers that pass tensors on a data stack, on any backend of `fastmath`."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "acceleration": """
            Accelerate for_n_devices jit_forward mean_or_pmean on_accelerator on_cpu
            reshape_by_device
        """,
        "activation_fns": """
            Elu Exp FastGelu Gelu Glu HardSigmoid HardTanh LeakyRelu Log ParametricRelu Relu Selu
            Sigmoid Softplus Swish Tanh ThresholdedLinearUnit
        """,
        "assert_shape": "AssertFunction AssertShape assert_shape",
        "attention": """
            Attention AttentionQKV CausalAttention ConfigurableAttention DotProductAttention
            DotProductCausalAttention EncoderDecoderMask MergeHeads PaddingMask PositionalEncoding
            PureAttention ShiftRight SplitIntoHeads
        """,
        "base": """
            EMPTY_STATE EMPTY_WEIGHTS GET_STATE_FROM_CACHE GET_WEIGHTS_FROM_CACHE N_WEIGHTS_SHARDS
            Fn Layer LayerError PureLayer flatten_weights_and_state np_from_file np_to_file shard
            to_list unflatten_weights_and_state unshard unshard_in_pmap
        """,
        "combinators": """
            Add BatchLeadingAxes Bidirectional Branch Cache Chunk Concatenate Cond Drop Dup
            FlattenList Gate Multiply Parallel Residual Scan Select Serial SerialWithSideOutputs
            Split SubtractTop Swap inputs_from_stack outputs_onto_stack
        """,
        "convolution": "CausalConv CausalDepthwiseConv Conv Conv1d",
        "core": """
            ArgMax Dense Dropout Embedding Flatten LocallyConnected1d LogSoftmax LogSumExp Max Mean
            Min Negate PrintShape RandomUniform Softmax StopGradient Sum SummaryImage SummaryScalar
            ThresholdToBinary ToFloat Weights log_gaussian_diag_pdf log_gaussian_pdf log_softmax
            logsoftmax_sample multigaussian_loss one_hot
        """,
        "deconvolution": "ConvTranspose",
        "drawings": "draw",
        "flash_attention": "FlashAttention",
        "initializers": """
            AtariConvInit GlorotNormalInitializer GlorotUniformInitializer Initializer
            InitializerFromFile KaimingNormalInitializer KaimingUniformInitializer
            LeCunNormalInitializer LeCunUniformInitializer OrthogonalInitializer
            RandomNormalInitializer RandomUniformInitializer ScaledInitializer
        """,
        "metrics": """
            Accuracy BinaryCrossEntropy BinaryCrossEntropyLoss BinaryCrossEntropySum
            CategoryAccuracy CategoryCrossEntropy CrossEntropyLoss CrossEntropyLossWithLogSoftmax
            CrossEntropySum L2Loss MacroAveragedFScore MaskedSequenceAccuracy SequenceAccuracy
            SmoothL1Loss WeightedCategoryAccuracy WeightedCategoryCrossEntropy WeightedFScore
            WeightedSum
        """,
        "modes": "in_mode share_weights",
        "normalization": "BatchNorm FilterResponseNorm LayerNorm",
        "pooling": "AvgPool MaxPool SumPool",
        "precision": "InPrecision",
        "recipes": "takes_mode",
        "research": """
            LSHFF AttentionResampling AveragePooling AxialPositionalEncoding BlockSparseFF
            CausalFavor CausalFavorAttention ConvCausalAttention CreateAttentionMaskLayer
            EfficientAttentionBase EinsumDense EncDecAttention FactoredDense Favor FavorAttention
            FeedForwardBlock FixedBasePositionalEncoding InfinitePositionalEncoding LSHSelfAttention
            LinearPooling LinearUpsampling LocallyConnectedDense LocallyConvDense
            LowRankCausalAttention LowRankDense MergeLastTwoAxes MixedLSHSelfAttention
            ModularCausalAttention MultiplicativeCausalAttention MultiplicativeConvCausalAttention
            MultiplicativeModularCausalAttention MultiplicativeModularSparseDense NaiveUpsampling
            NoUpsampling PositionalEmbeddings PureLSHSelfAttention PureLSHSelfAttentionWrapper
            RandomLayer RelativeAttention RelativeAttentionLMLayer RelativeAttentionLayer
            RelativeAttentionWrapper ReversibleRandomPermute ReversibleReshapePermute Rotate
            SelfAttention ShiftRightCls SinCosPositionalEncoding SparseDenseWithOptions SparseFF
            SplitLastAxis SwitchSparseFF TimeBinPositionalEncoding apply_broadcasted_dropout attend
            calc_funnel_ratio get_rel_att_inputs hash_vecs length_normalized look_adjacent
            mask_self_attention permute_via_gather permute_via_sort rotate threefry_2x32_prange
            threefry_2x32_prf
        """,
        "reversible": """
            ReversibleConcatenatePair ReversibleHalfResidual ReversibleLayer ReversiblePrintShape
            ReversibleReshape ReversibleSelect ReversibleSerial ReversibleSwap
        """,
        "rnn": """
            GRU LSTM SRU ConvGRUCell GRUCell GeneralGRUCell InnerSRUCell LSTMCell MakeZeroState
            ScanSRUCell
        """,
        "summaries": "SummaryRow summary summary_rows",
    },
    modules="""
        acceleration activation_fns attention base combinators convolution core deconvolution
        drawings flash_attention initializers metrics modes normalization pooling precision recipes
        research reversible rnn summaries test_utils
    """,
)
