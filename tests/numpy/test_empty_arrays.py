"""Functions of arrays with a length of zero, against NumPy's: a table of functions and shapes."""

import warnings

import numpy as onp
import pytest

import weft
import weft.numpy as np

SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 3)]
# fmt: off
REDUCTIONS = [
    "all", "any", "sum", "prod", "max", "min", "mean", "std", "var", "ptp", "argmax", "argmin",
    "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanargmax", "nanargmin",
    "median", "nanmedian", "count_nonzero", "cumsum", "cumprod", "sort", "argsort", "diff", "flip",
    "trapezoid", "unwrap", "nancumsum",
]
OTHERS = [
    "unique", "ravel", "transpose", "flatnonzero", "argwhere", "squeeze", "fliplr", "flipud",
    "atleast_2d", "diagflat", "gradient", "nan_to_num", "ediff1d", "sinc", "i0",
]
# fmt: on
PAIRS = {
    "concatenate": lambda np, x: np.concatenate([x, x]),
    "stack": lambda np, x: np.stack([x, x], -1),
    "append": lambda np, x: np.append(x, x),
    "isin": lambda np, x: np.isin(x, x),
    "dot": lambda np, x: np.dot(x, np.swapaxes(x, -1, -2) if x.ndim > 1 else x),
    "vdot": lambda np, x: np.vdot(x, x),
    "inner": lambda np, x: np.inner(x, x),
    "outer": lambda np, x: np.outer(x, x),
    "kron": lambda np, x: np.kron(x, x),
    "tensordot": lambda np, x: np.tensordot(x, x, x.ndim),
    "einsum": lambda np, x: np.einsum("...i,...i->...", x, x),
    "where": lambda np, x: np.where(x > 0, x, x),
    "allclose": lambda np, x: np.allclose(x, x),
    "take": lambda np, x: np.take(x, onp.zeros(0, int)),
    "take_along_axis": lambda np, x: np.take_along_axis(x, onp.zeros(x.shape, int), 0),
    "repeat": lambda np, x: np.repeat(x, 2, 0),
    "tile": lambda np, x: np.tile(x, 2),
    "roll": lambda np, x: np.roll(x, 1),
    "pad": lambda np, x: np.pad(x, 1),
    "resize": lambda np, x: np.resize(x, (2, 2)),
    "array_split": lambda np, x: np.array_split(x, 2)[0],
    "interp": lambda np, x: np.interp(x, onp.ones(2), onp.ones(2)),
    "histogram": lambda np, x: np.histogram(x)[0],
    "delete": lambda np, x: np.delete(x, onp.zeros(0, int), 0),
}


def outcome(f, module, x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's: "Mean of empty slice"
            return onp.asarray(f(module, x))
    except (ValueError, IndexError) as error:
        return type(error)


def agree(f, x):
    expected, found = outcome(f, onp, x), outcome(f, np, x)
    if isinstance(expected, type):
        assert isinstance(found, type)
        return
    assert found.shape == expected.shape
    onp.testing.assert_array_equal(found, expected)
    compiled = weft.jit(lambda v: f(np, v))
    if not isinstance(found, type) and f in SHAPED:
        onp.testing.assert_array_equal(compiled(x), expected)


SHAPED = [PAIRS[name] for name in ("dot", "einsum", "tensordot", "kron")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_nothing(name, shape):
    for axis in (None, *range(len(shape))):
        options = {} if axis is None else {"axis": axis}
        agree(lambda np, x, o=options: getattr(np, name)(x, **o), onp.zeros(shape, "f"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*OTHERS, *PAIRS])
def test_functions_of_nothing(name, shape):
    agree(PAIRS.get(name, lambda np, x: getattr(np, name)(x)), onp.zeros(shape, "f"))


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_only_an_empty_axis_has_no_extreme(name):
    f = getattr(np, name)
    assert f(onp.zeros((2, 0)), axis=0).shape == (0,)
    assert f(onp.zeros((2, 0)), axis=0, keepdims=True).shape == (1, 0)
    assert weft.jit(lambda x: f(x, axis=0))(onp.zeros((2, 0))).shape == (0,)
    for axis in (1, -1, None):
        with pytest.raises(ValueError, match="an empty"):
            f(onp.zeros((2, 0)), axis=axis)


def test_quantiles_of_nothing_are_nan():
    for f in (np.quantile, np.nanquantile):
        found = f(np.zeros((2, 0)), np.array([0.1, 0.9]), axis=1, keepdims=True)
        assert found.shape == (2, 2, 1)
        assert np.isnan(found).all()
