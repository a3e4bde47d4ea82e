"""named_call and named_scope: names of the user's for parts of a program.

They are seen in the jaxpr, in StableHLO, in what XLA makes of it, and so in profiles; they change
nothing of what is computed. Knows tracing.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..core.array import Tracer
from ..core.source import located
from ..core.trace import current
from ..higher_order.call import call_jaxpr, named_block
from ..interpreters.stage import StageTrace, stage
from ..programs.hash_consing import hash_consed, is_eager
from ..tree_util import tree_flatten
from .arguments import check_callable, kind_of, name_of

__all__ = ["named_call", "named_scope"]

F = TypeVar("F", bound=Callable[..., Any])


def named_call(fun: F, *, name: str | None = None) -> F:
    """The same function, whose part of a compiled program carries a name.

    Inside `jit` and other transformations that write programs down, a call becomes a subprogram of
    that name: an equation `call[name=…]` of the jaxpr, a function of the StableHLO module, and the
    `op_name` of all its operations in XLA's program, which profilers show. Names nest:
    'model/block'. Derivatives are named after it: 'block_linear_t' is the backward pass.

    Outside, the function just runs. Programs without names are not touched by any of this.

    Args:
      fun: the function; arguments and results may be anything.
      name: the name; that of the function by default.
    Raises: TypeError: the name isn't a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> layer = weft.named_call(lambda w, x: np.tanh(w * x), name="layer")
      >>> weft.make_jaxpr(layer)(2.0, 3.0)
      { lambda ; a:f32[]* b:f32[]*. let
          c:f32[]* = call[
            name=layer
            jaxpr={ lambda ; a:f32[]* b:f32[]*. let
                c:f32[]* = mul a b
                d:f32[]* = tanh c
              in (d,) }
            named=True
          ] a b
        in (c,) }
    Source: seed 002, `jax.named_call`.
    """
    check_callable(fun, "named_call")
    label = name_of(fun) if name is None else checked_name("named_call", name)

    @functools.wraps(fun)
    @located
    def named(*args: Any, **kwargs: Any) -> Any:
        if is_eager(current.trace):
            return fun(*args, **kwargs)
        leaves, tree = tree_flatten((args, kwargs))
        # what isn't traced is left as it is: Python code may look at it
        traced = [x for x in leaves if isinstance(x, Tracer)]
        out_leaves: Any = None
        out_tree: Any = None

        def flat(*tracers: Any) -> list[Any]:
            nonlocal out_leaves, out_tree
            waiting = iter(tracers)
            full = [next(waiting) if isinstance(x, Tracer) else x for x in leaves]
            inner, inner_kwargs = tree.unflatten(full)
            out_leaves, out_tree = tree_flatten(fun(*inner, **inner_kwargs))
            return [x for x in out_leaves if isinstance(x, Tracer)]

        avals = [x.aval for x in traced]
        jaxpr = stage(flat, avals, name=label, transform="named_call", about=fun)
        program, _ = hash_consed(jaxpr.without_consts(), fun)
        results = iter(call_jaxpr(program, [*jaxpr.consts, *traced], named=True))
        return out_tree.unflatten(
            [next(results) if isinstance(x, Tracer) else x for x in out_leaves]
        )

    return named  # type: ignore[return-value]


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Names the part of a program that is traced within a block.

    As `named_call`, but for a block instead of a function. Where a block is differentiated inside
    the program that it is traced into, only the operations within it are named; `named_call` names
    the backward pass too.

    Args:
      name: the name.
    Raises: TypeError: the name isn't a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> def f(x):
      ...     with weft.named_scope("normalise"):
      ...         y = x / np.sum(x)
      ...     return np.sin(y)
      >>> [(e.primitive.name, len(e.inputs)) for e in weft.make_jaxpr(f)(np.ones(3)).eqns]
      [('call', 1), ('sin', 1)]
    Source: `jax.named_scope`.
    """
    label = checked_name("named_scope", name)
    trace = current.trace
    while not trace.computes and not isinstance(trace, StageTrace):
        trace = trace.outside
    if not isinstance(trace, StageTrace):
        yield
        return
    begin = len(trace.equations or ())
    yield
    named_block(trace, begin, label)


@located
def checked_name(where: str, name: Any) -> str:
    """A name that was given, if it is one."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"{where}: name must be a string that isn't empty; got {kind_of(name)}")
    return name
