"""stack and unstack; upper halves of products."""

import numpy as np
import pytest

import weft
from weft import jit, lax, vmap

PARTS = [np.arange(6, dtype=np.float32).reshape(2, 3) + 10 * i for i in range(3)]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack_and_unstack(axis):
    want = np.stack(PARTS, axis)
    got = jit(lambda *parts: lax.stack(parts, axis))(*PARTS)
    np.testing.assert_array_equal(got, want)
    for a, b in zip(lax.unstack(want, axis), PARTS, strict=True):
        np.testing.assert_array_equal(a, b)
    assert lax.stack(PARTS[:1], axis).shape == np.stack(PARTS[:1], axis).shape


def test_stack_is_differentiated_and_batched():
    g = weft.grad(lambda x: (lax.stack([x, x * x]) * np.float32([[1], [2]])).sum())
    assert g(np.float32([1, 3])).tolist() == [5, 13]
    got = vmap(lambda x: lax.stack(lax.unstack(x)[::-1]))(PARTS[0])
    assert got.tolist() == PARTS[0][:, ::-1].tolist()


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: lax.stack([]), ValueError, "stack"),
        (lambda: lax.stack([PARTS[0], PARTS[1][0]]), TypeError, "one shape"),
        (lambda: lax.stack(PARTS, 3), ValueError, "axis 3"),
        (lambda: lax.unstack(PARTS[0], 2), ValueError, "axis 2"),
        (lambda: lax.unstack(1.0), ValueError, "axis 0"),
        (lambda: lax.mulhi(np.float32(1), np.float32(1)), TypeError, "integers"),
    ],
)
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()


@pytest.mark.parametrize("dtype", [f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)])
def test_upper_halves_of_products(dtype):
    info = np.iinfo(dtype)
    some = [info.min, info.max, info.max // 3, 3, 0, info.min // 2, info.max - 1]
    some.append(1 << info.bits // 2 - 1)
    some += np.random.default_rng(0).integers(info.min, info.max, 6, dtype, True).tolist()
    a, b = (np.array(x, dtype) for x in zip(*[(x, y) for x in some for y in some], strict=True))
    want = [int(x) * int(y) >> info.bits for x, y in zip(a, b, strict=True)]
    with weft.enable_x64(True):
        assert jit(lax.mulhi)(a, b).tolist() == want
        assert lax.mulhi(a, b).tolist() == want
