"""SM3: sums of squared gradients, stored as one vector for each axis; MomentumType: its kinds of
momentum."""

import enum
from functools import reduce
from typing import Any

from .. import option_checks
from ..fastmath import numpy as jnp
from ..user_lines import noted
from .base import FormulaOptimizer, Numbers, in_float32, zeros_of_state

__all__ = ["SM3", "MomentumType"]


class MomentumType(enum.IntEnum):
    """Kinds of momentum of SM3, where p is the step without momentum.

    Attributes:
      EMA: m ← (1 − momentum) · p + momentum · m; the step is m.
      HEAVY_BALL: m ← p + momentum · m; the step is m.
      NESTEROV: m ← p + momentum · m; the step is p + momentum · m.
    Example:
      >>> from weft import optimizers
      >>> nesterov = optimizers.SM3(0.1, momentum_type=optimizers.MomentumType.NESTEROV)
      >>> slots, opt_params = nesterov.tree_init((np.ones(2),))
      >>> weights, *_ = nesterov.tree_update(0, (np.ones(2),), (np.ones(2),), slots, opt_params)
      >>> weights[0].round(3)
      Array([0.81, 0.81], dtype=float32)
    """

    EMA = 1
    HEAVY_BALL = 2
    NESTEROV = 3


class SM3(FormulaOptimizer):
    """SM3: Adagrad with sums of squares stored as one vector for each axis.

    With b = `second_moment_averaging`, and k = 1 for b = 1, otherwise 1 − b:

        a  = b · min_i(v1[i], along all other axes) + k · g²
        p  = g / (√a + 1e-16) where a > 0, otherwise 0
        p  ← p · ‖g / √(Σ g²)‖ / ‖p‖          for b ≠ 1: the length of Adagrad's step
        p  ← p + weight_decay · w
        m, u: by `momentum_type`
        w  ← w − learning_rate · u
        v1[i] ← the maxima of a over all axes but i

    In the third line, Adagrad's sums of g² are estimated like `a` with b = k = 1, in vectors v2.

    Args:
      learning_rate: the learning rate, at least 0.
      momentum: decay rate of m, at least 0 and less than 1; 0 for no momentum.
      second_moment_averaging: b, greater than 0 and at most 1; 1 uses sums instead of averages.
      weight_decay: factor of the weights in p, at least 0. It is multiplied by the learning rate,
        and is subject to momentum.
      momentum_type: the kind of momentum.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option is not a number, or out of range.

    A slot is (m, v1, v2). m has the shape of the weights, or is [] without momentum. v1 and v2 are
    lists with a vector for each axis; v2 is [] for b = 1. All begin as zeros. An array without axes
    counts as a vector of length 1.

    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.SM3(learning_rate=0.5, momentum=0.0)
      >>> slots, opt_params = optimizer.tree_init((np.zeros((3, 2)),))
      >>> gradients = (np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),)
      >>> weights, slots, _ = optimizer.tree_update(
      ...     1, gradients, (np.zeros((3, 2)),), slots, opt_params
      ... )
      >>> slots[0][1]
      [Array([ 4., 16., 36.], dtype=float32), Array([25., 36.], dtype=float32)]
    Source: Anil, Gupta, Koren and Singer, Memory-efficient adaptive optimization (2019); Agarwal et
      al., Disentangling adaptive gradient methods from learning rates (2020); Trax documentation,
      `optimizers.sm3.SM3`.
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        second_moment_averaging: float = 1.0,
        weight_decay: float = 0.0,
        momentum_type: MomentumType = MomentumType.EMA,
        clip_grad_norm: float | None = None,
    ) -> None:
        averaging = option_checks.number(
            "SM3", "second_moment_averaging", second_moment_averaging, above=0.0, most=1.0
        )
        super().__init__(
            learning_rate,
            clip_grad_norm,
            momentum=option_checks.checked_rate("SM3", momentum, "momentum"),
            second_moment_averaging=averaging,
            weight_decay=option_checks.number("SM3", "weight_decay", weight_decay, least=0.0),
        )
        if isinstance(momentum_type, bool) or momentum_type not in list(MomentumType):
            kinds = " or ".join(f"MomentumType.{kind.name}" for kind in MomentumType)
            raise noted(ValueError(f"SM3: momentum_type must be {kinds}; got {momentum_type!r}"))
        self._momentum_type = momentum_type
        self._has_momentum = momentum > 0
        self._grafts = second_moment_averaging != 1

    def init(self, weights: Any) -> tuple[Any, list[Any], list[Any]]:
        """The first slot: (m, v1, v2), zeros."""
        dtype = in_float32(weights).dtype

        def vectors() -> list[Any]:
            return [jnp.zeros((n,), dtype=dtype) for n in tuple(weights.shape) or (1,)]

        m = zeros_of_state(weights) if self._has_momentum else []
        return m, vectors(), vectors() if self._grafts else []

    def _prepare(self, p: Numbers, t: Any) -> None:
        b = p.second_moment_averaging
        p.new_share = jnp.where(b == 1, 1.0, 1 - b)

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        m, v1, v2 = slot
        shape = tuple(w.shape) or (1,)
        squares = jnp.square(jnp.reshape(g, shape))
        sums = p.second_moment_averaging * _least(v1, shape) + p.new_share * squares
        u = _preconditioned(g, sums)
        v1 = _greatest(sums)
        if self._grafts:
            sums = _least(v2, shape) + squares
            u = u * (_norm(_preconditioned(g, sums)) / (_norm(u) + _TINY))
            v2 = _greatest(sums)
        u = u + p.weight_decay * w
        if self._has_momentum:
            u, m = self._with_momentum(u, m, p.momentum)
        return w - p.learning_rate * u, (m, v1, v2)

    def _with_momentum(self, u: Any, m: Any, momentum: Any) -> tuple[Any, Any]:
        """The step and the new m."""
        if self._momentum_type == MomentumType.EMA:
            m = (1 - momentum) * u + momentum * m
            return m, m
        m = u + momentum * m
        return (m if self._momentum_type == MomentumType.HEAVY_BALL else u + momentum * m), m


_TINY = 1e-16


def _least(vectors: list[Any], shape: tuple[int, ...]) -> Any:
    """The elementwise minimum of vectors, each broadcast along its own axis."""
    along = []
    for axis, vector in enumerate(vectors):
        lengths = [1] * len(shape)
        lengths[axis] = shape[axis]
        along.append(jnp.reshape(vector, lengths))
    return reduce(jnp.minimum, along)


def _greatest(sums: Any) -> list[Any]:
    """For each axis, the maxima over all other axes."""
    axes = range(len(sums.shape))
    if len(axes) == 1:
        return [sums]
    return [jnp.max(sums, axis=tuple(a for a in axes if a != axis)) for axis in axes]


def _preconditioned(g: Any, sums: Any) -> Any:
    """The gradient divided by the root of the sums of squares; 0 where the sums are 0."""
    sums = jnp.reshape(sums, g.shape)
    is_positive = sums > 0
    return g * jnp.where(is_positive, 1 / (jnp.sqrt(jnp.where(is_positive, sums, 1)) + _TINY), 0)


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.vdot(x, x))
