"""Batches and buckets against loops, for every case of a boundary."""

import itertools

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError

LENGTHS = [3, 9, 1, 4, 17, 5, 4, 8, 2, 30, 6, 1, 7, 16, 12, 5]


def examples(lengths=LENGTHS):
    return [(np.arange(1, n + 1), np.full((n, 2), n, np.float32)) for n in lengths]


def padded(arrays, lengths):
    """Arrays in zeros, row by row and number by number."""
    out = np.zeros((len(arrays), *lengths), arrays[0].dtype)
    for i, x in enumerate(arrays):
        for at in np.ndindex(x.shape):
            out[(i, *at)] = x[at]
    return out


def equal(batch, expected):
    for x, y in zip(batch, expected, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("size", [1, 3, 5, 16, 17])
def test_batch(size):
    batches = list(data.Batch(size)(examples()))
    assert len(batches) == len(LENGTHS) // size
    for i, batch in enumerate(batches):
        rows = examples()[i * size : (i + 1) * size]
        longest = max(LENGTHS[i * size : (i + 1) * size])
        expected = (
            padded([x for x, _ in rows], (longest,)),
            padded([y for _, y in rows], (longest, 2)),
        )
        equal(batch, expected)
    assert len(list(data.batch(iter(examples()), size))) == len(batches)


def test_batches_of_numbers_dicts_strings_and_bare_arrays():
    ((x, y),) = data.Batch(2)([(1, 2.5), [3, 4.5]])
    equal((x, y), (np.array([1, 3]), np.array([2.5, 4.5])))
    (batch,) = data.Batch(2)([{"a": 1, "b": np.ones(2)}, {"a": 2, "b": np.ones(1)}])
    equal(batch.values(), [np.array([1, 2]), np.array([[1.0, 1.0], [1.0, 0.0]])])
    (batch,) = data.Batch(2)([np.ones(2), np.ones(1)])
    np.testing.assert_array_equal(batch, [[1, 1], [1, 0]])
    ((text,),) = data.Batch(2)([("a",), ("bcd",)])
    assert text.tolist() == ["a", "bcd"]


@pytest.mark.parametrize("size", [0, -1, 1.5, None])
def test_sizes_are_positive_ints(size):
    for make in (data.Batch, lambda n: data.batch([], n)):
        with pytest.raises((TypeError, ValueError), match="atch: batch_size must be"):
            make(size)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ((np.ones(2),), r"got \(float64\[2\],\)"),
        ((np.ones((2, 2)), 1), r"got \(float64\[2,2\], int64\[\]\)"),
        (np.ones(2), r"got float64\[2\]"),
        ({"x": 1}, r"got {'x': int64\[\]}"),
    ],
)
def test_examples_of_another_form_are_named(other, text):
    first = (np.ones(3), 1)
    with pytest.raises(
        ShapeError, match="Batch: example 3: expected the fields and axes of example 2"
    ):
        list(data.Batch(2)([first, first, first, other]))
    with pytest.raises(ShapeError, match=text):
        list(data.Batch(2)([first, other]))
    with pytest.raises(ShapeError, match=r"got \(float64\[3\], int64\[\]\)"):
        list(data.Batch(2)([other, first]))


@pytest.mark.parametrize(
    ("shapes", "boundary", "strict", "expected"),
    [
        ([(3, 10), (3, 10)], None, False, (3, 10)),
        ([(2, 10), (3, 9)], None, False, (3, 10)),
        ([(8, 10), (8, 9)], 12, False, (12, 12)),
        ([(2, 10), (3, 9)], 12, False, (4, 12)),
        ([(5,), (3,)], 4, False, (5,)),
        ([(4,)], 8, False, (8,)),
        ([(3,)], 8, False, (4,)),
        ([(1,)], 64, False, (1,)),
        ([(0,)], 64, False, (1,)),
        ([(17,)], 64, False, (32,)),
        ([(32,)], 64, False, (64,)),
        ([(1, 15, 31), (2, 10, 35), (4, 2, 3)], (None, 15, 20), False, (4, 15, 40)),
        ([(5, 5)], [0, 4], False, (5, 8)),
        ([(15,), (12,)], 10, True, (20,)),
        ([(15, 3), (12, 1)], 10, True, (20, 10)),
    ],
)
def test_pad_to_max_dims(shapes, boundary, strict, expected):
    arrays = [np.arange(1, np.prod(shape) + 1).reshape(shape) for shape in shapes]
    out = data.pad_to_max_dims(arrays, boundary, strict)
    np.testing.assert_array_equal(out, padded(arrays, expected))


def test_wrong_boundaries():
    with pytest.raises(ValueError, match="boundary must have one number for each of the 2 axes"):
        data.pad_to_max_dims([np.ones((2, 2))], [1])
    with pytest.raises(TypeError, match="pad_to_max_dims: boundary must be an int"):
        data.pad_to_max_dims([np.ones(2)], "a")
    with pytest.raises(
        ShapeError, match=r"equal numbers of axes; got \(float64\[2\], float64\[\]\)"
    ):
        data.pad_to_max_dims([np.ones(2), 1.0])
    with pytest.raises(ShapeError, match="expected arrays"):
        data.pad_to_max_dims([])


def bucketed(items, boundaries, sizes, strict=False):
    """Buckets, their padding written out."""
    buckets = {}
    for x, y in items:
        n = len(x)
        at = len([b for b in boundaries if b < n])
        buckets.setdefault(at, []).append((x, y))
        if len(buckets[at]) == sizes[at]:
            rows = buckets.pop(at)
            longest = max(len(x) for x, _ in rows)
            length = longest
            if at < len(boundaries):
                length = boundaries[at]
                if strict:
                    while length < longest:
                        length += boundaries[at]
                elif 2 * longest < length:
                    length = 1
                    while length < longest:
                        length *= 2
            yield padded([x for x, _ in rows], (length,)), padded([y for _, y in rows], (length, 2))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("boundaries", "sizes"),
    [([4, 8, 16], [3, 2, 2, 1]), ([10], [2, 2]), ([], [4]), ([64], [3, 1]), ([1, 2], [1, 1, 5])],
)
def test_bucket_by_length(boundaries, sizes, strict):
    stage = data.BucketByLength(boundaries, sizes, strict_pad_on_len=strict)
    expected = list(bucketed(examples(), boundaries, sizes, strict))
    for batch, other in itertools.zip_longest(stage(examples()), expected):
        equal(batch, other)
    batches = data.bucket_by_length(
        iter(examples()), lambda e: len(e[1]), boundaries, sizes, strict_pad_on_len=strict
    )
    for batch, other in itertools.zip_longest(batches, expected):
        equal(batch, other)


def test_the_length_is_the_largest_of_the_keys():
    pair = np.ones(2), np.ones(7)
    shapes = [x.shape for x in next(data.BucketByLength([3, 8], [1, 1, 1])([pair]))]
    assert shapes == [(1, 2), (1, 8)]  # the power of two from 2 on, as 8 is more than twice 2
    ((x, y),) = data.BucketByLength([3, 8], [1, 1, 1], length_keys=[0])([pair])
    assert (x.shape, y.shape) == ((1, 3), (1, 7))
    ((x,),) = data.BucketByLength([3, 8], [1, 1, 1], length_axis=1)([(np.ones((2, 5)),)])
    assert x.shape == (1, 2, 8)


def test_as_many_sizes_as_boundaries_leave_no_bucket_for_longer_ones():
    stage = data.BucketByLength([4], [2])
    assert [x.shape for x, _ in stage(examples([4, 1]))] == [(2, 4)]
    with pytest.raises(ShapeError, match="example 2: expected a length of at most 4, not 5; got"):
        list(stage(examples([4, 1, 5])))


@pytest.mark.parametrize(
    ("boundaries", "sizes", "text"),
    [
        ([8, 4], [1, 1, 1], "boundaries must be ascending"),
        ([4, 4], [1, 1, 1], "boundaries must be ascending"),
        ([4], [1, 1, 1], "batch_sizes must have one number more than boundaries; got 3 and 1"),
        ([4], [0, 1], r"batch_sizes\[0\] must be at least 1"),
        (4, [1], "boundaries must be a tuple"),
    ],
)
def test_wrong_buckets(boundaries, sizes, text):
    with pytest.raises((TypeError, ValueError), match=f"BucketByLength: {text}"):
        data.BucketByLength(boundaries, sizes)


def test_errors_of_buckets_have_the_numbers_of_examples():
    rows = [(np.ones(2),), (np.ones(9),), (np.ones((2, 1)),)]
    with pytest.raises(ShapeError, match="example 2: expected the fields and axes of example 0"):
        list(data.BucketByLength([4], [2, 2])(rows))
    with pytest.raises(
        ShapeError, match="BucketByLength: example 0: expected an array with an axis"
    ):
        list(data.BucketByLength([4], [2, 2])([(np.float32(1),)]))
