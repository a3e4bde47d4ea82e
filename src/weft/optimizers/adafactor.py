"""Adafactor: averages of squared gradients, stored by rows and columns to save memory."""

from typing import Any

from .. import option_checks
from ..fastmath import numpy as jnp
from .base import FormulaOptimizer, Numbers, in_float32, moved, zeros_of_state

__all__ = ["Adafactor"]


class Adafactor(FormulaOptimizer):
    """Adafactor: second moments of a matrix, stored as one number for each row and each column.

    With t = `step` and N = `weight_decay_n_steps`:

        d  = 1 − (t+1)^(−decay_rate)
        wd = weight_decay_rate, or for N ≥ 1 weight_decay_rate · max(N − t, 0) / N
        s  = learning_rate · max(√mean(w²), epsilon2)
        v_row ← d · v_row + (1−d) · (mean of g² over each row),  v_col over each column
        y  = g · √(mean(v_row) / (v_row + epsilon1)) / √(v_col + epsilon1)
        y  ← y / max(1, √mean(y²) / clipping_threshold)
        m  ← beta1 · m + (1 − beta1) · s · y
        w  ← (1 − wd) · w − m

    Arrays with fewer than two axes, and all arrays with `factored=False`, use an average v of g²
    itself, and y = g / √(v + epsilon1). Arrays with more axes are stacks of matrices in the last
    two. Without `multiply_by_parameter_scale`, s is the learning rate; without `do_clipping`, y is
    not divided; without `do_momentum`, the step is s · y.

    The averages begin at 0. Training loops count from 1, where d is 0.43: the first squares have
    the weight 0.57 instead of 1, so the first steps are longer.

    Args:
      learning_rate: the learning rate, at least 0.
      factored: whether to store averages of rows and columns only, for matrices.
      multiply_by_parameter_scale: whether steps are proportional to the size of the weights.
      do_clipping: whether to limit the root mean square of y, for each array.
      do_momentum: whether to average the steps.
      momentum_in_bfloat16: whether to store that average as bfloat16.
      beta1: decay rate of that average, from 0 to 1.
      decay_rate: exponent in d, at least 0.
      clipping_threshold: the limit of y, greater than 0; None means `do_clipping=False`.
      weight_decay_rate: the fraction of the weights removed at each step, from 0 to 1.
      weight_decay_n_steps: the number of steps in which weight decay falls to 0; 0 or None for
        constant decay.
      epsilon1: added to averages of squares, at least 0.
      epsilon2: lower bound for the size of the weights in s, at least 0.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option has the wrong type, or is out of range.

    A slot is a list: v_row and v_col, or v; then m with `do_momentum`. All begin as zeros.

    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.Adafactor(learning_rate=0.1)
      >>> slots, opt_params = optimizer.tree_init((np.ones((3, 2)), np.ones(2)))
      >>> [[x.shape for x in slot] for slot in slots]
      [[(3,), (2,)], [(2,)]]
    Source: Shazeer and Stern, Adafactor (2018); Trax documentation,
      `optimizers.adafactor.Adafactor`.
    """

    def __init__(
        self,
        learning_rate: float = 0.05,
        factored: bool = True,
        multiply_by_parameter_scale: bool = True,
        do_clipping: bool = True,
        do_momentum: bool = False,
        momentum_in_bfloat16: bool = False,
        beta1: float = 0.0,
        decay_rate: float = 0.8,
        clipping_threshold: float | None = 1.0,
        weight_decay_rate: float = 1e-5,
        weight_decay_n_steps: int | None = 0,
        epsilon1: float = 1e-16,
        epsilon2: float = 1e-3,
        clip_grad_norm: float | None = None,
    ) -> None:
        def number(option: str, value: Any, **limits: float) -> Any:
            return option_checks.number("Adafactor", option, value, **limits)

        def flag(option: str, value: Any) -> bool:
            return option_checks.flag("Adafactor", option, value)

        threshold = 1.0 if clipping_threshold is None else clipping_threshold
        n_steps = 0 if weight_decay_n_steps is None else weight_decay_n_steps
        super().__init__(
            learning_rate,
            clip_grad_norm,
            beta1=number("beta1", beta1, least=0.0, most=1.0),
            decay_rate=number("decay_rate", decay_rate, least=0.0),
            clipping_threshold=number("clipping_threshold", threshold, above=0.0),
            weight_decay_rate=number("weight_decay_rate", weight_decay_rate, least=0.0, most=1.0),
            weight_decay_n_steps=number("weight_decay_n_steps", n_steps, least=0.0),
            epsilon1=number("epsilon1", epsilon1, least=0.0),
            epsilon2=number("epsilon2", epsilon2, least=0.0),
        )
        clips = flag("do_clipping", do_clipping)
        self._factored = flag("factored", factored)
        self._scales = flag("multiply_by_parameter_scale", multiply_by_parameter_scale)
        self._clips = clips and clipping_threshold is not None
        self._has_momentum = flag("do_momentum", do_momentum)
        self._momentum_in_bfloat16 = flag("momentum_in_bfloat16", momentum_in_bfloat16)

    def init(self, weights: Any) -> list[Any]:
        """The first slot: [v_row, v_col] or [v], and m with `do_momentum`."""
        slot = [zeros_of_state(weights)]
        if self._is_factored(weights):
            shape = tuple(weights.shape)
            shapes = shape[:-1], (*shape[:-2], shape[-1])
            slot = [jnp.zeros(s, dtype=jnp.float32) for s in shapes]
        if self._has_momentum:
            dtype = jnp.bfloat16 if self._momentum_in_bfloat16 else in_float32(weights).dtype
            slot.append(jnp.zeros_like(weights, dtype=dtype))
        return slot

    def _prepare(self, p: Numbers, t: Any) -> None:
        p.new_share = (t + 1) ** -p.decay_rate  # 1 − d: more accurate than the difference
        n = p.weight_decay_n_steps
        left = jnp.where(n < 1, 1.0, jnp.maximum(n - t, 0) / jnp.maximum(n, 1))
        p.decay = p.weight_decay_rate * left

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        y, new_slot = self._scaled(g, slot, p)
        if self._clips:
            y = y / jnp.maximum(1.0, _root_mean_square(y) / p.clipping_threshold)
        scale = p.learning_rate
        if self._scales:
            scale = scale * jnp.maximum(_root_mean_square(w), p.epsilon2)
        u = scale * y
        if self._has_momentum:
            u = p.beta1 * slot[-1].astype(u.dtype) + (1 - p.beta1) * u
            new_slot.append(u.astype(slot[-1].dtype))
        return moved(w, u, p.decay), new_slot

    def _is_factored(self, weights: Any) -> bool:
        return self._factored and len(weights.shape) >= 2

    def _scaled(self, g: Any, slot: Any, p: Numbers) -> tuple[Any, list[Any]]:
        """The gradient divided by the root of the average of its squares, and the new averages."""
        squares = jnp.square(g)

        def mean(old: Any, new: Any) -> Any:
            return ((1 - p.new_share) * old + p.new_share * new).astype(old.dtype)

        if not self._is_factored(g):
            v = mean(slot[0], squares)
            return g / jnp.sqrt(v + p.epsilon1), [v]
        v_row = mean(slot[0], jnp.mean(squares, axis=-1))
        v_col = mean(slot[1], jnp.mean(squares, axis=-2))
        of_rows = jnp.sqrt(jnp.mean(v_row, axis=-1, keepdims=True) / (v_row + p.epsilon1))
        of_columns = 1 / jnp.sqrt(v_col + p.epsilon1)
        return g * of_rows[..., None] * of_columns[..., None, :], [v_row, v_col]


def _root_mean_square(x: Any) -> Any:
    return jnp.sqrt(jnp.mean(jnp.square(x)))
