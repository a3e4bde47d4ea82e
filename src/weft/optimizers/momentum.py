"""Momentum: gradient descent along a decaying sum of past gradients, optionally Nesterov's."""

from typing import Any

from .. import option_checks
from .base import FormulaOptimizer, Numbers, moved, zeros_of_state

__all__ = ["Momentum"]


class Momentum(FormulaOptimizer):
    """Gradient descent with momentum and weight decay.

        v ← mass · v + g
        u = mass · v + g with `nesterov`, otherwise v
        w ← (1 − weight_decay_rate) · w − learning_rate · u

    The learning rate is not part of v, so a change takes effect at once. Weight decay is on by
    default, and is not multiplied by the learning rate.

    Args:
      learning_rate: the learning rate, at least 0.
      mass: decay rate of v, from 0 to 1.
      weight_decay_rate: the fraction of the weights removed at each step, from 0 to 1.
      nesterov: whether to use Nesterov's momentum.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option is not a number, or out of range.

    A slot is v, which begins as zeros.

    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.Momentum(0.1, mass=0.5, weight_decay_rate=0.0, nesterov=False)
      >>> weights, gradients = (np.zeros(1),), (np.ones(1),)
      >>> slots, opt_params = optimizer.tree_init(weights)
      >>> for step in range(3):
      ...     weights, slots, _ = optimizer.tree_update(
      ...         step, gradients, weights, slots, opt_params
      ...     )
      ...     print(weights[0])
      [-0.1]
      [-0.25]
      [-0.425]
    Source: Sutskever et al., On the importance of initialization and momentum in deep learning
      (2013); Trax documentation, `optimizers.momentum.Momentum`.
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        mass: float = 0.9,
        weight_decay_rate: float = 1e-5,
        nesterov: bool = True,
        clip_grad_norm: float | None = None,
    ) -> None:
        name = "Momentum"
        option_checks.number(name, "weight_decay_rate", weight_decay_rate, least=0.0, most=1.0)
        super().__init__(
            learning_rate,
            clip_grad_norm,
            mass=option_checks.number(name, "mass", mass, least=0.0, most=1.0),
            weight_decay_rate=weight_decay_rate,
        )
        self._nesterov = option_checks.flag(name, "nesterov", nesterov)

    def init(self, weights: Any) -> Any:
        """The first slot: v, zeros."""
        return zeros_of_state(weights)

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        v = p.mass * slot + g
        u = p.mass * v + g if self._nesterov else v
        return moved(w, p.learning_rate * u, p.weight_decay_rate), v
