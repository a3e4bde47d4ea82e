"""grad, value_and_grad, jacfwd, jacrev, hessian: what people ask derivatives for.

Knows trees; everything is built on `linear_maps.py` and `vmap.py`.
"""

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import Aval
from ..core.source import function_line, located
from ..core.tracebacks import fold
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import linearize as linearize_values
from ..primitives.creation import iota
from ..tree_util import keystr, tree_flatten, tree_flatten_with_path
from .arguments import argument_values, check_callable, leaf_paths, parameters
from .linear_maps import (
    aux_of,
    flat_function,
    float0_zeros,
    full_tangent,
    names_of,
    pulled,
    reduction,
)
from .vmap import mapped_over_leading

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "value_and_grad"]


class Selected:
    """A function of only the arguments that are to be differentiated; the others stay fixed."""

    __slots__ = ("args", "chosen", "function", "kwargs", "nums", "single", "transform")

    def __init__(
        self,
        transform: str,
        function: Any,
        argnums: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.single = hasattr(argnums, "__index__")
        try:
            nums = tuple(map(operator.index, (argnums,) if self.single else argnums))
        except TypeError:
            raise TypeError(
                f"{transform}: argnums must be an integer or a sequence of integers; got "
                f"{argnums!r}"
            ) from None
        for n in nums:
            if not -len(args) <= n < len(args):
                names = ", ".join(p.name for p in parameters(function)) or "…"
                raise TypeError(
                    f"{transform}: argnums={argnums} asks for the derivative in positional "
                    f"argument {n} of {function_line(function)}({names}); the call has {len(args)} "
                    "positional arguments\n  fix: pass that argument by position, or change argnums"
                )
        self.nums = tuple(n % len(args) for n in nums)
        if len(set(self.nums)) < len(nums):
            raise ValueError(f"{transform}: argnums={argnums} names an argument twice")
        self.transform, self.function, self.args, self.kwargs = transform, function, args, kwargs
        self.chosen = tuple(args[n] for n in self.nums)

    def __call__(self, *chosen: Any) -> Any:
        full = list(self.args)
        for n, x in zip(self.nums, chosen, strict=True):
            full[n] = x
        return self.function(*full, **self.kwargs)

    @property
    def __wrapped__(self) -> Any:
        """The user's function, for messages."""
        return self.function

    def paths(self) -> list[str]:
        """What the leaves of the chosen arguments are called."""
        return leaf_paths(self.function, self.chosen, {}, self.nums)

    def result(self, tree: Any, leaves: Sequence[Any]) -> Any:
        """Leaves as the derivative in one argument, or a tuple for several."""
        trees = tree.unflatten(leaves)
        return trees[0] if self.single else trees


def check_inexact(
    transform: str, selected: Selected, avals: Sequence[Aval], holomorphic: bool, allow_int: bool
) -> None:
    """Refuses arguments that have no derivative of the kind asked for."""
    for i, a in enumerate(avals):
        if holomorphic and not dtypes.is_complex(a.dtype):
            raise TypeError(
                f"{transform}: with holomorphic=True arguments must be complex; got {a} for "
                f"{selected.paths()[i]} of {function_line(selected.function)}"
            )
        if not dtypes.is_inexact(a.dtype) and not allow_int:
            raise TypeError(
                f"{transform}: can differentiate in floating-point or complex arguments only; got "
                f"{a} for {selected.paths()[i]} of {function_line(selected.function)}\n"
                "  fix: pass a float (1.0 instead of 1, x.astype(float)); allow_int=True gives "
                "integers a derivative of dtype float0"
            )
        if dtypes.is_complex(a.dtype) and not holomorphic and transform in ("jacfwd", "jacrev"):
            raise TypeError(
                f"{transform}: expected real arguments; got {a} for {selected.paths()[i]} of "
                f"{function_line(selected.function)}\n"
                "  fix: holomorphic=True if the function is complex-differentiable; otherwise "
                "differentiate real and imaginary parts as arguments of their own"
            )


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The gradient of a scalar function, by reverse mode.

    Args:
      fun: a function to a scalar (shape `()`); the arguments named by `argnums` are arrays,
        scalars or containers of them, of inexact dtype.
      argnums: the position, or positions, to differentiate in.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
      holomorphic: whether `fun` is promised to be complex-differentiable; then arguments and
        output must be complex.
      allow_int: whether integer arguments are allowed; their derivative is of dtype float0.
      reduce_axes: named axes of a batch. Gradients in arguments that are the same for all of the
        batch are summed over it: they are total gradients. Otherwise each is of its example's loss.
    Returns: a function with the arguments of `fun` that gives the gradient: like the argument, or
      a tuple for several `argnums`; with `has_aux`, a pair (gradient, auxiliary data).
    Raises: TypeError: the output isn't a real scalar, or an argument is an integer.
    Example:
      >>> import weft
      >>> print(weft.grad(weft.numpy.tanh)(0.2))
      0.961043
    Source: seed 002, `jax.grad`.
    """
    value_and_grad_f = value_and_grad(
        fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, _name="grad"
    )

    @wraps(fun)
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        try:
            value, g = value_and_grad_f(*args, **kwargs)
        except Exception as error:
            fold(error)
            raise
        return (g, value[1]) if has_aux else g

    return grad_f


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
    _name: str = "value_and_grad",
) -> Callable[..., Any]:
    """A scalar function's value and its gradient, together. Arguments as for `grad`.

    Returns: a function that gives a pair (value, gradient); with `has_aux`,
      ((value, auxiliary data), gradient).
    Example:
      >>> import weft
      >>> value, g = weft.value_and_grad(lambda x: x**2)(3.0)
      >>> print(value, g)
      9.0 6.0
    Source: seed 002, `jax.value_and_grad`.
    """
    check_callable(fun, _name)
    reduce_axes = names_of(_name, reduce_axes)

    @wraps(fun)
    @located
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(_name, fun, argnums, args, kwargs)
        leaves, tree = tree_flatten(selected.chosen)
        values = argument_values(_name, fun, leaves, selected.paths)
        in_avals = [v.aval for v in values]
        check_inexact(_name, selected, in_avals, holomorphic, allow_int)
        flat, found = flat_function(_name, selected, tree, has_aux)
        outs, linear = linearize_values(flat, values, _name, fun)
        n = found.get("n_out", len(outs))
        check_scalar(_name, fun, found["out_tree"], [o.aval for o in outs[:n]], holomorphic)
        one = literal(1, outs[0].aval.dtype)
        seed = Array(one._host, outs[0].aval.strong())
        reduce = reduction(reduce_axes, values, outs) if reduce_axes else None
        cts = pulled(linear, [seed], len(outs), in_avals, reduce)
        value = found["out_tree"].unflatten(outs[:n])
        g = selected.result(tree, cts)
        return ((value, aux_of(found, outs[n:])), g) if has_aux else (value, g)

    return value_and_grad_f


def check_scalar(
    transform: str, fun: Any, out_tree: Any, avals: Sequence[Aval], holomorphic: bool
) -> None:
    """Refuses an output that isn't a scalar of the right kind."""
    if not out_tree.is_leaf:
        hint = (
            "\n  fix: has_aux=True if the function returns (loss, auxiliary data)"
            if len(avals) == 2 or out_tree.num_leaves != 1
            else ""
        )
        raise TypeError(
            f"{transform}: {function_line(fun)} must return one scalar; got a structure {out_tree} "
            f"of {', '.join(map(str, avals))}{hint}"
        )
    (a,) = avals
    if a.shape != ():
        raise TypeError(
            f"{transform}: {function_line(fun)} must return a scalar (shape ()); got {a}\n"
            "  fix: reduce it with .sum() or .mean(), or use jacrev, jacfwd or vjp for the "
            "derivative of an array"
        )
    if holomorphic and not dtypes.is_complex(a.dtype):
        raise TypeError(f"{transform}: with holomorphic=True the output must be complex; got {a}")
    if not holomorphic and not dtypes.is_float(a.dtype):
        raise TypeError(
            f"{transform}: {function_line(fun)} must return a real floating-point scalar; got {a}\n"
            "  fix: convert the result with .astype(float), take its .real, or, for a "
            "complex-differentiable function, holomorphic=True"
        )


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian, row by row with reverse mode: best for few outputs and many inputs.

    Args: as for `grad`; `fun` may return arrays of any shape, in containers.
    Returns: a function that gives, for each output leaf of shape `out` and each argument leaf of
      shape `in`, an array of shape `(*out, *in)`, in a tree product of the two structures.
    Example:
      >>> import weft, weft.numpy as np
      >>> f = lambda x: np.asarray([x[0], 5*x[2], 4*x[1]**2 - 2*x[2], x[2] * np.sin(x[0])])
      >>> print(weft.jacrev(f)(np.array([1., 2., 3.])))
      [[ 1.        0.        0.       ]
       [ 0.        0.        5.       ]
       [ 0.       16.       -2.       ]
       [ 1.6209069 0.        0.841471 ]]
    Source: seed 002, `jax.jacrev`.
    """
    check_callable(fun, "jacrev")

    @wraps(fun)
    @located
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        selected = Selected("jacrev", fun, argnums, args, kwargs)
        leaves, tree = tree_flatten(selected.chosen)
        values = argument_values("jacrev", fun, leaves, selected.paths)
        in_avals = [v.aval for v in values]
        check_inexact("jacrev", selected, in_avals, holomorphic, allow_int)
        flat, found = flat_function("jacrev", selected, tree, has_aux)
        outs, linear = linearize_values(flat, values, "jacrev", fun)
        n = found.get("n_out", len(outs))
        out_avals = [o.aval for o in outs[:n]]
        check_outputs("jacrev", fun, found["out_tree"], out_avals, holomorphic)

        def rows(*cts: Any) -> list[Any]:
            return pulled(linear, cts, len(outs), in_avals)

        columns = mapped_over_basis(rows, out_avals)
        per_output = []
        start = 0
        for o in out_avals:
            blocks = []
            for a, g in zip(in_avals, columns, strict=True):
                if not dtypes.is_inexact(a.dtype):
                    blocks.append(float0_zeros((*o.shape, *a.shape)))
                else:
                    blocks.append(g[start : start + o.size].reshape((*o.shape, *a.shape)))
            start += o.size
            per_output.append(selected.result(tree, blocks))
        result = found["out_tree"].unflatten(per_output)
        return (result, aux_of(found, outs[n:])) if has_aux else result

    return jacobian


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian, column by column with forward mode: best for few inputs and many outputs.

    Arguments and result as for `jacrev`.

    Example:
      >>> import weft, weft.numpy as np
      >>> print(weft.jacfwd(lambda x: x**2)(np.array([1., 2.])))
      [[2. 0.]
       [0. 4.]]
    Source: seed 002, `jax.jacfwd`.
    """
    check_callable(fun, "jacfwd")

    @wraps(fun)
    @located
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        selected = Selected("jacfwd", fun, argnums, args, kwargs)
        leaves, tree = tree_flatten(selected.chosen)
        values = argument_values("jacfwd", fun, leaves, selected.paths)
        in_avals = [v.aval for v in values]
        check_inexact("jacfwd", selected, in_avals, holomorphic, False)
        flat, found = flat_function("jacfwd", selected, tree, has_aux)
        seen: dict[str, Any] = {}

        def columns(*tangents: Any) -> list[Any]:
            outs, t_outs = jvp_interpreter.jvp(flat, values, tangents, fun)
            seen["outs"] = outs
            n = seen["n"] = found.get("n_out", len(outs))
            avals = seen["avals"] = [o.aval for o in outs[:n]]
            check_outputs("jacfwd", fun, found["out_tree"], avals, holomorphic)
            tangents_out = [
                full_tangent(a, t) if dtypes.is_inexact(a.dtype) else None
                for a, t in zip(avals, t_outs, strict=False)
            ]
            aux = outs[n:]
            return [*[t for t in tangents_out if t is not None], *aux]

        pushed = mapped_over_basis(columns, in_avals)
        out_avals = seen["avals"]
        waiting = iter(pushed)
        per_output = []
        for o in out_avals:
            stacked = next(waiting) if dtypes.is_inexact(o.dtype) else None
            blocks = []
            start = 0
            for a in in_avals:
                shape = (*o.shape, *a.shape)
                if stacked is None:
                    blocks.append(float0_zeros(shape))
                else:
                    part = stacked[start : start + a.size]
                    blocks.append(moved_last(part).reshape(shape))
                start += a.size
            per_output.append(selected.result(tree, blocks))
        result = found["out_tree"].unflatten(per_output)
        return (result, aux_of(found, [x[0] for x in waiting])) if has_aux else result

    return jacobian


def moved_last(x: Any) -> Any:
    """The first axis moved to the end."""
    return x.transpose(*range(1, x.ndim), 0) if x.ndim > 1 else x


def check_outputs(
    transform: str, fun: Any, out_tree: Any, avals: Sequence[Aval], holomorphic: bool
) -> None:
    """Refuses outputs that have no derivative of the kind asked for."""
    for i, a in enumerate(avals):
        good = dtypes.is_complex(a.dtype) if holomorphic else dtypes.is_float(a.dtype)
        if not good and not (transform == "jacfwd" and not holomorphic):
            wanted = "complex (holomorphic=True)" if holomorphic else "real floating-point"
            marked = out_tree.unflatten(list(range(len(avals))))
            path = next(p for p, leaf in tree_flatten_with_path(marked)[0] if leaf == i)
            raise TypeError(
                f"{transform}: the outputs of {function_line(fun)} must be {wanted}; got {a} "
                f"for output{keystr(path)}"
            )


def mapped_over_basis(function: Callable[..., list[Any]], avals: Sequence[Aval]) -> list[Any]:
    """`function` applied to every unit vector of the space of `avals`, stacked along axis 0."""
    total = sum(a.size for a in avals)
    basis: list[Any] = []
    start = 0
    for a in avals:
        if not dtypes.is_inexact(a.dtype):
            basis.append(None)
        else:
            rows = iota(dtype=dtypes.int32, shape=(total, a.size), dimension=0)
            columns = iota(dtype=dtypes.int32, shape=(total, a.size), dimension=1)
            unit = (rows == columns + start).astype(a.dtype)
            basis.append(unit.reshape((total, *a.shape)))
        start += a.size
    return mapped_over_leading(function, basis, total)


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Hessian: forward mode over reverse mode. Arguments as for `jacrev`.

    Example:
      >>> import weft, weft.numpy as np
      >>> g = lambda x: x[0]**3 - 2*x[0]*x[1] - x[1]**6
      >>> print(weft.hessian(g)(np.array([1., 2.])))
      [[   6.   -2.]
       [  -2. -480.]]
    Source: seed 002, `jax.hessian`.
    """
    check_callable(fun, "hessian")
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
