"""Core layers where the table of laws and the recorded results say nothing; shapes; checks."""

import warnings

import numpy as onp
import pytest
import scipy.special
import scipy.stats

from weft import fastmath, layers as tl, shapes
from weft.fastmath import numpy as jnp

X = onp.arange(6, dtype=onp.float32).reshape(2, 3)
RANDOM = onp.random.default_rng(0)


def made(layer, x=X):
    """A layer with its weights."""
    layer.init(shapes.signature(x), rng=fastmath.random.get_prng(0))
    return layer


def test_bfloat16():
    dense = made(tl.Dense(2, use_bfloat16=True))
    assert {str(w.dtype) for w in dense.weights} == {"bfloat16"}
    embedding = made(tl.Embedding(4, 2, use_bfloat16=True))
    assert str(embedding.weights.dtype) == "bfloat16"
    assert str(embedding(onp.array([1])).dtype) == "float32"
    assert str(made(tl.Weights(lambda s, k: jnp.ones(s), (2,), True)).weights.dtype) == "bfloat16"


def test_dense_takes_integers_and_any_number_of_axes():
    layer = made(tl.Dense(2))
    w, b = (onp.asarray(v) for v in layer.weights)
    onp.testing.assert_allclose(layer(X.astype(onp.int32)), X @ w + b, 1e-5)
    onp.testing.assert_allclose(layer(X[0]), X[0] @ w + b, 1e-5)
    assert layer(X.reshape(2, 1, 1, 3)).shape == (2, 1, 1, 2)


def test_embedding_weights_are_uniform_by_the_features():
    w = onp.asarray(made(tl.Embedding(100, 12)).weights)
    assert 0.45 < onp.abs(w).max() <= (3 / 12) ** 0.5
    assert made(tl.Embedding(3, 2)).weights.shape == (3, 2)


def test_compiled_embedding_takes_the_nearest_id():
    layer, ids = made(tl.Embedding(5, 3)), onp.array([[0, 5], [99, -1]])
    compiled = fastmath.jit(lambda ids: layer.pure_fn(ids, layer.weights, (), None)[0])
    onp.testing.assert_array_equal(compiled(ids), layer(onp.array([[0, 4], [4, 0]])))
    assert layer(ids[:0]).shape == (0, 2, 3)


def test_dropout_keeps_the_mean_and_shares_masks():
    x, key = onp.ones((200, 50), onp.float32), fastmath.random.get_prng(1)
    y = onp.asarray(tl.Dropout(0.25)(x, rng=key))
    assert set(onp.unique(y)) == {0.0, onp.float32(1 / 0.75)}
    assert abs(y.mean() - 1) < 0.02
    y = onp.asarray(tl.Dropout(0.5, shared_axes=[-1])(x, rng=key))
    assert (y == y[:, :1]).all()
    assert len(onp.unique(y)) == 2
    assert not onp.asarray(tl.Dropout(1.0)(x, rng=key)).any()
    layer = made(tl.Dropout(0.25), x)
    assert float(layer.state) == 0.25
    changed = layer(x, state={"Dropout": jnp.asarray(0.9)}, rng=key)
    assert abs(float((onp.asarray(changed) != 0).mean()) - 0.1) < 0.02
    for mode in ("eval", "predict"):
        assert tl.Dropout(0.5, mode=mode)(x) is x


def test_random_uniform():
    layer = tl.RandomUniform(-1.0, 3.0, shape=(1000,))
    key = fastmath.random.get_prng(2)
    y = onp.asarray(layer((), rng=key))
    assert -1 <= y.min() < -0.9
    assert 2.9 < y.max() < 3
    assert onp.array_equal(y, fastmath.random.uniform(key, (1000,), onp.float32, -1.0, 3.0))


@pytest.mark.devices(4)
def test_random_numbers_that_are_the_same_on_all_devices():
    n = fastmath.global_device_count()
    keys = fastmath.random.split(fastmath.random.get_prng(3), n)
    for sync, count in ((True, 1), (False, n)):
        layer = tl.RandomUniform(shape=(2,), sync=sync)
        run = fastmath.pmap(lambda k, layer=layer: layer.pure_fn((), (), (), k)[0], "batch")
        assert len(onp.unique(onp.asarray(run(keys)), axis=0)) == count


def test_summaries_are_drained_from_the_state_of_a_model():
    image = tl.SummaryImage("out", 1, 2, lambda row: row[None] * 0 + 1)
    model = made(tl.Serial(tl.SummaryScalar("in", jnp.max), tl.Dense(2), image))
    model(X)

    def summaries(state):
        if isinstance(state, dict):
            return {k: onp.asarray(v) for k, v in state.items() if k.startswith("summary_")}
        found = {}
        for part in state if isinstance(state, tuple) else ():
            found |= summaries(part)
        return found

    found = summaries(model.state)
    assert list(found) == ["summary_in", "summary_out0", "summary_out1"]
    assert found["summary_in"] == 5
    assert onp.array_equal(found["summary_out1"], [[1, 1]])


def test_print_shape(capsys):
    tl.PrintShape(2, "hello")((X, X[0]))
    assert capsys.readouterr().out == "PrintShape: hello: [(2, 3)[float32], (3,)[float32]]\n"


def test_reductions_over_several_axes_and_integers():
    x = RANDOM.normal(size=(2, 3, 4)).astype(onp.float32)
    assert tl.Sum(axis=(0, 2))(x).shape == (3,)
    onp.testing.assert_allclose(tl.Mean(axis=(0, -1))(x), x.mean((0, 2)), 1e-5)
    onp.testing.assert_allclose(tl.LogSumExp()(x)[..., 0], scipy.special.logsumexp(x, -1), 1e-5)
    assert tl.ArgMax()(x).dtype == jnp.int32
    assert tl.ThresholdToBinary(0.5)(onp.array([0.4, 0.5, 0.6])).tolist() == [0, 0, 1]
    assert tl.Flatten(0)(x).shape == (24,)
    assert tl.Flatten()(onp.zeros((0, 3, 2))).shape == (0, 6)


def test_densities():
    x, mu = RANDOM.normal(size=(2, 4, 3))
    a = RANDOM.normal(size=(3, 3))
    sigma, variances = a @ a.T + onp.eye(3), onp.array([0.5, 1.0, 2.0])
    wanted = [
        scipy.stats.multivariate_normal.logpdf(p, m, sigma) for p, m in zip(x, mu, strict=True)
    ]
    args = [v.astype(onp.float32) for v in (x, mu)]
    found = tl.log_gaussian_pdf(*args, onp.broadcast_to(sigma.astype(onp.float32), (4, 3, 3)))
    onp.testing.assert_allclose(found, wanted, 1e-4)
    wanted = scipy.stats.norm.logpdf(x, mu, variances**0.5).sum(-1)
    found = tl.log_gaussian_diag_pdf(*args, variances.astype(onp.float32))
    onp.testing.assert_allclose(found, wanted, 1e-4)

    preds = RANDOM.normal(size=(4, 2 * (2 * 3 + 1))).astype(onp.float32)
    weights = scipy.special.softmax(preds[:, :2], -1)
    means, s = preds[:, 2:8].reshape(4, 2, 3), preds[:, 8:].reshape(4, 2, 3)
    parts = scipy.stats.norm.pdf(x[:, None], means, (s * s + 1e-6) ** 0.5).prod(-1)
    wanted = onp.log((weights * parts).sum(-1))
    onp.testing.assert_allclose(tl.multigaussian_loss(preds, args[0], 2), wanted, 1e-5)


def test_samples_of_log_probabilities():
    onp.random.seed(0)
    p = onp.array([0.2, 0.5, 0.3])
    drawn = tl.logsoftmax_sample(onp.broadcast_to(onp.log(p), (20000, 3)))
    onp.testing.assert_allclose(onp.bincount(drawn) / 20000, p, atol=0.02)
    assert (tl.logsoftmax_sample(onp.log(p), temperature=0.0)) == 1


def test_one_hot():
    assert tl.one_hot([0, 2, 3, -1], 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert tl.one_hot(X, 2, onp.int32).dtype == onp.int32


# ---- checks of shapes ----

SPECIFICATIONS = [
    ("ab", [(2, 3)], True),
    ("ab", [(2,)], False),
    ("aa", [(2, 3)], False),
    ("a3", [(2, 3)], True),
    ("a4", [(2, 3)], False),
    ("...", [()], True),
    ("...a", [()], False),
    ("...a,a", [(5, 2, 3), (3,)], True),
    ("...a,a", [(5, 2, 3), (2,)], False),
    ("...a,...b", [(5, 2, 3), (5, 2, 7)], True),
    ("...a,...b", [(5, 2, 3), (5, 7)], False),
    ("a...b", [(2, 3)], True),
    ("a...b", [(2,)], False),
    ("a...b,b", [(2, 1, 1, 3), (3,)], True),
    ("a,", [(2,), ()], True),
    ("a,", [(2,), (1,)], False),
    ("", [()], True),
    ("a,b", [(2,)], False),
    ("aA", [(2, 3)], True),
]


@pytest.mark.parametrize(("spec", "given", "fits"), SPECIFICATIONS)
def test_specifications_of_shapes(spec, given, fits):
    arrays = tuple(onp.zeros(shape) for shape in given)
    arrays = arrays[0] if len(arrays) == 1 else arrays
    layer = tl.AssertShape(spec)
    if fits:
        assert layer(arrays) is arrays
        assert layer(arrays) is arrays
        return
    with pytest.raises(tl.LayerError, match=r"AssertShape Error\. Expected"):
        layer(arrays)


def test_checks_around_layers():
    checked = tl.assert_shape("ab->b")(lambda: tl.Sum(axis=0))()
    assert checked(X).tolist() == [3, 5, 7]
    assert repr(checked) == "Serial[\n  Sum\n]"
    wrong = tl.assert_shape("ab->a")(lambda: tl.Sum(axis=0))()
    with pytest.raises(
        tl.LayerError, match=r"Expected a, got \[\(3,\)\] with dict \{'a': 2, 'b': 3\}"
    ):
        wrong(X)
    with pytest.raises(tl.LayerError, match=r"Defined at .*test_core.py:\d+ function input"):
        tl.Dense(2)(onp.zeros(()))
    assert repr(tl.AssertShape("a,b,c")) == ""

    class Unknown:
        shape = (None, float("nan"))

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tl.AssertShape("a3").forward(Unknown())
    assert any("an unknown length is not checked" in str(w.message) for w in seen)


# ---- shapes ----


def test_shape_dtype():
    sig = shapes.ShapeDtype([2, 3])
    assert sig.shape == (2, 3)
    assert sig == shapes.ShapeDtype((2, 3), onp.dtype("float32"))
    assert sig != shapes.ShapeDtype((2, 3), onp.int32)
    assert sig != ((2, 3), onp.float32)
    assert len(sig) == 1
    assert sig.as_tuple() == ((2, 3), onp.float32)
    assert sig.replace(dtype=onp.int32, other=1) == shapes.ShapeDtype((2, 3), onp.int32)
    assert repr(sig) == "ShapeDtype{shape:(2, 3), dtype:<class 'numpy.float32'>}"
    assert shapes.ShapeDtype((None, 2)).shape == (None, 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(sig)


def test_signatures():
    nested = [X, (X[0], {"a": jnp.zeros((), jnp.int32)})]
    found = shapes.signature(nested)
    assert found[1][0].shape == (3,)
    assert found[1][1]["a"] == shapes.ShapeDtype((), onp.int32)
    assert shapes.signature(found) == found
    one, two = found[0], found[1][0]
    assert shapes.splice_signatures(one, (), [two, one]) == (one, two, one)
    assert shapes.splice_signatures([one]) is one
    shapes.assert_same_shape(X, jnp.ones((2, 3)))
    with pytest.raises(AssertionError, match=r"Invalid shape \(2, 3\); expected \(3, 2\)"):
        shapes.assert_shape_equals(X, (3, 2))
