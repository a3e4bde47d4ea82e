"""Calls that JAX, NumPy and SciPy document bind alike, but for what a page of the docs says."""

import pytest
import signatures
from signatures import MISPLACED, MISSING


@pytest.mark.parametrize(("title", "which"), [(MISSING, 0), (MISPLACED, 1)])
def test_every_difference_of_parameters_is_documented(title, which):
    rows = signatures.stated(title)
    assert [f for f in sorted(signatures.differences()[which])
            if not any(signatures.covers(row, f) for row in rows)] == []  # fmt: skip


@pytest.mark.parametrize(("title", "which"), [(MISSING, 0), (MISPLACED, 1)])
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
    assert signatures.differences()[2] > 2200


@pytest.mark.parametrize(
    ("wanted", "own", "missing", "misplaced"),
    [
        ("x, y=, /, axis=, *, out=", "x, y=, /, axis=, *, out=, more=", [], []),
        ("keys, *, simple=", "path, *, simple=", ["keys"], []),
        ("a, b", "a, *, b", [], ["b"]),
        ("a, b", "b, a", [], ["a", "b"]),
        ("a, b=", "a, b", ["b"], []),
        ("a", "a, b", ["b"], []),
        ("a, /", "x, /", [], []),
        ("*args", "a, b", [], []),
        ("*operands, out=", "a, b, out=", ["operands"], []),
        ("a, *, b=", "a, **kwargs", [], []),
    ],
)
def test_faults_of_signatures(wanted, own, missing, misplaced):
    found = signatures.faults(signatures.read(wanted), signatures.read(own))
    assert found == (missing, misplaced)


def test_texts_of_signatures():
    for text in ("x, y, /, a=, *, b, c=", "*args, out=", "x, /, **kwargs", ""):
        assert signatures.written(signatures.read(text)) == text
