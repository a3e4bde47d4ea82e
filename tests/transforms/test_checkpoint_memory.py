"""Memory is real: what checkpoint saves, by XLA's memory analysis and by what the tape holds."""

import tracemalloc

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax

ROWS, WIDTH = 256, 8
INPUT = 4 * ROWS * WIDTH  # bytes of a layer's input: the unit of these tests


def chain(layers):
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


def recursive_checkpoint(funs):
    """As in the documentation of checkpoint."""
    if len(funs) == 1:
        return funs[0]
    elif len(funs) == 2:
        f1, f2 = funs
        return lambda x: f1(f2(x))
    else:
        f1 = recursive_checkpoint(funs[: len(funs) // 2])
        f2 = recursive_checkpoint(funs[len(funs) // 2 :])
        return lambda x: f1(weft.checkpoint(f2)(x))


def gradient(network):
    """The compiled gradient of a network made of a layer."""
    x = np.ones((ROWS, WIDTH), "f")
    a, b = np.ones((WIDTH, 4 * WIDTH), "f") / 8, np.ones((4 * WIDTH, WIDTH), "f") / 32

    def loss(x, a, b):
        return wnp.sum(network(lambda x: x + wnp.sin(wnp.tanh(x @ a)) @ b)(x))

    return weft.jit(weft.grad(loss)).lower(x, a, b).compile()


def peak(network):
    """Bytes of the compiled gradient at its peak, in inputs of a layer."""
    return gradient(network).memory_analysis().peak_bytes / INPUT


def plain(n):
    return lambda layer: chain([layer] * n)


def each(n, **options):
    return lambda layer: chain([weft.checkpoint(layer, **options)] * n)


def halves(n):
    return lambda layer: recursive_checkpoint([layer] * n)


def loop(n, wrap=lambda layer: layer):
    return lambda layer: (
        lambda x: lax.scan(lambda x, _: (wrap(layer)(x), None), x, None, length=n)[0]
    )


def test_halves_grow_as_the_logarithm():
    peaks = {n: peak(halves(n)) for n in (8, 16, 32, 64, 128)}
    growth = np.diff(list(peaks.values()))
    assert growth.max() <= 2  # so many more for each doubling
    assert peaks[128] < 2 * peaks[8]
    assert peak(plain(64)) > 10 * peaks[64]


def test_each_layer_keeps_its_input_only():
    none, every = peak(plain(64)), peak(each(64))
    assert every < none / 3
    assert every < 64 + 20
    # the slope: an input a layer
    assert (every - peak(each(32))) / 32 == pytest.approx(1, abs=0.1)


def test_policies_lie_between():
    dots = weft.checkpoint_policies.dots_saveable
    assert peak(each(32)) < peak(each(32, policy=dots)) <= peak(plain(32)) + 1


def test_a_scan_keeps_the_carry_only():
    few, many = peak(loop(8, weft.checkpoint)), peak(loop(40, weft.checkpoint))
    assert (many - few) / 32 == pytest.approx(1, abs=0.1)
    free = lambda layer: weft.checkpoint(layer, prevent_cse=False)  # noqa: E731
    assert peak(loop(40, free)) <= many + 2
    assert peak(loop(40)) > 4 * many


def test_the_forward_pass_is_not_merged_with_the_second_one():
    """2 products a layer forwards, 2 backwards, and computed again all but what nobody needs."""

    def products(network):
        return gradient(network).as_text().count(" dot(")

    assert products(each(16)) >= products(plain(16)) + 15
    assert products(each(16, prevent_cse=False)) == products(plain(16))


def test_a_program_has_each_level_once():
    """Equal layers, and halves of them, are one function each: a text of O(log n) functions."""

    def lines(n):
        x = np.ones((ROWS, WIDTH), "f")
        layer = weft.checkpoint(lambda x: wnp.sin(wnp.tanh(x)))
        loss = lambda x: wnp.sum(recursive_checkpoint([layer] * n)(x))  # noqa: E731
        return len(weft.jit(weft.grad(loss)).lower(x).as_text().splitlines())

    assert lines(64) < 1.5 * lines(32)


def test_the_tape_of_an_eager_gradient_holds_inputs_only():
    x = wnp.asarray(np.linspace(0, 1, 8192, dtype="f"))
    layer = lambda x: wnp.sin(x * 2.0) * x + wnp.cos(x)  # noqa: E731

    def held(f):
        weft.vjp(f, x)  # plans and tables are made by the first
        tracemalloc.start()
        try:
            _, pullback = weft.vjp(f, x)
            size = tracemalloc.get_traced_memory()[0] / x.nbytes
            pullback(x)
        finally:
            tracemalloc.stop()
        return size

    n = 20
    assert held(chain([layer] * n)) > 3 * n
    assert held(chain([weft.checkpoint(layer)] * n)) < n + 3
    blocks = [weft.checkpoint(chain([layer] * 5))] * (n // 5)
    assert held(chain(blocks)) < n // 5 + 3
