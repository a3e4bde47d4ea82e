"""Short programs that run often: as one Python function on the host, where their arguments are."""

import numpy as np
import pytest

import weft
from weft.core.array import as_value
from weft.core.trace import current
from weft.interpreters.plans import PreparedProgram

RUNS = 5


@pytest.mark.devices(2)
def test_a_program_that_ran_often_stays_on_the_device_of_its_arguments():
    cube = weft.grad(lambda x: x * x * x)
    here, there = np.float32(2), weft.device_put(np.float32(3), weft.devices()[1])
    for _ in range(RUNS):
        assert float(cube(here)) == 12
    for _ in range(2):
        result = cube(there)
        assert float(result) == 27
        assert result.devices() == {weft.devices()[1]}
        assert float(cube(here)) == 12


def test_a_program_that_ran_often_takes_arrays_that_are_in_no_host_memory():
    double = weft.grad(lambda x: x * x)
    for _ in range(RUNS):
        assert float(double(np.float32(2))) == 4
    compiled = weft.jit(lambda x: x + 1)
    for i in range(3):
        assert float(double(compiled(np.float32(i)))) == 2 * (i + 1)


def test_results_of_a_program_that_ran_often_are_its_own():
    """One that is an argument, one that comes twice, and a number."""

    def f(x, y):
        product, total = x * y, x + y
        return y, product, total, product, 3.0

    program = PreparedProgram(weft.make_jaxpr(f)(1.0, 1.0))
    for i in range(RUNS):
        args = [as_value(float(i)), as_value(2.0)]
        found = [float(r) for r in program.run(args, current.base)]
        assert found == [2, 2 * i, i + 2, 2 * i, 3]


LARGE = np.linspace(-1, 1, 700 * 700, dtype="float32").reshape(700, 700)  # for XLA


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x @ x, x),
        lambda x: (x, x @ x, x @ x),
        lambda x: (x @ x, 2.0),
        lambda x: (3, x, x @ x, 2.0),
        lambda x: x @ x,
    ],
    ids=["an input", "twice", "a number", "numbers and an input", "alone"],
)
def test_results_of_one_compiled_operation_have_their_places(f):
    program = PreparedProgram(weft.make_jaxpr(f)(LARGE))
    found = program.run([as_value(LARGE)], current.base)
    expected = f(LARGE)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-3)


def test_a_gradient_runs_the_executable_of_the_eager_operation():
    x = as_value(LARGE)
    forward = PreparedProgram(weft.make_jaxpr(lambda x: (x @ x, x))(x))
    other = PreparedProgram(weft.make_jaxpr(lambda y: y @ y)(x))
    for program in (forward, other):
        program.run([x], current.base)
    assert forward.plan.program is other.plan.program
    value, _ = weft.vjp(lambda x: x @ x, x)
    assert np.asarray(value).tobytes() == np.asarray(x @ x).tobytes()
