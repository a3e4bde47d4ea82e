"""custom_vmap, sequential_vmap: what `vmap` makes of a function, written by the user.

Rules are called by `higher_order/custom_vmap.py`.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ..core.caching import remember
from ..core.source import function_line, located, wrapping
from ..core.trace import current
from ..core.value import Value
from ..higher_order.custom_vmap import CustomVmap, custom_vmap_call
from ..higher_order.sequential import element_program, sequential_vmap as in_turn
from ..programs.hash_consing import consed_with
from ..tree_util import PyTreeDef, flatten_axes, tree_flatten, tree_leaves
from ..typing import PyTree
from .arguments import (
    FlatFunction,
    TreeFunction,
    check_callable,
    name_of,
    output_values,
    parameters,
)
from .custom_derivatives import positional

_MOST_KINDS = 256


class custom_vmap:
    """A function with a rule of its own for `vmap`; everywhere else it is the function.

    The rule should compute what the function does for each element. Forward-mode derivatives keep
    it. In reverse mode the function itself is differentiated, and `vmap` of the gradient maps what
    that consists of; for another gradient, combine it with `custom_vjp`.

    Args:
      fun: of arrays and containers of them; it must not close over values that are mapped.
    Raises: AttributeError: called without a rule. TypeError: the rule returns something else than
      the function's results, mapped.
    Example:
      >>> import weft, weft.numpy as np
      >>> @weft.custom_batching.custom_vmap
      ... def solve(a, b):
      ...     return b / a
      >>> @solve.def_vmap
      ... def solve_all(axis_size, in_batched, a, b):
      ...     if not in_batched[0]:                # one matrix, many right-hand sides
      ...         return b * (1 / a), True
      ...     return b / a, True
      >>> weft.vmap(solve, in_axes=(None, 0))(4.0, np.arange(3.0))
      Array([0.  , 0.25, 0.5 ], dtype=float32)
    Source: JAX documentation, `jax.custom_batching.custom_vmap`.
    """

    weft_made = "fun", "known", "vmap_rule", "signatures"

    def __init__(self, fun: TreeFunction) -> None:
        check_callable(fun, "custom_vmap")
        wrapping(fun)(self)
        self.fun, self.known = fun, parameters(fun)
        self.vmap_rule: TreeFunction | None = None
        self.signatures: dict[Any, BatchingSignature] = {}

    def def_vmap(self, vmap_rule: TreeFunction) -> TreeFunction:
        """Defines the rule: `vmap_rule(axis_size, in_batched, *args) -> (out, out_batched)`.

        Args:
          vmap_rule: gets the length of the mapped axis, a list with a tree of booleans for each
            argument (which of its leaves are mapped, along axis 0), and the arguments. It returns
            the output, and a tree of booleans: which of its leaves are mapped, along axis 0.
        Returns: `vmap_rule`, so that this can be used as a decorator.
        """
        check_callable(vmap_rule, "custom_vmap.def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __get__(self, instance: object, owner: type | None = None) -> TreeFunction:
        return self if instance is None else functools.partial(self, instance)

    @located
    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"custom_vmap: no rule is defined for {function_line(self.fun)}\n"
                "  fix: define one with def_vmap"
            )
        if current.trace.computes:
            return self.fun(*args, **kwargs)
        placed = positional(self.fun, self.known, args, kwargs)
        flat = FlatFunction("custom_vmap", self.fun, placed)
        key = self.vmap_rule, flat.args_tree, *flat.avals
        signature = self.signatures.get(key)
        if signature is None:
            made = BatchingSignature(self.fun, self.vmap_rule, flat.args_tree)
            signature = remember(self.signatures, key, made, _MOST_KINDS)
        jaxpr = flat.stage()
        signature.out_tree = flat.out_tree
        program = consed_with(signature.rules, jaxpr.without_consts())
        params = (("jaxpr", program), ("rules", signature.rules), ("consts", len(jaxpr.consts)))
        outs = current.trace.bind(custom_vmap_call, [*jaxpr.consts, *flat.values], params)
        return flat.unflatten(outs)


class BatchingSignature:
    """The common part of calls of one kind: structures, and the rule on leaves.

    Attributes:
      out_tree: of the function's result, when the function has been traced.
    """

    __slots__ = ("args_tree", "fun", "out_tree", "rule", "rules")
    out_tree: PyTreeDef

    def __init__(self, fun: TreeFunction, rule: TreeFunction, args_tree: PyTreeDef) -> None:
        self.fun, self.rule, self.args_tree = fun, rule, args_tree
        self.rules = CustomVmap(name_of(fun), self.on_leaves)

    def on_leaves(
        self, size: int, batched: Sequence[bool], args: Sequence[Value]
    ) -> tuple[list[Value], list[bool]]:
        """The user's rule on leaves, its result checked."""
        where = f"custom_vmap: the rule {function_line(self.rule)} of {function_line(self.fun)}"
        tree = self.args_tree
        in_batched = list(tree.unflatten([bool(b) for b in batched]))
        result = self.rule(size, in_batched, *tree.unflatten(args))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"{where} must return a pair (output, which of it is batched); got "
                f"{type(result).__name__}"
            )
        out, out_batched = result
        leaves, out_tree = tree_flatten(out)
        if out_tree != self.out_tree:
            raise TypeError(
                f"{where} must return an output of the function's structure {self.out_tree}; got "
                f"{out_tree}"
            )
        mask = flatten_axes(f"{where}: out_batched", out_tree, out_batched)
        for flag in mask:
            if not isinstance(flag, bool):
                raise TypeError(f"{where} must say by booleans what is batched; got {flag!r}")
        return output_values("custom_vmap", self.rule, leaves), mask


def sequential_vmap(f: TreeFunction) -> custom_vmap:
    """A function that `vmap` calls for one element after the other, in a loop.

    For functions that can't be mapped, or whose effects are to happen in order.

    Args:
      f: of arrays and containers of them.
    Returns: a `custom_vmap` function.
    Example:
      >>> import weft, weft.numpy as np
      >>> @weft.custom_batching.sequential_vmap
      ... def f(x):
      ...     weft.debug.print("at {}", x)
      ...     return x + 1
      >>> weft.vmap(f)(np.arange(3))
      at 0
      at 1
      at 2
      Array([1, 2, 3], dtype=int32)
    Source: JAX documentation, `jax.custom_batching.sequential_vmap`.
    """
    mapped = custom_vmap(f)

    def one_by_one(axis_size: int, in_batched: PyTree, *args: PyTree) -> tuple[PyTree, bool]:
        flat = FlatFunction("sequential_vmap", f, args)
        mask = tuple(tree_leaves(in_batched))
        element = element_program(flat, mask, flat.avals)
        outs = in_turn(element, flat.values, mask, axis_size)
        return flat.unflatten(outs), True

    mapped.def_vmap(one_by_one)
    return mapped
