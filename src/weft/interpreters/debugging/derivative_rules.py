"""compare_rule compares a user's derivative rule with finite differences, under
`check_derivatives`.

The rule is compared at the arguments of its first use, or at random arguments if only their types
are known. The function and the rule are computed in float64 if they accept it.

A rule may differ from the derivative on purpose. These are not reported: rules of functions that
return their argument (clipped or reversed gradients), rules of functions that are constant around
the point (straight-through estimators), and cotangents that are `None`.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...config import config
from ...core.array import Array, as_value
from ...core.aval import Aval
from ...core.jaxpr import Jaxpr, subjaxprs
from ...core.primitive import Primitive, is_linear
from ...core.trace import Params, current, under
from ...core.value import Value
from ...errors import DerivativeRuleError
from ...extended_dtypes import is_extended
from ...user_lines import noted
from ..linearize import linearize
from ..stage import stage
from .differences import Host, directions, numbers
from .rule_comparison import (
    NONLINEAR,
    Comparison,
    Fault,
    Rule,
    agree,
    moves,
    norm,
    number_text,
    paired,
    random_ct,
)

UNBOUNDED = ("while_loop", "pure_callback", "io_callback")
"""Operations that may never end."""

QUIET = dict.fromkeys(
    (
        *("check_derivatives", "check_tracer_leaks", "enable_checks", "log_compiles"),
        *("debug_infs", "debug_key_reuse", "debug_lines", "debug_nans"),
    ),
    False,
)


def compare_rule(rule: Rule, args: Sequence[Value], mask: Sequence[bool]) -> None:
    """Compares a rule with finite differences of its function.

    Args:
      args: the arguments of its first use.
      mask: True for the arguments that are differentiated.
    Raises: DerivativeRuleError: the rule is wrong.
    """
    with config.temporarily(**QUIET), np.errstate(all="ignore"):
        fault = under(current.base, first_fault, rule, args, mask)
    if fault is None:
        return
    aval = args[fault.number].aval
    cause = f"\n  {fault.hint}" if fault.hint else ""
    raise noted(
        DerivativeRuleError(
            f"{rule.subject} must give the derivative of the function in "
            f"{rule.argument(fault.number)}, {aval}; {fault.text}{cause}\n"
            f"  fix: correct the rule, or set {rule.remedy} if it differs on purpose"
        )
    )


def first_fault(rule: Rule, args: Sequence[Value], mask: Sequence[bool]) -> Fault | None:
    """The first mistake of a rule, at one of several points."""
    values = [known_value(x) for x in args]
    random, careful = None in values, may_run_on(rule, args, mask)
    if random and careful:
        return None
    for point in points(values, [x.aval for x in args]):
        for x64 in (True, False):
            comparison = None
            with config.temporarily(**({"enable_x64": True} if x64 else {})):
                try:
                    comparison = Comparison(rule, point, mask, x64, random, careful)
                    fault = comparison.fault()
                except Exception:  # the user's function, at arguments that it does not expect
                    continue
            if fault is not None:
                return fault
            break
        if careful or (comparison is not None and comparison.complete and not random):
            return None
    return None


def may_run_on(rule: Rule, args: Sequence[Value], mask: Sequence[bool]) -> bool:
    """True if a function or its rule might not end for other arguments, because it has a
    `while_loop`, calls the host, or reads elements. Then it is compared only close to known
    arguments."""

    def everything(*leaves: Value) -> list[Value]:
        outs, linear = linearize(rule.ruled, leaves, mask=mask)
        cts = [as_value(np.ones(o.shape, o.dtype)) if o.aval.inexact else None for o in outs]
        return [*rule.plain(*leaves), *outs, *(g for g in linear.pull(cts) if g is not None)]

    try:
        return not ends(stage(everything, [x.aval for x in args]))
    except Exception:  # a function that can't be traced or transposed
        return True


def ends(jaxpr: Jaxpr) -> bool:
    """True if all loops of a program have a known length."""
    return all(
        e.primitive.name not in UNBOUNDED and all(map(ends, subjaxprs(e.params)))
        for e in jaxpr.equations
    )


# --- the points of comparison ---


def known_value(x: Value) -> Array | None:
    """The value of an argument; `None` if it is unknown because it is traced."""
    value = x.concrete()
    return value if isinstance(value, Array) else None


def points(values: Sequence[Array | None], avals: Sequence[Aval]) -> Iterator[list[Any]]:
    """Points at which a rule is compared: the values and a point close to them, or random ones."""
    if None not in values:
        hosts = [host_of(x) for x in values]
        yield hosts
        steps = directions(hosts, [i for i, x in enumerate(hosts) if moves(x)], 7)
        yield [
            x if t is None else (numbers(x) + 0.1 * t).astype(x.dtype)
            for x, t in zip(hosts, steps, strict=True)
        ]
        return
    if any(x is None and is_extended(a.dtype) for x, a in zip(values, avals, strict=True)):
        return
    sizes = [n for a in avals for n in a.shape if n > 1]
    for draw in (_normal, _negated, _between_0_and_1):
        generator = np.random.default_rng(0)
        yield [
            random_like(a, generator, draw, min(sizes, default=2)) if x is None else host_of(x)
            for x, a in zip(values, avals, strict=True)
        ]


def host_of(x: Any) -> Any:
    """The elements of an array; arrays of random keys are returned unchanged."""
    return x if is_extended(x.aval.dtype) else np.asarray(x.host())


Draw = Callable[[np.random.Generator, tuple[int, ...]], Host]


def _normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return np.asarray(generator.standard_normal(shape))


def _negated(generator: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return -_normal(generator, shape)


def _between_0_and_1(generator: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return np.asarray(generator.uniform(0.2, 0.8, shape))


def random_like(a: Aval, generator: np.random.Generator, draw: Draw, length: int) -> Host:
    """Random elements. Integers are distinct indices, as far as possible, of an axis of `length`
    elements."""
    if dtypes.is_bool(a.dtype):
        return np.asarray(generator.integers(0, 2, a.shape)).astype(bool)
    if not a.inexact:
        return (np.arange(1, a.size + 1) % length).reshape(a.shape).astype(a.dtype)
    x = draw(generator, a.shape)
    return (x + 1j * draw(generator, a.shape) if dtypes.is_complex(a.dtype) else x).astype(a.dtype)


# --- primitives ---


def compare_transpose(primitive: Primitive, args: Sequence[Any], params: Params) -> None:
    """Compares the transpose rule of a user's primitive with the operation.

    Args:
      args: the arguments of the rule: avals for the linear ones.
    Raises: DerivativeRuleError: the rule is wrong.
    """
    linear = [is_linear(x) for x in args]
    avals = [x if m else x.aval for x, m in zip(args, linear, strict=True)]
    values = [None if m else known_value(x) for x, m in zip(args, linear, strict=True)]
    function = operation_on_leaves(primitive, params)

    def fault() -> Fault | None:
        for point in points(values, avals):
            # the user's rules may not expect these arguments
            with contextlib.suppress(Exception):
                found = transpose_fault(primitive, function, point, linear, params)
                if found is not None:
                    return found
        return None

    with config.temporarily(**QUIET), np.errstate(all="ignore"):
        result = under(current.base, fault)
    if result is not None:
        raise noted(
            DerivativeRuleError(
                f"{primitive}: the transpose rule must give the transpose of the operation in "
                f"argument {result.number}, {avals[result.number]}; {result.text}\n"
                f"  fix: correct the rule, or set {remedy_of(primitive)} if it differs on purpose"
            )
        )


def transpose_fault(
    primitive: Primitive,
    function: Callable[..., list[Value]],
    point: Sequence[Any],
    linear: Sequence[bool],
    params: Params,
) -> Fault | None:
    """The first mistake of a transpose rule, where <ct, L v> differs from <Lᵀ ct, v>; or `None`."""
    leaves = [as_value(x) for x in point]
    cts = [random_ct(o, n) for n, o in enumerate(map(numbers, function(*leaves)))]
    given = [as_value(ct.astype(o.dtype)) for ct, o in zip(cts, function(*leaves), strict=True)]
    inputs = [x.aval if m else x for x, m in zip(leaves, linear, strict=True)]
    assert primitive.transpose_rule is not None
    pulled = primitive.transpose_rule(
        given if primitive.multiple else given[0], *inputs, **dict(params)
    )
    zeros = [
        as_value(np.zeros_like(x)) if m else as_value(x) for x, m in zip(point, linear, strict=True)
    ]
    for i in (i for i, m in enumerate(linear) if m):
        alone = [x if n == i else z for n, (x, z) in enumerate(zip(leaves, zeros, strict=True))]
        outs = list(map(numbers, function(*alone)))
        forward = paired(cts, outs)
        back = 0.0 if pulled[i] is None else paired([numbers(pulled[i])], [numbers(point[i])])
        if not agree(forward, back, NONLINEAR * norm(cts, outs)):
            text = (
                f"for random v, <ct, L v> is {number_text(forward)}, <Lᵀ ct, v> {number_text(back)}"
            )
            return Fault(i, text)
    return None


def compare_primitive(
    primitive: Primitive, args: Sequence[Value], params: Params, mask: Sequence[bool]
) -> None:
    """Compares the jvp rule of a user's primitive with finite differences.

    Raises: DerivativeRuleError: the rule is wrong.
    """
    function = operation_on_leaves(primitive, params)
    subject = f"{primitive}: the jvp rule"
    rule = Rule(subject, function, function, "x{}".format, remedy_of(primitive), True)
    compare_rule(rule, args, mask)


def remedy_of(primitive: Primitive) -> str:
    """The setting that turns off the comparison of a primitive."""
    return f"check_derivatives = False on the primitive {primitive}"


def operation_on_leaves(primitive: Primitive, params: Params) -> Callable[..., list[Value]]:
    """The operation as a function from leaves to a list of outputs."""

    def function(*leaves: Value) -> list[Value]:
        out = current.trace.bind(primitive, leaves, params)
        return list(out) if primitive.multiple else [out]

    return function
