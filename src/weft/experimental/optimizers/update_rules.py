"""Update rules of optimizers for one array: sgd, momentum, nesterov, adagrad, rmsprop,
rmsprop_momentum, adam, adamax and sm3.
"""

import functools
from collections.abc import Callable
from typing import Any

from ... import dtypes, numpy as np
from ...errors import ShapeError
from ...numpy.promotion import cast
from ...tree_util import tree_map
from ...typing import ArrayLike
from .schedules import Schedule, make_schedule
from .states import optimizer, setting

__all__ = [
    "adagrad",
    "adam",
    "adamax",
    "momentum",
    "nesterov",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
]


Init = Callable[[Any], tuple[Any, ...]]
Update = Callable[..., tuple[Any, ...]]
Rule = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


def _rule(name: str, init: Init, update: Update) -> Rule:
    """Wraps the three functions of an optimizer: they require real arrays, and keep dtypes."""

    def checked_init(x: Any) -> Any:
        if not dtypes.is_float(x.dtype):
            raise ShapeError(
                f"{name}: parameters must be real floats; got {x.aval}\n"
                "  fix: parameters.astype(float); a complex one as its real and imaginary parts"
            )
        return init(x)

    def kept_update(i: ArrayLike, g: Any, state: Any) -> Any:
        if not dtypes.is_float(g.dtype):
            raise ShapeError(f"{name}: gradients must be real floats; got {g.aval}")
        return tree_map(lambda old, new: cast(new, old.dtype), state, update(i, g, *state))

    return checked_init, kept_update, lambda state: state[0]


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where x is 0, also in the derivative."""
    positive = x > 0
    return np.where(positive, 1 / np.sqrt(np.where(positive, x, 1)), 0)


def _root(x: Any) -> Any:
    """sqrt(x), whose derivative at 0 is 0."""
    positive = x > 0
    return np.where(positive, np.sqrt(np.where(positive, x, 1)), x)


@optimizer
def sgd(step_size: ArrayLike | Schedule) -> Rule:
    """Stochastic gradient descent: x ← x - step_size(i) · g.

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
    Returns: Optimizer.
    Raises: ValueError: `step_size` is negative. TypeError: it is neither number nor function.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.sgd(0.25)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.5
    Source: H. Robbins, S. Monro, A stochastic approximation method, 1951.
    """
    step = make_schedule(step_size)
    return _rule("sgd", lambda x: (x,), lambda i, g, x: (x - step(i) * g,))


@optimizer
def momentum(step_size: ArrayLike | Schedule, mass: ArrayLike) -> Rule:
    """Gradient descent with momentum: v ← mass · v + g; x ← x - step_size(i) · v.

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      mass: from 0 to 1: the decay rate of the velocity v, which is 0 at first.
    Returns: Optimizer.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.momentum(0.25, mass=0.5)
      >>> state = opt_update(1, 2.0, opt_update(0, 2.0, opt_init(1.0)))
      >>> float(get_params(state))
      -0.25
    Source: B. T. Polyak, Some methods of speeding up the convergence of iteration methods, 1964.
    """
    step = make_schedule(step_size)
    kept = setting("momentum", "mass", mass, high=1, with_high=True)

    def update(i: ArrayLike, g: Any, x: Any, velocity: Any) -> tuple[Any, Any]:
        velocity = kept * velocity + g
        return x - step(i) * velocity, velocity

    return _rule("momentum", lambda x: (x, np.zeros_like(x)), update)


@optimizer
def nesterov(step_size: ArrayLike | Schedule, mass: ArrayLike) -> Rule:
    """Nesterov's accelerated gradient: v ← mass · v + g; x ← x - step_size(i) · (mass · v + g).

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      mass: from 0 to 1: the decay rate of the velocity v, which is 0 at first.
    Returns: Optimizer.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.nesterov(0.25, mass=0.5)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.25
    Source: I. Sutskever et al., On the importance of initialization and momentum, 2013.
    """
    step = make_schedule(step_size)
    kept = setting("nesterov", "mass", mass, high=1, with_high=True)

    def update(i: ArrayLike, g: Any, x: Any, velocity: Any) -> tuple[Any, Any]:
        velocity = kept * velocity + g
        return x - step(i) * (kept * velocity + g), velocity

    return _rule("nesterov", lambda x: (x, np.zeros_like(x)), update)


@optimizer
def adagrad(step_size: ArrayLike | Schedule, momentum: ArrayLike = 0.9) -> Rule:
    """Adagrad with momentum: s ← s + g²; m ← (1 - momentum) · g / √s + momentum · m;
    x ← x - step_size(i) · m.

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      momentum: 0 or more, below 1; 0 is plain Adagrad.
    Returns: Optimizer. If all gradients are 0, the array does not change.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.adagrad(0.25, momentum=0.0)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.75
    Source: J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods, 2011.
    """
    step = make_schedule(step_size)
    kept = setting("adagrad", "momentum", momentum, high=1)

    def update(i: ArrayLike, g: Any, x: Any, squares: Any, m: Any) -> tuple[Any, ...]:
        squares = squares + g * g
        m = (1 - kept) * (g * _inverse_root(squares)) + kept * m
        return x - step(i) * m, squares, m

    return _rule("adagrad", lambda x: (x, np.zeros_like(x), np.zeros_like(x)), update)


@optimizer
def rmsprop(step_size: ArrayLike | Schedule, gamma: ArrayLike = 0.9, eps: ArrayLike = 1e-8) -> Rule:
    """RMSProp: s ← gamma · s + (1 - gamma) · g²; x ← x - step_size(i) · g / √(s + eps).

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      gamma: from 0 to 1: the decay rate of the mean of squares s, which is 0 at first.
      eps: above 0.
    Returns: Optimizer.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.rmsprop(0.25, gamma=0.75)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.5
    Source: T. Tieleman, G. Hinton, Neural networks for machine learning, lecture 6.5, 2012.
    """
    step = make_schedule(step_size)
    kept_squares = setting("rmsprop", "gamma", gamma, high=1, with_high=True)
    epsilon = setting("rmsprop", "eps", eps, with_low=False)

    def update(i: ArrayLike, g: Any, x: Any, squares: Any) -> tuple[Any, Any]:
        squares = kept_squares * squares + (1 - kept_squares) * (g * g)
        return x - step(i) * g / np.sqrt(squares + epsilon), squares

    return _rule("rmsprop", lambda x: (x, np.zeros_like(x)), update)


@optimizer
def rmsprop_momentum(
    step_size: ArrayLike | Schedule,
    gamma: ArrayLike = 0.9,
    eps: ArrayLike = 1e-8,
    momentum: ArrayLike = 0.9,
) -> Rule:
    """RMSProp with momentum: s ← gamma · s + (1 - gamma) · g²;
    v ← momentum · v + step_size(i) · g / √(s + eps); x ← x - v.

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      gamma: from 0 to 1: the decay rate of the mean of squares s, which is 0 at first.
      eps: above 0.
      momentum: from 0 to 1: the decay rate of the velocity v, which is 0 at first.
    Returns: Optimizer.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.rmsprop_momentum(0.25, gamma=0.75)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.5
    Source: T. Tieleman, G. Hinton, Neural networks for machine learning, lecture 6.5, 2012.
    """
    step = make_schedule(step_size)
    kept_squares = setting("rmsprop_momentum", "gamma", gamma, high=1, with_high=True)
    epsilon = setting("rmsprop_momentum", "eps", eps, with_low=False)
    kept = setting("rmsprop_momentum", "momentum", momentum, high=1, with_high=True)

    def update(i: ArrayLike, g: Any, x: Any, squares: Any, velocity: Any) -> tuple[Any, ...]:
        squares = kept_squares * squares + (1 - kept_squares) * (g * g)
        velocity = kept * velocity + step(i) * g / np.sqrt(squares + epsilon)
        return x - velocity, squares, velocity

    return _rule("rmsprop_momentum", lambda x: (x, np.zeros_like(x), np.zeros_like(x)), update)


@optimizer
def adam(
    step_size: ArrayLike | Schedule,
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.999,
    eps: ArrayLike = 1e-8,
) -> Rule:
    """Adam: m ← b1 · m + (1 - b1) · g; v ← b2 · v + (1 - b2) · g²;
    x ← x - step_size(i) · m / (1 - b1^(i+1)) / (√(v / (1 - b2^(i+1))) + eps).

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      b1: 0 or more, below 1: the decay rate of the mean of gradients m, which is 0 at first.
      b2: 0 or more, below 1: the decay rate of the mean of squares v, which is 0 at first.
      eps: above 0.
    Returns: Optimizer. The number of the step must count from 0.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.adam(0.25)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.75
    Source: arXiv:1412.6980, algorithm 1.
    """
    step = make_schedule(step_size)
    beta1 = setting("adam", "b1", b1, high=1)
    beta2 = setting("adam", "b2", b2, high=1)
    epsilon = setting("adam", "eps", eps, with_low=False)

    def update(i: ArrayLike, g: Any, x: Any, m: Any, v: Any) -> tuple[Any, ...]:
        count = np.asarray(i) + 1
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * (g * g)
        mean, square = m / (1 - beta1**count), v / (1 - beta2**count)
        return x - step(i) * mean / (_root(square) + epsilon), m, v

    return _rule("adam", lambda x: (x, np.zeros_like(x), np.zeros_like(x)), update)


@optimizer
def adamax(
    step_size: ArrayLike | Schedule,
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.999,
    eps: ArrayLike = 1e-8,
) -> Rule:
    """AdaMax: m ← b1 · m + (1 - b1) · g; u ← max(b2 · u, |g|);
    x ← x - step_size(i) / (1 - b1^(i+1)) · m / (u + eps).

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      b1: 0 or more, below 1: the decay rate of the mean of gradients m, which is 0 at first.
      b2: 0 or more, below 1: the decay rate of the maximal size u, which is 0 at first.
      eps: above 0; not in the paper.
    Returns: Optimizer. The number of the step must count from 0.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.adamax(0.25)
      >>> float(get_params(opt_update(0, 2.0, opt_init(1.0))))
      0.75
    Source: arXiv:1412.6980, algorithm 2.
    """
    step = make_schedule(step_size)
    beta1 = setting("adamax", "b1", b1, high=1)
    beta2 = setting("adamax", "b2", b2, high=1)
    epsilon = setting("adamax", "eps", eps, with_low=False)

    def update(i: ArrayLike, g: Any, x: Any, m: Any, u: Any) -> tuple[Any, ...]:
        m = beta1 * m + (1 - beta1) * g
        u = np.maximum(beta2 * u, np.abs(g))
        return x - step(i) / (1 - beta1 ** (np.asarray(i) + 1)) * m / (u + epsilon), m, u

    return _rule("adamax", lambda x: (x, np.zeros_like(x), np.zeros_like(x)), update)


@optimizer
def sm3(step_size: ArrayLike | Schedule, momentum: ArrayLike = 0.9) -> Rule:
    """SM3 with momentum: like Adagrad, but with one accumulator for each slice of an array instead
    of each element.

    Each index of each axis has an accumulator, 0 at first. s is g² plus the smallest accumulator of
    an element's indices; m ← (1 - momentum) · g / √s + momentum · m; x ← x - step_size(i) · m. Then
    each accumulator becomes the largest s of its slice.

    Args:
      step_size: a number, 0 or more, or a function of the number of the step.
      momentum: 0 or more, below 1.
    Returns: Optimizer. Where s is 0, the gradient counts as 0.
    Raises: ValueError: a number is out of its range. TypeError: an argument is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> opt_init, opt_update, get_params = optimizers.sm3(0.25, momentum=0.0)
      >>> state = opt_init(np.ones((2, 3)))
      >>> [x.shape for x in state.packed_state[0]]
      [(2, 3), (2, 3), (2,), (3,)]
      >>> get_params(opt_update(0, np.full((2, 3), 2.0), state))[0]
      Array([0.75, 0.75, 0.75], dtype=float32)
    Source: arXiv:1901.11150, SM3-II.
    """
    step = make_schedule(step_size)
    kept = setting("sm3", "momentum", momentum, high=1)

    def init(x: Any) -> tuple[Any, ...]:
        sizes = [np.zeros(n, x.dtype) for n in x.shape] or [np.zeros((), x.dtype)]
        return x, np.zeros_like(x), sizes

    def update(i: ArrayLike, g: Any, x: Any, m: Any, sizes: Any) -> tuple[Any, ...]:
        axes = range(x.ndim)
        others = [tuple([b for b in axes if b != a]) for a in axes] or [()]
        spread = [np.expand_dims(v, b) for v, b in zip(sizes, others, strict=True)]
        s = functools.reduce(np.minimum, spread) + g * g
        m = (1 - kept) * (g * _inverse_root(s)) + kept * m
        return x - step(i) * m, m, [np.max(s, b, initial=0) for b in others]

    return _rule("sm3", init, update)
