"""The switch debug_lines: out-of-memory errors list the largest living arrays by line."""

import gc
import sys

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import jit
from weft.core.source_location import living_arrays

TOO_MANY = 1 << 21  # numbers: a matrix of them takes 16 TiB


def here(offset=0):
    """The line of the caller."""
    return sys._getframe(1).f_lineno + offset


def test_an_error_of_xla_lists_arrays_by_line():
    with weft.config.temporarily(debug_lines=True):
        kept = [np.ones((100, 100)) * i for i in range(3)]
        line = here(-1)
        with pytest.raises(weft.errors.ExecutionError) as error:
            jit(lambda x: x[:, None] + x)(np.ones(TOO_MANY))
    text = str(error.value)
    assert f"117.2 KiB in 3 arrays, made at test_living_arrays.py:{line}, in " in text
    assert text.index("8.0 MiB in 1 array") < text.index("117.2 KiB")
    del kept


def test_an_error_of_numpy_lists_arrays_by_line():
    with weft.config.temporarily(debug_lines=True):
        kept = np.ones((100, 100)) * 2
        line = here(-1)
        with pytest.raises(MemoryError) as error:
            np.arange(1 << 44)
    notes = "\n".join(error.value.__notes__)
    assert f"made at test_living_arrays.py:{line}, in test_an_error_of_numpy" in notes
    del kept


def test_without_the_switch_the_error_names_it():
    with pytest.raises(weft.errors.ExecutionError, match="debug_lines living arrays") as error:
        jit(lambda x: x[:, None] + x)(np.ones(TOO_MANY))
    assert "made at test_living_arrays" not in str(error.value)


def test_arrays_that_are_gone_are_not_listed():
    with weft.config.temporarily(debug_lines=True):
        step = jit(lambda x: x + 1, donate_argnums=0)
        x = np.ones((64, 64)) * 3
        made = here(-1)
        y = step(x)  # x is donated
        called = here(-1)
        z = np.ones((32, 32)) + 1
        dropped = here(-1)
        del z
        gc.collect()
        lines = {place.line for _, _, place in living_arrays() if place.file == __file__}
    assert called in lines
    assert not {made, dropped} & lines
    assert y.shape == (64, 64)


def test_results_are_the_same_bits_with_the_switch():
    x = onp.random.default_rng(0).normal(size=(50, 50)).astype("float32")

    def f(x):
        return weft.nn.softmax(np.tanh(x) @ x).sum(0) / np.linalg.norm(x)

    plain, compiled = onp.asarray(f(np.asarray(x))), onp.asarray(jit(f)(np.asarray(x)))
    with weft.config.temporarily(debug_lines=True):
        assert onp.array_equal(f(np.asarray(x)), plain)
        assert onp.array_equal(jit(f)(np.asarray(x)), compiled)
