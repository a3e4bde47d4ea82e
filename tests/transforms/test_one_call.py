"""The way of one call through the code: how many functions in how many files, first and again."""

import gc
import os
import sys

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.errors import UnexpectedTracerError

ROOT = os.path.dirname(weft.__file__) + os.sep


def walked(function):
    """The files of weft's functions that a call enters, one for each time that it enters one."""
    seen = []

    def note(frame, event, arg):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOT):
            seen.append(name)

    gc.disable()  # a collection calls `runtime/host_memory.py`
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen


def tanh_sum(x):
    return np.sum(np.tanh(x))


def test_the_gradient_of_a_jitted_function_is_followed_with_few_files_open():
    x = np.arange(3.0)
    tanh_sum(x)
    for _ in range(2):  # compiled, and read from the disk: all modules are loaded
        weft.grad(weft.jit(lambda x: np.sum(np.sin(x))))(x)
    f = weft.jit(lambda x: tanh_sum(x))
    first, second = [walked(lambda: weft.grad(f)(x)) for _ in range(2)]
    assert len(set(first)) <= 40
    assert len(first) <= 900
    assert len(set(second)) <= 18
    assert len(second) <= 110


def gradient_of_squares(x):
    """NumPy's, of the sum of x * x * c."""
    return 2 * x * onp.float32(3)


@pytest.fixture
def squares():
    """A jitted function whose forward program returns an input as a residual, and has one that it
    doesn't need; it has been differentiated once."""
    f = weft.jit(lambda x, unused: np.sum(x * x * 3.0))
    g = weft.grad(f)
    x = onp.arange(3, dtype=onp.float32)
    onp.testing.assert_allclose(g(x, 1.0), gradient_of_squares(x))
    return g, x


def test_later_calls_compute_with_their_own_arguments(squares):
    g, x = squares
    for k in range(1, 4):
        onp.testing.assert_allclose(g(x + k, k), gradient_of_squares(x + k))


def test_a_later_call_follows_the_switch_of_the_device(squares):
    g, x = squares
    other = weft.devices()[-1]
    with weft.default_device(other):
        result = g(x, 1.0)
    onp.testing.assert_allclose(result, gradient_of_squares(x))
    committed = weft.device_put(x, other)
    assert g(committed, 1.0).devices() == {other}
    onp.testing.assert_allclose(g(x, 1.0), gradient_of_squares(x))


def test_a_later_call_refuses_what_leaked_and_what_was_deleted(squares):
    g, x = squares
    leaked = []
    weft.jit(lambda y: leaked.append(y) or y)(x)
    with pytest.raises(UnexpectedTracerError, match="after that trace has ended"):
        g(leaked[0], 1.0)
    gone = weft.device_put(x)
    gone.block_until_ready()
    gone.delete()
    with pytest.raises(weft.errors.DeletedArrayError, match="deleted"):
        g(gone, 1.0)


def test_the_cotangent_1_outlives_what_is_done_to_a_gradient():
    same = weft.grad(lambda x: x)
    for take in (
        lambda g: g.delete(),
        weft.jit(lambda g: g + 1, donate_argnums=0),
        lambda g: weft.device_put(g).delete(),
    ):
        take(same(onp.float32(2)))
        assert float(same(onp.float32(5))) == 1.0
        assert float(weft.grad(lambda x: x * x)(3.0)) == 6.0
        assert float(weft.grad(weft.jit(lambda x: x * x))(3.0)) == 6.0


def test_a_function_of_several_results_is_transposed_for_those_that_have_a_cotangent():
    f = weft.jit(lambda x: (np.sin(x), np.cos(x), x))
    for pick, expected in ((0, onp.cos(2.0)), (1, -onp.sin(2.0)), (2, 1.0)):
        g = weft.grad(lambda x, pick=pick: f(x)[pick])
        for _ in range(2):
            onp.testing.assert_allclose(g(2.0), expected, rtol=1e-6)
    both = weft.grad(lambda x: f(x)[0] + f(x)[2])
    onp.testing.assert_allclose(both(2.0), onp.cos(2.0) + 1, rtol=1e-6)
    onp.testing.assert_allclose(weft.grad(both)(2.0), -onp.sin(2.0), rtol=1e-6)
