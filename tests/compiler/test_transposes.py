"""Transposes whose strides collide in a CPU's cache are made apart; programs compute what they did.

256 × 256 of 8 bytes is the smallest matrix of that kind, and 300 × 300 is none.
"""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.stablehlo.block import strides_collide


def random(*shape, dtype="float32"):
    r = onp.random.RandomState(0)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if dtype == "complex64" else x).astype(dtype)


def calls(function, *args):
    """How many transposes of a program are made apart."""
    return weft.jit(function).lower(*args).as_text().count("call @transpose_matrix")


COLLIDING = [((1024, 1024), 4), ((256, 512), 4), ((512, 256), 4), ((3, 256, 256), 8)]
OTHERS = [((256, 256), 4), ((1000, 1000), 4), ((255, 512), 4), ((1024, 8), 4), ((2047, 2047), 1)]


def test_strides_collide_where_rows_are_multiples_of_2048_bytes():
    assert all(strides_collide(*case) for case in COLLIDING)
    assert not any(strides_collide(*case) for case in OTHERS)


BESIDE = {
    "sum": lambda x, y: x + y.T,
    "triangle": lambda x, y: np.tril(y.T) * x,
    "of a product that is read too": lambda x, y: (lambda z: z + z.T)(x @ y),
    "of a stack": lambda x, y: np.stack([x, y]) + np.swapaxes(np.stack([y, x]), 1, 2),
    "in a loop": lambda x, y: lax.fori_loop(0, 3, lambda i, z: (z + z.T) * 0.5 + y, x),
    "in a branch": lambda x, y: lax.cond(np.real(x[0, 0]) > 5, lambda x: x, lambda x: x - x.T, y),
    "there and back with another": lambda x, y: (np.exp(x.T) * y).T,
    "mapped": lambda x, y: weft.vmap(lambda z: z + z.T)(np.stack([x, y])),
}
ELSEWHERE = {
    "into a product": lambda x, y: x @ y.T,
    "of a product": lambda x, y: (x @ y).T + x,
    "of both": lambda x, y: (lambda z: z @ x + z)(y.T),
    "there and back": lambda x, y: (lambda z: np.where(z > 0, np.exp(z) * 2, z))(x.T).T + y,
    "out": lambda x, y: (x.T, x + y),
    "of other axes": lambda x, y: np.transpose(np.stack([x, y]), (1, 0, 2)) * 2,
}


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", BESIDE)
def test_a_transpose_among_elementwise_operations_is_made_apart(name, dtype):
    n = 256 if dtype == "complex64" else 512
    x, y = random(n, n, dtype=dtype), random(n, n, dtype=dtype) * 3
    assert calls(BESIDE[name], x, y) == 1
    with weft.disable_jit():
        expected = BESIDE[name](x, y)
    onp.testing.assert_allclose(weft.jit(BESIDE[name])(x, y), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_other_transposes_are_not(name):
    x, y = random(512, 512), random(512, 512)
    assert calls(ELSEWHERE[name], x, y) == 0


def test_a_function_is_written_once_and_only_where_strides_collide():
    x = random(512, 512)
    text = weft.jit(lambda x, y: (x + x.T) * (y - y.T)).lower(x, x).as_text()
    assert text.count("call @transpose_matrix") == 2
    assert text.count("func.func private @transpose_matrix") == 1
    assert calls(lambda x: x + x.T, random(500, 500)) == 0


def test_derivatives_go_through():
    x, y = random(512, 512), random(512, 512)
    loss = lambda x: np.sum(((x + x.T) * 0.5) ** 2 * y)  # noqa: E731
    symmetric = (x + x.T) / 2
    expected = symmetric * y
    assert calls(weft.grad(loss), x) == 2
    onp.testing.assert_allclose(weft.jit(weft.grad(loss))(x), expected + expected.T, atol=1e-5)
