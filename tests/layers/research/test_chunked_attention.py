"""Attention in chunks a few at a time, and the buckets of vectors, beside loops in NumPy."""

import functools

import numpy as onp
import pytest

import weft
from weft import fastmath, layers as tl
from weft.fastmath import numpy as np
from weft.layers.research import chunked_attention

KEY = onp.array([0, 3], onp.uint32)
CHUNK, N_CHUNKS = 2, 5
LENGTH = CHUNK * N_CHUNKS
PAIRS = CHUNK * 2 * CHUNK  # of a chunk with itself and the one before
RNG = onp.random.RandomState(0)
Q, K, V = (RNG.normal(size=(LENGTH, 3)).astype("f4") for _ in range(3))
AT = RNG.permutation(LENGTH).astype("i4")
GROUPS = {"one by one": PAIRS, "two, and the rest": 2 * PAIRS, "less than one": 1, "all": 10**6}
OPTIONS = {"q_chunk_len": CHUNK, "kv_chunk_len": CHUNK, "n_chunks_before": 1, "q_info": AT,
           "kv_info": AT}  # fmt: skip
later_hidden = functools.partial(tl.mask_self_attention, causal=True, exclude_self=False)


def looped(q, k, v):
    """Each query by itself: it sees no later position of its chunk and the one before."""
    out, logsumexp = onp.zeros_like(v), onp.zeros(LENGTH, "f4")
    for i in range(LENGTH):
        start = i // CHUNK * CHUNK
        seen = [j % LENGTH for j in range(start - CHUNK, start + CHUNK)]
        seen = [j for j in seen if AT[j] <= AT[i]]
        powers = onp.exp(k[seen] @ q[i] / onp.sqrt(3.0))
        out[i], logsumexp[i] = powers @ v[seen] / powers.sum(), onp.log(powers.sum())
    return out, logsumexp


@pytest.fixture(params=GROUPS.values(), ids=GROUPS)
def pairs_at_once(request, monkeypatch):
    monkeypatch.setattr(chunked_attention, "PAIRS_AT_ONCE", request.param)


def test_groups_of_chunks_give_what_a_loop_over_queries_does(pairs_at_once):
    found = tl.attend(Q, K, V, mask_fn=later_hidden, **OPTIONS)
    for one, other in zip(found, looped(Q, K, V), strict=True):
        onp.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradients_of_groups_are_those_of_all_chunks_at_once(pairs_at_once, monkeypatch, dropout):
    def loss(q, v):
        out, logsumexp = tl.attend(
            q, None, v, q_chunk_len=CHUNK, n_chunks_before=1, dropout=dropout, rng=KEY
        )
        return np.sum(np.cos(out)) + np.sum(logsumexp**2)

    found = weft.grad(loss, argnums=(0, 1))(Q, V)
    monkeypatch.setattr(chunked_attention, "PAIRS_AT_ONCE", 10**6)
    for one, other in zip(found, weft.grad(loss, argnums=(0, 1))(Q, V), strict=True):
        onp.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_a_long_sequence_has_few_logits_in_memory():
    def needed(length):
        layer = tl.SelfAttention(n_heads=1, d_qk=4, d_v=4, chunk_len=64, n_chunks_before=1)
        x = onp.ones((1, length, 4), "f4")
        weights, state = layer.init(x)
        step = weft.jit(weft.grad(lambda w, x: np.sum(layer.pure_fn(x, w, state, KEY)[0])))
        return step.lower(weights, x).compile().memory_analysis().temp_bytes

    logits_of_a_position = 4 * 2 * 64  # bytes
    assert (needed(2**14) - needed(2**13)) / 2**13 < 0.75 * logits_of_a_position


@pytest.mark.parametrize("factors", [8, [4, 2], [2, 6]], ids=str)
def test_a_digit_of_a_bucket_is_the_place_of_the_largest_of_a_rotation_and_its_opposite(factors):
    sizes = factors if isinstance(factors, list) else [factors]
    vectors = RNG.normal(size=(50, 3)).astype("f4")
    vectors[0], vectors[1] = 0.0, onp.nan  # all alike: the first is taken
    rotations = onp.asarray(fastmath.random.normal(KEY, (3, 2, sum(sizes) // 2)))
    rotated = onp.einsum("td,dhb->htb", vectors, rotations)
    wanted, start, weight = 0, 0, 1
    for size in sizes:
        part = rotated[..., start : start + size // 2]
        wanted = wanted + weight * onp.argmax(onp.concatenate([part, -part], axis=-1), axis=-1)
        start, weight = start + size // 2, weight * size
    buckets, count = tl.hash_vecs(vectors, factors, 2, KEY)
    assert count == weight
    assert onp.asarray(buckets).tolist() == wanted.tolist()
