"""A higher-order primitive of one's own: its rules are the methods of a `ProgramInside`."""

import functools
import gc
import weakref

import numpy as onp
import pytest

import weft
from weft import errors, numpy as np
from weft.compiler.lower import lower_jaxpr
from weft.compiler.simplify import without_dead_code
from weft.core.primitive import HigherOrder, registry
from weft.core.program_inside import ProgramInside
from weft.extend import Shared, aval, current, run, stage
from weft.interpreters.derivative import split_jvp
from weft.programs.transform import batch_partly, jvp_jaxpr


class TwiceRules(ProgramInside):
    """A program that is applied to its own results."""

    linearized = 0  # how often

    def type(self, *avals, jaxpr):
        return jaxpr.out_avals

    def execute(self, args, *, jaxpr):
        return run(jaxpr, run(jaxpr, args, current.base), current.base)

    def lower(self, block, *operands, out, jaxpr):
        return lower_jaxpr(block, jaxpr, lower_jaxpr(block, jaxpr, operands))

    def batch(self, args, batched, axis, *, jaxpr):
        mapped, which = batch_partly(jaxpr, batched, axis)
        outs = twice(*args, jaxpr=mapped)
        return [o if b else Shared(o) for o, b in zip(outs, which, strict=True)]

    def pushforward(self, mask, avals, *, jaxpr):
        pushed, out_mask = jvp_jaxpr(jaxpr, mask)
        return stage(lambda *xs: twice(*xs, jaxpr=pushed), pushed.in_avals), out_mask

    def linearize(self, mask, avals, *, jaxpr):
        self.linearized += 1

        def pushed(trace, primals, tangents):
            one = jvp_jaxpr(jaxpr, mask)[0]
            out, t_out = run(one, run(one, [*primals, *tangents], trace), trace)
            return [out], [t_out]

        return split_jvp(pushed, avals, mask, True, "twice")


rules = TwiceRules()
twice = HigherOrder("test_twice", "Applies a program twice.", rules)
del registry["test_twice"]  # it isn't one of weft's
X = onp.linspace(-1.0, 1.0, 5, dtype="f")
SINE, SLOPE = onp.sin(onp.sin(X)), onp.cos(onp.sin(X)) * onp.cos(X)


def sine_program():
    return stage(lambda x: [np.sin(x)], [aval((), onp.dtype("f"))])


SIN = sine_program()


def f(x):
    return twice(x, jaxpr=SIN)[0]


def each(g):
    return onp.array([g(x) for x in X])


@pytest.mark.parametrize("wrap", [lambda g: g, weft.jit], ids=["eager", "jit"])
def test_values_and_derivatives_in_both_modes(wrap):
    onp.testing.assert_allclose(each(wrap(f)), SINE, rtol=1e-6)
    onp.testing.assert_allclose(each(wrap(lambda x: weft.jvp(f, (x,), (1.0,))[1])), SLOPE, 1e-5)
    onp.testing.assert_allclose(each(wrap(weft.grad(f))), SLOPE, rtol=1e-5)


def test_batch_gets_the_axis():
    onp.testing.assert_allclose(weft.vmap(f)(X), SINE, rtol=1e-6)
    onp.testing.assert_allclose(weft.vmap(weft.grad(f))(X), SLOPE, rtol=1e-5)


def test_a_derivative_is_kept_on_the_program_and_dies_with_it():
    program = sine_program()
    applied = functools.partial(twice, jaxpr=program)
    before = rules.linearized
    for _ in range(3):
        weft.vjp(lambda x: applied(x)[0], 0.5)
    assert rules.linearized == before + 1
    gone = weakref.ref(program)
    program = applied = None
    gc.collect()
    assert gone() is None


def test_without_rules_for_derivatives_there_are_none():
    class AppliedRules(ProgramInside):
        type, execute, lower = TwiceRules.type, TwiceRules.execute, TwiceRules.lower

    primitive = HigherOrder("test_applied", "Applies a program twice.", AppliedRules())
    del registry["test_applied"]
    once = lambda x: primitive(x, jaxpr=SIN)[0]  # noqa: E731
    onp.testing.assert_allclose(once(np.float32(0.5)), onp.sin(onp.sin(0.5)), rtol=1e-6)
    with pytest.raises(errors.MissingRuleError, match="AppliedRules: is not differentiable"):
        weft.grad(once)(0.5)
    with pytest.raises(errors.MissingRuleError, match="AppliedRules: has no forward mode"):
        weft.jvp(once, (0.5,), (1.0,))
    with pytest.raises(errors.MissingRuleError, match=r"test_applied: .* no batch rule"):
        weft.vmap(once)(X)


def test_a_rule_that_is_missing_is_a_statement():
    assert twice.transpose_rule is None
    assert rules.live_equation is rules.partial_eval is rules.depends is None
    with pytest.raises(errors.MissingRuleError, match=r"test_twice: reverse-mode .* transpose"):
        weft.linear_transpose(f, np.float32(1.0))(np.float32(1.0))
    # in one piece: all of its results, and all depend on all
    both = stage(lambda x, y: [np.sin(x), np.cos(y)], [aval((), onp.dtype("f"))] * 2)
    jaxpr = weft.make_jaxpr(lambda x, y: twice(x, y, jaxpr=both)[0])(1.0, 2.0)
    (equation,) = without_dead_code(jaxpr)[0].equations
    assert equation is jaxpr.equations[0]
