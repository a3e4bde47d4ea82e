"""JAX's ways to look at traces and to evaluate partially, on weft's traces."""

import pytest

import weft
import weft.numpy as np
from weft.compat.tracing import (
    PartialVal,
    StoreException,
    trace_to_jaxpr_nounits,
    transformation_with_aux,
    transformation_with_aux2,
)
from weft.core.aval import aval
from weft.extend.linear_util import wrap_init

HUGE = PartialVal.unknown(aval((2**30, 2**20), weft.numpy.float32))
"""Four petabytes."""


def known_outputs(function, *inputs):
    _, outs, _ = trace_to_jaxpr_nounits(wrap_init(function), inputs)
    return outs


def test_unknown_values_are_not_computed_and_known_ones_are():
    def f(x, scale):
        y = np.dot(x, np.ones((2**20, 3))) * scale
        return [y.sum(), scale * 2, np.zeros(y.shape[1])]

    total, twice, zeros = known_outputs(f, HUGE, PartialVal.known(np.array(3.0)))
    assert not total.is_known()
    assert total.get_aval().shape == ()
    assert float(twice.get_known()) == 6
    assert zeros.get_known().tolist() == [0, 0, 0]


def test_results_of_a_compiled_function_are_known_one_by_one():
    inner = weft.jit(lambda x, y: (x + 1, y + 1))
    a, b = known_outputs(lambda x, y: list(inner(x, y)), HUGE, PartialVal.known(np.array(1.0)))
    assert (a.is_known(), float(b.get_known())) == (False, 2)


def test_functions_with_rules_of_their_own_are_run():
    @weft.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    (x, y) = known_outputs(
        lambda x, y: [square(x), square(y)], HUGE, PartialVal.known(np.array(3.0))
    )
    assert (x.is_known(), float(y.get_known())) == (False, 9)


@transformation_with_aux
def counted(factor, *args):
    results = yield [factor * x for x in args], {}
    yield results, len(args)


@transformation_with_aux2
def counted_by_a_store(f, store, factor, *args):
    results = f(*[factor * x for x in args])
    store.store(len(args))
    return results


@pytest.mark.parametrize("transform", [counted, counted_by_a_store])
def test_transformations_of_functions_give_a_second_result(transform):
    function, count = transform(wrap_init(lambda x, y: x + y), 3)
    with pytest.raises(StoreException, match="was not called"):
        count()
    assert function.call_wrapped(1, 2) == 9
    assert count() == 2
    with pytest.raises(StoreException, match="already"):
        function.call_wrapped(1, 2)
