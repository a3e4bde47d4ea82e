"""What lax functions accept and refuse: dtypes, shapes, scalars."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weft
from weft import lax

F32, F32_4 = np.ones(3, np.float32), np.ones(4, np.float32)
BF16 = np.ones(3, ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("x", "y", "dtype"),
    [
        (F32, 2.0, "float32"),
        (2.0, F32, "float32"),
        (BF16, 2.0, "bfloat16"),
        (np.ones(3, np.uint8), 3, "uint8"),
        (np.ones(3, np.complex64), 1j, "complex64"),
        (F32, np.float32(2), "float32"),
        (F32.reshape(3, 1), F32.reshape(1, 3), "float32"),
        (1, 2, "int32"),
    ],
)
def test_operands_of_one_dtype_and_scalars_of_its_kind_are_taken(
    x: Any, y: Any, dtype: str
) -> None:
    out = lax.add(x, y)
    assert out.dtype.name == dtype
    assert np.array_equal(np.asarray(out), np.asarray(x) + np.asarray(y, out.dtype))
    assert weft.jit(lax.add)(x, y).dtype.name == dtype


WRONG: list[tuple[Any, tuple[Any, ...], list[str]]] = [
    (lax.add, (F32, 1), ["add: operands must have one dtype", "x: float32[3], y: int32[]", "fix"]),
    (lax.add, (1, 1.0), ["int32[]", "float32[]"]),
    (lax.add, (F32, np.int32(1)), ["x: float32[3], y: int32[]"]),
    (lax.add, (F32, F32_4), ["add: operands must have one shape", "float32[3]", "float32[4]"]),
    (lax.add, (F32.reshape(3, 1), F32), ["x: float32[3,1], y: float32[3]", "fix"]),
    (lax.add, ([1.0], [2.0]), ["add: expected an array", "for x; got a list", "add(np.array(x))"]),
    (lax.add, (1, "x"), ["add: expected an array or a scalar for y; got a str"]),
    (lax.neg, (None,), ["neg: expected an array or a scalar for x; got None"]),
    (lax.sin, (object(),), ["sin: x: arrays of dtype object are not supported"]),
    (lax.concatenate, ("ab", 0), ["concatenate: expected an array or a scalar for operands"]),
    (lax.scatter_max, (F32, "i", F32, None), ["scatter_max: expected", "for scatter_indices"]),
    (lax.exp, (1,), ["exp: expected operands of inexact dtype; got int32[]"]),
    (lax.neg, (True,), ["neg", "bool[]"]),
    (lax.lt, (1j, 2j), ["lt", "complex64[]"]),
    (lax.bitwise_and, (1.0, 2.0), ["and", "float32[]"]),
    (lax.clamp, (0, F32, 1), ["clamp: operands must have one dtype", "min: int32[]"]),
    (lax.clamp, (F32_4, F32, F32), ["clamp", "float32[4]"]),
    (lax.select, (np.array([True]), F32, F32), ["select: the selector", "bool[1]"]),
    (lax.select, (True, F32, F32_4), ["select", "float32[4]", "float32[3]"]),
    (lax.select, (1.0, F32, F32), ["select: `which`", "float32[]"]),
    (lax.select_n, (True, 1.0, 2.0, 3.0), ["select_n", "chooses between two", "fix"]),
    (lax.integer_pow, (2, -1), ["integer_pow: integers have no negative powers"]),
    (lax.integer_pow, (2.0, 0.5), ["integer_pow: y must be an int", "0.5"]),
    (lax.complex, (BF16, BF16), ["complex", "bfloat16[3]"]),
    (lax.bitcast_convert_type, (True, "uint8"), ["bitcast_convert_type", "bool[]"]),
    (lax.convert_element_type, (1.0, "nonsense"), ["nonsense"]),
    (lax.nextafter, (np.zeros((), ml_dtypes.float8_e5m2),) * 2, ["nextafter", "16 bits"]),
    (lax.pow, (2, np.float32(2)), ["pow"]),
]


@pytest.mark.parametrize(
    ("function", "args", "words"), WRONG, ids=[f"{w[0].__name__}{i}" for i, w in enumerate(WRONG)]
)
def test_wrong_operands_are_named(function: Any, args: Any, words: list[str]) -> None:
    with pytest.raises(TypeError) as caught:
        function(*args)
    message = str(caught.value)
    assert all(w in message for w in words), message
    assert any("test_operands.py" in note for note in caught.value.__notes__)


def test_sizes_are_value_errors() -> None:
    with pytest.raises(ValueError, match="the last axis must have length 2"):
        lax.bitcast_convert_type(np.ones(3, np.int16), "int32")
    with pytest.raises(ValueError, match="exponent_bits must be at least 1; got 0"):
        lax.reduce_precision(1.0, 0, 3)


def test_complex_angle() -> None:
    z = lax.atan2(1 + 2j, 1j)
    assert complex(z) == pytest.approx(1.1780972 - 0.17328687j, rel=1e-5)


def test_products_of_another_dtype_are_of_operands_converted_first() -> None:
    small = np.array([100, -7], np.int8)
    for f in (lax.mul, weft.jit(lax.mul, static_argnames="out_dtype")):
        assert f(small, small, out_dtype="int32").tolist() == [10000, 49]
        assert f(small, np.int8(3), out_dtype="float32").tolist() == [300.0, -21.0]
        assert f(np.float32(1.5), np.float32(1.5), out_dtype=int).item() == 1
        assert f(2, 3, out_dtype="bfloat16").dtype.name == "bfloat16"
    half = np.float16(300.0)
    slope = weft.grad(lambda x: lax.mul(x, x, out_dtype="float32"))(half)
    assert (slope.dtype.name, slope.item()) == ("float16", 600.0)
    with pytest.raises(TypeError, match="mul: operands must have one dtype"):
        lax.mul(small, F32[:2], out_dtype="float32")


EXPONENTIALS = ["exp", "exp2", "expm1", "log", "log1p", "logistic"]
ANGLES, ROOTS = ["sin", "cos", "tan", "tanh"], ["sqrt", "rsqrt", "cbrt"]


@pytest.mark.parametrize("name", EXPONENTIALS + ANGLES + ROOTS)
def test_accuracies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, mode = getattr(lax, name), lax.AccuracyMode
    for accuracy in (None, mode.DEFAULT, mode.HIGHEST):
        for f in (function, weft.jit(function, static_argnames="accuracy")):
            assert np.array_equal(f(F32, accuracy=accuracy), f(F32))
    for wrong, error, words in [
        (lax.Tolerance(ulps=2), NotImplementedError, "Tolerance.atol=0.0, rtol=0.0, ulps=2. can't"),
        ("highest", TypeError, "must be a lax.AccuracyMode"),
        (1, TypeError, "must be a lax.AccuracyMode"),
    ]:
        with pytest.raises(error, match=f"^{name}: accuracy.*{words}") as caught:
            function(F32, accuracy=wrong)
        assert any("test_operands.py" in note for note in caught.value.__notes__)
    monkeypatch.setattr("weft.lax.accuracy.accelerated", lambda: True)
    assert np.array_equal(function(F32, accuracy=mode.DEFAULT), function(F32))
    with pytest.raises(NotImplementedError, match="is for CPUs"):
        function(F32, accuracy=mode.HIGHEST)


def test_bounds_are_not_negative_and_not_absent() -> None:
    assert lax.Tolerance(1e-3, ulps=2) == lax.Tolerance(atol=1e-3, rtol=0.0, ulps=2)
    for bounds in ({}, {"atol": -1.0}, {"rtol": 1.0, "ulps": -2}, {"atol": float("nan")}):
        with pytest.raises(ValueError, match=r"Tolerance: expected .* 0 or more"):
            lax.Tolerance(**bounds)
