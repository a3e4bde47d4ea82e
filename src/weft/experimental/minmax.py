"""Minmax: the optimizers sgd, momentum, rmsprop and adam as pairs (init_fun, update_fun), made with
`optimizer` and run with `iterate`.

This is JAX's interface of 2018. `weft.experimental.optimizers` has more optimizers, as triples with
a function `get_params`.
"""

import functools
from collections.abc import Callable
from typing import Any

from ..core.source import located
from ..tree_util import PyTreeDef
from ..typing import ArrayLike, PyTree
from . import optimizers
from .optimizers.schedules import (
    Schedule,
    constant,
    exponential_decay,
    inverse_time_decay,
    make_schedule,
    piecewise_constant,
)
from .optimizers.states import OptimizerState, over_trees, states_of

__all__ = [
    "adam",
    "constant",
    "exponential_decay",
    "get_params",
    "inverse_time_decay",
    "iterate",
    "make_schedule",
    "momentum",
    "optimizer",
    "piecewise_constant",
    "rmsprop",
    "sgd",
]

Pair = tuple[
    Callable[[PyTree], OptimizerState],
    Callable[[ArrayLike, PyTree, OptimizerState], OptimizerState],
]
"""`init_fun(params)` and `update_fun(i, grads, opt_state)`, each of which returns a state."""


def optimizer(
    opt_maker: Callable[..., tuple[Callable[..., Any], Callable[..., Any]]],
) -> Callable[..., Pair]:
    """A decorator that turns an optimizer of one array into an optimizer of trees of arrays.

    Args:
      opt_maker: returns two functions: `init(x)`, the first state for an array, a tuple that begins
        with the array; `update(i, g, *state)`, the state after step `i` with gradient `g`.
    Returns: function of the same arguments, which returns (init_fun, update_fun) for trees.
    Raises: TypeError: a state is not a tuple; otherwise the errors of
      `weft.experimental.optimizers.optimizer`.
    Example:
      >>> from weft.experimental import minmax
      >>> @minmax.optimizer
      ... def sign_descent(step_size):
      ...     return lambda x: (x,), lambda i, g, x: (x - step_size * np.sign(g),)
      >>> opt_init, opt_update = sign_descent(0.25)
      >>> minmax.get_params(opt_update(0, [7.0], opt_init([1.0])))
      [Array(0.75, dtype=float32)]
    Source: the README of JAX's first versions.
    """

    @functools.wraps(opt_maker)
    @located
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Pair:
        init, update = opt_maker(*args, **kwargs)
        return over_trees(
            opt_maker.__name__, init, lambda i, g, state: update(i, g, *state), _first
        )[:2]

    return tree_opt_maker


def _first(state: Any) -> Any:
    """The array at the beginning of a state."""
    if isinstance(state, tuple) and state:
        return state[0]
    raise TypeError(
        "minmax: expected a parameter's state to be a tuple that begins with the parameter; got a "
        f"{type(state).__name__}"
    )


@located
def iterate(opt_state: OptimizerState) -> PyTree:
    """Returns the parameters in an optimizer's state; `get_params` is another name for it.

    Args:
      opt_state: the result of an optimizer's `init_fun` or `update_fun`.
    Returns: a tree of arrays with the structure of the parameters passed to `init_fun`.
    Raises: TypeError: not the state of an optimizer.
    Example:
      >>> from weft.experimental import minmax
      >>> opt_init, opt_update = minmax.sgd(0.25)
      >>> minmax.iterate(opt_init({"w": 1.0}))
      {'w': Array(1., dtype=float32)}
    Source: the README of JAX's first versions.
    """
    states = states_of("get_params", opt_state)
    treedef: PyTreeDef = opt_state.tree_def
    return treedef.unflatten([_first(state) for state in states])


get_params = iterate


@located
def sgd(step_size: ArrayLike | Schedule) -> Pair:
    """Stochastic gradient descent: x ← x - step_size(i) · g.

    Args: as `weft.experimental.optimizers.sgd`.
    Returns: (init_fun, update_fun).
    Raises: as `weft.experimental.optimizers.sgd`.
    Example:
      >>> from weft.experimental import minmax
      >>> opt_init, opt_update = minmax.sgd(0.25)
      >>> float(minmax.get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.5
    Source: H. Robbins, S. Monro, A stochastic approximation method, 1951.
    """
    return optimizers.sgd(step_size)[:2]


@located
def momentum(step_size: ArrayLike | Schedule, mass: ArrayLike) -> Pair:
    """Gradient descent with momentum: v ← mass · v + g; x ← x - step_size(i) · v.

    Args: as `weft.experimental.optimizers.momentum`.
    Returns: (init_fun, update_fun).
    Raises: as `weft.experimental.optimizers.momentum`.
    Example:
      >>> from weft.experimental import minmax
      >>> opt_init, opt_update = minmax.momentum(step_size=0.25, mass=0.5)
      >>> state = opt_update(1, 2.0, opt_update(0, 2.0, opt_init(1.0)))
      >>> float(minmax.get_params(state))
      -0.25
    Source: B. T. Polyak, Some methods of speeding up the convergence of iteration methods, 1964.
    """
    return optimizers.momentum(step_size, mass)[:2]


@located
def rmsprop(step_size: ArrayLike | Schedule, gamma: ArrayLike = 0.9, eps: ArrayLike = 1e-8) -> Pair:
    """RMSProp: s ← gamma · s + (1 - gamma) · g²; x ← x - step_size(i) · g / √(s + eps).

    Args: as `weft.experimental.optimizers.rmsprop`.
    Returns: (init_fun, update_fun).
    Raises: as `weft.experimental.optimizers.rmsprop`.
    Example:
      >>> from weft.experimental import minmax
      >>> opt_init, opt_update = minmax.rmsprop(0.25, gamma=0.75)
      >>> float(minmax.get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.5
    Source: T. Tieleman, G. Hinton, Neural networks for machine learning, lecture 6.5, 2012.
    """
    return optimizers.rmsprop(step_size, gamma, eps)[:2]


@located
def adam(
    step_size: ArrayLike | Schedule,
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.999,
    eps: ArrayLike = 1e-8,
) -> Pair:
    """Adam: gradients over the root of their mean square, both means with bias correction.

    Args: as `weft.experimental.optimizers.adam`, which has the formula.
    Returns: (init_fun, update_fun).
    Raises: as `weft.experimental.optimizers.adam`.
    Example:
      >>> from weft.experimental import minmax
      >>> opt_init, opt_update = minmax.adam(0.25)
      >>> float(minmax.get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.75
    Source: arXiv:1412.6980, algorithm 1.
    """
    return optimizers.adam(step_size, b1, b2, eps)[:2]
