"""Traces the binary computations that users pass to reduce and reduce_window."""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.simplify import jaxpr_calls_host
from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.jaxpr import Jaxpr
from ..errors import ShapeError
from ..primitives.scalar_programs import monoid
from ..primitives.structural import convert_element_type
from ..tree_util import PyTreeDef
from .body_functions import check_function, traced, tree_text


def traced_computation(
    name: str, computation: Callable[..., Any], tree: PyTreeDef, operands: Sequence[Aval]
) -> tuple[Jaxpr, str | None]:
    """The program of `computation(so_far, element)`, and the name of its monoid.

    Args:
      tree: the structure of both arguments and of the result.
      operands: the arrays of the elements.
    """
    check_function(name, "computation", computation)
    scalars = [aval((), x.dtype) for x in operands]
    trees = {"so_far": tree, "element": tree}
    body = traced(name, "computation", computation, trees, scalars * 2, lift_numbers=False)
    if body.consts:
        const_avals = ", ".join(str(c.aval) for c in body.consts)
        raise TypeError(
            f"{name}: the computation uses values from outside ({const_avals}): it may use its "
            "arguments and Python numbers only"
        )
    if jaxpr_calls_host(body.jaxpr):
        raise TypeError(
            f"{name}: the computation calls Python (debug.print, a callback), which it can't: it "
            "becomes a part of one operation of XLA's\n"
            "  fix: call it before or after; or lax.scan instead, whose body may"
        )
    if body.result_tree != tree:
        raise ShapeError(
            f"{name}: the computation must return {tree_text(tree)}, like the operands; it returns "
            f"{tree_text(body.result_tree)}"
        )
    return body.jaxpr, monoid(body.jaxpr)


def is_number(x: Any, number: Any) -> bool:
    """True for a value that equals this scalar and is neither traced nor differentiated."""
    return isinstance(x, Array) and not x.ndim and bool(x.host() == number)


def in_dtype_of(init: Any, x: Any) -> Any:
    """An initial value; a Python number in the dtype of the elements."""
    if not init.weak_type or init.dtype == x.dtype:
        return init
    if isinstance(init, Array) and not init.ndim:
        return Array(init.host().astype(x.dtype), aval((), x.dtype))
    return convert_element_type(init, dtype=x.dtype)
