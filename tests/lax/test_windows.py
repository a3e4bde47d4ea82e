"""Windows: pooling and its derivatives, any computation, errors."""

import itertools

import numpy as np
import pytest

from weft import grad, hessian, jit, lax, vmap
from weft.config import eager_tier
from weft.primitives.windows import Geometry, window_place

RNG = np.random.default_rng(0)


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def max_pool(x, padding="VALID"):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), padding)


def blocks(x):
    """[n, h, w, c] -> [n, h/2, w/2, c, 4]"""
    n, h, w, c = x.shape
    x = x.reshape(n, h // 2, 2, w // 2, 2, c)
    return x.transpose(0, 1, 3, 5, 2, 4).reshape(n, h // 2, w // 2, c, 4)


@pytest.mark.parametrize("tier", ["host", "xla"])
def test_max_pooling_and_its_gradient(tier):
    x = normal(2, 4, 6, 3)
    with eager_tier(tier):
        np.testing.assert_array_equal(max_pool(x), blocks(x).max(-1))
        g = grad(lambda x: lax.reduce_sum(max_pool(x), (0, 1, 2, 3)))(x)
    expected = blocks(x) == blocks(x).max(-1, keepdims=True)
    np.testing.assert_array_equal(blocks(np.asarray(g)), expected)


def test_second_derivative_through_max_pooling():
    x = normal(1, 4, 4, 1)

    def f(x):
        return lax.reduce_sum(lax.integer_pow(max_pool(x), 3), (0, 1, 2, 3))

    h = hessian(lambda v: f(lax.reshape(v, x.shape)))(x.reshape(-1))
    wins = np.isin(x.reshape(-1), blocks(x).max(-1))
    np.testing.assert_allclose(h, np.diag(6 * x.reshape(-1) * wins), rtol=1e-5)


@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "jit"])
def test_the_first_of_equal_elements_gets_the_derivative(run):
    x = np.float32([1, 3, 3, 2, 3, 0])
    g = run(grad(lambda x: lax.reduce_sum(lax.reduce_window(x, -np.inf, lax.max, (2,)), (0,))))(x)
    assert g.tolist() == [0, 2, 1, 0, 2, 0]


def test_windows_of_padding_only_pass_no_derivative():
    x = np.float32([1.0, 2.0])

    def f(x):
        return lax.reduce_window(x, -np.inf, lax.max, (2,), (2,), [(4, 2)])

    assert f(x).tolist() == [-np.inf, -np.inf, 2.0, -np.inf]
    g = grad(lambda x: lax.index_in_dim(f(x), 2, keepdims=False))(x)
    assert g.tolist() == [0.0, 1.0]


def test_average_pooling_counts_what_is_there():
    x = normal(1, 5, 5, 1)
    args = ((1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    total = lax.reduce_window(x, 0.0, lax.add, *args)
    count = lax.reduce_window(np.ones_like(x), 0.0, lax.add, *args)
    assert np.asarray(count)[0, :, :, 0].tolist() == [[4, 6, 4], [6, 9, 6], [4, 6, 4]]
    assert np.asarray(total)[0, 1, 1, 0] == pytest.approx(x[0, 1:4, 1:4, 0].sum(), rel=1e-5)


@pytest.mark.parametrize("window", [9, 16, 31])
def test_long_windows_are_sums_by_halves(window):
    x = RNG.integers(-50, 50, 100).astype(np.int32)
    expected = np.convolve(x, np.ones(window, np.int32), "valid")
    for tier in ("host", "xla"):
        with eager_tier(tier):
            out = lax.reduce_window(x, np.int32(0), lax.add, (window,))
            np.testing.assert_array_equal(out, expected)
    gapped = lax.reduce_window(x, np.int32(0), lax.add, (window,), window_dilation=(3,))
    expected = [x[i : i + 3 * window : 3].sum() for i in range(100 - 3 * (window - 1))]
    np.testing.assert_array_equal(gapped, expected)


def test_an_initial_value_fills_the_padding():
    x = np.float32([1.0, -2.0, 3.0])
    assert lax.reduce_window(x, 0.0, lax.max, (1,), (1,), [(1, 1)]).tolist() == [0, 1, 0, 3, 0]
    assert (
        grad(
            lambda i: lax.reduce_sum(lax.reduce_window(x, i, lax.max, (1,), (1,), [(1, 1)]), (0,))
        )(0.0).item()
        == 3.0
    )


def test_any_computation_and_several_arrays():
    x, y = normal(6), normal(6)
    assert np.allclose(lax.reduce_window(x, 1.0, lax.mul, (2,)), x[1:] * x[:-1])
    s, p = lax.reduce_window((x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (3,))
    np.testing.assert_allclose(s, np.convolve(x, np.ones(3), "valid"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(p, y[:-2] * y[1:-1] * y[2:], rtol=1e-5)
    out = vmap(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,)))(np.stack([x, y]))
    np.testing.assert_allclose(out, [x[1:] * x[:-1], y[1:] * y[:-1]], rtol=1e-5)
    slope = grad(lambda x: lax.reduce_sum(lax.reduce_window(x, 1.0, lax.mul, (2,)), (0,)))(x)
    neighbours = np.pad(x, 1)[:-2] + np.pad(x, 1)[2:]
    np.testing.assert_allclose(slope, neighbours, rtol=1e-5)


def test_places_of_long_windows_agree_with_places_of_short_ones_put_together():
    # above 64 elements the compiled program is another one
    x = normal(3, 200)
    geometry = Geometry((1, 80), (1, 7), ((0, 0), (5, 9)), (1, 1), (1, 1))
    padded = np.pad(x, ((0, 0), (5, 9)), constant_values=-np.inf)
    starts = np.arange(0, padded.shape[1] - 79, 7)
    best = np.stack([padded[:, s : s + 80].argmax(1) + s - 5 for s in starts], 1)
    for tier in ("host", "xla"):
        with eager_tier(tier):
            out = window_place(x, geometry=geometry, largest=True, batch_dims=1)
            np.testing.assert_array_equal(out, best)


def places_one_by_one(x, geometry, largest):
    """The first NaN of each window, or else its first extreme; the number of elements for none."""
    lines = []
    for n, w, stride, (low, high), base, gap in zip(x.shape, *geometry, strict=True):
        length = (n - 1) * base + 1 + low + high
        starts = range(0, length - (w - 1) * gap, stride)
        at = [[s + t * gap - low for t in range(w)] for s in starts]
        kept = [[a // base for a in row if a % base == 0 and 0 <= a < n * base] for row in at]
        lines.append(kept)
    found = np.empty([len(line) for line in lines], np.int32)
    for out in np.ndindex(found.shape):
        inside = list(itertools.product(*[line[i] for line, i in zip(lines, out, strict=True)]))
        if not inside:
            found[out] = x.size
            continue
        values = np.array([x[i] for i in inside], np.float64)
        best = values.argmax() if largest else values.argmin()  # of NaNs, the first one
        found[out] = np.ravel_multi_index(inside[best], x.shape)
    return found


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    "geometry",
    [
        Geometry((70,), (1,), ((30, 80),), (1,), (1,)),
        Geometry((65,), (1,), ((-3, 5),), (1,), (2,)),
        Geometry((67,), (1,), ((2, 70),), (3,), (2,)),
        Geometry((9, 10), (1, 1), ((4, 4), (0, 12)), (1, 2), (2, 1)),
        Geometry((40, 2), (1, 2), ((39, 0), (0, 1)), (1, 1), (1, 1)),
    ],
    ids=str,
)
def test_places_in_long_windows_put_together_from_halves(geometry, largest):
    shape = (150,) if len(geometry.window) == 1 else (45, 11)
    whole = RNG.integers(-3, 4, shape).astype(np.float32)  # many are equal
    rare = whole.copy()
    rare.ravel()[RNG.integers(0, rare.size, 4)] = [np.nan, np.inf, -np.inf, np.nan]
    for x in (whole, rare, whole.astype(np.int32), whole.astype("bfloat16"), whole > 0):
        place = jit(lambda x: window_place(x, geometry=geometry, largest=largest, batch_dims=0))
        np.testing.assert_array_equal(place(x), places_one_by_one(x, geometry, largest))
    both = jit(vmap(lambda x: window_place(x, geometry=geometry, largest=largest, batch_dims=0)))
    for x, row in zip((whole, rare), both(np.stack([whole, rare])), strict=True):
        np.testing.assert_array_equal(row, places_one_by_one(x, geometry, largest))


def test_shapes():
    assert lax.reduce_window_shape_tuple((5, 8), (2, 2), (1, 2), "SAME") == (5, 4)
    assert lax.reduce_window_shape_tuple((5,), (3,), (2,), [(1, 0)], (2,), (2,)) == (3,)


def test_what_does_not_fit_is_refused():
    x = normal(3, 4)
    with refused(ValueError, "window_dimensions needs one entry for each of 2 axes"):
        lax.reduce_window(x, 0.0, lax.add, (2,))
    for wrong in ((2.7, 1), ("2", 1), 2, ("a", 1)):
        with refused(TypeError, "reduce_window: window_dimensions must be a sequence of ints"):
            lax.reduce_window(x, 0.0, lax.add, wrong)
    with refused(TypeError, "padding must be a name or a sequence of pairs of ints"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), padding=[(1.9, 0), (0, 0)])
    with refused(ValueError, "reduce_window: window_dimensions must be positive", r"\(-2, 1\)"):
        lax.reduce_window(x, 0.0, lax.add, (-2, 1))
    with refused(TypeError, "strides must be positive", r"\(0, 1\)"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (0, 1))
    with refused(ValueError, "padding must be 'SAME'"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), padding="FULL")
    with refused(TypeError, "operand and init_value must have one structure"):
        lax.reduce_window((x, x), 0.0, lax.add, (2, 2))
    with refused(TypeError, "the computation must give scalars of float32"):
        lax.reduce_window(x, 0.0, lax.lt, (2, 2))
    with refused(TypeError, "a function"):
        lax.reduce_window(x, 0.0, "add", (2, 2))
