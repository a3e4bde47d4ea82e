"""Arguments of a function with its own derivative that have none. Knows no backend."""

from collections.abc import Callable, Sequence
from typing import Any


def without_nondiff(
    with_rule: Callable[..., Any],
    f: Callable[..., Any],
    f_fwd: Callable[..., Any],
    f_bwd: Callable[..., Any],
    nondiff_argnums: Sequence[int],
) -> Callable[..., Any]:
    """`with_rule(f, f_fwd, f_bwd)`, of the arguments that have derivatives alone.

    The others are closed over, so that they may be anything, and their entries in what `f_bwd`
    returns are left out.
    """
    if not nondiff_argnums:
        return with_rule(f, f_fwd, f_bwd)
    held = frozenset(nondiff_argnums)

    def call(*args: Any) -> Any:
        differentiated = [i for i in range(len(args)) if i not in held]

        def filled(function: Callable[..., Any]) -> Callable[..., Any]:
            def of_differentiated(*some: Any) -> Any:
                every = list(args)
                for i, x in zip(differentiated, some, strict=True):
                    every[i] = x
                return function(*every)

            return of_differentiated

        def backward(residual: Any, g: Any) -> Any:
            gradients = f_bwd(residual, g)
            return tuple(gradients[i] for i in differentiated)

        inner = with_rule(filled(f), filled(f_fwd), backward)
        return inner(*(args[i] for i in differentiated))

    return call
