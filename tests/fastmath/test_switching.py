"""The backend in use: by name, in the middle of a program, nested, and from threads."""

import threading

import numpy as onp
import pytest

from weft import fastmath
from weft.fastmath import numpy as np, ops
from weft.fastmath.backends import GAPS, operations


def kind():
    return type(np.ones(2)).__module__.split(".")[0]


def test_the_default_is_weft():
    assert fastmath.backend_name() == "jax" == fastmath.backend()["name"]
    assert fastmath.is_backend(fastmath.Backend.JAX)
    assert not fastmath.is_backend(fastmath.Backend.NUMPY)
    assert kind() == "weft"
    assert fastmath.backend("numpy")["name"] == "numpy"


def test_the_namespace_is_one_object_by_every_name():
    assert np is ops.numpy is fastmath.numpy
    assert isinstance(np, fastmath.NumpyBackend)
    assert isinstance(fastmath.random, ops.RandomBackend)
    assert "einsum" in dir(np)


@pytest.mark.parametrize("name", ["tf", "torch", 3])
def test_an_unknown_name_is_refused_with_those_that_there_are(name):
    for use in (
        fastmath.set_backend,
        fastmath.backend,
        lambda n: fastmath.use_backend(n).__enter__(),
    ):
        with pytest.raises(ValueError, match=rf"No backend with name {name}: .*'numpy'") as caught:
            use(name)
        assert ("did you mean 'tensorflow-numpy'" in str(caught.value)) == (name == "tf")
    assert fastmath.backend_name() == "jax"


def test_contexts_nest_and_restore_also_after_errors():
    x = np.ones(2)
    with fastmath.use_backend("numpy"):
        assert kind() == "numpy"
        with fastmath.use_backend(fastmath.Backend.JAX):
            assert kind() == "weft"
            with pytest.raises(KeyError), fastmath.use_backend("numpy"):
                raise KeyError
            assert kind() == "weft"
        assert kind() == "numpy"
        assert onp.asarray(x).tolist() == [1, 1]  # a value of another backend is a value
    assert kind() == "weft"


def test_the_default_of_the_process_gives_way_to_contexts():
    fastmath.set_backend("numpy")
    try:
        assert kind() == "numpy"
        with fastmath.use_backend("jax"):
            assert kind() == "weft"
            fastmath.set_backend("numpy")
            assert kind() == "weft"
        assert fastmath.backend("jax")["name"] == "numpy"
    finally:
        fastmath.set_backend(None)
    assert kind() == "weft"


def test_a_context_holds_in_its_own_thread():
    entered, checked = threading.Event(), threading.Event()
    seen = {}

    def other():
        seen["before"] = kind()
        with fastmath.use_backend("numpy"):
            entered.set()
            checked.wait(10)
            seen["inside"] = kind()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    seen["here"] = kind()
    fastmath.set_backend("numpy")
    try:
        late = threading.Thread(target=lambda: seen.update(late=kind()))
        late.start()
        late.join()
    finally:
        fastmath.set_backend("")
        checked.set()
        thread.join()
    assert seen == {"before": "weft", "inside": "numpy", "here": "weft", "late": "numpy"}


# --- tables ---


@pytest.mark.parametrize("which", [fastmath.Backend.JAX, fastmath.Backend.NUMPY])
def test_a_backend_has_every_operation_or_a_reason(which):
    every = set(operations(fastmath.Backend.JAX))
    table, gaps = operations(which), GAPS[which]
    assert set(table) == every - set(gaps)
    assert "conv" in table
    assert len(table) == len(list(table))
    assert table["np"] is table.np
    with pytest.raises(fastmath.UnavailableError, match="no operation 'convolve'"):
        table["convolve"]


@pytest.mark.parametrize(
    ("which", "name", "hint"),
    [
        ("numpy", "xyzzy", r"(?m)not available on the backend 'numpy'$"),
        ("numpy", "tanhh", "did you mean tanh"),
        ("numpy", "float8_e5m2", r"use_backend\('jax'\)"),
        ("jax", "tanhh", "no attribute 'tanhh'"),
    ],
)
def test_an_unknown_function_says_where_it_is(which, name, hint):
    with fastmath.use_backend(which), pytest.raises(AttributeError, match=hint):
        getattr(np, name)
