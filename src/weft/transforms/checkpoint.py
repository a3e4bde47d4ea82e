"""checkpoint (remat), and the policies that say what is kept.

Knows trees; `higher_order/checkpoint.py` knows what to compute anew.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..config import thread
from ..core.primitive import Primitive
from ..core.source import located
from ..higher_order.checkpoint import apply
from ..interpreters.stage import stage
from ..tree_util import tree_flatten
from .signature import (
    argument_values,
    check_callable,
    check_hashable,
    leaf_paths,
    name_of,
    output_values,
    static_arguments,
)

__all__ = ["checkpoint", "checkpoint_policies", "remat"]


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    concrete: bool = False,
    prevent_cse: bool = True,
    static_argnums: Any = (),
    policy: Callable[..., bool] | None = None,
) -> Any:
    """Makes differentiation of a function compute intermediate values anew instead of keeping them.

    Less memory for more time: only the arguments (and what `policy` names) are kept for the
    backward pass.

    Args:
      fun: the function; without it, a decorator that takes the other options.
      concrete: has no effect: static_argnums names arguments that the Python code looks at.
      prevent_cse: whether to keep XLA from merging the second computation with the first; False is
        safe, and faster, inside scan.
      static_argnums: positions of arguments that aren't arrays, or that the code branches on.
      policy: `policy(primitive, *avals, **params)` says whether an operation's results are kept;
        see `checkpoint_policies`.
    Returns: a function with the same results and derivatives.
    Example:
      >>> import weft, weft.numpy as np
      >>> g = weft.checkpoint(lambda x: np.sin(np.sin(x)))
      >>> print(weft.grad(g)(2.0))
      -0.25563914
    Source: seed 002, `jax.checkpoint`.
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            concrete=concrete,
            prevent_cse=prevent_cse,
            static_argnums=static_argnums,
            policy=policy,
        )
    check_callable(fun, "checkpoint")
    function: Callable[..., Any] = fun
    nums, _ = static_arguments(fun, static_argnums, (), "checkpoint")
    cache: dict[Any, Any] = {}

    @functools.wraps(fun)
    @located
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        fixed = {n % len(args): args[n] for n in nums if -len(args) <= n < len(args)}
        for n, value in fixed.items():
            check_hashable("checkpoint", function, n, value)
        others = [i for i in range(len(args)) if i not in fixed]
        traced = tuple(args[i] for i in others)
        leaves, tree = tree_flatten((traced, kwargs))
        values = argument_values(
            "checkpoint", function, leaves, lambda: leaf_paths(function, traced, kwargs, others)
        )
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
        known = cache.get(key)
        if known is None:
            jaxpr = stage(
                flat, avals, name=name_of(function), transform="checkpoint", about=function
            )
            known = jaxpr, out_tree
            if not jaxpr.consts:  # what it closes over may be another tracer next time
                cache[key] = known
        jaxpr, out_tree = known
        return out_tree.unflatten(apply(jaxpr, values, policy, prevent_cse))

    return checkpointed


remat = checkpoint


def everything_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps all results: as without checkpoint."""
    return True


def nothing_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps nothing: as without a policy."""
    return False


def dots_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps the results of matrix products and convolutions."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps the results of matrix products without batch axes: those with weights."""
    return primitive.name == "dot_general" and params["dims"][1] == ((), ())


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
)
"""What a checkpointed function keeps: functions to pass as `policy`."""
