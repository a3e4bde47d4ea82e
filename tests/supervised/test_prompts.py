"""Requests of several lengths, and the tokens that they begin with."""

import numpy as np
import pytest

from weft.errors import ShapeError
from weft.supervised.prompts import Prompts, start_tokens


def test_sequences_in_rows():
    prompts = Prompts.read("f", [[5, 6], np.array([7]), ()], 3)
    np.testing.assert_array_equal(prompts.tokens, [[5, 6], [7, 0], [0, 0]])
    assert prompts.lengths.tolist() == [2, 1, 0]
    assert prompts.tokens.dtype == np.int32
    behind = prompts.behind(np.array([[1], [2], [3]], np.int32))
    np.testing.assert_array_equal(behind.tokens, [[1, 5, 6], [2, 7, 0], [3, 0, 0]])
    assert behind.lengths.tolist() == [3, 2, 1]


def test_padding_is_taken_off_at_both_ends():
    inputs = np.array([[9, 9, 5, 9, 6], [7, 9, 9, 9, 9], [9] * 5])
    prompts = Prompts.read("f", inputs, 3, pad_id=9)
    np.testing.assert_array_equal(prompts.tokens, [[5, 9, 6], [7, 0, 0], [0, 0, 0]])
    assert prompts.lengths.tolist() == [3, 1, 0]
    assert Prompts.read("f", inputs, 3).lengths.tolist() == [5, 5, 5]


def test_no_inputs_are_empty_sequences():
    assert Prompts.read("f", None, 2).tokens.shape == (2, 0)
    assert Prompts.read("f", np.zeros((2, 0)), 2).tokens.shape == (2, 0)


def test_refusals():
    for inputs, kind, message in (
        (
            np.zeros((3, 1), int),
            ValueError,
            "f: batch_size must be the number of rows of inputs, 3",
        ),
        (np.zeros(3, int), ShapeError, r"or a list of sequences; got shape \(3,\)"),
        ([[[1]], [[2]]], ShapeError, r"got a list of arrays of shapes \(1, 1\), \(1, 1\)"),
        (np.zeros((2, 2, 1), int), ShapeError, r"got shape \(2, 2, 1\)"),
        ([[1.5], [2]], TypeError, r"f: inputs\[0\] must be tokens, integers; got float64"),
        ([[True], [2]], TypeError, "got bool"),
        (np.array([[1], [-2]]), ValueError, "inputs must be tokens >= 0; got -2"),
    ):
        with pytest.raises(kind, match=message):
            Prompts.read("f", inputs, 2)
    with pytest.raises(TypeError, match="batch_size must be an int"):
        Prompts.read("f", None, 2.0)
    with pytest.raises(ValueError, match="pad_id must be at least 0"):
        Prompts.read("f", [[1]], 1, pad_id=-1)


def test_start_tokens():
    assert start_tokens("f", 3, 2).tolist() == [[3], [3]]
    assert start_tokens("f", np.int64(3), 1).dtype == np.int32
    given = np.array([[3], [4]])
    np.testing.assert_array_equal(start_tokens("f", given, 2), given)
    with pytest.raises(ShapeError, match=r"start_id must be a token, or tokens of shape \(3, 1\)"):
        start_tokens("f", given, 3)
    with pytest.raises(TypeError, match="start_id must be tokens, integers; got <U1"):
        start_tokens("f", "a", 3)
