"""Equal programs are one; programs that differ in a number, its sign or its type are not."""

import gc
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.programs.hash_consing import MOST_KINDS, ProgramTable


def scaled(factor):
    """The numbers 1 and 2 times a factor, by a loop whose code is the same for every factor."""
    return lax.scan(lambda c, x: (c, x * factor), 0.0, np.array([1.0, 2.0]))[1]


def test_zeros_of_either_sign_are_different_numbers():
    for factor in (0.0, -0.0, 0.0, -0.0):
        assert onp.signbit(onp.asarray(scaled(factor))).tolist() == [bool(onp.signbit(factor))] * 2


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
    used = [table.variants(("used", i)) for i in range(uses)]
    for i in range(3 * MOST_KINDS):
        table.variants(i)
        assert [table.variants(("used", i)) for i in range(uses)] == used
    assert len(table.kinds) <= MOST_KINDS


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
