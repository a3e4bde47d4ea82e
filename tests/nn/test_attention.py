"""Attention: against float64 for every option, all at once and by blocks, derivatives, memory."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import enable_x64, jit, nn, vmap
from weft.nn import attention, blockwise_attention

RNG = np.random.default_rng(1)
B, T, S, N, K, H = 2, 11, 14, 4, 2, 3
Q = RNG.standard_normal((B, T, N, H)).astype(np.float32)
KEY, VALUE = RNG.standard_normal((2, B, S, K, H)).astype(np.float32)
BIAS = RNG.standard_normal((1, N, T, S)).astype(np.float32)
MASK = RNG.random((B, 1, T, S)) > 0.3
MASK[0, :, 3] = False  # no key counts for this query
LENGTHS = {
    "query_seq_lengths": np.array([9, 11], np.int32),
    "key_value_seq_lengths": np.array([14, 5], np.int32),
}
OPTIONS = {
    "plain": {},
    "bias": {"bias": BIAS},
    "bias for keys": {"bias": BIAS[:, :1, :1]},
    "mask": {"mask": MASK},
    "causal": {"is_causal": True},
    "window": {"local_window_size": (4, 2)},
    "lengths": LENGTHS,
    "scale": {"scale": 0.3},
    "all": {"bias": BIAS, "mask": MASK, "is_causal": True, "local_window_size": 5, **LENGTHS},
}


def oracle(q, k, v, bias=None, mask=None, scale=None, is_causal=False, query_seq_lengths=None,
           key_value_seq_lengths=None, local_window_size=None):  # fmt: skip
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    (_, t, n, h), (_, s, heads, _) = q.shape, k.shape
    k, v = (np.repeat(x, n // heads, 2) for x in (k, v))
    scores = np.einsum("btnh,bsnh->bnts", q, k) * (scale or h**-0.5)
    scores = scores if bias is None else scores + bias
    row, column = np.arange(t)[:, None], np.arange(s)
    counts = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    if is_causal:
        counts = counts & (column <= row)
    if local_window_size is not None:
        pair = local_window_size
        before, after = pair if isinstance(pair, tuple) else (pair, pair)
        counts = counts & (column >= row - before) & (column <= row + after)
    if query_seq_lengths is not None:
        counts = counts & (row < query_seq_lengths[:, None, None, None])
    if key_value_seq_lengths is not None:
        counts = counts & (column < key_value_seq_lengths[:, None, None, None])
    scores = np.where(counts, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    terms = np.exp(scores - top)
    total = terms.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = (top + np.log(total))[..., 0].transpose(0, 2, 1)
    return np.einsum("bnts,bsnh->btnh", terms / np.where(total == 0, 1, total), v), logs


@pytest.fixture(params=["at once", "by blocks"])
def way(request, monkeypatch):
    """Both computations; blocks that neither length is a multiple of."""
    if request.param == "by blocks":
        monkeypatch.setattr(attention, "MIN_BLOCKWISE_PAIRS", 0)
        monkeypatch.setattr(blockwise_attention, "BLOCK_QUERIES", 4)
        monkeypatch.setattr(blockwise_attention, "BLOCK_KEYS", 5)
    return request.param


def attend(q, k, v, **options):
    """To be called while tracing: eager calls are planned for one way."""
    return nn.dot_product_attention(q, k, v, return_residual=True, **options)


def test_values(way):
    def all_of(q, k, v):
        return {name: attend(q, k, v, **options) for name, options in OPTIONS.items()}

    found = jit(all_of)(Q, KEY, VALUE)
    for name, options in OPTIONS.items():
        out, logs = oracle(Q, KEY, VALUE, **options)
        np.testing.assert_allclose(found[name][0], out, rtol=2e-5, atol=2e-6, err_msg=name)
        np.testing.assert_allclose(found[name][1], logs, rtol=2e-5, atol=2e-6, err_msg=name)
    one = jit(lambda q: attend(q, KEY, VALUE, is_causal=True))(Q[:, :1])  # sees the first key
    np.testing.assert_allclose(one[0], np.repeat(VALUE[:, :1], N // K, 2), rtol=1e-6)


def loss_of(options, bias):
    def loss(q, k, v, b):
        given = {**options, "bias": b} if bias else options
        out, logs = attend(q, k, v, **given)
        logs = wnp.where(wnp.isfinite(logs), logs, 0)
        return (out * out * out).sum() + (logs * logs).sum()

    return loss


@pytest.mark.parametrize("name", ["all"])
def test_derivatives_of_both_modes(way, name):
    options = {k: v for k, v in OPTIONS[name].items() if k != "bias"}
    bias = OPTIONS[name]["bias"]

    def reference(q, k, v, b):
        out, logs = oracle(q, k, v, **{**options, "bias": b})
        return (out**3).sum() + (np.where(np.isfinite(logs), logs, 0) ** 2).sum()

    args = [x.astype(np.float64) for x in (Q, KEY, VALUE, bias)]
    directions = [RNG.standard_normal(x.shape) for x in args]
    with enable_x64(True):
        loss = loss_of(options, True)

        def both(*args):
            return weft.grad(loss, (0, 1, 2, 3))(*args), weft.jvp(loss, args, tuple(directions))[1]

        gradients, slope = jit(both)(*args)
    total = 0
    for i, (direction, g) in enumerate(zip(directions, gradients, strict=True)):
        plus, minus = ([x + s * 1e-5 * direction if i == j else x for j, x in enumerate(args)]
                       for s in (1, -1))  # fmt: skip
        want = (reference(*plus) - reference(*minus)) / 2e-5
        assert float((np.asarray(g) * direction).sum()) == pytest.approx(want, rel=1e-6, abs=1e-7)
        total += want
    assert float(slope) == pytest.approx(total, rel=1e-6)


def test_second_derivatives(way):
    q, k, v = (x[:1, :6, :2].astype(np.float64) for x in (Q, KEY, VALUE))
    d = RNG.standard_normal(q.shape)
    with enable_x64(True):
        loss = loss_of({"is_causal": True}, False)
        g = weft.grad(lambda q: loss(q, k, v, None))
        bend = jit(lambda q: weft.jvp(g, (q,), (d,))[1])(q)
        run = jit(g)
        want = (run(q + 1e-5 * d) - run(q - 1e-5 * d)) / 2e-5
    np.testing.assert_allclose(bend, want, rtol=1e-5, atol=1e-7)


def test_only_what_is_differentiated_is_asked(way):
    g = jit(weft.grad(lambda v: attend(Q, KEY, v, mask=MASK)[0].sum()))(VALUE)
    h = np.zeros_like(VALUE)
    h[1, 2, 0, 1] = 1
    want = oracle(Q, KEY, VALUE + h, mask=MASK)[0].sum() - oracle(Q, KEY, VALUE, mask=MASK)[0].sum()
    assert g[1, 2, 0, 1].item() == pytest.approx(want, rel=1e-4)


def test_batches_without_a_batch_axis(way):
    run = jit(vmap(lambda q, k, v: attend(q, k, v, is_causal=True)))
    out, logs = run(Q, KEY, VALUE)
    want = oracle(Q, KEY, VALUE, is_causal=True)
    np.testing.assert_allclose(out, want[0], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(logs, want[1], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_floats_are_summed_in_float32(way, dtype):
    q, k, v = (wnp.array(x, dtype) for x in (Q, KEY, VALUE))
    out, logs = jit(attend)(q, k, v)
    assert out.dtype == logs.dtype == np.dtype(dtype)
    want = oracle(*(np.asarray(x, np.float64) for x in (q, k, v)))
    # one rounding of the logarithms; one of each weight and one of their sum for the output
    half = float(weft.dtypes.finfo(dtype).eps) / 2 * 1.001
    np.testing.assert_allclose(np.asarray(logs, np.float64), want[1], rtol=half)
    sizes = oracle(*(np.asarray(x, np.float64) for x in (q, k)), np.abs(np.asarray(v, np.float64)))
    error = np.abs(np.asarray(out, np.float64) - want[0])
    assert (error <= half * (sizes[0] + np.abs(want[0]))).all()


def test_eager_calls_and_heads():
    for heads in (1, 2, 4):
        k, v = np.repeat(KEY[:, :, :1], heads, 2), np.repeat(VALUE[:, :, :1], heads, 2)
        for _ in range(3):
            out = nn.dot_product_attention(Q, k, v, is_causal=True)
            np.testing.assert_allclose(
                out, oracle(Q, k, v, is_causal=True)[0], rtol=2e-5, atol=2e-6
            )
    assert (
        nn.dot_product_attention(Q, KEY[:, :0], VALUE[:, :0]).tolist() == np.zeros_like(Q).tolist()
    )
    empty, logs = nn.dot_product_attention(Q[:, :0], KEY, VALUE, return_residual=True)
    assert empty.shape == (B, 0, N, H)
    assert logs.shape == (B, 0, N)
    assert not np.isnan(nn.dot_product_attention(Q * 1e20, KEY, VALUE)).any()


def test_memory_grows_with_the_length():
    def peak(length):  # all scores would take four times as much for two times the length
        x = weft.ShapeDtypeStruct((1, length, 1, 8), np.float32)
        loss = weft.grad(lambda q, k, v: nn.dot_product_attention(q, k, v).sum(), (0, 1, 2))
        return jit(loss).lower(x, x, x).compile().memory_analysis().temp_bytes

    assert peak(4096) < 2.2 * peak(2048)


def test_a_mask_may_lack_leading_axes():
    want = oracle(Q, KEY, VALUE, mask=MASK[:1])[0]
    for mask in (MASK[0], MASK[0, 0]):
        got = nn.dot_product_attention(Q, KEY, VALUE, mask=mask)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"query": Q[0, 0]}, TypeError, "query"),
        ({"query": Q.astype(int)}, TypeError, "query"),
        ({"key": KEY[..., :2]}, TypeError, "key"),
        ({"value": VALUE[:, :3]}, TypeError, "value"),
        ({"value": VALUE.astype(np.float16)}, TypeError, "value"),
        ({"query": Q[:, :, :3]}, TypeError, "multiple"),
        ({"bias": BIAS[:, :3]}, TypeError, "bias"),
        ({"bias": MASK}, TypeError, "bias"),
        ({"mask": BIAS}, TypeError, "mask"),
        ({"query_seq_lengths": np.array([1])}, TypeError, "query_seq_lengths"),
        ({"key_value_seq_lengths": np.array([1.0, 2.0])}, TypeError, "key_value_seq_lengths"),
        ({"local_window_size": (1, 2, 3)}, ValueError, "local_window_size"),
        ({"local_window_size": -1}, ValueError, "local_window_size"),
        ({"implementation": "cudnn"}, ValueError, "implementation"),
        ({"scale": "a"}, TypeError, "scale"),
    ],
)
def test_refusals(change, error, part):
    with pytest.raises(error, match=part):
        nn.dot_product_attention(**{"query": Q, "key": KEY, "value": VALUE, **change})
