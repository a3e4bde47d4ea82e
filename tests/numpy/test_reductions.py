"""Reductions against NumPy: axes, dtypes, masks, NaNs, plans, derivatives."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np
from weft import lax

RNG = onp.random.default_rng(1)
X = RNG.standard_normal((2, 3, 4)).astype(onp.float32)
INTS = RNG.integers(-5, 6, (2, 3, 4)).astype(onp.int32)
FLAGS = RNG.integers(0, 2, (2, 3, 4)).astype(bool)
MASK = RNG.integers(0, 2, (3, 4)).astype(bool)
MASK[0, 0] = MASK[1, 1] = True
HOLES = onp.where(RNG.random((2, 3, 4)) < 0.3, onp.nan, X)
HOLES[0, 0] = onp.nan
COMPLEX = (X + 1j * X[::-1]).astype(onp.complex64)

AXES = [None, 0, -1, (0, 2), (), (2, 0, 1)]
ALL = ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "ptp", "count_nonzero"]
NAN = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_over_axes(name, axis, keepdims):
    if name == "count_nonzero" and axis == ():
        pytest.skip("NumPy takes () for all axes here")
    agree(name, X, axis=axis, keepdims=keepdims, compiled=axis == (0, 2))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "var"])
@pytest.mark.parametrize("x", [INTS, FLAGS, INTS.astype(onp.int8), COMPLEX], ids=str)
def test_reductions_of_dtypes(name, x):
    if x.dtype == bool and name in ("max", "min"):
        agree(name, x, axis=1)
        return
    x = onp.clip(x, -3, 3) if x.dtype.kind == "i" else x
    agree(name, x, axis=1)


@pytest.mark.parametrize("x", [INTS.astype(onp.int8), INTS.astype(onp.uint16), FLAGS])
def test_sums_of_small_integers_are_promoted(x):
    result = agree("sum", x)
    assert result.dtype == ("uint32" if x.dtype == onp.uint16 else "int32")
    assert np.sum(np.asarray(x[:1, :1, :1]), promote_integers=False).dtype == (
        "int32" if x.dtype == bool else x.dtype
    )


def test_sums_of_16_bit_floats_are_kept_in_float32():
    x = np.ones(5000, dtype="bfloat16")
    assert float(x.sum()) == 4992.0  # 5000 in bfloat16; a sum in bfloat16 stops at 256
    assert float(weft.jit(np.sum)(x)) == 4992.0
    assert float(np.mean(np.full(4000, 60000.0, "float16"))) == 60000.0


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all"])
def test_where(name):
    agree(name, X, axis=2, where=MASK)


@pytest.mark.parametrize("name", ["max", "min"])
def test_where_needs_an_initial_value(name):
    agree(name, X, axis=1, where=MASK, initial=0.25)
    with pytest.raises(ValueError, match=f"{name}: where needs an initial value"):
        getattr(np, name)(np.asarray(X), where=MASK)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial(name):
    agree(name, X, axis=0, initial=0.5)
    assert_close(getattr(np, name)(np.zeros((0, 3)), 0, initial=2.0), onp.full(3, 2.0, onp.float32))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_dtype(name, dtype):
    if (name, dtype) == ("mean", "int32"):
        pytest.skip("NumPy divides integers here")
    result = agree(name, X[0, :2], dtype=dtype)
    assert result.dtype == dtype


def test_ddof_and_correction():
    agree("var", X, axis=1, ddof=1)
    agree("std", X, axis=(0, 1), ddof=2)
    assert_close(np.var(X, correction=1), onp.var(X, ddof=1))
    assert_close(np.var(X, 1, mean=np.mean(X, 1, keepdims=True)), onp.var(X, 1))


@pytest.mark.parametrize("name", NAN)
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_without_nans(name, axis):
    agree(name, HOLES, axis=axis, compiled=axis == 1)


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize("x", [HOLES[1], X[1], INTS[1]], ids=["nan", "f", "i"])
def test_variances_about_a_known_mean(name, x):
    for mean in (onp.array([[0.5], [1.0], [-2.0]]), onp.nanmean(x, 1, keepdims=True)):
        agree(name, x, axis=1, mean=mean, ddof=1)
    agree(name, x, axis=1, correction=0.5)
    mean = onp.array([0.5, 1.0, -2.0, 0.0], onp.float32)
    function = getattr(np, name)
    mapped = weft.vmap(lambda x, m: function(x, mean=m))(np.asarray(x.T), mean)
    assert_close(mapped, getattr(onp, name)(x, 0, mean=mean))
    wide = x.astype(onp.float64)
    assert_gradient(lambda m: function(wide, 0, mean=m), mean + 3)
    with pytest.raises(ValueError, match="correction is another name of ddof"):
        function(x, ddof=1, correction=1)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_places_without_nans(name):
    agree(name, HOLES[1], axis=1, oracle=lambda x, axis: getattr(onp, name)(x, axis))
    assert getattr(np, name)(np.array([np.nan, np.nan])) == -1


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_places(name, axis):
    agree(name, X, axis=axis)
    agree(name, INTS, axis=axis, keepdims=True)
    assert getattr(np, name)(np.asarray(HOLES)) == onp.flatnonzero(onp.isnan(HOLES))[0]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("axis", [None, 0, 2])
def test_running(name, axis):
    agree(name, HOLES if name.startswith("nan") else X, axis=axis)
    agree(name, INTS, axis=axis)


def test_running_from_an_initial_value():
    assert_close(np.cumulative_sum(np.arange(4), include_initial=True), onp.array([0, 0, 1, 3, 6]))
    assert_close(
        np.cumulative_prod(np.asarray(X), axis=1, include_initial=True)[:, 1:], onp.cumprod(X, 1)
    )


@pytest.mark.parametrize(
    "name", ["sum", "mean", "var", "std", "prod", "max", "min", "cumsum", "cumprod", "ptp"]
)
def test_gradients(name):
    assert_gradient(lambda x: getattr(np, name)(x, axis=1), X[0].astype(onp.float64))
    if name in ("sum", "mean", "var"):
        assert_gradient(lambda x: getattr(np, name)(x, axis=1, where=MASK), X[0])


def test_gradient_of_nanmean():
    x = X[0].astype(onp.float64)
    assert_gradient(lambda v: np.nanmean(np.where(MASK, v, np.nan), axis=1), x)


@pytest.mark.parametrize("name", ["sum", "max", "mean", "argmax", "cumsum", "any"])
def test_axis_out_of_range(name):
    with pytest.raises(ValueError, match=f"{name}: axis 3 is out of range"):
        getattr(np, name)(np.asarray(X), axis=3)


def test_an_axis_twice():
    with pytest.raises(ValueError, match="twice"):
        np.sum(np.asarray(X), axis=(0, -3))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_nothing_has_no_extreme(name):
    with pytest.raises(ValueError, match="empty"):
        getattr(np, name)(np.zeros((0,)))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "any"])
def test_out_is_refused(name):
    with pytest.raises(NotImplementedError, match=f"{name}: out must be None"):
        getattr(np, name)(np.ones(2), out=onp.zeros(()))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "any", "std", "argmin", "cumsum"])
def test_lists_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: expected .* got a list"):
        getattr(np, name)([1, 2])


def test_plans_follow_the_x64_switch():
    x = np.arange(3)
    for _ in range(4):
        assert np.sum(x).dtype == onp.int32
        with weft.enable_x64(True):
            assert np.sum(np.asarray(x)).dtype == onp.int64
            assert np.mean(x).dtype == onp.float64


STRONG = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "ptp": np.ptp,
    "var": np.var, "std": np.std, "average": np.average, "median": np.median,
    "nansum": np.nansum, "nanmax": np.nanmax, "nanstd": np.nanstd, "cumsum": np.cumsum,
    "cumulative_prod": np.cumulative_prod, "cov": np.cov, "trapezoid": np.trapezoid,
    "nan_to_num": np.nan_to_num, "softmax": weft.nn.softmax, "log_softmax": weft.nn.log_softmax,
    "logsumexp": weft.nn.logsumexp, "standardize": weft.nn.standardize,
    "a method": lambda x: x.sum(), "initial": lambda x: np.max(x, initial=0.0),
}  # fmt: skip
WEAK = {
    "sort": np.sort, "flip": np.flip, "pad": lambda x: np.pad(x, 1),
    "insert": lambda x: np.insert(x, 0, 1.0), "top_k": lambda x: weft.lax.top_k(x, 2)[0],
    "reduce_sum": lambda x: weft.lax.reduce_sum(x, (0,)), "where": lambda x: np.where(x > 0, x, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", [*STRONG, *WEAK])
def test_which_functions_keep_a_weak_type(name):
    """A sum of weak numbers is a float32, and a product with it has that dtype, as in JAX."""
    weak = np.where(onp.array([True, False, True]), 1.0, 0.5)
    assert weak.weak_type
    function = (STRONG | WEAK)[name]
    for run in function, weft.jit(function):
        result = run(weak)
        assert result.weak_type is (name in WEAK)
        product_dtype = (result * np.asarray(2, "bfloat16")).dtype
        assert product_dtype == ("bfloat16" if name in WEAK else "float32")


NUMBERS = onp.array([[3.7, -2.7, 1.5], [0.0, -7.9, 5.2]], "f")


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int16", "bool", "float16", "complex64"])
@pytest.mark.parametrize("name", ["mean", "sum", "prod", "cumsum", "cumprod"])
def test_dtype_is_that_of_the_computation(name, dtype, axis):
    expected = getattr(onp, name)(NUMBERS, axis=axis, dtype=dtype)
    for run in (lambda f: f(NUMBERS), lambda f: weft.jit(f)(NUMBERS)):
        found = run(lambda x: getattr(np, name)(x, axis=axis, dtype=dtype))
        assert found.dtype == expected.dtype
        tolerance = 1e-2 if dtype == "float16" else 1e-6
        onp.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_whole_means_with_a_mask():
    mask = NUMBERS > 0
    expected = onp.mean(NUMBERS, axis=1, dtype="int32", where=mask)
    assert np.mean(NUMBERS, axis=1, dtype="int32", where=mask).tolist() == expected.tolist()
    assert np.nanprod(NUMBERS, dtype=bool).tolist() is bool(onp.nanprod(NUMBERS, dtype=bool))


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_of_a_complex_dtype(name):
    for x in (NUMBERS, COMPLEX):
        expected = getattr(onp, name.removeprefix("nan"))(x, dtype="complex64")
        found = getattr(np, name)(x, dtype="complex64")
        assert found.dtype == onp.complex64
        onp.testing.assert_allclose(found, expected, rtol=1e-5)


ROWS = onp.where(RNG.random((6, 5, 40)) < 0.02, onp.nan, RNG.integers(-2, 3, (6, 5, 40)))
LAYOUTS = {
    "rows": lambda x: x,
    "every other row": lambda x: x[::2],
    "backwards": lambda x: x[..., ::-1],
    "columns": lambda x: x.transpose(1, 2, 0),
    "part of a row": lambda x: x[..., 3:20],
}


ROW_CASES = [
    (name, dtype)
    for name, dtypes in [
        ("max", "float32 int16 uint8 float16"),
        ("min", "float32 int8"),
        ("prod", "float32 int8 uint8 complex64"),
        ("and", "bool int32"),
        ("or", "bool uint8"),
    ]
    for dtype in dtypes.split()
]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("axes", [(2,), (2, 1), (1, 0), (1,)], ids=str)
@pytest.mark.parametrize(("name", "dtype"), ROW_CASES)
def test_rows_of_every_layout_are_reduced(layout, axes, name, dtype):
    x = ROWS if dtype in ("float32", "float16", "complex64") else onp.nan_to_num(ROWS)
    x = (abs(x) if dtype == "uint8" else x).astype(dtype)
    with weft.config.temporarily(eager_tier="host"):
        got = getattr(lax, f"reduce_{name}")(layout(np.array(x)), axes)
    ufunc = {
        "max": onp.maximum, "min": onp.minimum, "prod": onp.multiply,
        "and": onp.bitwise_and, "or": onp.bitwise_or,
    }[name]  # fmt: skip
    expected = ufunc.reduce(layout(x), axis=axes, dtype=None if dtype == "bool" else dtype)
    assert onp.asarray(got).dtype == dtype
    onp.testing.assert_allclose(onp.asarray(got), expected, rtol=1e-6)


def test_zeros_in_rows_keep_their_signs():
    x = np.array([[-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0], [-1.0, -0.0], [1.0, 0.0]])
    assert onp.signbit(np.max(x[:4], axis=1)).tolist() == [False, True, False, True]
    assert onp.signbit(np.min(x[1:], axis=1)).tolist() == [True, False, True, False]
