"""Attention by blocks is exact, and needs memory that grows with the length."""

import numpy as onp
import pytest

import weft
from weft import fastmath, layers as tl
from weft.fastmath import numpy as jnp


def operands(*shape, seed=0):
    rng = onp.random.default_rng(seed)
    return [rng.normal(size=shape).astype(onp.float32) for _ in range(3)]


def plain(q, k, v, mask):
    """softmax(q kᵀ / √d) v, in NumPy and float64."""
    q, k, v = (onp.asarray(x, onp.float64) for x in (q, k, v))
    scores = q @ onp.swapaxes(k, -1, -2) / onp.sqrt(q.shape[-1])
    scores = onp.where(mask, scores, -onp.inf)
    weights = onp.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
    return onp.nan_to_num(weights / weights.sum(-1, keepdims=True)) @ v


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("shape", [(2, 6, 4), (2, 3, 6, 4), (1, 1, 1030, 4)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_values(shape, causal, backend):
    q, k, v = operands(*shape)
    length = shape[-2]
    mask = onp.ones((shape[0], *(1,) * (len(shape) - 2), length), bool)
    mask[0, ..., : length // 2] = False
    with fastmath.use_backend(backend):
        got = tl.FlashAttention(causal, masked=True)((q, k, v, mask))
    seen = mask & (onp.tri(length, dtype=bool) if causal else True)
    onp.testing.assert_allclose(got, plain(q, k, v, seen), atol=1e-5)


def test_gradients_and_memory():
    """As those of all pairs at once, in memory that is linear in the length."""

    def loss(layer, *rest):
        return lambda q, k, v: jnp.sum(jnp.cos(layer((q, k, v, *rest))))

    def step(f, length):
        args = operands(1, 1, length, 8)
        compiled = weft.jit(weft.grad(f, argnums=(0, 1, 2))).lower(*args).compile()
        return compiled, args

    flash = loss(tl.FlashAttention(causal=True))
    mask = onp.tri(2048, dtype=bool)[None, None]
    (blocks, args), (whole, _) = step(flash, 2048), step(loss(tl.DotProductAttention(), mask), 2048)
    for got, want in zip(blocks(*args), whole(*args), strict=True):
        onp.testing.assert_allclose(got, want, atol=2e-5)
    short, long = (step(flash, n)[0].memory_analysis().temp_bytes for n in (2048, 8192))
    assert long < 6 * short
    assert whole.memory_analysis().temp_bytes > 4 * blocks.memory_analysis().temp_bytes


def test_it_takes_the_place_of_attention_in_a_block():
    x = onp.random.default_rng(1).normal(size=(2, 5, 6)).astype(onp.float32)
    block = [
        tl.ConfigurableAttention(tl.Dense(6), tl.Dense(6), tl.Dense(6), tl.Dense(6), inner, 2)
        for inner in (tl.FlashAttention(causal=True), tl.DotProductCausalAttention(mode="eval"))
    ]
    weights, _ = block[0].init(x, rng=onp.array([0, 1], onp.uint32))
    block[1].init(x)
    block[1].weights = weights
    onp.testing.assert_allclose(block[0](x), block[1](x), atol=1e-5)


@pytest.mark.parametrize("make", [
    lambda: tl.FlashAttention(causal=1), lambda: tl.FlashAttention(masked="yes"),
    lambda: tl.FlashAttention()([onp.ones((4, 4), onp.float32)] * 3),
])  # fmt: skip
def test_wrong_uses_are_named(make):
    with pytest.raises((TypeError, ValueError, tl.LayerError), match="FlashAttention"):
        make()
