"""Stax: neural networks as pairs (init_fun, apply_fun), composed in series and in parallel."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "activations": """
            Elu Exp Gelu LeakyRelu LogSoftmax Relu Selu Sigmoid Softmax Softplus Tanh elementwise
        """,
        "basic_layers": "BatchNorm Dense Dropout Flatten Identity glorot randn",
        "combinators": "FanInConcat FanInSum FanOut parallel serial shape_dependent",
        "convolutions": "Conv Conv1DTranspose ConvTranspose GeneralConv GeneralConvTranspose",
        "pooling": "AvgPool MaxPool SumPool",
    },
)
