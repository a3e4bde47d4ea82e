"""Operation × backend × dtype: values as NumPy says, derivatives as differences say."""

import ml_dtypes
import numpy as onp
import pytest
from operation_cases import NUMPY, OPERATIONS

from weft import fastmath
from weft.fastmath import numpy as np
from weft.tree_util import tree_leaves

TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
ROWS = [
    pytest.param(case, dtype, id=f"{case.name}-{dtype}")
    for case in (*NUMPY, *OPERATIONS)
    for dtype in case.dtypes
]
DERIVATIVES = [case for case in (*NUMPY, *OPERATIONS) if case.grads]


def arrays_of(case, dtype):
    """The arguments on the backend in use."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else None
    return [
        np.asarray(x.astype(kind) if kind and x.dtype == "float32" else x)
        for x in case.arguments(dtype)
    ]


def host(x):
    """The elements in NumPy, as floats of 64 bits."""
    return onp.asarray(x.numpy() if hasattr(x, "numpy") else x).astype("float64")


def name_of(x):
    """The name of a dtype, of TensorFlow too."""
    return getattr(x.dtype, "name", str(x.dtype))


@pytest.mark.parametrize(("case", "dtype"), ROWS)
def test_values_are_those_of_the_oracle(backend, case, dtype):
    xs = arrays_of(case, dtype)
    found = tree_leaves(case.function(np, fastmath, *xs))
    exact = [x if x.dtype.kind in "iub" else x.astype("float64") for x in case.arguments(dtype)]
    wanted = tree_leaves(case.oracle(*exact))
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        y = onp.asarray(y)
        assert tuple(x.shape) == y.shape
        kind = "f" if "float" in name_of(x) else onp.dtype(name_of(x)).kind
        assert kind == ("i" if y.dtype.kind == "u" else y.dtype.kind)
        tolerance = TOLERANCE.get(dtype, 2e-5)
        onp.testing.assert_allclose(host(x), y, rtol=tolerance, atol=tolerance)
        if backend != "numpy":  # there numbers have 64 bits, if nothing says otherwise
            assert name_of(x) in {"bool", "int32", "float32", dtype}
    if backend == "tensorflow-numpy":
        with fastmath.use_backend("jax"):
            other = tree_leaves(case.function(np, fastmath, *arrays_of(case, dtype)))
        assert list(map(name_of, found)) == list(map(name_of, other))


@pytest.mark.parametrize("case", DERIVATIVES, ids=lambda case: case.name)
def test_derivatives_are_those_of_differences(trained, case):
    """Along one direction, of the results' sum weighted at random."""
    given = case.arguments("float32")
    floats = [i for i, x in enumerate(given) if x.dtype == "float32"]
    random = onp.random.RandomState(0)
    weights = [
        random.uniform(-1, 1, y.shape) for y in map(onp.asarray, tree_leaves(case.oracle(*given)))
    ]

    def loss(chosen):
        xs = [np.asarray(x) for x in given]
        for i, x in zip(floats, chosen, strict=True):
            xs[i] = x
        ys = tree_leaves(case.function(np, fastmath, *xs))
        return sum(
            np.sum(y * np.asarray(w.astype("float32")))
            for y, w in zip(ys, weights, strict=True)
            if "float" in name_of(y)
        )

    def exact(step):
        xs = [x if i not in floats else x.astype("float64") for i, x in enumerate(given)]
        for i, d in zip(floats, directions, strict=True):
            xs[i] = xs[i] + step * d
        ys = map(onp.asarray, tree_leaves(case.oracle(*xs)))
        return sum((y * w).sum() for y, w in zip(ys, weights, strict=True) if y.dtype.kind == "f")

    directions = [random.uniform(0.5, 1, given[i].shape) for i in floats]
    gradients = fastmath.grad(loss)([np.asarray(given[i]) for i in floats])
    along = sum(
        float(np.sum(g * np.asarray(d.astype("float32"))))
        for g, d in zip(gradients, directions, strict=True)
    )
    step = 1e-6
    # the mean of both one-sided differences is ours only where they agree: not on a kink
    right, left = ((exact(s) - exact(0.0)) / s for s in (step, -step))
    if abs(right - left) < 1e-3:
        assert along == pytest.approx((right + left) / 2, rel=2e-3, abs=2e-3)
    else:
        assert min(left, right) - 1e-2 <= along <= max(left, right) + 1e-2
