"""Python integers that don't fit: comparisons are exact, arithmetic has one rule, dtypes count."""

import operator

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

OPERATORS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
FUNCTIONS = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
NUMBERS = [-1, 256, -(2**40), 2**40, 2**100, -(2**100)]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint32"])
def test_comparisons_are_numpys(dtype, number):
    host = onp.arange(3).astype(dtype)
    x = np.asarray(host)
    for op, name in zip(OPERATORS, FUNCTIONS, strict=True):
        for f in (op, getattr(np, name)):
            for _ in range(2):  # the second call finds a plan, if there is one
                onp.testing.assert_array_equal(f(x, number), op(host, number))
                onp.testing.assert_array_equal(f(number, x), op(number, host))


@pytest.mark.parametrize("wrap", [weft.jit, weft.vmap, lambda f: f])
def test_they_are_exact_while_traced(wrap):
    found = wrap(lambda x: (x < 300, x > 300, x != -1, x.at[0].set(1) == 256))(
        np.arange(3, dtype="uint8") if wrap is not weft.vmap else np.zeros((2, 3), "uint8")
    )
    assert [set(onp.asarray(f).ravel().tolist()) for f in found] == [
        {True}, {False}, {True}, {False},
    ]  # fmt: skip


def test_booleans_numbers_and_floats():
    assert (np.array([True, False]) < 2**40).tolist() == [True, True]
    assert bool(np.less(1, 2**100))
    assert bool(np.equal(2**100, 2**100))
    assert not np.equal(2**100, 2**100 + 1)
    assert (np.array([1.0, np.inf]) < 2**100).tolist() == [True, False]


COMPARING = {
    "searchsorted": lambda m, x, k: m.searchsorted(x, k),
    "searchsorted, right": lambda m, x, k: m.searchsorted(x, k, "right"),
    "digitize": lambda m, x, k: m.digitize(k, x),
    "digitize, falling": lambda m, x, k: m.digitize(k, x[::-1], True),
    "isin": lambda m, x, k: m.isin(x, k),
    "isin of a number": lambda m, x, k: m.isin(k, x),
    "isin, inverted": lambda m, x, k: m.isin(x[None], k, invert=True),
    "setdiff1d": lambda m, x, k: m.setdiff1d(x, k),
    "intersect1d": lambda m, x, k: m.intersect1d(x, k),
    "intersect1d of a number": lambda m, x, k: m.intersect1d(k, x, return_indices=True)[1],
    "isclose": lambda m, x, k: m.isclose(x, k),
    "isclose of a number": lambda m, x, k: m.isclose(k, x, 0.5),
    "allclose": lambda m, x, k: m.allclose(x, k),
    "array_equal": lambda m, x, k: m.array_equal(x[0], k),
    "array_equal of a number": lambda m, x, k: m.array_equal(k, x[0], equal_nan=True),
    "array_equal, shapes": lambda m, x, k: m.array_equal(k, x),
    "array_equiv": lambda m, x, k: m.array_equiv(x, k),
    "array_equiv of nothing": lambda m, x, k: m.array_equiv(k, x[:0]),
}


@pytest.mark.parametrize("number", [-1, 300, -(2**40), 2**40, 4, 255])
@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
@pytest.mark.parametrize("name", COMPARING)
def test_searches_and_sets_are_numpys(name, dtype, number):
    f = COMPARING[name]
    host = onp.array([4, 44, 255], dtype)  # 300 - 256 and -1 + 256 are among them
    expected = f(onp, host, number)
    for wrap in (lambda f: f, weft.jit):
        onp.testing.assert_array_equal(
            wrap(lambda x: f(np, x, number))(np.asarray(host))
            if wrap is not weft.jit or "1d" not in name
            else f(np, np.asarray(host), number),
            expected,
        )
    if "1d" not in name:
        mapped = weft.vmap(lambda x: f(np, x, number))(np.asarray(onp.stack([host, host])))
        assert onp.asarray(mapped).tolist() == [onp.asarray(expected).tolist()] * 2


def test_sets_with_a_number_beyond_their_dtype():
    x = np.array([44, 255], "uint8")
    for number in (300, -1):
        assert np.in1d(number, x).tolist() == [False]
        assert np.in1d(x, number, invert=True).tolist() == [True, True]
        assert np.setdiff1d(number, x).tolist() == [number]
        assert np.intersect1d(x, number).dtype == "uint8"
        for name in ("union1d", "setxor1d"):
            for operands in ((x, number), (number, x)):
                found = getattr(np, name)(*operands)
                assert found.tolist() == getattr(onp, name)(*map(onp.asarray, operands)).tolist()
                assert (found.dtype, found.weak_type) == ("int32", False)
        with pytest.raises(OverflowError, match="does not fit uint32"):
            np.union1d(np.array([2**31], "uint32"), -1)  # no dtype of 32 bits has both
    with weft.enable_x64():
        assert np.union1d(np.array([2**31], "uint32"), -1).tolist() == [-1, 2**31]
    assert np.isin(np.array([True, False]), 2**40).tolist() == [False, False]
    assert np.searchsorted(np.array([0.5, 1e20]), 2**40) == 1
    assert np.union1d(x, 7).dtype == "uint8"


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.and_])
def test_arithmetic_with_what_does_not_fit_is_an_error(op):
    for operands in ((np.arange(3, dtype="uint8"), 300), (-1, np.arange(3, dtype="uint8"))):
        with pytest.raises(OverflowError, match="does not fit uint8"):
            op(*operands)


@pytest.mark.parametrize("mode", ["allow", "warn", "raise"])
def test_one_rule_for_large_integers_whatever_the_switch(mode):
    large = 2.0**100
    with weft.numpy_rank_promotion(mode):
        for _ in range(3):
            for found in (
                np.multiply(2**100, 1.0),
                np.multiply(1.0, 2**100),
                2**100 * np.ones(()),
                lax.convert_element_type(2**100, np.float32),
                weft.jit(lambda x: x * 2**100)(1.0),
            ):
                assert float(found) == large
                assert found.dtype == np.float32
            with pytest.raises(OverflowError, match="does not fit int32"):
                np.multiply(2**100, 1)


def test_lax_takes_integers_beside_unsigned_arrays():
    assert int(lax.add(np.uint32(1), 3_000_000_000)) == 3_000_000_001
    assert int(lax.convert_element_type(3_000_000_000, "uint32")) == 3_000_000_000
    with pytest.raises(OverflowError):
        lax.convert_element_type(2**100, "uint8")


WITH_DTYPE = {
    "array": np.array,
    "asarray": np.asarray,
    "full": lambda x, dtype: np.full((2,), x, dtype)[0],
    "full_like": lambda x, dtype: np.full_like(np.ones(2), x, dtype)[0],
    "list": lambda x, dtype: np.array([x], dtype)[0],
    "weak like": lambda x, dtype: np.full_like(np.array(1), x, dtype),
}


@pytest.mark.parametrize("name", WITH_DTYPE)
def test_the_dtype_that_is_asked_for_is_looked_at_first(name):
    make = WITH_DTYPE[name]
    for number, dtype in ((3037000498, "uint32"), (2**40, "float32"), (2**31, "uint32")):
        assert make(number, dtype).item() == onp.array(number, dtype).item()
        assert make(number, dtype).dtype == dtype
    for number, dtype in ((-1, "uint32"), (300, "uint8")):
        with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
            make(number, dtype)
    with weft.enable_x64():
        assert make(2**63, "uint64").item() == 2**63


def test_scalars_of_each_kind_become_the_dtype():
    assert np.array(1.7, dtype=int).item() == 1
    assert np.array(True, dtype="float32").item() == 1.0
    assert np.array(3, dtype=bool).item() is True
    assert not np.array(3, dtype="int32").weak_type
    assert np.array(3).weak_type
    with pytest.raises(TypeError, match="complex"):
        np.array(1j, dtype="float32")


def test_keys_are_close_if_they_are_equal():
    keys = weft.random.split(weft.random.key(1))
    assert np.isclose(keys, keys[0]).tolist() == [True, False]
    assert bool(np.allclose(keys, keys))
    assert not np.allclose(keys, keys[::-1])
    assert np.nan_to_num(keys) is keys
