"""One Transformer language model, of layers of weft, Flax, Haiku and PyTorch. Measures nothing.

Pre-LN blocks, trained positions, ReLU, no dropout. A library's model is three functions:

- `weights()` makes them;
- `logits(weights, tokens)` gives those of all positions, [batch, length] to [batch, length, VOCAB];
  weft's is also there as a `layer`;
- `decoder(batch)` gives a cache and `step(weights, cache, token)`, from [batch, 1] to the logits of
  the next token and the new cache. Haiku has none.

PyTorch's is a `layer` only, which holds its weights.
"""

import importlib
from types import SimpleNamespace
from typing import Any

import numpy

VOCAB, WIDTH, HEADS, LENGTH = 256, 128, 4, 128


def language_model(peer: Any, blocks: int) -> SimpleNamespace:
    """The model of a peer: "weft", "flax", "haiku" or "torch"."""
    make = {"flax": _flax, "haiku": _haiku, "torch": _torch}.get(peer.name, _weft)
    return make(peer, blocks)


def tokens(batch: int, length: int = LENGTH) -> numpy.ndarray:
    """Random ones."""
    return numpy.random.RandomState(0).randint(0, VOCAB, (batch, length)).astype("int32")


def _weft(peer: Any, blocks: int) -> SimpleNamespace:
    tl = importlib.import_module("weft.layers")
    key = peer.package.random.PRNGKey(0)

    def model(mode: str) -> Any:
        def block() -> Any:
            attention = tl.CausalAttention(
                WIDTH, n_heads=HEADS, max_inference_length=LENGTH, mode=mode
            )
            return [
                tl.Residual(tl.LayerNorm(), attention),
                tl.Residual(tl.LayerNorm(), tl.Dense(4 * WIDTH), tl.Relu(), tl.Dense(WIDTH)),
            ]

        return tl.Serial(
            tl.Embedding(VOCAB, WIDTH),
            tl.PositionalEncoding(max_len=LENGTH, mode=mode),
            [block() for _ in range(blocks)],
            tl.LayerNorm(),
            tl.Dense(VOCAB),
        )

    layer = model("train")
    state: Any = None

    def weights() -> Any:
        nonlocal state
        made, state = layer.init(tokens(1), rng=key)
        return made

    def logits(weights: Any, tokens: Any) -> Any:
        return layer.pure_fn(tokens, weights, state, key)[0]

    def decoder(batch: int) -> Any:
        one = model("predict")
        _, cache = one.init(tokens(batch, 1))

        def step(weights: Any, cache: Any, token: Any) -> Any:
            return one.pure_fn(token, weights, cache, key)

        return cache, step

    return SimpleNamespace(layer=layer, weights=weights, logits=logits, decoder=decoder)


def _flax(peer: Any, blocks: int) -> SimpleNamespace:
    nn, jnp = importlib.import_module("flax.linen"), peer.np
    key = peer.package.random.PRNGKey(0)

    class LanguageModel(nn.Module):  # type: ignore[name-defined,misc]
        decode: bool = False

        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            positions = self.param("positions", nn.initializers.normal(), (LENGTH, WIDTH))
            x = nn.Embed(VOCAB, WIDTH)(tokens)
            if self.decode:
                place = self.variable("cache", "place", lambda: jnp.zeros((), jnp.int32))
                lax = peer.package.lax
                x = x + lax.dynamic_slice_in_dim(positions, place.value, tokens.shape[1])
                if not self.is_initializing():
                    place.value = place.value + tokens.shape[1]
                mask = None
            else:
                x = x + positions[: tokens.shape[1]]
                mask = nn.make_causal_mask(tokens, dtype=bool)
            for _ in range(blocks):
                y = nn.LayerNorm()(x)
                attention = nn.MultiHeadDotProductAttention(HEADS, decode=self.decode)
                x = x + attention(y, mask=mask)
                y = nn.LayerNorm()(x)
                x = x + nn.Dense(WIDTH)(nn.relu(nn.Dense(4 * WIDTH)(y)))
            return nn.Dense(VOCAB)(nn.LayerNorm()(x))

    layer = LanguageModel()

    def decoder(batch: int) -> Any:
        one = LanguageModel(decode=True)
        cache = one.init(key, tokens(batch))["cache"]

        def step(weights: Any, cache: Any, token: Any) -> Any:
            logits, state = one.apply({"params": weights, "cache": cache}, token, mutable=["cache"])
            return logits, state["cache"]

        return cache, step

    return SimpleNamespace(
        weights=lambda: layer.init(key, tokens(1))["params"],
        logits=lambda weights, tokens: layer.apply({"params": weights}, tokens),
        decoder=decoder,
    )


def _haiku(peer: Any, blocks: int) -> SimpleNamespace:
    hk, jax = importlib.import_module("haiku"), peer.package
    jnp = peer.np

    def model(tokens: Any) -> Any:
        initial = hk.initializers.VarianceScaling(2 / blocks)

        def normed(x: Any) -> Any:
            return hk.LayerNorm(-1, create_scale=True, create_offset=True)(x)

        length = tokens.shape[1]
        positions = hk.get_parameter("positions", (LENGTH, WIDTH), init=initial)
        x = hk.Embed(VOCAB, WIDTH)(tokens) + positions[:length]
        mask = jnp.tril(jnp.ones((1, 1, length, length), bool))
        for _ in range(blocks):
            y = normed(x)
            attention = hk.MultiHeadAttention(HEADS, WIDTH // HEADS, w_init=initial)
            x = x + attention(y, y, y, mask=mask)
            x = x + hk.Linear(WIDTH)(jax.nn.relu(hk.Linear(4 * WIDTH)(normed(x))))
        return hk.Linear(VOCAB)(normed(x))

    layer = hk.without_apply_rng(hk.transform(model))
    return SimpleNamespace(
        weights=lambda: layer.init(jax.random.PRNGKey(0), tokens(1)),
        logits=layer.apply,
    )


def _torch(peer: Any, blocks: int) -> SimpleNamespace:
    torch = importlib.import_module("torch")
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            heads = self.inputs(x).unflatten(-1, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            return self.output(y.transpose(1, 2).flatten(-2))

    class Residual(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, *layers: Any) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.LayerNorm(WIDTH), *layers)

        def forward(self, x: Any) -> Any:
            return x + self.layers(x)

    class Positions(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))

        def forward(self, x: Any) -> Any:
            return x + self.table[: x.shape[1]]

    def block() -> Any:
        wide, narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        return Residual(Attention()), Residual(wide, nn.ReLU(), narrow)

    layers = [layer for _ in range(blocks) for layer in block()]
    layer = nn.Sequential(
        nn.Embedding(VOCAB, WIDTH), Positions(), *layers, nn.LayerNorm(WIDTH),
        nn.Linear(WIDTH, VOCAB),
    )  # fmt: skip
    return SimpleNamespace(layer=layer)
