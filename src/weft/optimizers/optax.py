"""from_optax: makes an optimizer from an optax gradient transformation. optax is not imported: a
transformation is any object with `init(params)` and `update(updates, state, params)`.
"""

from typing import Any

from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..tree_util import PyTreeDef, tree_leaves, tree_map, tree_structure, tree_unflatten
from ..user_lines import noted
from .base import Optimizer, OptParams, in_float32

__all__ = ["from_optax"]

RATE = "learning_rate"


def from_optax(tx: Any, clip_grad_norm: float | None = None) -> Optimizer:
    """An optimizer that applies an optax gradient transformation.

    The transformation is applied to the gradients of all weights together, as in optax, and the
    result is added to the weights: w ← w + learning_rate · tx(g).

    `opt_params["learning_rate"]`, which a training loop sets from its schedule, has one of two
    meanings:

    - If the state of the transformation has one hyperparameter "learning_rate", as with
      `optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)`, it sets this hyperparameter.
      Without a schedule in the loop, the hyperparameter keeps its value.
    - Otherwise the result is multiplied by it. It is 1 by default, so `optax.adam(1e-3)` and
      `optax.adam(schedule)` work as in optax. With a schedule in the loop, use a learning rate of 1
      in the transformation: `optax.adam(1.0)`.

    The second meaning also applies if the state has several learning rates, or a schedule for it.

    Args:
      tx: the transformation: `init(params)` returns its state, and `update(updates, state, params)`
        returns (updates, state). For 16-bit weights, its arguments and its state are float32.
      clip_grad_norm: upper bound for the global norm of the gradients before the transformation;
        None for no clipping.
    Returns: an `Optimizer`. Its slots are a tuple with one entry, the state of `tx`.
    Raises: TypeError: `tx` is not a transformation.
    Example:
      >>> from typing import Any, NamedTuple
      >>> from weft import optimizers
      >>> class Transformation(NamedTuple):
      ...     init: Any
      ...     update: Any
      >>> half = Transformation(
      ...     init=lambda params: (),
      ...     update=lambda g, state, params: (tree_util.tree_map(lambda x: -0.5 * x, g), state),
      ... )
      >>> optimizer = optimizers.from_optax(half)
      >>> weights = {"w": np.ones(2)}
      >>> slots, opt_params = optimizer.tree_init(weights)
      >>> weights, slots, metrics = optimizer.tree_update(
      ...     1, {"w": np.array([1.0, -1.0])}, weights, slots, opt_params
      ... )
      >>> weights["w"]
      Array([0.5, 1.5], dtype=float32)
    Source: optax documentation, `GradientTransformation`.
    """
    has_methods = callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))
    if not has_methods or isinstance(tx, type | Optimizer):
        fix = "\n  fix: call it, as in optax.adam(1e-3)" if callable(tx) else ""
        raise noted(
            TypeError(
                "from_optax: tx must be a gradient transformation, with init(params) and "
                f"update(updates, state, params); got {tx!r}{fix}"
            )
        )
    return _Transformed(tx, clip_grad_norm)


class _Transformed(Optimizer):
    """An optimizer whose update is a transformation of the gradients of all weights."""

    _maker = "from_optax"

    def __init__(self, tx: Any, clip_grad_norm: float | None) -> None:
        super().__init__(1.0, clip_grad_norm)
        self._tx = tx

    def init(self, weights: Any) -> Any:
        """The state of the transformation for a tree of weights."""
        return self._tx.init(tree_map(in_float32, weights))

    def update(
        self, step: Any, grads: Any, weights: Any, slots: Any, opt_params: OptParams
    ) -> tuple[Any, Any]:
        """(new weights, new state) of trees of weights and gradients."""
        factor = opt_params[RATE]
        if len(_rates(slots)) == 1:
            slots, factor = _with_rate(slots, factor), 1.0
        params = tree_map(in_float32, weights)
        updates, state = self._tx.update(tree_map(in_float32, grads), slots, params)
        expected, got = tree_structure(weights), tree_structure(updates)
        if expected != got:
            raise noted(
                ShapeError(
                    "from_optax: tx.update must return updates nested as the weights are, "
                    f"{expected}; got {got}"
                )
            )

        def moved(w: Any, u: Any) -> Any:
            return (in_float32(w) + jnp.asarray(factor, dtype=u.dtype) * u).astype(w.dtype)

        return tree_map(moved, weights, updates), state

    def tree_init(self, weight_tree: Any) -> tuple[Any, OptParams]:
        """Makes the state. Its learning rate, if it has one, is copied to `opt_params`."""
        self._checked_leaves(weight_tree)
        state = self.init(weight_tree)
        rates = _rates(state)
        if len(rates) == 1:
            self._opt_params = {**self._opt_params, RATE: rates[0]}
            state = _with_rate(state, rates[0])  # with the type that it will have after a step
        self._slots = (state,)
        return self._slots, self._opt_params

    def _updated(
        self,
        step: Any,
        grads: list[Any],
        weights: list[Any],
        treedef: PyTreeDef,
        slots: Any,
        opt_params: OptParams,
    ) -> tuple[list[Any], tuple[Any, ...]]:
        """Updates all weights together: (new weights, (new state,))."""
        self._check_slots(slots, 1, "the state of the transformation")
        gradients, tree = tree_unflatten(treedef, grads), tree_unflatten(treedef, weights)
        new, state = self.update(step, gradients, tree, slots[0], opt_params)
        return tree_leaves(new), (state,)


def _has_rate(state: Any) -> bool:
    """True for a state with a hyperparameter "learning_rate" that has no schedule."""
    hyperparams = getattr(state, "hyperparams", None)
    return (
        isinstance(hyperparams, dict)
        and RATE in hyperparams
        and RATE not in getattr(state, "hyperparams_states", ())
    )


def _parts(state: Any) -> list[Any]:
    """The states inside a state."""
    return list(state.values() if isinstance(state, dict) else state)


def _rates(state: Any) -> list[Any]:
    """The learning rates in a state and in the states inside it."""
    if _has_rate(state):
        return [state.hyperparams[RATE]]
    if not isinstance(state, tuple | list | dict):
        return []
    return [rate for part in _parts(state) for rate in _rates(part)]


def _with_rate(state: Any, rate: Any) -> Any:
    """A state with a new learning rate."""
    if _has_rate(state):
        old = state.hyperparams
        return state._replace(hyperparams={**old, RATE: jnp.asarray(rate, dtype=old[RATE].dtype)})
    if not isinstance(state, tuple | list | dict):
        return state
    parts = [_with_rate(part, rate) for part in _parts(state)]
    if isinstance(state, dict):
        return dict(zip(state, parts, strict=True))
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
