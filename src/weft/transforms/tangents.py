"""Checks tangents and cotangents, which users pass or their rules return, against the primals.
Inside weft a zero is `None`. Users get an array of zeros, or float0 for the tangent of an integer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.linearize import full_tangent
from ..primitives.creation import zeros
from ..primitives.structural import convert_element_type
from ..tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ..typing import PyTree
from ..user_lines import noted
from .symbolic_zeros import SymbolicZero

Tangent = Value | None
"""A tangent or cotangent inside weft; `None` means zero."""


def is_float0(x: object) -> bool:
    """True for the tangent of an integer."""
    return getattr(x, "dtype", None) == dtypes.float0


def tangent_value(
    transform: str, primal: Aval, t: object, where: Callable[[], str], kind: str = "tangent"
) -> Tangent:
    """Checks a user's tangent against its primal; returns `None` for float0.

    Args:
      where: returns the name of the primal, for messages.
      kind: "tangent" or "cotangent".
    """
    if is_float0(t):
        if primal.inexact:
            raise ShapeError(
                f"{transform}: the {kind} of {where()} must be like {primal}; got float0"
            )
        return None
    value: Value = as_value(t)
    if not primal.inexact:
        if kind == "cotangent" and is_integer_like(value.aval, primal):
            return None  # integers have no derivative
        raise ShapeError(
            f"{transform}: {where()} is {primal}: its {kind} must be of dtype float0; got "
            f"{value.aval}\n"
            "  fix: make the primal a float, or pass numpy.zeros(shape, weft.dtypes.float0)"
        )
    if value.shape != primal.shape or value.dtype != primal.dtype:
        real_from_complex = dtypes.is_complex(value.dtype) and not dtypes.is_complex(primal.dtype)
        if value.shape != primal.shape or not value.weak_type or real_from_complex:
            raise ShapeError(
                f"{transform}: the {kind} of {where()} must have its shape and dtype, {primal}; "
                f"got {value.aval}"
            )
        value = value.astype(primal.dtype)
    elif value.aval.weak_type:
        value = convert_element_type(value, dtype=primal.dtype)
    return value


def is_integer_like(a: Aval, other: Aval) -> bool:
    """True if shapes and dtypes agree; a Python integer matches every integer dtype."""
    return a.shape == other.shape and (
        a.dtype == other.dtype
        or (a.weak_type and dtypes.is_integer(a.dtype) and dtypes.is_integer(other.dtype))
    )


def output_path(out_tree: PyTreeDef, i: int) -> str:
    """The name of an output leaf for messages."""
    marked = out_tree.unflatten(list(range(out_tree.num_leaves)))
    path = next(p for p, leaf in tree_flatten_with_path(marked)[0] if leaf == i)
    return f"output{keystr(path)}"


def is_close(x: Value, y: Value) -> bool:
    """True if two arrays are equal; floating-point arrays may differ by rounding."""
    a, b = np.asarray(x), np.asarray(y)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not dtypes.is_inexact(a.dtype):
        return bool(np.array_equal(a, b))
    dtype = np.complex128 if dtypes.is_complex(a.dtype) else np.float64
    tolerance = float(dtypes.finfo(a.dtype).eps) ** 0.5
    a, b = a.astype(dtype), b.astype(dtype)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def zero_tangent(primal: Aval) -> Value | np.ndarray[Any, Any]:
    """The zero tangent of a primal, as an array."""
    return full_tangent(primal.strong(), None)


def rule_tangent(where: str, out: Aval, t: object) -> Tangent:
    """The checked tangent of an output from a user's rule; `None` if it is zero."""
    if isinstance(t, SymbolicZero) or is_float0(t):
        return None
    value: Value = as_value(t)
    if not out.inexact:
        raise noted(
            ShapeError(
                f"{where} must return a tangent of dtype float0 for the output {out}, which has no "
                f"derivative; got {value.aval}\n"
                "  fix: return numpy.zeros(shape, weft.dtypes.float0) there, or give the output a "
                "float dtype"
            )
        )
    fits = value.shape == out.shape and not loses_imaginary(value.aval, out)
    if fits and value.dtype != out.dtype and value.weak_type:
        value = value.astype(out.dtype)
    if value.shape == out.shape and value.dtype == out.dtype:
        return value
    raise noted(
        ShapeError(f"{where} must return a tangent like the output, {out}; got {value.aval}")
    )


def loses_imaginary(a: Aval, other: Aval) -> bool:
    """True if a value is complex and would have to become real."""
    return dtypes.is_complex(a.dtype) and not dtypes.is_complex(other.dtype)


def zeros_like_tree(tree: PyTree) -> PyTree:
    """A tree of zeros like another."""
    leaves, treedef = tree_flatten(tree)
    return treedef.unflatten([zeros(as_value(x).aval.strong()) for x in leaves])


def cotangent_leaves(where: str, args_tree: PyTreeDef, result: PyTree) -> list[Any]:
    """The leaves of the result of a backward rule, one for each leaf of the arguments."""
    children = args_tree.children()
    if not isinstance(result, (tuple, list)) or len(result) != len(children):
        kind = f"{len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
        raise ShapeError(
            f"{where} must return a tuple of {len(children)} cotangents, one for each "
            f"argument; got {kind}"
        )
    leaves: list[Any] = []
    for ct, child in zip(result, children, strict=True):
        ct_leaves, ct_tree = tree_flatten(ct, is_leaf=lambda x: x is None)
        fits = ct_tree.num_leaves == child.num_leaves
        child_leaves = ct_leaves if fits else leaves_like(child, ct)
        if child_leaves is None:
            raise ShapeError(
                f"{where} must return cotangents of the arguments' structure {child}; got {ct_tree}"
            )
        leaves += child_leaves
    return leaves


def leaves_like(structure: PyTreeDef, tree: PyTree) -> list[Any] | None:
    """The subtrees at the leaves of a structure. `None` in the tree stands for `None` at each leaf
    below it, and a leaf stands for the only leaf below it.

    Returns: `None` if the tree has another structure.
    """
    if tree is None:
        return [None] * structure.num_leaves
    subtrees, _ = tree_flatten(tree, is_leaf=lambda x: x is not tree)
    children = structure.children()
    if len(subtrees) == 1 and subtrees[0] is tree:  # a leaf, perhaps for a node around it
        return [tree] * structure.num_leaves if structure.num_leaves < 2 else None
    if structure.is_leaf or len(subtrees) != len(children):
        return None
    leaves: list[Any] = []
    for child, subtree in zip(children, subtrees, strict=True):
        child_leaves = leaves_like(child, subtree)
        if child_leaves is None:
            return None
        leaves += child_leaves
    return leaves


def rule_cotangent(where: str, primal: Aval, ct: object) -> Tangent:
    """The checked cotangent of an argument from a user's rule; `None` if it is zero."""
    if ct is None or isinstance(ct, SymbolicZero) or is_float0(ct) or not primal.inexact:
        return None
    value: Value = as_value(ct)
    if value.shape != primal.shape or loses_imaginary(value.aval, primal):
        kind = "shapes" if value.shape != primal.shape else "kind, real for real ones"
        raise ShapeError(
            f"{where} must return cotangents of the arguments' {kind}; got {value.aval} for "
            f"{primal}"
        )
    if value.dtype != primal.dtype:
        value = value.astype(primal.dtype)
    return value
