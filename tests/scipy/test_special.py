"""Special functions against SciPy: values in both precisions, eager and compiled, at odd places;
derivatives of both modes against differences of SciPy's values; promotion and refusals."""

import dataclasses
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as onp
import pytest
import scipy.special as oracle

import weft
from weft import numpy as np
from weft.config import eager_tier
from weft.errors import ShapeError
from weft.scipy import special

inf, nan = onp.inf, onp.nan
ODD = (0.0, -0.0, inf, -inf, nan)
LINE = (-30.0, -7.5, -2.5, -1.0, -0.3, 1e-4, 0.4, 1.0, 3.2, 11.0, 60.0)
SOME = (-2.7, -0.6, 0.3, 1.4, 2.6)
POSITIVE = (1e-3, 0.4, 1.0, 2.5, 7.7, 40.0, 1000.0)
FEW = (0.2, 0.9, 1.6, 3.3)
UNIT = (1e-6, 0.03, 0.25, 0.5, 0.77, 0.999)
WITHIN = (0.07, 0.3, 0.6, 0.9)


@dataclasses.dataclass
class Row:
    """A function, arguments (each argument's values, all combined), and where it is differentiable.

    Attributes:
      smooth: arguments at which derivatives are compared; none for no comparison.
      in_: the places of the arguments to differentiate in.
      ulps, atol: by so much may a float32 result be off.
      part: the place among several results.
      but: arguments where SciPy's value isn't wanted → the value that is.
    """

    name: str
    args: tuple[tuple[float, ...], ...]
    smooth: tuple[tuple[float, ...], ...] = ()
    in_: tuple[int, ...] = (0,)
    ulps: float = 8
    rtol: float = 1e-12
    atol: float = 0.0
    but: dict[tuple[float, ...], float] = dataclasses.field(default_factory=dict)
    oracle: Callable[..., Any] | None = None
    part: int | None = None

    def function(self, *xs: Any) -> Any:
        out = getattr(special, self.name)(*xs)
        return out if self.part is None else out[self.part]

    def reference(self, *xs: Any) -> Any:
        out = (self.oracle or getattr(oracle, self.name))(*xs)
        return out if self.part is None else out[self.part]

    def arguments(self, dtype: Any) -> list[Any]:
        grid = onp.meshgrid(*[onp.array(a) for a in self.args], indexing="ij")
        return [g.reshape(-1).astype(dtype) for g in grid]

    def expected(self, xs: list[Any]) -> Any:
        with onp.errstate(all="ignore"):
            out = onp.array(self.reference(*[onp.float64(x) for x in xs]), onp.float64)
        for at, known in self.but.items():
            here = onp.all(
                [
                    (onp.float32(x) == onp.float32(a)) & (onp.signbit(x) == onp.signbit(a))
                    for x, a in zip(xs, at, strict=True)
                ],
                0,
            )
            assert here.any(), at
            out[here] = known
        return out


def one(name, args=LINE, smooth=SOME, odd=ODD, **more):
    return Row(name, ((*args, *odd),), (smooth,) if smooth else (), **more)


def two(name, first, second, smooth=(FEW, FEW), **more):
    return Row(name, (first, second), smooth, more.pop("in_", (0, 1)), **more)


FAR = {(inf,): inf, (-inf,): inf}  # SciPy has NaN
SIGNED = {(-0.0,): -0.0}  # of an odd function; SciPy has 0.0


@onp.vectorize
def log_beta(a, b):
    """SciPy's loses digits for large a."""
    with mpmath.workdps(30):
        return float(mpmath.log(abs(mpmath.beta(a, b))))


@onp.vectorize
def confluent(a, b, x):
    """SciPy's loses digits for large negative x."""
    return float(mpmath.hyp1f1(a, b, x))


@onp.vectorize
def pseudo_huber(delta, r):
    """SciPy's loses digits for small r."""
    if delta < 0 or (onp.isinf(r) and delta != 0):
        return inf
    if delta == 0 or onp.isinf(delta):
        return 0 if delta == 0 else r * r / 2
    with mpmath.workdps(60):
        return float(delta**2 * (mpmath.sqrt(1 + (mpmath.mpf(r) / mpmath.mpf(delta)) ** 2) - 1))


ROWS = [
    one("erf"), one("erfc"), one("erfcx"), one("ndtr"), one("log_ndtr"),
    one("erfinv", (-0.999, -0.3, 1e-5, 0.6), (-0.9, -0.3, 0.5), (0.0, 1.0, -1.0, 1.5, nan)),
    one("ndtri", UNIT, WITHIN, (0.0, 1.0, -0.1, 1.1, nan)),
    one("logit", UNIT, WITHIN, (0.0, 1.0, -0.1, 1.1, nan)), one("expit"),
    one("entr", POSITIVE, FEW, (0.0, -1.0, inf, nan)),
    two("xlogy", (0.0, *FEW, -2.0), (0.0, *FEW, nan, inf)),
    two("xlog1py", (0.0, *FEW, -2.0), (-1.0, *FEW, nan, inf)),
    two("rel_entr", (0.0, -1.0, *POSITIVE), (0.0, -1.0, *POSITIVE)),
    two("kl_div", (0.0, -1.0, *POSITIVE), (0.0, -1.0, *POSITIVE)),
    two("boxcox", (*POSITIVE[:5], 0.0, -2.0, inf, nan), (-2.0, -1e-3, 0.0, 0.4, 1.0, 3.0)),
    two("boxcox1p", (*POSITIVE[:5], 0.0, -1.0, -3.0, inf, nan), (-2.0, -1e-3, 0.0, 0.4, 1.0, 3.0)),
    one("exprel", but={(-0.0,): 1.0}),
    two("huber", (-1.0, 0.0, 0.4, 3.0, inf, nan), (*LINE, 0.0, -inf, nan),
        ((0.5, 2.0), (0.2, -0.9, 3.3))),
    two("pseudo_huber", (-1.0, 0.0, 0.4, 3.0, inf), (*LINE, 0.0, inf),
        ((0.5, 2.0), (0.2, -0.9, 3.3)), oracle=pseudo_huber),
    one("gamma", (*LINE[1:-1], 33.0, -4.7), SOME, (*ODD, -2.0, 2.0)),
    one("gammaln", LINE, SOME, (*ODD, -2.0), but={(-inf,): inf}),
    one("gammasgn", LINE, (), (0.0, -0.0, -2.0, -0.5, -1.5, nan, inf)),
    one("digamma", LINE, SOME, ODD, ulps=16),
    two("beta", (-0.5, *POSITIVE[1:5]), (0.3, 2.0, 5.5)),
    two("betaln", (*POSITIVE, 1e6), (1e-3, 0.3, 2.0, 9.5, 300.0), oracle=log_beta,
        atol=1e-6),
    two("gammainc", POSITIVE, (0.0, *POSITIVE, inf), (FEW, FEW), ulps=128, rtol=1e-11),
    two("gammaincc", POSITIVE[1:5], (0.0, *POSITIVE[1:5], inf), (FEW, FEW), ulps=64, rtol=1e-11),
    Row("betainc", (POSITIVE[1:5], POSITIVE[1:5], (0.0, *UNIT, 1.0)), (FEW, FEW[:2], WITHIN), (2,),
        ulps=64),
    two("polygamma", (0.0, 1.0, 2.0, 5.0), (-0.5, *POSITIVE[1:]), ((1.0, 3.0), FEW), in_=(1,),
        ulps=32, oracle=lambda n, x: oracle.polygamma(n.astype(int), x)),
    two("zeta", (1.0, 1.5, 3.0, 12.0), (0.3, 1.0, 7.0), ((2.0, 3.5), FEW), in_=(1,), ulps=16),
    one("i0", but=FAR), one("i0e"), one("i1", but=FAR | {(-inf,): -inf} | SIGNED),
    one("i1e", but=SIGNED),
    one("exp1", POSITIVE, FEW, (0.0, -1.0, inf, nan)), one("expi"),
    two("expn", (0.0, 1.0, 2.0, 7.0, 30.0), (0.0, 1e-3, 0.4, 1.0, 2.5, 40.0, inf, -1.0),
        ((0.0, 1.0, 3.0), FEW), in_=(1,)),
    one("spence", POSITIVE, FEW, (0.0, -1.0, 2.0, inf, nan), but={(inf,): -inf}), one("dawsn"),
    one("sici", LINE, SOME, (0.0, inf, -inf, nan), part=0), one(
        "sici", POSITIVE, FEW, (0.0, -1.0, inf, nan), part=1, atol=1e-7),
    one("fresnel", part=0, but=SIGNED), one("fresnel", part=1, but=SIGNED),
    two("poch", (-3.0, 0.5, 2.0, 60.0), (-1.5, 0.0, 1.0, 2.0, 5.0), ulps=16),
    two("owens_t", (*LINE[1:8], 0.0), (-3.0, -1.0, -0.2, 0.0, 0.6, 1.0, 4.0, inf), atol=1e-30,
        ulps=16),
    Row("hyp1f1", ((-1.5, 0.0, 0.7, 3.0), (0.3, 2.5), (-70.0, -8.0, -0.5, 0.0, 0.9, 6.0, 70.0)),
        (FEW[:2], FEW[2:], (-3.0, 0.7)), (2,), ulps=512, rtol=1e-10, oracle=confluent),
    Row("hyp2f1", ((-1.5, 0.7), (0.3, 2.6), (1.2, 4.1), (-4.0, -0.6, 0.0, 0.4, 0.8, 0.97, 1.0)),
        (FEW[:2], FEW[2:], (3.2,), (-3.0, 0.7)), (3,), ulps=512, rtol=1e-10),
]  # fmt: skip
GROUPS = {
    f"{ROWS[i].name}…{ROWS[i : i + 8][-1].name}": ROWS[i : i + 8] for i in range(0, len(ROWS), 8)
}


def check(row, got, xs, wanted, dtype, about):
    got, wanted = onp.asarray(got).astype("d"), wanted.astype(dtype).astype("d")
    with onp.errstate(all="ignore"):
        spacing = onp.spacing(onp.abs(wanted).astype(dtype)).astype("d")
        near = onp.abs(got - wanted) <= (
            row.ulps * spacing + row.atol
            if dtype == "f"
            else row.rtol * onp.abs(wanted) + 1e-7 * row.atol + 1e-290
        )
    tiny = (onp.abs(wanted) < 2e-38) & (onp.abs(got) < 2e-38) & (dtype == "f")
    signs = (got != 0) | (wanted != 0) | (onp.signbit(got) == onp.signbit(wanted))
    same = (got == wanted) | (onp.isnan(got) & onp.isnan(wanted))
    wrong = ~((near | tiny | same) & signs)
    found = [(*[x[i] for x in xs], got[i], wanted[i]) for i in onp.flatnonzero(wrong)]
    assert not found, f"{row.name} {about} {dtype}: (arguments, got, expected) {found[:8]}"


@pytest.mark.parametrize("group", GROUPS)
def test_compiled_values(group):
    rows = GROUPS[group]
    arguments = [row.arguments("f") for row in rows]
    compiled = weft.jit(
        lambda all_xs: [r.function(*xs) for r, xs in zip(rows, all_xs, strict=True)]
    )(arguments)
    for row, xs, out in zip(rows, arguments, compiled, strict=True):
        assert out.dtype == "f"
        check(row, out, xs, row.expected(xs), "f", "compiled")


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.name}{r.part or ''}")
def test_eager_values(row):
    for dtype in ("f", "d"):
        with eager_tier("host"), weft.enable_x64(dtype == "d"):
            xs = row.arguments(dtype)
            out = row.function(*map(np.array, xs))
            assert out.dtype == dtype
            check(row, out, xs, row.expected(xs), dtype, "eager")


def difference(f, xs, i, step):
    """The derivative of f in argument i by central differences, to the fourth order."""

    def at(h):
        return f(*[x + h if j == i else x for j, x in enumerate(xs)])

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.smooth], ids=lambda r: f"{r.name}{r.part or ''}"
)
def test_derivatives(row):
    f, expected = row.function, row.reference
    xs = [g.reshape(-1) for g in onp.meshgrid(*row.smooth, indexing="ij")]
    with eager_tier("host"), weft.enable_x64(True):
        for i in row.in_:

            def slope(x, i=i):
                args = [np.array(y) for y in xs]
                args[i] = x
                return weft.jvp(
                    lambda y: f(*args[:i], y, *args[i + 1 :]), (x,), (np.ones_like(x),)
                )[1]

            wanted = difference(expected, xs, i, 1e-3)
            got = slope(np.array(xs[i]))
            onp.testing.assert_allclose(got, wanted, 1e-7, 1e-8)
            backward = weft.grad(lambda *ys: np.sum(f(*ys)), i)(*[np.array(x) for x in xs])
            onp.testing.assert_allclose(backward, got, 1e-12, 1e-14)
            if i == 0 and row.name in ("gammainc", "gammaincc"):
                continue  # the second derivative in a is refused
            second = weft.jvp(slope, (np.array(xs[i]),), (np.ones(len(xs[i])),))[1]
            wanted = difference(lambda *ys, i=i: onp.asarray(slope(np.array(ys[i]))), xs, i, 1e-3)
            onp.testing.assert_allclose(second, wanted, 1e-6, 1e-7)


def test_zero_times_log_zero_has_the_derivatives_it_has():
    gradients = weft.grad(lambda x, y: special.xlogy(x, y), (0, 1))
    assert gradients(0.0, 2.0) == (onp.float32(onp.log(2)), 0)
    assert gradients(0.0, 0.0)[1] == 0
    assert weft.grad(special.entr)(0.0) == inf
    assert weft.grad(lambda q: special.rel_entr(0.0, q))(0.0) == 0
    assert weft.grad(special.i0)(0.0) == 0
    assert weft.grad(special.i1)(0.0) == 0.5
    far = weft.grad(special.log_ndtr)(-1e4)
    assert far == pytest.approx(1e4, 1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.name}{r.part or ''}")
def test_dtypes(row):
    f, count, name = row.function, len(row.args), row.name
    with eager_tier("host"):
        hold_dtypes(f, count, name)


def hold_dtypes(f, count, name):
    for dtype, wanted in {"int32": "float32", "float16": "float16", "bfloat16": "bfloat16"}.items():
        assert f(*[np.ones((2,), dtype)] * count).dtype == wanted
    assert f(*[np.ones((0, 3))] * count).shape == (0, 3)
    scalar = f(*[1] * count)
    assert scalar.shape == ()
    assert scalar.weak_type
    if name == "expit":  # of complex numbers too
        return
    with pytest.raises((TypeError, ShapeError), match=name + "|float|real"):
        f(*[np.ones(2, complex)] * count)
    with pytest.raises(TypeError, match=name):
        f(*["text"] * count)


A = onp.array([[0.5, -1.0, 3.0], [100.0, 99.0, -1e3]], "f")


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    if axis != ():
        wanted = oracle.logsumexp(A, axis, keepdims=keepdims)
        for f in (
            special.logsumexp,
            weft.jit(special.logsumexp, static_argnums=1, static_argnames="keepdims"),
        ):
            got = f(A, axis, keepdims=keepdims)
            assert got.shape == onp.shape(wanted)
            onp.testing.assert_allclose(got, wanted, 1e-6)
    else:
        onp.testing.assert_allclose(special.logsumexp(A, axis, keepdims=keepdims), A, 1e-6)


def test_logsumexp_of_factors_signs_and_conditions():
    b = onp.array([[1.0, -2.0, 0.0], [-1.0, 2.0, 1.0]], "f")
    a = onp.where(b == 0, inf, onp.minimum(A, 4)).astype("f")
    wanted, sign = oracle.logsumexp(onp.where(b == 0, 0, a), 1, b, return_sign=True)
    got = special.logsumexp(a, 1, b, return_sign=True)
    onp.testing.assert_allclose(got[0], wanted, 1e-5)
    onp.testing.assert_array_equal(got[1], sign)
    assert onp.isnan(special.logsumexp(onp.float32([0, 1]), b=onp.float32([1, -1])))
    where = onp.array([[True, True, False], [False, False, False]])
    onp.testing.assert_allclose(
        special.logsumexp(A, 1, where=where)[0], oracle.logsumexp(A[0, :2]), 1e-6
    )
    assert special.logsumexp(A, 1, where=where)[1] == -inf
    z = onp.array([1 + 2j, 3 - 1j], "F")
    onp.testing.assert_allclose(special.logsumexp(z), onp.log(onp.exp(z).sum()), 1e-6)
    for infinite in ([inf, 0.0], [-inf, -inf], [-inf, 0.0], [nan, 0.0]):
        x = onp.float32(infinite)
        onp.testing.assert_array_equal(special.logsumexp(x), oracle.logsumexp(x))
    assert special.logsumexp(np.zeros((0,))) == -inf
    assert special.logsumexp(np.zeros(2, np.float16)).dtype == "float16"


def test_gradients_of_sums_of_exponentials():
    onp.testing.assert_allclose(weft.grad(special.logsumexp)(A), oracle.softmax(A), 1e-6, 1e-9)
    nothing = weft.grad(special.logsumexp)(np.full(3, -inf))
    assert not onp.isnan(onp.asarray(nothing)).any()
    for f in ("softmax", "log_softmax"):
        for axis in (None, 1, (0, 1)):
            onp.testing.assert_allclose(
                getattr(special, f)(A, axis=axis), getattr(oracle, f)(A, axis), 2e-6, 1e-37
            )
    with pytest.raises(ValueError, match="axis"):
        special.softmax(A, axis=2)


def test_multigammaln():
    a = onp.array([0.4, 1.2, 3.7, 20.0], "f")
    for d in (1, 2, 4):
        wanted = [oracle.multigammaln(float(x), d) if x > (d - 1) / 2 else nan for x in a]
        onp.testing.assert_allclose(special.multigammaln(a, d), wanted, 2e-6)
    with pytest.raises(ValueError, match="multigammaln: d must be at least 1"):
        special.multigammaln(a, 0)
    with pytest.raises(TypeError, match="multigammaln: d "):
        special.multigammaln(a, 1.5)


def test_bad_orders_are_refused():
    with pytest.raises(ValueError, match="log_ndtr: series_order"):
        special.log_ndtr(1.0, 31)
    with pytest.raises(TypeError, match="log_ndtr: series_order"):
        special.log_ndtr(1.0, 1.5)


def test_bernoulli_numbers():
    for n in (0, 1, 2, 11):
        onp.testing.assert_allclose(special.bernoulli(n), oracle.bernoulli(n), 1e-6)
    with weft.enable_x64(True):
        onp.testing.assert_allclose(special.bernoulli(60), oracle.bernoulli(60), 1e-10)
    with pytest.raises(ValueError, match="bernoulli: n must be at least 0"):
        special.bernoulli(-1)


def test_factorials_and_binomial_coefficients():
    n = onp.array([-1.5, 0, 1, 4.5, 7, 30], "f")
    onp.testing.assert_allclose(special.factorial(n), oracle.factorial(n), 1e-6)
    onp.testing.assert_array_equal(
        special.factorial(onp.arange(9)), oracle.factorial(onp.arange(9))
    )
    with pytest.raises(NotImplementedError, match="factorial: exact"):
        special.factorial(3, exact=True)
    N, k = onp.meshgrid([0, 1, 5, 30, 4.5, -2], [0, 1, 3, 30, -1], indexing="ij")
    onp.testing.assert_allclose(special.comb(N, k), oracle.comb(N, k), 2e-6)
    N, k = N[:5, :4], k[:5, :4]
    wanted = oracle.comb(N, k, repetition=True)
    onp.testing.assert_allclose(special.comb(N, k, repetition=True), wanted, 2e-6)
    assert special.comb(20, 7) == 77520


def test_loggamma_and_wofz_of_complex_numbers():
    x = onp.array([-30.5, -3.4, -0.5, 0.2, 1.0, 2.0, 7.0, 40.0])
    z = (x + 1j * onp.array([-20, -1.5, -1e-3, 1e-3, 0.7, 4, 50])[:, None]).reshape(-1)
    with weft.enable_x64(True):
        both = weft.jit(lambda z: (special.loggamma(z), special.wofz(z)))(z)
        onp.testing.assert_allclose(special.loggamma(z), oracle.loggamma(z), 1e-12, 1e-13)
        onp.testing.assert_allclose(both[0], oracle.loggamma(z), 1e-12, 1e-13)
        for out in (both[1], special.wofz(z)):
            wanted = oracle.wofz(z)
            fine = onp.isfinite(wanted)
            onp.testing.assert_allclose(out[fine], wanted[fine], 1e-11, 1e-13)
        slope = weft.jvp(special.wofz, (np.array(0.4 + 0.3j),), (np.array(1 + 0j),))[1]
        step = (oracle.wofz(0.4001 + 0.3j) - oracle.wofz(0.3999 + 0.3j)) / 2e-4
        assert abs(slope - step) < 1e-7
    real = onp.float32([-1.5, 0.0, 0.5, 30, nan])
    onp.testing.assert_allclose(special.loggamma(real), oracle.loggamma(real), 2e-6)
    assert special.wofz(1.5).dtype == "complex64"


def test_bessel_functions_of_several_orders():
    z = onp.array([-12.0, -0.3, 0.0, 1e-3, 2.4, 30.0])
    with weft.enable_x64(True):
        wanted = oracle.jv(onp.arange(6)[:, None], z)
        onp.testing.assert_allclose(special.bessel_jn(z, v=5), wanted, 1e-9, 1e-12)
        slope = weft.jvp(lambda z: special.bessel_jn(z, v=5), (z,), (onp.ones(6),))[1]
        onp.testing.assert_allclose(slope, oracle.jvp(onp.arange(6)[:, None], z), 1e-7, 1e-9)
    for options in ({"v": -1}, {"v": 1, "n_iter": 0}):
        with pytest.raises(ValueError, match="bessel_jn"):
            special.bessel_jn(z, **options)


def test_legendre_functions():
    z = onp.array([-0.9, 0.0, 0.3, 1.0])
    with weft.enable_x64(True):
        values, slopes = special.lpmn(3, 4, z)
        wanted, changes = oracle.assoc_legendre_p_all(4, 3, z, diff_n=1)[:, :, :4]
        assert values.shape == (4, 5, 4)
        onp.testing.assert_allclose(values, onp.swapaxes(wanted, 0, 1), 1e-12, 1e-13)
        inside = onp.swapaxes(changes, 0, 1)[..., :3]
        onp.testing.assert_allclose(slopes[..., :3], inside, 1e-11, 1e-12)
        onp.testing.assert_array_equal(special.lpmn_values(3, 4, z, False), values)
        norms = oracle.sph_legendre_p_all(4, 3, onp.arccos(z))[0][:, :4]
        got = special.lpmn_values(3, 4, z, True)
        onp.testing.assert_allclose(got, onp.swapaxes(norms, 0, 1), 1e-10, 1e-12)
    with pytest.raises(ValueError, match="lpmn: expected 0 <= m <= n"):
        special.lpmn(3, 2, z)


def test_spherical_harmonics():
    n, m = onp.array([0, 2, 3, 5, 5, 2]), onp.array([0, -1, 3, -4, 0, 3])
    theta, phi = onp.linspace(0, 3, 6), onp.linspace(-2, 7, 6)
    with weft.enable_x64(True):
        wanted = oracle.sph_harm_y(n, m, theta, phi)
        onp.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), wanted, 1e-12, 1e-14)
        traced = weft.jit(lambda n, m: special.sph_harm_y(n, m, theta, phi, n_max=5))(n, m)
        onp.testing.assert_allclose(traced, wanted, 1e-12, 1e-14)
        onp.testing.assert_allclose(special.sph_harm(m, n, phi, theta), wanted, 1e-12, 1e-14)
        grid = special.sph_harm_y(n[:, None], 0, 0.3, 0.1)
        assert grid.shape == (6, 1)
    with pytest.raises(weft.errors.ConcretizationTypeError, match="n_max"):
        weft.jit(lambda n: special.sph_harm_y(n, m, theta, phi))(n)
    with pytest.raises(TypeError, match="sph_harm_y: n must be of integer dtype"):
        special.sph_harm_y(1.5, 0, 0.1, 0.2)
    with pytest.raises(NotImplementedError, match="sph_harm_y: diff_n"):
        special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1)
