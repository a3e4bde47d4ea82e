"""The models that are measured, written once against a peer's NumPy-like namespace.

MLP L: L layers of width 16, batch 4, dot + bias + tanh, mean squared error.
Transformer L: L pre-LN blocks, width 64, 4 heads, GELU (tanh) MLP of width 256; 2 sequences of 32
embedded tokens; softmax cross-entropy over 64 classes. Those are the sizes where none are given.
Recurrent, scaled, chain: unrolled loops whose steps differ in an index or in a number.
"""

from collections.abc import Callable
from typing import Any

import numpy

WIDTH, BATCH = 16, 4
MODEL_WIDTH, HEADS, SEQUENCE, SEQUENCES, CLASSES = 64, 4, 32, 2, 64

Model = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # peer -> loss; peer -> its arguments


def mlp(layers: int, width: int = WIDTH, batch: int = BATCH) -> Model:
    """A multi-layer perceptron."""

    def make_loss(peer: Any) -> Any:
        np = peer.np

        def loss(params: Any, x: Any, y: Any) -> Any:
            for w, b in params:
                x = np.tanh(np.dot(x, w) + b)
            return np.mean((x - y) ** 2)

        return loss

    def make_args(peer: Any) -> Any:
        draw = drawing(peer)
        scale = 1.2 * width**-0.5
        params = [(draw(width, width, scale=scale), draw(width, scale=0.1)) for _ in range(layers)]
        return params, draw(batch, width), draw(batch, width)

    return make_loss, make_args


def drawing(peer: Any) -> Callable[..., Any]:
    """A function that gives normal numbers as a peer's array, the same for every peer."""
    random = numpy.random.RandomState(0)

    def draw(*shape: int, scale: float = 1.0) -> Any:
        return peer.array((random.randn(*shape) * scale).astype("float32"))

    return draw


def transformer(layers: int, width: int = MODEL_WIDTH, sequences: int = SEQUENCES) -> Model:
    """A pre-LN transformer on embedded tokens."""

    def make_args(peer: Any) -> Any:
        draw = drawing(peer)

        def dense(n: int, m: int) -> Any:
            return draw(n, m, scale=n**-0.5)

        def line(n: int, value: float) -> Any:
            return peer.array(numpy.full(n, value, "float32"))

        def norm() -> Any:
            return line(width, 1.0), line(width, 0.0)

        def block() -> Any:
            d = width
            return {
                "norm1": norm(),
                "query": dense(d, d),
                "key": dense(d, d),
                "value": dense(d, d),
                "mix": dense(d, d),
                "norm2": norm(),
                "up": (dense(d, 4 * d), line(4 * d, 0.0)),
                "down": (dense(4 * d, d), line(d, 0.0)),
            }

        params = {
            "blocks": [block() for _ in range(layers)],
            "norm": norm(),
            "head": dense(width, CLASSES),
        }
        labels = numpy.random.RandomState(1).randint(0, CLASSES, (sequences, SEQUENCE))
        one_hot = peer.array(numpy.eye(CLASSES, dtype="float32")[labels])
        return params, draw(sequences, SEQUENCE, width), one_hot

    return transformer_loss, make_args


def transformer_loss(peer: Any) -> Any:
    """Softmax cross-entropy of the transformer."""
    np = peer.np

    def normalised(x: Any, scale: Any, bias: Any) -> Any:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        return centred / np.sqrt(variance + 1e-5) * scale + bias

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def softmax(x: Any) -> Any:
        x = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return x / np.sum(x, axis=-1, keepdims=True)

    def heads(x: Any) -> Any:
        shape = (*x.shape[:-1], HEADS, x.shape[-1] // HEADS)
        return np.transpose(np.reshape(x, shape), (0, 2, 1, 3))

    def attention(x: Any, p: Any) -> Any:
        q, k, v = (heads(np.dot(x, p[name])) for name in ("query", "key", "value"))
        scores = np.matmul(q, np.transpose(k, (0, 1, 3, 2))) * q.shape[-1] ** -0.5
        mixed = np.transpose(np.matmul(softmax(scores), v), (0, 2, 1, 3))
        return np.dot(np.reshape(mixed, x.shape), p["mix"])

    def block(x: Any, p: Any) -> Any:
        x = x + attention(normalised(x, *p["norm1"]), p)
        (up, up_bias), (down, down_bias) = p["up"], p["down"]
        hidden = gelu(np.dot(normalised(x, *p["norm2"]), up) + up_bias)
        return x + np.dot(hidden, down) + down_bias

    def loss(params: Any, x: Any, one_hot: Any) -> Any:
        for p in params["blocks"]:
            x = block(x, p)
        logits = np.dot(normalised(x, *params["norm"]), params["head"])
        logits = logits - np.max(logits, axis=-1, keepdims=True)
        log_total = np.log(np.sum(np.exp(logits), axis=-1))
        return np.mean(log_total - np.sum(logits * one_hot, axis=-1))

    return loss


def recurrent(steps: int) -> Model:
    """A recurrent network of width 32, unrolled: each step reads `xs[i]`."""

    def make_loss(peer: Any) -> Any:
        np = peer.np

        def loss(params: Any, xs: Any, state: Any) -> Any:
            w, u, b = params
            for i in range(steps):
                state = np.tanh(np.dot(xs[i], w) + np.dot(state, u) + b)
            return np.mean(state**2)

        return loss

    def make_args(peer: Any) -> Any:
        draw = drawing(peer)
        params = draw(16, 32, scale=0.1), draw(32, 32, scale=0.1), draw(32)
        return params, draw(steps, 8, 16), draw(8, 32)

    return make_loss, make_args


def scaled(layers: int) -> Model:
    """Layers of width 64 that multiply by numbers of their own."""

    def make_loss(peer: Any) -> Any:
        def loss(params: Any, x: Any) -> Any:
            for i, w in enumerate(params):
                x = peer.np.tanh(peer.np.dot(x, w)) * (1 + 0.01 * i)
            return peer.np.mean(x**2)

        return loss

    def make_args(peer: Any) -> Any:
        draw = drawing(peer)
        return [draw(64, 64, scale=0.1) for _ in range(layers)], draw(8, 64)

    return make_loss, make_args


def chain(steps: int) -> Model:
    """A chain whose values are summed and read again."""

    def make_loss(peer: Any) -> Any:
        def loss(x: Any, scale: Any) -> Any:
            for i in range(1, steps + 1):
                x = peer.np.sin(x) * (i % 10) * scale + 0.01 * peer.np.sum(x)
            return peer.np.mean(x)

        return loss

    return make_loss, lambda peer: (drawing(peer)(50), peer.array(numpy.float32(0.3)))


def dropout(layers: int) -> Model:
    """Layers of width 64 with two masks each, whose keys are split of one key."""

    def make_loss(peer: Any) -> Any:
        np, random = peer.np, peer.package.random

        def loss(w: Any, x: Any, seed: Any) -> Any:
            for key in random.split(random.PRNGKey(seed), layers):
                for mask_key in random.split(key):
                    mask = random.bernoulli(mask_key, 0.9, x.shape)
                    x = np.dot(np.where(mask, x / 0.9, 0.0), w)
            return np.mean(x**2)

        return loss

    def make_args(peer: Any) -> Any:
        draw = drawing(peer)
        return draw(64, 64, scale=0.1), draw(8, 64, 64), peer.array(numpy.int32(3))

    return make_loss, make_args


UNROLLED = {
    "recurrent 100": recurrent(100),
    "scaled 60": scaled(60),
    "chain 40": chain(40),
    "dropout 8": dropout(8),
}
MLPS = ("MLP 5", "MLP 50", "MLP 200")
MODELS: dict[str, Model] = {
    **dict(zip(MLPS, (mlp(5), mlp(50), mlp(200)), strict=True)),
    "transformer 12": transformer(12),
    **UNROLLED,
}
