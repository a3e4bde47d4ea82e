"""Taylor mode: against mpmath's Taylor coefficients, nested first derivatives, and loops."""

import math

import mpmath
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.errors import DerivativeError, MissingRuleError, ShapeError
from weft.experimental import enable_x64
from weft.experimental.jet import jet, zero_series

TERMS = [0.8, -0.3, 0.5, 1.1, -0.7]

UNARY = {  # weft's function, mpmath's
    "exp": (np.exp, mpmath.exp),
    "expm1": (np.expm1, mpmath.expm1),
    "log": (np.log, mpmath.log),
    "log1p": (np.log1p, mpmath.log1p),
    "sin": (np.sin, mpmath.sin),
    "cos": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "sinh": (np.sinh, mpmath.sinh),
    "cosh": (np.cosh, mpmath.cosh),
    "tanh": (np.tanh, mpmath.tanh),
    "logistic": (lax.logistic, lambda x: 1 / (1 + mpmath.exp(-x))),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "rsqrt": (lax.rsqrt, lambda x: 1 / mpmath.sqrt(x)),
    "square": (np.square, lambda x: x * x),
    "cube": (lambda x: x**3, lambda x: x**3),
    "inverse square": (lambda x: x**-2, lambda x: x**-2),
    "no power": (lambda x: lax.integer_pow(x, 0) * x, lambda x: x),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5)),
    "base": (lambda x: 2.5**x, lambda x: mpmath.mpf(2.5) ** x),
    "both": (lambda x: x**x, lambda x: x**x),
    "quotient": (lambda x: np.sin(x) / (1 + x * x), lambda x: mpmath.sin(x) / (1 + x * x)),
    "reciprocal": (lambda x: 3.0 / x, lambda x: 3 / x),
    "arcsin": (np.arcsin, mpmath.asin),
    "arctan2": (lambda x: np.arctan2(x, 2.0), lambda x: mpmath.atan(x / 2)),
    "erf": (lax.erf, mpmath.erf),
    "lgamma": (lax.lgamma, mpmath.loggamma),
    "abs": (lambda x: np.abs(x - 3.0) * x, lambda x: (3 - x) * x),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_along_a_path(name):
    f, exact = UNARY[name]
    x0 = 0.6

    def path(s):
        return x0 + sum(c * s**k / math.factorial(k) for k, c in enumerate(TERMS, 1))

    with enable_x64():
        y, series = jet(f, (x0,), (TERMS,))
        plain, coefficients = jet(
            f, (x0,), ([c / math.factorial(k) for k, c in enumerate(TERMS, 1)],), False
        )
    with mpmath.workdps(40):
        expected = [float(c) for c in mpmath.taylor(lambda s: exact(path(s)), 0, 5)]
    assert float(y) == float(plain)
    onp.testing.assert_allclose([y, *coefficients], expected, rtol=1e-11, atol=1e-12)
    derivatives = [c * math.factorial(k) for k, c in enumerate(expected)]
    onp.testing.assert_allclose([y, *series], derivatives, rtol=1e-11, atol=1e-12)


X = onp.array([0.3, 0.7, 0.2])
SERIES = [onp.array([1.0, 0.5, -1.0]), onp.array([0.2, -0.3, 0.4]), onp.array([0.1, 0.0, 0.5])]
W = onp.arange(9.0).reshape(3, 3) / 7

ARRAYS = {
    "sums": lambda x: (x + 2 * x[::-1] - x[0], np.sum(x, keepdims=True) - x),
    "products": lambda x: (x @ W @ x, np.tanh(W @ x), np.prod(x)),
    "convolution": lambda x: np.convolve(x, x),
    "indices": lambda x: x[::2] * x[1:] + x[np.array([0, 2])] ** 2,
    "joined": lambda x: np.concatenate([x, W[0], x * x]).reshape(3, 3).T,
    "written": lambda x: x.at[1].mul(x[0]) * np.pad(x, 1)[1:4],
    "greatest": lambda x: np.max(x) * x + np.maximum(x, 0.5) * np.minimum(x * x, 0.1),
    "sorted": lambda x: np.sort(x) ** 2 * np.cumsum(x),
    "chosen": lambda x: np.where(x > 0.5, x * x, np.sin(x)) * np.sign(x) * np.floor(10 * x),
    "clipped": lambda x: np.clip(x, 0.25, 0.5) * x,
    "stopped": lambda x: lax.stop_gradient(x) * x,
    "converted": lambda x: (x.astype("float32").astype("float64") * 0 + x**2, x > 0),
    "complex": lambda x: (np.fft.fft(x) * np.exp(1j * x)).imag,
    "solved": lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x),
    "called": weft.jit(lambda x: np.exp(x) * weft.jit(np.sin)(x)),
    "mapped": weft.vmap(lambda a: a * np.cos(a)),
    "gradient": weft.grad(lambda x: np.sum(np.sin(x) ** 3)),
    "norms": lambda x: (np.linalg.norm(x), np.var(x), np.hypot(x, 2 * x * x)),
}


def nested(f, x, terms):
    """The derivatives along the path by nested forward mode."""

    def g(s):
        return f(x + sum(t * s**k / math.factorial(k) for k, t in enumerate(terms, 1)))

    found = []
    for _ in terms:
        g = weft.jacfwd(g)
        found.append(weft.tree_util.tree_leaves(g(0.0)))
    return found


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_along_a_path(name):
    f = ARRAYS[name]
    with enable_x64():
        y, series = jet(f, (X,), (SERIES,))
        leaves = weft.tree_util.tree_leaves
        for a, b in zip(leaves(y), leaves(f(np.asarray(X))), strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-12)
        outputs = list(series) if isinstance(y, tuple) else [series]
        for k, expected in enumerate(nested(f, X, SERIES)):
            for output, b in zip(outputs, expected, strict=True):
                if b.dtype == weft.dtypes.float0:
                    assert not output[k].any()
                else:
                    onp.testing.assert_allclose(output[k], b, rtol=1e-10, atol=1e-12)


def test_control_flow_is_followed():
    def loops(x):
        total, ys = lax.scan(lambda c, a: (c * a + c, c * c), x[0], x)
        y = lax.fori_loop(0, 2, lambda i, c: c * np.sin(c), x)
        z = lax.while_loop(lambda c: c.sum() < 5, lambda c: c * 1.5 + c * c, x)
        return total, ys, y + z, lax.cond(x[0] > 0, np.sin, np.cos, x)

    def unrolled(x):
        c, ys = x[0], []
        for i in range(3):
            c, y = c * x[i] + c, c * c
            ys.append(y)
        y = x
        for _ in range(2):
            y = y * np.sin(y)
        z = x
        while z.sum() < 5:
            z = z * 1.5 + z * z
        return c, np.stack(ys), y + z, np.sin(x)

    with enable_x64():
        found = weft.jit(lambda x, terms: jet(loops, (x,), (terms,)))(X, SERIES[:2])
        expected = jet(unrolled, (np.asarray(X),), (SERIES[:2],))
        for a, b in zip(*map(weft.tree_util.tree_leaves, (found, expected)), strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_power_of_zero():
    series = jet(lambda x: (x**3, x ** np.float32(2.0)), (0.0,), ((1.0, 0.0, 0.0, 0.0),))[1]
    assert [float(d) for d in series[0]] == [0, 0, 6, 0]
    assert [float(d) for d in series[1]] == [0, 2, 0, 0]


def test_trees_zero_series_and_dtypes():
    def f(p, n, a):
        return {"y": p["a"] * p["b"][0] + n * a, "n": n, "c": a}

    p = {"a": np.ones(2, "float16"), "b": (np.full(2, 2.0, "float16"),)}
    y, series = jet(f, (p, 3, 5.0), ([p, p], zero_series, zero_series))
    assert weft.tree_util.tree_structure(y) == weft.tree_util.tree_structure(
        weft.tree_util.tree_map(lambda _: 0, {"c": 0, "n": 0, "y": 0})
    )
    assert [d.tolist() for d in series["y"]] == [[4, 4], [8, 8]]
    assert [d.dtype.name for d in series["y"]] == ["float16"] * 2
    assert [int(d) for d in series["n"]] == [0, 0]
    assert float(series["c"][1]) == 0
    assert weft.tree_util.tree_leaves(zero_series) == []
    assert repr(zero_series) == "zero_series"


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_zeros_are_the_series_of_booleans_and_integers(wrap):
    c, n, x = onp.array([True, False]), onp.array([2, 3]), onp.float32([5.0, 7.0])
    one, zero = onp.ones(2, "f"), onp.zeros(2, "f")

    def series(c, n, x):
        still = [np.zeros_like(c), np.zeros_like(c)], [onp.zeros(2, weft.dtypes.float0), zero]
        return jet(lambda c, n, x: np.where(c, x * x, n * x), (c, n, x), (*still, [one, zero]))

    y, (d1, d2) = wrap(series)(c, n, x)
    onp.testing.assert_allclose(y, [25.0, 21.0])
    onp.testing.assert_allclose(d1, [10.0, 3.0])
    onp.testing.assert_allclose(d2, [2.0, 0.0])


def test_it_is_transformed_itself():
    def second(x):
        return jet(np.sin, (x,), ((1.0, 0.0),))[1][1]

    x = np.array([0.3, 0.9])
    assert np.allclose(weft.jit(weft.vmap(second))(x), -np.sin(x))
    assert np.allclose(weft.vmap(weft.grad(second))(x), -np.cos(x))
    inner = jet(lambda x: jet(np.exp, (2 * x,), ((1.0, 0.0),))[1][1], (0.0,), ((1.0, 0.0, 0.0),))
    assert [float(d) for d in inner[1]] == [2, 4, 8]


def test_rules_of_the_user():
    @weft.custom_jvp
    def f(x):
        return np.sin(x)

    f.defjvps(lambda t, out, x: 3 * t * np.cos(x))
    assert np.allclose(np.stack(jet(f, (0.0,), ((1.0, 0.0, 0.0),))[1]), np.array([3.0, 0, -3.0]))

    @weft.custom_vjp
    def g(x):
        return x

    g.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    with pytest.raises(DerivativeError, match="custom_vjp"):
        jet(g, (1.0,), ((1.0,),))


def test_a_conversion_of_what_moves():
    with pytest.raises(TypeError, match=r"being differentiated"):
        jet(lambda x: np.asarray(onp.sin(onp.asarray(x))), (1.0,), ((1.0,),))
    assert float(jet(lambda x: x * 2 if x > 0 else x, (1.0,), ((1.0,),))[1][0]) == 2


LEAK = []

BAD = {
    "primals": (lambda: jet(np.sin, 1.0, ((1.0,),)), TypeError, "primals to be a tuple"),
    "series": (lambda: jet(np.sin, (1.0,), 1.0), TypeError, "series to be a tuple"),
    "count": (lambda: jet(np.add, (1.0, 1.0), ((1.0,),)), ValueError, "each of 2 primals; got 1"),
    "lengths": (
        lambda: jet(np.add, (1.0, 1.0), ((1.0,), (1.0, 0.0))), ValueError, "1 terms for argument 0"
    ),
    "no terms": (lambda: jet(np.sin, (1.0,), ((),)), ValueError, "one term at least"),
    "nothing moves": (lambda: jet(np.sin, (1.0,), (zero_series,)), ValueError, "order is unknown"),
    "structure": (lambda: jet(lambda p: p, ([1.0],), ((1.0,),)), ShapeError, "structure"),
    "shape": (lambda: jet(np.sin, (X,), ((1.0,),)), ShapeError, r"must be like it, .*\[3\]"),
    "integer": (lambda: jet(np.sin, (1,), ((1.0,),)), ShapeError, "pass a float"),
    "complex": (lambda: jet(np.sin, (1.0,), ((1j,),)), ShapeError, "must be real"),
    "no derivative": (
        lambda: jet(lambda x: lax.nextafter(x, x), (1.0,), ((1.0,),)),
        MissingRuleError, "nextafter",
    ),
    "leak": (
        lambda: (jet(lambda x: LEAK.append(x) or x, (1.0,), ((1.0,),)), np.sin(LEAK[0])),
        weft.errors.UnexpectedTracerError, "jet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    call, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        call()
