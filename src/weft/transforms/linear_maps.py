"""jvp, linearize, vjp, linear_transpose: derivatives as linear maps, on trees.

Knows trees and the interpreters; `derivatives.py` builds gradients and Jacobians on it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.source import function_line, located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import (
    LinearMap,
    full_tangent,
    linearize as linearize_values,
)
from ..interpreters.transpose import backward
from ..primitives.reduce_axes import psum_shared, share
from ..primitives.structural import convert_element_type, zeros
from ..tree_util import (
    Partial,
    PyTreeDef,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
)
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable

__all__ = ["jvp", "linear_transpose", "linearize", "vjp"]

R = TypeVar("R")
Aux = TypeVar("Aux")

Tangent = Value | None
"""A tangent or cotangent inside weft; `None` is zero."""

AxisNames = Sequence[Hashable]


def is_float0(x: object) -> bool:
    """True if a tangent is one of an integer."""
    return getattr(x, "dtype", None) == dtypes.float0


def tangent_value(
    transform: str, primal: Aval, t: object, where: Callable[[], str], kind: str = "tangent"
) -> Tangent:
    """A user's tangent, checked against its primal; `None` for float0.

    Args:
      where: returns the name of what it is the tangent of.
      kind: "tangent" or "cotangent".
    """
    if is_float0(t):
        if primal.inexact:
            raise ShapeError(
                f"{transform}: the {kind} of {where()} must be like {primal}; got float0"
            )
        return None
    value: Value = as_value(t)
    if not primal.inexact:
        if kind == "cotangent" and is_integer_like(value.aval, primal):
            return None  # an integer has no derivative, whatever is asked of it
        raise ShapeError(
            f"{transform}: {where()} is {primal}: its {kind} must be of dtype float0; got "
            f"{value.aval}\n"
            "  fix: make the primal a float, or pass numpy.zeros(shape, weft.dtypes.float0)"
        )
    if value.shape != primal.shape or value.dtype != primal.dtype:
        real_from_complex = dtypes.is_complex(value.dtype) and not dtypes.is_complex(primal.dtype)
        if value.shape != primal.shape or not value.weak_type or real_from_complex:
            raise ShapeError(
                f"{transform}: the {kind} of {where()} must have its shape and dtype, {primal}; "
                f"got {value.aval}"
            )
        value = value.astype(primal.dtype)
    elif value.aval.weak_type:
        value = convert_element_type(value, dtype=primal.dtype)
    return value


def is_integer_like(a: Aval, other: Aval) -> bool:
    """True if a value is of another one's shape and dtype, both of integers; a Python integer fits
    any integer dtype."""
    return a.shape == other.shape and (
        a.dtype == other.dtype
        or (a.weak_type and dtypes.is_integer(a.dtype) and dtypes.is_integer(other.dtype))
    )


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...
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
        raise ShapeError(
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


@overload
def linearize(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...
@located
def linearize(fun: TreeFunction, *primals: PyTree, has_aux: bool = False) -> tuple[PyTree, ...]:
    """A function's value, and its derivative at that point as a linear function.

    The non-linear work is done once; each call of the linear function costs only the linear part.

    Args:
      fun: to be differentiated.
      primals: the arguments: the point.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
    Returns: (outputs, function from tangents of the arguments to tangents of the outputs), and the
      auxiliary data as a third if there is. The function is a `tree_util.Partial` with the
      residuals for leaves: it can be an argument or a result of transformed functions.
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
    f_jvp = Partial(Pushforward(fun, flat, outs), linear)
    result = flat.unflatten(outs)
    return (result, f_jvp, flat.aux(outs)) if has_aux else (result, f_jvp)


@overload
def vjp(
    fun: Callable[..., R],
    *primals: PyTree,
    has_aux: Literal[False] = False,
    reduce_axes: AxisNames = (),
) -> tuple[R, Callable[[R], tuple[PyTree, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: PyTree,
    has_aux: Literal[True],
    reduce_axes: AxisNames = (),
) -> tuple[R, Callable[[R], tuple[PyTree, ...]], Aux]: ...
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
      arguments), and the auxiliary data as a third if there is. The function is a
      `tree_util.Partial` with the residuals for leaves: it can be an argument or a result of
      transformed functions, and a residual of a `custom_vjp`.
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
    reduce = reduction(reduce_axes, flat.values, outs)
    f_vjp = Partial(VectorJacobianProduct(fun, flat, outs), linear, reduce)
    result = flat.unflatten(outs)
    return (result, f_vjp, flat.aux(outs)) if has_aux else (result, f_vjp)


# --- the linear functions: trees, whose leaves are residuals ---


class LinearFunction:
    """The part of a linear function that holds no array: with its residuals it is a `Partial`.

    Equal ones are the same to `jit`, which so traces a function of pullbacks once for all points.

    Args:
      function: the user's, for messages.
      flat: it at the point.
      outs: its outputs and auxiliary data there.
    """

    __slots__ = ("function", "key")

    def __init__(self, function: TreeFunction, flat: FlatFunction, outs: Sequence[Value]) -> None:
        self.function = function
        out_avals = tuple([o.aval for o in outs[: flat.out_tree.num_leaves]])
        self.key = flat.args_tree, flat.out_tree, flat.avals, out_avals, len(outs)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({function_line(self.function)})"


class Pushforward(LinearFunction):
    """From tangents of the arguments to those of the outputs."""

    __slots__ = ()

    @located
    def __call__(self, linear: LinearMap, *tangents: PyTree) -> PyTree:
        in_tree, out_tree, avals, out_avals, _ = self.key
        t_leaves, t_tree = tree_flatten(tangents)
        if t_tree != in_tree:
            raise ShapeError(
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


class VectorJacobianProduct(LinearFunction):
    """From cotangents of the outputs to those of the arguments."""

    __slots__ = ()

    @located
    def __call__(
        self, linear: LinearMap, reduce: "Reduction | None", *cts: PyTree
    ) -> tuple[PyTree, ...]:
        in_tree, out_tree, in_avals, out_avals, _ = self.key
        if len(cts) != 1:
            raise TypeError(
                f"vjp: the function from cotangents takes one argument, like the output of "
                f"{function_line(self.function)}; got {len(cts)}"
            )
        ct_leaves, ct_tree = tree_flatten(cts[0])
        if ct_tree != out_tree:
            raise ShapeError(
                f"vjp: the cotangent must have the structure of the output of "
                f"{function_line(self.function)}, {out_tree}; got {ct_tree}"
            )
        pulled = [
            tangent_value("vjp", a, ct, lambda i=i: output_path(out_tree, i), "cotangent")  # type: ignore[misc]
            for i, (a, ct) in enumerate(zip(out_avals, ct_leaves, strict=True))
        ]
        pulled_back: tuple[PyTree, ...] = in_tree.unflatten(
            linear.pull_back(pulled, in_avals, reduce.around if reduce else None)
        )
        return pulled_back


register_pytree_node(LinearMap, LinearMap.apart, LinearMap.together)


def output_path(out_tree: PyTreeDef, i: int) -> str:
    """The name of an output leaf in messages."""
    marked = out_tree.unflatten(list(range(out_tree.num_leaves)))
    path = next(p for p, leaf in tree_flatten_with_path(marked)[0] if leaf == i)
    return f"output{keystr(path)}"


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


register_pytree_node(
    Reduction,
    lambda r: ((r.arguments, r.results), tuple(r.params.items())),
    lambda params, values: Reduction(
        dict(zip(*[v for _, v in params], strict=True)), values[0], values[1]
    ),
)


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
    Returns: a function from a cotangent of the output to a tuple of cotangents of the arguments: a
      `tree_util.Partial` with what `fun` closes over for leaves.
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
    avals = flat.avals
    jaxpr = flat.stage()
    reduce = None
    if reduce_axes:  # only running the function tells which results vary
        values = [
            x if isinstance(x, Value) else zeros(a) for x, a in zip(flat.leaves, avals, strict=True)
        ]
        reduce = reduction(reduce_axes, values, run(jaxpr, values, current.trace))

    whole = jaxpr.without_consts()
    return Partial(Transpose(whole, flat.args_tree, flat.out_tree, avals), jaxpr.consts, reduce)


@dataclass(frozen=True)
class Transpose:
    """A linear program, to be run backwards: with its constants it is a `Partial`."""

    jaxpr: Jaxpr
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    avals: tuple[Aval, ...]

    @located
    def __call__(
        self, consts: Sequence[Value], reduce: Reduction | None, ct: PyTree
    ) -> tuple[PyTree, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != self.out_tree:
            raise ShapeError(
                f"linear_transpose: the cotangent must have the structure of the output, "
                f"{self.out_tree}; got {ct_tree}"
            )
        cts = [transposed_value(a, c) for a, c in zip(self.jaxpr.out_avals, ct_leaves, strict=True)]

        def pull(cts: Sequence[Tangent]) -> list[Tangent]:
            return backward(self.jaxpr, consts, cts, current.trace)

        results = reduce.around(pull, cts) if reduce else pull(cts)
        transposes: tuple[PyTree, ...] = self.in_tree.unflatten(
            [
                zeros(a.strong()) if r is None else r
                for a, r in zip(self.avals, results, strict=True)
            ]
        )
        return transposes


def transposed_value(out: Aval, ct: object) -> Tangent:
    """A cotangent of a linear function's output: of integers it is one, as of floats."""
    if out.inexact or is_float0(ct) or not is_integer_like(as_value(ct).aval, out):
        return tangent_value("linear_transpose", out, ct, lambda: "the output", "cotangent")
    value: Value = convert_element_type(as_value(ct), dtype=out.dtype)
    return value
