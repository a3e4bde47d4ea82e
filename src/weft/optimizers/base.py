"""Optimizer, the base class of optimizers; SGD, the simplest one; l2_norm and clip_grads.

An optimizer defines the update of one array. `tree_init` and `tree_update` apply it to all arrays
of a model's weights, clip the gradients, and measure norms. `FormulaOptimizer` is the base class of
the optimizers of this package.
"""

from types import SimpleNamespace
from typing import Any

import numpy as onp

from .. import option_checks
from ..dtypes import is_float, is_integer
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..tree_util import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from ..user_lines import noted

__all__ = ["SGD", "Optimizer", "clip_grads", "l2_norm"]

OptParams = dict[str, Any]
Numbers = SimpleNamespace  # an object with the scalars of a step as attributes


class Optimizer:
    """Base class of optimizers, which update weights from their gradients.

    A subclass defines the update of one array, in two methods: `init(weights)` returns the
    optimizer's state for the array (its *slot*), and `update(step, grads, weights, slots,
    opt_params)` returns (new weights, new slot). This class does the rest.

    Hyperparameters such as the learning rate are scalars in the dict `opt_params`, which is an
    argument of each step. A compiled step accepts new values without recompilation.

    For 16-bit weights, the optimizers of this package compute in float32 and have float32 slots.
    They round new weights to the dtype of the old ones.

    Args:
      learning_rate: the learning rate, at least 0. A training loop with a schedule replaces it.
      clip_grad_norm: upper bound for the global norm of the gradients, greater than 0: larger
        gradients are scaled down. None for no clipping.
      **init_opt_params: further hyperparameters, by name.
    Raises: TypeError, ValueError: an option is not a number, or out of range.
    Example:
      >>> from weft import optimizers
      >>> class SignDescent(optimizers.Optimizer):
      ...     def init(self, weights):
      ...         return None
      ...     def update(self, step, grads, weights, slots, opt_params):
      ...         return weights - opt_params["learning_rate"] * np.sign(grads), None
      >>> optimizer = SignDescent(learning_rate=0.5)
      >>> weights = {"w": np.ones(2)}
      >>> slots, opt_params = optimizer.tree_init(weights)
      >>> weights, slots, metrics = optimizer.tree_update(
      ...     1, {"w": np.array([3.0, -4.0])}, weights, slots, opt_params
      ... )
      >>> weights["w"], metrics["gradients_l2"]
      (Array([0.5, 1.5], dtype=float32), Array(5., dtype=float32))
    Source: Trax documentation, `optimizers.base.Optimizer`.
    """

    _maker = ""  # the function that error messages name instead of the class

    def __init__(
        self,
        learning_rate: float = 0.01,
        clip_grad_norm: float | None = None,
        **init_opt_params: Any,
    ) -> None:
        self._name = self._maker or type(self).__name__
        if clip_grad_norm is not None:
            option_checks.number(self._name, "clip_grad_norm", clip_grad_norm, above=0.0)
        self._clip_grad_norm = clip_grad_norm
        options = {"learning_rate": learning_rate, **init_opt_params}
        least = {"learning_rate": 0.0}
        self._opt_params = {
            option: _scalar(self._name, option, value, least.get(option, -float("inf")))
            for option, value in options.items()
        }
        self._needed = tuple(self._opt_params)
        self._slots: tuple[Any, ...] | None = None

    @property
    def slots(self) -> Any:
        """The state for each array of the weights, as a tuple; None before `tree_init`."""
        return self._slots

    @slots.setter
    def slots(self, slots: Any) -> None:
        self._slots = slots

    @property
    def opt_params(self) -> OptParams:
        """The hyperparameters by name, as scalars; "learning_rate" is one of them."""
        return self._opt_params

    @opt_params.setter
    def opt_params(self, opt_params: OptParams) -> None:
        self._opt_params = opt_params

    def init(self, weights: Any) -> Any:
        """The first slot of one array of weights; subclasses define it."""
        raise noted(NotImplementedError(f"{self._name}: a subclass of Optimizer needs init"))

    def update(
        self, step: Any, grads: Any, weights: Any, slots: Any, opt_params: OptParams
    ) -> tuple[Any, Any]:
        """(new weights, new slot) of one array of weights; subclasses define it."""
        raise noted(NotImplementedError(f"{self._name}: a subclass of Optimizer needs update"))

    def tree_init(self, weight_tree: Any) -> tuple[Any, OptParams]:
        """Makes the slots of all weights, and stores them on the optimizer.

        Args:
          weight_tree: nested tuples, lists and dicts of arrays of floats; it may be empty.
        Returns: (slots, opt_params): a tuple with a slot for each array, and the hyperparameters.
        Raises: TypeError: a leaf of the tree is not an array of floats.
        """
        leaves = self._checked_leaves(weight_tree)
        self._slots = tuple(self.init(leaf) for leaf in leaves)
        return self._slots, self._opt_params

    def tree_update(
        self,
        step: Any,
        grad_tree: Any,
        weight_tree: Any,
        slots: Any,
        opt_params: OptParams,
        store_slots: bool = True,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Updates all weights once. With `store_slots=False` it is pure, for use inside `jit`.

        Args:
          step: the number of the step, an int or a scalar. Training loops count from 1.
          grad_tree: the gradients, nested like the weights.
          weight_tree: the weights.
          slots: the slots that `tree_init` or the last step returned.
          opt_params: the hyperparameters, as `tree_init` returned them or with other values.
          store_slots: whether the optimizer stores the new slots.
        Returns: (new weights, new slots, metrics). The metrics are the global norms "gradients_l2",
          before clipping, and "weights_l2", before the update.
        Raises:
          ShapeError: gradients, weights and slots do not match.
          TypeError: weights are integers.
          ValueError: `update` returned weights of another shape or dtype.
        """
        weights, treedef = tree_flatten(weight_tree)
        grads = tree_leaves(grad_tree)
        self._check_gradients(grads, weights, weight_tree)
        grads, metrics = self._clipped(grads, weights)
        results, new_slots = self._updated(step, grads, weights, treedef, slots, opt_params)
        new_weights = [
            self._checked_weights(place, w, new_w, weight_tree)
            for place, (w, new_w) in enumerate(zip(weights, results, strict=True))
        ]
        if store_slots:
            self._slots = new_slots
        return tree_unflatten(treedef, new_weights), new_slots, metrics

    def _checked_leaves(self, weight_tree: Any) -> list[Any]:
        """The arrays of a tree of weights; raises an error for leaves that are not arrays of
        numbers."""
        leaves = tree_leaves(weight_tree)
        for place, leaf in enumerate(leaves):
            if not hasattr(leaf, "dtype") or not (
                is_float(_dtype(leaf)) or is_integer(_dtype(leaf))
            ):
                raise noted(
                    TypeError(
                        f"{self._name}.tree_init: expected arrays of numbers; "
                        f"{_name(weight_tree, place)} is {_text(leaf)}"
                        "\n  fix: keep what is not trained in the state of a layer"
                    )
                )
        return leaves

    def _updated(
        self,
        step: Any,
        grads: list[Any],
        weights: list[Any],
        treedef: PyTreeDef,
        slots: Any,
        opt_params: OptParams,
    ) -> tuple[list[Any], tuple[Any, ...]]:
        """Updates each array: (new weights, new slots)."""
        self._check_slots(slots, len(weights), "one for each array of weights")
        results = [
            self.update(step, g, w, slot, opt_params)
            for g, w, slot in zip(grads, weights, slots, strict=True)
        ]
        return [new_w for new_w, _ in results], tuple(slot for _, slot in results)

    def _check_slots(self, slots: Any, count: int, meaning: str) -> None:
        if not isinstance(slots, tuple | list) or len(slots) != count:
            got = len(slots) if isinstance(slots, tuple | list) else type(slots).__name__
            raise noted(
                ShapeError(
                    f"{self._name}.tree_update: expected {count} slots, {meaning}; got "
                    f"{got}\n  fix: slots, opt_params = optimizer.tree_init(weights)"
                )
            )

    def _check_gradients(self, grads: list[Any], weights: list[Any], weight_tree: Any) -> None:
        """Raises an error for gradients that do not match the weights."""
        if len(weights) != len(grads):
            raise noted(
                ShapeError(
                    f"{self._name}.tree_update: expected a gradient for each of {len(weights)} "
                    f"arrays of weights; got {len(grads)}"
                    "\n  fix: gradients with respect to the same tree of weights"
                )
            )
        for place, (g, w) in enumerate(zip(grads, weights, strict=True)):
            if is_integer(_dtype(w)):
                raise noted(
                    TypeError(
                        f"{self._name}.tree_update: integers are not trained; "
                        f"{_name(weight_tree, place)} is {_text(w)}"
                        "\n  fix: keep what is not trained in the state of a layer"
                    )
                )
            if not hasattr(g, "dtype") or tuple(g.shape) != tuple(w.shape):
                raise noted(
                    ShapeError(
                        f"{self._name}.tree_update: the gradient of {_name(weight_tree, place)} "
                        f"must have the shape of {_text(w)}; got {_text(g)}"
                    )
                )

    def _clipped(self, grads: list[Any], weights: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The clipped gradients, in float32 if they have 16 bits, and both norms."""
        grads = [in_float32(g) for g in grads]
        norm = l2_norm(grads)
        metrics = {"gradients_l2": norm, "weights_l2": l2_norm(weights)}
        if self._clip_grad_norm is not None:
            factor = _clip_factor(norm, self._clip_grad_norm)
            grads = [g * factor.astype(g.dtype) for g in grads]
        return grads, metrics

    def _checked_weights(self, place: int, old: Any, new: Any, weight_tree: Any) -> Any:
        """The new weights; raises an error unless their kind, dtype and shape equal the old
        ones'."""
        if isinstance(new, onp.generic):  # NumPy's results for arrays without axes
            new = jnp.asarray(new)
        if not hasattr(new, "dtype") or isinstance(old, jnp.ndarray) > isinstance(new, jnp.ndarray):
            problem = f"be an array of the backend, as before; got {type(new).__name__}"
        elif old.dtype != new.dtype:
            problem = f"have the dtype that they had, {old.dtype}; got {new.dtype}"
        elif tuple(old.shape) != tuple(new.shape):
            problem = f"have the shape of {_text(old)}; got {_text(new)}"
        else:
            return new
        name = _name(weight_tree, place)
        raise noted(ValueError(f"{self._name}.update: the new {name} must {problem}"))


class FormulaOptimizer(Optimizer):
    """Base class of this package's optimizers: it separates the scalars of a step from a formula
    for arrays.

    Scalars such as 1 - b1 ** (t + 1) are computed once for all arrays. Both parts compute in
    float32, or in the dtype of the weights if that is wider.
    """

    def _prepare(self, p: Numbers, t: Any) -> None:
        """Adds scalars to `p` that depend on the step `t` and on the hyperparameters."""

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        """(new weights, new slot) from arrays of one dtype."""
        raise NotImplementedError

    def update(
        self, step: Any, grads: Any, weights: Any, slots: Any, opt_params: OptParams
    ) -> tuple[Any, Any]:
        """(new weights, new slot) of one array of weights."""
        numbers = self._numbers(step, in_float32(weights).dtype, opt_params)
        return self._applied(grads, weights, slots, numbers)

    def _updated(
        self,
        step: Any,
        grads: list[Any],
        weights: list[Any],
        treedef: PyTreeDef,
        slots: Any,
        opt_params: OptParams,
    ) -> tuple[list[Any], tuple[Any, ...]]:
        self._check_slots(slots, len(weights), "one for each array of weights")
        dtypes = {in_float32(w).dtype for w in weights}  # usually only one
        numbers = {dtype: self._numbers(step, dtype, opt_params) for dtype in dtypes}
        results = [
            self._applied(g, w, slot, numbers[in_float32(w).dtype])
            for g, w, slot in zip(grads, weights, slots, strict=True)
        ]
        return [new_w for new_w, _ in results], tuple(slot for _, slot in results)

    def _applied(self, grads: Any, weights: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        if 0 in weights.shape:
            return weights, slot
        w = in_float32(weights)
        new, slot = self._formula(grads.astype(w.dtype), w, slot, p)
        return new.astype(weights.dtype), slot

    def _numbers(self, step: Any, dtype: Any, opt_params: OptParams) -> Numbers:
        """The scalars of a step, as one dtype."""
        missing = [name for name in self._needed if name not in opt_params]
        if missing:
            raise noted(
                ValueError(
                    f"{self._name}.update: opt_params must have {missing[0]!r}; got "
                    f"{', '.join(map(repr, opt_params)) or 'none'}"
                    "\n  fix: opt_params as tree_init returned them, with values replaced"
                )
            )
        p = Numbers(**{name: jnp.asarray(opt_params[name], dtype=dtype) for name in self._needed})
        self._prepare(p, jnp.asarray(step, dtype=dtype))
        return p


class SGD(FormulaOptimizer):
    """Stochastic gradient descent: w ← w − learning_rate · g. It has no state.

    Args:
      learning_rate: the learning rate, at least 0.
      clip_grad_norm: upper bound for the global norm of the gradients; None for no clipping.
    Raises: TypeError, ValueError: an option is not a number, or out of range.
    Example:
      >>> from weft import optimizers
      >>> optimizer = optimizers.SGD(learning_rate=0.5, clip_grad_norm=1.0)
      >>> slots, opt_params = optimizer.tree_init((np.zeros(2),))
      >>> gradients = (np.array([3.0, 4.0]),)
      >>> weights, _, metrics = optimizer.tree_update(
      ...     1, gradients, (np.zeros(2),), slots, opt_params
      ... )
      >>> weights[0], metrics["gradients_l2"].item()
      (Array([-0.3, -0.4], dtype=float32), 5.0)
    Source: Trax documentation, `optimizers.base.SGD`.
    """

    def __init__(self, learning_rate: float = 0.01, clip_grad_norm: float | None = None) -> None:
        super().__init__(learning_rate, clip_grad_norm)

    def init(self, weights: Any) -> None:
        """None, because there is no state."""
        return None

    def _formula(self, g: Any, w: Any, slot: Any, p: Numbers) -> tuple[Any, Any]:
        return w - p.learning_rate * g, slot


def l2_norm(tree: Any) -> Any:
    """The Euclidean norm of all elements of a tree, computed in float32 or wider.

    Args:
      tree: nested tuples, lists and dicts of arrays of floats.
    Returns: a scalar, 0 for an empty tree.
    Example:
      >>> l2_norm({"a": np.array([3.0]), "b": [np.array([[4.0]])]})
      Array(5., dtype=float32)
    Source: Trax documentation, `optimizers.base.l2_norm`.
    """
    squares = [jnp.sum(jnp.square(x)) for x in map(in_float32, tree_leaves(tree))]
    return jnp.sqrt(sum(squares[1:], squares[0]) if squares else jnp.zeros((), dtype=jnp.float32))


def clip_grads(grad_tree: Any, max_norm: float) -> Any:
    """Scales gradients down so that their global norm is at most `max_norm`.

    If the norm of the whole tree is `max_norm` or larger, each gradient g becomes
    g · max_norm / norm. Otherwise the gradients stay unchanged.

    Args:
      grad_tree: nested tuples, lists and dicts of arrays of floats.
      max_norm: the upper bound.
    Returns: a tree like `grad_tree`, with the same shapes and dtypes.
    Example:
      >>> clip_grads((np.array([3.0]), np.array([4.0])), 1.0)
      (Array([0.6], dtype=float32), Array([0.8], dtype=float32))
    Source: Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks
      (2013); Trax documentation, `optimizers.base.clip_grads`.
    """
    factor = _clip_factor(l2_norm(grad_tree), max_norm)
    return tree_map(lambda g: (g * factor.astype(in_float32(g).dtype)).astype(g.dtype), grad_tree)


def _clip_factor(norm: Any, max_norm: Any) -> Any:
    """The factor that limits gradients with one norm to another norm; 1 if they are below it."""
    return (max_norm / jnp.maximum(norm, max_norm)).astype(norm.dtype)


def in_float32(x: Any) -> Any:
    """An array as float32 if its elements have 16 bits or fewer; otherwise unchanged."""
    return x.astype(jnp.float32) if _dtype(x).itemsize < 4 else x


def _dtype(x: Any) -> Any:
    """The NumPy dtype of an array of any backend."""
    return onp.dtype(getattr(x.dtype, "as_numpy_dtype", x.dtype))


def moved(w: Any, step: Any, decay: Any) -> Any:
    """(1 − decay) · w − step. In this form the rounding error of 1 − decay does not accumulate."""
    return w - (decay * w + step)


def zeros_of_state(weights: Any) -> Any:
    """Zeros with the shape of weights, in float32 or wider."""
    return jnp.zeros_like(in_float32(weights))


def _scalar(optimizer: str, option: str, value: Any, least: float) -> Any:
    """A number as a scalar of the backend."""
    if getattr(value, "shape", None) == ():
        return jnp.asarray(value)
    return jnp.array(float(option_checks.number(optimizer, option, value, least=least)))


def _text(x: Any) -> str:
    """An array as `float32[2,3]`; other objects as their type."""
    if not hasattr(x, "dtype"):
        return type(x).__name__
    return f"{x.dtype}[{','.join(map(str, x.shape))}]"


def _name(weight_tree: Any, place: int) -> str:
    """The name of an array in a tree, as `weights[0]['w']`."""
    path, _ = tree_flatten_with_path(weight_tree)[0][place]
    return f"weights{keystr(path)}"
