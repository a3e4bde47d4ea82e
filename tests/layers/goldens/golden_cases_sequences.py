"""Numerical cases of attention, recurrent layers and positions, with the values in `*.npz`.

A case takes an `Env`, which makes inputs and weights of the case's name and collects results. Those
of `random_sequences` depend on random streams too: the classic ones.
"""

# ruff: noqa: B023, E731 (functions are called before the loop goes on; they are short)

import numpy as np
from golden import case


@case("rnn")
def _cells(E):
    x, h = E.arr("x", (3, 4)), E.arr("h", (3, 5))
    E.run("gru", lambda: E.tl.GRUCell(5), (x, h))
    E.run("gru_fb", lambda: E.tl.GRUCell(5, forget_bias=1.0), (x, h), grads=False)
    s = E.arr("s", (3, 10))
    E.run("lstm", lambda: E.tl.LSTMCell(5), (x, s))
    f, y, c = E.arr("f", (2, 3)), E.arr("y", (2, 3)), E.arr("c", (2, 3))
    E.run("inner_sru", lambda: E.tl.InnerSRUCell(), (y, f, c))
    z = E.arr("z", (2, 3, 4))
    E.run("zero1", lambda: E.tl.MakeZeroState(), z, grads=False)
    E.run("zero2", lambda: E.tl.MakeZeroState(depth_multiplier=2), z, grads=False)


@case("rnn")
def _sequences(E):
    x = E.arr("x", (2, 6, 4))
    for name in ("GRU", "LSTM", "SRU"):
        layer = getattr(E.tl, name)(4)
        E.run(name, layer, x)
        p = getattr(E.tl, name)(4, mode="predict")
        E.steps(name + "_predict", p, x, [3, 4, 5, 6], weights=layer.weights)
    E.run("SRU_act", lambda: E.tl.SRU(4, activation=E.tl.Tanh()), x)


@case("rnn")
def _GeneralGRUCell(E):
    x = E.arr("x", (2, 5))
    E.run("dense", lambda: E.tl.GeneralGRUCell(lambda: E.tl.Dense(5), dropout_rate_c=0.0), x)
    E.run(
        "bias",
        lambda: E.tl.GeneralGRUCell(
            lambda: E.tl.Dense(5),
            memory_transform_fn=lambda: E.tl.Dense(5),
            gate_nonlinearity=E.tl.HardSigmoid,
            candidate_nonlinearity=E.tl.HardTanh,
            dropout_rate_c=0.0,
            sigmoid_bias=-0.25,
        ),
        x,
    )
    xi = E.arr("xi", (2, 4, 5, 3))
    E.run(
        "conv",
        lambda: E.tl.GeneralGRUCell(
            lambda: E.tl.Conv(3, (3, 3), padding="SAME"), dropout_rate_c=0.0
        ),
        xi,
    )


def _mask(E, b, length):
    m = np.ones((b, 1, 1, length), bool)
    for i in range(b):
        m[i, ..., length - i :] = False
    return m


@case("attention")
def _Attention(E):
    x, m = E.arr("x", (3, 5, 8)), _mask(E, 3, 5)
    E.run("h1", lambda: E.tl.Attention(8, mode="eval"), (x, m))
    E.run("h2", lambda: E.tl.Attention(8, n_heads=2, mode="eval"), (x, m))
    E.run(
        "h4_train_nodrop", lambda: E.tl.Attention(8, n_heads=4, dropout=0.0, mode="train"), (x, m)
    )
    E.run("viz", lambda: E.tl.Attention(8, n_heads=2, mode="viz"), (x, m), grads=False)


@case("attention")
def _AttentionQKV(E):
    q, k, v = E.arr("q", (2, 4, 8)), E.arr("k", (2, 6, 8)), E.arr("v", (2, 6, 8))
    m = _mask(E, 2, 6)
    layer = E.tl.AttentionQKV(8, n_heads=2, mode="eval")
    E.run("eval", layer, (q, k, v, m))
    E.run(
        "noop",
        lambda: E.tl.AttentionQKV(
            8, n_heads=2, mode="eval", q_sparsity="noop", result_sparsity="noop"
        ),
        (q, k, v, m),
    )
    p = E.tl.AttentionQKV(8, n_heads=2, mode="predict", cache_KV_in_predict=True)
    E.init(p, (q, k, v, m), tag="cached.")
    E.put("cached.first", lambda: p((q, k, v, m), rng=E.key()))
    E.put("cached.second", lambda: p((q + 1, k * 0, v * 0, m), rng=E.key()))


@case("attention")
def _cores(E):
    q, k, v = E.arr("q", (2, 4, 8)), E.arr("k", (2, 6, 8)), E.arr("v", (2, 6, 8))
    m = _mask(E, 2, 6)
    E.run("pure", lambda: E.tl.PureAttention(n_heads=4, mode="eval"), (q, k, v, m))
    E.run("dot", lambda: E.tl.DotProductAttention(mode="eval"), (q, k, v, m[:, 0]))
    E.run("dot_viz", lambda: E.tl.DotProductAttention(mode="viz"), (q, k, v, m[:, 0]), grads=False)
    k2, v2 = E.arr("k2", (2, 4, 8)), E.arr("v2", (2, 4, 8))
    E.run("causal", lambda: E.tl.DotProductCausalAttention(mode="eval"), (q, k2, v2))
    x = E.arr("x", (2, 5, 6))
    E.run("split", lambda: E.tl.SplitIntoHeads(3), x)
    E.run("split_nomerge", lambda: E.tl.SplitIntoHeads(3, merged_batch_and_head=False), x)
    y = E.arr("y", (6, 5, 2))
    E.run("merge", lambda: E.tl.MergeHeads(3), y)
    E.run(
        "merge_nomerge",
        lambda: E.tl.MergeHeads(3, merged_batch_and_head=False),
        E.arr("z", (2, 3, 5, 2)),
    )
    E.run(
        "configurable",
        lambda: E.tl.ConfigurableAttention(
            E.tl.Dense(6),
            E.tl.Dense(6),
            E.tl.Dense(6),
            E.tl.Dense(6),
            E.tl.DotProductCausalAttention(mode="eval"),
            n_heads=2,
        ),
        x,
    )


@case("attention")
def _CausalAttention(E):
    x = E.arr("x", (2, 6, 8))
    layer = E.tl.CausalAttention(8, n_heads=2, mode="eval")
    E.run("eval", layer, x)
    p = E.tl.CausalAttention(8, n_heads=2, max_inference_length=8, mode="predict")
    E.steps("predict", p, x, [3, 4, 5, 6], weights=layer.weights)


@case("attention")
def _masks_and_shift(E):
    i = np.array([[3, 0, 5, 0], [1, 2, 0, 0]], np.int32)
    E.run("pad", lambda: E.tl.PaddingMask(), i, grads=False)
    E.run("pad5", lambda: E.tl.PaddingMask(pad=5), i, grads=False)
    d = E.arr("d", (2, 3, 4))
    m = _mask(E, 2, 4)
    E.run("encdec", lambda: E.tl.EncoderDecoderMask(), (d, m), grads=False)
    x = E.arr("x", (2, 5, 3))
    for mode in ("train", "eval", "predict"):
        E.run(f"shift_{mode}", lambda: E.tl.ShiftRight(mode=mode), x, grads=False)
        E.run(f"shift2_{mode}", lambda: E.tl.ShiftRight(n_positions=2, mode=mode), i, grads=False)


@case("attention")
def _PositionalEncoding(E):
    x = E.arr("x", (2, 6, 8))
    E.run("init", lambda: E.tl.PositionalEncoding(max_len=10, mode="eval"), x, keep_weights=True)
    E.run(
        "train",
        lambda: E.tl.PositionalEncoding(max_len=10, mode="train"),
        x,
        keep_weights=True,
        grads=False,
    )
    E.run(
        "odd",
        lambda: E.tl.PositionalEncoding(max_len=7, mode="eval"),
        E.arr("x6", (1, 4, 6)),
        keep_weights=True,
        grads=False,
    )
    E.run(
        "bf16",
        lambda: E.tl.PositionalEncoding(max_len=10, use_bfloat16=True, mode="eval"),
        x,
        keep_weights=True,
        grads=False,
    )
    E.steps("predict", lambda: E.tl.PositionalEncoding(max_len=10, mode="predict"), x, [3, 4, 6])
    layer = E.tl.PositionalEncoding(max_len=10, d_feature=4, mode="eval")
    E.run("d_feature", layer, x)


@case("position_encodings")
def _Axial(E):
    x = E.arr("x", (2, 12, 7))
    make = lambda m: E.tl.AxialPositionalEncoding(shape=(3, 4), d_embs=(5, 2), mode=m)
    layer = make("eval")
    E.run("eval", layer, x)
    E.steps("predict", lambda: make("predict"), x, [5, 6, 7, 12], weights=layer.weights)


@case("position_encodings")
def _SinCos(E):
    x = E.arr("x", (2, 7, 6))
    E.run("eval", lambda: E.tl.SinCosPositionalEncoding(mode="eval"), x)
    E.steps("predict", lambda: E.tl.SinCosPositionalEncoding(mode="predict"), x, [3, 4, 7])


@case("position_encodings")
def _FixedBase(E):
    x = E.arr("x", (2, 7, 8))
    make = lambda m: E.tl.FixedBasePositionalEncoding(bases=[3, 5], n_digits=4, mode=m)
    layer = make("eval")
    E.run("eval", layer, x)
    E.steps("predict", lambda: make("predict"), x, [3, 4, 7], weights=layer.weights)


@case("position_encodings")
def _TimeBin(E):
    x = E.arr("x", (2, 7, 6))
    E.run("eval", lambda: E.tl.TimeBinPositionalEncoding(3, mode="eval"), x)
    E.steps(
        "predict",
        lambda: E.tl.TimeBinPositionalEncoding(3, mode="predict"),
        x,
        [1, 2, 3, 4, 5, 6, 7],
    )


@case("position_encodings")
def _threefry(E):
    jnp = E.jnp
    key = jnp.asarray(np.array([1, 2], np.uint32))
    E.put("prange", lambda: E.tl.threefry_2x32_prange(key, 0, 6))
    E.put("prange_lo", lambda: E.tl.threefry_2x32_prange(key, 3, 9))
    x = E._random("k").randint(0, 2**31, size=(2, 3, 2)).astype(np.uint32)
    E.const("k", x)
    E.put("prf", lambda: E.tl.threefry_2x32_prf(key, jnp.asarray(x)))


@case("random_sequences")
def _dropouts(E):
    x = E.arr("x", (4, 5, 6))
    mask = np.ones((4, 1, 1, 5), bool)
    E.run("attention", lambda: E.tl.Attention(6, n_heads=2, dropout=0.3), (x, mask))
    E.run("causal", lambda: E.tl.CausalAttention(6, n_heads=2, dropout=0.3), x)
    E.run("posenc", lambda: E.tl.PositionalEncoding(max_len=9, dropout=0.5), x, keep_weights=True)
    E.run(
        "posenc_start",
        lambda: E.tl.PositionalEncoding(max_len=30, start_from_zero_prob=0.2, max_offset_to_add=20),
        x,
        keep_weights=True,
        grads=False,
    )


@case("random_sequences")
def _default_init(E):
    x = E.arr("x", (2, 5, 4))
    for name, layer in (
        ("gru", E.tl.GRU(4)),
        ("lstm", E.tl.LSTM(4)),
        ("sru", E.tl.SRU(4)),
        ("causal", E.tl.CausalAttention(4, n_heads=2)),
        ("axial", E.tl.AxialPositionalEncoding(shape=(5,), d_embs=(4,))),
    ):
        weights, state = layer.init(E.sig(x), rng=E.key(11))
        E.put(name + ".w", weights)
        E.put(name + ".s", state)


@case("random_sequences")
def _position(E):
    x = E.arr("x", (2, 7, 8))
    E.run(
        "sincos_train",
        lambda: E.tl.SinCosPositionalEncoding(add_offset=50, dropout=0.3),
        x,
        grads=False,
    )
    E.run("fixedbase_train", lambda: E.tl.FixedBasePositionalEncoding(bases=[3, 5], n_digits=4), x)
    E.run(
        "infinite_affine",
        lambda: E.tl.InfinitePositionalEncoding(transform="none", mode="eval"),
        x,
        grads=False,
    )


@case("random_sequences")
def _Infinite(E):
    """affine=False uses a constant key, but splits it: two threefry variants."""
    x = E.arr("x", (2, 9, 6))
    for t in ("none", "diag", "any"):
        E.run(
            t,
            lambda: E.tl.InfinitePositionalEncoding(affine=False, transform=t, mode="eval"),
            x,
            grads=(t != "none"),
        )
    E.run(
        "odd",
        lambda: E.tl.InfinitePositionalEncoding(affine=False, transform="none", mode="eval"),
        E.arr("x5", (1, 9, 5)),
        grads=False,
    )
    E.run(
        "bins",
        lambda: E.tl.InfinitePositionalEncoding(
            affine=False, transform="none", time_bin_length=4, mode="eval"
        ),
        x,
        grads=False,
    )
    layer = E.tl.InfinitePositionalEncoding(affine=False, transform="any", mode="eval")
    E.init(layer, x, tag="p.")
    p = E.tl.InfinitePositionalEncoding(affine=False, transform="any", mode="predict")
    E.steps("predict", p, x, [1, 2, 3, 4, 5], weights=layer.weights, state=False)
