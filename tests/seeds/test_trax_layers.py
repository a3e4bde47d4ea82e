"""The samples of Trax's documentation of `layers`, with the values that they state."""

import numpy as np
import pytest

import weft
import weft.layers as tl
import weft.numpy as jnp
from weft import shapes


def test_accelerate():
    layer = tl.Serial(tl.Dense(4), tl.Relu())
    x = np.arange(48, dtype="float32").reshape(16, 3)
    layer.init(shapes.signature(x))
    fast_layer = tl.Accelerate(layer)
    y = fast_layer(x)  # Split x on batch and run data-parallel
    np.testing.assert_allclose(y, layer(x), rtol=1e-5)


def test_a_function_as_a_layer():
    layer = tl.Fn("SumAndMax", lambda x0, x1: (x0 + x1, jnp.maximum(x0, x1)), n_out=2)
    assert (layer.n_in, layer.n_out) == (2, 2)
    total, greater = layer((np.array([1, 5]), np.array([3, 2])))
    assert (total.tolist(), greater.tolist()) == ([4, 7], [3, 5])


def test_layers_in_series():
    mlp = tl.Serial(tl.Dense(128), tl.Relu(), tl.Dense(10), tl.LogSoftmax())
    x = np.ones((2, 7), "float32")
    mlp.init(shapes.signature(x))
    y = mlp(x)
    assert y.shape == (2, 10)
    np.testing.assert_allclose(np.exp(y).sum(-1), 1.0, rtol=1e-5)
    with_nothing = tl.Serial()  # a 1-input 1-output no-op
    assert (with_nothing.n_in, with_nothing.n_out) == (1, 1)
    assert (with_nothing(x) == x).all()


def three_layers():
    """F, G and H, which take 1, 3 and 2 inputs, and give 1, 1 and 2 outputs."""
    return (
        tl.Fn("F", lambda a: 10 * a),
        tl.Fn("G", lambda b, c, d: b + 20 * c + 300 * d),
        tl.Fn("H", lambda e, f: (e - f, e * f), n_out=2),
    )


def test_parallel():
    layer = tl.Parallel(*three_layers())
    assert (layer.n_in, layer.n_out) == (6, 4)
    a, b, c, d, e, f = (np.array(n) for n in range(1, 7))
    outs = layer((a, b, c, d, e, f))
    assert [int(o) for o in outs] == [10, 2 + 60 + 1200, -1, 30]


def test_parallel_with_none():
    F, _, _ = three_layers()
    layer = tl.Parallel(None, F)
    assert (layer.n_in, layer.n_out) == (2, 2)
    assert [int(o) for o in layer((np.array(3), np.array(4)))] == [3, 40]


def test_branch():
    layer = tl.Branch(*three_layers())
    assert (layer.n_in, layer.n_out) == (3, 4)
    outs = layer((np.array(1), np.array(2), np.array(3)))
    assert [int(o) for o in outs] == [10, 1 + 40 + 900, -1, 2]
    first, kept = tl.Branch(None, three_layers()[0])(np.array(5))
    assert (int(first), int(kept)) == (5, 50)


def test_concatenate():
    x = np.array([1, 2])
    y = np.array([3, 4])
    z = np.array([5, 6])
    concat3 = tl.Concatenate(n_items=3)
    z = concat3((x, y, z))
    assert z.tolist() == [1, 2, 3, 4, 5, 6]


def test_scan():
    def add():
        def f(input, carry):
            res = input + carry
            return res, res  # output and carry are the same

        return tl.Fn("add", f, n_out=2)

    layer = tl.Scan(add())
    inputs = (np.array([1, 2, 3]), np.array(0))
    layer.init(shapes.signature(inputs))
    sums, carry = layer(inputs)  # Scan(add)([1, 2, 3], 0) = [1, 3, 6], 6
    assert sums.tolist() == [1, 3, 6]
    assert int(carry) == 6
    more = (np.array([1, 2, 3, 4, 5]), np.array(0))
    again = tl.Scan(add())
    again.init(shapes.signature(more))
    assert again(more)[0].tolist() == [1, 3, 6, 10, 15]


def test_side_outputs():
    layers = [
        tl.Fn("Two", lambda x: (x + 2, 2 * x), n_out=2),
        tl.Fn("Three", lambda x: (x + 3, 3 * x), n_out=2),
    ]
    x, side_outputs = np.array(5), []
    for layer in layers:
        x, side_output = layer(x)
        side_outputs.append(side_output)
    expected = [int(v) for v in (x, *side_outputs)]
    assert [int(v) for v in tl.SerialWithSideOutputs(layers)(np.array(5))] == expected


def test_side_outputs_of_layers_with_more_inputs():
    two = tl.Fn("Two", lambda a, b: (a + b, a - b, a * b), n_out=3)
    one = tl.Fn("One", lambda a: (a + 1, 10 * a), n_out=2)
    layer = tl.SerialWithSideOutputs([two, one], [2, 1])
    outs = [int(v) for v in layer((np.array(3), np.array(4)))]
    # each layer's last outputs are put aside; the rest goes on
    assert outs == [8, -1, 12, 70]


def test_leading_axes_as_batch():
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 6, 4)).astype("float32")
    convolution = tl.Conv(7, (3, 3))
    layer = tl.BatchLeadingAxes(convolution, n_last_axes_to_keep=3)
    layer.init(shapes.signature(x))
    y = layer(x)  # any tensor […, W, H, C]
    assert y.shape[:2] == (2, 3)
    np.testing.assert_allclose(y[1, 2], convolution(x[1, 2][None])[0], rtol=1e-4, atol=1e-5)


def test_embedding():
    vocab_size = 5
    word_ids = np.array([1, 2, 3, 4], dtype=np.int32)  # word_ids < vocab_size
    embedding_layer = tl.Embedding(vocab_size, 32)
    embedding_layer.init(shapes.signature(word_ids))
    embedded = embedding_layer(word_ids)
    assert embedded.shape == (4, 32)
    with pytest.raises(tl.LayerError, match="the id -3 is outside the vocabulary of 5"):
        embedding_layer(np.array([-3, 0, 9, 4]))
    clipped = weft.jit(embedding_layer)(np.array([-3, 0, 9, 4]))
    assert (clipped[0] == clipped[1]).all()
    assert (clipped[2] == clipped[3]).all()


def test_flatten():
    x = np.arange(2 * 3 * 5 * 7 * 11).reshape(2, 3, 5, 7, 11)
    y = tl.Flatten(n_axes_to_keep=2)(x)
    assert y.shape == (2, 3, 385)
    assert (y == x.reshape(2, 3, 385)).all()


def test_what_is_done_to_the_stack():
    one, two = np.array(1), np.array(2)
    assert tl.Drop()(one) == ()
    assert [int(v) for v in tl.Dup()(one)] == [1, 1]
    assert [int(v) for v in tl.Swap()((one, two))] == [2, 1]
    assert [int(v) for v in tl.Select([1, 0, 1], n_in=2)((one, two))] == [2, 1, 2]
    assert int(tl.Select([1], n_in=2)((one, two))) == 2  # not wrapped in a tuple
