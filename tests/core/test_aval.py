"""Avals are interned while they live."""

import gc
import threading

import numpy as np
import pytest

import weft
from weft.core.aval import Aval, _interned, aval

F32 = np.dtype("float32")


def test_equal_avals_are_one_object():
    assert aval((2, 3), F32) is aval((2, 3), F32)
    assert aval((2, 3), F32, True) is not aval((2, 3), F32)
    assert aval((np.int64(2),), "float32") is aval((2,), F32)


def test_avals_that_nobody_has_leave_the_table():
    kept = [aval((n, 7919), F32) for n in range(50)]
    for n in range(3000):
        aval((n, 7907), F32)
    gc.collect()
    before = len(_interned)
    for n in range(3000):
        aval((n, 7901), F32)
    assert len(_interned) < before + 100
    assert all(aval((n, 7919), F32) is a for n, a in enumerate(kept))


def test_threads_that_intern_at_once_get_one_object():
    shapes = [(n, 7883) for n in range(300)]
    found: list[list[Aval]] = []
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        found.append([aval(s, F32) for s in shapes])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    first, *others = found
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))


def test_avals_of_keys():
    key = weft.random.key(0)
    assert weft.core.ShapedArray((), key.dtype) is key.aval


@pytest.mark.parametrize(
    ("dtype", "short"),
    [("float32", "f32"), ("bfloat16", "bf16"), ("uint8", "u8"), ("int32", "i32"),
     ("complex64", "c64"), ("bool", "bool")],
)  # fmt: skip
def test_short_text(dtype, short):
    assert Aval((2, 3), dtype).str_short() == f"{dtype}[2,3]"
    assert Aval((2, 3), dtype).str_short(short_dtypes=True) == f"{short}[2,3]"
