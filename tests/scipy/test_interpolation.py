"""Values between samples, and integrals of samples: `ndimage`, `interpolate`, `integrate`, and
`cluster.vq`, against SciPy's."""

import itertools

import numpy as onp
import pytest
import scipy.cluster.vq as vq_oracle
import scipy.integrate as integrals
import scipy.interpolate as interpolation
import scipy.ndimage as images
from agreement import assert_close, assert_gradient
from row_names import row_name

import weft
import weft.numpy as np
from weft.scipy import integrate, ndimage
from weft.scipy.cluster import vq
from weft.scipy.interpolate import RegularGridInterpolator

rng = onp.random.default_rng(0)


@pytest.fixture
def wide():
    with weft.enable_x64(True):
        yield


# --- map_coordinates ---

SCIPYS = {"constant": "grid-constant", "wrap": "grid-wrap"}
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("order", range(6))
def test_coordinates_inside_and_far_outside(order):
    shapes = [(5,), (1,), (4, 6), (3, 2, 4)] if order < 2 else [(2,), (4, 6), (20,)]
    for shape, mode in itertools.product(shapes, MODES):
        x = rng.standard_normal(shape)
        c = [rng.uniform(-1.7 * n - 2, 2.7 * n + 2, (2, 9)) for n in shape]
        if order > 1 and mode == "reflect" and min(shape) < 20:
            continue  # SciPy's splines miss short arrays by 1e-3: see the next test
        name = SCIPYS.get(mode, mode)
        wanted = images.map_coordinates(x, c, order=order, mode=name, cval=-1.3)
        near = {3: 1e-6, 4: 1e-3, 5: 1e-3}.get(order, 1e-8) if mode == "nearest" else 1e-8
        # (nearest: SciPy goes on for 12 elements outside)
        got = ndimage.map_coordinates(x, c, order, mode, -1.3)
        onp.testing.assert_allclose(onp.asarray(got), wanted, atol=near)
        same = ndimage.map_coordinates(x, c, order, name, -1.3)
        assert_close(got, same)


@pytest.mark.usefixtures("wide")
def test_splines_go_through_the_elements():
    for order, mode, n in itertools.product(range(6), MODES, (1, 3)):
        x = rng.standard_normal(n)
        got = ndimage.map_coordinates(x, [onp.arange(float(n))], order, mode)
        onp.testing.assert_allclose(onp.asarray(got), x, atol=1e-13)


@pytest.mark.usefixtures("wide")
def test_coordinates_of_complex_numbers_coefficients_and_integers():
    c = rng.uniform(0, 3, (2, 10))
    z = rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))
    assert_close(ndimage.map_coordinates(z, c, 3, "mirror"),
                 images.map_coordinates(z, c, order=3, mode="mirror"))  # fmt: skip
    x = z.real
    got = ndimage.map_coordinates(x, list(c), 3, "mirror", prefilter=False)
    assert_close(got, images.map_coordinates(x, c, order=3, mode="mirror", prefilter=False))
    whole = onp.array([1, 2, 4, 9])
    c = [onp.array([0.4, 1.2, 2.9])]
    got = ndimage.map_coordinates(whole, c, 1)
    assert got.dtype == "int64"
    assert got.tolist() == images.map_coordinates(whole, c, order=1).tolist()
    assert ndimage.map_coordinates(whole, [onp.array([1, 3])], 0).tolist() == [2, 9]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_coordinates_in_the_middle_between_elements(order, dtype):
    for n, mode in itertools.product((1, 2, 7, 10), MODES):
        x = (7 * onp.arange(n) % 11 - 5).astype(dtype)
        c = onp.arange(-4 * n, 5 * n, 0.5)[None]
        wanted = images.map_coordinates(x, c, order=order, mode=SCIPYS.get(mode, mode), cval=3)
        got = ndimage.map_coordinates(x, c, order, mode, 3)
        assert got.dtype == dtype
        assert_close(got, wanted)
        compiled = weft.jit(lambda x, c, mode=mode: ndimage.map_coordinates(x, c, order, mode, 3))
        assert_close(compiled(x, c), wanted)


def test_coordinates_in_narrow_dtypes_compiled_mapped_and_broadcast():
    x, c = rng.standard_normal((4, 5)).astype("f"), rng.uniform(-1, 5, (2, 3, 2)).astype("f")
    for order in (1, 3):
        wanted = images.map_coordinates(x.astype("d"), c, order=order, mode="mirror")
        read = weft.jit(lambda x, c, order=order: ndimage.map_coordinates(x, c, order, "mirror"))
        assert_close(read(x, c), wanted)
        assert_close(weft.vmap(read, (None, 1), 0)(x, c), wanted)
    half = ndimage.map_coordinates(x.astype("float16"), c, 1, "mirror")
    assert half.dtype == "float16"
    two = ndimage.map_coordinates(x, [np.float32(1.0), np.arange(3.0)], 1)
    assert_close(two, x[1, :3])


def test_gradients_of_coordinates():
    x, c = rng.standard_normal((4, 5)), rng.uniform(0.1, 2.9, (2, 3))
    for order, mode in [(1, "constant"), (2, "reflect"), (3, "nearest")]:
        assert_gradient(lambda x, c, o=order, m=mode: ndimage.map_coordinates(x, c, o, m), x, c)


# --- grids ---


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("step", [1, -1])
def test_grids(method, step):
    for shape, extra in [((4,), ()), ((4, 5), ()), ((3, 2, 4), (2,)), ((2, 3), (2, 2))]:
        grid = [onp.cumsum(rng.uniform(0.2, 1, n)) for n in shape]
        xi = onp.stack([rng.uniform(x[0] - 0.5, x[-1] + 0.5, (3, 7)) for x in grid], -1)
        xi[0, 0] = onp.nan
        xi[1, :3] = [[x[i] for x in grid] for i in (0, 1, -1)]
        xi[2, 0] = [(x[0] + x[1]) / 2 for x in grid] if step > 0 else xi[1, 0]  # as near to both
        grid = [x[::step] for x in grid]
        values = rng.standard_normal(shape + extra)
        for fill in (onp.nan, None, 2.5):
            options = {"method": method, "bounds_error": False, "fill_value": fill}
            got = RegularGridInterpolator(grid, values, **options)(xi)
            assert_close(got, interpolation.RegularGridInterpolator(grid, values, **options)(xi))


def test_grids_are_compiled_differentiated_and_checked():
    x, y = onp.array([0.0, 1.0, 3.0]), onp.array([0.0, 2.0])
    values, xi = rng.standard_normal((3, 2)), onp.array([[0.3, 1.5], [2.0, 0.2]])

    def read(x, values, xi):
        return RegularGridInterpolator((x, y), values)(xi)

    assert_gradient(read, x, values, xi)
    wanted = interpolation.RegularGridInterpolator((x, y), values)(xi)
    assert_close(weft.jit(read)(x, values, xi), wanted.astype("f"))
    f = RegularGridInterpolator((x, y), values, bounds_error=True)
    assert_close(f(xi), wanted.astype("f"))
    assert_close(f((xi[:, 0], xi[:, 1])), wanted.astype("f"))
    assert f(xi, method="nearest").shape == (2,)
    with pytest.raises(ValueError, match="2 of 2 points are outside the grid, which goes"):
        f(xi + 3)
    with pytest.raises(ValueError, match="can't be held in a compiled program"):
        weft.jit(f)(xi)
    line = RegularGridInterpolator(([0, 1],), np.array([1, 3]))
    assert line(np.array([0.5, 2.0])).tolist()[0] == 2.0
    single = RegularGridInterpolator((x, [1.0]), values[:, :1], fill_value=None)
    assert_close(single(np.array([1.0, 1.0])), values[1, :1].astype("f"))


@pytest.mark.parametrize(
    "points",
    [
        [0.3, 1.5],
        [[0.3, 1.5], [2.0, 0.2], [1.0, 1.0]],
        [[0.3, 1.5], [2.0, 0.2]],
        onp.array([0.3, 1.5, 2.0, 0.2]),
        (0.3, 1.5),
        ([0.3, 2.0], [1.5, 0.2]),
        (onp.ones((3, 1)), onp.ones(2)),
    ],
)
def test_points_of_grids_come_in_scipys_forms(points):
    grid, values = ([0.0, 1.0, 3.0], [0.0, 2.0]), onp.array([[1.0, 2.0], [4.0, 8.0], [0.0, -3.0]])
    wanted = interpolation.RegularGridInterpolator(grid, values)(points)
    assert_close(RegularGridInterpolator(grid, values)(points), wanted.astype("f"))


# --- integrals ---


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", ["trapezoid", "simpson", "cumulative_trapezoid"])
def test_integrals(name):
    function, expected = getattr(integrate, name), getattr(integrals, name)
    for n, axis in itertools.product(range(1, 8), (0, 1, -1)):
        shape = [3, 4]
        shape[axis] = n
        y = rng.standard_normal(shape)
        line, table = (
            onp.cumsum(rng.uniform(0.1, 1, n)),
            onp.cumsum(rng.uniform(0.1, 1, shape), axis),
        )
        more = [{}, {"initial": 0}] if name.startswith("cum") else [{}]
        for x, options in itertools.product((line, table, None), more):
            if x is None:
                options = {**options, "dx": 0.3}
            assert_close(function(y, x, axis=axis, **options), expected(y, x, axis=axis, **options))


def test_integrals_are_compiled_and_differentiated():
    y, x = rng.standard_normal(6), onp.cumsum(rng.uniform(0.1, 1, 6))
    for f in (integrate.simpson, integrate.cumulative_trapezoid, integrate.trapezoid):
        assert_gradient(lambda y, x, f=f: f(y, x), y, x)
    got = weft.jit(lambda y, x: integrate.simpson(y, x))(y, x)
    assert_close(got, onp.float32(integrals.simpson(y, x)))
    assert integrate.simpson(np.arange(3)).dtype == "float32"


# --- vector quantisation ---


def test_codes_of_observations():
    x, codes = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    for a, b in [(x, codes), (x[:, 0], codes[:, 0]), (x[:0], codes)]:
        places, distances = vq.vq(a, b)
        wanted = vq_oracle.vq(a, b) if len(a) else (onp.zeros(0), onp.zeros(0))
        assert places.dtype == "int32"
        assert places.tolist() == wanted[0].tolist()
        assert_close(distances, wanted[1].astype("f"))
    assert vq.vq(np.array([1]), np.array([0, 2, 0]))[0].tolist() == [0]
    assert_close(weft.jit(vq.vq)(x, codes)[1], vq_oracle.vq(x, codes)[1].astype("f"))
    assert_gradient(lambda x, c: vq.vq(x, c)[1], x, codes)


X = onp.ones((2, 3), "f")
GRID = (onp.arange(2.0), onp.arange(3.0))
BAD = [
    (lambda: ndimage.map_coordinates(X, [X, X], 6), ValueError, "order must be from 0 to 5; got 6"),
    (lambda: ndimage.map_coordinates(X, [X, X], 1.0), TypeError, "order must be an int"),
    (lambda: ndimage.map_coordinates(X, [X, X], 1, "x"), ValueError, "mode must be one of"),
    (lambda: ndimage.map_coordinates(X, [X], 1), ValueError, "coordinates for each axis"),
    (lambda: ndimage.map_coordinates(X[:0], [X, X], 1), ValueError, "must have elements"),
    (lambda: RegularGridInterpolator(GRID, X, "cubic"), ValueError, "method must be one of"),
    (lambda: RegularGridInterpolator(GRID, X)(X, "cubic"), ValueError, "method must be one of"),
    (lambda: RegularGridInterpolator(GRID, X[0]), ValueError, "2 axes of points for values"),
    (lambda: RegularGridInterpolator(GRID, X.T), ValueError, r"points\[0\] must be one number"),
    (lambda: RegularGridInterpolator(([0, 0], [0, 1, 2]), X), ValueError, "rise or fall"),
    (lambda: RegularGridInterpolator(GRID, X)(X), ValueError, "points must have 2 coordinates"),
    (lambda: integrate.simpson(X[:, :0]), ValueError, "simpson: the axis -1 of y must have"),
    (lambda: integrate.simpson(X, X[:, :2]), ValueError, "x must be as long as y"),
    (lambda: integrate.simpson(X, axis=2), ValueError, "axis 2 is out of range"),
    (lambda: integrate.cumulative_trapezoid(X, initial=1), ValueError, "initial must be None or 0"),
    (lambda: integrate.cumulative_trapezoid(X, dx=X), ValueError, "dx must be a number"),
    (lambda: integrate.cumulative_trapezoid(X[:, :0]), ValueError, "must have elements"),
    (lambda: vq.vq(X, X[0]), ValueError, r"expected obs \[n, d\]"),
    (lambda: vq.vq(X, X[:, :2]), ValueError, r"expected obs \[n, d\]"),
    (lambda: vq.vq(X, X[:0]), ValueError, "must have codes"),
]


@pytest.mark.parametrize("place", BAD, ids=row_name)
def test_bad_arguments(place):
    call, kind, message = place
    with pytest.raises(kind, match=message):
        call()
