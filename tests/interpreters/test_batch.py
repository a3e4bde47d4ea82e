"""A batch of no elements: every operation, and its derivatives, gives arrays of none."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax


def none(*shape):
    return onp.zeros((0, *shape), "f")


INDEX = onp.zeros(0, int)
KERNEL = onp.ones((1, 1, 2, 2), "f")
OPERATIONS = {
    "index": (lambda x, i: x[i], (none(4), INDEX)),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (none(4), INDEX)),
    "dynamic_index_in_dim": (lambda x, i: lax.dynamic_index_in_dim(x, i), (none(4), INDEX)),
    "dynamic_update_slice": (
        lambda x, i: lax.dynamic_update_slice(x, np.ones(1), (i,)),
        (none(4), INDEX),
    ),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 0), (none(4), none(2).astype(int))),
    "scatter": (lambda x, i: x.at[i].set(x[0]), (none(4), INDEX)),
    "conv of both": (
        lambda x, k: lax.conv(x, k, (1, 1), "SAME"),
        (none(1, 1, 4, 4), none(1, 1, 2, 2)),
    ),
    "conv of images": (lambda x: lax.conv(x, KERNEL, (1, 1), "SAME"), (none(1, 1, 4, 4),)),
    "conv of kernels": (lambda k: lax.conv(KERNEL, k, (1, 1), "SAME"), (none(1, 1, 2, 2),)),
    "reduce_window": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "VALID"),
        (none(4),),
    ),
    "dot": (lambda x, y: np.dot(x, y), (none(2, 3), none(3))),
    "einsum": (lambda x, y: np.einsum("i,i", x, y), (none(4), none(4))),
    "sort": (np.sort, (none(4),)),
    "cumsum": (np.cumsum, (none(4),)),
    "max": (np.max, (none(4),)),
    "split": (lambda x: np.split(x, 2)[0], (none(4),)),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1], (none(4),)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: -x), (none(4),)),
    "pad": (lambda x: np.pad(x, 1), (none(4),)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_elements(name):
    f, args = OPERATIONS[name]
    x, rest = args[0], args[1:]
    one = weft.eval_shape(f, *[onp.ones(a.shape[1:], a.dtype) for a in args])
    for run in (weft.vmap(f), weft.jit(weft.vmap(f))):
        assert run(*args).shape == (0, *one.shape)
    loss = lambda *xs: np.sum(f(*xs))  # noqa: E731
    assert weft.grad(lambda x: np.sum(weft.vmap(f)(x, *rest)))(x).shape == x.shape
    assert weft.vmap(weft.grad(loss))(*args).shape == x.shape
    pushed = weft.vmap(lambda x, *r: weft.jvp(lambda v: f(v, *r), (x,), (x,))[1])
    assert pushed(*args).shape == (0, *one.shape)


def test_what_all_elements_share_gets_a_gradient_of_zeros():
    f = lambda k: np.sum(weft.vmap(lambda x: lax.conv(x, k, (1, 1), "SAME"))(none(1, 1, 4, 4)))  # noqa: E731
    assert np.array_equal(weft.grad(f)(KERNEL), onp.zeros_like(KERNEL))


def test_collectives_over_no_elements_see_none():
    total = weft.vmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(none(2))
    assert total.tolist() == [0.0, 0.0]
