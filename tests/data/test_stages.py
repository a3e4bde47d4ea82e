"""Stages: how functions become some, random numbers, and errors that name the example."""

import numpy as np
import pytest

from weft import data
from weft.data.stages import as_stage, described
from weft.errors import ShapeError


def test_map_applies_a_function_and_takes_iterables():
    assert list(data.Map(lambda x: x * x)([1, 2, 3])) == [1, 4, 9]
    with pytest.raises(TypeError, match="Map: function must be a function of an example; got 3"):
        data.Map(3)


def test_a_stage_of_ones_own_draws_the_same_numbers_again():
    def noisy(examples, rng):
        for x in examples:
            yield x + rng.normal()

    seeded = data.RandomFlow("noisy", noisy, seed=3)
    rng = np.random.default_rng([3, 0])
    assert list(seeded([1.0, 2.0])) == [1.0 + rng.normal(), 2.0 + rng.normal()]
    stream = data.Serial(lambda: iter([1.0, 2.0]), seeded)()
    first, second = list(stream), list(stream)
    assert first == list(seeded([1.0, 2.0])) != second
    rng = np.random.default_rng([3, 1])
    assert second == [1.0 + rng.normal(), 2.0 + rng.normal()]


def test_a_flow_of_ones_own_keeps_its_place():
    def pairs(examples):
        for x in examples:
            yield x, next(examples)

    stream = data.Serial(data.Arrays(np.arange(8)), data.Flow("pairs", pairs, passes=True))()
    next(stream)
    assert stream.get_state()["at"] == {"pass": 0, "index": 2}


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises((TypeError, ValueError), match="Shuffle: seed must be"):
        data.Shuffle(seed=seed)


def test_errors_name_the_stage_the_example_and_its_shapes():
    examples = [(np.zeros((2, 3), np.float32), 1), (np.int64(4), 1)]
    with pytest.raises(ShapeError) as raised:
        list(data.FilterByLength(3, length_keys=[0])(examples))
    text = (
        "FilterByLength: example 1: expected an array with an axis 0 at 0; got (int64[], int64[])"
    )
    assert str(raised.value).startswith(text)


def test_described():
    array = np.zeros((2, 3), np.float32)
    assert described(array) == "float32[2,3]"
    assert described((array, "a", 1, None)) == "(float32[2,3], str, int64[], NoneType)"
    assert described([array]) == "(float32[2,3],)"
    assert described({"x": array}) == "{'x': float32[2,3]}"
    assert described(tuple(range(20))).endswith("int64[], …)")
    assert described(object()) == "object"


def test_functions_are_sources_with_and_without_an_argument():
    for source in (lambda: iter([1]), lambda _: iter([1]), lambda x=None: iter([1])):
        assert list(as_stage("Serial", 0, source).open(None, None, 0)) == [1]
    assert list(as_stage("Serial", 0, iter).open([1, 2], None, 0)) == [1, 2]
    assert repr(data.Batch(2)) == "Batch"


def test_a_stage_without_open_is_incomplete():
    with pytest.raises(NotImplementedError):
        data.Stage("mine")([1])


OF_ONE_EXAMPLE = {
    "raises": (lambda example: (example[0], example[1]), TypeError, "is not subscriptable"),
    "misses": (lambda example: example.shape, AttributeError, "no attribute 'shape'"),
    "returns a number": (lambda example: 3, TypeError, "a stage must return .*; got int"),
    "returns nothing": (lambda example: None, TypeError, "a stage must return .*; got NoneType"),
}


@pytest.mark.parametrize("case", OF_ONE_EXAMPLE)
def test_a_function_of_one_example_in_place_of_a_stage(case):
    function, error, message = OF_ONE_EXAMPLE[case]
    stream = data.Serial(data.Arrays(np.arange(4)), function)()
    with pytest.raises(error, match=message) as raised:
        next(stream)
    said = "".join([str(raised.value), *raised.value.__notes__])
    assert "\n  fix: data.Map(<lambda>), if it is a function of one example" in said


@pytest.mark.parametrize("stage", [data.Batch, data.Shuffle, data.Tokenize, data.Flow, data.Serial])
def test_a_stage_without_its_options_is_refused(stage):
    name = stage.__name__
    with pytest.raises(TypeError, match=rf"stage 1 is {name} without its options\n  fix: {name}\("):
        data.Serial(data.Arrays(np.arange(4)), stage)
