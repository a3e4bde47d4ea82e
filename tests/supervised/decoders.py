"""Small models that decode, and what a loop over the same model in mode "eval" gives."""

import functools

import numpy as np

from weft import fastmath, layers as tl, models, random
from weft.shapes import ShapeDtype

V, ROOM = 8, 16
SIZES = {"d_model": 8, "d_ff": 8, "n_heads": 2, "max_len": ROOM}
KEY = random.PRNGKey(3)

LANGUAGE_MODELS = {
    "TransformerLM": functools.partial(models.TransformerLM, V, n_layers=1, **SIZES),
    "ReformerLM": functools.partial(
        models.ReformerLM, V, n_layers=1, d_attention_key=4, d_attention_value=4, **SIZES
    ),
    "GRULM": functools.partial(models.GRULM, V, d_model=8),
    "RNNLM": functools.partial(models.RNNLM, V, d_model=8, n_layers=3),
}
TRANSLATORS = {
    "Transformer": functools.partial(
        models.Transformer, V, n_encoder_layers=1, n_decoder_layers=1, **SIZES
    ),
    "Reformer": functools.partial(
        models.Reformer, V, n_encoder_layers=1, n_decoder_layers=1, **SIZES
    ),
    "LSTMSeq2SeqAttn": functools.partial(
        models.LSTMSeq2SeqAttn, V, V, d_model=8, n_encoder_layers=1, n_decoder_layers=1
    ),
}


@functools.cache
def trained(name):
    """A model in mode "train", whose logits differ much from each other."""
    tokens = ShapeDtype((2, 4), np.int32)
    if name in TRANSLATORS:
        model = TRANSLATORS[name](mode="train")
        model.init((tokens, tokens), rng=KEY)
    else:
        model = LANGUAGE_MODELS[name](mode="train")
        model.init(tokens, rng=KEY)
    return sharpened(model)


def sharpened(model):
    """The model with greater weights, so that tokens depend on all before them, and no two are as
    likely up to rounding."""
    noise = np.random.default_rng(0)
    flat = [
        w + noise.normal(0, 0.5, w.shape).astype(w.dtype)
        for w in fastmath.tree_flatten(model.weights)
    ]
    model.weights = fastmath.tree_unflatten(flat, model.weights)[0]
    return model


@functools.cache
def whole(name):
    """The same model in mode "eval"."""
    return tl.in_mode(trained(name), "eval")


def logits_of(model, rows, source=None):
    """The logits of each token of some rows, after all before it: [rows, ROOM, V], float64.

    There is one length, since each would be a program.
    """
    padded = np.zeros((len(rows), ROOM), np.int32)
    for row, tokens in zip(padded, rows, strict=True):
        row[: len(tokens)] = tokens
    outputs = model(padded if source is None else (source, padded))
    logits = outputs[0] if isinstance(outputs, tuple) else outputs
    return np.asarray(logits, np.float64)


def in_rows(sequences):
    """Sequences of several lengths as an array, with zeros behind them."""
    return np.array([[*row, *[0] * (max(map(len, sequences)) - len(row))] for row in sequences])


def log_softmax(logits):
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def greedy_loop(model, prompt, n):
    """`n` tokens behind a prompt, each the likeliest after those before it."""
    tokens = [*prompt]
    for _ in range(n):
        tokens.append(int(np.argmax(logits_of(model, [tokens])[0, len(tokens)])))
    return tokens[len(prompt) :]


def assert_each_is_chosen(model, prompts, drawn, choose, source=None):
    """Each token is what `choose(logits, row, i)` takes, for the logits after those before it: by
    induction, the loop that chooses one after the other gives these tokens."""
    rows = [[*prompt, *tokens] for prompt, tokens in zip(prompts, drawn, strict=True)]
    logits = logits_of(model, rows, source)
    for row, prompt in enumerate(prompts):
        chosen = [choose(logits[row, len(prompt) + i], row, i) for i in range(len(drawn[row]))]
        np.testing.assert_array_equal(drawn[row], chosen)


def likeliest(logits, row, i):
    return np.argmax(logits)
