"""Makers of special functions: `special`, `specials` and `by_formula`.

The functions are in `error_functions.py`, `gamma_functions.py`, `bessel_functions.py`, …"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from .elementwise import nary, unary
from .formulas import Formula, evaluated, lowered, lowered_in_wider
from .rule_types import Host, Kernel


def elementwise(function: Callable[[float], float]) -> Kernel:
    """An evaluate rule that calls a Python function for each element."""
    elementwise_function = np.frompyfunc(function, 1, 1)

    def rule(x: Host) -> Host:
        out = elementwise_function(np.asarray(x).astype(np.float64))
        return np.asarray(out, np.float64).astype(x.dtype)

    return rule


def undefined(name: str, argument: str) -> Rule:
    """The rule for an argument whose derivative is not implemented."""

    def rule(*_: Value) -> Value:
        raise NotImplementedError(
            f"{name}: the derivative with respect to {argument} is not implemented\n"
            f"  fix: lax.stop_gradient around {argument}"
        )

    return rule


def special(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of one real number. By default it is lowered to CHLO's operation with that name.
    XLA computes it, unless a class of cost is given."""
    return _special(unary, name, doc, **rules)


def specials(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of several real numbers: see `special`."""
    return _special(nary, name, doc, **rules)


def _special(make: Callable[..., Primitive], name: str, doc: str, **rules: Any) -> Primitive:
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    # Even for one element a compiled program is faster than a Python function. NumPy computes only
    # if the switch `eager_tier` pins it, as a reference.
    rules.setdefault("host", "never")
    return make(
        name, doc, stablehlo=lower, accepts="float",
        evaluate_in=dict.fromkeys(dtypes.SMALL_FLOATS, rules["evaluate"]), **rules,
    )  # fmt: skip


def by_formula(name: str, doc: str, formula: Formula, jvp: Rule | Sequence[Rule]) -> Primitive:
    """A function given by one formula, for both tiers.

    Args:
      jvp: as in `unary`, or for a function of several numbers as in `nary`.
    """
    rules = {"evaluate": evaluated(formula), "stablehlo": lowered(formula), "jvp": jvp}
    return special(name, doc, **rules) if callable(jvp) else specials(name, doc, **rules)
