"""checkpoint (remat): compute again instead of keeping.

Knows trees; `higher_order/checkpoint.py` knows what to compute again, and `checkpoint_policies.py`
has the policies.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..config import thread
from ..core.array import Array
from ..core.bounded import remember
from ..core.jaxpr import Jaxpr
from ..core.source import located
from ..core.trace import current
from ..higher_order.checkpoint import apply_checkpoint
from ..interpreters.concrete_stage import ConcreteStageTrace
from ..interpreters.stage import stage
from ..programs.hash_consing import hash_consed
from ..tree_util import tree_flatten
from .arguments import (
    argument_values,
    check_callable,
    check_hashable,
    leaf_paths,
    name_of,
    output_values,
    static_arguments,
)

__all__ = ["checkpoint", "remat"]


def checkpoint(
    fun: Callable[..., Any] | None = None,
    concrete: bool = False,
    prevent_cse: bool = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Any:
    """Makes differentiation of a function compute intermediate values anew instead of keeping them.

    Less memory for more time: only the arguments (and what `policy` names) are kept for the
    backward pass, for which the function is computed a second time. Checkpoints nest: see
    docs/checkpoint.md for what that is good for.

    Args:
      fun: the function; without it, a decorator that takes the other options.
      concrete: whether the Python code of `fun` may look at elements (`if x > 0`), where they are
        known: not inside jit, but under grad. Then it is traced anew at every call.
      prevent_cse: whether to keep the compiler from merging the second computation with the first,
        which would keep what was to be computed again. False is faster and does as well inside
        scan, where the two are in different loops.
      policy: `policy(primitive, *avals, **params)` says whether an operation's results are kept;
        see `checkpoint_policies`. It is asked about the operations inside inner jitted functions,
        branches and scans, too.
      static_argnums: positions of arguments that aren't arrays, or that the code branches on. They
        must be hashable.
    Returns: a function with the same results and derivatives.
    Raises: TypeError: an argument or a result isn't an array; TracerBoolConversionError and the
      like: the Python code looks at elements that aren't known.
    Example:
      >>> import weft, weft.numpy as np
      >>> g = weft.checkpoint(lambda x: np.sin(np.sin(x)))
      >>> print(weft.grad(g)(2.0))
      -0.25563914
      >>> h = weft.checkpoint(lambda x: x**2 if x > 0 else -x, concrete=True)
      >>> print(weft.grad(h)(3.0), weft.grad(h)(-3.0))
      6.0 -1.0
    Source: seed 002, `jax.checkpoint`.
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            concrete=concrete,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
        )
    check_callable(fun, "checkpoint")
    if policy is not None:
        check_callable(policy, "checkpoint: policy")
    function: Callable[..., Any] = fun
    nums, _ = static_arguments(fun, static_argnums, (), "checkpoint")
    cache: dict[Any, tuple[Jaxpr, list[Array], Any]] = {}

    @functools.wraps(fun)
    @located
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if concrete and current.trace is current.base:
            return function(*args, **kwargs)  # nothing is differentiated
        fixed = {n % len(args): args[n] for n in nums if -len(args) <= n < len(args)}
        for n, value in fixed.items():
            check_hashable("checkpoint", function, n, value)
        others = [i for i in range(len(args)) if i not in fixed]
        traced = tuple(args[i] for i in others)
        leaves, tree = tree_flatten((traced, kwargs))
        paths = lambda: leaf_paths(function, traced, kwargs, others)  # noqa: E731
        values = argument_values("checkpoint", function, leaves, paths)
        out_tree: Any = None

        def flat(*xs: Any) -> list[Any]:
            nonlocal out_tree
            inner, inner_kwargs = tree.unflatten(xs)
            waiting = iter(inner)
            full = [fixed[i] if i in fixed else next(waiting) for i in range(len(args))]
            out_leaves, out_tree = tree_flatten(function(*full, **inner_kwargs))
            return output_values("checkpoint", function, out_leaves)

        avals = tuple(v.aval for v in values)
        statics = tuple((n, fixed[n].__class__, fixed[n]) for n in sorted(fixed))
        key = (tree, avals, statics, thread.key)
        known = None if concrete else cache.get(key)
        if known is None:
            trace = None
            if concrete:
                trace = ConcreteStageTrace([v.concrete() for v in values], "checkpoint", function)
            jaxpr = stage(
                flat,
                avals,
                name=name_of(function),
                transform="checkpoint",
                about=function,
                names=paths,
                trace=trace,
            )
            if concrete or jaxpr.consts:
                # not kept: another value next time, or another tracer that it closes over
                consts = jaxpr.consts
                jaxpr, numbers = hash_consed(jaxpr.without_consts(), function, True)
                outs = apply_checkpoint(jaxpr, [*numbers, *consts, *values], policy, prevent_cse)
                return out_tree.unflatten(outs)
            known = remember(cache, key, (*hash_consed(jaxpr, function, True), out_tree))
        jaxpr, numbers, out_tree = known
        return out_tree.unflatten(apply_checkpoint(jaxpr, [*numbers, *values], policy, prevent_cse))

    return checkpointed


remat = checkpoint
