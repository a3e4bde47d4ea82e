"""The streams never change: values of both kinds, recorded for every function."""

import pathlib

import numpy as np
import pytest
import random_streams as cases
import sampling

import weft
from weft import random
from weft.config import config, threefry_partitionable

DATA = pathlib.Path(__file__).parent / "data"
KINDS = ("classic", "partitionable")
FILES = {name.stem: dict(np.load(name)) for name in sorted(DATA.glob("*.npz"))}
EXACT = {**cases.KEYS, **cases.BITS, **cases.INTEGERS, **cases.COUNTS}
# Logarithms and erf_inv differ in the last bits from library to library.
TOLERANCE = {
    "float16": 3e-3,
    "bfloat16": 2e-2,
    "float32": 8e-6,
    "complex64": 8e-6,
    "float64": 1e-13,
}


@pytest.fixture(params=KINDS)
def kind(request):
    config.update("threefry_partitionable", request.param == "partitionable")
    yield request.param
    config.update("threefry_partitionable", False)


def same(got, expected):
    assert got.shape == expected.shape
    tolerance = TOLERANCE.get(got.dtype.name)
    name = got.dtype.name
    got = np.asarray(got)
    if name == "bfloat16":
        got = got.astype(np.float32)
    assert got.dtype == expected.dtype
    if tolerance is None:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_every_function_has_a_case():
    sources = pathlib.Path(cases.__file__).read_text()
    plain = {"Key", "clone", "key", "key_data", "key_dtype", "key_impl", "shuffle", "wrap_key_data"}
    assert [n for n in random.__all__ if n not in plain and f"r.{n}(" not in sources] == []


@pytest.mark.parametrize("label", EXACT)
def test_integers_and_bits_are_those_recorded(kind, label):
    for seed in cases.SEEDS:
        expected = FILES[kind][f"{seed}/{label}"]
        key = random.PRNGKey(seed)
        got = EXACT[label](random, key)
        same(got, expected)
        same(EXACT[label](random, key), expected)  # a second call runs a plan


@pytest.mark.parametrize("label", cases.FLOATS)
def test_floats_are_those_recorded(kind, label):
    for seed in cases.SEEDS:
        expected = FILES[kind][f"{seed}/{label}"]
        key = random.PRNGKey(seed)
        same(cases.FLOATS[label](random, key), expected)
        same(cases.FLOATS[label](random, key), expected)


@pytest.mark.parametrize("label", cases.NEWER)
def test_what_came_later_is_as_recorded(kind, label):
    for seed in cases.SEEDS[:1] if ":" in label else cases.SEEDS:
        expected = FILES[f"newer_{kind}"][f"{seed}/{label}"]
        same(cases.NEWER[label](random, random.PRNGKey(seed)), expected)


def test_compiled_streams_are_those_recorded(kind):
    skipped = ("PRNGKey",)  # makes its own keys
    chosen = {k: v for k, v in {**EXACT, **cases.FLOATS}.items() if k not in skipped}
    some = sampling.some(chosen, len(chosen) // 4, f"compiled streams {kind}")
    for part in np.array_split(some, 3):
        outs = weft.jit(lambda key, part=part: {n: chosen[n](random, key) for n in part})(
            random.PRNGKey(42)
        )
        for label, out in outs.items():
            same(out, FILES[kind][f"42/{label}"])


def test_both_modes_compiled_are_those_recorded(kind):
    for seed in cases.SEEDS:
        outs = weft.jit(lambda key: {n: case(random, key) for n, case in cases.FINE.items()})(
            random.PRNGKey(seed)
        )
        for label, out in outs.items():
            same(out, FILES[f"newer_{kind}"][f"{seed}/fine {label}"])


def test_64_bits(kind):
    config.update("enable_x64", True)
    try:
        for seed in cases.SEEDS:
            for label, case in cases.IN_64_BITS.items():
                expected = FILES[f"{kind}_64"][f"{seed}/{label}"]
                same(np.asarray(case(random, random.PRNGKey(seed))), expected)
                if label != "PRNGKey":
                    same(weft.jit(lambda k, f=case: f(random, k))(random.PRNGKey(seed)), expected)
    finally:
        config.update("enable_x64", False)


def test_streams_of_the_second_system(kind):
    expected = FILES[f"recorded_{kind}"]
    key = random.PRNGKey(42)
    same(key, expected["prng"])
    same(random.split(key), expected["split"])
    same(random.split(key, 3), expected["split3"])
    same(random.fold_in(key, 5), expected["fold_in"])
    same(random.uniform(key, (5,)), expected["uniform"])
    same(random.uniform(key, (2, 3), np.float32, -2.0, 3.0), expected["uniform_range"])
    same(random.normal(key, (2, 3)), expected["normal"])
    same(random.randint(key, (7,), 0, 100), expected["randint"])
    same(random.bernoulli(key, 0.3, (9,)), expected["bernoulli"])


def test_the_switch_can_be_set_for_one_thread():
    key = random.PRNGKey(0)
    classic = random.bits(key, (4,)).tolist()
    with threefry_partitionable(True):
        newer = random.bits(key, (4,)).tolist()
        assert newer == FILES["partitionable"]["0/bits 32 (5,)"][:4].tolist()
    assert random.bits(key, (4,)).tolist() == classic != newer
