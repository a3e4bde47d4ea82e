"""Functions for neural networks: activations, normalisation, attention, initializers."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "activations": """
            celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu
            log1mexp log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus
            sparse_sigmoid squareplus swish tanh
        """,
        "attention": "dot_product_attention",
        "normalization": "normalize standardize",
        "one_hot": "one_hot",
        "scaled_products": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
        "softmax": "log_softmax logmeanexp logsumexp softmax",
    },
    modules="initializers",
)
