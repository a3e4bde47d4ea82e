"""pandas on either side of an operator decides what comes out; other libraries may, too."""

import operator

import numpy as onp
import pandas as pd
import pytest

import weft.numpy as np

V = onp.array([1.0, 2.0, 4.0], "float32")
ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
@pytest.mark.parametrize("kind", [pd.Series, pd.Index])
def test_a_series_stays_one(op, kind):
    theirs, ours = kind(V * 2), np.asarray(V)
    for found, expected in ((op(theirs, ours), op(theirs, V)), (op(ours, theirs), op(V, theirs))):
        compares = op.__name__ in ("eq", "ne", "lt", "le", "gt", "ge")
        if kind is pd.Index and compares:  # whose result has no index
            assert isinstance(found, np.ndarray | onp.ndarray)
        else:
            assert type(found) is type(expected)
        onp.testing.assert_allclose(onp.asarray(found), onp.asarray(expected), rtol=1e-6)


def test_frames_matrix_products_and_bits():
    frame, x = pd.DataFrame({"a": V, "b": V}), np.asarray(V)
    assert isinstance(frame.mul(onp.asarray(x), axis=0), pd.DataFrame)
    assert float(pd.Series(V) @ x) == float(x @ pd.Series(V)) == 21.0
    flags = np.asarray([True, False, True])
    for op in (operator.and_, operator.or_, operator.xor):
        assert (
            op(flags, pd.Series([True, True, False])).tolist()
            == op(onp.asarray(flags), onp.array([True, True, False])).tolist()
        )
    assert isinstance(flags & pd.Series([True, True, False]), pd.Series)


def test_functions_take_a_series():
    assert isinstance(np.add(pd.Series(V), 1), np.ndarray)
    assert np.asarray(pd.Series(V)).tolist() == V.tolist()


class First:
    """An operand of another library that goes first, by what `says`."""

    def __array__(self, dtype=None, copy=None):
        return V

    def __radd__(self, other):
        return "theirs"

    __add__ = __rmatmul__ = __rpow__ = __rfloordiv__ = __eq__ = __radd__
    __hash__ = None


PRIORITIES = {
    "higher": ({"__array_priority__": 2000}, True),
    "equal": ({"__array_priority__": 1000}, True),
    "lower": ({"__array_priority__": 10}, False),
    "pandas": ({"__pandas_priority__": 1}, True),
    "none": ({}, False),
    "refuses NumPy": ({"__array_ufunc__": None}, True),
}


@pytest.mark.parametrize("says", PRIORITIES)
def test_priorities(says):
    attributes, goes_first = PRIORITIES[says]
    other = type("Other", (First,), attributes)()
    x = np.asarray(V)
    for op in (operator.add, operator.matmul, operator.pow, operator.floordiv, operator.eq):
        assert (isinstance(op(x, other), str)) is goes_first
    assert other + x == "theirs"
