"""Which results depend on which inputs, through programs inside equations too."""

import numpy as np

import weft
from weft import lax
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import Var, run
from weft.core.trace import current
from weft.interpreters.dependence import dependents, partition_by_linearity, partition_equations
from weft.primitives.trigonometric import cos, sin


def depends(f, mask, *args):
    jaxpr = weft.make_jaxpr(f)(*args)
    found = dependents(jaxpr, mask)
    return [type(v) is Var and v in found for v in jaxpr.outvars]


def test_plain_equations():
    f = lambda x, y: (sin(x), y, sin(x) * y, 3.0)  # noqa: E731
    assert depends(f, [True, False], 1.0, 2.0) == [True, False, True, False]
    assert depends(f, [False, True], 1.0, 2.0) == [False, True, True, False]


def test_calls():
    inner = weft.jit(lambda x, y: (sin(x), cos(y)))
    for f in (inner, weft.checkpoint(inner), weft.jit(weft.jit(inner))):
        assert depends(f, [True, False], 1.0, 2.0) == [True, False]


def test_loops_and_branches():
    def scanned(x, y):
        return lax.scan(lambda c, _: ((c[1], c[1] * 2.0, c[2]), None), (x, y, 1.0), None, length=3)[
            0
        ]

    # what depends on y goes from the second place to the first
    assert depends(scanned, [False, True], 1.0, 2.0) == [True, True, False]
    assert depends(scanned, [True, False], 1.0, 2.0) == [True, False, False]
    branches = lambda p, x, y: lax.cond(p, lambda x, y: (x, y), lambda x, y: (x, 2.0), x, y)  # noqa: E731
    assert depends(branches, [False, True, False], True, 1.0, 2.0) == [True, False]
    assert depends(branches, [False, False, True], True, 1.0, 2.0) == [False, True]
    assert depends(branches, [True, False, False], True, 1.0, 2.0) == [True, True]


def test_taking_a_joint_program_apart():
    inner = weft.jit(lambda x, t: (sin(x), cos(x) * t))
    jaxpr = weft.make_jaxpr(lambda x, t: inner(x, t))(1.0, 2.0)
    linear = {jaxpr.invars[1]}
    parts = list(partition_equations(jaxpr, linear))
    assert [flag for _, flag in parts] == [False, True]
    assert jaxpr.outvars[1] in linear
    assert jaxpr.outvars[0] not in linear
    apart = partition_by_linearity(jaxpr, (False, True))
    check_jaxpr(apart)
    args = [np.float32(0.3), np.float32(2.0)]
    values = [weft.device_put(a) for a in args]
    for a, b in zip(
        run(jaxpr, values, current.trace), run(apart, values, current.trace), strict=True
    ):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_a_known_result_that_nothing_uses_is_not_computed():
    inner = weft.jit(lambda x, t: (sin(x), cos(x) * t))
    jaxpr = weft.make_jaxpr(lambda x, t: inner(x, t)[1])(1.0, 2.0)
    assert len(list(partition_equations(jaxpr, {jaxpr.invars[1]}))) == 1
