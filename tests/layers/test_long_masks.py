"""Masks of attention over long sequences: what is padding can't be seen, wherever it is."""

import numpy as onp
import pytest

from weft import layers as tl

KEY = onp.array([0, 5], onp.uint32)
LENGTH = 8
ONE_CHUNK = {"chunk_len": LENGTH, "n_chunks_before": 0, "n_buckets": 2, "n_hashes": 1}
LAYERS = {
    "whole": lambda **options: tl.SelfAttention(**options),
    "shared": lambda **options: tl.SelfAttention(share_qk=True, **options),
    "one chunk of buckets": lambda **options: tl.LSHSelfAttention(**ONE_CHUNK, **options),
    "rounds": lambda **options: tl.LSHSelfAttention(**(ONE_CHUNK | {"n_hashes": 3}), **options),
}


def outputs(make, x, mask):
    layer = make(n_heads=2, d_qk=3, d_v=3, masked=True, mode="eval")
    layer.init((x, mask), rng=KEY)
    return onp.asarray(layer((x, mask), rng=KEY))


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("hidden", [[0], [0, 1, 2], [3, 7], [7]], ids=str)
def test_what_is_hidden_has_no_influence(make, hidden):
    x = onp.random.RandomState(0).normal(size=(1, LENGTH, 4)).astype("f4")
    mask = onp.ones((1, LENGTH), bool)
    mask[:, hidden] = False
    other = x.copy()
    other[:, hidden] += 5.0
    seen = mask[0]
    before, after = outputs(make, x, mask), outputs(make, other, mask)
    onp.testing.assert_allclose(after[:, seen], before[:, seen], atol=1e-6)
    assert abs(outputs(make, other, onp.ones_like(mask)) - before)[:, seen].max() > 1e-3


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_where_everything_is_hidden_all_positions_count_alike(make):
    """The mean of all values, which is as large as one of them, and not their sum."""
    row = onp.random.RandomState(1).normal(size=(1, 1, 4)).astype("f4")
    x = onp.repeat(row, LENGTH, axis=1)  # of equal values, their mean is each of them
    nothing, everything = onp.zeros((1, LENGTH), bool), onp.ones((1, LENGTH), bool)
    onp.testing.assert_allclose(
        outputs(make, x, nothing), outputs(make, x, everything), rtol=1e-4, atol=1e-6
    )


def test_what_is_not_asked_for_is_none():
    """In decoding too, where the state has a memory."""
    options = {"n_heads": 1, "d_qk": 2, "d_v": 2, "causal": True}
    decoding = {"mode": "predict", "predict_mem_len": 4, "predict_drop_len": 2}
    x = onp.ones((1, 2, 3), "f4")
    for layer in (tl.SelfAttention(**options), tl.SelfAttention(**options, **decoding)):
        weights, state = layer.init(x, rng=KEY)
        run = layer.forward_and_or_backward
        y, state, *none = run(x, weights, state, KEY)
        assert none == [None, None]
        none = run(x, weights, state, KEY, y, compute_output=False, update_state=False)
        assert none[:2] == (None, None)
        assert none[2].shape == x.shape
