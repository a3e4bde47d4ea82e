"""`Parallel` against its rules written out."""

import itertools

import pytest

from weft import data


def letters(n):
    return [lambda c=c: itertools.repeat(c) for c in "abcdef"[:n]]


def drawn(count, *args, **options):
    return "".join(
        itertools.islice(data.Parallel(letters(len(args[0])), *args, **options)(), count)
    )


def test_streams_take_turns():
    assert "".join(itertools.islice(data.Parallel(letters(3))(), 7)) == "abcabca"


def test_counters():
    assert drawn(12, (2, 1, 3)) == "abcacc" * 2
    assert drawn(6, (1, 0, 2)) == "accacc"
    assert drawn(6, (2, 1)) == "ababaa"  # the second round begins behind the end of the first


@pytest.mark.parametrize("counters", [(2, 1, 3), (5, 2), (1, 4, 2, 7)])
def test_a_round_has_the_number_of_each(counters):
    text = drawn(sum(counters) * 3, counters)
    for i in range(3):
        part = text[i * sum(counters) : (i + 1) * sum(counters)]
        assert [part.count(c) for c in "abcdef"[: len(counters)]] == list(counters)


def test_reweight_by_minimum():
    assert drawn(12, (20, 45), reweight_by_minimum=True) == drawn(12, (1, 2))


def test_gradually_reweight():
    """One of the smallest, then ⌊c₁/c₀⌋ times: one of the next, then ⌊c₂/c₁⌋ of the last."""
    assert drawn(11, (7, 1, 3), gradually_reweight=True) == "b" + "caa" * 3 + "b"
    assert drawn(8, (4, 2), gradually_reweight=True) == "baabaaba"


def test_use_remainders():
    """(2, 4): b a a is one round of 1 and 2; 2 - 1 and 4 - 2 are left."""
    assert drawn(6, (4, 2), gradually_reweight=True, use_remainders=True) == "baa" + "b" + "aa"
    assert drawn(13, (7, 1, 3), gradually_reweight=True, use_remainders=True) == "bcaacaacaaabc"


def test_it_ends_with_the_stream_that_has_ended():
    short = [lambda: iter("ab"), lambda: iter("xyz")]
    assert "".join(data.Parallel(short)()) == "axby"
    assert "".join(data.Parallel(short, counters=(1, 3))()) == "axyzb"
    assert list(data.Parallel([lambda: iter(""), lambda: iter("x")])()) == []


def test_streams_of_one_input():
    parallel = data.Parallel([data.Map(str.upper), data.Map(str.lower)])
    assert "".join(parallel("aBCd")) == "AbCd"


def test_streams_have_seeds_of_their_own():
    fns = [data.Serial(lambda: iter(range(10)), data.Shuffle(10)) for _ in range(2)]
    stream = data.Serial(data.Parallel(fns))()
    out = list(stream)
    assert out[::2] != out[1::2]
    assert sorted(out) == sorted([*range(10)] * 2)
    again = data.Serial(data.Parallel(fns))()
    again.set_state({**stream.get_state(), "at": None, "ended": False})
    assert list(again) == out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "fns must be a list of functions; got None"),
        (([],), "fns must be a list of functions"),
        ((letters(2), (1,)), "counters must have one number for each of 2 streams"),
        ((letters(2), (0, 0)), "counters must have one number for each of 2 streams, not all 0"),
        ((letters(2), (1, -1)), r"counters\[1\] must be at least 0"),
        (([5],), "stage 0 must be a function from an iterator to an iterator; got int"),
        ((letters(2), None, 1), "reweight_by_minimum must be True or False"),
    ],
)
def test_errors(args, text):
    with pytest.raises((TypeError, ValueError), match=f"Parallel: {text}"):
        data.Parallel(*args)
