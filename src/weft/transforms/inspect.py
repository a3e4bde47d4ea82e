"""make_jaxpr and eval_shape: a function's program and its shapes, without running it.

Knows tracing; compiles nothing.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core.source import located
from ..interpreters.stage import stage
from ..tree_util import tree_flatten
from .signature import (
    argument_avals,
    check_callable,
    check_empty,
    check_hashable,
    leaf_paths,
    name_of,
    output_values,
    static_arguments,
)
from .stages import ShapeDtypeStruct, struct_of

__all__ = ["ShapeDtypeStruct", "eval_shape", "make_jaxpr"]


@located
def traced(
    transform: str, fun: Any, nums: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """The jaxpr of a function for arguments (or their shapes and dtypes), and its out tree."""
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

    jaxpr = stage(flat, avals, name=name_of(fun), transform=transform, about=fun, names=paths)
    return jaxpr, out_tree


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
      axis_env: not implemented.
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
    check_empty("make_jaxpr", axis_env=axis_env)
    nums, _ = static_arguments(fun, static_argnums, (), "make_jaxpr")

    @functools.wraps(fun)
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        jaxpr, out_tree = traced("make_jaxpr", fun, nums, args, kwargs)
        if not return_shape:
            return jaxpr
        return jaxpr, out_tree.unflatten([struct_of(a) for a in jaxpr.out_avals])

    return jaxpr_maker


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
    jaxpr, out_tree = traced("eval_shape", fun, (), args, kwargs)
    return out_tree.unflatten([struct_of(a) for a in jaxpr.out_avals])
