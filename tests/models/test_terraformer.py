"""ConfigurableTerraformer: causality over source and target, padding, decoding, training."""

import numpy as np
import pytest
from model_checks import V, check_causal, check_decoding, initialized, losses, signature_of

from weft import layers as tl, models

RNG = np.random.default_rng(0)
TOKENS = RNG.integers(1, V, (2, 6))
PAIR = np.where(np.arange(5) < [[5], [3]], RNG.integers(1, V, (2, 5)), 0), TOKENS
SIZES = {"d_model": 8, "d_ff": 16, "n_heads": 2, "max_len": 16, "n_encoder_layers": 1}


def made(mode="eval", **options):
    return models.ConfigurableTerraformer(
        V, mode=mode, **{"n_decoder_layers": 2, **SIZES, **options}
    )


def test_the_signature_is_traxs():
    assert signature_of(models.ConfigurableTerraformer) == (
        "input_vocab_size, output_vocab_size=None, d_model=512, d_ff=2048, d_attention_key=None, "
        "d_attention_value=None, n_encoder_layers=6, n_decoder_layers=6, n_heads=8, dropout=0.1, "
        "max_len=2048, encoder_attention_type=SelfAttention, "
        "encoder_decoder_attention_type=SelfAttention, pos_type='fixed-base', pos_axial_shape=(), "
        "pos_d_axial_embs=None, pos_start_from_zero_prob=1.0, pos_max_offset_to_add=0, "
        "ff_activation=Relu, ff_use_sru=0, ff_chunk_size=0, ff_dropout=None, ff_sparsity=0, "
        "loss_sparsity_type='mult', loss_sparsity=0, loss_d_lowrank=0, loss_sparsity_prob=None, "
        "attention_chunk_size=0, n_layers_forget=0, forget_dense=True, "
        "n_decoder_attention_layers=2, use_bfloat16=False, reversible_encoder=False, "
        "use_two_swaps_per_encoder_block=True, center_layernorm=True, half_before_layer=None, "
        "double_after_layer=None, mode='train'"
    )


MODELS = {
    "plain": {},
    "reversible encoder": {"reversible_encoder": True},
    "two vocabularies": {"output_vocab_size": V},
    "forgets": {"n_decoder_layers": 4, "n_layers_forget": 1},
    "recurrent": {"ff_use_sru": (1, 4)},
    "sparse": {"ff_sparsity": 4, "loss_sparsity": 3},
    "half and double": {
        "d_model": 16, "n_decoder_layers": 3, "half_before_layer": 1, "double_after_layer": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_logits_depend_on_the_source_and_earlier_targets(name):
    model = initialized(made(**MODELS[name]), PAIR)
    logits, targets = model(PAIR)
    assert logits.shape == (2, 6, V)
    np.testing.assert_array_equal(targets, TOKENS)
    check_causal(model, TOKENS, PAIR[:1])
    other = np.where(PAIR[0] == 0, 0, PAIR[0] % (V - 1) + 1)
    assert not np.allclose(model((other, TOKENS))[0], logits, atol=1e-5)


def test_padding_of_the_source_does_not_count():
    model = initialized(made(), PAIR)
    padded = np.pad(PAIR[0], ((0, 0), (0, 2)))
    np.testing.assert_allclose(model((padded, TOKENS))[0], model(PAIR)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "two vocabularies"])
def test_it_decodes(name):
    model = initialized(made(**MODELS[name]), PAIR)
    check_decoding(model, TOKENS, PAIR[:1])


def test_training_lowers_the_loss():
    values = losses(made("train"), PAIR, TOKENS)
    assert values[-1] < 0.9 * values[0]


def test_a_wrong_option_is_refused_by_name():
    with pytest.raises(ValueError, match="ConfigurableTerraformer: d_model"):
        made(d_model=10, n_heads=4)
    with pytest.raises((TypeError, ValueError), match="ConfigurableTerraformer: n_decoder_layers"):
        made(n_decoder_layers=-1)
    with pytest.raises((TypeError, ValueError), match="mode must be"):
        made("test")
    assert isinstance(made(), tl.Layer)
