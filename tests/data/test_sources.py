"""Sources in memory and of loaders; stand-ins for other libraries, and the libraries themselves
where they are installed."""

import json

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10)


def values(stream):
    return [tuple(np.asarray(x).tolist() for x in example) for example in stream]


ROWS = values(zip(X, Y, strict=True))


def test_arrays_in_order():
    assert values(data.Arrays(X, Y)()) == ROWS
    assert values(data.Arrays(Y.tolist())()) == [(i,) for i in range(10)]
    stream = data.Arrays(X, Y, epochs=3)()
    assert values(stream) == ROWS * 3
    assert values(data.Arrays(np.empty((0, 2)))()) == []
    x, y = next(data.Arrays(X, Y.astype(np.float16))())
    assert (x.dtype, y.dtype) == (np.float64, np.float16)


def test_arrays_shuffled_have_another_order_in_each_pass():
    out = values(data.Arrays(X, Y, shuffle=True, epochs=3, seed=5)())
    passes = [out[:10], out[10:20], out[20:]]
    assert all(sorted(p) == ROWS for p in passes)
    assert passes[0] != passes[1] != passes[2] != ROWS
    order = np.random.default_rng([5, 1]).permutation(10)
    assert passes[1] == [ROWS[i] for i in order]


def test_epochs_of_a_stream_go_on_with_the_passes():
    whole = values(data.Arrays(X, Y, shuffle=True, epochs=6, seed=5)())
    stream = data.Serial(data.Arrays(X, Y, shuffle=True, epochs=2, seed=5))()
    assert values(stream) + values(stream) + values(stream) == whole


def test_endless_arrays():
    stream = data.Arrays(Y, epochs=None)()
    assert [int(next(stream)[0]) for _ in range(25)] == [i % 10 for i in range(25)]
    with pytest.raises(ValueError, match="Arrays: pass 0 has no examples"):
        next(data.Arrays(Y[:0], epochs=None)())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: data.Arrays(),
            r"Arrays: expected arrays with equal numbers of rows; got the shapes \[\]",
        ),
        (lambda: data.Arrays(X, Y[1:]), r"got the shapes \[\(10, 2\), \(9,\)\]"),
        (lambda: data.Arrays(5), r"got the shapes \[\(\)\]"),
        (lambda: data.Arrays(X, epochs=0), "Arrays: epochs must be at least 1"),
        (lambda: data.Arrays(X, shuffle=1), "Arrays: shuffle must be True or False"),
        (lambda: data.Arrays(X, shuffle=True, seed="a"), "Arrays: seed must be an int"),
        (lambda: data.Examples(5), "Examples: dataset must be a collection of examples; got 5"),
        (lambda: data.Examples({"x": X}), "Examples: dataset must be a collection of examples"),
        (lambda: data.Examples(iter([1])), "got an iterator, list_iterator\n  fix: Serial"),
        (lambda: data.Examples([1], keys="x"), "Examples: keys must be a list"),
        (lambda: data.Examples({1}, shuffle=True), "shuffle=True needs a data set with numbered"),
    ],
)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError, ShapeError), match=text):
        call()


def test_examples_of_dicts_tuples_and_numbers():
    rows = [{"text": "a", "ids": [1, 2], "raw": b"x"}, {"text": "b", "ids": [3], "raw": b"y"}]
    (text, ids), _ = data.Examples(rows, keys=["text", "ids"])()
    assert (text, ids.tolist(), type(ids)) == ("a", [1, 2], np.ndarray)
    first = next(data.Examples(rows)())
    assert first["raw"] == b"x"
    assert type(first["ids"]) is np.ndarray
    assert values(data.Examples([(1, 2, 3)], keys=[2, 0])()) == [(3, 1)]
    assert values(data.Examples([7, 8])()) == [(7,), (8,)]
    assert values(data.Examples(X)()) == values((row,) for row in X)
    with pytest.raises(ShapeError, match=r"the keys \['word'\]; got \['ids', 'raw', 'text'\]"):
        next(data.Examples(rows, keys=["word"])())
    with pytest.raises(ShapeError, match=r"the keys \[4\]; got int"):
        next(data.Examples([5], keys=[4])())


class Numbered:
    """As data sets of PyTorch and Hugging Face are."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Loader:
    """As loaders of PyTorch are: it gives lists."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return (list(row) for row in self.rows)


class TensorFlow:
    """As data sets of tf.data are: no numbered examples, arrays by another iterator."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        raise AssertionError("gives tensors")

    def as_numpy_iterator(self):
        return iter(self.rows)


class Grain:
    """As data sets of grain are: their iterators have positions."""

    def __init__(self, rows):
        self.rows = rows
        self.read = []

    def __iter__(self):
        return GrainIterator(self)


class GrainIterator:
    def __init__(self, dataset):
        self.dataset = dataset
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.dataset.rows):
            raise StopIteration
        self.dataset.read.append(self.at)
        self.at += 1
        return self.dataset.rows[self.at - 1]

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("kind", [list, Numbered, Loader, TensorFlow, Grain])
@pytest.mark.parametrize("drawn", [0, 4, 10, 13])
def test_data_sets_of_other_libraries(kind, drawn):
    source = data.Examples(kind(list(zip(X, Y, strict=True))), epochs=2)
    assert values(source()) == ROWS * 2
    pipeline = data.Serial(source, data.Map(lambda e: e))
    stream = pipeline()
    for _ in range(drawn):
        next(stream)
    again = pipeline()
    again.set_state(json.loads(json.dumps(stream.get_state())))
    assert values(again) == values(stream) == (ROWS * 2)[drawn:]


def test_an_iterator_with_a_position_is_not_read_again():
    dataset = Grain(list(zip(X, Y, strict=True)))
    pipeline = data.Serial(data.Examples(dataset), data.Batch(2))
    stream = pipeline()
    [next(stream) for _ in range(3)]
    dataset.read.clear()
    again = pipeline()
    again.set_state(stream.get_state())
    next(again)
    assert dataset.read == [6, 7]


def test_numbered_examples_are_shuffled():
    for kind in (list, Numbered):
        out = values(data.Examples(kind(list(Y)), shuffle=True, seed=1)())
        assert sorted(out) == [(i,) for i in range(10)] != out


def test_data_sets_that_shuffle_by_epoch_are_told_the_pass():
    class Streaming(Loader):
        epochs = ()

        def set_epoch(self, number):
            self.epochs = (*self.epochs, number)

    dataset = Streaming([(1,), (2,)])
    stream = data.Serial(data.Examples(dataset, epochs=2))()
    list(stream)
    list(stream)
    assert dataset.epochs == (0, 1, 2, 3)


def test_tables_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="Examples: dataset must be a collection of examples"):
        data.Examples(pandas.DataFrame({"x": [1, 2]}))
    table = pandas.DataFrame({"x": [1, 2], "y": [3.5, 4.5]})
    assert values(data.Examples(table.to_dict("records"), ["y", "x"])()) == [(3.5, 1), (4.5, 2)]


def resumed(source, drawn=3):
    """The whole, and the rest after a position in another stream, as values."""
    whole = values(data.Serial(source)())
    stream = data.Serial(source)()
    for _ in range(drawn):
        next(stream)
    again = data.Serial(source)()
    again.set_state(json.loads(json.dumps(stream.get_state())))
    assert values(again) == whole[drawn:]
    return whole


def test_pytorch():
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    assert resumed(data.Examples(rows)) == ROWS
    loader = torch.utils.data.DataLoader(rows, batch_size=5)
    (x, y), _ = resumed(data.Examples(loader), 1)
    assert (x, y) == (X[:5].tolist(), Y[:5].tolist())


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"x": X.tolist(), "y": Y.tolist()})
    assert resumed(data.Examples(table, ["x", "y"])) == ROWS
    assert resumed(data.Examples(table.to_iterable_dataset(), ["x", "y"])) == ROWS


def test_grain():
    grain = pytest.importorskip("grain")
    rows = grain.MapDataset.source(list(zip(X, Y, strict=True)))
    assert resumed(data.Examples(rows)) == ROWS
    assert resumed(data.Examples(rows.to_iter_dataset())) == ROWS
    shuffled = rows.seed(1).shuffle().to_iter_dataset().batch(2)
    assert len(resumed(data.Examples(shuffled), 2)) == 5


@pytest.mark.slow
def test_tf_data():
    tensorflow = pytest.importorskip("tensorflow")
    rows = tensorflow.data.Dataset.from_tensor_slices((X, Y))
    assert resumed(data.Examples(rows)) == ROWS
    assert len(resumed(data.Examples(rows.batch(5)), 1)) == 2
    texts = tensorflow.data.Dataset.from_tensor_slices({"text": ["a", "é"]})
    out = list(data.Serial(data.Examples(texts, ["text"]), data.ConvertToUnicode())())
    assert out == [("a",), ("é",)]
