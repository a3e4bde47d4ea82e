"""`optimizer` makes an optimizer of trees (Optimizer) from an update rule of arrays.

OptimizerState keeps, for each leaf of the parameters, the leaves of that parameter's state. So
parameters and states may be any trees, and `jit` sees arrays and two structures.
pack_optimizer_state, unpack_optimizer_state and JoinPoint convert it for checkpoints.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...core.array import Tracer
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.promotion import strong, value
from ...tree_paths import GetAttrKey, mismatch
from ...tree_util import (
    PyTreeDef,
    keystr,
    register_pytree_with_keys,
    tree_flatten,
    tree_flatten_with_path,
)
from ...typing import ArrayLike, PyTree

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "optimizer",
    "pack_optimizer_state",
    "unpack_optimizer_state",
]


class OptimizerState(NamedTuple):
    """The state of an optimizer: a pytree with the state of each parameter.

    Made by an optimizer's `init_fun`, or by `pack_optimizer_state`.

    Example:
      >>> from weft.experimental import optimizers
      >>> init, update, get_params = optimizers.momentum(0.1, 0.9)
      >>> state = init({"w": np.ones(2)})
      >>> type(state).__name__, get_params(state)
      ('OptimizerState', {'w': Array([1., 1.], dtype=float32)})
    """

    packed_state: tuple[tuple[Any, ...], ...]
    """The leaves of each parameter's state, in the order of the parameters."""
    tree_def: PyTreeDef
    """The structure of the parameters."""
    subtree_defs: tuple[PyTreeDef, ...]
    """The structure of each parameter's state."""


register_pytree_with_keys(
    OptimizerState,
    lambda s: (((GetAttrKey("packed_state"), s.packed_state),), (s.tree_def, s.subtree_defs)),
    lambda structures, children: OptimizerState(*children, *structures),
)


class Optimizer(NamedTuple):
    """An optimizer: three functions, as a tuple.

    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.sgd(0.25)
      >>> state = opt_update(0, {"w": 2.0}, opt_init({"w": 1.0}))
      >>> get_params(state)
      {'w': Array(0.5, dtype=float32)}
    """

    init_fn: Callable[[PyTree], OptimizerState]
    """Maps parameters to the initial state."""
    update_fn: Callable[[ArrayLike, PyTree, OptimizerState], OptimizerState]
    """Maps the number of the step (from 0 on), a gradient and a state to the next state."""
    params_fn: Callable[[OptimizerState], PyTree]
    """Maps a state to the parameters in it."""


class JoinPoint:
    """Marks a subtree as a leaf of another tree: the state of one parameter.

    Example:
      >>> from weft.experimental.optimizers import JoinPoint
      >>> from weft.tree_util import tree_leaves
      >>> len(tree_leaves([JoinPoint((1, 2)), JoinPoint((3, 4))]))
      2
    """

    def __init__(self, subtree: PyTree) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[PyTree]:
        yield self.subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def arrays_of(name: str, argument: str, tree: PyTree) -> tuple[list[str], list[Any], PyTreeDef]:
    """The leaves of a tree: their paths, their values, and the structure."""
    pairs, treedef = tree_flatten_with_path(tree)
    places = [argument + keystr(path) for path, _ in pairs]
    leaves = [value(name, x, at) for at, (_, x) in zip(places, pairs, strict=True)]
    return places, leaves, treedef


def states_of(name: str, state: Any) -> list[PyTree]:
    """The state of each parameter."""
    if not isinstance(state, OptimizerState):
        raise TypeError(
            f"{name}: expected the state of an optimizer, an OptimizerState; got a "
            f"{type(state).__name__}\n  fix: opt_state = opt_init(params)"
        )
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [treedef.unflatten(leaves) for treedef, leaves in pairs]


def packed(treedef: PyTreeDef, states: list[PyTree]) -> OptimizerState:
    """A state of an optimizer from the states of the parameters."""
    flat = [tree_flatten(state) for state in states]
    leaves, structures = tuple([tuple(x) for x, _ in flat]), tuple([s for _, s in flat])
    return OptimizerState(leaves, treedef, structures)


def optimizer(
    opt_maker: Callable[..., tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]],
) -> Callable[..., Optimizer]:
    """A decorator that turns an optimizer of one array into an optimizer of trees of arrays.

    Args:
      opt_maker: returns three functions: `init(x)`, the first state for an array; `update(i, g,
        state)`, the state after step `i` with gradient `g`; `get_params(state)`, the array. States
        are trees of arrays, all of the same structure.
    Returns: function of the same arguments, which returns an `Optimizer`.
    Raises: TypeError: a parameter is not an array, or the state does not come from `init`.
      ValueError: the gradient's tree or a shape in it differs from the parameters'; a state changes
      its structure.
    Example:
      >>> from weft.experimental import optimizers
      >>> @optimizers.optimizer
      ... def sign_descent(step_size):
      ...     def update(i, g, x):
      ...         return x - step_size * np.sign(g)
      ...     return lambda x: x, update, lambda x: x
      >>> opt_init, opt_update, get_params = sign_descent(0.25)
      >>> get_params(opt_update(0, [7.0, -7.0], opt_init([1.0, 1.0])))
      [Array(0.75, dtype=float32), Array(1.25, dtype=float32)]
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """

    @functools.wraps(opt_maker)
    @located
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        return over_trees(opt_maker.__name__, *opt_maker(*args, **kwargs))

    return tree_opt_maker


def over_trees(
    name: str,
    init: Callable[..., Any],
    update: Callable[..., Any],
    params: Callable[..., Any],
) -> Optimizer:
    """Makes an optimizer of trees from three functions of arrays."""

    @located
    def init_fun(x0_tree: PyTree) -> OptimizerState:
        _, xs, treedef = arrays_of(name, "params", x0_tree)
        return packed(treedef, [init(strong(x)) for x in xs])

    @located
    def update_fun(i: ArrayLike, grad_tree: PyTree, opt_state: OptimizerState) -> OptimizerState:
        if isinstance(i, (dict, list, tuple)):
            raise TypeError(
                f"{name}: expected the number of the step as the first argument; got a "
                f"{type(i).__name__}\n  fix: opt_update(step, gradients, opt_state)"
            )
        states = states_of(name, opt_state)
        places, gs, treedef = arrays_of(name, "grads", grad_tree)
        expected = opt_state.tree_def
        if treedef != expected:
            raise ShapeError(
                f"{name}: the gradient must be a tree like the parameters; the two differ "
                f"{mismatch(expected, treedef)}"
            )
        for at, g, state in zip(places, gs, states, strict=True):
            x = value(name, params(state))
            if x.shape != g.shape:
                raise ShapeError(
                    f"{name}: a gradient must have its parameter's shape; {at} is {g.aval}, the "
                    f"parameter {x.aval}"
                )
        new = packed(treedef, [update(i, g, s) for g, s in zip(gs, states, strict=True)])
        for at, old, now in zip(places, opt_state.subtree_defs, new.subtree_defs, strict=True):
            if old != now:
                raise ShapeError(
                    f"{name}: update must return a state of the structure that it got; for {at} "
                    f"they differ {mismatch(old, now)}"
                )
        return new

    @located
    def get_params(opt_state: OptimizerState) -> PyTree:
        states = states_of(name, opt_state)
        return opt_state.tree_def.unflatten([params(state) for state in states])

    return Optimizer(init_fun, update_fun, get_params)


@located
def unpack_optimizer_state(opt_state: OptimizerState) -> PyTree:
    """Converts the state of an optimizer to a tree of plain containers, to save it.

    Args:
      opt_state: the result of an optimizer's `init_fun` or `update_fun`.
    Returns: a tree with the structure of the parameters, whose leaves are `JoinPoint`s with the
      state of each parameter.
    Raises: TypeError: not the state of an optimizer.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, _, _ = optimizers.momentum(0.1, 0.9)
      >>> optimizers.unpack_optimizer_state(opt_init({"w": 1.0}))
      {'w': JoinPoint((Array(1., dtype=float32), Array(0., dtype=float32)))}
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    states = states_of("unpack_optimizer_state", opt_state)
    return opt_state.tree_def.unflatten([JoinPoint(state) for state in states])


@located
def pack_optimizer_state(marked_pytree: PyTree) -> OptimizerState:
    """Converts the result of `unpack_optimizer_state` to the state of an optimizer.

    Args:
      marked_pytree: a tree whose leaves are instances of `JoinPoint`.
    Returns: OptimizerState.
    Raises: TypeError: a leaf is not a `JoinPoint`.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, _, get_params = optimizers.momentum(0.1, 0.9)
      >>> saved = optimizers.unpack_optimizer_state(opt_init({"w": 1.0}))
      >>> get_params(optimizers.pack_optimizer_state(saved))
      {'w': Array(1., dtype=float32)}
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    pairs, treedef = tree_flatten_with_path(marked_pytree)
    for path, point in pairs:
        if not isinstance(point, JoinPoint):
            raise TypeError(
                "pack_optimizer_state: expected a tree whose leaves are JoinPoints, as "
                f"unpack_optimizer_state returns; the leaf {keystr(path) or 'itself'} is a "
                f"{type(point).__name__}"
            )
    return packed(treedef, [point.subtree for _, point in pairs])


def setting(
    name: str,
    argument: str,
    x: Any,
    low: float = 0.0,
    high: float = math.inf,
    with_low: bool = True,
    with_high: bool = False,
) -> Any:
    """A scalar within bounds. Raises an error otherwise; traced values are not checked."""
    kind = type(x)
    array = x if kind in (int, float) else value(name, x, argument)
    if isinstance(array, Value):
        if array.ndim or array.dtype.kind == "c":
            raise ShapeError(f"{name}: {argument} must be a real number; got {array.aval}")
        if isinstance(array, Tracer):
            return array
    number = float(array)
    below = number >= low if with_low else number > low
    above = number <= high if with_high else number < high
    if not (below and above):
        raise ValueError(
            f"{name}: {argument} must be {_range(low, high, with_low, with_high)}; got {number:g}"
        )
    return array


def _range(low: float, high: float, with_low: bool, with_high: bool) -> str:
    if high == math.inf:
        return f"finite and {'at least' if with_low else 'above'} {low:g}"
    last = f"at most {high:g}" if with_high else f"below {high:g}"
    return f"{'at least' if with_low else 'above'} {low:g} and {last}"
