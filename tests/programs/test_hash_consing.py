"""Equal programs are one; programs that differ in a number, its sign or its type are not."""

import gc
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.jaxpr import Jaxpr
from weft.programs import hash_consing
from weft.programs.hash_consing import MAX_PROGRAMS, ProgramTable


def scaled(factor):
    """The numbers 1 and 2 times a factor, by a loop whose code is the same for every factor."""
    return lax.scan(lambda c, x: (c, x * factor), 0.0, np.array([1.0, 2.0]))[1]


def test_zeros_of_either_sign_are_different_numbers():
    for factor in (0.0, -0.0, 0.0, -0.0):
        assert onp.signbit(onp.asarray(scaled(factor))).tolist() == [bool(onp.signbit(factor))] * 2


@pytest.mark.parametrize("transform", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_zeros_of_either_sign_meet(transform):
    ones = np.ones(2)
    in_one = lambda: lax.map(lambda x: (x * 0.0, x * -0.0), ones)  # noqa: E731
    in_two = lambda: (lax.map(lambda x: x * 0.0, ones), lax.map(lambda x: x * -0.0, ones))  # noqa: E731
    for f in (in_one, in_two):
        signs = [onp.signbit(onp.asarray(y)).tolist() for y in transform(f)()]
        assert signs == [[False, False], [True, True]]


def test_a_factor_may_be_nan():
    for factor in (float("nan"), 1.0, float("nan")):
        onp.testing.assert_array_equal(scaled(factor), [factor, 2 * factor])


def test_of_two_numbers_one_or_both_change():
    for a, b in [(1.0, 5.0), (2.0, 5.0), (3.0, 6.0), (4.0, 5.0), (4.0, 7.0), (1.0, 5.0)]:
        ys = lax.scan(lambda c, x: (c, x * a + b), 0.0, np.array([1.0, 2.0]))[1]  # noqa: B023
        onp.testing.assert_array_equal(ys, [a + b, 2 * a + b])


def test_numbers_of_different_types_are_different():
    for factor, dtype in [(2, "int32"), (2.0, "float32"), (2, "int32"), (2.0, "float32")]:
        ys = lax.scan(lambda c, x: (c, x * factor), 0, np.array([1, 2]))[1]  # noqa: B023
        assert ys.dtype == dtype
        onp.testing.assert_array_equal(ys, [2, 4])


@pytest.mark.parametrize("uses", [1, 3])
def test_programs_in_use_stay_in_a_full_table(uses):
    table = ProgramTable()
    used = [weakref.ref(table.find(named("used", i), True)) for i in range(uses)]
    for i in range(3 * MAX_PROGRAMS):
        table.find(named("other", i), True)
        for n, program in enumerate(used):
            assert program() is table.find(named("used", n), True)
    gc.collect()
    assert len(table.used) == len(table.alive) == MAX_PROGRAMS


def test_a_program_that_is_not_kept_lives_as_long_as_its_user():
    table = ProgramTable()
    program = table.find(named("part", 0), False)
    assert table.find(named("part", 0), False) is program
    del program
    gc.collect()
    assert not table.alive


def named(name, i):
    """An empty program with a name."""
    return Jaxpr([], [], [], [], [], f"{name} {i}")


def test_a_number_rounds_alike_however_many_came_before():
    """A closed-over number gives the bits of a closed-over array, at first and later."""
    x = np.linspace(0.1, 2.0, 1000)

    def decayed(rate):
        return lax.scan(lambda c, _: (np.exp(c / rate) / rate, None), x, None, length=3)[0]

    for rate in (3.0, 5.0, 7.0, 9.0, 3.0):
        onp.testing.assert_array_equal(decayed(rate), decayed(np.array(rate)))


def test_programs_of_choices_die_with_those_that_they_share_branches_with(monkeypatch):
    """A branch that all have in common keeps nothing of those whose other branch is gone."""
    monkeypatch.setattr(hash_consing, "MAX_PROGRAMS", 5)

    def use(n):
        power = lambda x: x ** (n + 3)  # noqa: E731
        same = lambda x: x + 1.0  # noqa: E731
        weft.grad(lambda x: lax.cond(x > 0, power, same, x))(1.0)
        weft.grad(lambda x: lax.cond(x > 0, same, power, x))(1.0)
        loop = lambda x: lax.while_loop(lambda i: i[0] < n, lambda i: (i[0] + 1, i[1] * x), (0, x))  # noqa: E731
        weft.jvp(loop, (2.0,), (1.0,))

    def programs():
        gc.collect()
        return sum(type(o) is Jaxpr for o in gc.get_objects())

    for n in range(10):
        use(n)
    before = programs()
    for n in range(10, 40):
        use(n)
    assert programs() - before < 100  # a few for the rules of each new power are kept elsewhere


def rule(factor):
    """A function with a derivative rule that closes over its factor."""

    @weft.custom_jvp
    def f(x):
        return x * factor

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * factor))
    return f


@pytest.mark.parametrize("lasting_first", [False, True])
def test_a_program_with_two_rules_dies_with_the_later_one(lasting_first):
    lasting = rule(2.0)
    lax.scan(lambda c, _: (lasting(c), None), 1.0, None, length=2)

    def used():
        fresh = rule(3.0)
        f, g = (lasting, fresh) if lasting_first else (fresh, lasting)
        loop = lambda x: lax.scan(lambda c, _: (f(g(c)), None), x, None, length=2)[0]  # noqa: E731
        assert float(loop(1.0)) == float(weft.grad(loop)(1.0)) == 36
        return weakref.ref(fresh)

    reference = used()
    gc.collect()
    assert reference() is None
    assert float(lasting(1.0)) == 2
