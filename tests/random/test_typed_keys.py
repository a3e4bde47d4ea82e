"""Typed keys are arrays: what moves elements moves keys, under every transformation.

The oracle is the same operation on the numbers 0, 1, 2, … in the places of the keys.
"""

import copy
import pickle

import numpy as onp
import pytest

import weft
from weft import dtypes, lax, numpy as np, random, tree_util

KEYS = random.split(random.key(7), 6)
WORDS = onp.asarray(random.key_data(KEYS))
EVEN = onp.array([True, False] * 3)
PLACES = np.array([3, 1, 1])

# Of an array with six elements along one axis.
OPERATIONS = {
    "index": lambda x: (x[1], x[-1], x[1:3], x[::-2], x[None], x[..., 0], x[EVEN], x[PLACES]),
    "index axes": lambda x: (x.reshape(2, 3)[1], x.reshape(2, 3)[[0, 1], [2, 0]]),
    "index traced": lambda x: x[np.argmax(np.arange(3))],
    "iterate": lambda x: [*x],
    "reshape": lambda x: (x.reshape(2, 3), np.reshape(x, (3, -1)), x.reshape(3, 2).flatten()),
    "ravel": lambda x: np.ravel(x.reshape(2, 3)),
    "axes": lambda x: (np.expand_dims(x, 1), np.squeeze(x[:1]), np.atleast_2d(x)),
    "transpose": lambda x: (x.reshape(2, 3).T, np.transpose(x.reshape(1, 2, 3), (2, 0, 1))),
    "swapaxes": lambda x: np.moveaxis(np.swapaxes(x.reshape(1, 2, 3), 1, 2), 0, -1),
    "concatenate": lambda x: (np.concatenate([x, x[:2]]), np.hstack([x, x]), np.append(x, x[:1])),
    "stack": lambda x: (np.stack([x, x]), np.vstack([x, x]), np.array([x[0], x[1]])),
    "repeat": lambda x: (np.repeat(x, 2), np.tile(x, 2), np.resize(x, (4,))),
    "order": lambda x: (np.flip(x), np.roll(x, 1), np.rot90(x.reshape(2, 3)), lax.rev(x, (0,))),
    "broadcast": lambda x: (np.broadcast_to(x, (2, 6)), lax.broadcast(x, (2,)), np.full(2, x[2])),
    "take": lambda x: (np.take(x, PLACES), np.take(x, PLACES + 4, mode="clip"), x.take(PLACES)),
    "take_along_axis": lambda x: np.take_along_axis(x, PLACES, 0),
    "where": lambda x: (np.where(np.arange(6) > 2, x, x[0]), np.where(True, x, x)),
    "select": lambda x: (
        lax.select(np.arange(6) > 2, x, x[::-1]),
        lax.select_n(np.array([0, 1, 2, 0, 1, 2]), x, x[::-1], x),
        np.select([np.arange(6) > 3, np.arange(6) > 1], [x, x[::-1]], x[0]),
        np.choose(np.array([0, 1]), [x[:2], x[2:4]]),
    ),
    "set": lambda x: (x.at[2].set(x[0]), x.at[PLACES[:2]].set(x[4:]), x.at[1:3].set(x[0])),
    "get": lambda x: (x.at[PLACES].get(), x.at[9].get(mode="clip")),
    "dynamic_slice": lambda x: (
        lax.dynamic_slice(x, (2,), (3,)),
        lax.dynamic_index_in_dim(x, 3, keepdims=False),
        lax.dynamic_update_slice(x, x[:2], (3,)),
        lax.dynamic_update_index_in_dim(x, x[0], 3, 0),
    ),
    "slice": lambda x: (lax.index_in_dim(x, 2), lax.slice(x, (1,), (5,), (2,))),
    "split": lambda x: (np.split(x, 3), np.array_split(x, 4), np.unstack(x)),
    "copy": lambda x: (np.copy(x), x.copy(), np.array(x), np.asarray(x), x.astype(x.dtype)),
    "identity": lambda x: (lax.stop_gradient(x), lax.optimization_barrier(x)),
    "edit": lambda x: (np.insert(x, 1, x[3]), np.delete(x, 1)),
    "pad": lambda x: (lax.pad(x, x[0], ((1, 1, 0),)), np.pad(x, 1, mode="edge")),
    "shuffle": lambda x: (random.permutation(random.key(3), x), random.choice(random.key(3), x)),
    "scan": lambda x: lax.scan(lambda c, k: (k, c), x[0], x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: x[i], x[5]),
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, x[c[0]]), (0, x[5])
    )[1],
    "cond": lambda x: lax.cond(np.argmax(np.arange(2)) > 0, lambda a: a[0], lambda a: a[1], x),
    "switch": lambda x: lax.switch(PLACES[1], [lambda a: a[0], lambda a: a[1]], x),
    "map": lambda x: (lax.map(lambda k: k, x), weft.vmap(lambda k: k)(x)),
    "call": lambda x: (weft.jit(lambda k: k[::2])(x), weft.checkpoint(lambda k: k[::2])(x)),
    "device_put": lambda x: weft.device_put(x),
}


def every_operation(x):
    return {name: operation(x) for name, operation in OPERATIONS.items()}


def of_batch(x):
    both = weft.vmap(every_operation)(np.stack([x[::-1], x]))
    return tree_util.tree_map(lambda a: a[1], both)


def in_scan(x):
    _, stacked = lax.scan(lambda c, x: (c, every_operation(x)), 0, x[None])
    return tree_util.tree_map(lambda a: a[0], stacked)


def checked(x):
    with weft.enable_checks(True):
        return every_operation(x)


def beside_a_gradient(x):
    def f(scale):
        return scale * 2, every_operation(x)

    return weft.value_and_grad(f, has_aux=True)(1.0)[0][1]


TRANSFORMATIONS = {
    "eager": every_operation,
    "checks": checked,
    "jit": weft.jit(every_operation),
    "vmap": of_batch,
    "jit of vmap": weft.jit(of_batch),
    "scan": in_scan,
    "checkpoint": weft.checkpoint(every_operation),
    "grad": beside_a_gradient,
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_operations_move_keys_as_they_move_numbers(name):
    found, expected = TRANSFORMATIONS[name](KEYS), every_operation(np.arange(6))
    for operation in OPERATIONS:
        keys, numbers = map(tree_util.tree_leaves, (found[operation], expected[operation]))
        assert len(keys) == len(numbers), operation
        for key, number in zip(keys, numbers, strict=True):
            assert key.dtype == KEYS.dtype, operation
            assert key.shape == number.shape, operation
            words = random.key_data(key)
            onp.testing.assert_array_equal(words, WORDS[onp.asarray(number)], operation)


# --- what a key is ---


def test_a_key_is_an_array_with_a_dtype_of_its_own():
    key = random.key(0)
    assert isinstance(key, weft.Array)
    assert str(key.dtype) == repr(key.dtype) == key.dtype.name == "key<fry>"
    assert (key.shape, key.ndim, key.size, key.itemsize) == ((), 0, 1, 8)
    assert tree_util.tree_leaves({"a": key}) == [key]
    assert tree_util.tree_map(lambda k: k.shape, [KEYS]) == [(6,)]
    assert key.block_until_ready() is key
    assert weft.device_get(KEYS) is KEYS
    for issubdtype in (dtypes.issubdtype, np.issubdtype):
        assert issubdtype(key.dtype, dtypes.prng_key)
        assert issubdtype(key.dtype, dtypes.extended)
        assert issubdtype(key.dtype, key.dtype)
        assert not issubdtype(key.dtype, onp.integer)
        assert not issubdtype(onp.uint32, dtypes.prng_key)
        assert not issubdtype(key.dtype, onp.uint64)
    assert np.result_type(key, key) == dtypes.canonicalize_dtype(key.dtype) == key.dtype


def test_keys_are_printed_with_their_words():
    for text in (repr(random.key(5)), str(random.key(5)), f"{random.key(5)}"):
        assert text == "Array((), dtype=key<fry>) overlaying:\n[0 5]"
    assert str(weft.make_jaxpr(lambda k: k[None])(random.key(0))).startswith(
        "{ lambda ; a:key<fry>[]. let"
    )
    assert "key<fry>[6]" in str(KEYS.aval)
    seen = []
    weft.jit(lambda k: seen.append(repr(k)))(KEYS)
    assert "key<fry>[6]" in seen[0]


def test_copies_and_pickles_are_equal():
    for other in (copy.copy(KEYS), copy.deepcopy(KEYS), pickle.loads(pickle.dumps(KEYS))):
        assert (other == KEYS).all()
    assert pickle.loads(pickle.dumps(KEYS.dtype)) is KEYS.dtype


def test_equality_is_elementwise():
    assert (KEYS[2] == KEYS).tolist() == [False, False, True, False, False, False]
    assert (
        weft.jit(lambda a, b: a != b)(KEYS, KEYS[2]).tolist() == [True] * 2 + [False] + [True] * 3
    )
    same = random.wrap_key_data(np.array([1, 2], "uint32"))
    other = random.wrap_key_data(np.array([1, 3], "uint32"))
    assert [bool(same == k) for k in (same, other)] == [True, False]
    assert bool(np.array_equal(KEYS, KEYS))
    assert KEYS.at[9].get(mode="fill") == random.wrap_key_data(np.full(2, 2**32 - 1, "uint32"))


def test_no_key_is_nan():
    keys = random.split(random.key(0))
    for isnan in (np.isnan, weft.jit(np.isnan)):
        assert isnan(keys).tolist() == [False, False]


def test_zeros_like_keys_are_keys():
    for zeros in (np.zeros_like(KEYS), np.zeros(6, KEYS.dtype), weft.jit(np.empty_like)(KEYS)):
        assert zeros.dtype == KEYS.dtype
        assert not random.key_data(zeros).any()


def test_words_go_in_and_out():
    assert random.key_data(random.key(2**31 + 1)).tolist() == [0, 2**31 + 1]
    for f in (lambda w: random.key_data(random.wrap_key_data(w)),):
        for run in (f, weft.jit(f), weft.vmap(f), weft.jit(weft.vmap(f))):
            onp.testing.assert_array_equal(run(WORDS), WORDS)
    assert random.wrap_key_data(WORDS[:, ::-1].copy()[:, ::-1]).shape == (6,)
    assert random.clone(KEYS).shape == (6,)
    assert random.key_impl(KEYS) == "threefry2x32"


# --- transformations ---


def test_shapes_are_evaluated_without_keys():
    key = weft.ShapeDtypeStruct((), KEYS.dtype)
    out = weft.eval_shape(lambda k: random.split(k, 3), key)
    assert (out.shape, out.dtype) == ((3,), KEYS.dtype)
    assert out == weft.ShapeDtypeStruct((3,), KEYS.dtype)
    compiled = weft.jit(random.split).lower(key).compile()
    assert (compiled(KEYS[0]) == random.split(KEYS[0])).all()


def test_a_key_has_no_tangent():
    key, zero = random.key(1), onp.zeros((), dtypes.float0)

    def f(key, x):
        return x * random.uniform(key)

    d_key, dx = weft.grad(f, argnums=(0, 1), allow_int=True)(key, 2.0)
    assert (d_key.dtype, dx) == (dtypes.float0, random.uniform(key))
    out, tangent = weft.jvp(random.split, (key,), (zero,))
    assert (out.dtype, tangent.dtype, tangent.shape) == (key.dtype, dtypes.float0, (2,))
    _, pullback = weft.vjp(lambda x: (x, key), 1.0)
    assert pullback((3.0, zero)) == (3.0,)
    with pytest.raises(TypeError, match="floating-point"):
        weft.grad(f)(key, 2.0)


def test_loops_and_rules_carry_keys():
    def step(x, key):
        key, sub = random.split(key)
        return x * random.uniform(sub), key

    x, key = 1.0, KEYS[0]
    for _ in range(3):
        x, key = step(x, key)
    scanned = weft.jit(weft.grad(lambda x: lax.scan(
        lambda c, _: (step(*c), None), (x, KEYS[0]), length=3)[0][0]))  # fmt: skip
    onp.testing.assert_allclose(scanned(1.0), x, rtol=1e-5)

    @weft.custom_vjp
    def f(x, key):
        return x * random.uniform(key)

    f.defvjp(lambda x, k: (f(x, k), k), lambda k, g: (3 * g * random.uniform(k), None))
    expected = [3 * random.uniform(k).item() for k in KEYS]
    onp.testing.assert_allclose(weft.jit(weft.vmap(weft.grad(f), (None, 0)))(1.0, KEYS), expected)
    again = weft.vmap(
        lambda n, k: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, k)
        )[1]
    )(np.array([0, 1]), KEYS[:2])
    assert (again == np.stack([KEYS[0], random.split(KEYS[1])[0]])).all()


def test_devices_hold_keys():
    n = min(2, weft.device_count())
    keys = random.split(random.key(3), n)
    expected = [random.uniform(k).item() for k in keys]
    assert weft.pmap(random.uniform)(keys).tolist() == expected
    assert (weft.pmap(lambda k: k)(keys) == keys).all()
    mesh = weft.sharding.Mesh(weft.devices()[:n], ("d",))
    over = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec("d"))
    placed = weft.device_put(keys, over)
    assert (placed == keys).all()
    assert weft.jit(lambda k: k[::-1])(placed)[0] == keys[-1]
    assert [s.data.dtype for s in placed.addressable_shards] == [keys.dtype] * n
    assert pickle.loads(pickle.dumps(placed))[0] == keys[0]


def test_callbacks_get_keys():
    seen = []
    spec = weft.ShapeDtypeStruct((), KEYS.dtype)

    def f(key):
        return weft.pure_callback(
            lambda k: seen.append(k) or random.split(k)[0], spec, key, vmap_method="sequential"
        )

    expected = random.split(KEYS[0])[0]
    assert f(KEYS[0]) == expected
    assert weft.jit(f)(KEYS[0]) == expected
    assert weft.vmap(f)(KEYS[:2])[0] == expected
    assert {str(k.aval) for k in seen} == {"key<fry>[]"}


# --- streams ---

X = np.array([0.2, 0.3, 0.5])
SAMPLERS = {
    "bits": lambda k: random.bits(k, (3,)),
    "fold_in": lambda k: random.fold_in(k, 3),
    "permutation": lambda k: random.permutation(k, 5),
    "split": lambda k: random.split(k, (2, 3)),
    "uniform": lambda k: random.uniform(k, (3,)),
}
OTHERS = {
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (3,)),
    "categorical": lambda k: random.categorical(k, X, shape=(4,)),
    "choice": lambda k: random.choice(k, 5, (2,), replace=False),
    "normal": lambda k: random.normal(k, (3,)),
    "randint": lambda k: random.randint(k, (3,), 0, 9),
    "truncated_normal": lambda k: random.truncated_normal(k, -1, 1, (3,)),
}


def same_words(raw, typed):
    words = tree_util.tree_map(lambda x: random.key_data(x) if x.dtype == KEYS.dtype else x, typed)
    tree_util.tree_map(onp.testing.assert_array_equal, raw, words)


@pytest.mark.parametrize("partitionable", [False, True])
def test_streams_are_those_of_raw_keys(partitionable):
    def sample(key):
        return {name: f(key) for name, f in SAMPLERS.items()}

    weft.config.update("threefry_partitionable", partitionable)
    try:
        for run in (sample, weft.jit(sample)):
            same_words(run(WORDS[0]), run(KEYS[0]))
        for run in (weft.vmap(sample), lambda keys: lax.map(sample, keys)):
            same_words(run(WORDS[:2]), run(KEYS[:2]))
        for sampler in OTHERS.values():
            same_words(sampler(WORDS[0]), sampler(KEYS[0]))
    finally:
        weft.config.update("threefry_partitionable", False)


# --- what keys aren't ---

REFUSED = {
    "add": lambda k: k + 1,
    "add keys": lambda k: k + k,
    "multiply": lambda k: 2.0 * k,
    "negative": lambda k: -k,
    "less": lambda k: k < k,
    "equal to a number": lambda k: k == 0,
    "equal to words": lambda k: k == random.key_data(k),
    "sin": np.sin,
    "floor": np.floor,
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "any": np.any,
    "argmax": np.argmax,
    "sort": np.sort,
    "cumsum": np.cumsum,
    "dot": lambda k: np.dot(k, k),
    "clip": lambda k: np.clip(k, 0, 1),
    "astype": lambda k: k.astype("uint32"),
    "astype of numbers": lambda k: np.arange(3).astype(k.dtype),
    "view": lambda k: k.view("uint32"),
    "bitcast": lambda k: lax.bitcast_convert_type(k, np.uint32),
    "convert": lambda k: lax.convert_element_type(k, np.float32),
    "where": lambda k: np.where(True, k, 0),
    "set to a number": lambda k: k.at[0].set(1),
    "add to": lambda k: k.at[0].add(1),
    "set numbers": lambda k: np.zeros(3).at[0].set(k[0]),
    "ones": np.ones_like,
    "full": lambda k: np.full_like(k, 1),
}
REFUSED_NOW = {
    "int": lambda k: int(k[0]),
    "bool": lambda k: bool(k[0]),
    "item": lambda k: k[0].item(),
    "tolist": lambda k: k.tolist(),
    "asarray": onp.asarray,
    "NumPy's operator": lambda k: onp.ones(6) + k,
    "dlpack": onp.from_dlpack,
    "nonzero": np.nonzero,
}


@pytest.mark.parametrize("name", [*REFUSED, *REFUSED_NOW])
def test_keys_are_no_numbers(name):
    operation = REFUSED.get(name) or REFUSED_NOW[name]
    with pytest.raises(TypeError, match="key_data"):
        operation(KEYS)
    if name in REFUSED:
        for transformed, keys in ((weft.jit(operation), KEYS), (weft.vmap(operation), KEYS[None])):
            with pytest.raises(TypeError, match="key_data"):
                transformed(keys)


def test_keys_are_no_indices():
    for index in (KEYS, KEYS[0]):
        with pytest.raises(TypeError, match="index"):
            np.arange(3)[index]
    with pytest.raises(TypeError, match=r"pred.*key<fry>"):
        lax.cond(KEYS[0], lambda: 1, lambda: 2)


def test_one_key_is_asked_for():
    with pytest.raises(TypeError, match=r"normal: expected one key, key<fry>\[\].*key<fry>\[6\]"):
        random.normal(KEYS)
