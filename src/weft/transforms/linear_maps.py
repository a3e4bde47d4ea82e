"""jvp, linearize, vjp, linear_transpose: derivatives as linear maps, on trees.

Knows trees and the interpreters; `derivatives.py` builds gradients and Jacobians on it.
"""

from collections.abc import Callable, Sequence
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
from ..interpreters.stage import stage
from ..interpreters.transpose import backward
from ..primitives.reduce_axes import psum_shared, share
from ..primitives.structural import convert_element_type, zeros
from ..tree_util import keystr, tree_flatten, tree_flatten_with_path
from .arguments import (
    argument_avals,
    argument_values,
    check_callable,
    kind_of,
    leaf_paths,
    output_values,
)

__all__ = ["jvp", "linear_transpose", "linearize", "vjp"]


_TRACED = object()  # in the place of a value of the auxiliary data


def float0_zeros(shape: Sequence[int]) -> Any:
    """The tangent or cotangent of an integer: a NumPy array that holds nothing."""
    return np.zeros(shape, dtypes.float0)


def is_float0(x: Any) -> bool:
    """Whether a tangent is one of an integer."""
    return getattr(x, "dtype", None) == dtypes.float0


def flat_function(
    transform: str, function: Callable[..., Any], in_tree: Any, has_aux: bool = False
) -> tuple[Callable[..., list[Any]], dict[str, Any]]:
    """The function from leaves to the list of output values, and where its trees are put."""
    found: dict[str, Any] = {}

    def flat(*leaves: Any) -> list[Any]:
        result = function(*in_tree.unflatten(leaves))
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{transform}: with has_aux=True {function_line(function)} must return a pair "
                    f"(output, auxiliary data); got {kind_of(result)}"
                )
            result, aux = result
            aux_leaves, found["aux_tree"] = tree_flatten(aux)
            # no tracer stays here: a pullback may be kept for long
            found["aux"] = [_TRACED if isinstance(v, Value) else v for v in aux_leaves]
        out_leaves, found["out_tree"] = tree_flatten(result)
        values = output_values(transform, function, out_leaves)
        if has_aux:
            count = len(values)
            found["n_out"] = count
            values += [v for v in aux_leaves if isinstance(v, Value)]
        return values

    return flat, found


def aux_of(found: dict[str, Any], values: Sequence[Any]) -> Any:
    """The auxiliary data, with its values as they are outside the transformation."""
    waiting = iter(values)
    leaves = [next(waiting) if v is _TRACED else v for v in found["aux"]]
    return found["aux_tree"].unflatten(leaves)


def values_of(transform: str, function: Any, args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Flattened positional arguments as values."""
    leaves, tree = tree_flatten(tuple(args))
    return argument_values(
        transform, function, leaves, lambda: leaf_paths(function, args, {})
    ), tree


def tangent_value(
    transform: str, primal: Aval, t: Any, where: Callable[[], str], kind: str = "tangent"
) -> Any:
    """A tangent checked against its primal; `None` for float0."""
    if is_float0(t):
        if dtypes.is_inexact(primal.dtype):
            raise TypeError(
                f"{transform}: the {kind} of {where()} must be like {primal}; got float0"
            )
        return None
    value = as_value(t)
    if not dtypes.is_inexact(primal.dtype):
        raise TypeError(
            f"{transform}: {where()} is {primal}: its {kind} must be of dtype float0; got "
            f"{value.aval}\n"
            "  fix: make the primal a float, or pass numpy.zeros(shape, weft.dtypes.float0)"
        )
    if value.shape != primal.shape or value.dtype != primal.dtype:
        if value.shape == primal.shape and value.weak_type:
            return value.astype(primal.dtype)
        raise TypeError(
            f"{transform}: the {kind} of {where()} must have its shape and dtype, {primal}; got "
            f"{value.aval}"
        )
    if value.aval.weak_type:
        return convert_element_type(value, dtype=primal.dtype)
    return value


@located
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
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
    Source: seed 002, `jax.jvp`.
    """
    check_callable(fun, "jvp")
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"jvp: {what} must be a tuple or a list of arguments; got {type(given).__name__}\n"
                f"  fix: jvp(f, (x,), (t,))"
            )
    values, tree = values_of("jvp", fun, primals)
    t_leaves, t_tree = tree_flatten(tuple(tangents))
    if t_tree != tree:
        raise TypeError(
            f"jvp: primals and tangents must have one structure; got {tree} and {t_tree}"
        )
    given_tangents = [
        tangent_value("jvp", v.aval, t, lambda i=i: leaf_paths(fun, primals, {})[i])  # type: ignore[misc]
        for i, (v, t) in enumerate(zip(values, t_leaves, strict=True))
    ]
    flat, found = flat_function("jvp", fun, tree, has_aux)
    outs, t_outs = jvp_interpreter.jvp(flat, values, given_tangents, fun)
    n = found.get("n_out", len(outs))
    t_full = [full_tangent(o.aval, t) for o, t in zip(outs[:n], t_outs, strict=False)]
    out_tree = found["out_tree"]
    result = out_tree.unflatten(outs[:n]), out_tree.unflatten(t_full)
    return (*result, aux_of(found, outs[n:])) if has_aux else result


def full_tangent(primal: Aval, t: Any) -> Any:
    """A tangent with zeros written out; of a weak type where its primal is."""
    if not dtypes.is_inexact(primal.dtype):
        return float0_zeros(primal.shape)
    t = zeros(primal.strong()) if t is None else t
    if primal.weak_type:
        return convert_element_type(t, dtype=primal.dtype, weak_type=True)
    return t


@located
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
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
    Source: seed 002, `jax.linearize`.
    """
    check_callable(fun, "linearize")
    values, tree = values_of("linearize", fun, primals)
    flat, found = flat_function("linearize", fun, tree, has_aux)
    outs, linear = linearize_values(flat, values, "linearize", fun)
    n = found.get("n_out", len(outs))
    out_tree = found["out_tree"]
    avals = [v.aval for v in values]

    @located
    def f_jvp(*tangents: Any) -> Any:
        t_leaves, t_tree = tree_flatten(tangents)
        if t_tree != tree:
            raise TypeError(
                f"linearize: tangents must have the arguments' structure {tree}; got {t_tree}"
            )
        given = [
            instantiated(a, tangent_value("linearize", a, t, lambda i=i: f"argument leaf {i}"))  # type: ignore[misc]
            for i, (a, t) in enumerate(zip(avals, t_leaves, strict=True))
        ]
        t_outs = linear.push(given)
        return out_tree.unflatten(
            [full_tangent(o.aval, t) for o, t in zip(outs[:n], t_outs, strict=False)]
        )

    result = out_tree.unflatten(outs[:n])
    return (result, f_jvp, aux_of(found, outs[n:])) if has_aux else (result, f_jvp)


def instantiated(a: Aval, t: Any) -> Any:
    """A tangent, zeros if it is that of an integer (nothing depends on it)."""
    return zeros(a.strong()) if t is None else t


@located
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> Any:
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
    Source: seed 002, `jax.vjp`.
    """
    check_callable(fun, "vjp")
    reduce_axes = names_of("vjp", reduce_axes)
    values, tree = values_of("vjp", fun, primals)
    flat, found = flat_function("vjp", fun, tree, has_aux)
    outs, linear = linearize_values(flat, values, "vjp", fun)
    n = found.get("n_out", len(outs))
    out_tree = found["out_tree"]
    in_avals, out_avals = [v.aval for v in values], [o.aval for o in outs[:n]]
    reduce = reduction(reduce_axes, values, outs)

    @located
    def f_vjp(*cts: Any) -> Any:
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
        given = [
            tangent_value("vjp", a, ct, lambda i=i: output_path(out_tree, i), "cotangent")  # type: ignore[misc]
            for i, (a, ct) in enumerate(zip(out_avals, ct_leaves, strict=True))
        ]
        return tree.unflatten(pulled(linear, given, len(outs), in_avals, reduce))

    result = out_tree.unflatten(outs[:n])
    return (result, f_vjp, aux_of(found, outs[n:])) if has_aux else (result, f_vjp)


def output_path(out_tree: Any, i: int) -> str:
    """What an output leaf is called in messages."""
    marked = out_tree.unflatten(list(range(out_tree.num_leaves)))
    path = next(p for p, leaf in tree_flatten_with_path(marked)[0] if leaf == i)
    return f"output{keystr(path)}"


def pulled(
    linear: LinearMap,
    cts: Sequence[Any],
    n_outs: int,
    in_avals: Sequence[Aval],
    reduce: "Reduction | None" = None,
) -> list[Any]:
    """Cotangents of the arguments, zeros written out; float0 for integers."""
    given = [*cts, *[None] * (n_outs - len(cts))]
    results = reduce.around(linear.pull, given) if reduce else linear.pull(given)
    return [
        float0_zeros(a.shape)
        if not dtypes.is_inexact(a.dtype)
        else zeros(a.strong())
        if r is None
        else r
        for a, r in zip(in_avals, results, strict=True)
    ]


class Reduction:
    """What `reduce_axes` does around a backward pass that treats each example by itself.

    An argument that is the same for the whole batch stands for as many copies as there are
    examples; its cotangent is the sum of the copies'. A result that is the same for all counts
    once: each copy of it gets its part of the cotangent. So nothing inside the pass changes.

    Args:
      axes: the named axes in question, and their lengths.
      arguments, results: the primal values.
    """

    __slots__ = ("arguments", "params", "results")

    def __init__(
        self, axes: dict[Any, int], arguments: Sequence[Any], results: Sequence[Any]
    ) -> None:
        self.params = {"axes": tuple(axes), "sizes": tuple(axes.values())}
        self.arguments, self.results = arguments, results

    def around(self, pull: Callable[[list[Any]], list[Any]], cts: Sequence[Any]) -> list[Any]:
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
    reduce_axes: Sequence[Any], arguments: Sequence[Any], results: Sequence[Any]
) -> Reduction | None:
    """The `Reduction` over those axes that are in scope; nothing varies along others."""
    axes = {name: size for name, size in thread.axes if name in reduce_axes} if reduce_axes else {}
    return Reduction(axes, arguments, results) if axes else None


def names_of(transform: str, reduce_axes: Any) -> tuple[Any, ...]:
    """`reduce_axes` as a tuple of names."""
    if not isinstance(reduce_axes, (tuple, list, set, frozenset)):
        raise TypeError(
            f"{transform}: reduce_axes must be a tuple of axis names; got {reduce_axes!r}\n"
            f"  fix: reduce_axes=({reduce_axes!r},)"
        )
    return tuple(reduce_axes)


@located
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Any:
    """The transpose of a function that is linear, promised by the caller.

    Args:
      fun: a linear function.
      primals: its arguments, or anything with their shapes and dtypes.
      reduce_axes: named axes of a batch: cotangents of arguments that are the same for all of it
        (as is one of which only shape and dtype are given) are summed over it.
    Returns: a function from a cotangent of the output to a tuple of cotangents of the arguments.
    Raises: TypeError: an operation of `fun` isn't linear.
    Example:
      >>> import weft
      >>> f = lambda x, y: 0.5 * x - 0.5 * y
      >>> scalar = weft.ShapeDtypeStruct((), "float32")
      >>> f_transpose = weft.linear_transpose(f, scalar, scalar)
      >>> print(f_transpose(1.0))
      (Array(0.5, dtype=float32), Array(-0.5, dtype=float32))
    Source: seed 002, `jax.linear_transpose`.
    """
    check_callable(fun, "linear_transpose")
    reduce_axes = names_of("linear_transpose", reduce_axes)
    leaves, tree = tree_flatten(tuple(primals))
    avals = argument_avals("linear_transpose", fun, leaves, lambda: leaf_paths(fun, primals, {}))
    for a in avals:
        if not dtypes.is_inexact(a.dtype):
            raise TypeError(
                f"linear_transpose: arguments must be floating-point or complex; got {a}"
            )
    flat, found = flat_function("linear_transpose", fun, tree)
    jaxpr = stage(flat, avals, transform="linear_transpose", about=fun)
    reduce = None
    if reduce_axes:  # only running the function tells which results vary
        values = [
            x if isinstance(x, Value) else zeros(a) for x, a in zip(leaves, avals, strict=True)
        ]
        reduce = reduction(reduce_axes, values, run(jaxpr, values, current.trace))

    @located
    def transposed(ct: Any) -> Any:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != found["out_tree"]:
            raise TypeError(
                f"linear_transpose: the cotangent must have the structure of the output, "
                f"{found['out_tree']}; got {ct_tree}"
            )
        given = [
            tangent_value("linear_transpose", a, c, lambda: "the output", "cotangent")
            for a, c in zip(jaxpr.out_avals, ct_leaves, strict=True)
        ]

        def pull(cts: Sequence[Any]) -> list[Any]:
            return backward(jaxpr, (), cts, current.trace)

        results = reduce.around(pull, given) if reduce else pull(given)
        return tree.unflatten(
            [zeros(a.strong()) if r is None else r for a, r in zip(avals, results, strict=True)]
        )

    return transposed
