"""Calls that JAX, NumPy and SciPy document bind alike, with the same defaults, except where the
docs say otherwise."""

import numpy as onp
import pytest
import signatures
from signatures import CHANGED, MISPLACED, MISSING

import weft
import weft.numpy as np

TABLES = [(MISSING, 0), (MISPLACED, 1), (CHANGED, 2)]


@pytest.mark.parametrize(("title", "which"), TABLES)
def test_every_difference_of_parameters_is_documented(title, which):
    rows = signatures.stated(title)
    assert [f for f in sorted(signatures.differences()[which])
            if not any(signatures.covers(row, f) for row in rows)] == []  # fmt: skip


@pytest.mark.parametrize(("title", "which"), TABLES)
def test_every_documented_difference_is_one(title, which):
    found = signatures.differences()[which]

    def speaks(names, functions):
        return any(signatures.covers((names, functions, ""), fault) for fault in found)

    stale = []
    for names, functions, reason in signatures.stated(title):
        assert reason
        stale += [n for n in names if not speaks([n], functions)]
        stale += [f for f in functions if not speaks(names, [f])]
    assert stale == []


def test_many_signatures_are_compared():
    assert signatures.differences()[3] > 2200


@pytest.mark.parametrize(
    ("wanted", "own", "missing", "misplaced", "changed"),
    [
        ("x, y=1, /, axis=2, *, out=3", "x, y=1, /, axis=2, *, out=3, more=4", [], [], []),
        ("keys, *, simple=1", "path, *, simple=1", ["keys"], [], []),
        ("a, b", "a, *, b", [], ["b"], []),
        ("a, b", "b, a", [], ["a", "b"], []),
        ("a, b=1", "a, b", ["b"], [], []),
        ("a", "a, b", ["b"], [], []),
        ("a, /", "x, /", [], [], []),
        ("*args", "a, b", [], [], []),
        ("*operands, out=1", "a, b, out=1", ["operands"], [], []),
        ("a, *, b=1", "a, **kwargs", [], [], []),
        ("a=1, b=None", "a=2, b=False", [], [], ["a", "b"]),
        ("a=1, b=-0.0, c=()", "a=True, b=0.0, c=...", [], [], ["a", "b", "c"]),
        ("a=..., b=nan", "a=1, b=nan", [], [], []),
        ("a, b", "a=1, b=2", [], [], []),
    ],
)
def test_faults_of_signatures(wanted, own, missing, misplaced, changed):
    found = signatures.faults(signatures.read(wanted), signatures.read(own))
    assert found == (missing, misplaced, changed)


def test_texts_of_signatures():
    for text in ("x, y, /, a=1, *, b, c='same'", "*args, out=None", "x, /, **kwargs", "", "a=..."):
        assert signatures.written(signatures.read(text)) == text
    kinds = {"a": np.float32, "b": weft.lax.Precision.HIGH, "c": onp.arange(2), "d": weft.nn.relu}
    assert [*map(signatures.plain, kinds.values())] == ["float32", "HIGH", (0, 1), "relu"]
    assert signatures.plain(object()) is signatures.plain([object()]) is ...
