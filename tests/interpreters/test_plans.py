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
