"""Sources of files: what they read, in which order, and errors that name the file and line."""

import csv
import json

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.txt").write_bytes("three\r\nvier ä\n".encode())
    (tmp_path / "a.txt").write_bytes(b"one\n\ntwo")
    return tmp_path


def test_lines(folder):
    assert list(data.Lines("a.txt")()) == [("one",), ("",), ("two",)]
    everything = [("one",), ("",), ("two",), ("three",), ("vier ä",)]
    assert list(data.Lines("*.txt")()) == everything
    assert list(data.Lines([folder / "b.txt", "a.txt"])()) == everything[3:] + everything[:3]
    stream = data.Serial(data.Lines(["*.txt"], epochs=2))()
    assert list(stream) == everything * 2
    assert list(stream) == everything * 2


@pytest.mark.parametrize("drawn", range(6))
def test_lines_go_to_a_position(folder, drawn):
    pipeline = data.Serial(data.Lines("*.txt"), data.Tokenize(vocab_type="char"))
    stream = pipeline()
    for _ in range(drawn):
        next(stream, None)
    again = pipeline()
    again.set_state(json.loads(json.dumps(stream.get_state())))
    assert [x.tolist() for (x,) in again] == [
        list(text.encode()) for text in ["one", "", "two", "three", "vier ä"][drawn:]
    ]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: data.Lines("c.txt"), FileNotFoundError, "Lines: there is no file 'c.txt'"),
        (lambda: data.Lines(["a.txt", "*.x"]), FileNotFoundError, r"there is no file '\*.x'"),
        (lambda: data.JSONLines("c"), FileNotFoundError, "JSONLines: there is no file"),
        (lambda: data.CSV("c", {"x": int}), FileNotFoundError, "CSV: there is no file"),
        (lambda: data.Windows("c", 3), FileNotFoundError, "Windows: there is no file"),
        (lambda: data.Lines(5), TypeError, "Lines: files must be a path or a list of paths; got 5"),
        (lambda: data.Lines([]), TypeError, "Lines: files must be a path or a list of paths"),
        (lambda: data.Lines([5]), TypeError, "Lines: files must be paths; got 5"),
        (lambda: data.JSONLines("a.txt", "x"), TypeError, "JSONLines: keys must be a list"),
        (lambda: data.CSV("a.txt", ["x"]), TypeError, "CSV: columns must be a dict"),
        (lambda: data.CSV("a.txt", {"x": int}, delimiter=""), ValueError, "delimiter must be one"),
        (lambda: data.Windows("a.txt", 0), ValueError, "Windows: length must be at least 1"),
        (lambda: data.Windows("a.txt", 9), ShapeError, "a text of at least length=9; got 8"),
        (
            lambda: data.Windows(np.ones(3), 1),
            ShapeError,
            r"a text of integers .*; got float64\[3\]",
        ),
        (
            lambda: data.Windows(np.ones((3, 1), int), 1),
            ShapeError,
            r"with one axis; got int64\[3, 1\]",
        ),
    ],
)
def test_errors_of_options(folder, call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_line_that_is_not_utf_8(folder):
    (folder / "bad").write_bytes(b"fine\n\xff\n")
    stream = data.Lines("bad")()
    next(stream)
    with pytest.raises(ValueError, match="Lines: bad, line 2: not UTF-8"):
        next(stream)


def test_json_lines(folder):
    rows = [{"text": "a", "x": [1, 2]}, {"text": "ä\n", "x": [[1.5], [2.5]], "y": None}]
    (folder / "a.jsonl").write_text("\n\n".join(map(json.dumps, rows)) + "\n \n")
    assert list(data.JSONLines("a.jsonl")()) == rows
    (x, text), (z, other) = data.JSONLines("a.jsonl", ["x", "text"])()
    assert (text, other) == ("a", "ä\n")
    np.testing.assert_array_equal(x, [1, 2])
    np.testing.assert_array_equal(z, [[1.5], [2.5]])
    stream = data.Serial(data.JSONLines("a.jsonl", ["text"], epochs=None))()
    assert [next(stream) for _ in range(5)] == [("a",), ("ä\n",)] * 2 + [("a",)]
    again = data.Serial(data.JSONLines("a.jsonl", ["text"], epochs=None))()
    again.set_state(stream.get_state())
    assert next(again) == ("ä\n",)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{", r"JSONLines: bad, line 2: not JSON \(Expecting"),
        ("[1]", "line 2: expected an object; got list"),
        ('{"y": 1}', r"line 2: expected the keys \['x'\]; 'x' is missing"),
        ('{"x": null}', "line 2: expected numbers or a string at 'x'; got None"),
        ('{"x": [[1], [2, 3]]}', "line 2: expected numbers or a string at 'x'"),
        ("\xff", "line 2: not JSON"),
    ],
)
def test_wrong_json(folder, line, text):
    (folder / "bad").write_text('{"x": 1}\n' + line, encoding="latin-1")
    stream = data.JSONLines("bad", ["x"])()
    next(stream)
    with pytest.raises(ValueError, match=text):
        next(stream)


def test_csv(folder):
    rows = [["a", "b", "c"], ["1", "2.5", 'x,"y"\nz'], ["-3", "4", ""], ["5", "1e3", "ü"]]
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        with open(name, "w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file, delimiter=delimiter).writerows(rows)
        columns = {"c": str, "a": np.int32, ("b", "a"): "float32"}
        out = list(data.CSV(name, columns, delimiter=delimiter)())
        assert [text for text, _, _ in out] == [row[2] for row in rows[1:]]
        for (_, a, both), row in zip(out, rows[1:], strict=True):
            np.testing.assert_array_equal(a, np.int32(row[0]), strict=True)
            np.testing.assert_array_equal(both, np.float32([row[1], row[0]]), strict=True)
    pipeline = data.Serial(data.CSV(["t.csv", "t.csv"], {"a": int}), data.Batch(2))
    stream = pipeline()
    next(stream)
    again = pipeline()
    again.set_state(stream.get_state())
    assert [x.tolist() for (x,) in again] == [[5, 1], [-3, 5]]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("x,1", r"CSV: bad, line 3: expected int32; got \['x', '1'\]"),
        ("1", r"CSV: bad, line 3: expected float64; got \['1'\]"),
        ("\xff,1", "CSV: bad, line 3: not UTF-8"),
    ],
)
def test_wrong_rows(folder, row, text):
    (folder / "bad").write_text("a,b\n1,2\n" + row, encoding="latin-1")
    stream = data.CSV("bad", {"a": np.int32, "b": float})()
    next(stream)
    with pytest.raises(ValueError, match=text):
        next(stream)


def test_a_missing_column(folder):
    (folder / "bad").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"CSV: bad has no column 'c'; it has \['a', 'b'\]"):
        next(data.CSV("bad", {("a", "c"): float})())
    with pytest.raises(ValueError, match=r"'a, b'; .*\n  fix: \('a', 'b'\), for an array of these"):
        next(data.CSV("bad", {"a, b": float})())


def test_windows_in_order(folder):
    text = b"one\n\ntwothree\r\nvier \xc3\xa4\n"
    expected = [list(text[i : i + 4]) for i in range(0, len(text) - 3, 4)]
    for source in ("*.txt", ["a.txt", "b.txt"], text, bytearray(text), np.array(list(text))):
        out = list(data.Windows(source, 4)())
        assert [x.tolist() for x, _ in out] == [y.tolist() for _, y in out] == expected
        assert out[0][0].dtype == np.int32


def test_random_windows():
    text = np.arange(1000)
    out = [x for x, _ in data.Windows(text, 10, shuffle=True, epochs=40, seed=1)()]
    assert len(out) == 4000
    assert all((x == np.arange(x[0], x[0] + 10)).all() for x in out)
    begins = np.array([x[0] for x in out])
    assert (begins.min(), begins.max()) == (0, 990)
    counts = np.histogram(begins, 10, (0, 991))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 35  # chi-square with 9 degrees
    assert (begins[:100] != begins[100:200]).any()
