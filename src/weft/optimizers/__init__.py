"""Optimizers: Trax's, and an adapter for optax transformations.

Source: Trax documentation, `trax.optimizers`.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "adafactor": "Adafactor",
        "adam": "Adam",
        "base": "SGD Optimizer clip_grads l2_norm",
        "momentum": "Momentum",
        "optax": "from_optax",
        "reversible_trainer": """
            ReversibleSerialTrainer extract_reversible_blocks init_reversible_blocks
        """,
        "rms_prop": "RMSProp",
        "sm3": "SM3 MomentumType",
        "trainer": "Trainer",
    },
    modules="adafactor adam base momentum rms_prop sm3 trainer",
)
