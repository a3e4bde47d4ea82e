"""Inputs of BERT, written out; masks by counting."""

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError

A, B = np.array([11, 12, 13]), np.array([21, 22])


def equal(example, *expected):
    assert len(example) == len(expected)
    for x, y in zip(example, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_one_sentence():
    ids, segments = np.array([101, 11, 12, 13, 102]), np.zeros(5, np.int32)
    (out,) = data.CreateBertInputs(double_sentence=False)([(A, np.int64(1))])
    equal(out, ids, segments, segments, np.int64(1), np.int32(1))
    (out,) = data.BertSingleSentenceInputs([(A,)], labeled=False)
    equal(out, ids, segments, segments)


def test_two_sentences():
    ids = np.array([7, 11, 12, 13, 8, 21, 22, 8])
    segments = np.int32([0, 0, 0, 0, 0, 1, 1, 1])
    (out,) = data.CreateBertInputs(cls_id=7, sep_id=8)([(A, B, np.int64(0))])
    equal(out, ids, segments, segments, np.int64(0), np.int32(1))
    (out,) = data.CreateBertInputs(True, False, 7, 8)([(A, B)])
    equal(out, ids, segments, segments)
    (out,) = data.BertDoubleSentenceInputs(iter([[A, B]]), False, 7, 8)
    equal(out, ids, segments, segments)


@pytest.mark.parametrize("example", [(A, B), (A,), A, (A, 1, 2), (A, B[None], 1)])
def test_examples_of_another_form(example):
    with pytest.raises(
        ShapeError, match="CreateBertInputs: example 0: expected a tuple of 2 arrays"
    ):
        list(data.CreateBertInputs()([example]))


def test_masked_tokens():
    rng = np.random.default_rng(0)
    rows = [np.concatenate([[101], rng.integers(2000, 3000, 40), [102]]) for _ in range(200)]
    before = [row.copy() for row in rows]
    out = list(data.mask_random_tokens(((row, "more") for row in rows), seed=1))
    kinds = np.zeros(3)
    for row, original, (masked, more, target, weights) in zip(rows, before, out, strict=True):
        assert (row == original).all(), "the ids stay as they are"
        assert more == "more"
        assert (target == original).all()
        assert (weights > 0).sum() == 6  # round(0.15 · 40)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights.sum(), 1, rtol=1e-6)
        chosen = weights > 0
        assert not chosen[[0, -1]].any()
        assert (masked == original)[~chosen].all()
        new = masked[chosen]
        same, mask = new == original[chosen], new == 103
        kinds += mask.sum(), (~same & ~mask).sum(), same.sum()
        assert ((new >= 999) & (new < 30522))[~mask].all()
    expected = 1200 * np.array([0.8, 0.1, 0.1])
    assert ((kinds - expected) ** 2 / expected).sum() < 20  # chi-square with 2 degrees
    again = list(data.mask_random_tokens([(row,) for row in rows], seed=1))
    assert all((a[0] == b[0]).all() for a, b in zip(out, again, strict=True))


def test_examples_without_a_chosen_token_are_left_out():
    rows = [(np.array([101, 5, 102]),), (np.arange(200, 300),)]
    assert len(list(data.mask_random_tokens(rows, seed=0))) == 1
    assert list(data.mask_random_tokens(rows, masking_prob=0.0, seed=0)) == []


def test_errors():
    with pytest.raises(ShapeError, match="mask_random_tokens: example 1: expected a tuple whose"):
        list(data.mask_random_tokens([(A,), A], masking_prob=0.9))
    with pytest.raises(ValueError, match="vocab_start_id must be less than 500; got 999"):
        data.mask_random_tokens([], 500)
    with pytest.raises(ValueError, match=r"masking_prob must be at least 0.0 and at most 1.0"):
        data.mask_random_tokens([], masking_prob=1.5)
    with pytest.raises(ValueError, match="CreateBertInputs: cls_id must be at least 0"):
        data.CreateBertInputs(cls_id=-1)
