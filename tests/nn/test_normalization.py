"""softmax, its logarithm, means of exponentials, standardization: against float64, masks, edges."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import enable_x64, grad, jit, nn, vmap

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 3, 5)) * 4
MASK = RNG.random((4, 3, 5)) > 0.4
MASK[1, 2] = False  # nothing counts here
AXES = [-1, 0, (0, 2), None]


def sums(x, axis, where=True):
    x = np.asarray(x, np.float64)
    top = np.max(x, axis=axis, keepdims=True)
    terms = np.where(where, np.exp(x - top), 0)
    return top, terms, terms.sum(axis=axis, keepdims=True)


def softmax(x, axis=-1, where=True):
    _, terms, total = sums(x, axis, where)
    return terms / np.where(total == 0, 1, total)


def logsumexp(x, axis=None, where=True):
    top, _, total = sums(x, axis, where)
    with np.errstate(divide="ignore"):
        return (top + np.log(total)).reshape(np.sum(x, axis=axis).shape)


def standardize(x, axis=-1, where=True, epsilon=1e-5):
    x = np.asarray(x, np.float64)
    mean = x.mean(axis=axis, where=where, keepdims=True)
    var = np.mean((x - mean) ** 2, axis=axis, where=where, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon)


@pytest.mark.parametrize("axis", AXES)
def test_values_eager_planned_compiled_and_batched(axis):
    x = X.astype(np.float32)

    def all_of(x):
        return (
            nn.softmax(x, axis), nn.log_softmax(x, axis), nn.logsumexp(x, axis),
            nn.logmeanexp(x, axis), nn.standardize(x, axis),
        )  # fmt: skip

    count = X.size / np.sum(X, axis=axis).size
    want = [
        softmax(X, axis), np.log(softmax(X, axis)), logsumexp(X, axis),
        logsumexp(X, axis) - np.log(count), standardize(X, axis),
    ]  # fmt: skip
    batch = jit(vmap(all_of))(np.stack([x, x[::-1]]))
    for found in (all_of(x), all_of(x), all_of(x), [v[0] for v in batch]):
        for got, expected in zip(found, want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("axis", [-1, (0, 2)])
def test_masks(axis):
    x = np.where(MASK, X, np.where(X > 0, np.inf, np.nan)).astype(np.float32)  # nothing leaks
    x0 = np.where(MASK, X, 0)
    for run in (lambda f: f, jit):
        got = run(lambda x: (nn.softmax(x, axis, MASK), nn.logsumexp(x, axis, where=MASK)))(x)
        np.testing.assert_allclose(got[0], softmax(x0, axis, MASK), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(got[1], logsumexp(x0, axis, MASK), rtol=1e-5)
    with np.errstate(divide="ignore"):
        want = np.where(MASK, np.log(softmax(x0, axis, MASK)), -np.inf)
    np.testing.assert_allclose(nn.log_softmax(x, axis, MASK), want, rtol=1e-5, atol=1e-6)
    mean = logsumexp(x0, axis, MASK) - np.log(np.maximum(MASK.sum(axis), 1))
    np.testing.assert_allclose(
        nn.logmeanexp(x, axis, MASK), np.where(MASK.any(axis), mean, np.nan), rtol=1e-5
    )
    rows = np.where(MASK[:1], X[:1], 0).astype(np.float32)
    np.testing.assert_allclose(
        nn.standardize(rows, axis, where=MASK[:1]), standardize(rows, axis, MASK[:1]), rtol=1e-4,
        atol=1e-5,
    )  # fmt: skip


def test_derivatives():
    weights = RNG.standard_normal(X.shape)

    def losses(x):
        counts = MASK.any(-1, keepdims=True)
        return [
            (weights * f).sum()
            for f in (
                nn.softmax(x, (0, 2), MASK),
                wnp.where(MASK, nn.log_softmax(x, -1, MASK), 0),
                nn.standardize(x, -1),
                nn.logsumexp(x, 1, b=weights**2, keepdims=True),
                wnp.where(counts, nn.logmeanexp(x, -1, where=MASK, keepdims=True), 0),
            )
        ]

    def both(x, dx):
        slopes, bends = weft.jvp(lambda x: weft.jvp(losses, (x,), (dx,))[1], (x,), (dx,))
        cts = [float(i + 1) for i in range(len(slopes))]
        back = weft.vjp(losses, x)[1](cts)[0]
        return slopes, (back * dx).sum(), bends

    with enable_x64(True):
        dx, h = RNG.standard_normal(X.shape), 1e-5
        slopes, back, bends = jit(both)(X, dx)
        run = jit(lambda x: wnp.array(losses(x)))
        plus, minus, middle = (np.asarray(run(X + s * h * dx)) for s in (1, -1, 0))
        np.testing.assert_allclose(slopes, (plus - minus) / (2 * h), rtol=1e-6)
        total = np.dot(np.asarray(slopes), 1 + np.arange(len(slopes)))
        assert float(back) == pytest.approx(total, rel=1e-10)
        h = 1e-4
        plus, minus = (np.asarray(run(X + s * h * dx)) for s in (1, -1))
        np.testing.assert_allclose(bends, (plus + minus - 2 * middle) / h**2, rtol=1e-4, atol=1e-4)


def test_where_nothing_counts_there_is_no_slope():
    x = np.float32([1.0, 2.0])
    none = np.array([False, False])
    for f in (nn.softmax, nn.log_softmax):
        g = grad(lambda x, f=f: wnp.where(none, f(x, -1, none), 0).sum())(x)
        assert g.tolist() == [0, 0]
    assert nn.softmax(x, -1, none).tolist() == [0, 0]
    assert nn.log_softmax(x, -1, none).tolist() == [-np.inf, -np.inf]
    low = np.float32([-np.inf, -np.inf])
    assert nn.logsumexp(low).item() == -np.inf
    assert grad(nn.logsumexp)(low).tolist() == [0, 0]
    assert grad(nn.logsumexp)(np.float32([-np.inf, 0.0])).tolist() == [0, 1]


def test_infinite_elements():
    inf = np.float32(np.inf)
    assert np.isnan(nn.softmax(np.float32([inf, 0]))).all()
    assert nn.softmax(np.float32([-inf, 0])).tolist() == [0, 1]
    assert nn.logsumexp(np.float32([inf, 0])).item() == np.inf
    assert nn.logsumexp(np.float32([1e5, 1e5 + 1])).item() == np.float32(1e5 + 1 + 0.31326169)
    assert nn.logsumexp(np.zeros((2, 0)), -1).tolist() == [-np.inf] * 2
    assert np.isnan(nn.logmeanexp(np.zeros(0)).item())
    assert nn.softmax(np.zeros((2, 0), np.float32)).shape == (2, 0)


def test_factors_and_signs_of_sums():
    x, b = np.float32([3.0, 4.0, np.inf]), np.float32([2.0, -1.0, 0.0])
    value = 2 * np.exp(3) - np.exp(4)
    size, sign = nn.logsumexp(x, b=b, return_sign=True)
    assert size.item() == pytest.approx(np.log(-value), rel=1e-6)
    assert sign.item() == -1
    assert np.isnan(nn.logsumexp(x, b=b).item())
    assert nn.logsumexp(x, b=-b).item() == pytest.approx(np.log(-value), rel=1e-6)
    assert nn.logsumexp(np.zeros(2), b=np.zeros((3, 1)), axis=1).shape == (3,)
    z = np.array([1 + 2j, 0.5 - 1j], np.complex64)
    total = np.exp(z).sum()
    assert nn.logsumexp(z).item() == pytest.approx(np.log(total), rel=1e-6)
    size, sign = nn.logsumexp(z, return_sign=True)
    assert size.item() == pytest.approx(np.log(abs(total)), rel=1e-6)
    assert sign.item() == pytest.approx(total / abs(total), rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats(dtype):
    x = wnp.array(X[0] * 3, dtype)
    wide = np.asarray(x, np.float64)
    for f, want in (
        (nn.softmax, softmax(wide)), (nn.logsumexp, logsumexp(wide)),
        (nn.standardize, standardize(wide)),
    ):  # fmt: skip
        got = f(x)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=1e-2, atol=1e-3)
    many = wnp.ones(100_000, dtype)
    assert float(nn.logsumexp(many).item()) == pytest.approx(1 + np.log(1e5), rel=5e-3)
    for where in (None, np.arange(100_000) > 0):  # more than float16 counts to
        mean = nn.logmeanexp(many, where=where)
        assert mean.dtype == np.dtype(dtype)
        assert float(mean.item()) == 1


def test_standardize_with_what_is_known():
    x = np.float32([1.0, 3.0, 8.0])
    np.testing.assert_allclose(nn.standardize(x, mean=1.0, variance=4.0, epsilon=0.0),
                               [0, 1, 3.5], rtol=1e-6)  # fmt: skip
    stable = nn.standardize(x, mean=2.0, algorithm="stable")
    np.testing.assert_allclose(stable, (x - 2) / np.sqrt(np.mean((x - 2) ** 2) + 1e-5), rtol=1e-5)
    fast = nn.standardize(x, mean=2.0)  # the mean of squares less that square
    np.testing.assert_allclose(fast, (x - 2) / np.sqrt(np.mean(x**2) - 4 + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(nn.standardize(x + 1e4, algorithm="fast"), standardize(x), rtol=1e-3)
    assert nn.standardize(np.arange(3)).dtype == np.float32
    assert nn.normalize is nn.standardize
    assert nn.standardize(x, epsilon=x).shape == (3,)


def test_softmax_of_complex_numbers():
    x = (RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))).astype(np.complex64)
    terms = np.exp(x)
    np.testing.assert_allclose(nn.softmax(x), terms / terms.sum(-1, keepdims=True), rtol=1e-4)
    mask = np.array([True, False, True, True])
    kept = np.where(mask, terms, 0)
    masked = nn.softmax(x, where=mask)
    np.testing.assert_allclose(masked, kept / kept.sum(-1, keepdims=True), rtol=1e-4)
    assert not np.any(nn.softmax(x, where=np.zeros(4, bool)))


def test_large_arrays():
    x = RNG.standard_normal((64, 300)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_allclose(nn.softmax(x), softmax(x), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: nn.softmax(1.0), ValueError, ("softmax", "axis -1")),
        (lambda: nn.softmax(np.ones(2), 1), ValueError, ("softmax", "axis 1")),
        (lambda: nn.softmax([1.0]), TypeError, ("softmax", "list")),
        (lambda: nn.softmax(np.ones(2), where=np.ones(3, bool)), ValueError, ("softmax", "3")),
        (lambda: nn.log_softmax(np.ones(2, complex)), TypeError, ("log_softmax", "real")),
        (lambda: nn.logsumexp(np.ones(2), (0, 0)), ValueError, ("logsumexp", "twice")),
        (lambda: nn.logsumexp(np.ones(2), b="a"), TypeError, ("logsumexp", "b")),
        (lambda: nn.standardize(np.ones(2), algorithm="x"), ValueError, ("algorithm", "'x'")),
        (lambda: nn.standardize(np.ones(2), mean=1j), TypeError, ("standardize", "mean")),
    ],
)
def test_refusals(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    assert all(part in str(caught.value) for part in parts), caught.value
