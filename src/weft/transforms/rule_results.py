"""Results of users' derivative rules, checked against the primals; and zeros for what they get."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval
from ..core.source import noted
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.linearize import float0_zeros
from ..primitives.structural import zeros
from ..tree_util import PyTreeDef, tree_flatten
from ..typing import PyTree
from .linear_maps import Tangent, is_float0
from .symbolic_zeros import SymbolicZero


def is_close(x: Value, y: Value) -> bool:
    """True if two arrays are equal, floating-point ones up to rounding."""
    a, b = np.asarray(x), np.asarray(y)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not dtypes.is_inexact(a.dtype):
        return bool(np.array_equal(a, b))
    wide = np.complex128 if dtypes.is_complex(a.dtype) else np.float64
    tolerance = float(dtypes.finfo(a.dtype).eps) ** 0.5
    a, b = a.astype(wide), b.astype(wide)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def zero_tangent(primal: Aval) -> Value | np.ndarray[Any, Any]:
    """The zero of a primal's tangent, as an array."""
    if not primal.inexact:
        return float0_zeros(primal.shape)
    zero: Value = zeros(primal.strong())
    return zero


def rule_tangent(where: str, out: Aval, t: object) -> Tangent:
    """An output tangent of a user's rule: checked, `None` where there is none."""
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
    """True if a value is complex and of another dtype than a real one that it is to be like."""
    return dtypes.is_complex(a.dtype) and not dtypes.is_complex(other.dtype)


def zeros_like_tree(tree: PyTree) -> PyTree:
    """A tree of zeros like another."""
    leaves, treedef = tree_flatten(tree)
    return treedef.unflatten([zeros(as_value(x).aval.strong()) for x in leaves])


def cotangent_leaves(where: str, args_tree: PyTreeDef, result: PyTree) -> list[Any]:
    """The leaves of what a backward rule returned, one for each leaf of the arguments."""
    children = args_tree.children()
    if not isinstance(result, (tuple, list)) or len(result) != len(children):
        got = f"{len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
        raise ShapeError(
            f"{where} must return a tuple of {len(children)} cotangents, one for each "
            f"argument; got {got}"
        )
    leaves: list[Any] = []
    for ct, child in zip(result, children, strict=True):
        ct_leaves, ct_tree = tree_flatten(ct, is_leaf=lambda x: x is None)
        found = ct_leaves if ct_tree.num_leaves == child.num_leaves else leaves_like(child, ct)
        if found is None:
            raise ShapeError(
                f"{where} must return cotangents of the arguments' structure {child}; got {ct_tree}"
            )
        leaves += found
    return leaves


def leaves_like(structure: PyTreeDef, tree: PyTree) -> list[Any] | None:
    """The leaves of a tree at those of a structure, `None` for all of a part that is `None`.

    Returns: `None` if the tree has another structure.
    """
    if tree is None:
        return [None] * structure.num_leaves
    parts, _ = tree_flatten(tree, is_leaf=lambda x: x is not tree)
    children = structure.children()
    whole = len(parts) == 1 and parts[0] is tree
    if structure.is_leaf or whole or len(parts) != len(children):
        return [tree] if structure.is_leaf and whole else None
    leaves: list[Any] = []
    for child, part in zip(children, parts, strict=True):
        found = leaves_like(child, part)
        if found is None:
            return None
        leaves += found
    return leaves


def rule_cotangent(where: str, primal: Aval, ct: object) -> Tangent:
    """An argument's cotangent by a user's rule: checked, `None` where there is none."""
    if ct is None or isinstance(ct, SymbolicZero) or is_float0(ct):
        return None
    if not primal.inexact:
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
