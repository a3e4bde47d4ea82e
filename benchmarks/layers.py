"""How long do a Transformer language model's tracing and training step take?

The model is built of layers of weft, of Flax and of Haiku (`language_models.py`), of width 128 with
4 heads, for 4 sequences of 128 tokens:

- `trace`: of jit(value_and_grad(loss)), a new function each time;
- `step`: the compiled step, with plain gradient descent.
"""

from collections.abc import Callable, Iterator
from typing import Any

from language_models import language_model, tokens

TITLE = "Layers"
UNIT = "µs for a Transformer language model, results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "flax", "haiku")
ALWAYS = ("flax", "haiku")

BLOCKS = (2, 6)
TARGETS = {
    peer: {f"trace, {n} blocks": 10.0 for n in BLOCKS} | {f"step, {n} blocks": 1.0 for n in BLOCKS}
    for peer in ("flax", "haiku")
}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    np = peer.np
    for blocks in BLOCKS:
        model = language_model(peer, blocks)
        weights, data = model.weights(), peer.array(tokens(4))

        def loss(weights: Any, tokens: Any, model: Any = model) -> Any:
            logits = model.logits(weights, tokens[:, :-1])
            logits = logits - np.max(logits, axis=-1, keepdims=True)
            chosen = np.take_along_axis(logits, tokens[:, 1:, None], axis=-1)
            total = np.log(np.sum(np.exp(logits), axis=-1))
            return np.mean(total - chosen[..., 0])

        step = training_step(peer, loss)

        def trace(weights: Any = weights, data: Any = data, loss: Any = loss) -> Any:
            return peer.jit(training_step(peer, loss)).trace(weights, data) and None

        yield f"trace, {blocks} blocks", trace
        compiled = peer.jit(step)
        yield (
            f"step, {blocks} blocks",
            lambda f=compiled, w=weights, x=data: peer.wait(f(w, x)),
        )


def training_step(peer: Any, loss: Any) -> Any:
    """(weights, tokens) to (loss, new weights), by plain gradient descent."""
    tree_map = peer.package.tree_util.tree_map

    def step(weights: Any, data: Any) -> Any:
        value, grads = peer.value_and_grad(loss)(weights, data)
        return value, tree_map(lambda w, g: w - 0.01 * g, weights, grads)

    return step
