"""BERT: its formula, its heads, its loss, and files of weights in both public layouts."""

import functools
import math

import numpy as np
import pytest
import scipy.special

from weft import fastmath, layers as tl, models, shapes
from weft.models.research import bert

D, V, ROOM, KINDS, HEADS, FF, LAYERS = 6, 11, 8, 2, 2, 10, 2
SIZES = {
    "d_model": D, "vocab_size": V, "max_len": ROOM, "type_vocab_size": KINDS, "n_heads": HEADS,
    "d_ff": FF, "n_layers": LAYERS,
}  # fmt: skip
IDS = np.array([[5, 2, 7, 1], [3, 9, 0, 0]])
SEGMENTS = np.array([[0, 0, 1, 1], [0, 1, 0, 0]])
INPUTS = IDS, SEGMENTS, np.array([7, 8])
KEY = np.array([0, 3], np.uint32)


@functools.cache
def arrays():
    """Random weights by the names of the original release."""
    noise = np.random.default_rng(0)

    def dense(name, n_in, n_out):
        return {
            f"{name}/kernel": noise.normal(0, 0.4, (n_in, n_out)),
            f"{name}/bias": noise.normal(0, 0.4, n_out),
        }

    def norm(name):
        return {
            f"{name}/LayerNorm/gamma": noise.normal(1, 0.2, D),
            f"{name}/LayerNorm/beta": noise.normal(0, 0.2, D),
        }

    found = {
        f"embeddings/{name}_embeddings": noise.normal(0, 1, (size, D))
        for name, size in (("word", V), ("token_type", KINDS), ("position", ROOM))
    } | norm("embeddings")
    for i in range(LAYERS):
        block = f"encoder/layer_{i}"
        for part in ("query", "key", "value"):
            found |= dense(f"{block}/attention/self/{part}", D, D)
        found |= dense(f"{block}/attention/output/dense", D, D) | norm(f"{block}/attention/output")
        found |= dense(f"{block}/intermediate/dense", D, FF)
        found |= dense(f"{block}/output/dense", FF, D) | norm(f"{block}/output")
    found |= dense("pooler/dense", D, D)
    return {name: array.astype(np.float32) for name, array in found.items()}


def by_formula(ids, segments):
    """(first vectors, all vectors) of the network in the paper, in float64."""
    w = {name: array.astype(np.float64) for name, array in arrays().items()}

    def dense(name, x):
        return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    def norm(name, x):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
        return x * w[f"{name}/LayerNorm/gamma"] + w[f"{name}/LayerNorm/beta"]

    def heads(x):
        return np.swapaxes(x.reshape(*x.shape[:2], HEADS, D // HEADS), 1, 2)

    x = w["embeddings/word_embeddings"][ids] + w["embeddings/token_type_embeddings"][segments]
    x = norm("embeddings", x + w["embeddings/position_embeddings"][: ids.shape[1]])
    for i in range(LAYERS):
        block = f"encoder/layer_{i}"
        q, k, v = (
            heads(dense(f"{block}/attention/self/{part}", x)) for part in ("query", "key", "value")
        )
        scores = q @ np.swapaxes(k, 2, 3) / math.sqrt(D // HEADS)
        scores = np.exp(np.where(ids[:, None, None] != 0, scores, -np.inf))
        means = scores / scores.sum(axis=-1, keepdims=True) @ v
        means = np.swapaxes(means, 1, 2).reshape(x.shape)
        x = norm(f"{block}/attention/output", x + dense(f"{block}/attention/output/dense", means))
        h = dense(f"{block}/intermediate/dense", x)
        h = h * scipy.special.ndtr(h)
        x = norm(f"{block}/output", x + dense(f"{block}/output/dense", h))
    return np.tanh(dense("pooler/dense", x[:, 0])), x


def hugging_face(prefix="bert."):
    """The same arrays by the names of Hugging Face's, and others that are not of the encoder."""
    renamed = {"gamma": "weight", "beta": "bias", "kernel": "weight"}
    found = {"cls.predictions.bias": np.zeros(3), "embeddings.position_ids": np.arange(3)[None]}
    for name, array in arrays().items():
        part, _, last = name.rpartition("/")
        name = f"{part}/{renamed.get(last, last)}"
        name += "/weight" if last.endswith("_embeddings") else ""
        name = prefix + name.replace("layer_", "layer.").replace("/", ".")
        found[name] = np.ascontiguousarray(array.T) if last == "kernel" else array
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path_factory.mktemp("bert") / "model.safetensors"
    library.save_file(hugging_face(), path)
    return path


def assert_is_the_network(model):
    first, vectors = by_formula(IDS, SEGMENTS)
    found = model(INPUTS)
    np.testing.assert_allclose(found[0], first, rtol=1e-4, atol=1e-5)
    counted = IDS != 0
    np.testing.assert_allclose(found[1][counted], vectors[counted], rtol=1e-4, atol=1e-5)


def test_the_weights_of_a_file_make_the_network_of_the_paper(file):
    model = bert.BERT(**SIZES)
    model.init(INPUTS, rng=KEY)
    assert [w.shape for w in fastmath.tree_leaves(bert.load_bert_weights(file, HEADS))] == [
        w.shape for w in fastmath.tree_leaves(model.weights)
    ]
    model.weights = bert.load_bert_weights(file, n_heads=HEADS)
    assert_is_the_network(model)


def test_older_names_of_normalizations_are_read_as_well(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    older = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): array
        for name, array in hugging_face("").items()
    }
    library.save_file(older, tmp_path / "old.safetensors")
    model = bert.BERT(**SIZES)
    model.init(INPUTS)
    model.weights = bert.load_bert_weights(tmp_path / "old.safetensors", HEADS)
    assert_is_the_network(model)


@pytest.mark.slow
def test_a_tensorflow_checkpoint_is_read(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    raw = tensorflow.raw_ops
    names = [*(f"bert/{name}" for name in arrays()), "bert/pooler/dense/bias/adam_m", "global_step"]
    values = [*arrays().values(), np.zeros(D, np.float32), np.array(3)]
    prefix = str(tmp_path / "bert_model.ckpt")
    raw.SaveV2(
        prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=values
    )
    model = bert.BERT(**SIZES)
    model.init(INPUTS)
    model.weights = bert.load_bert_weights(prefix, HEADS)
    assert_is_the_network(model)


def test_a_model_may_begin_with_a_file(file):
    model = bert.BERT(**SIZES, init_checkpoint=file, mode="train")
    model.init(INPUTS, rng=KEY)
    assert_is_the_network(model)
    assert_is_the_network(tl.in_mode(model, "eval"))
    other = bert.BERT(**SIZES, init_checkpoint=file)  # mode "eval": random weights, as in Trax
    other.init(INPUTS, rng=KEY)
    assert not np.allclose(other(INPUTS)[0], model(INPUTS)[0])
    with_head = bert.BERT(
        **SIZES, init_checkpoint=file, mode="train", head=lambda: bert.BERTClassifierHead(3)
    )
    with_head.init(INPUTS, rng=KEY)
    (w, b) = with_head.weights[1][1]
    np.testing.assert_allclose(
        with_head(INPUTS), by_formula(IDS, SEGMENTS)[0] @ w + b, rtol=1e-3, atol=1e-5
    )


def test_files_that_do_not_fit(file, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file bert-base\.index\n.*Nothing is"):
        bert.load_bert_weights("bert-base")
    with pytest.raises(FileNotFoundError, match=r"there is no file nothing\.safetensors"):
        bert.load_bert_weights("nothing.safetensors")
    with pytest.raises(ValueError, match="must be a multiple of n_heads; got 6 and 4"):
        bert.load_bert_weights(file, n_heads=4)
    library = pytest.importorskip("safetensors.numpy")
    for change, message in (
        (
            {"bert.pooler.dense.weight": None},
            r"pooler/dense/kernel of shape \(6, 6\).*nothing",
        ),
        (
            {"bert.encoder.layer.1.output.dense.bias": np.zeros(4, np.float32)},
            r"bert/encoder/layer_1/output/dense/bias of shape \(6\).*got shape \(4,\)",
        ),
        (
            {"bert.embeddings.word_embeddings.weight": None},
            r"word_embeddings of shape \(any, an",
        ),
    ):
        changed = {k: v for k, v in (hugging_face() | change).items() if v is not None}
        library.save_file(changed, tmp_path / "changed.safetensors")
        with pytest.raises(ValueError, match=message):
            bert.load_bert_weights(tmp_path / "changed.safetensors", HEADS)
    for option, message in (
        ({"max_len": 9}, r"has 39 arrays, and the model 39; it has \(8, 6\) for \(9, 6\)\n  fix"),
        ({"n_layers": 1}, r"has 39 arrays, and the model 23; it has \(2, 6, 3\) for \(6, 6\)"),
        ({"n_layers": 3}, r"has 39 arrays, and the model 55"),
    ):
        model = bert.BERT(**{**SIZES, **option}, init_checkpoint=file, mode="train")
        with pytest.raises(tl.LayerError, match=message):
            model.init(INPUTS)


def test_dropout_is_off_unless_it_is_asked_for():
    keys = [np.array([0, k], np.uint32) for k in (1, 2)]
    for options, is_random in (({}, False), ({"dropout": 0.3}, True)):
        model = bert.BERT(**SIZES, mode="train", **options)
        weights, state = model.init(INPUTS, rng=KEY)
        both = [model.pure_fn(INPUTS, weights, state, key)[0][0] for key in keys]
        assert np.allclose(*both) != is_random
        assert ("Dropout" in str(model)) == is_random
    flat = [w.shape for w in fastmath.tree_leaves(weights)]
    plain, _ = bert.BERT(**SIZES).weights_and_state_signature(INPUTS)
    assert flat == [w.shape for w in fastmath.tree_leaves(plain)]


def test_default_sizes_are_those_of_the_base_model():
    one = shapes.ShapeDtype((1, 2), np.int32)
    weights, _ = models.BERT().weights_and_state_signature((one, one, one))
    count = sum(math.prod(w.shape) for w in fastmath.tree_leaves(weights))
    assert count == 109_482_240  # what the release says: 110 million


def test_heads():
    first, vectors = np.ones((2, D), np.float32), np.ones((2, 4, D), np.float32)
    for head, expected in (
        (bert.BERTClassifierHead(3), [(2, 3)]),
        (bert.BERTRegressionHead(), [(2,)]),
        (bert.BERTMLMHead(V), [(2, 4, V)]),
        (bert.BERTPretrainingHead(2, V), [(2, 2), (2, 4, V)]),
    ):
        weights, _ = head.init((first, vectors), rng=KEY)
        outputs = head((first, vectors))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        assert [y.shape for y in outputs] == expected
        for w in fastmath.tree_leaves(weights):
            assert float(np.abs(w).max()) < (0.1 if w.ndim > 1 else 1e-4)
        large, _ = head.init((np.ones((2, 300)), np.ones((2, 4, 300))), rng=KEY)
        kernel = max(fastmath.tree_leaves(large), key=np.size)
        np.testing.assert_allclose(np.std(kernel), 0.02, rtol=0.2)
    assert "30522" in str(bert.BERTMLMHead())
    assert "30522" in str(bert.BERTPretrainingHead(2))


def test_the_loss_is_the_sum_of_two_weighted_means():
    rng = np.random.default_rng(2)
    classes, tokens = rng.normal(size=(2, 2)), rng.normal(size=(2, 3, 5))
    label, weight = np.array([1, 0]), np.array([1.0, 0.5])
    ids, weights = rng.integers(0, 5, (2, 3)), rng.random((2, 3))

    def mean(logits, labels, weights):
        log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        losses = -np.take_along_axis(log_p, labels[..., None], axis=-1)[..., 0]
        return (losses * weights).sum() / weights.sum()

    found = bert.BERTPretrainingLoss()((classes, tokens, label, weight, ids, weights))
    expected = mean(classes, label, weight) + mean(tokens, ids, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


REFUSED = {
    "heads": (lambda: bert.BERT(d_model=8, n_heads=3), ValueError, "must be a multiple of n_heads"),
    "d_ff": (lambda: bert.BERT(d_ff=0), ValueError, "BERT: d_ff must be at least 1; got 0"),
    "n_layers": (lambda: bert.BERT(n_layers=-1), ValueError, "n_layers must be at least 0"),
    "dropout": (lambda: bert.BERT(dropout=1), ValueError, "dropout must be less than 1"),
    "mode": (lambda: bert.BERT(mode="off"), ValueError, "BERT: mode must be"),
    "head": (
        lambda: bert.BERT(**SIZES, head=bert.BERTRegressionHead()), TypeError,
        "BERT: head must be a function that makes a layer",
    ),
    "n_classes": (lambda: bert.BERTClassifierHead(0), ValueError, "n_classes must be at least 1"),
    "bias": (lambda: bert.AddBias().init(np.float32(3)), tl.LayerError, "input with a last axis"),
    "n_heads": (lambda: bert.load_bert_weights("x", 0), ValueError, "n_heads must be at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_a_model_of_no_blocks():
    model = bert.BERT(**{**SIZES, "n_layers": 0}, mode="predict")
    model.init(INPUTS)
    assert [y.shape for y in model(INPUTS)] == [(2, D), (2, 4, D)]
