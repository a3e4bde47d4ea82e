"""Stages for lengths, against what they say written out."""

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError


def run(stage, *examples):
    return list(stage(examples))


def equal(example, *expected):
    assert type(example) is tuple
    for x, y in zip(example, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def lengths(stage, ns):
    return [len(e[0]) for e in stage((np.ones(n), np.ones(n // 2)) for n in ns)]


def test_filter_by_length():
    ns = [3, 0, 8, 5, 1, 12]
    assert lengths(data.FilterByLength(5), ns) == [3, 0, 5, 1]
    assert lengths(data.FilterByLength(8, 3), ns) == [3, 8, 5]
    assert lengths(data.FilterByLength(None, 5), ns) == [8, 5, 12]
    assert lengths(data.FilterByLength(5, None), ns) == [3, 0, 5, 1]
    assert lengths(data.FilterByLength(2, length_keys=[1]), ns) == [3, 0, 5, 1]
    assert lengths(data.FilterByLength(4, length_keys=[0, 1]), ns) == [3, 0, 1]


def test_filter_by_length_takes_any_form_of_example():
    assert len(run(data.FilterByLength(3), np.ones(3), np.ones(4))) == 1
    assert len(run(data.FilterByLength(3), (np.ones(3),), (np.ones(4),))) == 1
    assert len(run(data.FilterByLength(3), (np.ones(3), 5), (np.ones(4), 5))) == 1
    assert len(run(data.FilterByLength(3, length_keys=["x"]), {"x": [1]}, {"x": [1] * 4})) == 1
    assert len(run(data.FilterByLength(3, length_axis=1), (np.ones((9, 3)),))) == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((None, None), "expected max_length or min_length"),
        ((3, 4), "min_length 4 is greater than max_length 3"),
        ((-1,), "max_length must be at least 0"),
        ((3, 0, "x"), "length_keys must be a list"),
        ((3, 0, []), "length_keys must be a list"),
        ((3, 0, None, -1), "length_axis must be at least 0"),
    ],
)
def test_wrong_options_of_filter_by_length(options, text):
    with pytest.raises((TypeError, ValueError), match=f"FilterByLength: {text}"):
        data.FilterByLength(*options)


def test_examples_without_the_key():
    with pytest.raises(ShapeError, match="example 0: expected an array at 1; got"):
        run(data.FilterByLength(3, length_keys=[1]), (np.ones(2),))


def test_filter_empty_examples(capsys):
    full, empty = np.ones(2), np.ones(0)
    examples = (full, empty), (empty, full), (full, full), (np.ones((0, 2)), full)
    assert run(data.FilterEmptyExamples(), *examples) == list(examples[2:])
    assert run(data.FilterEmptyExamples([1]), *examples) == list(examples[1:])
    assert run(data.FilterEmptyExamples(), full, empty) == [full]
    assert capsys.readouterr().out == ""
    run(data.FilterEmptyExamples(debug=True), *examples)
    assert capsys.readouterr().out.count("dropped") == 2
    with pytest.raises(ShapeError, match="FilterEmptyExamples: example 0: expected an array at 3"):
        run(data.FilterEmptyExamples([3]), (full,))


def test_truncate_to_length():
    x, y = np.arange(12).reshape(3, 4), np.arange(5)
    equal(*run(data.TruncateToLength(), (x, y)), x, y)
    equal(*run(data.TruncateToLength({0: 2, 1: 9}), (x, y)), x[:2], y)
    equal(*run(data.TruncateToLength({0: (2, 3), 1: (2,)}), (x, y)), x[:2, :3], y[:2])
    equal(*run(data.TruncateToLength({0: (None, 1)}), [x, y]), x[:, :1], y)
    equal(*run(data.TruncateToLength({0: (1, 3)}), x), x[:1, :3])


@pytest.mark.parametrize(
    ("len_map", "text"),
    [
        ([5], "len_map must be a dict"),
        ({0: -1}, r"len_map\[0\] must be at least [01]"),
        ({0: 1.5}, r"len_map\[0\] must be an int"),
        ({"a": 1}, "a key of len_map must be an int"),
    ],
)
@pytest.mark.parametrize("stage", [data.TruncateToLength, data.PadToLength])
def test_wrong_lengths(stage, len_map, text):
    with pytest.raises((TypeError, ValueError), match=f"{stage.__name__}: {text}"):
        stage(len_map)


def test_examples_that_cant_be_cut_or_padded():
    for stage in (data.TruncateToLength({2: 5}), data.PadToLength({2: 5})):
        with pytest.raises(ShapeError, match="example 0: expected an array at 2"):
            run(stage, (np.ones(3),))
        with pytest.raises(ShapeError, match="example 0: expected a tuple of arrays; got str"):
            run(stage, "a")
    with pytest.raises(ShapeError, match="expected an array with 2 axes at 0"):
        run(data.TruncateToLength({0: (1, 1)}), (np.ones(3),))
    with pytest.raises(ShapeError, match="PadToLength: example 1: expected an array with an axis"):
        run(data.PadToLength({0: 2}), (np.ones(3),), (1,))


def test_pad_to_length():
    x, y = np.arange(1, 6, dtype=np.int32), np.ones((2, 3))
    equal(
        *run(data.PadToLength({0: 7, 1: 3}), (x, y)),
        np.int32([1, 2, 3, 4, 5, 0, 0]),
        np.array([[1.0] * 3] * 2 + [[0.0] * 3]),
    )
    equal(*run(data.PadToLength({0: 3}), (x, y)), x, y)
    equal(*run(data.PadToLength({0: 7}, pad_value=9), [x]), np.int32([1, 2, 3, 4, 5, 9, 9]))
    equal(
        *run(data.PadToLength({0: 6, 1: 3}, pad_value={1: -1}), (x, y)),
        np.int32([1, 2, 3, 4, 5, 0]),
        np.array([[1.0] * 3] * 2 + [[-1.0] * 3]),
    )
    equal(*run(data.PadToLength({0: 6}), x), np.int32([1, 2, 3, 4, 5, 0]))


@pytest.mark.parametrize(("n", "of"), [(5, 4), (4, 4), (1, 4), (0, 4), (15, 10), (20, 10)])
def test_pad_to_the_next_multiple(n, of):
    ((x,),) = run(data.PadToLength({0: of}, multiple=True), (np.ones(n),))
    assert len(x) == next(m for m in range(0, 100, of) if m >= n)
    assert x.sum() == n


def test_wrong_options_of_pad_to_length():
    with pytest.raises(ValueError, match=r"PadToLength: len_map must be a dict .*; got None"):
        data.PadToLength()
    with pytest.raises(TypeError, match=r"PadToLength: pad_value\[0\] must be a number"):
        data.PadToLength({0: 3}, pad_value="x")
    with pytest.raises(TypeError, match="PadToLength: multiple must be True or False"):
        data.PadToLength({0: 3}, multiple=1)


def test_append_value():
    x, y = np.int32([5, 6]), np.zeros((2, 3), np.float32)
    equal(*run(data.AppendValue(), (x, y)), x, y)
    equal(*run(data.AppendValue({0: 1}), (x, y)), np.int32([5, 6, 1]), y)
    equal(*run(data.AppendValue({0: [1, 2]}), (x,)), np.int32([5, 6, 1, 2]))
    two = np.float32([[0, 0, 0, 4], [0, 0, 0, 5]])
    equal(*run(data.AppendValue({1: [[4], [5]]}), (x, y)), x, two)
    equal(*run(data.AppendValue({1: 4}), (x, y)), x, np.float32([[0, 0, 0, 4]] * 2))
    (bare,) = run(data.AppendValue({0: 1}), x)
    np.testing.assert_array_equal(bare, [5, 6, 1])


def test_values_that_cant_be_appended():
    for val, text in [
        ({0: [[1]]}, "expected an array with 2 axes at 0"),
        ({0: 0.5}, "expected an array at 0 of a dtype that has 0.5"),
        ({3: 1}, "expected an array at 3"),
    ]:
        with pytest.raises(ShapeError, match=f"AppendValue: example 0: {text}"):
            run(data.AppendValue(val), (np.int32([1]),))
    with pytest.raises(ShapeError, match="to which values"):
        run(data.AppendValue({0: [[1], [2], [3]]}), (np.ones((2, 2)),))
    with pytest.raises(TypeError, match="AppendValue: val must be a dict"):
        data.AppendValue([1])


def test_concatenate_to_lm_input():
    x, y = np.int32([5, 6]), np.int32([7, 8, 9])
    both, weights = np.int32([5, 6, 7, 8, 9]), np.int32([0, 0, 1, 1, 1])
    equal(*run(data.ConcatenateToLMInput(), (x, y)), both, both, weights)
    long = np.int32([5, 6, 7, 8, 9, 0, 0])
    equal(*run(data.ConcatenateToLMInput(7), (x, y)), long, long, np.int32([0, 0, 1, 1, 1, 0, 0]))
    equal(*run(data.ConcatenateToLMInput(5), (x, y)), both, both, weights)
    equal(*run(data.ConcatenateToLMInput(), (x,)), x, x)
    equal(*run(data.ConcatenateToLMInput(), x), x, x)
    with pytest.raises(ShapeError, match=r"at most pad_to_length=4 elements, not 2 \+ 3"):
        run(data.ConcatenateToLMInput(4), (x, y))
    with pytest.raises(ShapeError, match="expected one array, or two of one axis"):
        run(data.ConcatenateToLMInput(), (x, y, y))
    with pytest.raises(ValueError, match="pad_to_length must be at least 1"):
        data.ConcatenateToLMInput(0)


@pytest.mark.parametrize("n", [0, 3, 4, 5, 9, 10, 23])
def test_prefix_lm_and_chunks(n):
    tokens, expected, start = np.arange(n), [], 0
    while start + 3 < n:
        expected.append((tokens[start : start + 3], tokens[start + 3 : start + 7]))
        start += 7
    for example in (tokens, (tokens,)):
        out = run(data.PrefixLM(3, 4), example)
        assert len(out) == len(expected)
        for a, b in zip(out, expected, strict=True):
            equal(a, *b)
    pieces = run(data.generate_sequential_chunks(4), (tokens,))
    assert [list(p) for p in pieces] == [list(range(i, min(i + 4, n))) for i in range(0, n, 4)]


def test_defaults_of_prefix_lm():
    ((x, y),) = run(data.PrefixLM(), np.arange(700))
    assert (len(x), len(y)) == (128, 512)


def test_sequences_that_are_none():
    for stage in (data.PrefixLM(), data.generate_sequential_chunks(3)):
        with pytest.raises(ShapeError, match="example 0: expected one array with one axis"):
            run(stage, (np.ones(3), np.ones(3)))
        with pytest.raises(ShapeError, match="expected one array with one axis"):
            run(stage, np.ones((3, 3)))
    with pytest.raises(TypeError, match="generate_sequential_chunks: max_length must be an int"):
        data.generate_sequential_chunks()
    with pytest.raises(ValueError, match="PrefixLM: output_length must be at least 1"):
        data.PrefixLM(3, 0)
