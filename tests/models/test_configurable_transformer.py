"""Transformers with options: they equal plain ones, decode, hide padding, and share weights."""

import functools

import numpy as np
import pytest
from model_checks import V, check_causal, check_decoding, initialized, losses, shapes, signature_of

from weft import fastmath, layers as tl, models
from weft.models.research import configurable_transformer as parts

RNG = np.random.default_rng(0)
TOKENS = RNG.integers(1, V, (2, 6))
PAIR = np.where(np.arange(5) < [[5], [3]], RNG.integers(1, V, (2, 5)), 0), TOKENS
SIZES = {"d_model": 8, "d_ff": 16, "n_heads": 2, "max_len": 8, "mode": "eval"}
LAYERS = {"n_encoder_layers": 1, "n_decoder_layers": 2}

Encoder = functools.partial(models.ConfigurableTransformerEncoder, V, 3, n_layers=2, **SIZES)
LM = functools.partial(models.ConfigurableTransformerLM, V, n_layers=2, **SIZES)
Both = functools.partial(models.ConfigurableTransformer, V, **LAYERS, **SIZES)

FF = (
    "dropout=0.1, dropout_shared_axes=None, mode='train', ff_activation=Relu, ff_dropout=0.1, "
    "ff_chunk_size=0, ff_use_sru=0, ff_sparsity=0, ff_sparsity_type='1inN', "
)
LOSS = (
    "loss_sparsity_type='mult', loss_sparsity=0, loss_d_lowrank=0, loss_sparsity_prob=None, "
    "attention_chunk_size=0, "
)
POSITIONS = "pos_type=None, pos_axial_shape=None, pos_d_axial_embs=None"
SIGNATURES = {
    "ConfigurableTransformerEncoder": (
        "vocab_size, n_classes=10, d_model=512, d_ff=2048, n_layers=6, n_heads=8, max_len=2048, "
        f"{FF}attention_chunk_size=0, attention_type=Attention, {POSITIONS}"
    ),
    "ConfigurableTransformerLM": (
        "vocab_size, d_model=512, d_ff=2048, n_layers=6, n_heads=8, max_len=2048, "
        f"{FF}{LOSS}attention_type=CausalAttention, {POSITIONS}, "
        "pos_start_from_zero_prob=1.0, pos_max_offset_to_add=0"
    ),
    "ConfigurableTransformer": (
        "input_vocab_size, output_vocab_size=None, d_model=512, d_ff=2048, n_encoder_layers=6, "
        f"n_decoder_layers=6, n_heads=8, max_len=2048, {FF}{LOSS}"
        "encoder_attention_type=Attention, encoder_decoder_attention_type=CausalAttention, "
        f"{POSITIONS}, enc_dec_attention_sparsity=0"
    ),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_signature_is_traxs(name):
    assert signature_of(getattr(models, name)) == SIGNATURES[name]
    assert getattr(models, name) is getattr(parts, name)


# --- what they compute ---

PLAIN = {
    "encoder": (Encoder, models.TransformerEncoder(V, 3, n_layers=2, **SIZES), PAIR[0]),
    "language model": (LM, models.TransformerLM(V, n_layers=2, **SIZES), TOKENS),
    "both": (Both, models.Transformer(V, **LAYERS, **SIZES), PAIR),
    "two vocabularies": (
        functools.partial(Both, output_vocab_size=10),
        models.Transformer(V, 10, **LAYERS, **SIZES),
        PAIR,
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_without_options_they_are_the_transformers_of_the_same_weights_in_the_same_order(name):
    make, plain, inputs = PLAIN[name]
    model = initialized(make(), inputs)
    plain.init(inputs)
    leaves = fastmath.tree_leaves(model.weights)
    assert [w.shape for w in leaves] == [w.shape for w in fastmath.tree_leaves(plain.weights)]
    plain.weights, _ = fastmath.tree_unflatten(leaves, plain.weights)
    pairs = zip(*map(fastmath.tree_leaves, (model(inputs), plain(inputs))), strict=True)
    for got, expected in pairs:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_the_weights_of_a_block_with_recurrence_and_a_sparse_last_layer():
    norm, square = [(8,), (8,)], [(8, 8), (8,)]
    block = [*norm, *square * 4, *norm, (8, 16), (16,), (16, 8), (8,)]
    recurrent = [*norm, (8, 4), (4,), (4, 12), (12,), (4, 8), (8,)]
    loss = [(3, 8), (8, 3), (9,)]
    model = models.ConfigurableTransformerLM(
        V, n_layers=1, ff_use_sru=(1, 4), loss_sparsity=3, **SIZES
    )
    assert shapes(model, TOKENS) == [(V, 8), (8, 8), *block, *recurrent, *norm, *loss]


def test_one_vocabulary_has_one_table_of_vectors():
    assert shapes(Both(), PAIR).count((V, 8)) == 1
    assert shapes(Both(output_vocab_size=V), PAIR).count((V, 8)) == 2


CAUSAL = {
    "plain": {},
    "self-attention in chunks of the batch": {
        "attention_type": tl.SelfAttention, "attention_chunk_size": 1,
    },
    "recurrent": {"ff_use_sru": (1, 4), "ff_chunk_size": 3},
    "sparse": {"ff_sparsity": 4, "loss_sparsity": 3},
    "experts": {"ff_sparsity": 4, "ff_sparsity_type": "Switch", "pos_type": "sin-cos"},
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSAL)
def test_a_language_model_sees_earlier_tokens_only_and_decodes(name):
    model = initialized(LM(**CAUSAL[name]), TOKENS)
    assert model(TOKENS).shape == (2, 6, V)
    check_causal(model, TOKENS)
    check_decoding(model, TOKENS, pieces=3)


BOTH = {
    "plain": {},
    "sparse attention to the source": {"enc_dec_attention_sparsity": 2, "ff_sparsity": (4, 2)},
    "convolutions": {
        "encoder_decoder_attention_type": functools.partial(
            tl.MultiplicativeConvCausalAttention, sparsity=2
        ),
        "enc_dec_attention_sparsity": (2, 2), "encoder_attention_type": tl.SelfAttention,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BOTH)
def test_targets_are_decoded_and_padding_of_the_source_does_not_count(name):
    model = initialized(Both(**BOTH[name]), PAIR)
    logits, targets = model(PAIR)
    assert logits.shape == (2, 6, V)
    np.testing.assert_array_equal(targets, TOKENS)
    padded = np.pad(PAIR[0], ((0, 0), (0, 2)))
    np.testing.assert_allclose(model((padded, TOKENS))[0], logits, rtol=1e-4, atol=1e-5)
    other = np.where(PAIR[0] == 0, 0, PAIR[0] % (V - 1) + 1)
    assert not np.allclose(model((other, TOKENS))[0], logits)
    check_causal(model, TOKENS, PAIR[:1])
    check_decoding(model, TOKENS, PAIR[:1], pieces=2)


@pytest.mark.parametrize("attention", [tl.Attention, tl.SelfAttention])
def test_an_encoder_attends_to_no_padding(attention):
    """Vectors of padding differ, and the classes are from the mean: without it they're equal."""
    block = tl.Serial(
        parts.EncoderBlock(
            8, 16, 2, 0.1, None, "predict", tl.Relu, None, 0, 0, 0, "1inN", 0, attention, 2, 2
        )
    )
    x, mask = RNG.standard_normal((1, 5, 8)).astype(np.float32), np.arange(5) < 3
    mask = mask[None, None, None]
    initialized(block, (x, mask))
    assert len(block.sublayers) == 4
    y, same = block((x, mask))
    np.testing.assert_array_equal(same, mask)
    z, _ = block((np.where(np.arange(5)[:, None] < 3, x, 7.0).astype(np.float32), mask))
    np.testing.assert_allclose(z[:, :3], y[:, :3], rtol=1e-5, atol=1e-6)
    assert tl.in_mode(Encoder(), "predict").init(PAIR[0]) is not None


TRAINED = {
    "language model": (lambda: LM(mode="train", loss_sparsity_prob=0.5), TOKENS),
    "both": (lambda: Both(ff_sparsity=4, loss_sparsity=3), PAIR),
}


@pytest.mark.parametrize("name", TRAINED)
def test_training_lowers_the_loss(name):
    make, inputs = TRAINED[name]
    values = losses(make(), inputs, TOKENS)
    assert values[-1] < 0.9 * values[0]


# --- options ---

CAUSAL_BLOCK = (8, 16, 2, 0.1, None, "eval", tl.Relu, 0.1, 0, 0, 0, "1inN", 0, tl.CausalAttention)
WRONG = {
    "ConfigurableTransformerLM: vocab_size must be an int": lambda: (
        models.ConfigurableTransformerLM(None)
    ),
    "ConfigurableTransformerLM: mode must be": lambda: models.ConfigurableTransformerLM(
        V, mode="test"
    ),
    "ConfigurableTransformerLM: d_model must be a multiple of n_heads": lambda: (
        models.ConfigurableTransformerLM(V, d_model=9, n_heads=2)
    ),
    "ConfigurableTransformerLM: dropout must be less than 1": lambda: LM(dropout=1.0),
    "ConfigurableTransformerLM: n_layers": lambda: models.ConfigurableTransformerLM(V, n_layers=-1),
    "ConfigurableTransformerEncoder: n_classes": lambda: models.ConfigurableTransformerEncoder(
        V, n_classes=0
    ),
    "ConfigurableTransformer: input_vocab_size": lambda: models.ConfigurableTransformer(None, V),
    "ConfigurableTransformer: n_decoder_layers": lambda: models.ConfigurableTransformer(
        V, n_decoder_layers=2.5
    ),
    "EncoderDecoderBlock: enc_dec_attention_sparsity must be": lambda: Both(
        enc_dec_attention_sparsity=(1, 2, 3)
    ),
    "ApplyAttentionLayer: attention_type must make a layer of 1 inputs": lambda: LM(
        attention_type=tl.Attention
    ),
    "PositionalEncoder: pos_type must be": lambda: LM(pos_type="axail"),
    "SparseDenseWithOptions: d_lowrank is needed": lambda: tl.SparseDenseWithOptions(
        4, sparsity_type="lowrank", sparsity=1
    ),
    "DecoderBlock: n_attention_layers": lambda: parts.DecoderBlock(*CAUSAL_BLOCK, -1),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_option_is_refused_by_name(message):
    with pytest.raises((TypeError, ValueError)) as error:
        WRONG[message]()
    assert str(error.value).startswith(message)
