"""Checks that a jaxpr is well formed, after each stage under the switch `enable_checks`.

Variables must be defined once and before they are used, and types must agree with the type rules.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from .. import errors
from .jaxpr import Equation, Jaxpr, Var, subjaxprs


def check_jaxpr(jaxpr: Jaxpr, after: str = "") -> None:
    """Raises InvalidJaxprError if the program, or one inside it, is malformed.

    Args:
      after: the pass or transformation that made the program, for the message.
    """
    try:
        _check(jaxpr)
    except _Wrong as wrong:
        raise errors.InvalidJaxprError(
            f"check_jaxpr: {wrong}; {f'after {after}, ' if after else ''}in\n{jaxpr}\n"
            "  fix: a program that weft made itself is a bug in weft, or in the type rule of the "
            "primitive named"
        ) from None


def check_results(
    name: str, rule: str, results: Sequence[Any], avals: Sequence[Any], inputs: Any = ()
) -> None:
    """Raises InvalidJaxprError if a rule's results have other types than expected; `None` passes.

    Args:
      name, rule: the primitive and its rule, for the message.
      results: values, or anything with an aval.
      avals: the expected types.
      inputs: the avals that the rule was called with, for the message.
    """
    after = f"; its inputs: {', '.join(map(str, inputs))}" if inputs else ""
    if len(results) != len(avals):
        raise errors.InvalidJaxprError(
            f"{name}: its {rule} rule must give {len(avals)} results; got {len(results)}{after}"
        )
    for i, (x, a) in enumerate(zip(results, avals, strict=True)):
        if x is not None and (x.aval.shape, x.aval.dtype) != (a.shape, a.dtype):
            raise errors.InvalidJaxprError(
                f"{name}: result {i} of its {rule} rule must be {a.strong()}; got "
                f"{x.aval}{after}\n  fix: the {rule} rule of {name}, or its type rule"
            )


class _Wrong(Exception):
    """A description of the fault, in words."""


def _check(jaxpr: Jaxpr) -> None:
    if len(jaxpr.constvars) != len(jaxpr.consts):
        raise _Wrong(f"{len(jaxpr.constvars)} constant variables have {len(jaxpr.consts)} values")
    for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        if (v.aval.shape, v.aval.dtype) != (c.aval.shape, c.aval.dtype):
            raise _Wrong(f"a constant variable of type {v.aval} has a value of type {c.aval}")
    defined: set[Var] = set()
    _define(defined, [*jaxpr.constvars, *jaxpr.invars], "the inputs")
    for number, e in enumerate(jaxpr.equations):
        where = f"equation {number}, {e.primitive}"
        _use(defined, e.inputs, where)
        _check_types(e, where)
        for inner in subjaxprs(e.params):
            if inner.constvars:
                raise _Wrong(f"{where}: a jaxpr inside has constants, which should be operands")
            _check(inner)
        _define(defined, e.outvars, where)
    _use(defined, jaxpr.outvars, "the results")


def _define(defined: set[Var], variables: Iterable[Var], where: str) -> None:
    for v in variables:
        if type(v) is not Var:
            raise _Wrong(f"{where}: {v!r} is defined, but is not a variable")
        if v in defined:
            raise _Wrong(f"{where}: {v} is defined twice")
        defined.add(v)


def _use(defined: set[Var], atoms: Iterable[Any], where: str) -> None:
    for v in atoms:
        if type(v) is Var:
            if v not in defined:
                raise _Wrong(f"{where}: {v} is used but not defined before")
        elif not hasattr(v, "host") or v.aval.ndim:
            raise _Wrong(
                f"{where}: {v!r} is neither a variable nor a literal (an array without axes)"
            )


def _check_types(e: Equation, where: str) -> None:
    try:
        out = e.primitive.out(e.inputs, e.params)
    except (TypeError, ValueError) as error:
        raise _Wrong(f"{where}: its type rule rejects the inputs: {error}") from None
    outs = out if e.primitive.multiple else (out,)
    if len(outs) != len(e.outvars):
        raise _Wrong(f"{where}: {len(outs)} outputs have {len(e.outvars)} variables")
    for v, a in zip(e.outvars, outs, strict=True):
        # weak types may differ: a derivative made for strong tangents serves weak ones too
        if (v.aval.shape, v.aval.dtype) != (a.shape, a.dtype):
            raise _Wrong(f"{where}: a result of type {a} has a variable of type {v.aval}")
