"""Batches of branches and loops with effects: each element in its turn."""

import numpy
import pytest

import weft
import weft.numpy as np
from weft import lax


def power(n, seen):
    def branch(x):
        weft.debug.callback(lambda x: seen.append((n, float(x))), x)
        return x**n

    return branch


def plain(n):
    return lambda x: x**n


def choosing(make):
    return lambda i, x: (
        lax.switch(i, [make(n) for n in (1, 2, 3)], x) + lax.cond(x + i > 2, make(2), make(1), x)
    )


def looping(make):
    step, test = make(1), make(2)

    def f(i, x):
        return lax.while_loop(lambda s: (test(s) < 50) & (s < i * 5 + 1), lambda s: step(s) + 2, x)

    return f


WHICH, X = np.array([2, 0, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("program", [choosing, looping])
def test_values_and_effects_are_those_of_the_elements(program, axes, wrap):
    seen, alone = [], []
    args = [WHICH if axes[0] == 0 else WHICH[0], X if axes[1] == 0 else X[1]]
    got = wrap(weft.vmap(program(lambda n: power(n, seen)), axes))(*args)
    expected = []
    with weft.disable_jit():
        for k in range(4):
            one = [a[k] if axis == 0 else a for a, axis in zip(args, axes, strict=True)]
            expected.append(program(lambda n: power(n, alone))(*one))
    numpy.testing.assert_allclose(got, [float(e) for e in expected], rtol=1e-6)
    assert sorted(seen) == sorted(alone)
    if program is looping and axes[0] == 0:
        assert seen == alone


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_derivatives(wrap):
    f, g = choosing(lambda n: power(n, [])), choosing(plain)
    for transform in (lambda f: weft.vmap(weft.grad(f, 1)), lambda f: weft.vmap(weft.jacfwd(f, 1))):
        numpy.testing.assert_allclose(
            wrap(transform(f))(WHICH, X), transform(g)(WHICH, X), rtol=1e-6
        )
    h, k = looping(lambda n: power(n, [])), looping(plain)
    pushed = [
        wrap(lambda x, w=w: weft.jvp(weft.vmap(lambda x: w(2, x)), (x,), (x,)))(X) for w in (h, k)
    ]
    for a, b in zip(*pushed, strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-6)


def test_nested_batches():
    seen = []
    f = choosing(lambda n: power(n, seen))
    got = weft.vmap(weft.vmap(f, (None, 0)), (0, None))(WHICH, X)
    expected = weft.vmap(weft.vmap(choosing(plain), (None, 0)), (0, None))(WHICH, X)
    numpy.testing.assert_allclose(got, expected, rtol=1e-6)
    assert len(seen) == 2 * 16


def test_without_effects_all_elements_go_at_once():
    jaxpr = weft.make_jaxpr(weft.vmap(choosing(plain)))(WHICH, X)
    assert "scan" not in str(jaxpr)


def test_an_un_jitted_call_is_compiled_once():
    seen = []
    branches = [power(n, seen) for n in (1, 2)]

    def f(i, x):
        return lax.switch(i, branches, x)

    from weft.compiler import compiled

    names = []
    original = compiled.compile_program

    def counting(program, *args):
        names.append(program.name)
        return original(program, *args)

    def note(x):
        seen.append(float(x))

    def noting(x):
        weft.debug.callback(note, x)
        return x * 2

    compiled.compile_program = counting
    try:
        for _ in range(3):
            weft.vmap(lambda i, x: lax.cond(i > 0, noting, lambda x: x, x))(WHICH, X)
    finally:
        compiled.compile_program = original
    assert len(names) == len(set(names)) <= 2
