"""How long do a Transformer language model's tracing, training step and decoding take?

The model is built of layers of weft, of Flax and of Haiku (`language_models.py`), of width 128 with
4 heads, for 4 sequences of 128 tokens:

- `trace`: of jit(value_and_grad(loss)), a new function each time;
- `step`: the compiled step, with plain gradient descent;
- `decode`: the next token of each of so many sequences, given the cache of those before, of which
  there is room for 128; compiled, the cache donated. Haiku has no such cache.
"""

import itertools
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
BATCHES = (1, 8)
COMPILED = {f"trace, {n} blocks": 10.0 for n in BLOCKS} | {f"step, {n} blocks": 1.0 for n in BLOCKS}
TARGETS = {
    "flax": COMPILED | {f"decode for {batch}, 6 blocks": 1.0 for batch in BATCHES},
    "haiku": COMPILED,
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
    if peer.name != "haiku":
        for batch in BATCHES:
            yield f"decode for {batch}, 6 blocks", decoding(peer, model, weights, batch)


def training_step(peer: Any, loss: Any) -> Any:
    """(weights, tokens) to (loss, new weights), by plain gradient descent."""
    tree_map = peer.package.tree_util.tree_map

    def step(weights: Any, data: Any) -> Any:
        value, grads = peer.value_and_grad(loss)(weights, data)
        return value, tree_map(lambda w, g: w - 0.01 * g, weights, grads)

    return step


def decoding(peer: Any, model: Any, weights: Any, batch: int) -> Callable[[], Any]:
    """What decodes one more token for each sequence; from the start again when there is no room."""
    np = peer.np
    fresh, decode = model.decoder(batch)

    def step(weights: Any, cache: Any, token: Any) -> Any:
        logits, cache = decode(weights, cache, token)
        return cache, np.argmax(logits, axis=-1).astype("int32")

    compiled = peer.jit(step, donate_argnums=1)
    copied = peer.jit(lambda cache: peer.package.tree_util.tree_map(lambda x: x + 0, cache))
    first = peer.array(tokens(batch, 1))
    room = tokens(1).shape[1]
    at, count = (copied(fresh), first), itertools.count(1)

    def run() -> Any:
        nonlocal at
        if next(count) % room == 0:
            at = copied(fresh), first
        at = compiled(weights, *at)
        return peer.ready(at[1])

    return run
