"""Models: shapes, numbers of weights, gradients, what they learn, options that they refuse."""

import functools
import math

import numpy as np
import pytest

from weft import fastmath, layers as tl, models, shapes
from weft.models.reformer import reformer
from weft.models.research import configurable_transformer, transformer_parts
from weft.models.resnet import ConvBlock, IdentityBlock, WideResnetBlock, WideResnetGroup

V, D, F, H, ROOM, KEY, VALUE = 9, 4, 8, 2, 8, 3, 2  # sizes of all Transformers here
SIZES = {"d_model": D, "d_ff": F, "n_heads": H, "max_len": ROOM}
RNG = np.random.default_rng(0)
TOKENS = np.array([[5, 2, 7, 1], [3, 3, 8, 0]])
TARGETS = np.array([[6, 4, 1, 8, 2], [7, 1, 5, 3, 3]])
VECTORS = RNG.standard_normal((2, 4, 3)).astype(np.float32)
IMAGES = RNG.standard_normal((1, 32, 32, 3)).astype(np.float32)
SMALL_IMAGES = RNG.standard_normal((2, 6, 6, 5)).astype(np.float32)

ReformerLM = functools.partial(
    models.ReformerLM,
    V,
    d_attention_key=KEY,
    d_attention_value=VALUE,
    **SIZES,
)
Both = functools.partial(models.Transformer, V, n_encoder_layers=2, n_decoder_layers=1, **SIZES)
ReformerShortenLM = functools.partial(
    models.ReformerShortenLM, V, d_embedding=6, d_attention_key=KEY, d_attention_value=VALUE,
    **SIZES,
)  # fmt: skip
Reformer = functools.partial(models.Reformer, V, n_encoder_layers=2, n_decoder_layers=1, **SIZES)
LSH = functools.partial(tl.LSHSelfAttention, chunk_len=2, n_buckets=2, n_hashes=2)


def dense(inputs, outputs):
    return inputs * outputs + outputs


def conv(size, inputs, outputs):
    return size * size * inputs * outputs + outputs


def block(*shapes):
    """Weights of convolutions (size, inputs, outputs), each with a normalization of its outputs."""
    return sum(conv(*shape) + 2 * shape[2] for shape in shapes)


def group(n, inputs, c):
    """Weights of a group of a wide network."""
    first = 2 * inputs + conv(3, inputs, c) + 2 * c + conv(3, c, c) + conv(3, inputs, c)
    return first + (n - 1) * 2 * (2 * c + conv(3, c, c))


NORM, ATTENTION, FEED = 2 * D, 4 * dense(D, D), dense(D, F) + dense(F, D)
BLOCK = NORM + ATTENTION + NORM + FEED
TABLES = V * D + ROOM * D
HASHED = H * (D * KEY + 2 * D * VALUE)  # the keys are the queries
REFORMED = 2 * NORM + HASHED + H * D * KEY + FEED
ENDS = TABLES + 4 * D + dense(2 * D, V)
HEADS = 4 * D * D  # of an encoder, or a decoder that attends to it: without biases
CODED = 2 * NORM + HEADS + FEED
RECURRENT = NORM + dense(D, 2) + dense(2, 6) + dense(2, D)
BOTH_REFORMED = V * D + 2 * CODED + NORM + CODED + NORM + HEADS + NORM
SHORT_END = 3 * 12 * 6 + 6 + dense(6, 18) + dense(6, V)  # a convolution, an SRU, logits
IDENTITY = ((1, 4, 2), (3, 2, 3), (1, 3, 4))

# name -> (model in a mode, input, shape of the output, weights, weights whose gradient is zero)
MODELS = {
    "MLP": (
        lambda mode: models.MLP((7, 3), tl.Tanh),
        VECTORS, (2, 3), dense(12, 7) + dense(7, 3), 0,
    ),
    "MLP of vectors": (
        lambda mode: models.MLP((7, 3), out_activation=True, flatten=False),
        VECTORS, (2, 4, 3), dense(3, 7) + dense(7, 3), 0,
    ),
    "TransformerEncoder": (
        lambda mode: models.TransformerEncoder(V, 3, n_layers=2, mode=mode, **SIZES),
        TOKENS, (2, 3), TABLES + 2 * BLOCK + NORM + dense(D, 3), 2,
    ),
    "TransformerDecoder": (
        lambda mode: models.TransformerDecoder(V, n_layers=1, mode=mode, **SIZES),
        TOKENS, (2, 4, D), TABLES + BLOCK + NORM, 1,
    ),
    "TransformerDecoder of vectors": (
        lambda mode: models.TransformerDecoder(n_layers=1, mode=mode, **SIZES),
        VECTORS, (2, 4, D), dense(3, D) + ROOM * D + BLOCK + NORM, 1,
    ),
    "TransformerLM": (
        lambda mode: models.TransformerLM(V, n_layers=2, mode=mode, **SIZES),
        TOKENS, (2, 4, V), TABLES + 2 * BLOCK + NORM + dense(D, V), 2,
    ),
    "Transformer": (
        lambda mode: Both(mode=mode),
        (TOKENS, TARGETS), (2, 5, V),
        TABLES + ROOM * D + 3 * BLOCK + NORM + ATTENTION + 2 * NORM + dense(D, V), 4,
    ),
    "Transformer of two languages": (
        lambda mode: Both(11, mode=mode),
        (TOKENS, TARGETS), (2, 5, 11),
        TABLES + (11 + ROOM) * D + 3 * BLOCK + NORM + ATTENTION + 2 * NORM + dense(D, 11), 4,
    ),
    "ReformerLM": (
        lambda mode: ReformerLM(n_layers=2, mode=mode),
        TOKENS, (2, 4, V), ENDS + 2 * REFORMED, 0,
    ),
    "ReformerLM of two kinds of attention": (
        lambda mode: ReformerLM(n_layers=2, attention_type=[LSH, tl.CausalAttention], mode=mode),
        TOKENS, (2, 4, V), ENDS + 4 * NORM + 2 * FEED + HASHED + ATTENTION, 1,
    ),
    "ReformerLM in chunks": (
        lambda mode: ReformerLM(
            n_layers=1, ff_chunk_size=2, attention_chunk_size=1, ff_use_sru=(1, 2),
            pos_type="axial", pos_axial_shape=(2, 2), pos_d_axial_embs=(1, 3), mode=mode,
        ),
        TOKENS, (2, 4, V),
        ENDS - ROOM * D + 2 * 1 + 2 * 3 + REFORMED
        + NORM + dense(D, 2) + dense(2, 6) + dense(2, D), 0,
    ),
    "ReformerLM, sparse": (
        lambda mode: ReformerLM(n_layers=2, ff_sparsity="2 3", loss_sparsity=3, mode=mode),
        TOKENS, (2, 4, V), ENDS - dense(2 * D, V) + 3 * 2 * D + 2 * D * 3 + V
        + 2 * (REFORMED + (D + F) * 3), 6,
    ),
    "Reformer": (
        lambda mode: Reformer(mode=mode),
        (TOKENS, TARGETS), (2, 5, V), BOTH_REFORMED + 2 * ROOM * D + dense(D, V), 0,
    ),
    "Reformer of two languages": (
        lambda mode: Reformer(
            11, ff_use_sru=(1, 2), ff_chunk_size=2, ff_dropout=0.3, pos_type="sin-cos", mode=mode
        ),
        (TOKENS, TARGETS), (2, 5, 11),
        BOTH_REFORMED + 3 * RECURRENT + 11 * D + dense(D, 11), 0,
    ),
    # the last feed-forward half adds to the stream that isn't used
    "ReformerShortenLM": (
        lambda mode: ReformerShortenLM(2, n_layers=2, mode=mode),
        TOKENS, (2, 4, V),
        (V + ROOM) * 6 + dense(12, D) + 2 * REFORMED + NORM + dense(D, 12) + SHORT_END, 6,
    ),
    "ReformerShortenLM that doesn't": (
        lambda mode: ReformerShortenLM(
            n_layers=1, attention_type=[tl.CausalAttention], pos_type="axial",
            pos_axial_shape=(2, 2), pos_d_axial_embs=(2, 4), mode=mode,
        ),
        TOKENS, (2, 4, V),
        V * 6 + 2 * 2 + 2 * 4 + dense(6, D) + BLOCK + NORM + dense(D, 6) + SHORT_END, 7,
    ),
    "ConvBlock": (
        lambda mode: ConvBlock(3, (2, 3, 4), (2, 2), tl.BatchNorm, tl.Tanh, mode),
        SMALL_IMAGES, (2, 3, 3, 4), block((1, 5, 2), (3, 2, 3), (1, 3, 4), (1, 5, 4)), 0,
    ),
    "IdentityBlock": (
        lambda mode: IdentityBlock(3, (2, 3, 5), tl.BatchNorm, tl.Tanh, mode),
        SMALL_IMAGES, (2, 6, 6, 5), block((1, 5, 2), (3, 2, 3), (1, 3, 5)), 0,
    ),
    "WideResnetBlock": (
        lambda mode: WideResnetBlock(4, (2, 2), mode=mode),
        SMALL_IMAGES, (2, 3, 3, 4), 10 + block((3, 5, 4)) + conv(3, 4, 4), 0,
    ),
    "WideResnetGroup": (
        lambda mode: WideResnetGroup(3, 4, mode=mode),
        SMALL_IMAGES, (2, 6, 6, 4), group(3, 5, 4), 0,
    ),
    "WideResnet": (
        lambda mode: models.WideResnet(1, mode=mode),
        IMAGES, (1, 10),
        conv(3, 3, 16) + group(1, 16, 16) + group(1, 16, 32) + group(1, 32, 64) + 128
        + dense(64, 10), 0,
    ),
}  # fmt: skip


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


def new(name, mode):
    model = MODELS[name][0](mode)
    model.init(fastmath.nested_map(shapes.signature, MODELS[name][1]))
    return model


made = functools.cache(new)
"""A model that tests share: they leave its weights as they are."""


def size(weights):
    return sum(math.prod(leaf.shape) for leaf in fastmath.tree_leaves(weights))


@pytest.mark.parametrize("name", MODELS)
def test_shapes_weights_and_gradients(name):
    _, inputs, shape, count, zeros = MODELS[name]
    model = made(name, "eval")
    assert size(model.weights) == count
    outputs = model(inputs)
    assert first(outputs).shape == shape
    if isinstance(outputs, tuple):
        np.testing.assert_array_equal(outputs[1], TARGETS)
    direction = RNG.standard_normal(shape)
    key = fastmath.random.get_prng(1)

    def loss(weights):
        outputs, _ = model.pure_fn(inputs, weights, model.state, key)
        return fastmath.numpy.sum(first(outputs) * direction)

    # a bias of keys adds the same to all scores of a query: softmax has no use for it
    gradients = fastmath.tree_leaves(fastmath.grad(loss)(model.weights))
    largest = [float(abs(np.asarray(g)).max()) for g in gradients]
    assert np.isfinite(largest).all()
    assert sum(g < 1e-5 for g in largest) == zeros


@pytest.mark.parametrize("name", MODELS)
def test_training_is_random_or_has_statistics_of_the_batch_and_evaluation_is_not(name):
    inputs, model = MODELS[name][1], made(name, "train")
    keys = [fastmath.random.get_prng(i) for i in range(2)]
    results = [first(model.pure_fn(inputs, model.weights, model.state, k)[0]) for k in keys]
    is_random = "former" in name
    assert np.allclose(*results) != is_random
    evaluating = made(name, "eval")
    results = [
        first(evaluating.pure_fn(inputs, model.weights, evaluating.state, k)[0]) for k in keys
    ]
    if "two kinds" not in name:  # hash buckets are random
        np.testing.assert_array_equal(*results)
    if "esnet" in name or "Block" in name:
        _, state = model.pure_fn(inputs, model.weights, model.state, keys[0])
        counts = [s for s in fastmath.tree_leaves(state) if s.shape == ()]
        assert counts
        assert all(int(count) == 1 for count in counts)


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("MLP")])
def test_twins_in_other_modes_are_the_models_made_in_them(name):
    inputs, model, key = MODELS[name][1], made(name, "train"), fastmath.random.get_prng(2)
    for mode in ("eval", "predict"):
        if mode == "predict" and "ShortenLM" in name:
            with pytest.raises(ValueError, match="there is no mode 'predict'"):
                tl.in_mode(model, mode)
            continue
        twin, expected = tl.in_mode(model, mode), new(name, mode)
        assert str(twin) == str(expected)
        tl.share_weights(model, expected)
        # A state may begin with random keys.
        state = fastmath.tree_unflatten(fastmath.tree_flatten(twin.state), expected.state)[0]
        found, wanted = (
            fastmath.tree_leaves(one.pure_fn(inputs, one.weights, state, key))
            for one in (twin, expected)
        )
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_resnet50_has_the_weights_of_the_published_network():
    # Keras' ResNet50, convolutions with biases: 25,636,712 numbers, of which 53,120 aren't trained
    images = shapes.ShapeDtype((2, 224, 224, 3))
    model = models.Resnet50(n_output_classes=1000)
    weights, state = model.weights_and_state_signature(images)
    assert size(weights) == 25_636_712 - 53_120
    assert size([s for s in fastmath.tree_leaves(state) if s.shape]) == 53_120
    narrow = models.Resnet50(d_hidden=1, n_output_classes=5)
    narrow.init(images)
    assert narrow.output_signature(images).shape == (2, 5)


def test_a_model_sees_no_later_token_and_the_encoder_no_padding():
    later = TOKENS.copy()
    later[:, 2:] += 1
    for name in ("TransformerLM", "ReformerLM", "ReformerLM in chunks", "ReformerShortenLM"):
        model = made(name, "eval")
        np.testing.assert_allclose(model(TOKENS)[:, :3], model(later % V)[:, :3], atol=1e-6)
        assert not np.allclose(model(TOKENS)[:, 3], model(later % V)[:, 3])
    longer = np.pad(TOKENS, ((0, 0), (0, 2)))
    for name in ("Transformer", "Reformer"):
        model = made(name, "eval")
        logits = model((TOKENS, TARGETS))[0]
        np.testing.assert_allclose(logits, model((longer, TARGETS))[0], atol=1e-5)


def decoded(make, inputs, pieces, before=()):
    """What a model in mode "predict" gives, a piece at a time, and in mode "eval" at once."""
    evaluating, predicting = make("eval"), make("predict")
    evaluating.init((*before, inputs) if before else inputs)
    start = pieces[:, :1]
    predicting.init((*before, start) if before else start)
    flat = fastmath.tree_flatten(evaluating.weights)
    predicting.weights, _ = fastmath.tree_unflatten(flat, predicting.weights)
    found = []
    for i in range(pieces.shape[1]):
        piece = pieces[:, i : i + 1]
        found.append(first(predicting((*before, piece) if before else piece)))
    expected = first(evaluating((*before, inputs) if before else inputs))
    return np.concatenate(found, axis=1), np.asarray(expected)


DECODERS = {
    "TransformerLM": lambda mode: models.TransformerLM(V, n_layers=2, mode=mode, **SIZES),
    "ReformerLM": lambda mode: ReformerLM(n_layers=2, mode=mode),
    "ReformerLM with plain attention": lambda mode: ReformerLM(
        n_layers=1, attention_type=tl.CausalAttention, mode=mode
    ),
    "ReformerLM with a recurrent half": lambda mode: ReformerLM(
        n_layers=1, ff_use_sru=2, pos_type="sin-cos", ff_chunk_size=2, mode=mode
    ),
    "ReformerLM in bins of time": lambda mode: ReformerLM(
        n_layers=1,
        attention_type=functools.partial(tl.SelfAttention, chunk_len=2, n_chunks_before=1),
        pos_type="time-bin",
        mode=mode,
    ),
    "ReformerLM on a grid": lambda mode: ReformerLM(
        n_layers=1, pos_type="axial", pos_axial_shape=(2, 3), pos_d_axial_embs=(2, 2), mode=mode
    ),
}


@pytest.mark.parametrize("name", DECODERS)
def test_decoding_gives_what_the_whole_sequence_does(name):
    tokens = np.array([[5, 2, 7, 1, 8, 2], [3, 3, 8, 4, 1, 6]])
    shifted = np.pad(tokens, ((0, 0), (1, 0)))[:, :-1]
    np.testing.assert_allclose(*decoded(DECODERS[name], tokens, shifted), rtol=1e-4, atol=1e-5)


def test_decoding_of_vectors_and_after_an_encoder():
    def decoder(mode):
        return models.TransformerDecoder(n_layers=1, mode=mode, **SIZES)

    np.testing.assert_allclose(*decoded(decoder, VECTORS, VECTORS), rtol=1e-4, atol=1e-5)
    shifted = np.pad(TARGETS, ((0, 0), (1, 0)))[:, :-1]
    both = [
        functools.partial(Both, None),
        functools.partial(Both, V),
        functools.partial(Reformer, None),
        functools.partial(Reformer, V, ff_use_sru=1, ff_chunk_size=2, pos_type="sin-cos"),
    ]
    for make in both:
        found = decoded(lambda mode, make=make: make(mode=mode), TARGETS, shifted, (TOKENS,))
        np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["TransformerLM", "ReformerLM of two kinds of attention"])
def test_a_few_steps_learn_to_copy(name):
    model = made(name, "eval")
    words = np.random.default_rng(2).integers(1, V, (8, 2))
    batch = np.concatenate([words, words], axis=1).astype(np.int32)
    key = fastmath.random.get_prng(0)

    def loss(weights):
        logits, _ = model.pure_fn(batch, weights, model.state, key)
        chosen = tl.log_softmax(logits) * tl.one_hot(batch, V)
        return -fastmath.numpy.mean(fastmath.numpy.sum(chosen, axis=-1))

    step = fastmath.jit(fastmath.value_and_grad(loss))
    weights, losses = model.init(shapes.signature(batch), rng=key)[0], []
    for _ in range(30):
        value, gradients = step(weights)
        weights = fastmath.nested_map_multiarg(lambda w, g: w - 0.3 * g, weights, gradients)
        losses.append(float(value))
    assert losses[-1] < losses[0] - 0.4


WRONG = {
    "MLP: layer_widths": lambda: models.MLP(128),
    "MLP: activation_fn": lambda: models.MLP(activation_fn=None),
    "MLP: mode": lambda: models.MLP(mode="training"),
    "TransformerLM: d_model must be a multiple of n_heads": lambda: models.TransformerLM(
        V, d_model=10
    ),
    "TransformerLM: vocab_size": lambda: models.TransformerLM(None),
    "TransformerLM: n_layers": lambda: models.TransformerLM(V, n_layers=-1),
    "TransformerLM: dropout must be less than 1": lambda: models.TransformerLM(V, dropout=1.0),
    "TransformerDecoder: mode": lambda: models.TransformerDecoder(V, mode="test"),
    "TransformerEncoder: n_classes": lambda: models.TransformerEncoder(V, n_classes=0),
    "TransformerEncoder: ff_activation": lambda: models.TransformerEncoder(V, ff_activation="r"),
    "Transformer: input_vocab_size": lambda: models.Transformer(0),
    "Transformer: output_vocab_size": lambda: models.Transformer(V, 2.5),
    "Transformer: n_decoder_layers": lambda: models.Transformer(V, n_decoder_layers=None),
    "ReformerLM: mode": lambda: ReformerLM(mode="viz"),
    "FeedForwardWithOptions: ff_sparsity must be a number or 2 or 4": lambda: ReformerLM(
        ff_sparsity="2 units"
    ),
    "SparseFF: d_ff must be a multiple": lambda: ReformerLM(ff_sparsity=3),
    "SparseDenseWithOptions: sparsity_type": lambda: ReformerLM(loss_sparsity_type="1inN"),
    "d_out must be a multiple of n_modules": lambda: ReformerLM(loss_sparsity=2),
    "ReformerLM: n_layers must be a multiple": lambda: ReformerLM(
        n_layers=3, attention_type=[tl.SelfAttention, LSH]
    ),
    "ReformerLM: attention_type": lambda: ReformerLM(attention_type=[]),
    "must make a layer of 1 inputs": lambda: ReformerLM(attention_type=tl.Attention),
    "buckets of the whole batch": lambda: ReformerLM(attention_type=LSH, attention_chunk_size=1),
    "PositionalEncoder: pos_type": lambda: models.ReformerShortenLM(V, pos_type="time-bin"),
    "ReformerLM: pos_type='time-bin' takes the length": lambda: ReformerLM(pos_type="time-bin"),
    "PositionalEncoder: pos_d_axial_embs": lambda: ReformerLM(pos_type="axial"),
    "FeedForwardWithOptions: ff_use_sru": lambda: ReformerLM(ff_use_sru=(1, 2, 3)),
    "Reformer: mode": lambda: Reformer(mode="viz"),
    "Reformer: input_vocab_size": lambda: models.Reformer(None),
    "Reformer: n_decoder_layers": lambda: Reformer(n_decoder_layers=0),
    "EncoderBlock: d_model must be a multiple of n_heads": lambda: models.Reformer(V, d_model=10),
    "ReformerShortenLM: there is no mode 'predict'.*\n.*ReformerLM": lambda: ReformerShortenLM(
        mode="predict"
    ),
    "ReformerShortenLM: shorten_factor": lambda: ReformerShortenLM(0),
    "ReformerShortenLM: n_layers must be a multiple": lambda: ReformerShortenLM(
        n_layers=3, attention_type=[tl.SelfAttention, LSH]
    ),
    "ReformerShortenLM: shorten_factor=3 must divide": lambda: ReformerShortenLM(
        3, n_layers=1, mode="eval"
    ).init(TOKENS),
    "EmbeddingAndPositionalEncodings: expected a vocabulary": lambda: (
        configurable_transformer.EmbeddingAndPositionalEncodings(None, D, "eval", 0.0, None, 8)
    ),
    "Resnet50: d_hidden": lambda: models.Resnet50(d_hidden=0),
    "Resnet50: norm": lambda: models.Resnet50(norm=None),
    "ConvBlock: filters": lambda: ConvBlock(3, (1, 2), (1, 1), tl.BatchNorm, tl.Relu),
    "WideResnet: n_blocks": lambda: models.WideResnet(n_blocks=0),
    "WideResnetGroup: n ": lambda: WideResnetGroup(0, 4),
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_options_are_named(message):
    with pytest.raises((TypeError, ValueError, tl.LayerError), match=message):
        WRONG[message]()


def test_bins_of_time_are_the_chunks_of_the_first_attention():
    kinds = [functools.partial(tl.SelfAttention, chunk_len=n) for n in (3, 5)]
    model = ReformerLM(attention_type=kinds, pos_type="time-bin", mode="eval")
    layer = next(x for x in model.sublayers if isinstance(x, tl.TimeBinPositionalEncoding))
    features = np.asarray(layer(np.zeros((1, 7, 3), np.float32)))[0]
    np.testing.assert_allclose(features[:, 1], [0, 1 / 3, 2 / 3] * 2 + [0], rtol=1e-6)


def test_positions_of_each_type_and_a_block_of_several_halves():
    for pos_type in transformer_parts.POSITIONS:
        layer = configurable_transformer.PositionalEncoder("eval", pos_type=pos_type)
        x = np.zeros((1, 3, 16), np.float32)
        layer.init(x)
        assert layer(x).shape == x.shape
        assert np.asarray(layer(x)).any() == (pos_type != "no")
    halves = reformer.DecoderBlock(
        D, F, KEY, VALUE, H, tl.SelfAttention, 0.0, tl.Relu, None, 0, 0, 0, 0,
        n_attention_layers=2, n_feedforward_layers=3, center_layernorm=False, mode="eval",
    )  # fmt: skip
    assert len(halves) == 10
    x = np.ones((1, 3, D), np.float32)
    layer = tl.ReversibleSerial(halves)
    layer.init((x, x))
    assert size(layer.weights) == 2 * (NORM + HASHED + H * D * KEY) + 3 * (NORM + FEED)
    y = layer((x, x))
    back, _ = layer.reverse_and_grad(y, y, layer.weights, layer.state, layer.state, layer.rng)
    np.testing.assert_allclose(back[0], x, atol=1e-5)
