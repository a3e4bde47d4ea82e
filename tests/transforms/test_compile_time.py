"""ensure_compile_time_eval: what is known is computed while tracing, the rest is written down."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.array import Tracer

TRANSFORMS = {
    "plain": lambda f: f,
    "jit": weft.jit,
    "grad": weft.grad,
    "jit of grad": lambda f: weft.jit(weft.grad(f)),
    "vmap": lambda f: lambda x: weft.vmap(f)(np.full(3, x)),
    "jit of vmap": lambda f: lambda x: weft.jit(weft.vmap(f))(np.full(3, x)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_known_values_are_computed_and_traced_ones_followed(transform):
    def f(x):
        with weft.ensure_compile_time_eval():
            table = np.cumsum(np.sin(np.arange(4.0)) ** 2)
            assert not isinstance(table, Tracer)
            if table[-1] > 1:  # Python looks at it
                y = x * table[2]
            z = y * 2.0
        return z * x

    expected = onp.cumsum(onp.sin(onp.arange(4.0)) ** 2)[2] * 2
    got = onp.ravel(TRANSFORMS[transform](f)(3.0))
    onp.testing.assert_allclose(got, expected * (6.0 if "grad" in transform else 9.0), rtol=1e-5)


def test_nothing_is_written_down():
    def f(x):
        with weft.ensure_compile_time_eval():
            big = np.sort(weft.jit(lambda: np.arange(50)[::-1])())
            steps = lax.while_loop(lambda n: n < big[7], lambda n: n + 1, 0)
        return x * np.ones(int(steps))

    jaxpr = weft.make_jaxpr(f)(2.0)
    names = {e.primitive.name for e in jaxpr.equations}
    assert names <= {"mul", "broadcast_in_dim"}
    assert weft.jit(f)(2.0).shape == (7,)


def test_a_traced_value_has_no_elements_there_either():
    @weft.jit
    def f(x):
        with weft.ensure_compile_time_eval():
            return float(x)

    with pytest.raises(weft.errors.ConcretizationTypeError, match="argument x"):
        f(1.0)
    assert float(weft.jit(lambda x: x * 2)(1.0)) == 2.0


def test_custom_derivatives_inside():
    @weft.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda p, t: (f(*p), 10.0 * t[0]))

    def g(x):
        with weft.ensure_compile_time_eval():
            return f(x) * float(f(np.float32(3.0)))

    assert float(g(2.0)) == 36.0
    assert float(weft.grad(g)(2.0)) == 90.0
    assert float(weft.jit(weft.grad(g))(2.0)) == 90.0


def test_the_trace_comes_back():
    @weft.jit
    def f(x):
        try:
            with weft.ensure_compile_time_eval():
                raise KeyError
        except KeyError:
            pass
        return np.sin(np.zeros(3)) + x

    assert "sin" in str(f.trace(1.0).jaxpr)

    @weft.ensure_compile_time_eval()
    def decorated():
        return np.arange(3).sum()

    assert weft.jit(lambda x: x * int(decorated()))(2.0) == 6.0


def test_results_are_looked_at():
    def f(x):
        with weft.ensure_compile_time_eval():
            return x * np.log(-1.0)

    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="log: made a NaN"):
        weft.jit(f)(1.0)
