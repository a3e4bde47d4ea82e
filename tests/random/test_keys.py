"""Threefry, keys, and what is refused."""

import contextlib
import pickle

import numpy as np
import pytest

import weft
from weft import lax, random, tree_util
from weft.compiler.compiled import run_jaxpr
from weft.interpreters.stage import stage
from weft.primitives import random_bits as bits
from weft.random.keys import far_bits

# The authors' known answers for 20 rounds: (counter, key, result).
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


def words(*xs):
    return np.array(xs, np.uint32)


def compiled(function, *args):
    """The outputs of a program of XLA's, whatever the sizes."""
    values = [weft.numpy.asarray(a) for a in args]
    jaxpr = stage(lambda *xs: list(function(*xs)), [v.aval for v in values])
    return [np.asarray(o) for o in run_jaxpr(jaxpr, values)]


@pytest.mark.parametrize("repeat", [1, 50])  # by ints, by arrays
def test_known_answers(repeat):
    for counter, key, result in KNOWN:
        args = [np.full(repeat, n, np.uint32) for n in (*key, *counter)]
        for got in (bits.threefry2x32(*args), compiled(bits.threefry2x32, *args)):
            assert [set(np.asarray(y).tolist()) for y in got] == [{result[0]}, {result[1]}]


def test_large_and_broadcast_operands_agree_with_elements():
    rng = np.random.default_rng(0)
    k0, k1 = rng.integers(0, 2**32, (2, 3, 1), np.uint32)
    x0 = rng.integers(0, 2**32, (40000,), np.uint32)
    y0, y1 = bits.threefry(k0, k1, x0, words(5))  # rows longer than a chunk
    for i, j in ((0, 0), (1, 32767), (2, 32768), (2, 39999)):
        expected = bits._on_ints(int(k0[i, 0]), int(k1[i, 0]), int(x0[j]), 5)
        assert (y0[i, j], y1[i, j]) == expected
    short = bits.threefry(np.repeat(k0, 9000, 0), words(7), x0[:5], words(1))  # rows grouped
    np.testing.assert_array_equal(
        short[0][9000], bits.threefry(k0[1], words(7), x0[:5], words(1))[0]
    )


@pytest.mark.parametrize("partitionable", [False, True])
@pytest.mark.parametrize(
    ("shape", "width"),
    [((), 32), ((3,), 8), ((4, 5), 16), ((7,), 32), ((0, 2), 32), ((40001,), 32)],
)
def test_streams_are_the_same_everywhere(shape, width, partitionable):
    def f(key):
        return bits.random_bits(key, shape=shape, width=width, partitionable=partitionable)

    keys = words([0, 1], [5, 2**32 - 1], [0, 1])
    each = [np.asarray(f(k)) for k in keys]
    np.testing.assert_array_equal(each[0], each[2])
    for k, expected in zip(keys, each, strict=True):
        np.testing.assert_array_equal(compiled(lambda key: [f(key)], k)[0], expected)
    np.testing.assert_array_equal(weft.vmap(f)(keys), each)
    np.testing.assert_array_equal(weft.jit(weft.vmap(f))(keys), each)
    np.testing.assert_array_equal(lax.map(f, keys), each)


def test_threefry_is_batched_in_any_operand():
    x, y = words(*range(6)).reshape(2, 3), words(8, 9, 10)
    f = lambda k, x: bits.threefry2x32(k, words(1), x, words(4))  # noqa: E731
    expected = [f(y[i], x[:, i]) for i in range(3)]
    for got in (weft.vmap(f, (0, 1))(y, x), weft.jit(weft.vmap(f, (0, 1)))(y, x)):
        np.testing.assert_array_equal(got, np.swapaxes(np.asarray(expected), 0, 1))


def test_functions_of_keys_have_no_gradient_but_allow_one():
    def loss(w, key):
        return (w * random.normal(key, (3,))).sum()

    key = random.PRNGKey(3)
    np.testing.assert_allclose(
        weft.grad(loss)(2.0, key), np.asarray(random.normal(key, (3,))).sum(), rtol=1e-6
    )


# --- keys ---


def test_seeds():
    assert random.PRNGKey(0).tolist() == [0, 0]
    assert random.PRNGKey(-1).tolist() == [0, 2**32 - 1]
    assert random.PRNGKey(2**33 + 5).tolist() == [0, 5]
    assert random.PRNGKey(np.int64(7)).tolist() == [0, 7]
    assert weft.jit(random.PRNGKey)(np.int32(-2)).tolist() == [0, 2**32 - 2]
    assert weft.vmap(random.PRNGKey)(np.arange(3, dtype=np.uint8)).tolist() == [
        [0, 0],
        [0, 1],
        [0, 2],
    ]


def test_a_split_makes_other_keys():
    key = random.PRNGKey(0)
    found = {tuple(k) for k in random.split(key, 1000).tolist()}
    assert len(found) == 1000
    assert tuple(key.tolist()) not in found
    first, second = random.split(key)
    assert first.shape == second.shape == (2,)
    assert random.split(key, 0).shape == (0, 2)


def test_fold_in_takes_any_integers():
    key = random.PRNGKey(9)
    a = random.fold_in(key, 2**32 - 3).tolist()
    assert a == random.fold_in(key, -3).tolist() == random.fold_in(key, np.int32(-3)).tolist()
    assert a == weft.jit(random.fold_in)(key, -3).tolist()
    steps = weft.vmap(random.fold_in, (None, 0))(key, np.arange(4))
    assert steps.tolist() == [random.fold_in(key, i).tolist() for i in range(4)]


def test_typed_keys_are_the_same_keys():
    key, raw = random.key(5), random.PRNGKey(5)
    assert random.key_data(key).tolist() == raw.tolist()
    assert random.normal(key, (3,)).tolist() == random.normal(raw, (3,)).tolist()
    keys = random.split(key, (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert random.key_data(keys[1, 2]).tolist() == random.split(raw, (2, 3))[1, 2].tolist()
    assert random.key_data(keys[..., 0]).shape == (2, 2)
    assert (keys.reshape(6).shape, keys.reshape((3, 2))[:, 1].shape) == ((6,), (3,))
    assert random.wrap_key_data(random.key_data(keys)).shape == (2, 3)
    assert random.fold_in(key, 1).dtype == key.dtype
    a, b = random.split(key)
    assert a.shape == b.shape == ()


def test_typed_keys_pass_through_transformations():
    keys = random.split(random.key(0), 4)
    expected = [random.uniform(k).item() for k in keys]
    assert weft.vmap(random.uniform)(keys).tolist() == expected
    assert weft.jit(lambda ks: ks[2])(keys).shape == ()
    assert tree_util.tree_leaves({"k": keys})[0].shape == (4,)
    again = pickle.loads(pickle.dumps(random.key_data(keys)))
    assert random.wrap_key_data(again).shape == (4,)

    def step(key, _):
        key, subkey = random.split(key)
        return key, random.uniform(subkey)

    _, out = lax.scan(step, random.key(0), None, length=3)
    assert len(set(out.tolist())) == 3


@pytest.mark.parametrize(
    "key",
    [0, 1.5, None, "seed", [0, 1], np.zeros(2, np.float32), np.zeros(3, np.uint32), np.uint32(3)],
)
def test_what_is_no_key_is_refused(key):
    with pytest.raises(TypeError, match=r"uniform: expected a key.*\n.*PRNGKey"):
        random.uniform(key)


def test_several_keys_at_once_are_refused_with_the_way_out():
    keys = random.split(random.PRNGKey(0), 3)
    with pytest.raises(TypeError, match=r"normal: expected one key.*uint32\[3,2\]\n.*vmap"):
        random.normal(keys)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda k: random.PRNGKey(0.5), TypeError, "seed must be an integer scalar"),
        (lambda k: random.PRNGKey(np.arange(3)), TypeError, "vmap"),
        (lambda k: random.PRNGKey(2**64), OverflowError, "64 bits"),
        (lambda k: random.PRNGKey(0, impl="mersenne"), ValueError, "rbg"),
        (
            lambda k: random.key(0, impl="rbg", dtype=random.key_dtype("rbg")),
            ValueError,
            "give one",
        ),
        (lambda k: random.bits(k, (2,), "float32"), TypeError, "unsigned"),
        (lambda k: random.split(k, -1), ValueError, "negative"),
        (lambda k: random.split(k, 2.0), TypeError, "num"),
        (lambda k: random.fold_in(k, 1.0), TypeError, "data must be an integer"),
        (lambda k: random.key_data(np.zeros(3)), TypeError, "expected keys"),
        (lambda k: random.wrap_key_data(np.zeros(2)), TypeError, "expected keys"),
        (lambda k: len(random.key(0)), TypeError, "at least one axis"),
        (lambda k: bits.threefry2x32(1, 2, 3, 4), TypeError, "uint32"),
    ],
)
def test_wrong_uses_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(random.PRNGKey(0))


# --- arrays of more words than a counter counts ---


@pytest.mark.parametrize("shape", [(10**12,), (2**16, 2**17), (2**32 - 1,)])
@pytest.mark.parametrize("partitionable", [False, True])
def test_the_shapes_of_huge_arrays_are_known(shape, partitionable):
    with switched(partitionable):
        for dtype in ("float16", "float32"):
            out = weft.eval_shape(lambda seed: random.normal(random.PRNGKey(seed), shape, dtype), 0)  # noqa: B023
            assert (out.shape, out.dtype) == (shape, dtype)


@contextlib.contextmanager
def switched(partitionable):
    weft.config.update("threefry_partitionable", partitionable)
    try:
        yield
    finally:
        weft.config.update("threefry_partitionable", False)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("shape", [(7, 3), (20,), (40,)])
def test_a_long_classic_stream_goes_on_with_other_keys(shape, width):
    reach, n = 5, int(np.prod(shape))
    key = random.PRNGKey(3)
    words = -(-n * width // 32)
    keys = random.split(key, words // reach + 1)
    lengths = [reach] * (words // reach) + [words % reach]
    parts = [random.bits(k, (m,)) for k, m in zip(keys, lengths, strict=True)]
    whole = np.concatenate([np.asarray(p) for p in parts]).astype("<u4")
    if width == 64:
        expected = whole[:n].astype(np.uint64) << np.uint64(32) | whole[n:]
    else:
        expected = whole.view(f"<u{width // 8}")[:n]
    for run in (far_bits, weft.jit(far_bits, static_argnums=(1, 2, 3))):
        found = run(key, shape, width, reach)
        np.testing.assert_array_equal(found, expected.reshape(shape))


def test_counters_have_64_bits():
    places = np.array([0, 1, 2**32 - 1, 2**32, 3 * 2**32 + 5], np.uint64)
    high, low = bits.counters(places)
    assert high.tolist() == [0, 0, 0, 1, 3]
    assert low.tolist() == [0, 1, 2**32 - 1, 0, 5]
    with switched(True):
        text = weft.jit(lambda k: random.bits(k, (2**33,))).lower(random.PRNGKey(0)).as_text()
    assert "stablehlo.iota dim = 0 : tensor<8589934592xui64>" in text
    assert "stablehlo.shift_right_logical" in text
