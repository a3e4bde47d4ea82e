"""Initial values: JAX's streams, variances, shapes, dtypes, orthogonality, refusals."""

import numpy as np
import pytest

import weft.numpy as wnp
from weft import jit, random, vmap
from weft.nn import initializers as init

KEY = random.PRNGKey(3)

# The first values of shape (2, 3, 4), scale 2, recorded from JAX (threefry, not partitionable).
RECORDED = {
    ("fan_in", "truncated_normal", "float32"): [0.5046969, 0.7376374, -0.3442308, 0.3303690],
    ("fan_out", "truncated_normal", "float32"): [0.4370804, 0.6388128, -0.2981127, 0.2861080],
    ("fan_avg", "normal", "float32"): [0.4353956, 0.6473553, -0.2950999, 0.2831037],
    ("fan_geo_avg", "uniform", "float32"): [0.5440970, 0.7204179, -0.3900234, 0.3756270],
    ("fan_in", "truncated_normal", "complex64"): [
        -0.5847760 - 0.2365649j, -0.0560303 - 0.3179839j, -0.3548844 - 0.8822912j
    ],
    ("fan_out", "normal", "complex64"): [
        0.1597057 + 0.0544349j, -0.2363183 + 0.2084240j, 0.5271893 + 0.1744430j
    ],
    ("fan_avg", "uniform", "complex64"): [
        -0.5754188 - 0.2327796j, -0.0658423 - 0.3736687j, -0.2723380 - 0.6770695j
    ],
}  # fmt: skip


@pytest.mark.parametrize(("mode", "distribution", "dtype"), RECORDED)
def test_values_are_those_of_jax(mode, distribution, dtype):
    make = init.variance_scaling(2.0, mode, distribution)
    want = RECORDED[mode, distribution, dtype]
    for run in (lambda f: f, jit):
        x = run(lambda key: make(key, (2, 3, 4), dtype))(KEY)
        assert x.shape == (2, 3, 4)
        assert x.dtype == np.dtype(dtype)
        np.testing.assert_allclose(np.ravel(x)[: len(want)], want, rtol=2e-6)


def test_simple_initializers_are_samples_times_a_number():
    shape = (3, 4)
    np.testing.assert_array_equal(init.uniform(2.0)(KEY, shape), random.uniform(KEY, shape) * 2)
    np.testing.assert_array_equal(init.normal(2.0)(KEY, shape), random.normal(KEY, shape) * 2)
    t = init.truncated_normal(3.0, lower=-1.0, upper=0.5)(KEY, shape)
    np.testing.assert_array_equal(t, random.truncated_normal(KEY, -1, 0.5, shape) * 3)
    assert init.zeros(KEY, shape).tolist() == np.zeros(shape).tolist()
    assert init.ones(None, (2,), "int32").tolist() == [1, 1]
    assert init.constant(np.arange(2.0))(KEY, (3, 2)).tolist() == [[0, 1]] * 3
    assert init.constant(2, "bfloat16")(KEY, (1,)).dtype.name == "bfloat16"
    assert init.normal(dtype="float16")(KEY, (2,)).dtype == np.float16
    assert init.normal(np.float32(2))(KEY, (2,), "bfloat16").dtype.name == "bfloat16"


FANS = {"glorot": 2 / (60 * 9 + 50 * 9), "lecun": 1 / (60 * 9), "he": 2 / (60 * 9)}


@pytest.mark.parametrize("name", FANS)
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_variances_of_kernels_of_convolutions(name, kind):
    make = getattr(init, f"{name}_{kind}")()
    x = np.asarray(make(KEY, (3, 3, 60, 50)), np.float64)
    assert x.mean() == pytest.approx(0, abs=4 * np.sqrt(FANS[name] / x.size))
    assert x.var() == pytest.approx(FANS[name], rel=0.03)


def test_axes():
    """Batch axes don't count; other axes are a window."""
    fan = init._fan
    assert fan((5, 3, 4), "fan_in", -2, -1, ()) == 15
    assert fan((5, 3, 4), "fan_in", -2, -1, 0) == 3
    assert fan((5, 3, 4), "fan_out", (0, 1), 2, ()) == 4
    assert fan((5, 3, 4), "fan_avg", 0, 2, ()) == (15 + 12) / 2
    assert fan((7,), "fan_in", 0, (), ()) == 7
    assert init.he_normal()(KEY, (0, 3)).shape == (0, 3)
    assert init.xavier_normal is init.glorot_normal
    assert init.kaiming_uniform is init.he_uniform


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 3), -1), ((3, 5), -1), ((4, 4), 0), ((2, 3, 4), 0)]
)
def test_orthogonal(shape, axis, dtype):
    x = np.asarray(init.orthogonal(2.0, axis)(KEY, shape, dtype)).astype(np.complex128)
    rows = np.moveaxis(x, axis, 0).reshape(shape[axis], -1)
    product = rows @ rows.conj().T if rows.shape[0] <= rows.shape[1] else rows.conj().T @ rows
    np.testing.assert_allclose(
        product, 4 * np.eye(len(product)), atol=0.1 if dtype == "bfloat16" else 1e-5
    )


def test_orthogonal_values_are_those_of_jax():
    got = init.orthogonal()(KEY, (3, 3))
    want = [[0.13943720, -0.21677236, -0.96621290], [-0.97894394, -0.17708033, -0.10154575]]
    np.testing.assert_allclose(got[:2], want, rtol=2e-5)
    delta = np.array(init.delta_orthogonal()(KEY, (3, 3, 2, 4)))
    np.testing.assert_allclose(
        delta[1, 1], [[-0.23693061, 0.44979525, -0.67538816, 0.53422755],
                      [0.65042233, -0.18379693, -0.63985870, -0.36571900]], rtol=2e-5,
    )  # fmt: skip
    delta[1, 1] = 0
    assert not delta.any()
    even = np.asarray(init.delta_orthogonal()(KEY, (4, 2, 3)))
    assert even.any((1, 2)).tolist() == [False, True, False, False]


def test_keys_and_batches():
    x = vmap(lambda key: init.lecun_normal()(key, (2, 3)))(random.split(KEY, 2))
    assert x.shape == (2, 2, 3)
    assert not bool(wnp.all(x[0] == x[1]))
    typed = init.normal()(random.key(3), (2,))
    np.testing.assert_array_equal(typed, init.normal()(KEY, (2,)))


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: init.variance_scaling(1.0, "fan", "normal"), ValueError, "mode"),
        (lambda: init.variance_scaling(-1.0, "fan_in", "normal"), ValueError, "scale must be 0"),
        (
            lambda: init.variance_scaling(float("nan"), "fan_in", "normal"),
            ValueError,
            "scale must be 0",
        ),
        (lambda: init.variance_scaling(1.0, "fan_in", "beta"), ValueError, "distribution"),
        (lambda: init.he_normal()(KEY, (3,)), ValueError, "two axes"),
        (lambda: init.he_normal(in_axis=4)(KEY, (3, 2)), ValueError, "in_axis 4"),
        (lambda: init.he_normal()(KEY, (3, 2), int), TypeError, "dtype"),
        (lambda: init.uniform()(KEY, (2,), "complex64"), TypeError, "dtype"),
        (lambda: init.normal(dtype="x"), TypeError, "normal"),
        (lambda: init.orthogonal()(KEY, (3,)), ValueError, "two axes"),
        (lambda: init.delta_orthogonal()(KEY, (3, 3)), ValueError, "3 to 5"),
        (lambda: init.delta_orthogonal()(KEY, (3, 4, 3)), ValueError, "inputs"),
        (lambda: init.normal()(1.0, (3,)), TypeError, "key"),
    ],
)
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
