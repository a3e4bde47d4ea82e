"""What is derived from a program: computed once for each argument, kept on it, gone with it."""

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import weft
from weft.core.caching import MAX_CACHED_RESULTS, cached_on_program, exact


class Program:
    def __init__(self):
        self.cached_results = {}


class Result:
    """An object that a weak reference can follow."""


def test_a_result_is_computed_once_for_each_argument():
    calls = []

    @cached_on_program
    def scaled(program, factor):
        """The program, scaled."""
        calls.append(factor)
        return factor * 2

    one, other = Program(), Program()
    assert [scaled(one, 1), scaled(one, 2), scaled(one, 1), scaled(other, 1)] == [2, 4, 2, 2]
    assert calls == [1, 2, 1]
    assert scaled.__doc__ == "The program, scaled."


DIFFERENT = [
    [1, 1.0, True, 1 + 0j, np.float32(1), np.float64(1), np.int32(1), "1", "1.0", None],
    [0.0, -0.0, 0, False, 0j, complex(-0.0, 0.0), np.float32(0), np.float32(-0.0)],
    [(1,), (1.0,), (True,), ((1,),), (1, 1), frozenset([1]), frozenset([1.0]), frozenset([True])],
    [("a", (1, 0.0)), ("a", (1, -0.0)), ("a", (True, 0.0)), (float, "1.0"), (1.0,)],
]  # fmt: skip


@pytest.mark.parametrize("values", DIFFERENT)
def test_values_that_mean_different_things_are_different_keys(values):
    assert len({exact(x) for x in values}) == len(values)


@pytest.mark.parametrize("values", DIFFERENT)
def test_a_value_finds_itself_again(values):
    assert all(exact(pickle.loads(pickle.dumps(x))) == exact(x) for x in values)
    nan = float("nan")
    assert exact((nan,)) == exact((float("nan"),))


SIGN = lambda x, s: x * np.copysign(1.0, s[0] if isinstance(s, tuple) else s)  # noqa: E731
signed = weft.custom_vjp(SIGN, nondiff_argnums=(1,))
signed.defvjp(lambda x, s: (SIGN(x, s), None), lambda s, _, ct: (SIGN(ct, s),))


@pytest.mark.parametrize(
    "call",
    [
        weft.jit(SIGN, static_argnums=1),
        weft.checkpoint(SIGN, static_argnums=1),
        weft.grad(signed),
        weft.grad(weft.jit(SIGN, static_argnums=1)),
        lambda x, s: weft.jit(lambda x: weft.grad(signed)(x, s))(x),
    ],
    ids=["jit", "checkpoint", "custom_vjp", "gradient of jit", "custom_vjp in jit"],
)
@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: (s,)], ids=["number", "tuple"])
def test_static_arguments_are_told_apart_by_their_meaning(call, wrap):
    for zero in (0.0, -0.0, 0.0, -0.0):
        assert float(call(1.0, wrap(zero))) == float(np.copysign(1.0, zero))


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: (s,)], ids=["number", "tuple"])
def test_static_numbers_of_other_types_are_other_signatures(wrap):
    f = weft.jit(lambda x, s: x * (s[0] if isinstance(s, tuple) else s), static_argnums=1)
    x = np.ones(2, np.int32)
    for factor, dtype in [(1, "int32"), (1.0, "float32"), (True, "int32"), (1 + 0j, "complex64")]:
        assert f(x, wrap(factor)).dtype == dtype


def test_nothing_is_a_result_like_others():
    calls = []

    @cached_on_program
    def nothing(program):
        calls.append(program)

    program = Program()
    assert nothing(program) is nothing(program) is None
    assert len(calls) == 1


def test_functions_do_not_see_each_others_results():
    one, other = (
        cached_on_program(lambda program, x: ("one", x)),
        cached_on_program(lambda program, x: ("other", x)),
    )
    program = Program()
    assert one(program, 1) == ("one", 1)
    assert other(program, 1) == ("other", 1)


def test_a_known_result_is_told_without_computing_it():
    square = cached_on_program(lambda program, x: x * x)
    program = Program()
    assert square.known(program, 3) is None
    square(program, 3)
    assert square.known(program, 3) == 9


def test_results_die_with_the_program():
    made = cached_on_program(lambda program: Result())
    program = Program()
    reference = weakref.ref(made(program))
    assert reference() is not None
    del program
    gc.collect()
    assert reference() is None


def test_of_too_many_results_the_oldest_go():
    calls = []

    @cached_on_program
    def doubled(program, x):
        calls.append(x)
        return 2 * x

    program = Program()
    for x in range(10 * MAX_CACHED_RESULTS):
        assert doubled(program, x) == 2 * x
    assert len(program.cached_results[doubled]) <= MAX_CACHED_RESULTS
    del calls[:]
    assert doubled(program, 10 * MAX_CACHED_RESULTS - 1) == 20 * MAX_CACHED_RESULTS - 2
    assert calls == []
    assert doubled(program, 0) == 0
    assert calls == [0]


def test_threads_agree_on_the_first_result_and_no_lock_is_held():
    # each thread is inside the function while the others are: a lock would stop them here
    count = 4
    inside = threading.Barrier(count, timeout=30)

    @cached_on_program
    def made(program):
        inside.wait()
        return Result()

    program, results = Program(), []
    threads = [threading.Thread(target=lambda: results.append(made(program))) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == count
    assert len({id(r) for r in results}) == 1


def test_threads_that_fill_a_bounded_table_get_right_results():
    wide = cached_on_program(lambda program, x: (x, x + 1))
    program, wrong = Program(), []

    def work(start):
        for x in range(start, start + 3 * MAX_CACHED_RESULTS):
            if wide(program, x) != (x, x + 1):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(n * 100,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_an_error_is_not_kept():
    fails = [True]

    @cached_on_program
    def made(program):
        if fails:
            raise ValueError("not yet")
        return 1

    program = Program()
    try:
        made(program)
    except ValueError:
        fails.clear()
    assert made(program) == 1


def test_programs_keep_what_is_derived_of_them():
    jaxpr = weft.make_jaxpr(lambda x: np.float32(2.0) * x)(1.0)
    size = cached_on_program(lambda program: len(program.equations))
    assert size(jaxpr) == 1
    assert size in jaxpr.cached_results
    assert jaxpr.without_consts() is jaxpr.without_consts()
