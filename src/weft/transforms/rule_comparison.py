"""compare_with_differences passes the rules of `custom_jvp` and `custom_vjp` functions to the
comparison with differences, under the switch `check_derivatives`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.array import as_value
from ..core.caching import remember
from ..core.source import function_line
from ..core.value import Value
from ..lazy import Deferred
from ..tree_util import tree_flatten
from .arguments import TreeFunction, name_of, tree_paths

if TYPE_CHECKING:
    from .custom_derivatives import FunctionWithRules, Signature

MAX_MASKS = 64
"""The number of sets of differentiated arguments that are stored for each signature."""

_comparison = Deferred("weft.interpreters.debugging.derivative_rules")


def compare_with_differences(
    function: "FunctionWithRules[..., Any]",
    signature: "Signature",
    rule: TreeFunction,
    primals: Sequence[Value],
    mask: Sequence[bool],
) -> None:
    """Compares a rule at its first use for a signature and the differentiated arguments in `mask`.

    Args:
      rule: the user's rule, of tangents or of cotangents.
    Raises: DerivativeRuleError: the rule is wrong.
    """
    # traced arguments are replaced by random ones; then a call with known arguments is compared too
    are_known = all(_comparison.known_value(x) is not None for x in primals)
    key = (are_known, *mask)
    if not function.check_derivatives or signature.refs or key in signature.compared:
        return
    ignored = function.without_rule(signature)
    is_forward = function.kind == "custom_jvp"
    kind = "rule" if is_forward else "backward rule"
    comparison = _comparison.Rule(
        f"{function.kind}: the {kind} {function_line(rule)} of {function_line(function.fun)}",
        on_leaves(function.fun, signature),
        on_leaves(function, signature),
        functools.partial(leaf_name, function.fun, signature),
        f"{name_of(function.fun)}.check_derivatives = False",
        is_forward,
    )
    chosen = [m and i not in ignored for i, m in enumerate(mask)]
    _comparison.compare_rule(comparison, primals, chosen)
    remember(signature.compared, key, True, MAX_MASKS)


def on_leaves(function: TreeFunction, signature: "Signature") -> Callable[..., list[Value]]:
    """A function of trees as a function of leaves, for calls of a signature."""

    def flat(*leaves: Value) -> list[Value]:
        return [as_value(x) for x in tree_flatten(function(*signature.arguments(leaves)))[0]]

    return flat


def leaf_name(function: TreeFunction, signature: "Signature", number: int) -> str:
    """The name of an argument leaf: `params['w']`."""
    count = len(signature.args_tree.children())
    positions = [i for i, m in enumerate(signature.is_traced) if m] or range(count)
    leaves = [as_value(0.0)] * signature.args_tree.num_leaves
    return tree_paths(function, signature.args_tree, None, leaves, positions)[number]
