"""jet: Taylor-mode differentiation of functions of trees; zero_series marks a constant
argument.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import as_value
from ...core.aval import Aval
from ...core.source import located
from ...errors import ShapeError
from ...primitives.creation import zeros
from ...primitives.structural import convert_element_type
from ...transforms.arguments import FlatFunction, TreeFunction, check_callable
from ...tree_util import register_pytree_node, tree_flatten, tree_structure
from ...typing import PyTree
from .interpreter import jet_values

__all__ = ["jet", "zero_series"]


class ZeroSeries:
    """The class of `zero_series`, its only instance."""

    def __repr__(self) -> str:
        return "zero_series"


zero_series = ZeroSeries()
"""Marks an argument of `jet` as constant along the path, in place of its series."""

register_pytree_node(ZeroSeries, lambda _: ((), None), lambda _, children: zero_series)


@located
def jet(
    fun: TreeFunction,
    primals: Sequence[PyTree],
    series: Sequence[Sequence[PyTree] | ZeroSeries],
    factorial_scaled: bool = True,
) -> tuple[PyTree, PyTree]:
    """The derivatives of `fun(x(s), …)` at s = 0, to some order, along paths `x(s)`: Taylor mode.

    Order K costs about K² times the function. Nested `jvp` costs 2^K times, and so do loops and
    operations without a recurrence, which use their first derivative repeatedly. Functions with a
    `custom_jvp` rule use that rule.

    Args:
      fun: a function of arrays or trees of arrays.
      primals: the tuple of its arguments, x(0).
      series: a tuple with one entry for each argument: the first, second, …, K-th derivative of
        x(s) at 0, each like the argument; or `zero_series` for a constant argument. K is the same
        for all. Integers and booleans are constant, so their terms are zeros.
      factorial_scaled: if False, the k-th term, here and in the result, is the derivative divided
        by k!: the coefficient of the Taylor polynomial.
    Returns: (fun(*primals), out_series). `out_series` has the structure of the output, with a list
      of K derivatives in place of each array.
    Raises: TypeError: primals or series aren't sequences. ValueError: their lengths differ.
      ShapeError: the shape or dtype of a term differs from its argument's. MissingRuleError: an
      operation has no derivative. DerivativeError: a `custom_vjp` function, which has no forward
      mode.
    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental.jet import jet, zero_series
      >>> y, (d1, d2, d3) = jet(np.exp, (0.0,), ((2.0, 0.0, 0.0),))  # exp(2s)
      >>> print(y, d1, d2, d3)
      1.0 2.0 4.0 8.0
      >>> y, (d1, d2) = jet(lambda x, a: a * x**3, (1.0, 5.0), ((1.0, 0.0), zero_series))
      >>> print(y, d1, d2)
      5.0 15.0 30.0
    Source: JAX documentation, `jax.experimental.jet`; Griewank & Walther, Evaluating Derivatives
      (2008), chapter 13.
    """
    check_callable(fun, "jet")
    for what, x in (("primals", primals), ("series", series)):
        if not isinstance(x, (tuple, list)):
            raise TypeError(
                f"jet: expected {what} to be a tuple, with an entry for each argument of the "
                f"function; got {type(x).__name__}\n  fix: jet(f, (x,), ((dx, ddx),))"
            )
    if len(primals) != len(series):
        raise ValueError(
            f"jet: expected a series for each of {len(primals)} primals; got {len(series)}"
        )
    order = common_order(series)
    flat = FlatFunction("jet", fun, tuple(primals))
    scale = [1 if factorial_scaled else math.factorial(k) for k in range(1, order + 1)]
    terms = leaf_series(primals, series, order, flat)
    terms = [[None if t is None else scaled(t, c) for t, c in zip(ts, scale, strict=True)]
             for ts in terms]  # fmt: skip
    paths = jet_values(flat, flat.values, terms, order)
    result: list[list[Any]] = []
    for value, *derivatives in paths:
        zero = zeros(value.aval.strong())
        result.append(
            [zero if d is None else scaled(d, c, True)
             for d, c in zip(derivatives, scale, strict=True)]
        )  # fmt: skip
    return flat.unflatten([p[0] for p in paths]), flat.out_tree.unflatten(result)


def scaled(x: Any, factor: int, back: bool = False) -> Any:
    """A term multiplied by a factorial, or divided by it."""
    if factor == 1:
        return x
    return x / factor if back else x * factor


def common_order(series: Sequence[Any]) -> int:
    """The number of terms, which must be the same for all arguments."""
    lengths = [(i, len(s)) for i, s in enumerate(series) if not isinstance(s, ZeroSeries)]
    if not lengths:
        raise ValueError(
            "jet: no argument has a series, so that the order is unknown\n"
            "  fix: pass derivatives for one of them at least: jet(f, (x,), ((dx, ddx),))"
        )
    first, order = lengths[0]
    for i, length in lengths:
        if length != order:
            raise ValueError(
                f"jet: expected series of one length; got {order} terms for argument {first} and "
                f"{length} for argument {i}"
            )
    if order == 0:
        raise ValueError(f"jet: expected one term at least in the series of argument {first}")
    return order


def leaf_series(
    primals: Sequence[PyTree], series: Sequence[Any], order: int, flat: FlatFunction
) -> list[list[Any]]:
    """The derivatives of each array in the arguments."""
    columns_of_leaves: list[list[Any]] = []
    paths = flat.paths()
    for i, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        tree = tree_structure(primal)
        at = len(columns_of_leaves)
        avals = flat.avals[at : at + tree.num_leaves]
        if isinstance(terms, ZeroSeries):
            columns_of_leaves += [[None] * order for _ in avals]
            continue
        columns: list[list[Any]] = []
        for k, term in enumerate(terms, 1):
            leaves, term_tree = tree_flatten(term)
            if term_tree != tree:
                raise ShapeError(
                    f"jet: term {k} of the series of argument {i} must have the structure of the "
                    f"argument, {tree}; got {term_tree}"
                )
            names = paths[at : at + tree.num_leaves]
            columns.append(
                [term_like(a, x, k, name) for a, x, name in zip(avals, leaves, names, strict=True)]
            )
        columns_of_leaves += [list(column) for column in zip(*columns, strict=True)]
    return columns_of_leaves


def term_like(aval: Aval, leaf: Any, k: int, name: str) -> Any:
    """A term of a series as a value of the argument's shape and dtype; `None` for integer
    arguments."""
    is_float0 = getattr(leaf, "dtype", None) == dtypes.float0
    term = as_value(np.zeros(leaf.shape, bool) if is_float0 else leaf)
    if not aval.inexact:
        concrete = term.concrete()  # the value of a traced term is unknown
        if concrete is not None and np.any(np.asarray(concrete)):
            raise ShapeError(
                f"jet: {name} is {aval}, which has no derivative; got term {k} of its series, "
                "which is not zero\n"
                "  fix: pass a float (1.0 instead of 1), or zeros or zero_series for an argument "
                "that stays"
            )
    if term.aval.shape != aval.shape:
        raise ShapeError(
            f"jet: term {k} of the series of {name} must be like it, {aval}; got {term.aval}"
        )
    if not aval.inexact:
        return None
    if dtypes.is_complex(term.aval.dtype) and not dtypes.is_complex(aval.dtype):
        raise ShapeError(
            f"jet: term {k} of the series of {name} must be real, like {aval}; got {term.aval}"
        )
    if term.aval.dtype == np.dtype(aval.dtype) and not term.aval.weak_type:
        return term
    return convert_element_type(term, dtype=aval.dtype)
