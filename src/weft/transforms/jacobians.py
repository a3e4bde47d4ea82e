"""jacfwd, jacrev (jacobian), hessian: derivatives along all unit vectors, by `vmap`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.masks import scatter_list
from ..core.source import function_line, located, wrapping
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import float0_zeros, full_tangent, linearize as linearize_values
from ..primitives.creation import iota
from ..primitives.structural import convert_element_type
from ..typing import PyTree
from .arguments import FlatFunction, check_callable
from .derivatives import ArgNums, Differentiated, P, check_inexact
from .tangents import Tangent, output_path
from .vmap import mapped_over_leading

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


def jacrev(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """A function that returns the Jacobian, row by row in reverse mode. It is best for few outputs
    and many inputs.

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

        pull_back = lambda *cts: linear.pull_back(cts, flat.avals)  # noqa: E731
        gradients = mapped_over_basis(pull_back, out_avals)
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
    """A value with the weak type of an aval."""
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
    """A function that returns the Jacobian, column by column in forward mode. It is best for few
    inputs and many outputs. Arguments and results are as in `jacrev`.

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

        def columns(*in_tangents: Tangent) -> list[Any]:
            outs, out_tangents = jvp_interpreter.jvp(flat, flat.values, in_tangents, fun)
            out_avals[:] = [o.aval for o in outs[: flat.n_outs]]
            check_outputs(flat, out_avals, holomorphic)
            tangents = [
                full_tangent(a, t)
                for a, t in zip(out_avals, out_tangents, strict=False)
                if a.inexact
            ]
            return [*tangents, *outs[len(out_avals) :]]

        stacked = mapped_over_basis(columns, flat.avals)
        inexact = [a.inexact for a in out_avals]
        count = sum(inexact)
        stacks = scatter_list(stacked[:count], inexact)
        per_output = [
            flat.derivative(jacobian_blocks(o, flat.avals, stack))
            for o, stack in zip(out_avals, stacks, strict=True)
        ]
        result = flat.out_tree.unflatten(per_output)
        if not has_aux:
            return result
        aux_values = [x[0] for x in stacked[count:]]  # the same for all unit vectors
        return result, flat.aux([*[None] * len(out_avals), *aux_values])

    return jacobian


def jacobian_blocks(
    out: Aval, in_avals: Sequence[Aval], columns: Value | None
) -> list[Value | np.ndarray[Any, Any]]:
    """The Jacobian of one output with respect to each argument.

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
            block = columns[start : start + a.size]
            if out.ndim:
                block = block.transpose(*range(1, block.ndim), 0)
            blocks.append(block.reshape(shape))
        start += a.size
    return blocks


def check_outputs(flat: FlatFunction, avals: Sequence[Aval], holomorphic: bool) -> None:
    """Raises an error for outputs that cannot be differentiated because of their dtype."""
    if flat.transform == "jacfwd" and not holomorphic:
        return
    is_valid = dtypes.is_complex if holomorphic else dtypes.is_float
    expected = "complex (holomorphic=True)" if holomorphic else "real floating-point"
    for i, a in enumerate(avals):
        if not is_valid(a.dtype):
            fix = (
                "\n  fix: holomorphic=True if the function is complex-differentiable; otherwise "
                "differentiate real and imaginary parts separately"
            )
            raise ShapeError(
                f"{flat.transform}: the outputs of {function_line(flat.function)} must be "
                f"{expected}; got {a} for {output_path(flat.out_tree, i)}"
                f"{fix if dtypes.is_complex(a.dtype) else ''}"
            )


def mapped_over_basis(function: Callable[..., list[Any]], avals: Sequence[Aval]) -> list[Value]:
    """Applies `function` to each unit vector of the space of `avals`; the results are stacked along
    axis 0."""
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
    """A function that returns the Hessian, by forward mode over reverse mode.

    The arguments are the same as for `jacrev`.

    Example:
      >>> import weft, weft.numpy as np
      >>> g = lambda x: x[0]**3 - 2*x[0]*x[1] - x[1]**6
      >>> print(weft.hessian(g)(np.array([1., 2.])))
      [[   6.   -2.]
       [  -2. -480.]]
    Source: JAX documentation, `jax.hessian`.
    """
    check_callable(fun, "hessian")
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)
