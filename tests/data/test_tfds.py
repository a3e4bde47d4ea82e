"""`TFDS` and `data_streams` with a stand-in for TensorFlow Datasets: splits, parts, positions."""

import json
import sys
import types

import numpy as np
import pytest

from weft import data

N = {"train": 20, "validation": 6, "test": 4}


class DataSet:
    """A data set of tf.data, as far as it is used."""

    def __init__(self, rows):
        self.rows = rows

    def map(self, function):
        rows = [function(*row) if isinstance(row, tuple) else function(row) for row in self.rows]
        return DataSet(rows)

    def skip(self, n):
        return DataSet(self.rows[n:])

    def as_numpy_iterator(self):
        return iter(self.rows)


class Builder:
    def __init__(self, name, data_dir):
        self.name, self.data_dir = name, data_dir
        splits = dict(N)
        if name == "glue/mnli":
            splits = {"train": 20, "validation_matched": 3, "validation_mismatched": 4}
        if name == "train_only":
            splits = {"train": 20}
        if name == "nothing":
            splits = {}
        self.splits = splits
        self.info = types.SimpleNamespace(
            splits={k: types.SimpleNamespace(num_examples=n) for k, n in splits.items()},
            supervised_keys=("image", "label") if name != "texts" else None,
        )
        self.calls = []

    def as_dataset(self, split, shuffle_files=False, read_config=None):
        self.calls.append((split, shuffle_files, getattr(read_config, "shuffle_seed", None)))
        name, _, part = split.partition("[")
        rows = [
            {"image": np.full(2, i, np.uint8), "label": np.int64(i), "split": name.encode()}
            for i in range(self.splits[name])
        ]
        if part:
            start, stop = part.rstrip("]").split(":")
            rows = rows[int(start or 0) : int(stop) if stop else None]
        if shuffle_files:
            order = np.random.default_rng(read_config.shuffle_seed).permutation(len(rows))
            rows = [rows[i] for i in order]
        return DataSet(rows)


@pytest.fixture
def builders(monkeypatch):
    made = []

    def builder(name, data_dir):
        made.append(Builder(name, data_dir))
        return made[-1]

    package = types.ModuleType("tensorflow_datasets")
    package.builder = builder
    package.ReadConfig = types.SimpleNamespace
    package.even_splits = lambda split, n: [
        f"{split}[{20 * i // n}:{20 * (i + 1) // n}]" for i in range(n)
    ]
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", package)
    return made


def labels(stream, n):
    return [int(next(stream)[0]) for _ in range(n)]


def test_examples_for_training_come_without_end(builders):
    source = data.TFDS("mnist", "folder", keys=("label", "image"), shuffle_train=False)
    stream = source()
    label, image = next(stream)
    assert (label, image.tolist(), image.dtype) == (0, [0, 0], np.uint8)
    assert labels(stream, 39) == [*range(1, 20), *range(20)]
    assert builders[0].data_dir == "folder"
    everything = next(data.TFDS("mnist", "folder")())
    assert everything["split"] == b"train"


def test_examples_for_training_are_shuffled_by_a_seed(builders):
    pipeline = data.Serial(data.TFDS("mnist", "folder", keys=["label"], seed=3), data.Batch(5))
    stream = pipeline()
    first = [next(stream)[0].tolist() for _ in range(8)]
    passes = list(np.ravel(first[:4])), list(np.ravel(first[4:]))
    assert [sorted(p) for p in passes] == [list(range(20))] * 2
    assert passes[0] != passes[1]
    assert builders[0].calls == [("train", True, 3), ("train", True, 4)]
    stream = pipeline()
    [next(stream) for _ in range(5)]
    again = pipeline()
    again.set_state(json.loads(json.dumps(stream.get_state())))
    assert [next(again)[0].tolist() for _ in range(3)] == first[5:]


@pytest.mark.parametrize(
    ("name", "options", "split"),
    [
        ("mnist", {}, "validation"),
        ("train_only", {"eval_holdout_size": 0.25}, "train[15:]"),
        ("glue/mnli", {}, "validation_matched"),
        ("glue/mnli", {"use_alt_eval": True}, "validation_mismatched"),
        ("mnist", {"train": True, "eval_holdout_size": 0.25}, "train[:15]"),
        ("mnist", {"train": True, "n_hosts": 2, "host_id": 1}, "train[10:20]"),
    ],
)
def test_splits(builders, name, options, split):
    options = {"train": False, "shuffle_train": False, **options}
    next(data.TFDS(name, "folder", keys=["label"], **options)())
    assert builders[0].calls == [(split, False, None)]


def test_a_function_of_the_data_set(builders):
    source = data.TFDS(
        "mnist",
        "folder",
        lambda ds: ds.map(lambda x: {"y": x["label"] + 100}),
        ["y"],
        shuffle_train=False,
    )
    assert labels(source(), 3) == [100, 101, 102]


def test_data_streams(builders):
    def double(dataset, training):
        return dataset.map(lambda x, y: ({"image": x["image"] * 2}, y + 100 * training))

    train, evaluation = data.data_streams("mnist", "folder", double, shuffle_buffer_size=20, seed=1)
    stream = train()
    rows = [next(stream) for _ in range(60)]
    assert all(x.tolist() == [2 * (y - 100)] * 2 for x, y in rows)
    assert {int(y) for _, y in rows[:40]} <= set(range(100, 120))
    assert [int(y) for _, y in rows[:20]] != list(range(100, 120))
    assert rows[0][0].dtype == rows[0][1].dtype == np.int32
    other = train()
    assert [int(next(other)[1]) for _ in range(60)] == [int(y) for _, y in rows]
    held = evaluation()
    assert [int(next(held)[1]) for _ in range(7)] == [0, 1, 2, 3, 4, 5, 0]
    for s in (stream, other, held):
        s.close()
    names = {"input_name": "label", "target_name": "image"}
    x, y = next(data.data_streams("texts", "folder", **names)[1]())
    assert (x, y.tolist()) == (0, [0, 0])


def test_dataset_to_stream():
    rows = [({"x": np.float32([1]), "mask": np.uint8([0])}, np.int64(3))]
    ((x, y, mask),) = data.dataset_to_stream(DataSet(rows), "x")
    assert [(x, y, mask)] == list(data.dataset_to_stream(rows, "x"))
    assert (x.dtype, y.dtype, mask.dtype) == (np.float32, np.int32, np.int32)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: data.TFDS("mnist"),
            ValueError,
            "TFDS: expected data_dir, the folder in which 'mnist'",
        ),
        (lambda: data.data_streams("mnist"), ValueError, "data_streams: expected data_dir"),
        (
            lambda: data.TFDS("nothing", "folder"),
            ValueError,
            "'nothing' was not prepared in 'folder'",
        ),
        (
            lambda: data.TFDS("train_only", "f", train=False),
            ValueError,
            r"splits \['train'\], none",
        ),
        (lambda: data.TFDS("mnist", "f", host_id=2, n_hosts=2), ValueError, "host_id must be less"),
        (
            lambda: data.TFDS("mnist", "f", eval_holdout_size=2),
            ValueError,
            "eval_holdout_size must",
        ),
        (lambda: data.TFDS("mnist", "f", train=1), TypeError, "train must be True or False"),
        (
            lambda: data.data_streams("texts", "f"),
            ValueError,
            "'texts' needs input_name and target",
        ),
    ],
)
def test_errors(builders, call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"TFDS needs .*\n  fix: pip install tensorflow-datasets"):
        data.TFDS("mnist", "folder")
