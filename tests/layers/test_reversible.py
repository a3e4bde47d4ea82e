"""Reversible layers: gradients as in the plain network, in memory that depth does not change."""

import numpy as onp
import pytest

import weft
from weft import fastmath, layers as tl
from weft.fastmath import numpy as jnp

KEY = onp.array([0, 3], onp.uint32)
PAIR = [onp.random.RandomState(i).normal(size=(2, 8, 6)).astype("f4") for i in range(2)]


def block(attention=None):
    """Two reversible residual layers, each with the streams swapped after it."""
    return [
        tl.ReversibleHalfResidual(tl.LayerNorm(), attention_layer=attention or tl.Dense(6)),
        tl.ReversibleSwap(),
        tl.ReversibleHalfResidual(tl.LayerNorm(), tl.Dense(6), tl.Dropout(0.3), tl.Tanh()),
        tl.ReversibleSwap(),
    ]


def gradients(layer, x, weights, state, reverse):
    """The output and the gradients by reversal, or by the plain derivative of each layer."""

    def loss(x, weights):
        if reverse:
            y, _ = layer.pure_fn(tuple(x), weights, state, KEY)
        else:
            y = tuple(x)
            keys = fastmath.random.split(KEY, len(layer.sublayers))
            rows = zip(layer.sublayers, weights, state, keys, strict=True)
            for inner, w, s, key in rows:
                held = inner.weights, inner.state, inner._rng
                inner.weights, inner.state, inner._rng = w, s, key
                y = inner.forward(y)
                inner.weights, inner.state, inner._rng = held
        return sum(jnp.sum(v * jnp.cos(1.0 * i + v)) for i, v in enumerate(y))

    return weft.value_and_grad(loss, argnums=(0, 1))(x, weights)


ATTENTION = {
    "none": lambda: None,
    "full": lambda: tl.CausalAttention(6, n_heads=2, mode="eval"),
    "in chunks": lambda: tl.SelfAttention(
        n_heads=2, d_qk=3, d_v=3, causal=True, chunk_len=4, attention_dropout=0.2
    ),
    "over buckets": lambda: tl.LSHSelfAttention(
        n_heads=2, d_qk=3, d_v=3, causal=True, chunk_len=2, n_hashes=2, n_buckets=4,
        attention_dropout=0.2,
    ),
    "over buckets, wrapped": lambda: tl.PureLSHSelfAttentionWrapper(
        n_heads=2, d_qk=3, d_v=3, causal=True, chunk_len=2, n_hashes=2, n_buckets=4,
        pure_lsh_implementation=tl.PureLSHSelfAttention,
    ),
}  # fmt: skip


@pytest.mark.parametrize("attention", ATTENTION)
def test_gradients_are_those_of_the_plain_network(attention):
    """With the same dropout, and the same buckets."""
    layer = tl.ReversibleSerial([block(ATTENTION[attention]()) for _ in range(2)])
    weights, state = layer.init(tuple(PAIR), rng=KEY)
    value, grads = gradients(layer, PAIR, weights, state, reverse=True)
    expected_value, expected = gradients(layer, PAIR, weights, state, reverse=False)
    onp.testing.assert_allclose(value, expected_value, rtol=1e-5)
    pairs = zip(fastmath.tree_leaves(grads), fastmath.tree_leaves(expected), strict=True)
    for got, want in pairs:
        onp.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


def test_inputs_come_back():
    layer = tl.ReversibleSerial(block())
    layer.init(tuple(PAIR), rng=KEY)
    before = layer.state
    y, after = layer.pure_fn(tuple(PAIR), layer.weights, before, KEY)
    x, _ = layer.reverse_and_grad(y, y, layer.weights, before, after, KEY)
    for got, want in zip(x, PAIR, strict=True):
        onp.testing.assert_allclose(got, want, atol=1e-5)


def temporary_bytes(depth, reverse):
    """What a compiled gradient of so many blocks needs beside its arguments and results."""
    x = [onp.ones((1, 256, 6), "f4")] * 2
    blocks = [
        [tl.ReversibleHalfResidual(tl.Dense(6), tl.Tanh()), tl.ReversibleSwap()]
        for _ in range(depth)
    ]
    layer = tl.ReversibleSerial(blocks)
    weights, state = layer.init(tuple(x), rng=KEY)
    step = weft.jit(lambda x, w: gradients(layer, x, w, state, reverse)[0:2])
    return step.lower(x, weights).compile().memory_analysis().temp_bytes


def test_memory_does_not_grow_with_depth():
    """Of the plain network it does: each block keeps its activations."""
    reversible = [temporary_bytes(depth, True) for depth in (3, 12)]
    plain = [temporary_bytes(depth, False) for depth in (3, 12)]
    assert reversible[1] <= 1.25 * reversible[0]
    assert plain[1] > 2 * plain[0]


def test_shapes_are_printed(capsys):
    layer = tl.ReversiblePrintShape(n_in=2, msg="here")
    x = layer((onp.ones((2, 3), "f4"), onp.ones(4, "i4")))
    assert capsys.readouterr().out == "PrintShape: here: [(2, 3)[float32], (4,)[int32]]\n"
    assert layer.reverse(x) is x


class Counting(tl.Layer):
    """A layer that multiplies by the number of its call."""

    def init_weights_and_state(self, input_signature):
        self.state = jnp.ones(())

    def forward(self, x):
        factor, self.state = self.state, self.state + 1.0
        return x * factor


def test_the_backward_pass_has_the_state_before_the_forward_pass():
    layer = tl.ReversibleHalfResidual(Counting(), tl.Dropout(0.5))
    weights, before = layer.init(tuple(PAIR), rng=KEY)
    key, other = layer.rng, onp.array([0, 9], onp.uint32)
    y, after = layer.pure_fn(tuple(PAIR), weights, before, other)
    assert after[0][0] == 2.0
    x, (grads, _) = layer.reverse_and_grad(y, y, weights, before, after, other)
    onp.testing.assert_allclose(x[0], PAIR[0], atol=1e-6)
    kept = (onp.asarray(y[0]) - PAIR[0]) / PAIR[1]  # 0 or 2, where dropout has it
    onp.testing.assert_allclose(grads[1], PAIR[1] + kept * y[0], atol=1e-4)
    assert layer.rng is key


def test_reversal_leaves_the_layer_as_it_was():
    layer = tl.ReversibleSwap()
    layer.rng = KEY
    layer.reverse_and_grad(tuple(PAIR), tuple(PAIR), rng=onp.array([0, 9], onp.uint32))
    assert layer.rng is KEY
