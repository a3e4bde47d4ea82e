"""Scans backwards: the transposition of a scan whose body is linear in some of its inputs.

The cotangents of the carry are the carry of a scan in the other direction; those of constants are
summed in its carry, and those of slices are its stacks.
"""

from collections.abc import Sequence
from typing import Any

from ..compiler.dead_code import live_equations
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var, run
from ..core.trace import current
from ..interpreters.dependence import dependents, separated
from ..interpreters.stage import stage
from ..primitives.structural import add, zeros
from .jaxprs import (
    active,
    depends,
    divided,
    inactive,
    settled,
    settled_by,
    spread,
    transpose_jaxpr,
)
from .scan import apply_scan, given, instantiated, scan


@scan.transpose
def _(
    cts: Any, *args: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, reverse: bool, **rest: Any
) -> Any:
    nc, nk = num_consts, num_carry
    linear = tuple(type(a) is Aval for a in args)
    reached = settled_by(linear, nc, nk, lambda m: depends(jaxpr, m))
    moving = reached[nc : nc + nk]
    if not all(moving):
        body, operands, given_cts = with_linear_carry(
            cts, args, jaxpr, nc, nk, reached, reverse=reverse, **rest
        )
        results = iter(back(given_cts, operands, body, nc, sum(moving), reverse=reverse, **rest))
        here = [*[True] * nc, *moving, *[True] * (len(linear) - nc - nk)]
        return [next(results) if h else None for h in here]
    return back(cts, args, jaxpr, nc, nk, reverse=reverse, **rest)


def back(
    cts: Any, args: Any, jaxpr: Jaxpr, nc: int, nk: int, *, reverse: bool, length: int, unroll: int
) -> list[Any]:
    """A cotangent or `None` for each argument; all of the carry are linear.

    An initial carry that isn't to get a cotangent is zero: the loop is linear.
    """
    lin_consts, lin_carry, lin_xs = divided([type(a) is Aval for a in args], nc, nk)
    linear = (*lin_consts, *[True] * nk, *lin_xs)
    known = tuple(ct is not None for ct in cts)

    def transposed(known: Any) -> Any:
        found, nonzero = transpose_jaxpr(jaxpr, linear, known)
        return found, nonzero, nonzero[nc : nc + nk]

    known, (_, nonzero, _) = settled(
        known, 0, nk, lambda k: reached_back(jaxpr, linear, k)[nc : nc + nk], transposed
    )
    carry_known = known[:nk]
    nonzero = (*nonzero[:nc], *carry_known, *nonzero[nc + nk :])
    body, _ = transpose_jaxpr(jaxpr, linear, known, nonzero)
    z_consts, _, z_xs = divided(nonzero, nc, nk)
    in_consts, _, in_xs = divided(jaxpr.in_avals, nc, nk)
    known_consts, known_xs = inactive(in_consts, lin_consts), inactive(in_xs, lin_xs)
    n_ct = sum(carry_known)
    n_sums = sum(z_consts)
    out_avals = [a.strong() for a in active(jaxpr.out_avals, known)]

    def step(*xs: Any) -> list[Any]:
        consts, cts, sums, residuals, ct_ys = divided(
            xs, len(known_consts), n_ct, n_sums, len(known_xs)
        )
        results = run(body, [*consts, *residuals, *cts, *ct_ys], current.trace)
        more, cts, ct_xs = divided(results, n_sums, n_ct)
        return [*cts, *[add(s, m) for s, m in zip(sums, more, strict=True)], *ct_xs]

    sum_avals = [a.strong() for a in active(in_consts, z_consts)]
    avals = [*known_consts, *out_avals[:n_ct], *sum_avals, *known_xs, *out_avals[n_ct:]]
    key = ("transposed step", linear, known)
    if key not in jaxpr.cache:
        jaxpr.cache[key] = stage(step, avals, name=jaxpr.name + "_t")
    ct_carry, ct_ys = divided(cts, nk)
    ct_carry = instantiated(ct_carry, carry_known, jaxpr.out_avals[:nk])
    consts, _, xs = divided(args, nc, nk)
    outs = apply_scan(
        jaxpr.cache[key],
        inactive(consts, lin_consts),
        [*given(ct_carry), *[zeros(a) for a in sum_avals]],
        [*inactive(xs, lin_xs), *given(ct_ys)],
        length=length,
        reverse=not reverse,
        unroll=unroll,
    )
    cts_out, sums, ct_xs = divided(outs, n_ct, n_sums)
    first = [
        ct if wanted else None
        for ct, wanted in zip(spread(cts_out, carry_known), lin_carry, strict=True)
    ]
    return [*spread(sums, z_consts), *first, *spread(ct_xs, z_xs)]


def reached_back(jaxpr: Jaxpr, linear: Sequence[bool], known: Sequence[bool]) -> list[bool]:
    """Which linear inputs the known outputs depend on: they get a cotangent."""
    through = dependents(jaxpr, linear)
    wanted = {v for v, k in zip(jaxpr.outvars, known, strict=True) if k and type(v) is Var}
    live_equations(
        [e for e in jaxpr.equations if not through.isdisjoint(e.outvars)], wanted, effects=False
    )
    return [m and v in wanted for v, m in zip(jaxpr.invars, linear, strict=True)]


def with_linear_carry(
    cts: Any,
    args: Any,
    jaxpr: Jaxpr,
    nc: int,
    nk: int,
    reached: Sequence[bool],
    **rest: Any,
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """The same scan without the carry that isn't linear, a counter say: that is run forwards
    first, and what the linear part needs of it comes in as slices.

    Returns: the body, arguments and cotangents of such a scan.
    """
    jaxpr = separated(jaxpr, reached)
    through = dependents(jaxpr, reached)
    in_consts, in_carry, in_xs = divided(jaxpr.invars, nc, nk)
    moving = reached[nc : nc + nk]
    counted = set(inactive(in_carry, moving))
    for e in jaxpr.equations:
        if through.isdisjoint(e.outvars) and any(type(v) is Var and v in counted for v in e.inputs):
            counted.update(e.outvars)
    linear_equations = [e for e in jaxpr.equations if counted.isdisjoint(e.outvars)]
    outvars = [*active(jaxpr.outvars[:nk], moving), *jaxpr.outvars[nk:]]
    ct_carry, ct_ys = divided(cts, nk)
    ct_ys = [
        ct if type(v) is Var and v in through else None
        for v, ct in zip(jaxpr.outvars[nk:], ct_ys, strict=True)
    ]
    needed = dict.fromkeys(
        v
        for v in (*[v for e in linear_equations for v in e.inputs], *outvars)
        if type(v) is Var and v in counted
    )
    counters = inactive(jaxpr.outvars[:nk], moving)
    wanted = {v for v in (*counters, *needed) if type(v) is Var}
    equations = live_equations(
        [e for e in jaxpr.equations if through.isdisjoint(e.outvars)], wanted, effects=False
    )
    consts, carry, xs = divided(args, nc, nk)
    known_consts = [type(a) is not Aval for a in consts]
    known_xs = [type(a) is not Aval for a in xs]
    forward = Jaxpr(
        [],
        [],
        [*active(in_consts, known_consts), *inactive(in_carry, moving), *active(in_xs, known_xs)],
        equations,
        [*counters, *needed],
        jaxpr.name,
    )
    outs = apply_scan(
        forward, active(consts, known_consts), inactive(carry, moving), active(xs, known_xs), **rest
    )
    stacks = outs[len(counters) :]
    body = Jaxpr(
        [],
        [],
        [*in_consts, *active(in_carry, moving), *in_xs, *needed],
        linear_equations,
        outvars,
        jaxpr.name,
    )
    args = [*consts, *active(carry, moving), *xs, *stacks]
    return body, args, [*active(ct_carry, moving), *ct_ys]
