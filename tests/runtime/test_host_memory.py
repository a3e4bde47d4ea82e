"""Memory of freed arrays is kept for the next ones, up to a bound, and given back after a peak."""

import os

import pytest

from weft.runtime import host_memory

IS_GLIBC = "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {})

FAULTS = """
import resource
import numpy as onp
import weft.numpy as np
x = np.array(onp.ones(1_000_000, "f4"))
def pages(f):
    for _ in range(20):
        y = f()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        y = f()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20
print(max(pages(f) for f in [
    lambda: x * 2 + 1,
    lambda: x * x * 2 + x - 1,
    lambda: np.log1p(x) * np.expm1(x),  # by XLA
    lambda: [x * 2, x * 3, x * 4, x * 5, x * 6],
]))
"""


def test_the_pages_of_temporaries_are_not_filled_in_again(python):
    assert not IS_GLIBC or float(python(FAULTS).stdout) < 300  # an array of 4 MB has 1,000 pages


OTHER_THREAD = """
import ctypes, resource, threading
import weft.numpy as np
np.ones(3) + 1
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
def step():
    block = c.malloc(8 << 20)
    ctypes.memset(block, 1, 8 << 20)
    c.free(block)
def work():
    kept = [c.malloc(29 << 20) for _ in range(2)]  # a thread's heap has 64 MB
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        step()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_heap_of_another_thread_is_kept_when_it_is_empty(python):
    assert not IS_GLIBC or float(python(OTHER_THREAD).stdout) < 100  # 8 MB have 2,000 pages


PEAK = """
import gc
import numpy as onp
import weft.numpy as np
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
x = np.array(onp.ones(1_000_000, "f4"))
x * 2 + 1, np.expm1(x)
before = resident()
for f in lambda x: x * 2, np.expm1, lambda x: x * 3, np.expm1:  # by NumPy and XLA
    many, small = [], []
    for _ in range(100):
        many.append(f(x).block_until_ready())
        small.append(onp.ones(500))  # a block that stays, between those that go
    assert resident() - before > 300
    del many
    gc.collect()
    assert resident() - before < 200, resident() - before
"""


def test_after_a_peak_a_collection_gives_memory_back(python):
    if IS_GLIBC:
        python(PEAK)


SET = """
import weft.numpy as np
from weft.runtime.host_memory import heap
np.ones(3) + 1
print(heap.library is not None)
"""


@pytest.mark.parametrize(
    ("variables", "is_set"),
    [
        ({}, IS_GLIBC),
        ({"WEFT_KEEP_HOST_MEMORY": "0"}, False),
        ({"MALLOC_TRIM_THRESHOLD_": "131072"}, False),
        ({"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}, False),
        ({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F"}, IS_GLIBC),
    ],
)
def test_thresholds_are_left_to_a_user_who_sets_them(python, variables, is_set):
    assert python(SET, **variables).stdout == f"{is_set}\n"


@pytest.mark.parametrize("answer", [None, "musl 1.2", ValueError])
def test_another_c_library_is_left_alone(monkeypatch, answer):
    def confstr(name):
        if answer is ValueError:
            raise ValueError(name)
        return answer

    monkeypatch.setattr(os, "confstr", confstr)
    monkeypatch.setattr(host_memory, "heap", host_memory._Heap())
    host_memory.set_thresholds()
    assert host_memory.heap.library is None
