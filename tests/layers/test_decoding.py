"""Sequences in pieces: mode "predict" gives, piece by piece, what "eval" gives."""

import numpy as np
import pytest
from decoding_layers import LAYERS, ONE_AT_A_TIME

import weft
from weft import jit, layers as tl

X = np.random.default_rng(0).standard_normal((2, 6, 8)).astype(np.float32)
KEY = np.array([0, 5], np.uint32)
TOKENS = np.array([[3, 1, 4, 1, 5, 2], [2, 6, 5, 3, 5, 1]], np.int32)


SEEN_TWICE = {
    "LSHSelfAttention",
    "PureLSHSelfAttentionWrapper",
    "PureLSHSelfAttentionWrapper, rotated",
    "PureLSHSelfAttentionWrapper, sparse",
}


def pair(make, x):
    """The layer in modes "eval" and "predict", with the same weights."""
    whole, pieces = make("eval"), make("predict")
    whole.init(x)
    pieces.init(x)
    pieces.weights = whole.weights
    return whole, pieces


def assert_equals(found, expected, name):
    """Equality up to rounding. The first position sees itself alone, with logits of -1e5. Where it
    does so several times, its weights are rounded by up to 0.4 % in "eval", as in Trax."""
    if name in SEEN_TWICE:
        np.testing.assert_allclose(found[:, :1], expected[:, :1], rtol=0.01)
        found, expected = found[:, 1:], expected[:, 1:]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def cut(x, ends):
    return [x[:, start:end] for start, end in zip((0, *ends[:-1]), ends, strict=True)]


@pytest.mark.parametrize("name", [*LAYERS, *ONE_AT_A_TIME])
def test_pieces_give_what_the_whole_gives(name):
    x = TOKENS if name == "language model" else X
    whole, pieces = pair(lambda mode: (LAYERS | ONE_AT_A_TIME)[name](mode=mode), x)
    expected = np.asarray(whole(x))
    ends = (1, 2, 3, 4, 5, 6) if name in ONE_AT_A_TIME else (3, 4, 6)
    found = np.concatenate([np.asarray(pieces(piece)) for piece in cut(x, ends)], axis=1)
    assert_equals(found, expected, name)


@pytest.mark.parametrize("name", [*LAYERS, *ONE_AT_A_TIME])
def test_a_compiled_step_serves_every_token(name):
    x = TOKENS if name == "language model" else X
    whole, pieces = pair(lambda mode: (LAYERS | ONE_AT_A_TIME)[name](mode=mode), x)
    expected, traces = np.asarray(whole(x)), 0

    @jit
    def step(weights, state, token):
        nonlocal traces
        traces += 1
        return pieces.pure_fn(token, weights, state, KEY)

    state, found = pieces.state, []
    for token in cut(x, (1, 2, 3, 4, 5, 6)):
        y, state = step(pieces.weights, state, token)
        found.append(np.asarray(y))
    assert_equals(np.concatenate(found, 1), expected, name)
    # A scan's state is nothing at first.
    assert traces <= (2 if name in WITHOUT_FIRST_STATE else 1)


WITHOUT_FIRST_STATE = {
    "GRU", "GRU of other width", "LSTM", "LSTM of other width", "SRU", "SRU with tanh",
    "language model",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["CausalAttention", "PositionalEncoding", "AxialPositionalEncoding"]
)
def test_beyond_the_room_results_are_nan(name):
    """No error can say so in a compiled program, and no other number would be right."""
    _, pieces = pair(LAYERS[name], X)
    assert np.isfinite(pieces(X)).all()
    assert np.isnan(pieces(X[:, :1])).all()


def test_a_state_that_is_put_back_decodes_again():
    _, pieces = pair(LAYERS["CausalAttention"], X)
    pieces(X[:, :2])
    state = pieces.state
    first = np.asarray(pieces(X[:, 2:4]))
    pieces(X[:, :1])
    np.testing.assert_array_equal(pieces(X[:, 2:4], state=state), first)


def test_cached_keys_and_values_are_those_of_the_first_call():
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((2, n, 8)).astype(np.float32) for n in (3, 5, 5))
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)[:, None, None]
    layer = tl.AttentionQKV(8, n_heads=2, mode="predict", cache_KV_in_predict=True)
    plain = tl.AttentionQKV(8, n_heads=2, mode="eval")
    layer.init((q, k, v, mask))
    plain.init((q, k, v, mask))
    leaves = weft.tree_util.tree_leaves(layer.weights)
    plain.weights = weft.tree_util.tree_structure(plain.weights).unflatten(leaves)
    for query in (q, q + 1):
        found, _ = layer((query, k if query is q else 0 * k, v if query is q else 0 * v, mask))
        expected, _ = plain((query, k, v, mask))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


class Portal:
    """A mask of the first piece's positions."""

    def __init__(self, mask):
        self.mask = mask

    def get_value(self):
        return self.mask

    def get_layer(self):
        return tl.Fn("Mask", lambda: self.mask)


def test_causal_attention_leaves_out_what_a_portal_masks():
    class Masked(tl.DotProductCausalAttention):
        def monkey_patched_mask(self):
            return Portal(np.array([[[[1, 1, 0]]]], np.float32))

    q, k, v = np.random.default_rng(3).standard_normal((3, 1, 5, 4)).astype(np.float32)
    layer = Masked(max_inference_length=6, mode="predict")
    layer.init((q, k, v))
    layer((q[:, :3], k[:, :3], v[:, :3]))
    assert [x.shape for x in layer.state] == [(6,), (1, 6, 4), (1, 6, 4), ()]
    found = layer((q[:, 3:4], k[:, 3:4], v[:, 3:4]))
    # Position 2 was padding; but the first token after two ones of the mask is at place 2.
    scores = np.exp(q[0, 3] @ k[0, :4].T / 2)
    np.testing.assert_allclose(found[0, 0], scores @ v[0, :4] / scores.sum(), rtol=1e-5)


def test_a_masked_sru_keeps_its_state_where_the_mask_is_zero():
    rest, forget = np.random.default_rng(4).random((2, 1, 4, 3)).astype(np.float32)
    start = np.zeros((1, 3), np.float32)
    masked = tl.ScanSRUCell("predict", Portal(np.array([[[[1, 0, 0]]]], np.float32)))
    masked.init((rest, forget, start))
    states, last = masked((rest, forget, start))
    plain = tl.ScanSRUCell("eval")
    plain.init((rest, forget, start))
    expected, _ = plain((rest, forget, start))
    np.testing.assert_allclose(states[:, :2], expected[:, :2], rtol=1e-6)
    np.testing.assert_allclose(last, expected[:, 1], rtol=1e-6)


def test_a_piece_for_which_there_is_no_room_makes_attention_forget_what_was_before():
    layer = tl.SelfAttention(
        n_heads=2, d_qk=4, d_v=4, causal=True, mode="predict", predict_mem_len=4, predict_drop_len=4
    )
    _, empty = layer.init(X, rng=KEY)
    first = np.asarray(layer(X[:, :3]))
    second = np.asarray(layer(X[:, 3:]))
    np.testing.assert_allclose(layer(X[:, 3:], state=empty), second, rtol=1e-5)
    np.testing.assert_allclose(layer(X[:, :3], state=empty), first, rtol=1e-5)


@pytest.mark.parametrize("ends", [(8, 16), (16,), (*range(1, 17),)])
def test_hashed_attention_decodes_within_its_buckets(ends):
    """Of two clusters, opposite to each other, each is one bucket, and one chunk of the whole. In
    decoding the last of each attends to as many positions as a chunk has: those of its bucket."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(8) * rng.permutation([1, -1] * 8)[:, None]
    x = (x + 0.02 * rng.standard_normal((16, 8)))[None].astype(np.float32)
    options = {"n_heads": 2, "d_qk": 4, "d_v": 4, "causal": True, "predict_mem_len": 16}
    options["n_parallel_heads"] = None
    chunks = {"chunk_len": 8, "n_buckets": 2, "n_chunks_before": 0, "predict_drop_len": 8}
    whole, pieces = pair(lambda mode: tl.LSHSelfAttention(mode=mode, **options, **chunks), x)
    found = np.concatenate([np.asarray(pieces(piece)) for piece in cut(x, ends)], axis=1)[0]
    expected = np.asarray(whole(x))[0]
    signs = np.sign(x[0, :, 0])
    buckets = np.asarray(pieces.state[2][0])
    assert all((np.diff(row[signs == s]) == 0).all() for row in buckets for s in (1, -1))
    last = [int(np.flatnonzero(signs == s)[-1]) for s in (1, -1)]
    np.testing.assert_allclose(found[last], expected[last], rtol=1e-4, atol=1e-6)
    full = tl.LSHSelfAttention(mode="eval", **options, **(chunks | {"chunk_len": 16}))
    full.init(x)
    full.weights = whole.weights
    assert abs(np.asarray(full(x))[0][last] - expected[last]).max() > 1e-3  # without buckets


def test_hashed_attention_remembers_the_buckets_of_what_it_did_not_forget():
    x = np.random.default_rng(4).standard_normal((1, 16, 8)).astype(np.float32)
    layer = tl.LSHSelfAttention(
        n_heads=2, d_qk=4, d_v=4, causal=True, mode="predict", chunk_len=4, n_chunks_before=0,
        n_hashes=1, n_buckets=4, predict_mem_len=12, predict_drop_len=4, n_parallel_heads=None,
    )  # fmt: skip
    _, empty = layer.init(x, rng=KEY)
    all_of_it = [np.asarray(layer(piece)) for piece in cut(x, range(1, 17))]
    layer.state = empty
    the_last = [np.asarray(layer(piece)) for piece in cut(x[:, 4:], range(1, 13))]
    np.testing.assert_allclose(all_of_it[-1], the_last[-1], rtol=1e-5, atol=1e-6)


SEQUENCE = np.random.default_rng(5).standard_normal((2, 12, 8)).astype(np.float32)


@pytest.mark.parametrize(
    "ends", [(12,), (7, 12), (5, 6, 12), (2, 9, 12), (3, 4, 8, 11, 12)], ids=str
)
@pytest.mark.parametrize(
    "options",
    [
        {"chunk_len": 3},
        {"chunk_len": 3, "n_chunks_before": 2, "bias": True},
        {"chunk_len": 4, "n_chunks_before": 1, "share_qk": True},
        {"chunk_len": 2, "n_chunks_before": 1, "predict_mem_len": 7, "predict_drop_len": 5},
        {"chunk_len": 4, "n_chunks_before": 1, "predict_mem_len": 1, "predict_drop_len": 1},
        {"chunk_len": 3, "n_chunks_before": 1, "n_parallel_heads": 1},
    ],
    ids=str,
)
def test_pieces_across_chunks_give_what_the_whole_gives(options, ends):
    options = {"n_heads": 2, "d_qk": 4, "d_v": 4, "causal": True, **options}
    whole, pieces = pair(lambda mode: tl.SelfAttention(mode=mode, **options), SEQUENCE)
    found = np.concatenate([np.asarray(pieces(piece)) for piece in cut(SEQUENCE, ends)], axis=1)
    np.testing.assert_allclose(found, whole(SEQUENCE), rtol=1e-5, atol=1e-5)
    assert pieces.state[1][0].shape[1] < 12


@pytest.mark.parametrize("chunk_len", [3, 4, 12])
def test_gradients_of_a_piece_across_chunks_are_those_of_its_places_in_the_whole(chunk_len):
    options = {"n_heads": 2, "d_qk": 4, "d_v": 4, "causal": True, "chunk_len": chunk_len}
    whole, pieces = pair(lambda mode: tl.SelfAttention(mode=mode, **options), SEQUENCE)
    first, second = cut(SEQUENCE, (5, 12))
    pieces(first)
    state = pieces.state

    def of_piece(x, weights):
        return (pieces.pure_fn(x, weights, state, KEY)[0] ** 2).sum()

    def of_whole(x, weights):
        x = weft.numpy.concatenate([weft.lax.stop_gradient(first), x], axis=1)
        return (whole.pure_fn(x, weights, whole.state, KEY)[0][:, 5:] ** 2).sum()

    found = weft.grad(of_piece)(second, whole.weights)
    np.testing.assert_allclose(found, weft.grad(of_whole)(second, whole.weights), atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"masked": False}, {"n_parallel_heads": 1}], ids=str)
def test_the_keys_of_an_encoder_are_computed_at_the_first_call(options):
    rng = np.random.default_rng(6)
    source = rng.standard_normal((2, 5, 6)).astype(np.float32)
    mask = (np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool),)
    others = (source,) if "masked" in options else (source, *mask)
    options = {"n_heads": 2, "d_qk": 4, "d_v": 3, **options}
    whole, pieces = pair(lambda mode: tl.EncDecAttention(mode=mode, **options), (SEQUENCE, *others))
    expected = np.asarray(whole((SEQUENCE, *others)))
    empty = pieces.state
    for start, end in ((0, 3), (3, 4), (4, 12)):
        found = pieces((SEQUENCE[:, start:end], *others))
        np.testing.assert_allclose(found, expected[:, start:end], rtol=1e-5, atol=1e-6)
        others = (0 * source, *others[1:])  # the later ones aren't looked at
    assert [x.shape for x in pieces.state] == [(4, 5, 4), (4, 5, 3)]
    with pytest.raises(tl.LayerError, match=r"first call's.*\[2, 5\]; got \[2, 4\]\n  fix: give"):
        pieces((SEQUENCE, source[:, :4], *others[1:]))
    pieces.state = empty
    other = (2 * source, *others[1:])
    np.testing.assert_allclose(
        pieces((SEQUENCE, *other)), whole((SEQUENCE, *other)), rtol=1e-5, atol=1e-6
    )


def test_gradients_of_attention_to_an_encoder_in_pieces_are_those_of_the_whole():
    source = np.random.default_rng(7).standard_normal((2, 5, 6)).astype(np.float32)
    inputs = (SEQUENCE, source, np.ones((2, 5), bool))
    options = {"n_heads": 2, "d_qk": 4, "d_v": 3}
    whole, pieces = pair(lambda mode: tl.EncDecAttention(mode=mode, **options), inputs)
    pieces(inputs)

    def loss(layer):
        def of(weights, source):
            y, _ = layer.pure_fn((SEQUENCE, source, inputs[2]), weights, layer.state, KEY)
            return (y**2).sum()

        return weft.grad(of, argnums=(0, 1))(whole.weights, source)

    found, expected = (weft.tree_util.tree_leaves(loss(layer)) for layer in (pieces, whole))
    assert len(found) == 5
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
