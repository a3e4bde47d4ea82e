"""Adam: the moving average of gradients, divided by the root of the average of their squares."""

from typing import Any

from .. import option_checks
from ..fastmath import numpy as jnp
from .base import FormulaOptimizer, Numbers, moved, zeros_of_state

__all__ = ["Adam"]


class Adam(FormulaOptimizer):
    """Adam, with decoupled weight decay.

        m ← (1 − b1) · g + b1 · m
        v ← (1 − b2) · g² + b2 · v
        m̂ = m / (1 − b1^(t+1)),  v̂ = v / (1 − b2^(t+1))
        w ← (1 − weight_decay_rate) · w − learning_rate · m̂ / (√v̂ + eps)

    Weight decay is on by default, and is not multiplied by the learning rate. `t` is the argument
    `step`. Training loops count from 1, so their first step is corrected for bias as if it were the
    second one: it changes weights by 0.744 · learning_rate instead of learning_rate.

    Args:
      learning_rate: the learning rate, at least 0.
      weight_decay_rate: the fraction of the weights removed at each step, from 0 to 1.
      b1: decay rate of the average m, at least 0 and less than 1.
      b2: decay rate of the average v, at least 0 and less than 1.
      eps: added to the divisor, at least 0.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option is not a number, or out of range.

    A slot is (m, v), which begin as zeros.

    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.Adam(learning_rate=0.1, weight_decay_rate=0.0)
      >>> slots, opt_params = optimizer.tree_init((np.ones(2),))
      >>> gradients = (np.array([3.0, -4.0]),)
      >>> weights, slots, _ = optimizer.tree_update(0, gradients, (np.ones(2),), slots, opt_params)
      >>> weights[0].round(4)
      Array([0.9, 1.1], dtype=float32)
    Source: Kingma and Ba, Adam (2015); Loshchilov and Hutter, Decoupled weight decay regularization
      (2019); Trax documentation, `optimizers.adam.Adam`.
    """

    def __init__(
        self,
        learning_rate: float = 0.0001,
        weight_decay_rate: float = 1e-5,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-5,
        clip_grad_norm: float | None = None,
    ) -> None:
        option_checks.number("Adam", "weight_decay_rate", weight_decay_rate, least=0.0, most=1.0)
        super().__init__(
            learning_rate,
            clip_grad_norm,
            weight_decay_rate=weight_decay_rate,
            b1=option_checks.checked_rate("Adam", b1, "b1"),
            b2=option_checks.checked_rate("Adam", b2, "b2"),
            eps=option_checks.number("Adam", "eps", eps, least=0.0),
        )

    def init(self, weights: Any) -> tuple[Any, Any]:
        """The first slot: (m, v), zeros."""
        return zeros_of_state(weights), zeros_of_state(weights)

    def _prepare(self, p: Numbers, t: Any) -> None:
        p.m_total = _sum_of_shares(p.b1, t + 1)
        p.v_total = _sum_of_shares(p.b2, t + 1)

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        m, v = slot
        m = (1 - p.b1) * g + p.b1 * m
        v = (1 - p.b2) * jnp.square(g) + p.b2 * v
        step = p.learning_rate * (m / p.m_total) / (jnp.sqrt(v / p.v_total) + p.eps)
        return moved(w, step, p.weight_decay_rate), (m, v)


def _sum_of_shares(b: Any, steps: Any) -> Any:
    """1 − b^steps. Computed directly in float32, the difference has only 5 digits for b = 0.999 and
    2 steps."""
    return -jnp.expm1(steps * jnp.log(b))
