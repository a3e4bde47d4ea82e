"""Cases of reversible layers and of attention over long sequences."""

# ruff: noqa: B023 (functions are called before the loop goes on)

import functools

import numpy as np
from golden import case

from weft import fastmath

# --- reversible ---


def cotangents(E, tag, y):
    def one(v):
        ct = E._random(tag + "ct").uniform(-1, 1, v.shape)
        return E.jnp.asarray(ct.astype(np.float32))

    return fastmath.nested_map(one, y)


def backwards(E, tag, layer, y, before, after):
    """What reverse_and_grad makes of the outputs."""
    ct = cotangents(E, tag, y)
    weights = layer.weights
    x, (of_x, of_w) = layer.reverse_and_grad(y, ct, weights, before, after, rng=E.key())
    E.put(tag + ".rag_x", x)
    E.put(tag + ".rag_gx", of_x)
    E.put(tag + ".rag_gw", of_w)


@case("reversible")
def _simple(E):
    tl = E.tl
    a, b = E.arr("a", (2, 4)), E.arr("b", (2, 4))

    def both(tag, layer, x):
        y = E.run(tag, layer, x, grads=False)
        s = layer.state
        E.put(tag + ".reverse", lambda: layer.reverse(y, layer.weights, s, s, rng=E.key()))
        backwards(E, tag, layer, y, s, s)

    both("concat_pair", tl.ReversibleConcatenatePair(), (a, b))
    both("select", tl.ReversibleSelect([1, 0, 1]), (a, b))
    both("swap", tl.ReversibleSwap(), (a, b))
    both("reshape", tl.ReversibleReshape((2, 4), (4, 2)), a)
    pair = E.arr("c", (2, 4, 3)), E.arr("d", (2, 4, 3))
    both("reshape_rest", tl.ReversibleReshape((2, 4), (8,), n_in=2), pair)
    both("serial", tl.ReversibleSerial(tl.ReversibleSwap(), tl.ReversibleSelect([1, 0])), (a, b))


@case("reversible")
def _HalfResidual(E):
    tl = E.tl
    x = E.arr("a", (2, 5, 6)), E.arr("b", (2, 5, 6))

    def check(tag, layer):
        E.run(tag, layer, x, grads=True, state=False)
        before = layer.state
        y, after = layer.pure_fn(x, layer.weights, before, E.key())
        backwards(E, tag, layer, y, before, after)

    half = tl.ReversibleHalfResidual
    check("dense", half(tl.Dense(6), tl.Tanh()))
    check("serial", tl.ReversibleSerial(
        half(tl.Dense(6)), tl.ReversibleSwap(),
        half(tl.LayerNorm(), tl.Dense(6)), tl.ReversibleSwap()))  # fmt: skip
    attention = tl.SelfAttention(n_heads=2, d_qk=3, d_v=4, causal=True, mode="eval")
    check("attention", half(tl.LayerNorm(), attention_layer=attention))
    causal = tl.CausalAttention(6, n_heads=2, mode="eval")
    check("causal_attention", half(tl.LayerNorm(), attention_layer=causal))


# --- attention over long sequences ---


@case("efficient_attention")
def _helpers(E):
    tl, jnp = E.tl, E.jnp
    x = jnp.asarray(E.arr("x", (3, 4)))
    E.put("length_normalized", lambda: tl.length_normalized(x))
    E.put("length_normalized_eps", lambda: tl.length_normalized(x, epsilon=0.5))
    c = jnp.asarray(E.arr("c", (4, 2, 3)))
    for b, a in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1)):
        E.put(f"look_adjacent{b}{a}", lambda: tl.look_adjacent(c, b, a))
    dots = jnp.asarray(E.arr("dots", (4, 4)))
    at, keys = jnp.arange(4)[:, None], jnp.asarray(np.array([0, 1, -2, 3]))[None, :]
    for causal in (False, True):
        for itself in (False, True):
            for masked in (False, True):
                E.put(f"mask{causal:d}{itself:d}{masked:d}", lambda: tl.mask_self_attention(
                    dots, at, keys, causal=causal, exclude_self=itself, masked=masked
                ))  # fmt: skip
    q, k, v = (jnp.asarray(E.arr(n, (6, 4))) for n in "qkv")
    E.put("attend", lambda: tl.attend(q, k, v))
    E.put("attend_share", lambda: tl.attend(q, None, v))
    causal = functools.partial(tl.mask_self_attention, causal=True, exclude_self=False)
    E.put("attend_causal", lambda: tl.attend(q, k, v, mask_fn=causal))
    E.put("attend_chunk", lambda: tl.attend(
        q, k, v, q_chunk_len=2, kv_chunk_len=2, n_chunks_before=1, n_chunks_after=0,
        mask_fn=causal))  # fmt: skip
    others = functools.partial(tl.mask_self_attention, causal=True, exclude_self=True)
    E.put("attend_share_chunk", lambda: tl.attend(
        q, None, v, q_chunk_len=3, n_chunks_before=1, mask_fn=others))  # fmt: skip
    order = np.array([3, 1, 0, 5, 2, 4])
    back = np.argsort(order)
    E.put("gather", lambda: tl.permute_via_gather(v, jnp.asarray(order), jnp.asarray(back)))
    s = jnp.asarray(E.arr("s", (6,)))
    E.put("sort", lambda: tl.permute_via_sort(s, jnp.asarray(order), jnp.asarray(back), axis=-1))
    E.put("drop0", lambda: tl.apply_broadcasted_dropout(v, 0.0, None))


@case("efficient_attention")
def _SelfAttention(E):
    x = E.arr("x", (2, 6, 5))
    make = functools.partial(E.tl.SelfAttention, n_heads=2, d_qk=3, d_v=4, mode="eval")
    rows = {
        "plain": {}, "share": {"share_qk": True}, "causal": {"causal": True},
        "causal_share": {"causal": True, "share_qk": True},
        "bias": {"causal": True, "bias": True},
        "chunk": {"causal": True, "chunk_len": 2, "n_chunks_before": 1},
        "chunk_after": {"chunk_len": 2, "n_chunks_before": 1, "n_chunks_after": 1},
    }  # fmt: skip
    for tag, options in rows.items():
        E.run(tag, lambda: make(**options), x, state=False)
    for tag, mask in (
        ("masked", [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]),
        ("masked_head", [[0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0]]),
    ):
        E.run(tag, lambda: make(masked=True), (x, np.array(mask, bool)), state=False)
    for n in (1, 2, 4):
        E.run(f"par{n}", lambda: make(causal=True, n_parallel_heads=n), x, state=False)
    E.run("reference", lambda: make(causal=True, use_reference_code=True), x, state=False)


@case("efficient_attention")
def _SelfAttention_predict(E):
    x = E.arr("x", (2, 9, 5))
    make = functools.partial(E.tl.SelfAttention, n_heads=2, d_qk=3, d_v=4, causal=True)
    for share in (False, True):
        layer = make(share_qk=share, mode="eval")
        E.run(f"eval{share}", layer, x, state=False, grads=False)
        steps = make(share_qk=share, mode="predict", predict_mem_len=12, predict_drop_len=4)
        E.steps(f"predict{share}", steps, x, [5, 6, 7, 8, 9], weights=layer.weights)
    forgets = make(share_qk=True, mode="predict", predict_mem_len=4, predict_drop_len=2)
    E.steps("forget", forgets, x, [1, 2, 3, 4, 5, 6, 7], weights=layer.weights)


@case("efficient_attention")
def _EncDecAttention(E):
    x = E.arr("q", (2, 4, 6)), E.arr("kv", (2, 5, 7))
    make = functools.partial(E.tl.EncDecAttention, n_heads=2, d_qk=3, d_v=4, mode="eval")
    E.run("plain", lambda: make(masked=False), x, state=False)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    E.run("masked", lambda: make(masked=True), (*x, mask), state=False)


ONE_CHUNK = {
    "n_heads": 2, "d_qk": 3, "d_v": 3, "chunk_len": 8, "n_chunks_before": 0, "n_chunks_after": 0,
    "n_buckets": 4, "mode": "eval",
}  # fmt: skip


@case("efficient_attention")
def _LSH_one_chunk(E):
    """One chunk holds the whole sequence: the result cannot depend on hashes."""
    tl, x = E.tl, E.arr("x", (2, 8, 6))
    options = ONE_CHUNK | {"d_v": 4}
    for n in (1, 3):
        for causal in (False, True):
            E.run(f"h{n}c{causal:d}", lambda: tl.LSHSelfAttention(
                causal=causal, n_hashes=n, **options), x, state=False)  # fmt: skip
    mask = np.array([[1] * 8, [1] * 5 + [0] * 3], bool)
    E.run("masked", lambda: tl.LSHSelfAttention(masked=True, **options), (x, mask), state=False)
    pair = E.arr("qk", (4, 8, 3)), E.arr("v", (4, 8, 3))
    pure = functools.partial(tl.PureLSHSelfAttention, n_hashes=2, **ONE_CHUNK)
    E.run("pure", lambda: pure(causal=True), pair, state=False)
    E.run("pure_masked", lambda: pure(masked=True), (*pair, mask), state=False)


@case("efficient_attention")
def _LSH_wrappers(E):
    tl, x = E.tl, E.arr("x", (2, 8, 6))
    options = ONE_CHUNK | {"causal": True, "n_hashes": 2}
    for n in (2, 3):
        E.run(f"wrapper{n}", lambda: tl.PureLSHSelfAttentionWrapper(
            pure_lsh_implementation=tl.PureLSHSelfAttention, num_weights=n, **options
        ), x, state=False)  # fmt: skip
    pair = E.arr("qk", (4, 8, 3)), E.arr("v", (4, 8, 3))
    for tag, length in (("mixed_std", 16), ("mixed_lsh", 4)):
        E.run(tag, lambda: tl.MixedLSHSelfAttention(std_length=length, **options), pair,
              state=False)  # fmt: skip


# --- what random keys decide ---


@case("hashing")
def _hash_vecs(E):
    vecs, key = E.jnp.asarray(E.arr("v", (10, 6))), E.key(5)
    for n_buckets, tag in ((8, "8"), ([4, 2], "4x2"), ([6], "6")):
        buckets, n = E.tl.hash_vecs(vecs, n_buckets, 3, key)
        E.put(f"buckets{tag}", buckets)
        E.put(f"n{tag}", np.asarray(n))
    for n, tag in ((4, "8"), (3, "4x2")):  # the rotations
        rotations = fastmath.random.normal(key, (6, 3, n)).astype(np.float32)
        E.put(f"rotations{tag}", rotations)


@case("hashing")
def _LSH(E):
    tl, x = E.tl, E.arr("x", (2, 12, 6))
    options = {
        "n_heads": 2, "d_qk": 3, "d_v": 4, "chunk_len": 3, "n_chunks_before": 1, "n_hashes": 2,
        "n_buckets": 4,
    }  # fmt: skip
    make = functools.partial(tl.LSHSelfAttention, **options)
    for causal in (False, True):
        E.run(f"eval{causal}", lambda: make(causal=causal, mode="eval"), x)
    mask = np.array([[1] * 12, [1] * 8 + [0] * 4], bool)
    E.run("masked", lambda: make(masked=True, mode="eval"), (x, mask))
    layer = E.init(make(causal=True, mode="eval"), x, tag="e.")
    steps = make(causal=True, mode="predict", predict_mem_len=12, predict_drop_len=4)
    E.steps("predict", steps, x, [6, 7, 8, 9], weights=layer.weights)
    E.run("lshff", lambda: tl.LSHFF(10, n_buckets=4, n_hashes=2), x)
    pair = E.arr("qk", (4, 12, 3)), E.arr("v", (4, 12, 3))
    pure = functools.partial(tl.PureLSHSelfAttention, **(options | {"d_v": 3}))
    E.run("pure", lambda: pure(causal=True, mode="eval"), pair)
