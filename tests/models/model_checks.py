"""Checks of models with logits of the next token: signatures, causality, decoding, training."""

import inspect

import numpy as np

import weft
from weft import fastmath, layers as tl

V, KEY = 9, np.array([0, 7], np.uint32)


def signature_of(function):
    """The parameters with their defaults, as text; a function or class by its name."""

    def text(p):
        if p.default is p.empty:
            return p.name
        return f"{p.name}={getattr(p.default, '__name__', None) or repr(p.default)}"

    return ", ".join(map(text, inspect.signature(function).parameters.values()))


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


def initialized(model, inputs):
    """The model, with weights that differ from their first values, which are often 0."""
    model.init(inputs, rng=KEY)
    rng = np.random.default_rng(5)
    leaves = fastmath.tree_leaves(model.weights)
    moved = [w + 0.2 * rng.standard_normal(w.shape).astype(w.dtype) for w in leaves]
    model.weights, _ = fastmath.tree_unflatten(moved, model.weights)
    return model


def shapes(model, inputs):
    """The shapes of the weights, in order."""
    weights, _ = model.init(inputs, rng=KEY)
    return [tuple(w.shape) for w in fastmath.tree_leaves(weights)]


def check_causal(model, targets, sources=()):
    """No logits depend on the token at their position or a later one; the next ones do."""

    def logits(targets):
        return np.asarray(first(model((*sources, targets) if sources else targets, rng=KEY)))

    before = logits(targets)
    for k in range(targets.shape[1] - 1):
        other = targets.copy()
        other[:, k] = other[:, k] % (V - 1) + 1
        after = logits(other)
        np.testing.assert_allclose(after[:, : k + 1], before[:, : k + 1], atol=1e-6)
        assert not np.allclose(after[:, k + 1], before[:, k + 1], atol=1e-6)


def check_decoding(model, targets, sources=(), pieces=1):
    """Mode "predict" gives the logits of mode "eval", in a first piece and single tokens."""
    expected = first(model((*sources, targets) if sources else targets))
    decoder = tl.in_mode(model, "predict")
    shifted = np.pad(targets, ((0, 0), (1, 0)))[:, :-1]
    starts = [0, *range(pieces, targets.shape[1])]
    got = []
    for start, end in zip(starts, [*starts[1:], targets.shape[1]], strict=True):
        piece = shifted[:, start:end]
        got.append(first(decoder((*sources, piece) if sources else piece, rng=KEY)))
    np.testing.assert_allclose(np.concatenate(got, axis=1), expected, rtol=1e-4, atol=1e-5)


def losses(model, inputs, targets, steps=4, rate=0.3):
    """The losses before each step of gradient descent on one batch."""
    weights, state = model.init(inputs, rng=KEY)
    chosen = np.eye(V, dtype=np.float32)[targets]

    def loss(weights):
        logits = first(model.pure_fn(inputs, weights, state, KEY)[0])
        return -fastmath.numpy.mean(fastmath.numpy.sum(tl.log_softmax(logits) * chosen, axis=-1))

    step = weft.jit(weft.value_and_grad(loss))
    values = []
    for _ in range(steps):
        value, gradient = step(weights)
        values.append(float(value))
        weights = fastmath.nested_map_multiarg(lambda w, g: w - rate * g, weights, gradient)
    return values
