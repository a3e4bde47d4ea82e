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
