"""`Serial` and its streams: order, epochs, positions. A stream that goes to a position gives what
the uninterrupted one gave, for each stage and for pipelines put together at random."""

import gc
import itertools
import json
import random
import threading
import time

import numpy as np
import pytest

from weft import data
from weft.errors import CheckpointError, ShapeError


def pairs(n):
    """A source of n pairs of sequences of several lengths."""

    def source():
        for i in range(n):
            length = 1 + (7 * i) % 9
            yield np.arange(i, i + length), np.full(length, i)

    return source


def ints(n):
    return lambda: iter(range(n))


def same(a, b):
    """True if two examples have the same structure, elements and dtypes."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b)


ROWS = np.arange(60).reshape(30, 2), np.arange(30)
SOURCES = {
    "function": pairs(40),
    "Arrays": data.Arrays(*ROWS),
    "Arrays shuffled": data.Arrays(*ROWS, shuffle=True, epochs=2, seed=3),
    "Arrays endless": data.Arrays(*ROWS, shuffle=True, epochs=None),
    "Examples": data.Examples([(np.arange(i), i) for i in range(1, 30)], shuffle=True, seed=1),
    "Windows": data.Windows(bytes(range(200)), 5, shuffle=True, epochs=3),
    "Parallel": data.Parallel([pairs(20), data.Arrays(*ROWS, shuffle=True)], counters=(2, 1)),
    "nested": data.Serial(pairs(40), data.Shuffle(3)),
}
STAGES = {
    "Shuffle": lambda: data.Shuffle(5, seed=4),
    "Shuffle unseeded": lambda: data.Shuffle(4),
    "Map": lambda: data.Map(lambda e: (np.asarray(e[0]) + 1, *e[1:])),
    "FilterByLength": lambda: data.FilterByLength(7, 1, length_keys=[0]),
    "TruncateToLength": lambda: data.TruncateToLength({0: 4}),
    "PadToLength": lambda: data.PadToLength({0: 3}, multiple=True),
    "CastTo": lambda: data.CastTo(np.float32, (0,)),
    "AppendValue": lambda: data.AppendValue({0: 1}),
    "Dup": data.Dup,
    "Prefetch": lambda: data.Prefetch(2),
    "UniformlySeek": lambda: data.UniformlySeek("x", 1, 4, 12),
    "FilterEmptyExamples": data.FilterEmptyExamples,
    "user": lambda: lambda stream: itertools.islice(stream, 1, None, 2),
}
LAST = {
    "Batch": lambda: data.Batch(3),
    "BucketByLength": lambda: data.BucketByLength([2, 5], [2, 3, 2], [0]),
    "Batch, Prefetch": lambda: [data.Batch(2), data.Prefetch(3)],
    "Batch, UnBatch, Batch": lambda: [data.Batch(2), data.UnBatch(), data.Batch(3)],
    "nothing": list,
}


def law(pipeline, drawn, following=6):
    """The position after `drawn` examples, written as JSON, leads two other streams on."""
    stream = pipeline()
    for _ in range(drawn):
        if next(stream, None) is None:
            break
    state = json.loads(json.dumps(stream.get_state()))
    expected = list(itertools.islice(stream, following))
    fresh = pipeline()
    fresh.set_state(state)
    assert same(list(itertools.islice(fresh, following)), expected)
    stream.set_state(state)
    assert same(list(itertools.islice(stream, following)), expected)
    assert json.dumps(stream.get_state()) == json.dumps(fresh.get_state())
    stream.close()
    fresh.close()


@pytest.mark.parametrize("drawn", [0, 1, 7])
@pytest.mark.parametrize("stage", STAGES)
def test_a_stream_goes_to_a_position_through_each_stage(stage, drawn):
    law(data.Serial(pairs(40), STAGES[stage]()), drawn)


@pytest.mark.parametrize("drawn", [0, 3, 29, 30, 100])
@pytest.mark.parametrize("source", SOURCES)
def test_a_stream_goes_to_a_position_in_each_source(source, drawn):
    law(data.Serial(SOURCES[source]), drawn)


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("case", range(16))
def test_pipelines_put_together_at_random(case, last):
    choose = random.Random(f"{case} {last}")
    stages = [STAGES[choose.choice(list(STAGES))]() for _ in range(choose.randrange(4))]
    stages.append(data.Map(lambda e: tuple(np.atleast_1d(x) for x in e[:2])))
    source = SOURCES[choose.choice(list(SOURCES))]
    law(data.Serial(source, stages, LAST[last]()), choose.randrange(12), choose.randrange(1, 5))


@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("source", [name for name in SOURCES if name != "Arrays endless"])
def test_positions_in_later_epochs(source, epoch):
    first = data.Map(lambda e: (np.atleast_1d(e[0]),))
    pipeline = data.Serial(SOURCES[source], first, data.Shuffle(4, seed=1), data.Batch(2))
    stream = pipeline()
    for _ in range(epoch):
        list(stream)
    iter(stream)
    expected = [next(stream) for _ in range(3)]
    state = json.loads(json.dumps(stream.get_state()))
    expected += [next(stream) for _ in range(3)]
    assert state["epoch"] == epoch
    stream = pipeline()
    stream.set_state(state)
    assert same([next(stream) for _ in range(3)], expected[3:])
    stream.set_state({**state, "at": None})
    assert same([next(stream) for _ in range(6)], expected)


def test_serial_is_the_composition_of_its_stages():
    def double(stream):
        for x in stream:
            yield x, 2 * x

    def odd(stream):
        return (pair for pair in stream if pair[0] % 2)

    expected = list(odd(double(range(9))))
    assert list(data.Serial(ints(9), double, odd)()) == expected
    assert list(data.Serial(double, [odd])(range(9))) == expected
    assert list(data.Serial([ints(9), (double, [odd])])()) == expected
    assert list(data.Serial(data.Serial(ints(9), double), odd)()) == expected
    assert list(data.Serial(lambda _: iter(range(9)), double, odd)()) == expected
    assert list(data.Serial()(range(3))) == [0, 1, 2]


def test_a_call_makes_a_stream_of_its_own():
    pipeline = data.Serial(ints(5), data.Shuffle(5, seed=2))
    a, b = pipeline(), pipeline()
    assert list(a) == list(b)
    assert next(a, "end") == "end"


def test_iter_begins_the_next_epoch_at_the_end_only():
    stream = data.Serial(ints(4))()
    assert [x for x, _ in zip(stream, range(2), strict=False)] == [0, 1]
    assert list(stream) == [3]  # zip took one more
    assert next(stream, "end") == "end"
    assert next(stream, "end") == "end"
    assert list(stream) == [0, 1, 2, 3]


def test_epochs_have_orders_of_their_own_and_the_same_ones_each_time():
    def epochs(seed):
        stream = data.Serial(ints(20), data.Shuffle(8, seed=seed))()
        return [list(stream) for _ in range(3)]

    first, second, third = epochs(7)
    assert first != second != third
    assert sorted(first) == sorted(second) == list(range(20))
    assert epochs(7) == [first, second, third]
    assert epochs(8) != [first, second, third]


def test_without_a_seed_numpys_global_generator_decides_and_the_state_has_it():
    pipeline = data.Serial(ints(50), data.Shuffle(50))
    np.random.seed(5)
    first = list(pipeline())
    second = list(pipeline())
    np.random.seed(5)
    assert list(pipeline()) == first != second
    np.random.seed(6)
    stream = pipeline()
    (seed,) = [b for b in stream.get_state()["begun"] if b is not None]
    assert list(data.Serial(ints(50), data.Shuffle(50, seed=seed))()) == list(stream)


def test_seeded_streams_leave_numpys_global_generator_alone():
    before = np.random.get_state()[1].copy()
    stages = [data.Shuffle(3, seed=0), data.MLM(100, 5, seed=1)]
    list(data.Serial(data.Arrays(np.arange(9), shuffle=True, seed=1), data.Batch(3))())
    list(data.Serial(lambda: iter([np.arange(9)]), stages)())
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_a_source_with_a_position_is_not_read_again():
    read = []

    class Numbers:
        def __len__(self):
            return 1000

        def __getitem__(self, i):
            read.append(i)
            return np.array([i])

    stages = [
        data.Map(lambda e: e),
        data.Dup(),
        data.FilterByLength(5, length_keys=[1]),
        data.Batch(10),
        data.AddLossWeights(),
        data.Prefetch(2),
    ]
    pipeline = data.Serial(data.Examples(Numbers()), stages)
    stream = pipeline()
    for _ in range(80):
        next(stream)
    state, expected = stream.get_state(), next(stream)
    assert state["at"] == {"pass": 0, "index": 800}
    stream.close()
    read.clear()
    stream = pipeline()
    stream.set_state(state)
    assert same(next(stream), expected)
    stream.close()
    assert min(read) == 800


def test_a_foreign_iterator_with_a_position_is_asked_for_it():
    class Count:
        """As grain's iterators are; the position is of bytes, as that of its loaders."""

        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            return self.n

        def get_state(self):
            return str(self.n).encode()

        def set_state(self, state):
            self.n = int(state)

    pipeline = data.Serial(Count, data.Map(lambda x: (x,)), data.Batch(2))
    law(pipeline, 5)
    stream = pipeline()
    next(stream)
    assert set(stream.get_state()["at"]) == {"base64"}
    law(data.Serial(Count, data.Shuffle(3, seed=1)), 5)
    outer = data.Serial(data.Shuffle(3, seed=1), data.Map(lambda x: (x,)), data.Batch(2))
    law(lambda: outer(Count()), 5)
    law(lambda: data.Serial(data.Batch(2))(data.Serial(pairs(20), data.Shuffle(4, seed=2))()), 3)
    law(lambda: data.Serial(data.Shuffle(3, seed=1))(data.Serial(pairs(20), data.Shuffle(4))()), 3)


def test_the_position_of_a_stage_is_not_that_of_its_input():
    class Doubled:
        def __init__(self, examples):
            self.examples = examples
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            return 2 * next(self.examples)

        def get_state(self):
            return self.n

        def set_state(self, state):
            self.n = state

    law(lambda: data.Serial(Doubled)(list(range(20))), 5)
    law(data.Serial(ints(20), Doubled), 5)


def test_an_input_that_can_begin_again_does_so_at_each_epoch():
    stage = data.Serial(data.Map(lambda x: x + 1))
    stream = stage([1, 2])
    assert [list(stream), list(stream)] == [[2, 3], [2, 3]]
    stream = stage(data.Serial(ints(2))())
    assert [list(stream), list(stream)] == [[1, 2], [1, 2]]
    stream = stage(iter([1, 2]))
    assert [list(stream), list(stream)] == [[2, 3], []]


def test_an_iterator_goes_on_to_a_later_position_and_not_back():
    def make():
        return data.Serial(data.Shuffle(3, seed=0), data.Map(lambda x: x))(iter(range(20)))

    ahead = make()
    [next(ahead) for _ in range(6)]
    state, expected = ahead.get_state(), list(ahead)
    stream = make()
    early = stream.get_state()
    next(stream)
    stream.set_state(state)
    stream.set_state(state)
    assert list(stream) == expected
    with pytest.raises(
        ValueError, match=r"set_state: .*earlier, and range_iterator can't begin again"
    ):
        stream.set_state(early)


def test_a_source_function_that_gives_one_iterator_again_is_found():
    shared = iter(range(10))
    stream = data.Serial(lambda: shared, data.Shuffle(2, seed=0))()
    state = stream.get_state()
    next(stream)
    with pytest.raises(ValueError, match="can't begin again\n  fix: make a new stream"):
        stream.set_state(state)


def test_positions_of_other_pipelines_are_refused():
    stream = data.Serial(ints(9), data.Shuffle(3))()
    other = data.Serial(ints(9), data.Batch(3))()
    with pytest.raises(CheckpointError, match=r"stages \['<lambda>', 'Batch'\].*'Shuffle'"):
        stream.set_state(other.get_state())
    for state in ({}, None, [1], {**stream.get_state(), "more": 1}):
        with pytest.raises(CheckpointError, match="set_state: expected a dict of get_state"):
            stream.set_state(state)
    with pytest.raises(CheckpointError, match="expected a number of examples"):
        stream.set_state({**stream.get_state(), "at": {"pass": 1, "index": 0}})
    arrays = data.Serial(data.Arrays(np.arange(3)))()
    with pytest.raises(CheckpointError, match="Arrays: expected a position"):
        arrays.set_state({**arrays.get_state(), "at": {"count": 1}})


def test_a_position_past_the_end_is_an_error():
    stream = data.Serial(ints(9), data.Shuffle(3, seed=0))()
    list(itertools.islice(stream, 8))
    short = data.Serial(ints(5), data.Shuffle(3, seed=0))()
    with pytest.raises(CheckpointError, match=r"\{'count': 8\} is past the end"):
        short.set_state(stream.get_state())
    with pytest.raises(CheckpointError, match="past the end"):
        next(short)


def test_a_failed_stream_does_not_seem_to_have_ended():
    def source():
        yield 1
        raise OSError("the disk is gone")

    for stages in ([], [data.Prefetch(2)], [data.Shuffle(1)]):
        stream = data.Serial(source, stages)()
        for _ in range(3):
            with pytest.raises(OSError, match="the disk is gone"):
                list(stream)


def test_an_interrupted_stream_says_so():
    def source():
        yield 1
        raise KeyboardInterrupt

    stream = data.Serial(source)()
    assert next(stream) == 1
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    with pytest.raises(RuntimeError, match="the stream was interrupted"):
        next(stream)


def test_what_is_no_stage_is_refused():
    with pytest.raises(TypeError, match=r"Serial: stage 1 must be a function .*; got int"):
        data.Serial(ints(3), 5)
    with pytest.raises(TypeError, match=r"got list_iterator\n  fix: Serial\(…\)\(examples\)"):
        data.Serial(iter([1]))
    with pytest.raises(TypeError, match=r"got dict_keys\n  fix: Serial\(data.Examples\(examples\)"):
        data.Serial({1: 2}.keys())
    with pytest.raises(TypeError, match=r"<lambda>: a stage must return an iterator .*; got None"):
        next(data.Serial(ints(3), lambda stream: None)())
    with pytest.raises(TypeError, match=r"<lambda>: a stage must return an iterator .*; got int"):
        next(data.Serial(lambda: 3)())
    with pytest.raises(ValueError, match="Serial: expected a source as the first stage"):
        next(data.Serial(data.Batch(2))())
    with pytest.raises(ValueError, match="Shuffle: expected a stream of examples; got none"):
        next(data.Serial(data.Shuffle(2))())
    with pytest.raises(TypeError, match="Serial: expected an iterable of examples; got int"):
        data.Serial(data.Batch(2))(5)


def test_errors_have_the_users_line():
    with pytest.raises(TypeError) as raised:
        data.Serial(5)
    assert "test_streams.py" in raised.value.__notes__[0]
    for stages in ([], [data.Prefetch(1)]):
        stream = data.Serial(ints(3), data.Dup(), stages)()
        with pytest.raises(ShapeError) as raised:
            next(stream)
        assert "test_streams.py" in raised.value.__notes__[0]


def test_no_thread_is_left_when_a_stream_is_forgotten():
    before = threading.active_count()
    stream = data.Serial(ints(100), data.Prefetch(2), data.Shuffle(3), data.Prefetch(2))()
    next(stream)
    assert threading.active_count() == before + 2
    del stream
    gc.collect()
    for _ in range(1000):
        if threading.active_count() == before:
            break
        time.sleep(0.005)
    assert threading.active_count() == before


def test_close_ends_threads_and_the_stream_goes_on():
    before = threading.active_count()
    for stages in ([data.Prefetch(3)], [data.Prefetch(3), data.Shuffle(4, seed=0)]):
        stream = data.Serial(ints(30), stages)()
        whole = list(data.Serial(ints(30), stages)())
        parts = [next(stream), next(stream)]
        stream.close()
        assert threading.active_count() == before
        assert parts + list(stream) == whole
        stream.close()
