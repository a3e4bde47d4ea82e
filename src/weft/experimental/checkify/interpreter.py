"""Converts a program to one that returns an error with its outputs.

An error is a code (the number of the first check that failed, or -1) and a payload. An inner
program returns its own error, which is merged into the error of the outer program. So each inner
program is transformed once, wherever it is used.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as onp

from ...compiler.simplify import jaxpr_has_effects, without_effects
from ...core.array import as_value
from ...core.aval import Aval
from ...core.caching import cached_on_program
from ...core.jaxpr import Equation, Jaxpr, Var, run, subjaxprs
from ...core.masks import groups_of
from ...core.primitive import Primitive
from ...core.trace import current
from ...core.value import Value
from ...higher_order.call import call, call_jaxpr
from ...higher_order.checkpoint import checkpoint_call
from ...higher_order.cond import apply_cond, cond
from ...higher_order.custom_jvp import custom_jvp_call
from ...higher_order.custom_vjp import custom_vjp_call
from ...higher_order.custom_vmap import custom_vmap_call
from ...higher_order.scan import ScanParams, apply_scan, scan
from ...higher_order.while_loop import WhileParams, apply_while, while_loop
from ...interpreters.stage import stage
from ...primitives.arithmetic import min_
from ...primitives.bitwise import bitwise_and
from ...primitives.comparison import eq, ge, lt
from ...primitives.creation import zeros
from ...primitives.dynamic_slicing import dynamic_slice
from ...primitives.reductions import argmax, reduce_min, reduce_or
from ...primitives.selection import stop_gradient, where
from ...primitives.structural import add, convert_element_type, reshape
from ...tree_util import tree_flatten
from ...user_lines import noted
from .primitive import NONE, check_p
from .rules import Check, checks_before, nan_check
from .values import ErrorCategory, FailedCheckError, Layout, NaNError, Site

Kinds = frozenset[ErrorCategory]


class Checked(NamedTuple):
    """A program that also returns an error.

    Attributes:
      jaxpr: inputs -> (outputs, code, payload).
      sites: the places that can fail, by code.
      slots: the avals of the payload.
    """

    jaxpr: Jaxpr
    sites: tuple[Site, ...]
    slots: tuple[Aval, ...]


NO_FAILURE = onp.int32(2**31 - 1)  # above the number of every check


class State:
    """The first error of a program while it is interpreted.

    Sites are numbered in program order, so the first failure has the smallest number.

    Attributes:
      first: the smallest number of a failed check, or `NO_FAILURE`.
      payload: the values of the site's message, if it has any.
      waiting: for sites without values, the smallest number for each element, by shape. XLA fuses
        these with the checked operations. One reduction for each site would be a kernel of its own,
        and compile time would be several times longer.
    """

    def __init__(self) -> None:
        self.layout = Layout()
        self.first: Value = as_value(NO_FAILURE)
        self.payload: list[Value] = []
        self.waiting: dict[tuple[int, ...], Value] = {}

    @property
    def code(self) -> Value:
        """The number of the first site that failed; -1 if none failed."""
        for numbers in self.waiting.values():
            axes = tuple(range(numbers.ndim))
            self.first = min_(self.first, reduce_min(numbers, axes=axes) if axes else numbers)
        self.waiting.clear()
        none = eq(self.first, as_value(NO_FAILURE))
        result: Value = where(none, as_value(NONE), self.first)
        return result

    def merge(
        self, code: Value, payload: Sequence[Value], sites: Sequence[Site], slots: Sequence[Aval]
    ) -> None:
        """Merges the error of a later part of the program, with its own sites and slots."""
        offset, mapping = self.layout.add(sites, slots)
        self.payload += [zeros(a) for a in self.layout.slots[len(self.payload) :]]
        failed = ge(code, as_value(onp.int32(0)))
        moved = where(failed, add(code, as_value(onp.int32(offset))), as_value(NO_FAILURE))
        if payload:
            new = lt(moved, self.first)
            for at, value in zip(mapping, payload, strict=True):
                self.payload[at] = where(new, stop_gradient(value), self.payload[at])
        self.first = min_(self.first, moved)

    def fail(self, check: Check, place: str) -> None:
        """Adds a check of an operation."""
        if not check.values:
            if check.failed.size:
                shape = check.failed.shape
                number = as_value(onp.int32(len(self.layout.sites)))
                before = self.waiting.get(shape)
                failure = where(check.failed, number, as_value(NO_FAILURE))
                self.waiting[shape] = failure if before is None else min_(before, failure)
                self.layout.sites.append(Site(check.kind, check.message, place))
            return
        tree = tree_flatten((check.values, {}))[1]
        slots = Layout().place([v.aval for v in check.values])
        site = Site(check.kind, check.message, place, tree, tuple(slots))
        payload = [check.values[slots.index(i)] for i in range(len(slots))]
        code = where(any_of(check.failed), as_value(onp.int32(0)), as_value(NONE))
        self.merge(code, payload, [site], [v.aval for v in payload])


def any_of(mask: Value) -> Value:
    """True if any element is true."""
    result: Value = reduce_or(mask, axes=tuple(range(mask.ndim))) if mask.ndim else mask
    return result


@cached_on_program
def checked_jaxpr(jaxpr: Jaxpr, errors: Kinds) -> Checked:
    """The program (without constants) with the enabled checks as a value."""
    state = State()

    def body(*args: Value) -> list[Value]:
        outs = interpret(jaxpr, args, errors, state)
        return [*outs, state.code, *state.payload]

    checked = stage(body, jaxpr.in_avals, name=jaxpr.name)
    return Checked(checked, tuple(state.layout.sites), tuple(state.layout.slots))


def interpret(jaxpr: Jaxpr, args: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """Applies a program under the current trace, and records failures in `state`."""
    env: dict[Var, Value] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for e in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v for v in e.inputs]
        outs = INSIDE.get(e.primitive, apply_operation)(e, inputs, errors, state)
        env.update(zip(e.outvars, outs, strict=True))
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


def place_of(e: Equation) -> str:
    """The user's line of an equation, for messages."""
    if e.source is None:
        return ""
    return f" ({'in the backward pass of ' if e.source.backward else 'at '}{e.source.line})"


def bound(e: Equation, inputs: Sequence[Value]) -> list[Value]:
    """Applies an equation's operation to values."""
    avals = tuple([v.aval for v in e.outvars])
    if e.primitive.multiple:
        return list(current.trace.bind(e.primitive, inputs, e.params, avals))
    return [current.trace.bind(e.primitive, inputs, e.params, avals[0])]


def apply_operation(
    e: Equation, inputs: Sequence[Value], errors: Kinds, state: State
) -> list[Value]:
    """Runs an operation with its automatic checks."""
    if any(map(has_checks, subjaxprs(e.params))):
        raise noted(
            TypeError(
                f"checkify: a check inside {e.primitive} can't become a value of the program "
                f"around it{place_of(e)}\n  fix: checkify the function inside"
            )
        )
    for check in checks_before(e.primitive, inputs, dict(e.params), errors):
        state.fail(check, place_of(e))
    outs = bound(e, inputs)
    if NaNError in errors:
        for check in nan_check(e.primitive, outs):
            state.fail(check, place_of(e))
    return outs


@cached_on_program
def has_checks(jaxpr: Jaxpr) -> bool:
    """True if a program contains a `check`."""
    return any(
        e.primitive is check_p or any(map(has_checks, subjaxprs(e.params)))
        for e in jaxpr.equations
        if e.primitive.effects is not None
    )


def apply_check(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """Records a `check` of the user's. For a batch, the first element that failed counts."""
    sites: tuple[Site, ...] = dict(e.params)["sites"]
    if FailedCheckError not in errors and all(s.kind is FailedCheckError for s in sites):
        return []
    code, *payload = inputs
    batch = code.shape
    if code.size:
        if batch:
            flat = reshape(code, shape=(code.size,))
            failed = ge(flat, as_value(onp.int32(0)))
            first = argmax(failed, axis=0, dtype=onp.dtype(onp.int32))
            code = element(flat, first)
            payload = [
                element(reshape(x, shape=(flat.size, *x.shape[len(batch) :])), first)
                for x in payload
            ]
        state.merge(code, payload, sites, [x.aval for x in payload])
    return []


def element(x: Value, index: Value) -> Value:
    """The element at an index along the first axis."""
    zero = as_value(onp.int32(0))
    starts = [index, *[zero] * (x.ndim - 1)]
    row = dynamic_slice(x, *starts, sizes=(1, *x.shape[1:]))
    result: Value = reshape(row, shape=x.shape[1:])
    return result


# --- inner programs ---


def joined(outs: Sequence[Value], count: int, inner: Checked, state: State) -> list[Value]:
    """The outputs of a checked program. Its error is merged into `state`."""
    results, (code,), payload = groups_of(outs, count, 1)
    state.merge(code, payload, inner.sites, inner.slots)
    return results


def inside_call(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """A call: calls the checked program instead."""
    params = dict(e.params)
    inner = checked_jaxpr(params.pop("jaxpr"), errors)
    if not inner.sites and not has_checks(dict(e.params)["jaxpr"]):
        return bound(e, inputs)
    outs = call_jaxpr(inner.jaxpr, inputs, **params)
    return joined(outs, len(e.outvars), inner, state)


def inside_rules(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """A function with its own rules, or one that is recomputed for its derivative.

    The values come from the function itself, which keeps its rules. The error comes from a copy
    with checks. XLA computes the common parts once.
    """
    params = dict(e.params)
    jaxpr: Jaxpr = params["jaxpr"]
    inner = checked_jaxpr(jaxpr, errors)
    if not inner.sites and not has_checks(jaxpr):
        return bound(e, inputs)
    plain = without_effects(jaxpr)
    if jaxpr_has_effects(plain):
        raise noted(
            TypeError(
                f"checkify: {e.primitive} has a callback with effects inside, whose result it "
                f"needs, and would be called twice{place_of(e)}\n  fix: call it outside"
            )
        )
    outs = bound(e.replace(e.inputs, e.outvars, jaxpr=plain), inputs)
    copy = call_jaxpr(inner.jaxpr, [stop_gradient(x) for x in inputs])
    joined(copy, len(outs), inner, state)
    return outs


def inside_cond(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """A conditional: the error is the error of the branch that runs."""
    options = dict(e.params)
    branches: tuple[Jaxpr, ...] = options.pop("branches")
    inner = [checked_jaxpr(b, errors) for b in branches]
    if not any(c.sites for c in inner) and not any(map(has_checks, branches)):
        return bound(e, inputs)
    layout = Layout()
    places = [layout.add(c.sites, c.slots) for c in inner]
    count = len(e.outvars)

    def uniform(program: Checked, offset: int, mapping: Sequence[int]) -> Jaxpr:
        def branch(*args: Value) -> list[Value]:
            outs = run(program.jaxpr, args, current.trace)
            results, (code,), payload = groups_of(outs, count, 1)
            failed = ge(code, as_value(onp.int32(0)))
            moved = where(failed, add(code, as_value(onp.int32(offset))), code)
            full = [zeros(a) for a in layout.slots]
            for at, value in zip(mapping, payload, strict=True):
                full[at] = value
            results = [with_type(r, v.aval) for r, v in zip(results, e.outvars, strict=True)]
            return [*results, moved, *full]

        return stage(branch, program.jaxpr.in_avals, name=program.jaxpr.name)

    uniforms = [uniform(c, *p) for c, p in zip(inner, places, strict=True)]
    index, *operands = inputs
    outs = apply_cond(uniforms, index, operands, **options)
    results, (code,), payload = groups_of(outs, count, 1)
    state.merge(code, payload, layout.sites, layout.slots)
    return results


def with_type(x: Value, a: Aval) -> Value:
    """The value with the weak type of an aval."""
    if x.aval is a:
        return x
    result: Value = convert_element_type(x, dtype=a.dtype, weak_type=a.weak_type)
    return result


def accumulated(
    inner: Checked, state_values: Sequence[Value], args: Sequence[Value], count: int
) -> tuple[list[Value], list[Value]]:
    """Runs a checked body: returns its outputs, and the earlier error, or its own if there was
    none."""
    before, *payload = state_values
    outs = run(inner.jaxpr, args, current.trace)
    results, (code,), payloads = groups_of(outs, count, 1)
    zero = as_value(onp.int32(0))
    new = bitwise_and(lt(before, zero), ge(code, zero))
    pairs = zip(payload, payloads, strict=True)
    after = [where(new, stop_gradient(x), old) for old, x in pairs]
    return results, [where(new, code, before), *after]


def no_error(slots: Sequence[Aval]) -> list[Value]:
    """The initial error: no failure."""
    return [as_value(NONE), *[zeros(a) for a in slots]]


def inside_scan(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """A loop with a known number of steps. The error is in the carry."""
    params = ScanParams(**dict(e.params))
    inner = checked_jaxpr(params.jaxpr, errors)
    if not inner.sites and not has_checks(params.jaxpr):
        return bound(e, inputs)
    n_error, count = 1 + len(inner.slots), len(params.jaxpr.outvars)

    def step(*args: Value) -> list[Value]:
        consts, error, rest = groups_of(args, params.num_consts, n_error)
        outs, after = accumulated(inner, error, [*consts, *rest], count)
        outs = [with_type(o, v.aval) for o, v in zip(outs, params.jaxpr.outvars, strict=True)]
        return [*after, *outs]

    consts, carry, xs = params.groups(inputs)
    start = no_error(inner.slots)
    avals = params.jaxpr.in_avals
    begin = params.num_consts
    body = stage(
        step,
        [*avals[:begin], *[x.aval for x in start], *avals[begin:]],
        name=params.jaxpr.name,
    )
    outs = apply_scan(body, consts, [*start, *carry], xs, **params.loop)
    (code, *payload), results = groups_of(outs, n_error)
    state.merge(code, payload, inner.sites, inner.slots)
    return results


def inside_while(e: Equation, inputs: Sequence[Value], errors: Kinds, state: State) -> list[Value]:
    """A while loop. The error is in the carry, and the condition is checked after each step."""
    params = WhileParams(**dict(e.params))
    test = checked_jaxpr(params.cond_jaxpr, errors)
    step = checked_step(params.body_jaxpr, tuple(params), errors)
    if not step.sites and not has_checks(params.body_jaxpr) and not has_checks(params.cond_jaxpr):
        return bound(e, inputs)
    cond_consts, consts, carry = params.groups(inputs)
    if test.sites:
        joined(call_jaxpr(test.jaxpr, [*cond_consts, *carry]), 1, test, state)
    plain = without_effects(params.cond_jaxpr)
    start = no_error(step.slots)
    n_cond, n_body = params.cond_nconsts, params.body_nconsts

    def condition(*args: Value) -> list[Value]:
        cond_consts, _, carry = groups_of(args, n_cond, len(start))
        return run(plain, [*cond_consts, *carry], current.trace)

    def body(*args: Value) -> list[Value]:
        consts, error, carry = groups_of(args, n_cond + n_body, len(start))
        outs, after = accumulated(step, error, [*consts, *carry], len(carry))
        return [*after, *outs]

    error_avals, in_avals = [x.aval for x in start], step.jaxpr.in_avals
    carry_avals = in_avals[n_cond + n_body :]
    outs = apply_while(
        stage(condition, [*in_avals[:n_cond], *error_avals, *carry_avals]),
        stage(body, [*in_avals[: n_cond + n_body], *error_avals, *carry_avals]),
        cond_consts,
        [*cond_consts, *consts],
        [*start, *carry],
    )
    (code, *payload), results = groups_of(outs, len(start))
    state.merge(code, payload, step.sites, step.slots)
    return results


@cached_on_program
def checked_step(jaxpr: Jaxpr, loop: tuple[Any, ...], errors: Kinds) -> Checked:
    """(constants of condition and body, carry) -> (carry, error): one step of a loop, and the
    checks of the condition of the next step."""
    params = WhileParams(*loop)
    body, test = checked_jaxpr(jaxpr, errors), checked_jaxpr(params.cond_jaxpr, errors)
    state = State()

    def step(*args: Value) -> list[Value]:
        cond_consts, consts, carry = params.groups(args)
        outs = joined(run(body.jaxpr, [*consts, *carry], current.trace), len(carry), body, state)
        outs = [with_type(o, v.aval) for o, v in zip(outs, jaxpr.outvars, strict=True)]
        joined(run(test.jaxpr, [*cond_consts, *outs], current.trace), 1, test, state)
        return [*outs, state.code, *state.payload]

    avals = [*params.cond_jaxpr.in_avals[: params.cond_nconsts], *jaxpr.in_avals]
    checked = stage(step, avals, name=jaxpr.name)
    return Checked(checked, tuple(state.layout.sites), tuple(state.layout.slots))


INSIDE: dict[Primitive, Callable[..., list[Value]]] = {
    check_p: apply_check,
    call: inside_call,
    cond: inside_cond,
    scan: inside_scan,
    while_loop: inside_while,
    custom_jvp_call: inside_rules,
    custom_vjp_call: inside_rules,
    custom_vmap_call: inside_rules,
    checkpoint_call: inside_rules,
}
