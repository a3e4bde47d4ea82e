"""How long does a Transformer language model take for the next token of each of some sequences?

The model of 6 blocks, built of layers of weft and of Flax (`language_models.py`), of width 128 with
4 heads, given the cache of the tokens before, for 128 of which there is room; compiled, the cache
donated, the token awaited. Haiku has no such cache. It is a question apart from `layers`, since
what tracing leaves to the garbage collector would be measured with it.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from language_models import language_model, tokens

TITLE = "Decoding"
UNIT = "µs for the next token of each sequence, results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "flax")
ALWAYS = ("flax",)

BATCHES = (1, 8)
TARGETS = {"flax": {f"{batch} sequences": 1.0 for batch in BATCHES}}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    model = language_model(peer, 6)
    weights = model.weights()
    for batch in BATCHES:
        yield f"{batch} sequences", decoding(peer, model, weights, batch)


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
