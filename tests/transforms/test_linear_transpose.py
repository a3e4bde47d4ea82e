"""linear_transpose: against matrices, in loops, of integers; what isn't linear is refused."""

import numpy as np
import pytest

import weft
from weft import lax
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


def test_linear_transpose():
    f = lambda x, y: 2.0 * x - reduce_sum(y, axes=(0,))  # noqa: E731
    back = weft.linear_transpose(f, 1.0, f32([1.0, 2.0]))
    gx, gy = back(3.0)
    same(gx, 6.0)
    same(gy, [-3.0, -3.0])
    back = weft.linear_transpose(
        f, weft.ShapeDtypeStruct((), "float32"), weft.ShapeDtypeStruct((2,), "float32")
    )
    same(back(3.0)[0], 6.0)
    (twice,) = weft.linear_transpose(lambda ct: back(ct)[0], 1.0)(1.0)
    same(twice, 2.0)
    same(weft.jit(back)(3.0)[0], 6.0)
    same(weft.vmap(back)(f32([1.0, 2.0]))[0], [2.0, 4.0])


def test_linear_transpose_of_a_linear_function_with_known_parts():
    w = f32([1.0, 2.0])
    back = weft.linear_transpose(lambda x: cos(w) * x, f32([0.0, 0.0]))
    same(back(f32([1.0, 1.0]))[0], np.cos([1.0, 2.0]))
    same(
        weft.grad(lambda w: reduce_sum(weft.linear_transpose(lambda x: w * x, w)(w)[0], axes=(0,)))(
            w
        ),
        2 * np.asarray(w),
    )


def test_linear_transpose_refuses_what_is_not_linear():
    with pytest.raises((TypeError, NotImplementedError), match=r"sin.*linear"):
        weft.linear_transpose(sin, 1.0)(1.0)
    back = weft.linear_transpose(lambda x: x * 2, 1.0)
    with pytest.raises(TypeError, match="structure"):
        back((1.0, 2.0))


SCANS = {
    # functions of xs that are linear but for a constant, which has no part in the transpose
    "begins with a number": lambda xs: lax.scan(lambda c, x: (c + x, 2 * c), 5.0, xs),
    "is replaced": lambda xs: lax.scan(lambda c, x: (x, c), 5.0, xs),
    "is scaled": lambda xs: lax.scan(lambda c, x: (3 * c + x, c - x), 5.0, xs, reverse=True),
    "counts": lambda xs: lax.scan(
        lambda c, x: ((c[0] + 1, c[0] * x + c[1]), c[1] * c[0]), (2.0, 7.0), xs
    ),
}


@pytest.mark.parametrize("name", SCANS)
def test_linear_transpose_of_a_scan_whose_carry_becomes_linear(name):
    f = SCANS[name]
    xs = np.float32([0.5, -1.0, 2.0, 0.25])

    def flat(xs):
        carry, ys = f(xs)
        return np.concatenate([np.ravel(c) for c in weft.tree_util.tree_leaves((carry, ys))])

    matrix = np.stack([flat(row) - flat(0 * xs) for row in np.eye(4, dtype="f")])
    carry, _ = f(xs)
    cts = np.linspace(-1, 1, matrix.shape[1], dtype="f")
    n = len(weft.tree_util.tree_leaves(carry))
    ct_carry = tuple(cts[:n]) if n > 1 else cts[0]
    (got,) = weft.linear_transpose(f, xs)((ct_carry, cts[n:]))
    np.testing.assert_allclose(got, matrix @ cts, rtol=1e-5, atol=1e-5)


def test_linear_transpose_refuses_a_product_with_a_carry_that_becomes_linear():
    f = lambda x: lax.scan(lambda c, _: (x, c * x), 5.0, None, length=2)  # noqa: E731
    with pytest.raises(TypeError, match="must be linear"):
        weft.linear_transpose(f, 1.0)((1.0, np.ones(2, "f")))


# --- integers ---


def test_linear_transpose_of_integers():
    (back,) = weft.linear_transpose(lambda n: 2 * n, 1)(3)
    assert back == 6
    assert back.dtype == np.int32
    f = lambda m, n: np.int32([1, 2]) * m - n  # noqa: E731
    gm, gn = weft.linear_transpose(f, np.int32(0), np.zeros(2, np.int32))(np.int32([3, 4]))
    same(gm, 11)
    same(gn, [-3, -4])
