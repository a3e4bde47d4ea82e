"""Minimization of a function of a vector with its gradient: minimize, by BFGS or L-BFGS, and its
result, OptimizeResults."""

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...core.array import Array, as_value
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.complex_numbers import imag, real
from ...numpy.joining import concatenate
from ...primitives.complex_numbers import complex_
from ...transforms.arguments import check_callable
from ...transforms.derivatives import value_and_grad
from ...transforms.tracing import eval_shape
from ...typing import ArrayLike
from .bfgs import State, bfgs, lbfgs

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """The result of a minimisation.

    Attributes:
      x: the last point.
      success: whether the result meets the tolerance.
      status: 0: converged; 1: too many iterations; 2: too many evaluations; 3 or 5: the line search
        found no lower point; 4 (a success): the value hardly changed.
      fun, jac: the value and the gradient at x.
      hess_inv: BFGS's approximation of the inverse Hessian; `None` for L-BFGS. For complex x, the
        variables are the real parts, then the imaginary parts.
      nfev, njev, nit: the numbers of values, gradients and iterations.
    Example:
      >>> from weft.scipy import optimize
      >>> result = optimize.minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros(2), method="BFGS")
      >>> result.x.round(3), bool(result.success)
      (Array([3., 3.], dtype=float32), True)
    """

    x: Array
    success: Array
    status: Array | int
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: Array | int
    njev: Array | int
    nit: Array | int


BFGS = {"maxiter": None, "norm": math.inf, "gtol": 1e-5, "line_search_maxiter": 10}
LBFGS = {
    "maxiter": None, "norm": 2, "maxcor": 10, "ftol": 2.220446049250313e-09, "gtol": 1e-5,
    "maxfun": None, "maxgrad": None, "maxls": 20,
}  # fmt: skip
METHODS = {
    "bfgs": BFGS, "l-bfgs": LBFGS, "l-bfgs-experimental-do-not-rely-on-this": LBFGS,
    "l-bfgs-experimental-do-not-use-me": LBFGS,
}  # fmt: skip
MAX_INT32 = 2**31 - 1
_NUMBERS = (int, float, np.number, np.ndarray, Value)


@located
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Finds a local minimum of a function of a vector, with the gradient by differentiation.

    It works inside jit and vmap; the result is not differentiable in reverse mode.

    Args:
      fun: a function of a vector, and of `args`, that returns a real scalar.
      x0: the initial guess: floats or complex numbers [n].
      args: a tuple of additional arguments of `fun`.
      method: "BFGS" or "L-BFGS" (in JAX's spelling "l-bfgs-experimental-do-not-rely-on-this").
      tol: default of the options `gtol` and, for L-BFGS, `ftol`.
      options: maxiter, and gtol: the norm of the gradient below which a point is a minimum;
        norm: the norm's order. BFGS: line_search_maxiter. L-BFGS: maxcor, the number of stored
        vectors; ftol, the relative change of the value below which it stops; maxfun and maxgrad,
        the maximum numbers of evaluations; and maxls, the maximum for one line search.
    Returns: `OptimizeResults`.
    Raises: TypeError: args is not a tuple, x0 is not a vector of numbers, or fun's value is not a
      real scalar. ValueError: an unknown method or option, or an option that the method ignores.
    Example:
      >>> from weft.scipy.optimize import minimize
      >>> result = minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros(2), method="BFGS")
      >>> print(result.x, result.success)
      [3. 3.] True
    Source: JAX documentation, `jax.scipy.optimize.minimize`; SciPy's of the same name.
    """
    check_callable(fun, "minimize: fun")
    if not isinstance(args, tuple):
        raise TypeError(
            f"minimize: args must be a tuple; got {type(args).__name__}\n  fix: args=(args,)"
        )
    x = start_of(x0)
    n, is_complex = x.shape[0], dtypes.is_complex(x.dtype)
    function: Callable[[Any], Any] = functools.partial(lambda args, x: fun(x, *args), args)
    check_value(function, x)
    if is_complex:  # a function of the real and the imaginary parts
        of_complex, x = function, concatenate([real(x), imag(x)])
        function = lambda parts: of_complex(complex_(parts[:n], parts[n:]))  # noqa: E731
    name, arguments = options_of(method, tol, options, x.shape[0])
    f = value_and_grad(function)
    end = bfgs(f, x, **arguments) if name == "bfgs" else lbfgs(f, x, **arguments)
    if is_complex:
        # as in `grad`, its imaginary part is minus the derivative with respect to the imaginary
        # part
        slope = complex_(end.gradient[:n], -end.gradient[n:])
        end = end._replace(x=complex_(end.x[:n], end.x[n:]), gradient=slope)
    if name == "bfgs":
        return result_of(end, end.converged, end.memory)
    return result_of(end, end.converged | (end.status == 4), None)


def result_of(end: State, success: Any, inverse: Any) -> OptimizeResults:
    """The result from the final state."""
    return OptimizeResults(
        end.x, success, end.status, end.value, end.gradient, inverse,
        end.evaluations, end.evaluations, end.nit,
    )  # type: ignore[arg-type]  # fmt: skip


def start_of(x0: Any) -> Array:
    """The initial guess, a vector of floats or complex numbers."""
    x = as_value(x0)
    if x.ndim != 1:
        raise ShapeError(f"minimize: x0 must be a vector of numbers; got {x.aval}")
    return x.astype(x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float())  # type: ignore


def check_value(function: Callable[[Any], Any], x: Array) -> None:
    """Refuses a function that does not return a real scalar of x's precision."""
    value = eval_shape(function, x)
    if getattr(value, "shape", None) != () or not dtypes.is_float(value.dtype):
        raise ShapeError(f"minimize: fun must return a real scalar; got {value}")
    expected = dtypes.real_of(x.dtype)
    if value.dtype != expected:
        raise ShapeError(
            f"minimize: fun must return a {expected} scalar for x0 of {x.dtype}; got {value.dtype}"
        )


def options_of(method: Any, tol: Any, options: Any, n: int) -> tuple[str, dict[str, Any]]:
    """(the method's name, its arguments)."""
    defaults = METHODS.get(method.lower()) if isinstance(method, str) else None
    if defaults is None:
        raise ValueError(f"minimize: method must be 'BFGS' or 'L-BFGS'; got {method!r}")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"minimize: options must be a dict; got {options!r:.80}")
    user_options = dict(options or {})
    unknown = sorted(set(user_options) - set(defaults))
    if unknown:
        raise ValueError(
            f"minimize: unknown options {', '.join(unknown)} for method {method!r}; it has "
            f"{', '.join(defaults)}"
        )
    if tol is not None:
        if getattr(tol, "shape", ()) != () or not isinstance(tol, _NUMBERS):
            raise TypeError(f"minimize: tol must be a number; got {tol!r:.80}")
        user_options = {**{k: tol for k in ("gtol", "ftol") if k in defaults}, **user_options}
    all_options = {**defaults, **user_options}
    order = all_options.pop("norm")
    if not isinstance(order, (int, float)) or order != order:
        raise ValueError(f"minimize: norm must be a number, the norm's order; got {order!r}")
    for count in ("maxiter", "line_search_maxiter", "maxcor", "maxfun", "maxgrad", "maxls"):
        if count in all_options:
            default = 200 * n if count == "maxiter" else MAX_INT32
            all_options[count] = (
                default
                if all_options[count] is None
                else positive_int_option(count, all_options[count])
            )
    all_options["norm_order"] = order
    if "maxgrad" in all_options:  # each evaluation computes both
        all_options["maxfun"] = min(all_options["maxfun"], all_options.pop("maxgrad"))
        return "l-bfgs", all_options
    return "bfgs", all_options


def positive_int_option(name: str, number: Any) -> int:
    """A positive integer option."""
    try:
        integer = operator.index(number)
    except TypeError:
        raise TypeError(f"minimize: {name} must be an int; got {number!r}") from None
    if integer < 1:
        raise ValueError(f"minimize: {name} must be positive; got {integer}")
    return integer
