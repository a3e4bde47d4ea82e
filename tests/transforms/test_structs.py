"""Structs stand for arrays where only shapes and dtypes matter; float0 leaves jit as NumPy's."""

import numpy as onp
import pytest

import weft
import weft.numpy as np

STRUCT = weft.ShapeDtypeStruct((3, 2), "float32")
SCALAR = weft.ShapeDtypeStruct((), "complex64")

ANSWERS = {
    "len": (len, 3),
    "shape": (np.shape, (3, 2)),
    "ndim": (np.ndim, 2),
    "size": (np.size, 6),
    "size of an axis": (lambda s: np.size(s, 1), 2),
    "iscomplexobj": (np.iscomplexobj, False),
    "isrealobj": (np.isrealobj, True),
    "result_type": (np.result_type, "float32"),
    "zeros_like": (lambda s: np.zeros_like(s).shape, (3, 2)),
    "truth": (bool, True),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_questions_that_need_no_elements(name):
    ask, expected = ANSWERS[name]
    assert ask(STRUCT) == expected


def test_a_struct_without_axes():
    assert (np.shape(SCALAR), np.ndim(SCALAR), np.size(SCALAR)) == ((), 0, 1)
    assert np.iscomplexobj(SCALAR)
    for kind in (np.float32, np.complex64, complex):  # a type is no number
        assert not np.iscomplexobj(kind)
        assert np.isrealobj(kind)
    assert SCALAR
    with pytest.raises(TypeError, match="len: expected a struct with at least one axis"):
        len(SCALAR)


def test_arrays_of_others_still_count():
    assert np.shape(onp.ones((1, 2))) == (1, 2)
    assert np.ndim(3.0) == 0
    with pytest.raises(TypeError, match="shape: expected an array or a scalar"):
        np.shape("text")


RESULTS = {
    "struct": (lambda: STRUCT, STRUCT),
    "tree": (lambda: {"a": (STRUCT, SCALAR), "b": None}, {"a": (STRUCT, SCALAR), "b": None}),
    "argument": (lambda: weft.eval_shape(lambda s: s, STRUCT), STRUCT),
}


@pytest.mark.parametrize("name", RESULTS)
def test_eval_shape_returns_structs_that_a_function_returns(name):
    f, expected = RESULTS[name]
    assert weft.eval_shape(f) == expected


def test_eval_shape_mixes_them_with_arrays():
    weak, struct = weft.eval_shape(lambda x: (x, STRUCT), 1.0)
    assert (weak.weak_type, struct.weak_type) == (True, False)
    assert weft.eval_shape(lambda: weft.eval_shape(lambda x: x, 1)).weak_type
    with pytest.raises(TypeError, match=r"must return arrays.*is a str"):
        weft.eval_shape(lambda: "text")


def gradient(x, i):
    return weft.grad(lambda x, i: x[i], (0, 1), allow_int=True)(x, i)


WRAPPED = {
    "eager": gradient,
    "jit": weft.jit(gradient),
    "jit of jit": weft.jit(weft.jit(gradient)),
    "donated": weft.jit(gradient, donate_argnums=0),
    "jit on a device": weft.jit(gradient, device=weft.devices()[-1]),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_float0_is_numpys_everywhere(name):
    for _ in range(3):
        dx, di = WRAPPED[name](np.ones(2), 1)
        assert isinstance(dx, weft.Array)
        assert dx.tolist() == [0.0, 1.0]
        assert isinstance(di, onp.ndarray)
        assert di.dtype == weft.dtypes.float0
        assert di == onp.zeros((), weft.dtypes.float0)


def test_float0_passes_through_jit():
    zero = onp.zeros((2,), weft.dtypes.float0)
    out = weft.jit(lambda t, x: (t, x + 1))(zero, 1.0)[0]
    assert isinstance(out, onp.ndarray)
    assert (out.shape, out.dtype) == (zero.shape, zero.dtype)
