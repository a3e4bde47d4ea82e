"""The checker of jaxprs: accepts what weft makes, names what is wrong in others."""

import numpy as np
import pytest

import weft
from weft.config import caches
from weft.core.array import literal
from weft.core.aval import aval
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import Equation, Jaxpr, Var
from weft.errors import InvalidJaxprError
from weft.primitives.arithmetic import mul
from weft.primitives.structural import add, reduce_sum
from weft.primitives.trigonometric import sin

F32 = aval((), np.dtype(np.float32))
VECTOR = aval((3,), np.dtype(np.float32))
I32 = aval((), np.dtype(np.int32))


def var(a=F32):
    return Var(a)


def refused(jaxpr, message):
    with pytest.raises(InvalidJaxprError, match=message) as caught:
        check_jaxpr(jaxpr)
    assert "{ lambda" in str(caught.value)


def test_accepts_what_tracing_makes():
    inner = weft.jit(lambda x: sin(x) * x)
    constant = weft.device_put(np.ones(3, np.float32))
    f = lambda x: reduce_sum(inner(x) * constant, axes=(0,)) + 1.0  # noqa: E731
    for g in (f, weft.grad(f), weft.hessian(f), weft.vmap(lambda x: x * 2)):
        check_jaxpr(weft.make_jaxpr(g)(np.ones(3, np.float32)))
    check_jaxpr(Jaxpr([], [], [], [], []))


def test_use_before_definition():
    x, y, z = var(), var(), var()
    first, second = Equation(sin, [x], (), [y]), Equation(sin, [y], (), [z])
    check_jaxpr(Jaxpr([], [], [x], [first, second], [z]))
    refused(Jaxpr([], [], [x], [second, first], [z]), "equation 0, sin: .* used but not defined")
    refused(Jaxpr([], [], [x], [], [z]), "the results: .* not defined")
    refused(Jaxpr([], [], [], [first], [y]), "equation 0, sin: .* not defined")


def test_double_definition():
    x, y = var(), var()
    e = Equation(sin, [x], (), [y])
    refused(Jaxpr([], [], [x], [e, e], [y]), "equation 1, sin: .* defined twice")
    refused(Jaxpr([], [], [x, x], [], [x]), "the inputs: .* defined twice")
    refused(Jaxpr([], [], [x], [Equation(sin, [x], (), [x])], [x]), "defined twice")


def test_types():
    x, i, v = var(), var(I32), var(VECTOR)
    refused(
        Jaxpr([], [], [x], [Equation(sin, [x], (), [v])], [v]), r"type float32\[\] .*float32\[3\]"
    )
    wrong = Equation(add, [x, i], (), [var()])
    refused(Jaxpr([], [], [x, i], [wrong], []), "equation 0, add: its type rule rejects")
    two = Equation(mul, [x, x], (), [var(), var()])
    with pytest.raises(InvalidJaxprError):
        check_jaxpr(Jaxpr([], [], [x], [two], []))


def test_literals_and_constants():
    x, y = var(), var()
    one = literal(1.0, np.dtype(np.float32))
    check_jaxpr(Jaxpr([], [], [x], [Equation(add, [x, one], (), [y])], [y, one]))
    big = weft.device_put(np.ones(3, np.float32))
    refused(Jaxpr([], [], [x], [], [big]), "neither a variable nor a literal")
    refused(Jaxpr([], [], [x], [], [3.0]), "neither a variable nor a literal")
    refused(Jaxpr([x], [], [], [], []), "1 constant variables have 0 values")
    refused(
        Jaxpr([x], [big], [], [], []), r"constant variable of type float32\[\] has .*float32\[3\]"
    )


def test_programs_inside_are_checked():
    jaxpr = weft.make_jaxpr(weft.jit(lambda x: sin(x) * x))(1.0)
    (equation,) = jaxpr.equations
    inner = dict(equation.params)["jaxpr"]
    headless = inner.replace(equations=inner.equations[1:])
    call = equation.replace(equation.inputs, equation.outvars, jaxpr=headless)
    refused(jaxpr.replace(equations=[call]), "equation 0, mul: .* not defined")
    check_jaxpr(jaxpr)


def test_the_switch_checks_each_stage():
    @weft.jit
    def f(x):
        return sin(x)

    broken = weft.core.primitive.Primitive(
        "broken_for_checking", "A type rule that changes its mind."
    )
    turns = iter([F32, VECTOR, VECTOR, VECTOR])

    @broken.type
    def _(x):
        return next(turns)

    def run():
        caches.here().caches[broken.types].clear()
        return weft.make_jaxpr(lambda x: (broken(x), caches.here().caches[broken.types].clear()))(
            np.float32(1.0)
        )

    run()
    turns = iter([F32, VECTOR, VECTOR, VECTOR])
    with (
        weft.config.temporarily(enable_checks=True),
        pytest.raises(InvalidJaxprError, match="broken"),
    ):
        run()
    del weft.core.primitive.registry["broken_for_checking"]
    with weft.config.temporarily(enable_checks=True):
        assert float(weft.grad(f)(0.0)) == 1.0


# --- what rules give ---


def negated(name, **wrong):
    """A primitive, -x, with a rule that gives something else."""
    p = weft.core.primitive.Primitive(name, "-x; one of its rules is wrong.", host="always")
    rules = {
        "type": lambda x: x,
        "evaluate": lambda x: -x,
        "lower": lambda block, x, out: block.elementwise("negate", (x,), out),
        "jvp": lambda primals, tangents, out: p(tangents[0]),
        "transpose": lambda ct, x: (p(ct),),
        "batch": lambda args, batched, size: p(args[0]),
    }
    for rule, function in {**rules, **wrong}.items():
        p._define(rule, function)
    return p


X = np.ones(3, np.float32)
WRONG_RULES = {
    "evaluate": (lambda x: x[:2], lambda p: p(X), "evaluate or lower rule must give float32[3]"),
    "evaluate's dtype": (lambda x: x * 0.5j, lambda p: p(X), "must give float32[3].* complex64"),
    "lower": (
        lambda block, x, out: block.full(0.5, VECTOR.update(shape=(2,))),
        lambda p: weft.jit(lambda x: p(x))(X),
        "result 0 of its lower rule must be float32[3]; got float32[2]",
    ),
    "jvp": (
        lambda primals, tangents, out: tangents[0][:2],
        lambda p: weft.jvp(p, (X,), (X,)),
        "its jvp rule must give a tangent like the output, float32[3]; got float32[2]",
    ),
    "transpose": (
        lambda ct, x: (ct[:2],),
        lambda p: weft.grad(lambda x: p(x).sum())(X),
        "result 0 of its transpose rule must be float32[3]; got float32[2]",
    ),
    "batch": (
        lambda args, batched, size: args[0][:, :1],
        lambda p: weft.vmap(p)(X[None]),
        "result 0 of its batch rule must be float32[3]; got float32[1]",
    ),
}


@pytest.mark.parametrize("case", WRONG_RULES)
def test_the_switch_checks_what_rules_give(case):
    function, run, expected = WRONG_RULES[case]
    rule = case.partition("'")[0]
    name = f"negated_for_checking_{rule}_{len(case)}"
    try:
        broken, sound = negated(name, **{rule: function}), negated(name + "_sound")
        with weft.enable_checks(True):
            run(sound)
            with pytest.raises((InvalidJaxprError, TypeError)) as caught:
                run(broken)
        text = str(caught.value)
        assert text.startswith(f"{name}: ")
        for part in expected.split(".* "):
            assert part in text
    finally:
        for made in (name, name + "_sound"):
            weft.core.primitive.registry.pop(made, None)


def test_programs_are_checked_after_each_pass(monkeypatch):
    """A pass that loses an equation is named."""
    from weft.compiler import lowered

    sound = lowered.without_dead_code

    def forgetful(jaxpr):
        lean, used = sound(jaxpr)
        return Jaxpr([], [], lean.invars, lean.equations[1:], lean.outvars, lean.name), used

    f = weft.jit(lambda x: sin(sin(x)))
    monkeypatch.setattr(lowered, "without_dead_code", forgetful)
    with (
        weft.enable_checks(True),
        pytest.raises(InvalidJaxprError, match="not defined before; after dead code elimination"),
    ):
        f(1.0)
