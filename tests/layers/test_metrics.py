"""Metrics against NumPy, element by element; masks, smoothing, broadcasting, devices."""

import numpy as onp
import pytest
import scipy.special

import weft
import weft.layers as tl
from weft import fastmath
from weft.fastmath import numpy as jnp

RNG = onp.random.default_rng(1)
OUTPUTS = RNG.normal(size=(4, 5, 6)).astype("float32")
TARGETS = RNG.integers(0, 6, size=(4, 5))
TARGETS[0] = OUTPUTS[0].argmax(-1)  # a sequence that is right
TARGETS[1, :3] = OUTPUTS[1, :3].argmax(-1)
WEIGHTS = RNG.uniform(size=(4, 5)).astype("float32")
MASK = onp.ones((4, 5), "float32")
MASK[1, 3:] = 0  # another one, where it counts
LOGS = scipy.special.log_softmax(OUTPUTS, -1)
HITS = OUTPUTS.argmax(-1) == TARGETS
CE = -onp.take_along_axis(LOGS, TARGETS[..., None], -1)[..., 0]
SMOOTH = 0.8 * CE - 0.2 * LOGS.mean(-1)
P = RNG.uniform(0.05, 0.95, size=7).astype("float32")
BITS, W7 = RNG.integers(0, 2, size=7), RNG.uniform(size=7).astype("float32")
BINARY = -onp.where(BITS == 1, onp.log(P), onp.log(1 - P))
Y, T, W = RNG.normal(size=(3, 3, 4)).astype("float32") * 2
W = abs(W)
HUBER = onp.where(abs(Y - T) < 1, (Y - T) ** 2 / 2, abs(Y - T) - 0.5)
SOFT = (OUTPUTS, TARGETS, WEIGHTS)


def mean(values, weights=WEIGHTS):
    return (values * weights).sum() / weights.sum()


# layer, inputs, expected
CASES = {
    "CategoryAccuracy": (tl.CategoryAccuracy, (OUTPUTS, TARGETS), HITS.mean()),
    "WeightedCategoryAccuracy": (tl.WeightedCategoryAccuracy, SOFT, mean(HITS)),
    "weights that broadcast": (
        tl.WeightedCategoryAccuracy, (OUTPUTS, TARGETS, WEIGHTS[:1]),
        (HITS * WEIGHTS[:1]).sum() / WEIGHTS[:1].sum()),
    "CategoryCrossEntropy": (tl.CategoryCrossEntropy, (OUTPUTS, TARGETS), CE.mean()),
    "smoothing": (lambda: tl.CategoryCrossEntropy(0.2), (OUTPUTS, TARGETS), SMOOTH.mean()),
    "smoothing of 0": (lambda: tl.CategoryCrossEntropy(0.0), (OUTPUTS, TARGETS), CE.mean()),
    "WeightedCategoryCrossEntropy": (tl.WeightedCategoryCrossEntropy, SOFT, mean(CE)),
    "weighted, smoothing": (lambda: tl.WeightedCategoryCrossEntropy(0.2), SOFT, mean(SMOOTH)),
    "cutoff": (
        lambda: tl.WeightedCategoryCrossEntropy(cutoff=1.5), SOFT,
        mean(onp.maximum(CE - 1.5, 0))),
    "BinaryCrossEntropy": (
        tl.BinaryCrossEntropy, (scipy.special.logit(P), BITS), BINARY.mean()),
    "MaskedSequenceAccuracy": (tl.MaskedSequenceAccuracy, (OUTPUTS, TARGETS, MASK), 0.5),
    "no mask": (tl.MaskedSequenceAccuracy, (OUTPUTS, TARGETS, onp.ones((1, 1))), 0.25),
    "Accuracy": (tl.Accuracy, SOFT, mean(HITS)),
    "another classifier": (
        lambda: tl.Accuracy(tl.ThresholdToBinary()), (P, BITS, W7), mean((P > 0.5) == BITS, W7)),
    "SequenceAccuracy": (tl.SequenceAccuracy, (OUTPUTS, TARGETS, MASK), 0.5),
    "CrossEntropyLoss": (tl.CrossEntropyLoss, (LOGS, TARGETS, WEIGHTS), mean(CE)),
    "CrossEntropyLossWithLogSoftmax": (tl.CrossEntropyLossWithLogSoftmax, SOFT, mean(CE)),
    "CrossEntropySum": (tl.CrossEntropySum, (LOGS, TARGETS, MASK), (CE * MASK).sum()),
    "BinaryCrossEntropyLoss": (tl.BinaryCrossEntropyLoss, (P, BITS, W7), BINARY.mean()),
    "of a column": (
        tl.BinaryCrossEntropyLoss, (P[:, None], BITS[:, None], W7[:, None]), BINARY.mean()),
    "BinaryCrossEntropySum": (
        tl.BinaryCrossEntropySum, (P, BITS, W7), BINARY.mean() * W7.sum()),
    "L2Loss": (tl.L2Loss, (Y, T, W), mean((Y - T) ** 2, W)),
    "SmoothL1Loss": (tl.SmoothL1Loss, (Y, T, W), mean(HUBER, W)),
    "WeightedSum": (tl.WeightedSum, (Y, W), (Y * W).sum()),
}  # fmt: skip


def value(layer, inputs):
    layer.init(tuple(map(jnp.asarray, inputs)))
    y = layer(tuple(map(jnp.asarray, inputs)))
    assert y.shape == ()
    return float(y)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_values(case, backend):
    make, inputs, expected = CASES[case]
    with fastmath.use_backend(backend):
        assert value(make(), inputs) == pytest.approx(expected, rel=1e-5)


def f_scores(found, targets, n, beta):
    """Precision, recall and their harmonic mean by counting, and how many targets there are."""
    for k in range(n):
        right = sum(1 for p, t in zip(found, targets, strict=True) if p == t == k)
        n_found = sum(1 for p in found if p == k)
        n_wanted = sum(1 for t in targets if t == k)
        precision = right / n_found if n_found else 0.0
        recall = right / n_wanted if n_wanted else 0.0
        below = beta**2 * precision + recall
        yield ((1 + beta**2) * precision * recall / below if below else 0.0), n_wanted


@pytest.mark.parametrize("shape", [(30,), (5, 6)])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_f_scores_are_those_of_counting(beta, first, shape):
    outputs = RNG.normal(size=(*shape, 5)).astype("float32")
    targets = RNG.integers(0, 4, size=shape)  # 4 is never a target
    scores = [*f_scores(outputs.argmax(-1).ravel(), targets.ravel(), 5, beta)][first:]
    macro = sum(f for f, _ in scores) / len(scores)
    weighted = sum(f * n for f, n in scores) / sum(n for _, n in scores)
    assert value(tl.MacroAveragedFScore(beta, first), (outputs, targets)) == pytest.approx(macro)
    assert value(tl.WeightedFScore(beta, first), (outputs, targets)) == pytest.approx(weighted)


def test_the_table_is_whole():
    tested = {*CASES, "MacroAveragedFScore", "WeightedFScore"}
    assert set(tl.metrics.__all__) <= tested


def test_masked_elements_do_not_matter():
    changed = onp.where(MASK[..., None] == 0, 100.0, OUTPUTS).astype("float32")
    for make in (tl.WeightedCategoryCrossEntropy, tl.WeightedCategoryAccuracy):
        assert value(make(), (OUTPUTS, TARGETS, MASK)) == value(make(), (changed, TARGETS, MASK))


def test_names_and_structure():
    assert str(tl.CategoryAccuracy()) == "CategoryAccuracy_in2"
    assert str(tl.WeightedSum()) == "WeightedSum_in2"
    for name in ("Accuracy", "SequenceAccuracy", "CrossEntropyLossWithLogSoftmax"):
        assert str(getattr(tl, name)()) == f"{name}_in3"
        assert getattr(tl, name)().weights == ((), (), ())
    for name in ("CrossEntropyLoss", "CrossEntropySum", "BinaryCrossEntropyLoss",
                 "BinaryCrossEntropySum"):  # fmt: skip
        assert str(getattr(tl, name)()) == f"{name}_in3"
        assert getattr(tl, name)().weights == ((), ())


@pytest.mark.devices(4)
@pytest.mark.parametrize("make", [tl.WeightedCategoryCrossEntropy, tl.Accuracy])
def test_the_mean_over_devices_is_that_of_the_batch(make):
    """Though each device has another sum of weights."""
    layer = make()
    parts = [jnp.asarray(x)[:, None] for x in SOFT]
    found = weft.pmap(lambda *xs: layer(xs), axis_name="batch")(*parts)
    assert len(set(onp.asarray(found).tolist())) > 1
    assert float(found.mean()) == pytest.approx(value(make(), SOFT), rel=1e-5)


def test_gradients_of_a_loss_are_those_of_softmax():
    layer = tl.WeightedCategoryCrossEntropy()
    rest = jnp.asarray(TARGETS), jnp.asarray(WEIGHTS)
    found = fastmath.grad(lambda x: layer((x, *rest)))(jnp.asarray(OUTPUTS))
    onehot = onp.eye(6)[TARGETS]
    expected = (scipy.special.softmax(OUTPUTS, -1) - onehot) * WEIGHTS[..., None] / WEIGHTS.sum()
    onp.testing.assert_allclose(found, expected, atol=1e-6)
