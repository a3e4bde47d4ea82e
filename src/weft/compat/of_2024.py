"""Functions that JAX defined differently in 2024: `tree_map` and `custom_jvp`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import as_value
from ..transforms.custom_derivatives import custom_jvp as weft_custom_jvp
from ..transforms.symbolic_zeros import SymbolicZero
from ..tree_util import tree_flatten, tree_map as weft_tree_map


def tree_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """`weft.tree_util.tree_map`, where `None` in the first tree matches any other tree."""

    def no_node(x: Any) -> bool:
        return x is None or (is_leaf is not None and is_leaf(x))

    if not rest or all(x is not None for x in tree_flatten(tree, no_node)[0]):
        return weft_tree_map(f, tree, *rest, is_leaf=is_leaf)

    def mapped(x: Any, *others: Any) -> Any:
        return x if x is None and not (is_leaf and is_leaf(None)) else f(x, *others)

    return weft_tree_map(mapped, tree, *rest, is_leaf=no_node)


class custom_jvp(weft_custom_jvp[..., Any]):
    """`weft.custom_jvp`, whose rule may return integer tangents; they are ignored."""

    def defjvp(self, jvp: Any, symbolic_zeros: bool = False) -> Any:
        """Defines the rule."""

        @functools.wraps(jvp)
        def rule(*args: Any) -> Any:
            out, tangent = jvp(*args)
            return out, weft_tree_map(without_integers, tangent)

        super().defjvp(rule, symbolic_zeros)
        return jvp


def without_integers(tangent: Any) -> Any:
    """The tangent; an integer tangent becomes a float0 one."""
    if isinstance(tangent, SymbolicZero) or as_value_dtype(tangent).kind not in "biu":
        return tangent
    return np.zeros(np.shape(tangent), dtypes.float0)


def as_value_dtype(tangent: Any) -> Any:
    """The dtype of a tangent, which may be float0."""
    if getattr(tangent, "dtype", None) == dtypes.float0:
        return dtypes.float0
    return as_value(tangent).dtype
