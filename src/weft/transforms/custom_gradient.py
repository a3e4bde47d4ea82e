"""custom_gradient: a function that returns its own pullback."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from ..core.array import as_value
from ..core.jaxpr import Jaxpr, run
from ..core.trace import current
from ..core.value import Value
from ..tree_util import Partial, PyTreeDef, tree_flatten
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable
from .custom_derivatives import custom_vjp

__all__ = ["custom_gradient"]

P = ParamSpec("P")
R = TypeVar("R")


def custom_gradient(fun: Callable[P, tuple[R, Any]]) -> Callable[P, R]:
    """A function that returns its own pullback.

    Args:
      fun: returns a pair (output, pullback); the pullback takes the output's cotangent and returns
        the arguments' cotangents.
    Returns: a function that returns the output.
    Example:
      >>> import weft
      >>> @weft.custom_gradient
      ... def f(x):
      ...     return x**2, lambda g: (g * x,)
      >>> print(weft.grad(f)(3.0))
      3.0
    Source: JAX documentation, `jax.custom_gradient`.
    """
    check_callable(fun, "custom_gradient")

    function: TreeFunction = fun

    @custom_vjp
    @functools.wraps(fun)
    def wrapped(*args: PyTree) -> PyTree:
        return function(*args)[0]

    def fwd(*args: PyTree) -> tuple[PyTree, Partial]:
        out, vjp_function = function(*args)

        @functools.wraps(fun)
        def cotangents(ct: PyTree) -> tuple[PyTree, ...]:
            result = vjp_function(ct)
            return tuple(result) if isinstance(result, (tuple, list)) else (result,)

        flat = FlatFunction("custom_gradient", cotangents, (out,))
        flat.avals = tuple([a.strong() for a in flat.avals])
        jaxpr = flat.stage()
        pullback = functools.partial(run_pullback, jaxpr.without_consts(), flat.out_tree)
        return out, Partial(pullback, jaxpr.consts)

    @functools.wraps(fun)  # messages name the user's line
    def backward(pullback: Partial, ct: PyTree) -> PyTree:
        return pullback(ct)

    wrapped.defvjp(fwd, backward)
    return wrapped  # type: ignore[return-value]


def run_pullback(jaxpr: Jaxpr, out_tree: PyTreeDef, consts: Sequence[Value], ct: PyTree) -> PyTree:
    """The result of a staged vjp function."""
    cts = [as_value(x) for x in tree_flatten(ct)[0]]
    return out_tree.unflatten(run(jaxpr, [*consts, *cts], current.trace))
