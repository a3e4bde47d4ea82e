"""Functions of `weft.numpy` under vmap agree with a Python loop; tracers are arrays too."""

import numpy as onp
import pytest
from agreement import assert_close

import weft
import weft.numpy as np
from weft.tree_util import tree_leaves

RNG = onp.random.default_rng(5)
BATCH = RNG.standard_normal((3, 4, 5)).astype(onp.float32)
INTS = RNG.integers(-4, 5, (3, 4, 5)).astype(onp.int32)
LINE = onp.sort(RNG.standard_normal(6)).astype(onp.float32)

FUNCTIONS = {
    "floor_divide": lambda x: x // 0.7,
    "remainder": lambda x: x % 0.7,
    "power": lambda x: abs(x) ** 1.5,
    "where": lambda x: np.where(x > 0, x, x[0]),
    "clip": lambda x: np.clip(x, -0.5, x[1]),
    "sinc": np.sinc,
    "frexp": np.frexp,
    "isclose": lambda x: np.isclose(x, x.T.T),
    "sum": lambda x: np.sum(x, axis=0),
    "max": lambda x: np.max(x, axis=1, keepdims=True),
    "mean": lambda x: np.mean(x, where=x > 0),
    "var": np.var,
    "argmax": lambda x: np.argmax(x, axis=0),
    "nanargmin": np.nanargmin,
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "median": lambda x: np.median(x, axis=0),
    "nanquantile": lambda x: np.nanquantile(x, np.array([0.1, 0.6])),
    "reshape": lambda x: x.reshape(-1, 2),
    "transpose": lambda x: x.T,
    "roll": lambda x: np.roll(x, (1, 2), (0, 1)),
    "pad": lambda x: np.pad(x, 2, mode="reflect"),
    "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, np.array([1, 0, 2, 1]), axis=0),
    "concatenate": lambda x: np.concatenate([x, x[:1]]),
    "split": lambda x: np.split(x, [1, 3]),
    "dot": lambda x: np.dot(x, x.T),
    "matmul": lambda x: np.matmul(x[None], x.T),
    "einsum": lambda x: np.einsum("ij,kj->i", x, x),
    "kron": lambda x: np.kron(x, x[:1]),
    "cross": lambda x: np.cross(x[:, :3], x[:, 2:]),
    "sort": lambda x: np.sort(x, axis=0),
    "argsort": np.argsort,
    "lexsort": lambda x: np.lexsort((x[0], x[1])),
    "searchsorted": lambda x: np.searchsorted(LINE, x),
    "searchsorted in each": lambda x: np.searchsorted(np.sort(x[0]), x[1]),
    "unique": lambda x: np.unique(np.round(x), size=4, return_counts=True),
    "isin": lambda x: np.isin(np.round(x), np.arange(40.0) - 20),
    "setdiff1d": lambda x: np.setdiff1d(np.round(x), np.array([0.0]), size=5, fill_value=9.0),
    "tril": np.tril,
    "diag": lambda x: np.diag(x[0], 1),
    "diagonal": lambda x: np.diagonal(x, 1),
    "histogram": lambda x: np.histogram(x, bins=4),
    "digitize": lambda x: np.digitize(x, LINE),
    "interp": lambda x: np.interp(x, LINE, x.ravel()[:6]),
    "cov": np.cov,
    "gradient": np.gradient,
    "convolve": lambda x: np.convolve(x[0], x[1], "same"),
    "unwrap": np.unwrap,
    "polyval": lambda x: np.polyval(x[0], x),
    "linspace": lambda x: np.linspace(x[0], x[1], 3),
    "select": lambda x: np.select([x > 1, x > 0], [x, -x], 3.0),
    "delete": lambda x: np.delete(x, 1, axis=0),
    "insert": lambda x: np.insert(x, 1, x[0], axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mapped_functions_agree_with_a_loop(name):
    function = FUNCTIONS[name]
    mapped = weft.vmap(function)(BATCH)
    looped = [tree_leaves(function(np.asarray(x))) for x in BATCH]
    for i, leaf in enumerate(tree_leaves(mapped)):
        assert_close(leaf, onp.stack([onp.asarray(row[i]) for row in looped]))


@pytest.mark.parametrize("name", ["gcd", "bitwise_count", "left_shift", "packbits", "bincount"])
def test_mapped_functions_of_integers(name):
    function = {
        "gcd": lambda x: np.gcd(x, 6),
        "bitwise_count": np.bitwise_count,
        "left_shift": lambda x: x << 2,
        "packbits": np.packbits,
        "bincount": lambda x: np.bincount(x[0], length=5),
    }[name]
    wanted = onp.stack([onp.asarray(function(np.asarray(x))) for x in INTS])
    assert_close(weft.vmap(function)(INTS), wanted)


def test_tracers_are_arrays_too():
    seen = []
    weft.jit(lambda x: seen.append(isinstance(x, np.ndarray)) or x)(1.0)
    assert seen == [True]
    assert isinstance(np.ones(2), np.ndarray)
    assert not isinstance(onp.ones(2), np.ndarray)


def test_operators_give_way_to_other_objects():
    class Other:
        def __radd__(self, x):
            return "radd"

        def __rmatmul__(self, x):
            return "rmatmul"

    x = np.ones(2)
    assert x + Other() == "radd"
    assert x @ Other() == "rmatmul"
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError, match="got a list"):
        x + [1, 2]  # noqa: RUF005
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None
    assert_close(onp.ones(2, onp.float32) + x, onp.full(2, 2.0, onp.float32))
    assert isinstance(onp.ones(2) + x, np.ndarray)


def test_the_array_api_namespace():
    assert np.ones(2).__array_namespace__() is np
    with pytest.raises(ValueError, match="unknown version"):
        np.ones(2).__array_namespace__("1999")


def test_a_tracer_that_leaked_is_named():
    kept = []
    weft.jit(lambda x: kept.append(x) or x)(np.ones(3))
    for function in (
        np.sin,
        np.sum,
        np.var,
        lambda x: x + 1,
        lambda x: x // 2,
        lambda x: x.reshape(3, 1),
    ):
        with pytest.raises(weft.errors.UnexpectedTracerError):
            function(kept[0])
