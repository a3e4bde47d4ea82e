"""Functions of data sets of tf.data, with TensorFlow where it is installed."""

import sys

import numpy as np
import pytest

from weft import data

IMAGE = np.arange(32 * 32 * 3, dtype=np.int64).reshape(32, 32, 3).astype(np.uint8)
LONG, SHORT = np.int32([5, 6, 7, 8]), np.int32([9])


def test_no_preprocess():
    assert data.no_preprocess("anything", True) == "anything"


def test_without_tensorflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="lm1b_preprocess needs the package tensorflow"):
        data.lm1b_preprocess(None, True)


@pytest.mark.parametrize("function", [data.filter_dataset_on_len, data.truncate_dataset_on_len])
def test_a_missing_len_map(function):
    with pytest.raises(TypeError, match="len_map must be a dict of features; got None"):
        function(None, True)


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


def of(tf, *rows):
    """A data set of rows of different lengths."""

    def signature(x):
        if isinstance(x, dict):
            return {k: signature(v) for k, v in x.items()}
        if isinstance(x, tuple):
            return tuple(map(signature, x))
        return tf.TensorSpec([None] * np.ndim(x), np.asarray(x).dtype)

    return tf.data.Dataset.from_generator(lambda: iter(rows), output_signature=signature(rows[0]))


def rows(dataset):
    return list(dataset.as_numpy_iterator())


def equal(x, expected):
    np.testing.assert_array_equal(x, expected, strict=True)


@pytest.mark.slow
def test_images(tf):
    images = tf.data.Dataset.from_tensors(({"image": IMAGE}, np.int64(3)))
    ((x, y),) = rows(data.cifar10_no_augmentation_preprocess(images, True))
    equal(x["image"], (IMAGE / np.float32(255)).astype(np.float32))
    assert y == 3
    ((x, _),) = rows(data.cifar10_augmentation_preprocess(images, False))
    equal(x["image"], (IMAGE / np.float32(255)).astype(np.float32))
    windows = np.pad(IMAGE, ((4, 4), (4, 4), (0, 0)))
    changed = [
        w[i : i + 32, j : j + 32]
        for w in (windows, windows[:, ::-1])
        for i in range(9)
        for j in range(9)
    ]
    for _ in range(5):
        ((x, _),) = rows(data.cifar10_augmentation_preprocess(images, True))
        image = np.round(x["image"] * 255).astype(np.uint8)
        assert any((image == c).all() for c in changed)
    ((x, y),) = rows(data.cifar10_augmentation_flatten_preprocess(images, False))
    tokens = np.append(IMAGE.ravel().astype(np.int64), 3)
    equal(x["image"], tokens)
    equal(y, tokens)
    equal(x["mask"], np.float32([0] * 3072 + [1]))
    ((x, _),) = rows(data.cifar10_augmentation_flatten_preprocess(images, True))
    equal(x["mask"], np.float32([0.01] * 3072 + [1]))
    bare = tf.data.Dataset.from_tensors({"image": IMAGE, "label": 1})
    (x,) = rows(data.downsampled_imagenet_flatten_bare_preprocess(bare, True))
    equal(x["image"], IMAGE.ravel().astype(np.int64))


@pytest.mark.slow
def test_texts(tf):
    pair = of(tf, ({"inputs": LONG}, SHORT), ({"inputs": SHORT}, LONG), ({"inputs": SHORT}, SHORT))
    both = np.int32([5, 6, 7, 8, 0, 9])
    (x, y), *_ = rows(data.concat_preprocess(pair, True))
    equal(x["inputs"], both)
    equal(y, both)
    (x, y), *_ = rows(data.concat_preprocess(pair, True, pad_symbol=4))
    equal(y, np.int32([5, 6, 7, 8, 4, 9]))
    (x, y), *_ = rows(data.wmt_concat_preprocess(pair, True))
    equal(y, both)
    equal(x["mask"], np.float32([0, 0, 0, 0, 0, 1]))
    assert len(rows(data.wmt_concat_preprocess(pair, True, max_length=3))) == 1
    assert len(rows(data.wmt_preprocess(pair, True, 3))) == 1
    assert len(rows(data.wmt_preprocess(pair, False, 3))) == 3
    assert len(rows(data.lm1b_preprocess(pair, True, 3))) == 2
    assert len(rows(data.lm1b_preprocess(pair, False, 3, 1))) == 2
    assert len(rows(data.lm1b_preprocess(pair, False, 3))) == 3
    squeezed = of(tf, ({"x": LONG}, np.int32([[1], [2]])))
    fixed = squeezed.map(lambda x, y: (x, tf.ensure_shape(y, [2, 1])))
    equal(rows(data.squeeze_targets_preprocess(fixed, True))[0][1], np.int32([1, 2]))
    equal(rows(data.squeeze_targets_preprocess(pair, True))[0][1], SHORT)
    (row,) = rows(data.lm_token_preprocessing(of(tf, {"inputs": LONG, "targets": SHORT}), True))
    equal(row["inputs"], both)
    equal(row["targets"], both)
    equal(row["mask"], np.float32([0, 0, 0, 0, 0, 1]))


@pytest.mark.slow
def test_lengths(tf):
    texts = of(tf, {"a": LONG, "b": SHORT}, {"a": SHORT, "b": LONG}, {"a": SHORT, "b": SHORT})
    limits = {"a": (1, 3), "b": (2, 4)}
    assert len(rows(data.filter_dataset_on_len(texts, True, limits))) == 1
    assert len(rows(data.filter_dataset_on_len(texts, False, limits))) == 3
    assert len(rows(data.filter_dataset_on_len(texts, False, limits, filter_on_eval=True))) == 1
    first, second, _ = rows(data.truncate_dataset_on_len(texts, True, {"a": 2}))
    equal(first["a"], LONG[:2])
    equal(second["b"], LONG)
    assert len(rows(data.truncate_dataset_on_len(texts, False, {"a": 2}))[0]["a"]) == 4
    assert len(rows(data.truncate_dataset_on_len(texts, False, {"a": 2}, True))[0]["a"]) == 2
    first, second, _ = rows(data.pad_dataset_to_length(texts, True, {"a": 3}))
    equal(first["a"], LONG)
    equal(second["a"], np.int32([9, 0, 0]))
    first, *_ = rows(data.add_eos_to_output_features(texts, True, ["a", "b"], eos=7))
    equal(first["a"], np.int32([5, 6, 7, 8, 7]))
    equal(first["b"], np.int32([9, 7]))
    first, *_ = rows(data.add_eos_to_output_features(of(tf, {"targets": LONG, "x": SHORT}), True))
    equal(first["targets"], np.int32([5, 6, 7, 8, 1]))
    equal(first["x"], SHORT)
