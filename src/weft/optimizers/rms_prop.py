"""RMSProp: the gradient, divided by the root of a moving average of its squares."""

from typing import Any

from .. import option_checks
from ..fastmath import numpy as jnp
from .base import FormulaOptimizer, Numbers, in_float32

__all__ = ["RMSProp"]


class RMSProp(FormulaOptimizer):
    """RMSProp.

        a ← gamma · a + (1 − gamma) · g²
        w ← w − learning_rate · g / (√a + eps)

    The average `a` begins at 1, so the first steps are short where gradients are small.

    Args:
      learning_rate: the learning rate, at least 0.
      gamma: decay rate of `a`, from 0 to 1.
      eps: added to the divisor, at least 0.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option is not a number, or out of range.

    A slot is `a`, which begins as ones.

    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.RMSProp(learning_rate=0.1, gamma=0.75)
      >>> slots, opt_params = optimizer.tree_init((np.zeros(1),))
      >>> gradients = (np.array([1.0]),)
      >>> weights, slots, _ = optimizer.tree_update(1, gradients, (np.zeros(1),), slots, opt_params)
      >>> weights[0], slots[0]
      (Array([-0.1], dtype=float32), Array([1.], dtype=float32))
    Source: Tieleman and Hinton, Lecture 6.5: rmsprop (2012); Trax documentation,
      `optimizers.rms_prop.RMSProp`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma: float = 0.9,
        eps: float = 1e-8,
        clip_grad_norm: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate,
            clip_grad_norm,
            gamma=option_checks.number("RMSProp", "gamma", gamma, least=0.0, most=1.0),
            eps=option_checks.number("RMSProp", "eps", eps, least=0.0),
        )

    def init(self, weights: Any) -> Any:
        """The first slot: a, ones."""
        return jnp.ones_like(in_float32(weights))

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        a = p.gamma * slot + (1 - p.gamma) * jnp.square(g)
        return w - p.learning_rate * g / (jnp.sqrt(a) + p.eps), a
