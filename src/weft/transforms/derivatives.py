"""grad, value_and_grad, jacfwd, jacrev, hessian: the derivatives that users ask for.

Knows trees; everything is built on `linear_maps.py` and `vmap.py`.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .. import dtypes
from ..core.array import one
from ..core.aval import Aval
from ..core.masks import scatter_list
from ..core.source import function_line, located, wrapping
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import (
    float0_zeros,
    full_tangent,
    linearize as linearize_values,
)
from ..primitives.creation import iota
from ..primitives.structural import convert_element_type
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable, parameters
from .linear_maps import (
    AxisNames,
    Tangent,
    names_of,
    output_path,
    reduction,
)
from .vmap import mapped_over_leading

__all__ = ["grad", "hessian", "jacfwd", "jacobian", "jacrev", "value_and_grad"]

P = ParamSpec("P")
R = TypeVar("R")

ArgNums = int | Sequence[int]


class Differentiated(FlatFunction):
    """A function of only the arguments that are to be differentiated; the others stay fixed."""

    __slots__ = ("nums", "single")

    def __init__(
        self,
        transform: str,
        function: TreeFunction,
        argnums: ArgNums,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        has_aux: bool,
    ) -> None:
        self.single = hasattr(argnums, "__index__")
        count = len(args)
        try:
            nums = [operator.index(argnums)] if self.single else [*map(operator.index, argnums)]  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(
                f"{transform}: argnums must be an integer or a sequence of integers; got "
                f"{argnums!r}"
            ) from None
        for i, n in enumerate(nums):
            if not -count <= n < count:
                names = ", ".join(p.name for p in parameters(function)) or "…"
                raise TypeError(
                    f"{transform}: argnums={argnums} asks for the derivative in positional "
                    f"argument {n} of {function_line(function)}({names}); the call has {count} "
                    "positional arguments\n  fix: pass that argument by position, or change argnums"
                )
            nums[i] = n % count
        if len(set(nums)) < len(nums):
            raise ValueError(f"{transform}: argnums={argnums} names an argument twice")
        self.nums = nums
        fixed = [i for i in range(count) if i not in nums] if len(nums) < count else ()
        super().__init__(transform, function, args, kwargs, fixed, kwargs, has_aux=has_aux)

    def derivative(self, leaves: Sequence[object]) -> PyTree:
        """Leaves as the derivative in one argument, or a tuple for several."""
        trees = self.args_tree.unflatten(leaves)
        if self.single:
            return trees[0]
        return tuple([trees[self.positions.index(n)] for n in self.nums])


def check_inexact(flat: Differentiated, holomorphic: bool, allow_int: bool = False) -> None:
    """Refuses arguments that have no derivative of the kind asked for."""
    transform = flat.transform
    for i, a in enumerate(flat.avals):
        if holomorphic and not dtypes.is_complex(a.dtype):
            raise ShapeError(
                f"{transform}: with holomorphic=True arguments must be complex; got {a} for "
                f"{flat.paths()[i]} of {function_line(flat.function)}"
            )
        if not a.inexact and not allow_int:
            raise ShapeError(
                f"{transform}: can differentiate in floating-point or complex arguments only; got "
                f"{a} for {flat.paths()[i]} of {function_line(flat.function)}\n"
                "  fix: pass a float (1.0 instead of 1, x.astype(float)); allow_int=True gives "
                "integers a derivative of dtype float0"
            )
        if not holomorphic and transform == "jacfwd" and dtypes.is_complex(a.dtype):
            raise ShapeError(
                f"{transform}: expected real arguments; got {a} for {flat.paths()[i]} of "
                f"{function_line(flat.function)}\n"
                "  fix: holomorphic=True if the function is complex-differentiable; otherwise "
                "differentiate real and imaginary parts as arguments of their own"
            )


def grad(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: AxisNames = (),
) -> Callable[P, Any]:
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
    Returns: a function with the arguments of `fun` that returns the gradient: like the argument, or
      a tuple for several `argnums`; with `has_aux`, a pair (gradient, auxiliary data).
    Raises: TypeError: the output isn't a real scalar, or an argument is an integer.
    Example:
      >>> import weft
      >>> print(weft.grad(weft.numpy.tanh)(0.2))
      0.961043
    Source: JAX documentation, `jax.grad`.
    """
    return gradient("grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)


def value_and_grad(
    fun: Callable[P, R],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: AxisNames = (),
) -> Callable[P, tuple[R, Any]]:
    """A scalar function's value and its gradient, together. Arguments as for `grad`.

    Returns: a function that returns a pair (value, gradient); with `has_aux`,
      ((value, auxiliary data), gradient).
    Example:
      >>> import weft
      >>> value, g = weft.value_and_grad(lambda x: x**2)(3.0)
      >>> print(value, g)
      9.0 6.0
    Source: JAX documentation, `jax.value_and_grad`.
    """
    return gradient("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)


def gradient(
    transform: str,
    fun: TreeFunction,
    argnums: ArgNums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: AxisNames,
) -> TreeFunction:
    """`grad` and `value_and_grad` of a function."""
    check_callable(fun, transform)
    if reduce_axes != ():
        reduce_axes = names_of(transform, reduce_axes)

    @wrapping(fun)
    @located
    def differentiated(*args: PyTree, **kwargs: PyTree) -> PyTree:
        flat = Differentiated(transform, fun, argnums, args, kwargs, has_aux)
        check_inexact(flat, holomorphic, allow_int)
        outs, linear = linearize_values(flat, flat.values, transform, fun)
        check_scalar(flat, [o.aval for o in outs[: flat.n_outs]], holomorphic)
        reduce = reduction(reduce_axes, flat.values, outs) if reduce_axes else None
        seeds = [one(outs[0].aval.dtype)]
        g = flat.derivative(linear.pull_back(seeds, flat.avals, reduce.around if reduce else None))
        if transform == "grad":
            return (g, flat.aux(outs)) if has_aux else g
        value = flat.unflatten(outs)
        return (value, flat.aux(outs)) if has_aux else value, g

    return differentiated


def check_scalar(flat: FlatFunction, avals: Sequence[Aval], holomorphic: bool) -> None:
    """Refuses an output that isn't a scalar of the right kind."""
    transform, out_tree, fun = flat.transform, flat.out_tree, flat.function
    if out_tree.kind is not None:
        hint = (
            "\n  fix: has_aux=True if the function returns (loss, auxiliary data)"
            if len(avals) == 2 or out_tree.num_leaves != 1
            else ""
        )
        raise ShapeError(
            f"{transform}: {function_line(fun)} must return one scalar; got a structure {out_tree} "
            f"of {', '.join(map(str, avals))}{hint}"
        )
    (a,) = avals
    if a.shape != ():
        raise ShapeError(
            f"{transform}: {function_line(fun)} must return a scalar (shape ()); got {a}\n"
            "  fix: reduce it with .sum() or .mean(), or use jacrev, jacfwd or vjp for the "
            "derivative of an array"
        )
    if holomorphic and not dtypes.is_complex(a.dtype):
        raise ShapeError(f"{transform}: with holomorphic=True the output must be complex; got {a}")
    if not holomorphic and (not a.inexact or a.dtype.kind == "c"):
        raise ShapeError(
            f"{transform}: {function_line(fun)} must return a real floating-point scalar; got {a}\n"
            "  fix: convert the result with .astype(float), take its .real, or, for a "
            "complex-differentiable function, holomorphic=True"
        )


def jacrev(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """The Jacobian, row by row with reverse mode: best for few outputs and many inputs.

    Args: as for `grad`; `fun` may return arrays of any shape, in containers.
    Returns: a function that returns, for each output leaf of shape `out` and each argument leaf of
      shape `in`, an array of shape `(*out, *in)`, in a tree product of the two structures.
    Example:
      >>> import weft, weft.numpy as np
      >>> f = lambda x: np.asarray([x[0], 5*x[2], 4*x[1]**2 - 2*x[2], x[2] * np.sin(x[0])])
      >>> print(weft.jacrev(f)(np.array([1., 2., 3.])))
      [[ 1.        0.        0.       ]
       [ 0.        0.        5.       ]
       [ 0.       16.       -2.       ]
       [ 1.6209069 0.        0.841471 ]]
    Source: JAX documentation, `jax.jacrev`.
    """
    check_callable(fun, "jacrev")

    @wrapping(fun)
    @located
    def jacobian(*args: PyTree, **kwargs: PyTree) -> PyTree:
        flat = Differentiated("jacrev", fun, argnums, args, kwargs, has_aux)
        check_inexact(flat, holomorphic, allow_int)
        outs, linear = linearize_values(flat, flat.values, "jacrev", fun)
        out_avals = [o.aval for o in outs[: flat.n_outs]]
        check_outputs(flat, out_avals, holomorphic)

        def rows(*cts: Tangent) -> list[Value | np.ndarray[Any, Any]]:
            return linear.pull_back(cts, flat.avals)

        gradients = mapped_over_basis(rows, out_avals)
        per_output = []
        start = 0
        for o in out_avals:
            blocks = [
                weak_like(a, g[start : start + o.size].reshape((*o.shape, *a.shape)))
                if dtypes.is_inexact(a.dtype)
                else float0_zeros((*o.shape, *a.shape))
                for a, g in zip(flat.avals, gradients, strict=True)
            ]
            start += o.size
            per_output.append(flat.derivative(blocks))
        result = flat.out_tree.unflatten(per_output)
        return (result, flat.aux(outs)) if has_aux else result

    return jacobian


jacobian = jacrev


def weak_like(a: Aval, x: Value) -> Value:
    """A value of a weak type if an aval is of one."""
    if x.aval.weak_type == a.weak_type:
        return x
    weak: Value = convert_element_type(x, dtype=x.dtype, weak_type=a.weak_type)
    return weak


def jacfwd(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The Jacobian, column by column with forward mode: best for few inputs and many outputs.

    Arguments and result as for `jacrev`.

    Example:
      >>> import weft, weft.numpy as np
      >>> print(weft.jacfwd(lambda x: x**2)(np.array([1., 2.])))
      [[2. 0.]
       [0. 4.]]
    Source: JAX documentation, `jax.jacfwd`.
    """
    check_callable(fun, "jacfwd")

    @wrapping(fun)
    @located
    def jacobian(*args: PyTree, **kwargs: PyTree) -> PyTree:
        flat = Differentiated("jacfwd", fun, argnums, args, kwargs, has_aux)
        check_inexact(flat, holomorphic)
        out_avals: list[Aval] = []

        def columns(*tangents: Tangent) -> list[Any]:
            outs, t_outs = jvp_interpreter.jvp(flat, flat.values, tangents, fun)
            out_avals[:] = [o.aval for o in outs[: flat.n_outs]]
            check_outputs(flat, out_avals, holomorphic)
            pushed = [
                full_tangent(a, t)
                for a, t in zip(out_avals, t_outs, strict=False)
                if dtypes.is_inexact(a.dtype)
            ]
            return [*pushed, *outs[len(out_avals) :]]

        pushed = mapped_over_basis(columns, flat.avals)
        inexact = [a.inexact for a in out_avals]
        count = sum(inexact)
        stacks = scatter_list(pushed[:count], inexact)
        per_output = [
            flat.derivative(jacobian_blocks(o, flat.avals, stack))
            for o, stack in zip(out_avals, stacks, strict=True)
        ]
        result = flat.out_tree.unflatten(per_output)
        if not has_aux:
            return result
        none = [None] * len(out_avals)
        return result, flat.aux([*none, *[x[0] for x in pushed[count:]]])

    return jacobian


def jacobian_blocks(
    out: Aval, in_avals: Sequence[Aval], columns: Value | None
) -> list[Value | np.ndarray[Any, Any]]:
    """The Jacobian of one output in each argument.

    Args:
      columns: the output's tangents along all unit vectors, stacked along axis 0; `None` for an
        integer output.
    """
    blocks: list[Value | np.ndarray[Any, Any]] = []
    start = 0
    for a in in_avals:
        shape = (*out.shape, *a.shape)
        if columns is None:
            blocks.append(float0_zeros(shape))
        else:
            part = columns[start : start + a.size]
            if out.ndim:
                part = part.transpose(*range(1, part.ndim), 0)
            blocks.append(part.reshape(shape))
        start += a.size
    return blocks


_HOLOMORPHIC = (
    "\n  fix: holomorphic=True if the function is complex-differentiable; otherwise differentiate "
    "real and imaginary parts by themselves"
)


def check_outputs(flat: FlatFunction, avals: Sequence[Aval], holomorphic: bool) -> None:
    """Refuses outputs that have no derivative of the kind asked for."""
    for i, a in enumerate(avals):
        good = dtypes.is_complex(a.dtype) if holomorphic else dtypes.is_float(a.dtype)
        if not good and not (flat.transform == "jacfwd" and not holomorphic):
            wanted = "complex (holomorphic=True)" if holomorphic else "real floating-point"
            raise ShapeError(
                f"{flat.transform}: the outputs of {function_line(flat.function)} must be "
                f"{wanted}; got {a} for {output_path(flat.out_tree, i)}"
                + (_HOLOMORPHIC if dtypes.is_complex(a.dtype) else "")
            )


def mapped_over_basis(function: Callable[..., list[Any]], avals: Sequence[Aval]) -> list[Value]:
    """`function` applied to every unit vector of the space of `avals`, stacked along axis 0."""
    total = sum(a.size for a in avals)
    basis: list[Tangent] = []
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
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The Hessian: forward mode over reverse mode. Arguments as for `jacrev`.

    Example:
      >>> import weft, weft.numpy as np
      >>> g = lambda x: x[0]**3 - 2*x[0]*x[1] - x[1]**6
      >>> print(weft.hessian(g)(np.array([1., 2.])))
      [[   6.   -2.]
       [  -2. -480.]]
    Source: JAX documentation, `jax.hessian`.
    """
    check_callable(fun, "hessian")
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
