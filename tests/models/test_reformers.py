"""Reformers: gradients without activations, decoding with each kind of attention, options."""

import functools

import numpy as np
import pytest

import weft
from weft import fastmath, layers as tl, models
from weft.layers.reversible import ReversibleLayer
from weft.models.reformer import reformer
from weft.models.research.configurable_transformer import FeedForwardWithOptions

V, KEY = 9, np.array([0, 7], np.uint32)
SIZES = {"d_model": 8, "d_ff": 16, "n_heads": 2, "max_len": 8}
HEADS = {"d_attention_key": 4, "d_attention_value": 4}
RNG = np.random.default_rng(0)
TOKENS = RNG.integers(1, V, (2, 8))
PAIR = RNG.integers(1, V, (2, 4)), RNG.integers(1, V, (2, 6))

# A chunk holds the whole sequence: all of it is attended to once, whatever the buckets.
COVERING = {
    "chunk_len": 8, "n_chunks_before": 0, "n_buckets": 4, "n_hashes": 1, "n_parallel_heads": None,
}  # fmt: skip
MEMORY = {"predict_mem_len": 8, "predict_drop_len": 8}
hashed = functools.partial(tl.LSHSelfAttention, **COVERING, **MEMORY)
wrapped = functools.partial(
    tl.PureLSHSelfAttentionWrapper,
    pure_lsh_implementation=tl.PureLSHSelfAttention, **COVERING, **MEMORY,
)  # fmt: skip
in_buckets = functools.partial(tl.LSHSelfAttention, chunk_len=2, n_buckets=2, n_hashes=2)
wrapped_buckets = functools.partial(
    wrapped, chunk_len=2, n_chunks_before=1, n_hashes=2, rotary_position_emb=True
)

ReformerLM = functools.partial(models.ReformerLM, V, **SIZES, **HEADS)
ShortenLM = functools.partial(models.ReformerShortenLM, V, d_embedding=6, **SIZES, **HEADS)
Reformer = functools.partial(models.Reformer, V, **SIZES)


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


# --- gradients ---

RANDOM = {"dropout": 0.2, "mode": "train"}
TRAINED = {
    "Reformer": (
        lambda: Reformer(n_encoder_layers=2, n_decoder_layers=2, ff_chunk_size=2, **RANDOM), PAIR,
    ),
    "Reformer with recurrent halves": (
        lambda: Reformer(n_encoder_layers=1, n_decoder_layers=1, ff_use_sru=(1, 4), **RANDOM), PAIR,
    ),
    "ReformerLM": (
        lambda: ReformerLM(
            n_layers=3, attention_type=[tl.SelfAttention, in_buckets, wrapped_buckets], **RANDOM
        ),
        TOKENS,
    ),
    "ReformerLM, sparse": (
        lambda: ReformerLM(
            n_layers=2, ff_sparsity=(4, 2, 1.0, 1.0), ff_chunk_size=4, loss_sparsity=3,
            loss_sparsity_prob=0.5, **RANDOM,
        ),
        TOKENS,
    ),
    "ReformerShortenLM": (
        lambda: ShortenLM(2, n_layers=2, attention_type=[in_buckets, tl.CausalAttention], **RANDOM),
        TOKENS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_are_those_of_the_same_network_differentiated_plainly(name, monkeypatch):
    """With its dropout, and the buckets of its forward pass."""
    make, inputs = TRAINED[name]
    model = make()
    weights, state = model.init(inputs, rng=KEY)

    def loss(weights):
        logits = first(model.pure_fn(inputs, weights, state, KEY)[0])
        direction = np.random.default_rng(1).standard_normal(logits.shape)
        return fastmath.numpy.sum(tl.log_softmax(logits) * direction)

    value, gradient = weft.value_and_grad(loss)(weights)
    monkeypatch.setattr(ReversibleLayer, "has_backward", property(lambda self: False))
    plain, expected = weft.value_and_grad(loss)(weights)
    np.testing.assert_allclose(value, plain, rtol=1e-5)
    pairs = zip(fastmath.tree_leaves(gradient), fastmath.tree_leaves(expected), strict=True)
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


DEEP = {
    "Reformer": (lambda n: Reformer(n_encoder_layers=n, n_decoder_layers=n), PAIR),
    "ReformerLM": (lambda n: ReformerLM(n_layers=n), TOKENS),
    "ReformerShortenLM": (lambda n: ShortenLM(2, n_layers=n), TOKENS),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_kept_for_the_gradient_does_not_grow_with_depth(name, monkeypatch):
    """Beside the weights; of the plain network it does."""
    make, inputs = DEEP[name]

    def kept(depth):
        model = make(depth)
        weights, state = model.init(inputs)
        _, pull = weft.vjp(lambda w: first(model.pure_fn(inputs, w, state, KEY)[0]), weights)
        own = {id(w) for w in fastmath.tree_leaves(weights)}
        return sum(x.nbytes for x in weft.tree.leaves(pull) if id(x) not in own)

    assert kept(4) <= 1.1 * kept(2)
    monkeypatch.setattr(ReversibleLayer, "has_backward", property(lambda self: False))
    assert kept(4) > 1.5 * kept(2)


# --- decoding ---

KINDS = {
    "SelfAttention": tl.SelfAttention,
    "keys that are queries": functools.partial(tl.SelfAttention, share_qk=True, bias=True),
    "chunks": functools.partial(tl.SelfAttention, chunk_len=2, n_chunks_before=1),
    "LSHSelfAttention": hashed,
    "PureLSHSelfAttention": functools.partial(wrapped, rotary_position_emb=True),
    "MixedLSHSelfAttention": functools.partial(
        wrapped, pure_lsh_implementation=tl.MixedLSHSelfAttention, std_length=8
    ),
    "MixedLSHSelfAttention of a long sequence": functools.partial(
        wrapped, pure_lsh_implementation=tl.MixedLSHSelfAttention
    ),
    "two kinds in turn": [hashed, tl.CausalAttention],
}
FURTHER = {"chunks": {"ff_sparsity": 4, "loss_sparsity_type": "lowrank", "loss_sparsity": 1,
                      "loss_d_lowrank": 3, "ff_chunk_size": 2}}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_with_each_kind_of_attention_gives_what_the_whole_sequence_does(kind):
    """In a piece of four and compiled steps of one token, and again from the first state."""
    options = {"attention_type": KINDS[kind], **FURTHER.get(kind, {})}
    options["n_layers"] = 2 if isinstance(KINDS[kind], list) else 1
    whole, model = [ReformerLM(mode=mode, **options) for mode in ("eval", "predict")]
    weights, state = whole.init(TOKENS, rng=KEY)
    expected, _ = whole.pure_fn(TOKENS, weights, state, KEY)
    _, state = model.init(TOKENS[:, :1], rng=KEY)
    step = weft.jit(lambda state, piece: model.pure_fn(piece, weights, state, KEY))
    shifted = np.pad(TOKENS, ((0, 0), (1, 0)))[:, :-1]
    size = 2 if kind == "chunks" else 4
    for starts in ([0, *range(size, 8)], range(8)):
        found, now = [], state
        for start, end in zip(starts, [*starts[1:], 8], strict=True):
            logits, now = step(now, shifted[:, start:end])
            found.append(logits)
        np.testing.assert_allclose(np.concatenate(found, axis=1), expected, rtol=1e-4, atol=1e-5)


def test_greedy_decoding_with_an_encoder_is_what_the_whole_network_would_choose():
    whole, model = [Reformer(n_encoder_layers=1, n_decoder_layers=2, mode=m)
                    for m in ("eval", "predict")]  # fmt: skip
    source = PAIR[0].copy()
    source[0, 2:] = 0
    whole.init((source, source), rng=KEY)
    tokens = np.zeros((2, 1), int)
    _, state = model.init((source, tokens), rng=KEY)
    weights, _ = fastmath.tree_unflatten(fastmath.tree_flatten(whole.weights), model.weights)
    step = weft.jit(lambda state, token: model.pure_fn((source, token), weights, state, KEY))
    for _ in range(6):
        (logits, _), state = step(state, tokens[:, -1:])
        tokens = np.concatenate([tokens, np.argmax(logits, axis=-1)], axis=1)
    expected = np.argmax(whole((source, tokens[:, 1:]))[0], axis=-1)
    np.testing.assert_array_equal(tokens[:, 1:], expected)


# --- blocks and options ---

STREAMS = [RNG.standard_normal((2, 8, 8)).astype(np.float32) for _ in range(2)]
MASK = np.array([[1] * 8, [1] * 5 + [0] * 3], bool)
encoder = functools.partial(reformer.EncoderBlock, 8, 16, 2)
ENCODERS = {
    "SelfAttention": lambda: encoder(tl.SelfAttention, 0.0, tl.Relu, None),
    "Attention": lambda: encoder(tl.Attention, 0.0, tl.Relu, 0.0, mode="predict"),
    "LSHSelfAttention": lambda: encoder(hashed, 0.0, tl.Relu, None),
    "PureLSHSelfAttentionWrapper": lambda: encoder(wrapped, 0.0, tl.Relu, None),
    "in chunks, with bfloat16 and a swap less": lambda: encoder(
        tl.SelfAttention, 0.0, tl.Relu, None, (1, 4), 2, 0, 1, False, True, False
    ),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_sees_no_padding_and_gives_its_inputs_back(name):
    layer = tl.ReversibleSerial(ENCODERS[name](), ENCODERS[name]())
    inputs = (*STREAMS, MASK)
    weights, before = layer.init(inputs, rng=KEY)
    dtypes = {str(w.dtype) for w in fastmath.tree_leaves(weights)}
    assert dtypes == ({"float32", "bfloat16"} if "bfloat16" in name else {"float32"})
    outputs, after = layer.pure_fn(inputs, weights, before, KEY)
    assert [str(y.dtype) for y in outputs] == ["float32", "float32", "bool"]
    np.testing.assert_array_equal(outputs[2], MASK)
    other = [np.where(MASK[..., None], x, 3.0).astype(np.float32) for x in STREAMS]
    again, _ = layer.pure_fn((*other, MASK), weights, before, KEY)
    for y, z, x in zip(outputs[:2], again[:2], STREAMS, strict=True):
        np.testing.assert_allclose(np.asarray(y)[MASK], np.asarray(z)[MASK], atol=1e-4)
        assert abs(np.asarray(y) - x).max() > 0.1
    ct = (*STREAMS, np.zeros(MASK.shape, weft.dtypes.float0))
    back, _ = layer.reverse_and_grad(outputs, ct, weights, before, after, KEY)
    for got, x in zip(back, inputs, strict=True):
        np.testing.assert_allclose(got, x, atol=1e-4)


def test_a_swap_less_gives_the_streams_in_the_other_order():
    layers = [tl.Serial(encoder(tl.SelfAttention, 0.0, tl.Relu, None, use_two_swaps_per_block=two))
              for two in (True, False)]  # fmt: skip
    weights, _ = layers[0].init((*STREAMS, MASK), rng=KEY)
    layers[1].init((*STREAMS, MASK))
    x, y, _ = layers[0]((*STREAMS, MASK))
    layers[1].weights = weights[:-1]
    np.testing.assert_array_equal(layers[1]((*STREAMS, MASK))[:2], (y, x))


CHUNKED = {
    "sparse feed-forward": {"ff_chunk_size": 4, "ff_sparsity": 4},
    "feed-forward": {"ff_chunk_size": 4},
    "feed-forward with a rest": {"ff_chunk_size": 3},
    "attention": {"attention_chunk_size": 1},
}


@pytest.mark.parametrize("name", CHUNKED)
def test_chunks_change_nothing(name):
    options = {"n_layers": 1, "ff_use_sru": (2, 3), "ff_activation": tl.Relu, "mode": "eval"}
    chunks = {option: 0 for option in CHUNKED[name] if "chunk" in option}
    options |= CHUNKED[name]
    whole, chunked = ReformerLM(**(options | chunks)), ReformerLM(**options)
    weights, _ = whole.init(TOKENS, rng=KEY)
    chunked.init(TOKENS)
    flat = fastmath.tree_flatten(weights)
    chunked.weights, _ = fastmath.tree_unflatten(flat, chunked.weights)
    np.testing.assert_allclose(chunked(TOKENS), whole(TOKENS), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["1inN", "Block", "Switch"])
def test_halves_of_each_kind_are_sparse_and_come_in_chunks(kind):
    block = {"1inN": "SparseFF", "Block": "BlockSparseFF", "Switch": "SwitchSparseFF"}[kind]
    options = {"d_lowrank": 3} if kind == "1inN" else {}
    plain = tl.Serial(tl.LayerNorm(), getattr(tl, block)(12, 4, mode="eval", **options))
    plain.init(STREAMS[0], rng=KEY)
    for size in (0, 4):
        layer = tl.Serial(FeedForwardWithOptions(
            8, 12, 0.0, None, tl.Gelu, None, size, 0, 4, True, "eval", ff_sparsity_type=kind
        ))  # fmt: skip
        layer.init(STREAMS[0])
        flat = fastmath.tree_flatten(plain.weights)
        layer.weights, _ = fastmath.tree_unflatten(flat, layer.weights)
        np.testing.assert_allclose(layer(STREAMS[0]), plain(STREAMS[0]), rtol=1e-4, atol=1e-5)


SAVED = {
    "Reformer": (lambda: Reformer(None, n_encoder_layers=1, n_decoder_layers=1, mode="eval"), PAIR),
    "ReformerLM": (
        lambda: ReformerLM(n_layers=2, attention_type=[wrapped, hashed], mode="eval"), TOKENS,
    ),
    "ReformerShortenLM": (lambda: ShortenLM(4, n_layers=1, mode="eval"), TOKENS),
}  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_a_model_that_is_read_from_a_file_computes_the_same_when_it_is_compiled(name, tmp_path):
    make, inputs = SAVED[name]
    model, other = make(), make()
    model.init(inputs)
    model.save_to_file(tmp_path / "model", input_signature=inputs)
    expected = first(model(inputs))
    weights, state = other.init_from_file(tmp_path / "model")
    run = weft.jit(lambda inputs: first(other.pure_fn(inputs, weights, state, KEY)[0]))
    np.testing.assert_allclose(run(inputs), expected, rtol=1e-4, atol=1e-5)


def test_streams_start_and_positions_are_dropped_in_training_only():
    """`pos_start_from_zero_prob` and `pos_max_offset_to_add`."""
    options = {"n_layers": 1, "dropout": 0.0, "max_len": 32, "pos_start_from_zero_prob": 0.0}
    logits = []
    for mode in ("train", "eval"):
        model = functools.partial(models.ReformerLM, V, 8, 16, n_heads=2, **HEADS)(
            pos_max_offset_to_add=20, mode=mode, **options
        )
        weights, state = model.init(TOKENS, rng=KEY)
        keys = [np.array([0, i], np.uint32) for i in range(3)]
        logits.append([model.pure_fn(TOKENS, weights, state, key)[0] for key in keys])
    assert not np.allclose(logits[0][0], logits[0][1])
    np.testing.assert_array_equal(logits[1][0], logits[1][1])
