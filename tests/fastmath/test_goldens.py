"""What Trax computed with these operations, recorded in `data/golden.npz`, on each backend.

Keys are `<case>/x/<argument>/0` and `<case>/y/<row of the table>/<number of the result>`.
"""

from pathlib import Path

import numpy as onp
import pytest

from weft import fastmath as fm
from weft.fastmath import numpy as np
from weft.tree_util import tree_leaves

with onp.load(Path(__file__).parent / "data" / "golden.npz") as file:
    RECORDED = {name: file[name] for name in file.files if name != "__meta__"}
KEYS = onp.array([[3, 1, 2, 0], [1, 0, 3, 2], [0, 1, 2, 3]], "int32")
ROWS = onp.array([2, 0])
TEN_TIMES = (lambda a: a**2, lambda a: (a**2, a), lambda r, g: (g * r * 10,))

OPERATIONS = {
    "logsumexp": lambda x, y: fm.logsumexp(x),
    "logsumexp1": lambda x, y: fm.logsumexp(x, axis=1, keepdims=True),
    "expit": lambda x, y: fm.expit(x),
    "sigmoid": lambda x, y: fm.sigmoid(x),
    "erf": lambda x, y: fm.erf(x),
    "top_k": lambda x, y: fm.top_k(x, 2),
    "sort_key_val": lambda x, y: fm.sort_key_val(np.asarray(KEYS), x),
    "sort_key_val0": lambda x, y: fm.sort_key_val(x, x + 1, dimension=0),
    "scan": lambda x, y: fm.scan(lambda c, a: (c + a, c * a), np.zeros((4,)), x),
    "map": lambda x, y: fm.map(lambda a: a * 2 + 1, x),
    "fori_loop": lambda x, y: fm.fori_loop(2, 6, lambda i, v: v + i, np.asarray(1)),
    "cond": lambda x, y: [fm.cond(p, lambda a: a + 1, lambda a: a - 1, x) for p in (True, False)],
    "lt": lambda x, y: fm.lt(x, np.zeros_like(x)),
    "index_update": lambda x, y: fm.index_update(x, ROWS, y),
    "index_add": lambda x, y: fm.index_add(x, ROWS, y),
    "index_min": lambda x, y: fm.index_min(x, ROWS, y),
    "index_max": lambda x, y: fm.index_max(x, ROWS, y),
    "dynamic_slice": lambda x, y: fm.dynamic_slice(x, (1, 1), (2, 2)),
    "dynamic_slice_clamp": lambda x, y: fm.dynamic_slice(x, (2, 3), (2, 2)),
    "dynamic_slice_in_dim": lambda x, y: fm.dynamic_slice_in_dim(x, 1, 2, axis=1),
    "dynamic_update_slice": lambda x, y: fm.dynamic_update_slice(x, y[:, :2], (1, 1)),
    "dynamic_update_slice_in_dim": lambda x, y: fm.dynamic_update_slice_in_dim(x, y, 1, axis=0),
    "vmap": lambda x, y: fm.vmap(lambda a, b: a @ b, in_axes=(0, None))(x, y[0]),
    "jit": lambda x, y: fm.jit(lambda a: a * 2)(x),
}
DERIVATIVES = {
    "grad": lambda x, y: fm.grad(lambda a: np.sum(a**3))(x),
    "value_and_grad": lambda x, y: fm.value_and_grad(lambda a: np.sum(a**3))(x),
    "vjp_out": lambda x, y: fm.vjp(lambda a, b: a * b[0], x, y)[0],
    "vjp": lambda x, y: fm.vjp(lambda a, b: a * b[0], x, y)[1](np.ones_like(x)),
    "custom_vjp": lambda x, y: fm.grad(lambda a: np.sum(fm.custom_vjp(*TEN_TIMES)(a)))(x),
    "stop_gradient": lambda x, y: fm.grad(lambda a: np.sum(a * fm.stop_gradient(a)))(x),
    "remat": lambda x, y: fm.grad(lambda a: np.sum(fm.remat(np.sin)(a)))(x),
}
NHWC = ("NHWC", "HWIO", "NHWC")
WINDOWS = {
    "conv": lambda x, w: fm.conv(x, w, (1, 1), "VALID", NHWC),
    "conv_same_s2": lambda x, w: fm.conv(x, w, (2, 2), "SAME", NHWC),
    "conv_dil": lambda x, w: fm.conv(x, w, (1, 1), "VALID", NHWC, (2, 2)),
    **{
        f"{name}_{padding}": lambda x, w, name=name, padding=padding: getattr(fm, name)(
            x, pool_size=(3, 2), strides=(2, 2), padding=padding
        )
        for name in ("avg_pool", "max_pool", "sum_pool")
        for padding in ("VALID", "SAME")
    },
}


def check(case, second, name, function):
    """Compares what a function comes to with what is recorded under its name."""
    x, y = (np.asarray(RECORDED[f"{case}/x/{argument}/0"]) for argument in ("x", second))
    found = [onp.asarray(leaf) for leaf in tree_leaves(function(x, y))]
    prefix = f"{case}/y/{name}/"
    wanted = [RECORDED[key] for key in RECORDED if key.startswith(prefix)]
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype.kind) == (other.shape, other.dtype.kind)
        onp.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_every_record_is_compared():
    names = {key.split("/")[2] for key in RECORDED if key.split("/")[1] == "y"}
    assert names == {*OPERATIONS, *DERIVATIVES, *WINDOWS}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(backend, name):
    check("ops", "y", name, OPERATIONS[name])


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(trained, name):
    check("ops", "y", name, DERIVATIVES[name])


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(backend, name):
    check("conv_pool", "w", name, WINDOWS[name])
