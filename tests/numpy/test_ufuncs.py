"""ufuncs: the methods of NumPy's, of the functions that have them and of one's own."""

import numpy as onp
import pytest
import scipy.special

import weft
from weft import errors, numpy as np
from weft.scipy import special

X = onp.random.RandomState(0).randn(4, 5).astype(onp.float32)
NAMES = (
    "add", "subtract", "multiply", "maximum", "minimum", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip


def of(name):
    return getattr(np, name), getattr(onp, name)


def elements(name):
    if name.startswith("bitwise"):
        return onp.arange(3, 23, dtype=onp.int32).reshape(4, 5) ** 2
    return X > 0 if name.startswith("logical") else X


def same(got, expected):
    onp.testing.assert_allclose(onp.asarray(got), expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_numpys(name):
    ours, theirs = of(name)
    x = elements(name)
    assert isinstance(ours, np.ufunc)
    assert (ours.nin, ours.nout, ours.nargs) == (2, 1, 3)
    assert ours.identity == theirs.identity
    for axis in (0, -1):
        same(ours.reduce(x, axis=axis), theirs.reduce(x, axis=axis))
        same(ours.reduce(x, axis, keepdims=True), theirs.reduce(x, axis, keepdims=True))
        same(ours.accumulate(x, axis=axis), theirs.accumulate(x, axis=axis))
        pieces = onp.array([0, 2, 1, 3])
        same(ours.reduceat(x, pieces, axis=axis), theirs.reduceat(x, pieces, axis=axis))
    same(ours.outer(x[0], x), theirs.outer(x[0], x))
    places, changed = onp.array([0, 1, 0]), x.copy()
    theirs.at(changed, places, x[3])
    same(ours.at(x, places, x[3], inplace=False), changed)

    def several(x):
        return ours.reduce(x, axis=1), ours.accumulate(x), ours.outer(x, x)

    for got, expected in zip(weft.jit(several)(x), several(x), strict=True):
        same(got, onp.asarray(expected))


def test_reductions_of_some_elements():
    mask = X[0] > 0
    for name in ("add", "multiply", "logaddexp"):
        ours, theirs = of(name)
        same(ours.reduce(X, 1, where=mask), theirs.reduce(X, 1, where=mask))
        same(ours.reduce(X, 1, initial=2.0), theirs.reduce(X, 1, initial=2.0))
        same(ours.reduce(X, (0, 1)), theirs.reduce(X, (0, 1)))
        same(ours.reduce(X, None), theirs.reduce(X, None))
        same(ours.reduce(X[:0]), theirs.reduce(X[:0]))
    same(np.subtract.reduce(X, initial=1.0), onp.subtract.reduce(X, initial=1.0))
    same(np.logical_and.reduce(X > 0, initial=True), onp.logical_and.reduce(X > 0, initial=True))
    assert np.add.reduce(onp.int8([100, 100])).item() == 200
    assert np.add.reduce(onp.int8([100, 100]), dtype="int8").item() == -56
    assert np.add.accumulate(onp.int8([100, 100]), dtype="int8").tolist() == [100, -56]
    assert np.add.accumulate(onp.ones(2, bool), dtype=bool).dtype == bool


def test_functions_of_one_operand():
    changed = X.copy()
    onp.negative.at(changed, [0, 1, 0])
    same(np.negative.at(X, onp.array([0, 1, 0]), inplace=False), changed)
    assert (np.negative.nin, np.negative.nargs, np.negative.identity) == (1, 2, None)


def test_a_function_of_ones_own():
    hypot = np.frompyfunc(lambda x, y: np.sqrt(x * x + y * y), 2, 1, identity=0.0)
    assert isinstance(hypot, np.ufunc)
    assert repr(hypot).startswith("<ufunc")
    same(hypot(X, 1.0), onp.hypot(X, 1))
    same(hypot.reduce(X), onp.hypot.reduce(X))
    same(hypot.accumulate(X, 1), onp.hypot.accumulate(X, 1))
    same(hypot.outer(X[0], X), onp.hypot.outer(X[0], X))
    same(weft.vmap(hypot.reduce)(X), onp.hypot.reduce(X, axis=1))
    slope = weft.grad(lambda x: hypot.reduce(x))(X[0])
    same(slope, X[0] / onp.linalg.norm(X[0]))
    both = np.ufunc(lambda x: (x, -x), 1, 2, name="both")
    assert [y.shape for y in both(X)] == [(4, 5), (4, 5)]


def test_plain_functions_are_no_ufuncs():
    assert not isinstance(np.sum, np.ufunc)
    assert not isinstance(3, np.ufunc)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: np.subtract.reduce(X, (0, 1)), ValueError, "order of elements"),
        (lambda: np.subtract.reduce(X[:0]), ValueError, "initial"),
        (lambda: np.subtract.reduce(X, where=X > 0), ValueError, "`where`"),
        (lambda: np.logaddexp.reduce(X, where=X > 0, out=X), NotImplementedError, "out"),
        (lambda: np.minimum.at(X, 0, 1.0), ValueError, "inplace"),
        (lambda: np.add.at(X, 0, inplace=False), TypeError, "2 operands"),
        (lambda: np.negative.at(X, 0, 1.0, inplace=False), TypeError, "1 operands"),
        (lambda: np.negative.reduce(X), TypeError, "two operands"),
        (lambda: np.add.reduceat(X, onp.array([0, 4])), IndexError, "0 to 3"),
        (lambda: np.add.accumulate(1.0), errors.AxisError, "axis"),
        (lambda: np.frompyfunc(np.sin, 1, 1)(1.0, 2.0), TypeError, "takes 1"),
    ],
)
def test_wrong_uses_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


PRODUCTS = ("matmul", "matvec", "vecmat", "vecdot")  # of vectors: they have no other methods
UFUNCS = sorted(
    name
    for name in dir(onp)
    if isinstance(getattr(onp, name), onp.ufunc) and hasattr(np, name) and name not in PRODUCTS
)
WHOLE = ("bitwise", "shift", "gcd", "lcm", "invert")
DEFAULTS = {
    "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True,
    "signature": None,
}  # fmt: skip
OTHERS = {
    "where": (onp.ones(2, bool), "would have no value"),
    "casting": ("no", "concerns `out` and `dtype`"),
    "order": ("F", "no strides"),
    "dtype": ("float32", r"follows from the operands(.|\n)*astype"),
    "subok": ("yes", "must be a boolean"),
    "signature": ("ff->f", "follows from the operands"),
}


def operands_of(name, theirs):
    """Operands of a ufunc: matrices for a product."""
    if name in PRODUCTS:
        return [onp.ones((2, 2), "float32")] * 2
    x = onp.ones(2, "int32" if any(part in name for part in WHOLE) else "float32")
    return [x, *[onp.ones(2, "int32")] * (theirs.nin - 1)]


SPECIAL = sorted(
    name for name in special.__all__ if isinstance(getattr(scipy.special, name, None), onp.ufunc)
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *(pytest.param(*of(name), id=name) for name in [*UFUNCS, *PRODUCTS]),
        *(
            pytest.param(getattr(special, name), getattr(scipy.special, name), id=name)
            for name in SPECIAL
        ),
    ],
)
def test_options_of_a_call(ours, theirs):
    name = theirs.__name__
    operands = operands_of(name, theirs)
    x = operands[0]
    expected = weft.tree_util.tree_leaves(ours(*operands))
    for none in (None, (None,) * theirs.nout):
        for call in (ours, weft.jit(lambda *xs: ours(*xs, out=None, **DEFAULTS))):
            options = {"out": none, **DEFAULTS} if call is ours else {}
            found = weft.tree_util.tree_leaves(call(*operands, **options))
            for a, b in zip(found, expected, strict=True):
                assert a.dtype == b.dtype
                same(a, onp.asarray(b))
    for option, (given, says) in OTHERS.items():
        with pytest.raises(NotImplementedError, match=f"{option} is not supported: .*{says}"):
            ours(*operands, **{option: given})

    def at_its_place():
        return ours(*operands, *[3] * (name == "log_ndtr"), x)  # series_order=3

    for call in (lambda: ours(*operands, out=x), at_its_place):
        with pytest.raises(NotImplementedError, match="out must be None: arrays are immutable"):
            call()
    if theirs.nout == 1 and name != "log_ndtr":
        same(ours(*operands, None), onp.asarray(expected[0]))
    with pytest.raises(TypeError, match=r"there is no parameter 'axes'(.|\n)*out, where"):
        ours(*operands, axes=0)


def test_options_of_a_function_of_ones_own():
    double = np.frompyfunc(lambda x: 2 * x, 1, 1)
    same(double(X, where=True, out=None), 2 * X)
    with pytest.raises(NotImplementedError, match="where is not supported"):
        double(X, where=X > 0)
