"""custom_vmap, sequential_vmap: functions with a user's rule for `vmap`.

`higher_order/custom_vmap.py` calls the rules.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ..core.source import function_line, located
from ..core.trace import current
from ..core.value import Value
from ..higher_order.custom_vmap import CustomVmap, custom_vmap_call
from ..higher_order.scan import element_program, run_sequentially
from ..programs.hash_consing import consed_with
from ..tree_util import flatten_axes, tree_flatten, tree_leaves
from ..typing import PyTree
from .arguments import TreeFunction, check_callable, name_of, output_values
from .custom_derivatives import FunctionWithRules, RuleCall, Signature, positional


class custom_vmap(FunctionWithRules[..., Any]):
    """A function with its own rule for `vmap`; other transformations use the function itself.

    The rule should compute the function of each element. Forward-mode derivatives
    keep the rule. In reverse mode the function itself is differentiated, and `vmap` of the gradient
    maps the operations of the function; for another gradient, combine it with `custom_vjp`.

    Args:
      fun: a function of arrays and containers of them; it must not close over values that are
        mapped.
    Raises: AttributeError: it is called without a rule. TypeError: the rule does not return the
      function's results, mapped.
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

    kind = "custom_vmap"
    vmap_rule: TreeFunction | None = None

    def __init__(self, fun: TreeFunction) -> None:
        super().__init__(fun)

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

    @located
    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"custom_vmap: no rule is defined for {function_line(self.fun)}\n"
                "  fix: define one with def_vmap"
            )
        if current.trace.computes:
            return self.fun(*args, **kwargs)
        flat = RuleCall("custom_vmap", self.fun, positional(self.fun, self.params, args, kwargs))
        signature = self.signature(flat, (self.vmap_rule,), self.rules_on_leaves)
        jaxpr = flat.stage()
        signature.out_tree = flat.out_tree
        program = consed_with(signature.rules, jaxpr.without_consts())
        params = (("jaxpr", program), ("rules", signature.rules), ("consts", len(jaxpr.consts)))
        outs = current.trace.bind(custom_vmap_call, [*jaxpr.consts, *flat.values], params)
        return flat.unflatten(outs)

    def rules_on_leaves(self, signature: Signature) -> CustomVmap:
        """The rule as traces call it, for one signature."""
        assert self.vmap_rule is not None
        rule = functools.partial(self.apply_rule, signature, self.vmap_rule)
        return CustomVmap(name_of(self.fun), rule)

    def apply_rule(
        self,
        signature: Signature,
        rule: TreeFunction,
        size: int,
        batched: Sequence[bool],
        args: Sequence[Value],
    ) -> tuple[list[Value], list[bool]]:
        """The user's rule on leaves, its result checked."""
        where = f"custom_vmap: the rule {function_line(rule)} of {function_line(self.fun)}"
        tree = signature.args_tree
        in_batched = list(tree.unflatten([bool(b) for b in batched]))
        result = rule(size, in_batched, *tree.unflatten(args))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"{where} must return a pair (output, which of it is batched); got "
                f"{type(result).__name__}"
            )
        out, out_batched = result
        leaves, out_tree = tree_flatten(out)
        if out_tree != signature.out_tree:
            raise TypeError(
                f"{where} must return an output of the function's structure {signature.out_tree}; "
                f"got {out_tree}"
            )
        mask = flatten_axes(f"{where}: out_batched", out_tree, out_batched)
        for flag in mask:
            if not isinstance(flag, bool):
                raise TypeError(
                    f"{where} must return a boolean for each result, True if batched; got {flag!r}"
                )
        return output_values("custom_vmap", rule, leaves), mask


def sequential_vmap(f: TreeFunction) -> custom_vmap:
    """A function that `vmap` calls for one element after the other, in a loop.

    Use it for functions that can't be mapped, or whose effects must happen in order.

    Args:
      f: a function of arrays and containers of them.
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
        flat = RuleCall("sequential_vmap", f, args)
        mask = tuple(tree_leaves(in_batched))
        element = element_program(flat, mask, flat.avals)
        outs = run_sequentially(element, flat.values, mask, axis_size)
        return flat.unflatten(outs), True

    mapped.def_vmap(one_by_one)
    return mapped
