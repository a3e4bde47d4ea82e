"""`jit(f)` said twice is one compilation, and the caches die with the function."""

import gc
import weakref

import weft
import weft.numpy as np


def test_the_same_function_is_traced_once_for_each_signature():
    traced = []

    def f(x):
        traced.append(x.shape)
        return x + 1

    for _ in range(3):
        weft.jit(f)(np.ones(2))
        weft.jit(f)(np.ones(3))
    assert traced == [(2,), (3,)]


def test_other_options_have_caches_of_their_own():
    traced = []

    def f(x, n):
        traced.append(n)
        return x * n

    assert weft.jit(f)(2.0, 3).item() == 6.0
    assert weft.jit(f, static_argnums=1)(2.0, 3).item() == 6.0
    assert len(traced) == 2
    assert traced[1] == 3


def test_functions_and_what_was_compiled_for_them_are_freed():
    x = np.ones(3)
    references = []
    for i in range(5):
        f = lambda x, i=i: x * i  # noqa: E731
        weft.jit(f)(x)
        weft.jit(f)(x)
        references.append(weakref.ref(f))
    del f
    gc.collect()
    assert [r() for r in references] == [None] * 5
