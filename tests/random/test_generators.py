"""rbg and unsafe_rbg: keys of four words, as values and in every transformation."""

import pickle

import numpy as onp
import pytest

import weft
from weft import lax, numpy as np, random
from weft.primitives import bit_generators

KINDS = ("rbg", "unsafe_rbg")
# words whose bits are those of NaNs and infinities in a double, which moving must not change
WORDS = onp.array(
    [
        [0, 0x7FF00000, 0, 0xFFF00000],
        [1, 0x7FF00000, 5, 0xFFF00000],
        [0xFFFFFFFF] * 4,
        [0, 0x80000000, 0, 0],
        [7, 0, 9, 1],
    ],
    onp.uint32,
)


@pytest.fixture(params=KINDS)
def impl(request):
    return request.param


def words(keys):
    return onp.asarray(random.key_data(keys))


def test_keys_have_a_dtype_of_their_own(impl):
    key = random.key(0, impl=impl)
    assert key.shape == ()
    assert key.dtype is random.key_dtype(impl)
    assert weft.dtypes.issubdtype(key.dtype, weft.dtypes.prng_key)
    assert random.key_impl(key) == impl
    assert impl[0] in str(key.dtype)
    assert random.key(0, dtype=key.dtype).dtype is key.dtype
    assert words(key).shape == (4,)
    onp.testing.assert_array_equal(random.PRNGKey(3, impl=impl), words(random.key(3, impl=impl)))
    assert random.clone(key) is key
    with pytest.raises(TypeError, match="keys combine with keys only"):
        key + 1


MOVES = {
    "index": lambda k: k[onp.array([3, 0, 2])],
    "gather": lambda k: np.take(k, np.array([1, 4]), axis=0),
    "reverse": lambda k: k[::-1],
    "reshape": lambda k: k.reshape(5, 1),
    "concatenate": lambda k: np.concatenate([k[2:], k[:2]]),
    "stack": lambda k: np.stack([k, k], 1),
    "where": lambda k: np.where(np.arange(5) < 2, k, k[::-1]),
    "set": lambda k: k.at[1].set(k[2]),
    "dynamic_slice": lambda k: lax.dynamic_slice(k, (np.argmax(np.arange(3)),), (2,)),
    "dynamic_update_slice": lambda k: lax.dynamic_update_slice(k, k[:2], (3,)),
    "broadcast": lambda k: np.broadcast_to(k, (2, 5)),
    "sort": lambda k: lax.sort((np.array([3, 1, 2, 5, 4]), k), num_keys=1)[1],
    "scan": lambda k: lax.scan(lambda c, x: (x, c), k[0], k)[1],
    "cond": lambda k: lax.cond(np.arange(3).sum() > 1, lambda: k, lambda: k[::-1]),
    "constant": lambda k: random.wrap_key_data(WORDS, dtype=k.dtype),
}


def test_moving_keeps_every_bit(impl):
    keys = random.wrap_key_data(WORDS, impl=impl)
    compiled = weft.jit(lambda k: {name: move(k) for name, move in MOVES.items()})(keys)
    axes = onp.arange(5)
    orders = {
        "index": axes[[3, 0, 2]], "gather": axes[[1, 4]], "reverse": axes[::-1],
        "reshape": axes.reshape(5, 1), "concatenate": [2, 3, 4, 0, 1],
        "stack": onp.stack([axes, axes], 1), "where": [0, 1, 2, 1, 0], "set": [0, 2, 2, 3, 4],
        "dynamic_slice": [2, 3], "dynamic_update_slice": [0, 1, 2, 0, 1],
        "broadcast": onp.broadcast_to(axes, (2, 5)), "sort": [1, 2, 0, 4, 3],
        "scan": [0, 0, 1, 2, 3], "cond": axes, "constant": axes,
    }  # fmt: skip
    for name, move in MOVES.items():
        expected = WORDS[onp.asarray(orders[name])]
        onp.testing.assert_array_equal(words(move(keys)), expected, err_msg=name)
        onp.testing.assert_array_equal(words(compiled[name]), expected, err_msg=name)
    onp.testing.assert_array_equal(words(pickle.loads(pickle.dumps(keys))), WORDS)
    onp.testing.assert_array_equal(words(weft.device_put(keys, weft.devices()[0])), WORDS)


def test_keys_are_equal_if_all_words_are(impl):
    keys = random.wrap_key_data(WORDS, impl=impl)
    for run in (lambda f: f, weft.jit):
        assert run(lambda k: k == k)(keys).tolist() == [True] * 5
        assert run(lambda k: k != k[::-1])(keys).tolist() == [True, True, False, True, True]
        for at in range(4):
            other = random.wrap_key_data(WORDS ^ onp.eye(4, dtype=onp.uint32)[at], impl=impl)
            assert not run(lambda k, o: k == o)(keys, other).any()
            assert run(lambda k, o: k != o)(keys, other).all()


def test_batches_have_the_samples_of_each_key(impl):
    keys = random.split(random.key(3, impl=impl), 3)

    def sample(key):
        new = random.split(key, 2)
        return random.normal(new[0], (3,)), random.key_data(random.fold_in(new[1], 5))

    each = [sample(key) for key in keys]
    for f in (weft.vmap(sample), weft.jit(weft.vmap(sample))):
        for got, expected in zip(f(keys), zip(*each, strict=True), strict=True):
            onp.testing.assert_allclose(onp.asarray(got), onp.stack(expected), rtol=2e-6)


# recorded from JAX 0.10.2
FOLDED = {
    "rbg": [2464363587, 131619366, 2464363587, 131619366],
    "unsafe_rbg": [3810769997, 2355009022, 1837142617, 748193197],
}


def test_numbers_folded_in_give_the_keys_of_jax(impl):
    for run in (lambda f: f, weft.jit):
        assert words(run(random.fold_in)(random.key(3, impl=impl), 5)).tolist() == FOLDED[impl]


def test_a_sampler_that_loops_takes_these_keys():
    draws = onp.asarray(random.poisson(random.key(11, impl="rbg"), 4.0, (500,)))
    assert abs(draws.mean() - 4) < 0.5
    assert abs(draws.var() - 4) < 1.5


def test_a_callback_is_given_the_key(impl):
    seen, key = [], random.key(11, impl=impl)
    weft.jit(lambda k: weft.debug.callback(lambda k: seen.append(words(k)), k))(key)
    weft.effects_barrier()
    onp.testing.assert_array_equal(seen[0], words(key))


# --- rng_bit_generator ---

STATES = {
    "default": onp.array([1, 2, 3, 4], onp.uint32),
    "carry": onp.array([1, 2, 0xFFFFFFFF, 0xFFFFFFFF], onp.uint32),
}
# recorded from XLA 0.10.2's CPU: the state afterwards, and the bits
RECORDED = {
    ("default", "RNG_PHILOX", "uint32", (5,)): (
        [1, 2, 5, 4], [512747620, 1298009047, 1267190206, 761827841, 1383286907]),
    ("default", "RNG_PHILOX", "uint8", (5,)): ([1, 2, 5, 4], [100, 215, 190, 1, 123]),
    ("default", "RNG_THREE_FRY", "uint32", (5,)): (
        [1, 2, 6, 4], [1576285164, 2249660814, 740599976, 2425682526, 2436392515]),
    ("default", "RNG_THREE_FRY", "uint8", (5,)): ([1, 2, 6, 4], [236, 142, 168, 94, 67]),
    ("carry", "RNG_PHILOX", "uint32", (5,)): (
        [1, 2, 1, 0], [875035680, 2457449792, 952865925, 536199321, 67759320]),
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_bits_are_xlas(case):
    state, algorithm, dtype, shape = case
    after, bits = RECORDED[case]

    def f(s):
        return lax.rng_bit_generator(s, shape, dtype, lax.RandomAlgorithm[algorithm])

    for run in (f, weft.jit(f)):
        got = run(STATES[state])
        assert got[0].tolist() == after
        assert got[1].tolist() == bits
        assert got[1].dtype == dtype


SHAPES = ((), (2, 0), (7,), (3, 4, 2), (3, 5))


def test_a_program_has_the_bits_of_the_host_for_every_shape():
    states = onp.stack([*STATES.values()])
    keys = [
        (shape, dtype, algorithm)
        for shape in SHAPES
        for dtype in ("uint8", "uint32", "uint64")
        for algorithm in ("philox", "three_fry")
    ]

    def f(s):
        return [
            bit_generators.rng_bit_generator(s, shape=k[0], dtype=onp.dtype(k[1]), algorithm=k[2])
            for k in keys
        ]

    eager, compiled = f(np.array(states)), weft.jit(f)(states)
    for key, host, program, alone in zip(
        keys, eager, compiled, f(np.array(states[1])), strict=True
    ):
        for x, y, z in zip(host, program, alone, strict=True):
            onp.testing.assert_array_equal(x, y, err_msg=str(key))
            onp.testing.assert_array_equal(onp.asarray(x)[1], z, err_msg=str(key))
            assert x.dtype == y.dtype


def test_states_of_64_bits():
    with weft.enable_x64(True):
        state = onp.array([1, 2**64 - 1], onp.uint64)
        after, bits = lax.rng_bit_generator(state, (3,), onp.uint64, "philox")
        assert after.tolist() == [1, 1]
        assert bits.tolist() == [
            2799744913794548913, 15652314161293592793, 10154990248698053839
        ]  # fmt: skip


def test_counters_carry_into_the_upper_half():
    key, counter = onp.array(5, onp.uint64), onp.array(2**64 - 2, onp.uint64)
    got = bit_generators.philox_counters(key, counter, 4)
    assert [x.tolist() for x in got] == [
        [2**32 - 2, 2**32 - 1, 0, 1], [2**32 - 1, 2**32 - 1, 0, 0], [5, 5, 6, 6], [0] * 4
    ]  # fmt: skip
    far = onp.array(2**32 - 1, onp.uint64)  # beyond 2**32 counters, that is 2**34 words
    assert bit_generators.philox_counters(key, far, 2)[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: lax.rng_bit_generator(onp.zeros(3, onp.uint32), ()), TypeError, "uint32\\[4\\]"),
        (lambda: lax.rng_bit_generator(STATES["carry"], (), "int32"), TypeError, "dtype"),
        (lambda: lax.rng_bit_generator(STATES["carry"], (), algorithm=7), ValueError, "PHILOX"),
        (lambda: lax.rng_uniform(0.0, onp.ones(2, onp.float32), ()), TypeError, "scalar"),
        (lambda: lax.rng_uniform(onp.complex64(0), onp.complex64(1), ()), TypeError, "float or"),
        (lambda: random.wrap_key_data(WORDS[:, :2], impl="rbg"), TypeError, r"uint32\[…,4\]"),
        (lambda: random.key_dtype("mersenne"), ValueError, "unsafe_rbg"),
    ],
)
def test_wrong_uses_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_uniform_numbers_without_a_key():
    for low, high in (
        (0.0, 1.0),
        (-5, 5),
        (onp.float16(2), onp.float16(3)),
        (onp.uint8(0), onp.uint8(9)),
    ):
        x = onp.asarray(lax.rng_uniform(low, high, (100,)))
        assert (x >= low).all()
        assert (x < high).all()
        assert len(set(x.tolist())) > 5
    assert lax.rng_uniform(0, 1000, (9,)).tolist() != lax.rng_uniform(0, 1000, (9,)).tolist()
    with weft.enable_x64(True):
        assert lax.rng_uniform(0.0, 1.0, ()).dtype == onp.float64
