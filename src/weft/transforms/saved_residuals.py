"""What is kept for the backward pass of a function, and where each of it comes from."""

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.jaxpr import Jaxpr, Var
from ..core.source import located
from ..higher_order.call import call
from ..higher_order.checkpoint import checkpoint_call
from ..primitives.selection import name as name_primitive
from ..programs.transform import linearize_jaxpr
from .arguments import check_callable, leaf_paths
from .inspect import traced
from .jit.stages import ShapeDtypeStruct, struct_of

__all__ = ["print_saved_residuals", "saved_residuals"]


@located
def saved_residuals(
    fun: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ShapeDtypeStruct, str]]:
    """What differentiating a function in reverse keeps: shapes and dtypes, and where it is from.

    Literals (Python's numbers) are left out. `fun` is traced, and not run.

    Args:
      fun: the function, with checkpoints inside or not.
      args: its arguments, or anything with their shapes and dtypes.
    Returns: a list of pairs (shape and dtype, description), one for each array that is kept.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import saved_residuals
      >>> for kept, source in saved_residuals(lambda x: np.sin(np.sin(x)), np.ones(3)):
      ...     print(kept.shape, source)
      (3,) output of cos
      (3,) output of cos
    Source: jax.ad_checkpoint.saved_residuals.
    """
    check_callable(fun, "saved_residuals")
    jaxpr = traced("saved_residuals", fun, (), args, kwargs).jaxpr
    whole = jaxpr.without_consts()
    constants = [False] * len(jaxpr.consts)
    mask = [*constants, *[dtypes.is_inexact(v.aval.dtype) for v in jaxpr.invars]]
    forward, _, _ = linearize_jaxpr(whole, mask)
    arguments = [f"from the argument {path}" for path in leaf_paths(fun, args, kwargs)]
    sources = ["from a constant"] * len(jaxpr.consts) + arguments
    return [
        (struct_of(v.aval), origin(forward, v, sources))
        for v in forward.outvars[len(jaxpr.outvars) :]
        if type(v) is Var
    ]


def origin(jaxpr: Jaxpr, atom: Any, sources: list[str]) -> str:
    """Where a value of a program comes from.

    Args:
      sources: where the program's inputs come from.
    """
    if atom in jaxpr.invars:
        return sources[jaxpr.invars.index(atom)]
    for e in jaxpr.equations:
        if atom not in e.outvars:
            continue
        params = dict(e.params)
        if e.primitive is name_primitive:
            return f"named {params['name']!r}"
        if e.primitive not in (call, checkpoint_call):
            return f"output of {e.primitive}"
        given = [
            origin(jaxpr, v, sources) if type(v) is Var else "from a literal" for v in e.inputs
        ]
        inner = params["jaxpr"]
        return origin(inner, inner.outvars[e.outvars.index(atom)], given)
    return "from a constant"


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints what differentiating a function in reverse keeps, a line an array.

    Args:
      fun, args, kwargs: as in `saved_residuals`.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(weft.checkpoint(lambda x: np.sin(np.sin(x))), np.ones(3))
      float32[3] from the argument x
    Source: jax.ad_checkpoint.print_saved_residuals.
    """
    for kept, source in saved_residuals(fun, *args, **kwargs):
        print(f"{kept.dtype.name}[{','.join(map(str, kept.shape))}] {source}")
