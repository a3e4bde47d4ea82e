"""NumPy's own functions on weft's arrays: those that call methods give weft's arrays."""

import inspect

import numpy as onp
import pytest

import weft
import weft.numpy as np

X = onp.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], "float32")
V = onp.array([1.0, 2.0, 3.0], "float32")
TRUE = onp.array(True)

BY_METHODS = {
    "sum": lambda x: onp.sum(x),
    "sum of an axis": lambda x: onp.sum(x, axis=0, keepdims=True, initial=1, where=TRUE),
    "sum dtype": lambda x: onp.sum(x, dtype="int32"),
    "prod": lambda x: onp.prod(x, axis=1),
    "mean": lambda x: onp.mean(x),
    "mean where": lambda x: onp.mean(x, axis=0, keepdims=True, where=X > 0),
    "std": lambda x: onp.std(x, ddof=1),
    "std correction": lambda x: onp.std(x, correction=1),
    "var": lambda x: onp.var(x, axis=1),
    "var of a mean": lambda x: onp.var(x, mean=onp.mean(x, keepdims=True)),
    "min": lambda x: onp.min(x, axis=0),
    "max": lambda x: onp.max(x, initial=9.0),
    "amin": lambda x: onp.amin(x),
    "amax": lambda x: onp.amax(x, axis=1),
    "any": lambda x: onp.any(x, axis=1),
    "all": lambda x: onp.all(x, keepdims=True),
    "argmax": lambda x: onp.argmax(x, axis=0),
    "argmin": lambda x: onp.argmin(x, axis=1, keepdims=True),
    "argsort": lambda x: onp.argsort(x, axis=0, kind=None, stable=True),
    "choose": lambda x: onp.choose(x.astype("int32") % 2, [X, -X]),
    "compress": lambda x: onp.compress(onp.array([True, False]), x, axis=0),
    "cumsum": lambda x: onp.cumsum(x, axis=1),
    "cumprod": lambda x: onp.cumprod(x),
    "nonzero": lambda x: onp.nonzero(x)[1],
    "repeat": lambda x: onp.repeat(x, 2, axis=0),
    "reshape": lambda x: onp.reshape(x, (3, 2)),
    "round": lambda x: onp.round(x / 3, 2),
    "around": lambda x: onp.around(x / 3),
    "searchsorted": lambda x: onp.searchsorted(x[0].sum() * 0 + np.asarray(V), V, side="right"),
    "squeeze": lambda x: onp.squeeze(x[None]),
    "swapaxes": lambda x: onp.swapaxes(x, 0, 1),
    "take": lambda x: onp.take(x, onp.array([0, -1]), axis=1),
    "take one": lambda x: onp.take(x, 1),
    "transpose": lambda x: onp.transpose(x),
}


@pytest.mark.parametrize("name", BY_METHODS)
def test_a_function_that_calls_a_method_gives_an_array(name):
    found, expected = BY_METHODS[name](np.asarray(X)), BY_METHODS[name](X)
    assert isinstance(found, weft.Array)
    onp.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.shape == onp.shape(expected)


TRACED = [name for name in BY_METHODS if name not in ("compress", "nonzero", "take", "take one")]


def test_they_work_on_tracers_too():
    functions = [BY_METHODS[name] for name in TRACED if name != "choose"]
    found = weft.jit(lambda x: [f(x) for f in functions])(X)
    for f, result in zip(functions, found, strict=True):
        onp.testing.assert_allclose(result, f(X), rtol=1e-6)


GIVE_NDARRAYS = {
    "sin": onp.sin,
    "concatenate": lambda x: onp.concatenate([x, x]),
    "linalg.norm": onp.linalg.norm,
    "einsum": lambda x: onp.einsum("ij->j", x),
    "where": lambda x: onp.where(x > 1, x, 0),
    "sort": onp.sort,
    "diagonal": onp.diagonal,
    "ravel": onp.ravel,
    "trace": onp.trace,
    "median": onp.median,
    "isclose": lambda x: onp.isclose(x, x),
}


@pytest.mark.parametrize("name", GIVE_NDARRAYS)
def test_the_others_compute_in_numpy(name):
    f = GIVE_NDARRAYS[name]
    found = f(np.asarray(X))
    assert isinstance(found, onp.ndarray | onp.generic)
    onp.testing.assert_array_equal(found, f(X))


WITH_OUT = [
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "any",
    "all",
    "ptp",
    "argmin",
    "argmax",
    "cumsum",
    "cumprod",
]


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_is_refused(name):
    target = np.zeros(())
    with pytest.raises(NotImplementedError, match=f"{name}: out must be None.*immutable"):
        getattr(np.asarray(X), name)(out=target)
    assert getattr(np.asarray(X), name)(out=None).ndim <= 1


def test_an_index_out_of_range_is_numpys_error():
    with pytest.raises(IndexError, match="out of range: expected -3 to 2"):
        onp.take(np.asarray(V), 3)


METHODS = [
    "sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "any", "all",
    "cumsum", "cumprod", "take", "round", "trace", "searchsorted", "diagonal", "choose",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_the_parameters_come_in_numpys_order(name):
    # NumPy's methods have no signature; their docstrings begin with it
    own = list(inspect.signature(getattr(np.ones(1), name)).parameters)
    doc = getattr(onp.ndarray, name).__doc__.split("(", 1)[1].split(")\n", 1)[0]
    theirs = [part.split("=")[0].strip(" *\n[]") for part in doc.split(",")]
    theirs = [t for t in theirs if t and t != "/"]
    shared = [p for p in own if p in theirs]
    assert shared == [t for t in theirs if t in shared]
    assert own[: len(shared)] == shared
