"""Initializers: distributions and fans by formula, orthogonality, fixed streams, files."""

import math

import numpy as onp
import pytest

import weft.layers as tl
from weft import fastmath
from weft.errors import ShapeError

KEY = fastmath.random.get_prng(3)
MANY = (40, 150, 100)  # in_dim 150, out_dim 100; so many that moments are known to a percent


def made(initializer, shape=MANY):
    x = onp.asarray(initializer(shape, KEY))
    assert x.shape == shape
    assert x.dtype == "float32"
    return x


# initializer, variance, distribution
BY_FORMULA = {
    "RandomNormal": (tl.RandomNormalInitializer(0.5), 0.25, "normal"),
    "RandomUniform": (tl.RandomUniformInitializer(2.0), 4 / 3, "uniform"),
    "GlorotNormal": (tl.GlorotNormalInitializer(), 1 / 125, "normal"),
    "GlorotUniform": (tl.GlorotUniformInitializer(scale=3.0), 3 / 125, "uniform"),
    "LeCunNormal": (tl.LeCunNormalInitializer(), 1 / 150, "normal"),
    "LeCunUniform": (tl.LeCunUniformInitializer(), 1 / 150, "uniform"),
    "KaimingNormal": (tl.KaimingNormalInitializer(), 2 / 150, "normal"),
    "KaimingUniform": (tl.KaimingUniformInitializer(param=math.sqrt(3)), 1 / 150, "uniform"),
    "other axes": (tl.LeCunNormalInitializer(out_dim=1, in_dim=0), 1 / 40, "normal"),
    "fan_out": (tl.ScaledInitializer(-1, -2, 2.0, "fan_out", "normal"), 0.02, "normal"),
    "truncated": (tl.ScaledInitializer(-1, -2, 1.0, "fan_in", "truncated_normal"), 1 / 150, "cut"),
}


@pytest.mark.parametrize("name", BY_FORMULA)
def test_moments_are_those_of_the_distribution(name):
    initializer, variance, distribution = BY_FORMULA[name]
    x = made(initializer) / math.sqrt(variance)
    assert abs(x.mean()) < 0.01
    assert abs(x.var() - 1) < 0.01
    fourth = {"normal": 3.0, "uniform": 1.8, "cut": None}[distribution]
    if fourth is None:
        assert 2.25 < abs(x).max() <= 2 / 0.8796256
    else:
        assert abs((x**4).mean() - fourth) < 0.05
    if distribution == "uniform":
        assert abs(x).max() <= math.sqrt(3) * (1 + 1e-6)


@pytest.mark.parametrize(("shape", "fan"), [((9,), 9), ((), 1), ((7, 4), 7)])
def test_fans_of_shapes_of_few_axes(shape, fan):
    x = tl.ScaledInitializer(-1, -2, 1.0, "fan_in", "normal")(shape, KEY)
    expected = fastmath.random.normal(KEY, shape) / math.sqrt(fan)
    onp.testing.assert_allclose(x, expected, rtol=1e-6)


def test_windows_do_not_count_whether_they_are_said_to_be_or_not():
    initializer = tl.LeCunUniformInitializer()
    x = initializer((3, 3, 4, 6), KEY)
    onp.testing.assert_array_equal(x, initializer((3, 3, 4, 6), KEY, nonreceptive_dims=[0, 1]))
    assert 0.85 < abs(x).max() <= math.sqrt(3 / 4)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 5), (6,), ()])
def test_orthogonal_rows_or_columns(shape):
    q = made(tl.OrthogonalInitializer(2.0), shape).reshape(-1, shape[-1] if shape else 1) / 2
    few = q.T if q.shape[0] > q.shape[1] else q
    onp.testing.assert_allclose(few @ few.T, onp.eye(len(few)), atol=1e-6)


def test_atari():
    x = onp.asarray(tl.AtariConvInit((3, 3, 4, 500), KEY))
    bound = 1 / 6  # 1 / √(3 · 3 · 4)
    assert x.dtype == "float32"
    assert abs(x).max() <= bound
    assert abs(x.var() / (bound**2 / 3) - 1) < 0.02
    assert tl.AtariConvInit((3, 3, 4, 5), KEY, "bfloat16").dtype == "bfloat16"


def test_values_from_a_file(tmp_path):
    path = tmp_path / "w.npy"
    onp.save(path, onp.arange(6.0, dtype="float32").reshape(2, 3))
    initializer = tl.InitializerFromFile(path)
    onp.testing.assert_array_equal(initializer((2, 3), KEY), [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ShapeError, match=r"shape \(3, 2\) in .*w.npy; got one of shape \(2, 3\)"):
        initializer((3, 2), KEY)


def test_a_file_of_objects_is_not_executed(tmp_path):
    path = tmp_path / "w.npy"
    onp.save(path, onp.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        tl.InitializerFromFile(path)((1,), KEY)


def test_a_key_gives_the_values_of_the_classic_stream():
    # printed by Trax on JAX with the classic Threefry stream
    x = tl.RandomNormalInitializer(1.0)((3,), fastmath.random.get_prng(0))
    onp.testing.assert_allclose(x, [1.8160863, -0.48262316, 0.33988908], rtol=1e-5)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_other_backends_have_the_same_distributions(backend):
    with fastmath.use_backend(backend):
        for initializer in (tl.GlorotUniformInitializer(), tl.RandomNormalInitializer(1.0)):
            x = initializer((20, 30), fastmath.random.get_prng(0))
            assert str(x.dtype) == "float32"
            assert onp.asarray(x).std() > 0.1
