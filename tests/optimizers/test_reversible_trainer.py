import gc
import random as python_random
import weakref

import numpy as np
import pytest

import weft
from weft import layers as tl, optimizers, random
from weft.errors import ShapeError
from weft.layers.serial import assembled

KEY, WORDS, N = random.PRNGKey(3), 20, 4


def batch(n=8, length=6):
    tokens = np.random.RandomState(0).randint(1, WORDS, (n, length))
    return tokens, tokens, np.ones(tokens.shape, "float32")


def half():
    return tl.ReversibleHalfResidual(tl.LayerNorm(), tl.Dense(8), tl.Tanh(), tl.Dense(8))


def layers(depth=2, between=True):
    """The layers of a model: standard ones, reversible ones, some of both again, the last ones."""
    reversible = [[half(), tl.ReversibleSwap()] for _ in range(depth)]
    middle = [tl.Add(), tl.Dense(8), tl.Dup(), half()] if between else []
    return [
        tl.Embedding(WORDS, 8),
        tl.Dup(),
        *[layer for pair in reversible for layer in pair],
        *middle,
        tl.Concatenate(),
        tl.Select([0, 1, 2]),
        tl.Dense(WORDS),
    ]


def initialized(**options):
    """(layers of a model with its loss, as one layer): the same weights each time."""
    python_random.seed(0)
    parts = [*layers(**options), tl.CrossEntropyLossWithLogSoftmax()]
    whole = tl.Serial(*parts)
    whole.init(batch(), KEY)
    return whole


def reversible_trainer(chunk=0, n_devices=1, optimizer=optimizers.Adam, **options):
    blocks, loss = optimizers.extract_reversible_blocks([initialized()], chunk)
    return optimizers.ReversibleSerialTrainer(blocks, loss, optimizer, n_devices, **options)


def steps(trainer, n=4):
    return [
        float(trainer.one_step(batch(), KEY, step=i + 1, learning_rate=0.01)[0]) for i in range(n)
    ]


@pytest.fixture(scope="module")
def expected():
    """The losses and weights of the same steps, differentiated as a whole."""
    whole = initialized()
    trainer = optimizers.Trainer(whole, optimizers.Adam(), 1)
    return steps(trainer), weft.tree_util.tree_leaves(whole.weights)


@pytest.mark.parametrize("chunk", [0, 5, 48, 100])
def test_steps_are_those_of_a_trainer(expected, chunk):
    trainer = reversible_trainer(chunk)
    np.testing.assert_allclose(steps(trainer), expected[0], rtol=1e-5)
    weights = [layer.weights for layer in trainer.all_layers]
    for own, other in zip(weft.tree_util.tree_leaves(weights), expected[1], strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)


@pytest.mark.devices(N)
def test_several_devices_are_one(expected):
    np.testing.assert_allclose(steps(reversible_trainer(n_devices=N)), expected[0], rtol=1e-5)


@pytest.mark.parametrize("options", [{"memoize_jit": False}, {"free_accelerators_on_step": True}])
def test_options_change_no_number(expected, options):
    np.testing.assert_allclose(steps(reversible_trainer(**options), 2), expected[0][:2], rtol=1e-5)


def test_stats_are_those_of_each_layer_counted_from_the_inputs():
    trainer = reversible_trainer()
    _, stats = trainer.one_step(batch(), KEY)
    with_weights = [i for i, layer in enumerate(trainer.all_layers) if trainer_weights(layer)]
    expected = [f"layer{i}/{name}_l2" for i in with_weights for name in ("gradients", "weights")]
    assert sorted(stats) == sorted(expected)
    table = initialized().weights[0]
    np.testing.assert_allclose(stats["layer0/weights_l2"], np.linalg.norm(table), rtol=1e-5)


def trainer_weights(layer):
    return weft.tree_util.tree_leaves(layer.weights)


def test_slots_are_nested_as_the_blocks_and_can_be_given_back():
    trainer = reversible_trainer(optimizer=optimizers.Momentum)
    steps(trainer, 2)
    slots = trainer.slots
    (first, reversible), (second, last), loss = slots
    assert [len(first), len(reversible), len(second), len(last), len(loss)] == [1, 4, 2, 1, 2]
    other = reversible_trainer(optimizer=optimizers.Momentum)
    for own, theirs in zip(other.all_layers, trainer.all_layers, strict=True):
        own.weights, own.state = theirs.weights, theirs.state
    other.slots = slots
    assert steps(trainer, 2) == steps(other, 2)


def test_layers_with_equal_names_have_functions_of_their_own():
    """Two functions of one name are two layers."""
    double, triple = tl.Fn("Scale", lambda x: 2.0 * x), tl.Fn("Scale", lambda x: 3.0 * x)
    data = np.ones((8, 1)), np.zeros((8, 1)), np.ones((8, 1))
    parts = [double, tl.Dup(), tl.ReversibleSwap(), tl.Add(), triple, tl.L2Loss()]
    assembled(*parts)
    blocks, loss = optimizers.extract_reversible_blocks(parts)
    trainer = optimizers.ReversibleSerialTrainer(blocks, loss, optimizers.SGD, 1)
    assert trainer.one_step(data, KEY)[0] == (3 * (2 + 2)) ** 2


def kept_until_the_loss(depth):
    """The activations that the trainer keeps while it computes the loss, by their shapes."""
    blocks, loss = optimizers.extract_reversible_blocks([initialized(depth=depth, between=False)])
    trainer = optimizers.ReversibleSerialTrainer(blocks, loss, optimizers.SGD, 1)
    made, alive = [], []

    def watched(run):
        def forward(*arguments):
            outputs, state = run(*arguments)
            made.extend(map(weakref.ref, weft.tree_util.tree_leaves(outputs)))
            return outputs, state

        return forward

    def count(run):
        def value_and_backward(*arguments):
            gc.collect()
            alive.extend(x().shape for x in made if x() is not None)
            return run(*arguments)

        return value_and_backward

    for part in trainer._parts():
        part.forward = watched(part.forward)
        part.value_and_backward = count(part.value_and_backward)
    trainer.one_step(batch(), KEY)
    return sorted(alive)


def test_memory_does_not_grow_with_the_number_of_reversible_layers():
    few, many = kept_until_the_loss(2), kept_until_the_loss(12)
    assert few == many
    assert (8, 6, 8) in few


def test_blocks_are_runs_of_standard_and_reversible_layers():
    parts = layers()
    model = tl.Serial(tl.Serial(parts[:3]), parts[3:])
    blocks, loss = optimizers.extract_reversible_blocks([model, tl.CrossEntropyLoss()])
    assert blocks == [(parts[:2], parts[2:6]), (parts[6:9], parts[9:10])]
    assert loss.sublayers[: len(parts) - 10] == parts[10:]


def test_blocks_are_initialized_as_the_whole_is():
    blocks, loss = optimizers.extract_reversible_blocks([*layers(), tl.CrossEntropyLoss()])
    optimizers.init_reversible_blocks(blocks, loss, batch(), KEY)
    whole = initialized()
    parts = [layer.weights for block in blocks for part in block for layer in part] + [loss.weights]
    shapes = [leaf.shape for leaf in weft.tree_util.tree_leaves(parts)]
    assert shapes == [leaf.shape for leaf in weft.tree_util.tree_leaves(whole.weights)]
    trainer = optimizers.ReversibleSerialTrainer(blocks, loss, optimizers.SGD, 1)
    losses = steps(trainer, 3)
    assert losses[2] < losses[0]


def extract(*parts, chunk=0):
    return optimizers.extract_reversible_blocks(parts, chunk)


WRONG = {
    "reversible at the end": (lambda: extract(tl.Dup(), tl.ReversibleSwap()), "ReversibleSwap"),
    "nothing": (extract, "no layers"),
    "no border": (
        lambda: extract(tl.Dense(3), tl.CrossEntropyLossWithLogSoftmax(), chunk=4),
        "after StripFromConcatenateWithPadding or Select; got Dense_3, LogSoftmax",
    ),
    "other end": (
        lambda: extract(tl.Select([0]), tl.Dense(3), tl.L2Loss(), chunk=4),
        "must end in Dense, LogSoftmax",
    ),
    "adasum": (lambda: reversible_trainer(adasum=True), "adasum must be False"),
    "devices": (lambda: reversible_trainer(n_devices=99), "n_devices"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_values_are_refused(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_an_optimizer_in_the_place_of_a_function_is_refused():
    with pytest.raises(TypeError, match="optimizer_fn"):
        reversible_trainer(optimizer=optimizers.SGD())


def test_a_loss_that_is_no_scalar_is_refused():
    blocks, loss = extract(tl.Dup(), tl.ReversibleSwap(), tl.Add())
    trainer = optimizers.ReversibleSerialTrainer(blocks, loss, optimizers.SGD, 1)
    with pytest.raises(ShapeError, match=r"must be a scalar.*\(2, 3\)"):
        trainer.one_step(np.ones((2, 3)), KEY)


@pytest.mark.devices(N)
def test_devices_that_do_not_divide_the_batch_are_refused():
    with pytest.raises(ShapeError, match=rf"{N} devices must divide the batch.*\(8, 6\)|6"):
        reversible_trainer(n_devices=N).one_step(batch(6), KEY)
