"""Types of arrays: what an array is and where; and the values that are cached by their number."""

import itertools

import numpy as np
import pytest

import weft
from weft.core.placement import ANYWHERE, OnDevice, joined_placement, on_device, type_on
from weft.sharding import Mesh, NamedSharding, PartitionSpec

DEVICES = weft.devices()
X = np.arange(8, dtype=np.float32)


def over(devices, *spec):
    return NamedSharding(Mesh(devices, "x"), PartitionSpec(*spec))


def test_the_aval_is_the_type_of_an_array_that_may_be_anywhere():
    x = weft.numpy.asarray(X)
    assert x.type is x.aval
    assert x.aval.aval is x.aval
    assert x.type.placement is ANYWHERE
    assert (x + 1).type is x.type


def test_types_of_one_aval_in_one_place_are_one_object():
    first, second = [weft.device_put(X, DEVICES[1]) for _ in range(2)]
    assert first.type is second.type
    assert first.type is not first.aval
    assert first.type.placement.devices == (DEVICES[1],)
    divided = [weft.device_put(X, over(DEVICES[:4], "x")) for _ in range(2)]
    assert divided[0].type is divided[1].type
    assert divided[0].type is not weft.device_put(X, over(DEVICES[:4])).type
    assert divided[0].type.aval is first.aval


def test_a_tracer_has_no_type():
    seen = []
    weft.jit(lambda x: seen.append(x.type) or x)(X)
    assert seen == [None]


A, B = DEVICES[1], DEVICES[2]
PAIR = weft.device_put(X, over([A, B], "x")).type
TURNED = weft.device_put(X, over([B, A])).type
ALONE = weft.device_put(X, over([A], "x")).type
AVAL = PAIR.aval
ON_A, ON_B, CHOSEN = [
    type_on(AVAL, p) for p in (on_device(A), on_device(B), on_device(A, committed=False))
]


@pytest.mark.parametrize(
    ("types", "devices"),
    [
        ([], None),
        ([AVAL, CHOSEN], None),
        ([AVAL, ON_A, CHOSEN], {A}),
        ([ON_A, ON_A], {A}),
        ([PAIR, AVAL, TURNED], {A, B}),
        ([ON_A, ALONE], {A}),
        ([ON_A, ON_B], "cpu:1, .* to cpu:2"),
        ([ALONE, ON_B], "NamedSharding.* to cpu:2"),
        ([PAIR, AVAL, ON_A], r"argument 0\) to NamedSharding.*argument 2\) to cpu:1"),
        ([PAIR, ALONE], "different devices"),
    ],
)
def test_where_arguments_meet(types, devices):
    for order in itertools.permutations(range(len(types))) if devices is None else [range(9)]:
        found = [types[i] for i in order if i < len(types)]
        if isinstance(devices, str):
            with pytest.raises(ValueError, match=devices):
                joined_placement("f", found, range(len(found)))
            continue
        placement = joined_placement("f", found, range(len(found)))
        assert placement.committed == (devices is not None)
        assert set(placement.devices) == (devices or set())


def test_only_arguments_that_are_used_count():
    assert joined_placement("f", [ON_A, ON_B], [1]).devices == (B,)
    assert isinstance(joined_placement("f", [PAIR, ON_B], [1]), OnDevice)


@pytest.mark.parametrize("first", range(4))
def test_complex_literals_with_signed_zeros(first):
    """Equal numbers are different literals, whichever comes first."""
    number = 2.5 + first  # of which no literal has been made yet
    forms = [
        complex(a, b)
        for part in ((number, 0.0), (number, -0.0), (-number, 0.0), (-number, -0.0))
        for a, b in (part, part[::-1])
    ]
    forms = forms[first * 2 :] + forms[: first * 2]
    for x in forms:
        for function in (np.sqrt, np.log):
            expected = function(np.complex64(x))
            got = getattr(weft.numpy, function.__name__)(x)
            np.testing.assert_array_equal(
                np.signbit(np.asarray(got).imag), np.signbit(expected.imag)
            )
            np.testing.assert_allclose(got, expected, rtol=1e-6)
    zeros = weft.numpy.zeros(1, np.complex64)
    for x in forms:
        got, expected = np.asarray(zeros - x), np.zeros(1, np.complex64) - np.complex64(x)
        for part in ("real", "imag"):
            a, b = getattr(got, part), getattr(expected, part)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
