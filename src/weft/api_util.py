"""flatten_fun, flatten_fun_nokwargs, shaped_abstractify: functions of trees as functions of leaves,
for libraries with their own transformations."""

from collections.abc import Callable
from typing import Any

from .core.aval import Aval
from .core.source import located
from .extend.linear_util import WrappedFun, wrap_init
from .transforms.leaf_values import shaped_aval
from .tree_util import PyTreeDef, tree_flatten

__all__ = ["flatten_fun", "flatten_fun_nokwargs", "shaped_abstractify"]

OutTree = Callable[[], PyTreeDef]


def flatten_fun(fun: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, OutTree]:
    """A function of trees as a function of leaves.

    Args:
      fun: the function, from `extend.linear_util.wrap_init`.
      in_tree: the structure of the pair (positional arguments, keyword arguments).
    Returns: a function of leaves that returns the list of the result's leaves, and a function that
      returns the result's structure after a call.
    Example:
      >>> import weft
      >>> from weft.extend.linear_util import wrap_init
      >>> leaves, in_tree = weft.tree.flatten((({"a": 1, "b": 2},), {"scale": 10}))
      >>> function = wrap_init(lambda d, scale: (d["a"] * scale, d["b"]))
      >>> flat, out_tree = weft.api_util.flatten_fun(function, in_tree)
      >>> flat.call_wrapped(*leaves), out_tree()
      ([10, 2], PyTreeDef((*, *)))
    Source: JAX's source, `jax.api_util.flatten_fun`: its name and meaning.
    """
    return on_leaves(fun, in_tree.unflatten)


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, OutTree]:
    """Like `flatten_fun`, for the structure of a tuple of positional arguments.

    Example:
      >>> from weft.extend import linear_util
      >>> _, in_tree = tree_util.tree_flatten(({"a": 1}, 2))
      >>> function = linear_util.wrap_init(lambda d, y: (d["a"], y))
      >>> flat, out_tree = flatten_fun_nokwargs(function, in_tree)
      >>> flat.call_wrapped(1, 2), out_tree()
      ([1, 2], PyTreeDef((*, *)))
    """
    return on_leaves(fun, lambda leaves: (in_tree.unflatten(leaves), {}))


def on_leaves(f: WrappedFun, arguments: Callable[..., Any]) -> tuple[WrappedFun, OutTree]:
    """A function of leaves; `arguments` returns the pair (positional, keyword) for them."""
    out_trees: list[PyTreeDef] = []

    def function(*leaves: object) -> list[Any]:
        args, kwargs = arguments(leaves)
        outs, out_tree = tree_flatten(f.call_wrapped(*args, **kwargs))
        out_trees[:] = [out_tree]
        return outs

    return wrap_init(function), lambda: result_tree(out_trees)


@located
def result_tree(out_trees: list[PyTreeDef]) -> PyTreeDef:
    """The structure of the result, once the function has been called."""
    if not out_trees:
        raise ValueError("flatten_fun: the structure of the result is known after a call")
    return out_trees[0]


def shaped_abstractify(x: object) -> Aval:
    """The aval of an array, of a scalar, or of anything with a shape and a dtype.

    Raises: TypeError: another object.
    Example:
      >>> weft.api_util.shaped_abstractify(weft.ShapeDtypeStruct((2,), "int32"))
      int32[2]
    """
    return shaped_aval(x)
