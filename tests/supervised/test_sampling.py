"""How tokens are chosen: the distributions are those of NumPy's formulas."""

import numpy as np
import pytest

from weft import random
from weft.supervised.sampling import Sampling, most_likely, row_keys, sampled

LOGITS = np.log([0.4, 0.3, 0.15, 0.1, 0.05]).astype(np.float32)
N = 20_000


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def expected(temperature, top_k=None, top_p=None):
    """Probabilities by the definition: of the most likely first, as many as the options leave."""
    p = softmax(LOGITS.astype(np.float64) / temperature)
    order, left = np.argsort(-p), np.zeros(len(p))
    kept = order[: top_k or len(p)]
    left[kept] = p[kept] / p[kept].sum()
    if top_p is not None:
        total, n = 0.0, 0
        while total < top_p and n < len(p):
            total, n = total + left[order[n]], n + 1
        left[order[n:]] = 0.0
    return left / left.sum()


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [
        (1.0, None, None), (0.5, None, None), (2.0, None, None), (1.0, 2, None), (1.0, 9, None),
        (1.0, None, 0.65), (1.0, None, 0.75), (1.0, None, 1e-6), (0.7, 3, 0.8), (1.5, 4, 0.95),
        (1.0, None, 1.0), (1.0, 1, None), (2.0, None, 0.65),
    ],
)  # fmt: skip
def test_tokens_have_the_probabilities_of_the_definition(temperature, top_k, top_p):
    options = Sampling.checked("f", temperature, top_k, top_p)
    keys = row_keys("f", random.PRNGKey(0), N)
    logits = np.broadcast_to(LOGITS, (N, 5))
    tokens = np.asarray(sampled(logits, keys, options, options.leaves_out))
    found = np.bincount(tokens, minlength=5) / N
    p = expected(temperature, top_k, top_p)
    assert (found[p == 0] == 0).all()
    np.testing.assert_allclose(found, p, atol=5 * 0.5 / np.sqrt(N))


def test_a_program_that_may_leave_out_tokens_leaves_none_out_of_itself():
    keys, options = row_keys("f", None, 50), Sampling(1.0, 0, 1.0)
    logits = np.random.default_rng(0).normal(size=(50, 9)).astype(np.float32)
    np.testing.assert_array_equal(
        sampled(logits, keys, options, True), sampled(logits, keys, options, False)
    )


def test_equally_likely_tokens_are_left_together():
    logits = np.zeros((400, 3), np.float32)
    tokens = sampled(logits, row_keys("f", None, 400), Sampling(1.0, 1, 1.0), True)
    assert set(np.asarray(tokens).tolist()) == {0, 1, 2}


def test_rows_of_nan_give_no_token():
    logits = np.array([[0.0, np.nan, 1.0], [0.0, 2.0, 1.0]], np.float32)
    assert np.asarray(most_likely(logits)).tolist() == [-1, 1]
    found = np.asarray(sampled(logits, row_keys("f", None, 2), Sampling(1e-3, 2, 0.9), True))
    assert found.tolist() == [-1, 1]


def test_tokens_that_cannot_be_are_never_drawn():
    logits = np.full((500, 4), -np.inf, np.float32)
    logits[:, 2] = logits[:, 1] = 3.0
    for top_k in (0, 3):
        tokens = sampled(logits, row_keys("f", None, 500), Sampling(1.0, top_k, 1.0), top_k > 0)
        assert set(np.asarray(tokens).tolist()) == {1, 2}


def test_keys_of_rows():
    key = random.PRNGKey(5)
    np.testing.assert_array_equal(row_keys("f", key, 3), random.split(key, 3))
    np.testing.assert_array_equal(row_keys("f", None, 3), random.split(random.PRNGKey(0), 3))
    given = random.split(key, 2)
    assert row_keys("f", given, 2) is given
    typed = row_keys("f", random.key(5), 3)
    np.testing.assert_array_equal(random.key_data(typed), random.split(key, 3))
    assert row_keys("f", typed, 3) is typed
    for wrong in (given, np.zeros((2, 2, 2), np.uint32), 7, typed):
        with pytest.raises(ValueError, match=r"f: rng must be a random key, or an array of 4 keys"):
            row_keys("f", wrong, 4)


def test_which_options_leave_out_tokens():
    checked = Sampling.checked
    assert checked("f", 0.0).is_greedy
    assert not checked("f", 0.0, top_k=2).leaves_out
    assert [checked("f", 1.0, k, p).leaves_out for k, p in ((None, None), (2, None), (None, 0.5))]
    assert not checked("f", 1.0, None, 1.0).leaves_out
