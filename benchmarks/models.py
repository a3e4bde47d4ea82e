"""The models that are measured, written once against a NumPy-like namespace."""

from typing import Any

import numpy


def mlp_params(P: Any, layers: int, width: int = 16) -> list[Any]:
    """[(W, b), …] of a square multi-layer perceptron."""
    r = numpy.random.RandomState(0)
    return [
        (
            P.array((r.randn(width, width) * 0.3).astype("float32")),
            P.array((r.randn(width) * 0.1).astype("float32")),
        )
        for _ in range(layers)
    ]


def mlp_batch(P: Any, width: int = 16, batch: int = 4) -> tuple[Any, Any]:
    """Inputs and targets."""
    r = numpy.random.RandomState(1)
    return tuple(P.array(r.randn(batch, width).astype("float32")) for _ in range(2))


def mlp_loss(P: Any) -> Any:
    """Mean squared error of dot, bias and tanh, layer by layer."""
    np = P.np

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params:
            x = np.tanh(np.dot(x, w) + b)
        return np.mean((x - y) ** 2)

    return loss


def transformer_params(P: Any, layers: int, d: int = 64, vocabulary: int = 64) -> Any:
    """Weights of a pre-LN transformer with a 4-fold MLP."""
    r = numpy.random.RandomState(0)

    def w(*shape: int) -> Any:
        return P.array((r.randn(*shape) / numpy.sqrt(shape[0])).astype("float32"))

    def ones(n: int) -> Any:
        return P.array(numpy.ones(n, "float32"))

    def zeros(n: int) -> Any:
        return P.array(numpy.zeros(n, "float32"))

    block = lambda: {  # noqa: E731
        "ln1": (ones(d), zeros(d)), "qkv": w(d, 3 * d), "out": w(d, d),
        "ln2": (ones(d), zeros(d)), "up": (w(d, 4 * d), zeros(4 * d)),
        "down": (w(4 * d, d), zeros(d)),
    }  # fmt: skip
    return {
        "blocks": [block() for _ in range(layers)],
        "ln": (ones(d), zeros(d)),
        "head": w(d, vocabulary),
    }


def transformer_batch(P: Any, d: int = 64, sequence: int = 32, batch: int = 2) -> tuple[Any, Any]:
    """Embedded inputs, and one-hot targets."""
    r = numpy.random.RandomState(1)
    x = r.randn(batch, sequence, d).astype("float32")
    y = numpy.eye(64, dtype="float32")[r.randint(0, 64, (batch, sequence))]
    return P.array(x), P.array(y)


def transformer_loss(P: Any, heads: int = 4) -> Any:
    """Softmax cross-entropy of the transformer."""
    np = P.np

    def norm(x: Any, scale: Any, bias: Any) -> Any:
        mean = np.mean(x, axis=-1, keepdims=True)
        centred = x - mean
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        return centred / np.sqrt(variance + 1e-5) * scale + bias

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + np.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    def attention(x: Any, p: Any) -> Any:
        b, s, d = x.shape
        qkv = np.dot(x, p["qkv"]).reshape(b, s, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / 4.0
        scores = scores - np.max(scores, axis=-1, keepdims=True)
        weights = np.exp(scores)
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        mixed = np.matmul(weights, v).transpose(0, 2, 1, 3).reshape(b, s, d)
        return np.dot(mixed, p["out"])

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params["blocks"]:
            x = x + attention(norm(x, *p["ln1"]), p)
            h = gelu(np.dot(norm(x, *p["ln2"]), p["up"][0]) + p["up"][1])
            x = x + np.dot(h, p["down"][0]) + p["down"][1]
        logits = np.dot(norm(x, *params["ln"]), params["head"])
        logits = logits - np.max(logits, axis=-1, keepdims=True)
        log_z = np.log(np.sum(np.exp(logits), axis=-1))
        return np.mean(log_z - np.sum(logits * y, axis=-1))

    return loss


MODELS = {
    "MLP 5": (mlp_loss, lambda P: (mlp_params(P, 5), *mlp_batch(P))),
    "MLP 50": (mlp_loss, lambda P: (mlp_params(P, 50), *mlp_batch(P))),
    "MLP 200": (mlp_loss, lambda P: (mlp_params(P, 200), *mlp_batch(P))),
    "transformer 12": (
        transformer_loss,
        lambda P: (transformer_params(P, 12), *transformer_batch(P)),
    ),
}
