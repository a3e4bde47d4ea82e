"""jvp, linearize, vjp, linear_transpose: derivatives as linear maps, on trees.

Knows trees and the interpreters; `derivatives.py` builds gradients and Jacobians on it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import as_value
from ..core.aval import Aval
from ..core.jaxpr import run
from ..core.source import function_line, located
from ..core.trace import current
from ..core.value import Value
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import LinearMap, linearize as linearize_values
from ..interpreters.transpose import backward
from ..primitives.reduce_axes import psum_shared, share
from ..primitives.structural import convert_element_type, zeros
from ..tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable

__all__ = ["jvp", "linear_transpose", "linearize", "vjp"]

Tangent = Value | None
"""A tangent or cotangent inside weft; `None` is zero."""

AxisNames = Sequence[Hashable]


def float0_zeros(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The tangent or cotangent of an integer: a NumPy array that holds nothing."""
    return np.zeros(shape, dtypes.float0)


def is_float0(x: object) -> bool:
    """True if a tangent is one of an integer."""
    return getattr(x, "dtype", None) == dtypes.float0


def tangent_value(
    transform: str, primal: Aval, t: Any, where: Callable[[], str], kind: str = "tangent"
) -> Tangent:
    """A user's tangent, checked against its primal; `None` for float0.

    Args:
      where: returns the name of what it is the tangent of.
      kind: "tangent" or "cotangent".
    """
    if is_float0(t):
        if dtypes.is_inexact(primal.dtype):
            raise TypeError(
                f"{transform}: the {kind} of {where()} must be like {primal}; got float0"
            )
        return None
    value: Value = as_value(t)
    if not dtypes.is_inexact(primal.dtype):
        raise TypeError(
            f"{transform}: {where()} is {primal}: its {kind} must be of dtype float0; got "
            f"{value.aval}\n"
            "  fix: make the primal a float, or pass numpy.zeros(shape, weft.dtypes.float0)"
        )
    if value.shape != primal.shape or value.dtype != primal.dtype:
        if value.shape != primal.shape or not value.weak_type:
            raise TypeError(
                f"{transform}: the {kind} of {where()} must have its shape and dtype, {primal}; "
                f"got {value.aval}"
            )
        value = value.astype(primal.dtype)
    elif value.aval.weak_type:
        value = convert_element_type(value, dtype=primal.dtype)
    return value


@located
def jvp(
    fun: TreeFunction, primals: Sequence[PyTree], tangents: Sequence[PyTree], has_aux: bool = False
) -> tuple[PyTree, ...]:
    """A function's value and its derivative in one direction (forward mode).

    Args:
      fun: to be differentiated; arrays, scalars or containers of them in and out.
      primals: a tuple or list of arguments: the point.
      tangents: the direction: the same structure, shapes and dtypes (float0 for integers).
      has_aux: whether `fun` returns a pair (output, auxiliary data).
    Returns: (outputs, their tangents), and the auxiliary data as a third if there is.
    Raises: TypeError: the trees, shapes or dtypes of primals and tangents differ.
    Example:
      >>> import weft
      >>> y, dy = weft.jvp(weft.numpy.sin, (0.1,), (0.2,))
      >>> print(y, dy)
      0.09983342 0.19900084
    Source: JAX documentation, `jax.jvp`.
    """
    check_callable(fun, "jvp")
    for option, passed in (("primals", primals), ("tangents", tangents)):
        if not isinstance(passed, (tuple, list)):
            raise TypeError(
                f"jvp: {option} must be a tuple or a list of arguments; got "
                f"{type(passed).__name__}\n  fix: jvp(f, (x,), (t,))"
            )
    flat = FlatFunction("jvp", fun, primals, has_aux=has_aux)
    t_leaves, t_tree = tree_flatten(tuple(tangents))
    if t_tree != flat.args_tree:
        raise TypeError(
            f"jvp: primals and tangents must have one structure; got {flat.args_tree} and {t_tree}"
        )
    pushed = [
        tangent_value("jvp", a, t, lambda i=i: flat.paths()[i])  # type: ignore[misc]
        for i, (a, t) in enumerate(zip(flat.avals, t_leaves, strict=True))
    ]
    outs, t_outs = jvp_interpreter.jvp(flat, flat.values, pushed, fun)
    results = flat.unflatten(outs), flat.out_tree.unflatten(full_tangents(flat, outs, t_outs))
    return (*results, flat.aux(outs)) if has_aux else results


def full_tangents(
    flat: FlatFunction, outs: Sequence[Value], t_outs: Sequence[Tangent]
) -> list[Value | np.ndarray[Any, Any]]:
    """The tangents of a function's outputs, zeros written out; those of auxiliary data left out."""
    count = flat.out_tree.num_leaves
    return [full_tangent(o.aval, t) for o, t in zip(outs[:count], t_outs, strict=False)]


def full_tangent(primal: Aval, t: Tangent) -> Value | np.ndarray[Any, Any]:
    """A tangent, zeros written out; of a weak type where its primal is."""
    if not dtypes.is_inexact(primal.dtype):
        return float0_zeros(primal.shape)
    full: Value = zeros(primal.strong()) if t is None else t
    if primal.weak_type:
        full = convert_element_type(full, dtype=primal.dtype, weak_type=True)
    return full


@located
def linearize(fun: TreeFunction, *primals: PyTree, has_aux: bool = False) -> tuple[PyTree, ...]:
    """A function's value, and its derivative at that point as a linear function.

    The non-linear work is done once; each call of the linear function costs only the linear part.

    Args:
      fun: to be differentiated.
      primals: the arguments: the point.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
    Returns: (outputs, function from tangents of the arguments to tangents of the outputs), and the
      auxiliary data as a third if there is.
    Example:
      >>> import weft
      >>> y, f_jvp = weft.linearize(lambda x: 3.0 * weft.numpy.sin(x), 2.0)
      >>> print(f_jvp(3.0))
      -3.7453213
    Source: JAX documentation, `jax.linearize`.
    """
    check_callable(fun, "linearize")
    flat = FlatFunction("linearize", fun, primals, has_aux=has_aux)
    outs, linear = linearize_values(flat, flat.values, "linearize", fun)
    in_tree, out_tree, avals = flat.args_tree, flat.out_tree, flat.avals
    out_avals = [o.aval for o in outs[: out_tree.num_leaves]]

    @located
    def f_jvp(*tangents: PyTree) -> PyTree:
        t_leaves, t_tree = tree_flatten(tangents)
        if t_tree != in_tree:
            raise TypeError(
                f"linearize: tangents must have the arguments' structure {in_tree}; got {t_tree}"
            )
        pushed = []
        for i, (a, leaf) in enumerate(zip(avals, t_leaves, strict=True)):
            t = tangent_value("linearize", a, leaf, lambda i=i: f"argument leaf {i}")  # type: ignore[misc]
            pushed.append(zeros(a.strong()) if t is None else t)  # nothing depends on an integer's
        t_outs = linear.push(pushed)
        return out_tree.unflatten(
            [full_tangent(a, t) for a, t in zip(out_avals, t_outs, strict=False)]
        )

    result = flat.unflatten(outs)
    return (result, f_jvp, flat.aux(outs)) if has_aux else (result, f_jvp)


@located
def vjp(
    fun: TreeFunction, *primals: PyTree, has_aux: bool = False, reduce_axes: AxisNames = ()
) -> tuple[PyTree, ...]:
    """A function's value, and the transpose of its derivative there (reverse mode).

    Args:
      fun: to be differentiated.
      primals: the arguments: the point.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
      reduce_axes: named axes of a batch: cotangents of arguments that are the same for all of it
        are summed over it. Otherwise, and for other axes, they are those of each example.
    Returns: (outputs, function from cotangents of the outputs to a tuple of cotangents of the
      arguments), and the auxiliary data as a third if there is.
    Example:
      >>> import weft
      >>> def f(x, y):
      ...     return weft.numpy.sin(x), weft.numpy.cos(y)
      >>> primals, f_vjp = weft.vjp(f, 0.5, 1.0)
      >>> xbar, ybar = f_vjp((-0.7, 0.3))
      >>> print(xbar, ybar)
      -0.61430776 -0.2524413
    Source: JAX documentation, `jax.vjp`.
    """
    check_callable(fun, "vjp")
    reduce_axes = names_of("vjp", reduce_axes)
    flat = FlatFunction("vjp", fun, primals, has_aux=has_aux)
    outs, linear = linearize_values(flat, flat.values, "vjp", fun)
    in_tree, out_tree, in_avals = flat.args_tree, flat.out_tree, flat.avals
    n_outs, out_avals = len(outs), [o.aval for o in outs[: out_tree.num_leaves]]
    reduce = reduction(reduce_axes, flat.values, outs)

    @located
    def f_vjp(*cts: PyTree) -> PyTree:
        if len(cts) != 1:
            raise TypeError(
                f"vjp: the function from cotangents takes one argument, like the output of "
                f"{function_line(fun)}; got {len(cts)}"
            )
        ct_leaves, ct_tree = tree_flatten(cts[0])
        if ct_tree != out_tree:
            raise TypeError(
                f"vjp: the cotangent must have the structure of the output of "
                f"{function_line(fun)}, {out_tree}; got {ct_tree}"
            )
        pulled = [
            tangent_value("vjp", a, ct, lambda i=i: output_path(out_tree, i), "cotangent")  # type: ignore[misc]
            for i, (a, ct) in enumerate(zip(out_avals, ct_leaves, strict=True))
        ]
        return in_tree.unflatten(pull_back(linear, pulled, n_outs, in_avals, reduce))

    result = flat.unflatten(outs)
    return (result, f_vjp, flat.aux(outs)) if has_aux else (result, f_vjp)


def output_path(out_tree: PyTreeDef, i: int) -> str:
    """The name of an output leaf in messages."""
    marked = out_tree.unflatten(list(range(out_tree.num_leaves)))
    path = next(p for p, leaf in tree_flatten_with_path(marked)[0] if leaf == i)
    return f"output{keystr(path)}"


def pull_back(
    linear: LinearMap,
    cts: Sequence[Tangent],
    n_outs: int,
    in_avals: Sequence[Aval],
    reduce: "Reduction | None" = None,
) -> list[Value | np.ndarray[Any, Any]]:
    """Cotangents of the arguments, zeros written out; float0 for integers.

    Args:
      cts: of the first of the `n_outs` outputs; those of the others (auxiliary data) are zero.
    """
    full = [*cts, *[None] * (n_outs - len(cts))]
    results = reduce.around(linear.pull, full) if reduce else linear.pull(full)
    return [
        float0_zeros(a.shape) if not a.inexact else zeros(a.strong()) if ct is None else ct
        for a, ct in zip(in_avals, results, strict=True)
    ]


class Reduction:
    """The sums of `reduce_axes`, around a backward pass that treats each example by itself.

    An argument that is the same for the whole batch stands for as many copies as there are
    examples; its cotangent is the sum of the copies'. A result that is the same for all counts
    once: each copy of it gets its part of the cotangent. So nothing inside the pass changes.

    Args:
      axes: the named axes in question, and their lengths.
      arguments, results: the primal values.
    """

    __slots__ = ("arguments", "params", "results")

    def __init__(
        self, axes: dict[Hashable, int], arguments: Sequence[Value], results: Sequence[Value]
    ) -> None:
        self.params = {"axes": tuple(axes), "sizes": tuple(axes.values())}
        self.arguments, self.results = arguments, results

    def around(
        self, pull: Callable[[list[Tangent]], list[Tangent]], cts: Sequence[Tangent]
    ) -> list[Tangent]:
        """Cotangents of the arguments for those of the results."""
        parts = [
            None if ct is None else share(ct, r, ct, **self.params)
            for ct, r in zip(cts, self.results, strict=True)
        ]
        return [
            None if ct is None else psum_shared(ct, x, **self.params)
            for ct, x in zip(pull(parts), self.arguments, strict=True)
        ]


def reduction(
    reduce_axes: AxisNames, arguments: Sequence[Value], results: Sequence[Value]
) -> Reduction | None:
    """The `Reduction` over those axes that are in scope; nothing varies along others."""
    axes = {name: size for name, size in thread.axes if name in reduce_axes} if reduce_axes else {}
    return Reduction(axes, arguments, results) if axes else None


def names_of(transform: str, reduce_axes: AxisNames) -> tuple[Hashable, ...]:
    """`reduce_axes` as a tuple of names."""
    if not isinstance(reduce_axes, (tuple, list, set, frozenset)):
        raise TypeError(
            f"{transform}: reduce_axes must be a tuple of axis names; got {reduce_axes!r}\n"
            f"  fix: reduce_axes=({reduce_axes!r},)"
        )
    return tuple(reduce_axes)


@located
def linear_transpose(
    fun: TreeFunction, *primals: PyTree, reduce_axes: AxisNames = ()
) -> Callable[[PyTree], tuple[PyTree, ...]]:
    """The transpose of a function that is linear, promised by the caller.

    Args:
      fun: a linear function.
      primals: its arguments, or anything with their shapes and dtypes.
      reduce_axes: named axes of a batch: cotangents of arguments that are the same for all of it
        (as is one of which only shape and dtype are known) are summed over it.
    Returns: a function from a cotangent of the output to a tuple of cotangents of the arguments.
    Raises: TypeError: an operation of `fun` isn't linear.
    Example:
      >>> import weft
      >>> f = lambda x, y: 0.5 * x - 0.5 * y
      >>> scalar = weft.ShapeDtypeStruct((), "float32")
      >>> f_transpose = weft.linear_transpose(f, scalar, scalar)
      >>> print(f_transpose(1.0))
      (Array(0.5, dtype=float32), Array(-0.5, dtype=float32))
    Source: JAX documentation, `jax.linear_transpose`.
    """
    check_callable(fun, "linear_transpose")
    reduce_axes = names_of("linear_transpose", reduce_axes)
    flat = FlatFunction("linear_transpose", fun, primals, abstract=True)
    in_tree, avals = flat.args_tree, flat.avals
    for a in avals:
        if not dtypes.is_inexact(a.dtype):
            raise TypeError(
                f"linear_transpose: arguments must be floating-point or complex; got {a}"
            )
    jaxpr = flat.stage()
    out_tree = flat.out_tree
    reduce = None
    if reduce_axes:  # only running the function tells which results vary
        values = [
            x if isinstance(x, Value) else zeros(a) for x, a in zip(flat.leaves, avals, strict=True)
        ]
        reduce = reduction(reduce_axes, values, run(jaxpr, values, current.trace))

    def pull(cts: Sequence[Tangent]) -> list[Tangent]:
        return backward(jaxpr, (), cts, current.trace)

    @located
    def transposed(ct: PyTree) -> tuple[PyTree, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != out_tree:
            raise TypeError(
                f"linear_transpose: the cotangent must have the structure of the output, "
                f"{out_tree}; got {ct_tree}"
            )
        cts = [
            tangent_value("linear_transpose", a, c, lambda: "the output", "cotangent")
            for a, c in zip(jaxpr.out_avals, ct_leaves, strict=True)
        ]
        results = reduce.around(pull, cts) if reduce else pull(cts)
        transposes: tuple[PyTree, ...] = in_tree.unflatten(
            [zeros(a.strong()) if r is None else r for a, r in zip(avals, results, strict=True)]
        )
        return transposes

    return transposed
