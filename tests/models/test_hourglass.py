"""HourglassLM: causality at every length, training, and its refusals."""

import numpy as np
import pytest
from model_checks import V, check_causal, initialized, losses, signature_of

from weft import layers as tl, models
from weft.layers.research import resampling

TOKENS = np.random.default_rng(0).integers(1, V, (2, 12))
SIZES = {"d_model": 8, "d_ff": 16, "n_heads": 2}


def test_the_signature_is_traxs():
    assert signature_of(models.HourglassLM) == (
        "vocab_size, d_model=512, d_ff=2048, vanilla_layers=(1, 1), hierarchy='6@3', n_heads=8, "
        "dropout=0.1, dropout_shared_axes=None, mode='train', ff_activation=FastGelu, "
        "vanilla_attn_type=RelativeAttentionWrapper, middle_attn_type=RelativeAttentionWrapper, "
        "downsampling_fn=AttentionResampling, upsampling_fn=AttentionResampling, "
        "attention_downsampling_fn=AveragePooling, attention_upsampling_fn=LinearUpsampling"
    )


MODELS = {
    "one level": {"hierarchy": "1@3"},
    "two levels": {"hierarchy": "1@2 1@6 1@2"},
    "no blocks outside": {"hierarchy": "2@4", "vanilla_layers": (0, 0)},
    "plain resampling": {
        "hierarchy": "1@2",
        "downsampling_fn": resampling.LinearPooling,
        "upsampling_fn": resampling.LinearUpsampling,
    },
    "causal attention outside": {"hierarchy": "1@3", "vanilla_attn_type": tl.CausalAttention},
}


@pytest.mark.parametrize("name", MODELS)
def test_logits_depend_on_earlier_tokens_only(name):
    model = initialized(models.HourglassLM(V, mode="eval", **MODELS[name], **SIZES), TOKENS)
    assert model(TOKENS).shape == (2, 12, V)
    check_causal(model, TOKENS)


def test_training_lowers_the_loss():
    values = losses(models.HourglassLM(V, hierarchy="1@3", **SIZES), TOKENS, TOKENS)
    assert values[-1] < 0.9 * values[0]


WRONG = {
    "there is no mode 'predict'": {"mode": "predict"},
    "HourglassLM: mode must be": {"mode": "test"},
    "HourglassLM: d_ff": {"d_ff": 0},
    "HourglassLM: vanilla_layers": {"vanilla_layers": (1,)},
    "HourglassLM: hierarchy .*same in both directions": {"hierarchy": "1@2 2@4"},
    "HourglassLM: hierarchy .*multiple": {"hierarchy": "1@2 1@5 1@2"},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_option_is_refused_by_name(message):
    with pytest.raises((TypeError, ValueError), match=message):
        models.HourglassLM(V, **{**SIZES, **WRONG[message]})


def test_a_length_that_the_factor_does_not_divide_is_refused():
    model = models.HourglassLM(V, hierarchy="1@5", mode="eval", **SIZES)
    with pytest.raises(tl.LayerError, match="5"):
        model.init(TOKENS)
