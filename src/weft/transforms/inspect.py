"""make_jaxpr and eval_shape: a function's program and its shapes, without running it.

Knows tracing; compiles nothing.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..core.jaxpr import Jaxpr
from ..core.primitive import Axis
from ..core.source import located
from ..interpreters.stage import stage
from ..programs.transform import batch_partly
from ..scope import named_axis
from ..tree_util import PyTreeDef, tree_flatten
from .arguments import (
    argument_avals,
    check_callable,
    check_hashable,
    leaf_paths,
    name_of,
    output_values,
    static_arguments,
)
from .jit.stages import ShapeDtypeStruct, struct_of

__all__ = ["ShapeDtypeStruct", "eval_shape", "make_jaxpr"]


class TracedFunction(NamedTuple):
    """A function's program, and the structures of its arguments and results.

    Attributes:
      positions: of the positional arguments that are traced.
      in_tree: of the pair (those arguments, keyword arguments).
      axes: the named axes in scope.
    """

    jaxpr: Jaxpr
    positions: list[int]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    axes: Sequence[tuple[Any, int]] = ()

    @property
    def out_shapes(self) -> Any:
        """The results' shapes, dtypes and named shapes, in their structure.

        A named shape has the axes along which a result varies though no argument does.
        """
        structs = [struct_of(a) for a in self.jaxpr.out_avals]
        whole = self.jaxpr.without_consts()
        for name, size in self.axes:
            _, varies = batch_partly(whole, [False] * len(whole.invars), Axis(size, name))
            for struct, v in zip(structs, varies, strict=True):
                if v:
                    struct.named_shape[name] = size
        return self.out_tree.unflatten(structs)


def axes_of(transform: str, axis_env: Any) -> list[tuple[Any, int]]:
    """`axis_env` checked: pairs of a name and a length."""
    pairs = []
    for pair in axis_env or ():
        try:
            name, size = pair
            hash(name)
            pairs.append((name, operator.index(size)))
        except (TypeError, ValueError):
            raise TypeError(
                f"{transform}: axis_env must be a sequence of pairs (name, size); got {axis_env!r}"
                "\n  fix: axis_env=[('i', 4)]"
            ) from None
        if pairs[-1][1] < 1:
            raise ValueError(f"{transform}: axis {name!r} must have a positive size; got {size}")
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError(f"{transform}: axis names are repeated in {axis_env!r}")
    return pairs


@located
def traced(
    transform: str,
    fun: Any,
    nums: Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    axes: Sequence[tuple[Any, int]] = (),
) -> TracedFunction:
    """Traces a function on arguments, or their shapes and dtypes, with named axes in scope."""
    fixed = {n % len(args): args[n] for n in nums if -len(args) <= n < len(args)}
    for n, value in fixed.items():
        check_hashable(transform, fun, n, value)
    positions = [i for i in range(len(args)) if i not in fixed]
    chosen = tuple(args[i] for i in positions)
    leaves, tree = tree_flatten((chosen, kwargs))
    paths = lambda: leaf_paths(fun, chosen, kwargs, positions)  # noqa: E731
    avals = argument_avals(transform, fun, leaves, paths)
    out_tree: Any = None

    def flat(*tracers: Any) -> list[Any]:
        nonlocal out_tree
        inner, inner_kwargs = tree.unflatten(tracers)
        waiting = iter(inner)
        full = [fixed[i] if i in fixed else next(waiting) for i in range(len(args))]
        out_leaves, out_tree = tree_flatten(fun(*full, **inner_kwargs))
        return output_values(transform, fun, out_leaves)

    with ExitStack() as scope:
        for name, size in axes:
            scope.enter_context(named_axis(name, size))
        jaxpr = stage(flat, avals, name=name_of(fun), transform=transform, about=fun, names=paths)
    return TracedFunction(jaxpr, positions, tree, out_tree, axes)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the jaxpr of `fun` for its arguments.

    Args:
      fun: to be traced; arguments may be arrays or anything with a shape and a dtype.
      static_argnums: positions of arguments that are part of the program.
      axis_env: pairs (name, size) of named axes to be in scope, for functions with collectives.
      return_shape: whether to give a pair (jaxpr, tree of ShapeDtypeStruct of the results).
    Returns: a function of the same arguments.
    Example:
      >>> import weft
      >>> f = lambda x: weft.numpy.sin(weft.numpy.cos(x))
      >>> weft.make_jaxpr(f)(3.0)
      { lambda ; a:f32[]*. let
          b:f32[]* = cos a
          c:f32[]* = sin b
        in (c,) }
    Source: seed 002, `jax.make_jaxpr`.
    """
    check_callable(fun, "make_jaxpr")
    axes = located(axes_of)("make_jaxpr", axis_env)
    nums, _ = static_arguments(fun, static_argnums, (), "make_jaxpr")

    @functools.wraps(fun)
    @located
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        found = traced("make_jaxpr", fun, nums, args, kwargs, axes)
        return (found.jaxpr, found.out_shapes) if return_shape else found.jaxpr

    return jaxpr_maker


@located
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of a function's results, without computing anything.

    Args:
      fun: the function.
      args, kwargs: arrays, or anything with a shape and a dtype, in containers.
    Returns: the tree of results with `ShapeDtypeStruct` for arrays.
    Example:
      >>> import weft
      >>> A = weft.ShapeDtypeStruct((2000, 3000), "float32")
      >>> x = weft.ShapeDtypeStruct((3000, 1000), "float32")
      >>> weft.eval_shape(weft.numpy.dot, A, x).shape
      (2000, 1000)
    Source: seed 002, `jax.eval_shape`.
    """
    check_callable(fun, "eval_shape")
    return traced("eval_shape", fun, (), args, kwargs).out_shapes
