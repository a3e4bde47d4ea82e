"""jvp, linearize, vjp, grad, value_and_grad: derivatives of functions of pytrees.

Forward mode is the jvp interpreter. Reverse mode linearizes the function, which keeps residuals,
and runs the linear program backwards. `jacobians.py` maps both over a basis.
"""

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from .. import dtypes
from ..config import thread
from ..core.array import one
from ..core.aval import Aval
from ..core.source import function_line, located, wrapping
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters import jvp as jvp_interpreter
from ..interpreters.linearize import LinearMap, full_tangent, linearize as linearize_values
from ..primitives.creation import zeros
from ..primitives.reduce_axes import psum_shared, share
from ..tree_util import Partial, PyTreeDef, register_pytree_node, tree_flatten
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable, parameters
from .tangents import Tangent, output_path, tangent_value

__all__ = ["grad", "jvp", "linearize", "value_and_grad", "vjp"]


P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")

ArgNums = int | Sequence[int]
AxisNames = Sequence[Hashable]


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
    """The value of a function and its derivative in one direction (forward mode).

    Args:
      fun: a function of arrays, scalars and containers of them.
      primals: a tuple or list of arguments: the point.
      tangents: the direction: the same structure, shapes and dtypes (float0 for integers).
      has_aux: whether `fun` returns a pair (output, auxiliary data).
    Returns: (outputs, their tangents); with `has_aux`, the auxiliary data is the third item.
    Raises: TypeError: the trees, shapes or dtypes of primals and tangents differ.
    Example:
      >>> import weft
      >>> y, dy = weft.jvp(weft.numpy.sin, (0.1,), (0.2,))
      >>> print(y, dy)
      0.09983342 0.19900084
    Source: JAX documentation, `jax.jvp`.
    """
    check_callable(fun, "jvp")
    for name, trees in (("primals", primals), ("tangents", tangents)):
        if not isinstance(trees, (tuple, list)):
            raise TypeError(
                f"jvp: {name} must be a tuple or a list of arguments; got "
                f"{type(trees).__name__}\n  fix: jvp(f, (x,), (t,))"
            )
    flat = FlatFunction("jvp", fun, primals, has_aux=has_aux)
    t_leaves, t_tree = tree_flatten(tuple(tangents))
    if t_tree != flat.args_tree:
        raise ShapeError(
            f"jvp: primals and tangents must have one structure; got {flat.args_tree} and {t_tree}"
        )
    in_tangents = [
        tangent_value("jvp", a, t, lambda i=i: flat.paths()[i])  # type: ignore[misc]
        for i, (a, t) in enumerate(zip(flat.avals, t_leaves, strict=True))
    ]
    outs, out_tangents = jvp_interpreter.jvp(flat, flat.values, in_tangents, fun)
    out_avals = [o.aval for o in outs[: flat.out_tree.num_leaves]]  # excludes the auxiliary data
    results = flat.unflatten(outs), written_out(flat.out_tree, out_avals, out_tangents)
    return (*results, flat.aux(outs)) if has_aux else results


def written_out(tree: PyTreeDef, avals: Sequence[Aval], tangents: Sequence[Tangent]) -> PyTree:
    """The tree of tangents, with arrays in place of `None`."""
    return tree.unflatten([full_tangent(a, t) for a, t in zip(avals, tangents, strict=False)])


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
    """The value of a function, and its derivative at that point as a linear function.

    The non-linear part is computed once; each call of the linear function computes only the linear
    part.

    Args:
      fun: a function of arrays, scalars and containers of them.
      primals: the arguments: the point.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
    Returns: (outputs, function from tangents of the arguments to tangents of the outputs); with
      `has_aux`, the auxiliary data is the third item. The function is a `tree_util.Partial` whose
      leaves are the residuals: it can be an argument or a result of transformed functions.
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
    """The value of a function, and the transpose of its derivative at that point (reverse mode).

    Args:
      fun: a function of arrays, scalars and containers of them.
      primals: the arguments: the point.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
      reduce_axes: named axes of a batch. The cotangent of an argument that is the same for the
        whole batch is summed over them. Along other axes each example has its own cotangent.
    Returns: (outputs, function from cotangents of the outputs to a tuple of cotangents of the
      arguments); with `has_aux`, the auxiliary data is the third item. The function is a
      `tree_util.Partial` whose leaves are the residuals: it can be an argument or a result of
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


def grad(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: AxisNames = (),
) -> Callable[P, Any]:
    """A function that returns the gradient of a scalar function, by reverse mode.

    Args:
      fun: a function that returns a scalar (shape `()`); the arguments named by `argnums` are
        arrays, scalars or containers of them, of inexact dtype.
      argnums: the position, or positions, of the arguments to differentiate with respect to.
      has_aux: whether `fun` returns a pair (output, auxiliary data).
      holomorphic: whether `fun` is complex-differentiable; then arguments and output must be
        complex.
      allow_int: whether integer arguments are allowed; their gradient has dtype float0.
      reduce_axes: named axes of a batch. The gradient of an argument that is the same for the whole
        batch is summed over them. Along other axes, each example has the gradient of its own loss.
    Returns: a function with the arguments of `fun` that returns the gradient: like the argument, or
      a tuple for several `argnums`; with `has_aux`, a pair (gradient, auxiliary data).
    Raises: TypeError: the output is not a real scalar, or an argument is an integer.
    Example:
      >>> import weft
      >>> print(weft.grad(weft.numpy.tanh)(0.2))
      0.961043
    Source: JAX documentation, `jax.grad`.
    """
    return differentiated("grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)


def value_and_grad(
    fun: Callable[P, R],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: AxisNames = (),
) -> Callable[P, tuple[R, Any]]:
    """A function that returns the value and the gradient of a scalar function.

    The arguments are the same as for `grad`.

    Returns: a function that returns a pair (value, gradient); with `has_aux`,
      ((value, auxiliary data), gradient).
    Example:
      >>> import weft
      >>> value, g = weft.value_and_grad(lambda x: x**2)(3.0)
      >>> print(value, g)
      9.0 6.0
    Source: JAX documentation, `jax.value_and_grad`.
    """
    return differentiated(
        "value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes
    )


def differentiated(
    transform: str,
    fun: TreeFunction,
    argnums: ArgNums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: AxisNames,
) -> TreeFunction:
    """`grad` or `value_and_grad` of a function."""
    check_callable(fun, transform)
    if reduce_axes != ():
        reduce_axes = names_of(transform, reduce_axes)

    @wrapping(fun)
    @located
    def gradient_function(*args: PyTree, **kwargs: PyTree) -> PyTree:
        flat = Differentiated(transform, fun, argnums, args, kwargs, has_aux)
        check_inexact(flat, holomorphic, allow_int)
        outs, linear = linearize_values(flat, flat.values, transform, fun)
        check_scalar(flat, [o.aval for o in outs[: flat.n_outs]], holomorphic)
        reduce = reduction(reduce_axes, flat.values, outs) if reduce_axes else None
        cts = [one(outs[0].aval.dtype)]
        gradient = flat.derivative(
            linear.pull_back(cts, flat.avals, reduce.around if reduce else None)
        )
        if transform == "grad":
            return (gradient, flat.aux(outs)) if has_aux else gradient
        value = flat.unflatten(outs)
        return (value, flat.aux(outs)) if has_aux else value, gradient

    return gradient_function


# --- arguments and outputs of `grad` ---


class Differentiated(FlatFunction):
    """The user's function of the arguments that `argnums` names; the others are constants."""

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
                    f"{transform}: argnums={argnums} selects positional "
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
        """The derivative from its leaves: like the argument, or a tuple for several arguments."""
        trees = self.args_tree.unflatten(leaves)
        if self.single:
            return trees[0]
        return tuple([trees[self.positions.index(n)] for n in self.nums])


def check_inexact(flat: Differentiated, holomorphic: bool, allow_int: bool = False) -> None:
    """Raises an error for arguments that cannot be differentiated because of their dtype."""
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
                "differentiate with respect to real and imaginary parts as separate arguments"
            )


def check_scalar(flat: FlatFunction, avals: Sequence[Aval], holomorphic: bool) -> None:
    """Raises an error for an output that is not a scalar of the right kind."""
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


# --- the functions that `linearize` and `vjp` return: trees, whose leaves are residuals ---


class LinearFunction:
    """The part of a linear function without arrays; together with its residuals it is a `Partial`.

    Instances are equal if they have the same structures and types, so `jit` traces a function of
    pullbacks once for all points.

    Args:
      function: the user's function, for messages.
      flat: the function at the point.
      outs: its outputs and auxiliary data at the point.
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
    """The linear function from tangents of the arguments to tangents of the outputs."""

    __slots__ = ()

    @located
    def __call__(self, linear: LinearMap, *tangents: PyTree) -> PyTree:
        in_tree, out_tree, avals, out_avals, _ = self.key
        t_leaves, t_tree = tree_flatten(tangents)
        if t_tree != in_tree:
            raise ShapeError(
                f"linearize: tangents must have the arguments' structure {in_tree}; got {t_tree}"
            )
        in_tangents = []
        for i, (a, leaf) in enumerate(zip(avals, t_leaves, strict=True)):
            t = tangent_value("linearize", a, leaf, lambda i=i: f"argument leaf {i}")  # type: ignore[misc]
            in_tangents.append(zeros(a.strong()) if t is None else t)  # unused for integers
        return written_out(out_tree, out_avals, linear.push(in_tangents))


class VectorJacobianProduct(LinearFunction):
    """The linear function from cotangents of the outputs to cotangents of the arguments."""

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
        out_cotangents = [
            tangent_value("vjp", a, ct, lambda i=i: output_path(out_tree, i), "cotangent")  # type: ignore[misc]
            for i, (a, ct) in enumerate(zip(out_avals, ct_leaves, strict=True))
        ]
        in_cotangents = linear.pull_back(
            out_cotangents, in_avals, reduce.around if reduce else None
        )
        return in_tree.unflatten(in_cotangents)


register_pytree_node(LinearMap, LinearMap.flatten, LinearMap.unflatten)


class Reduction:
    """The sums over `reduce_axes`, around a backward pass that treats each example separately.

    An argument that is the same for the whole batch counts as one copy per example; its cotangent
    is the sum of their cotangents. A result that is the same for all examples counts once, so each
    copy gets its share of the cotangent. The backward pass itself is unchanged.

    Args:
      axes: the named axes and their lengths.
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
        """The cotangents of the arguments, from the cotangents of the results."""
        shares = [
            None if ct is None else share(ct, r, ct, **self.params)
            for ct, r in zip(cts, self.results, strict=True)
        ]
        return [
            None if ct is None else psum_shared(ct, x, **self.params)
            for ct, x in zip(pull(shares), self.arguments, strict=True)
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
    """The `Reduction` over the axes in scope; values do not vary along other axes."""
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
