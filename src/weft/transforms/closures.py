"""closure_convert: converts the values that a function closes over to arguments."""

from collections.abc import Callable

from .. import dtypes
from ..core.array import Tracer, as_value
from ..core.jaxpr import run
from ..core.masks import fill_list
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..tree_util import tree_flatten
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction

__all__ = ["closure_convert"]


@located
def closure_convert(fun: TreeFunction, *example_args: PyTree) -> tuple[TreeFunction, list[Value]]:
    """Converts the values that a function closes over to extra arguments.

    Only values that may be differentiated become arguments: traced values of an inexact dtype.
    Arrays stay in the closure.

    Args:
      fun: a function of arrays.
      example_args: arguments with the shapes and dtypes for which to convert it.
    Returns: (the converted function, called as `converted(*args, *values)`; the values).
    Example:
      >>> import weft, weft.numpy as np
      >>> def g(y):
      ...     converted, values = weft.closure_convert(lambda x: x * y, 1.0)
      ...     return converted(3.0, *values)
      >>> print(weft.grad(g)(2.0))
      3.0
    Source: JAX documentation, `jax.closure_convert`.
    """
    return hoisted("closure_convert", fun, example_args, is_differentiable)


def is_differentiable(x: Value) -> bool:
    """True for a value that an outer transformation may differentiate."""
    return isinstance(x, Tracer) and dtypes.is_inexact(x.dtype)


def hoisted(
    transform: str,
    fun: TreeFunction,
    example_args: tuple[PyTree, ...],
    is_argument: Callable[[Value], bool],
) -> tuple[TreeFunction, list[Value]]:
    """`closure_convert`, for the values for which `is_argument` is true."""
    flat = FlatFunction(transform, fun, example_args)
    in_tree = flat.args_tree
    jaxpr = flat.stage()
    out_tree = flat.out_tree
    values = [c for c in jaxpr.consts if is_argument(c)]
    fixed = [None if is_argument(c) else c for c in jaxpr.consts]
    program = jaxpr.without_consts()
    count = len(example_args)

    @located
    def converted(*args_and_values: PyTree) -> PyTree:
        args, values = args_and_values[:count], args_and_values[count:]
        leaves, tree = tree_flatten(args)
        if tree != in_tree:
            raise TypeError(
                f"{transform}: converted for arguments of structure {in_tree}; got {tree}"
            )
        consts = fill_list(fixed, map(as_value, values))
        return out_tree.unflatten(run(program, [*consts, *map(as_value, leaves)], current.trace))

    return converted, values
