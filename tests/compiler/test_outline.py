"""Repeated blocks become calls of one function, and the program computes what it did."""

import numpy as onp
import pytest
from deep_network import arguments, layer, network

import weft
import weft.numpy as np
from weft.compiler.lower import lower
from weft.compiler.outline import MIN_BLOCK, MIN_LAYERS, MIN_REPEATS, find_runs, outlined
from weft.compiler.simplify import without_dead_code
from weft.core.jaxpr import run
from weft.core.trace import current


def lean_jaxpr(function, *args):
    return without_dead_code(weft.make_jaxpr(function)(*args))[0].without_consts()


@pytest.mark.parametrize("function", [network, weft.grad(network)], ids=["value", "gradient"])
def test_the_outlined_program_computes_the_same(function):
    ws, x = arguments(12)
    jaxpr = lean_jaxpr(function, ws, x)
    short = outlined(jaxpr)
    assert len(short.equations) < len(jaxpr.equations) / 2
    inlined = []
    for e in short.equations:
        inlined += e.params[0][1].equations if e.primitive.name == "block_call" else [e]
    assert len(inlined) == len(jaxpr.equations)
    flat = run(jaxpr, [*ws, x], current.base)
    compiled = weft.jit(function)(ws, x)
    for a, b in zip(weft.tree_util.tree_leaves(compiled), flat, strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


def test_blocks_share_one_function():
    ws, x = arguments(12)
    short = outlined(lean_jaxpr(network, ws, x))
    calls = [e for e in short.equations if e.primitive.name == "block_call"]
    assert len(calls) >= 6
    assert len({id(e.params[0][1]) for e in calls}) == 1
    text, _ = lower(short)
    assert text.count("func.func private") == 1
    assert text.count('inlineable = "false"') == len(calls)


def test_layers_of_two_kinds_are_found_as_pairs():
    ws, x = arguments(24)

    def alternating(ws, x):
        for i, w in enumerate(ws):
            x = layer(x, w) if i % 2 else np.exp(-layer(x, w))
        return np.sum(x)

    jaxpr = lean_jaxpr(alternating, ws, x)
    short = outlined(jaxpr)
    assert any(e.primitive.name == "block_call" for e in short.equations)
    onp.testing.assert_allclose(
        weft.jit(alternating)(ws, x), run(jaxpr, [*ws, x], current.base)[0], rtol=1e-4
    )


@pytest.mark.parametrize("depth", [1, 2, MIN_LAYERS - 2])
def test_few_repetitions_stay_as_they_are(depth):
    jaxpr = lean_jaxpr(network, *arguments(depth))
    assert outlined(jaxpr) is jaxpr


def test_small_blocks_stay_as_they_are():
    def chain(x):
        for _ in range(60):
            x = np.tanh(x) * 2.0
        return x

    jaxpr = lean_jaxpr(chain, np.ones(3))
    assert outlined(jaxpr) is jaxpr


def perceptron(normalized):
    """Loss of layers with biases; a normalized layer divides by the sum of its squares."""

    def loss(params, x):
        for w, b in params:
            x = np.tanh(x @ w + b)
            if normalized:
                x = x / np.sum(x * x)
        return np.sum(x)

    return loss


@pytest.mark.parametrize("normalized", [False, True])
def test_a_sum_that_leaves_the_block_does_not_make_it_a_function(normalized):
    """The gradient of a bias is a sum of what is read again, but nothing in the block reads it."""
    params = [(np.ones((4, 4)), np.ones(4))] * 60
    jaxpr = lean_jaxpr(weft.grad(perceptron(normalized)), params, np.ones((3, 4)))
    assert (outlined(jaxpr) is jaxpr) == (not normalized)


@pytest.mark.parametrize("period", [MIN_BLOCK, MIN_BLOCK + 7])
@pytest.mark.parametrize("count", [MIN_REPEATS, 10])
@pytest.mark.parametrize("margin", [0, 5])
def test_runs_are_found_wherever_they_lie(period, count, margin):
    prefix = [10_000 + i for i in range(margin)]
    sequence = prefix + list(range(period)) * count + [20_000 + i for i in range(margin)]
    assert find_runs(sequence) == [(margin, period, period * count, period)]


def test_a_sequence_without_repetition_has_no_runs():
    assert find_runs(list(range(500))) == []


def test_runs_between_longer_runs_are_found():
    # of updates of weights there are more, in more periods, than of the backward pass
    runs = [(60, 40), (61, 40), (62, 40), (90, 12), (37, 5), (63, 40), (64, 40), (65, 40)]
    sequence = [7] + [1000 * p + i for p, times in runs for _ in range(times) for i in range(p)]
    found = find_runs(sequence)
    assert [(r.period, r.length) for r in found] == [(p, p * times) for p, times in runs]
    assert found[0].start == 1
