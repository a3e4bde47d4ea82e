"""Stages for the lengths of sequences: FilterByLength, FilterEmptyExamples, TruncateToLength,
PadToLength, AppendValue, ConcatenateToLMInput, PrefixLM and generate_sequential_chunks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..user_lines import noted
from .stages import Stage, Unsuitable, each, filter_stage, spread

__all__ = [
    "AppendValue",
    "ConcatenateToLMInput",
    "FilterByLength",
    "FilterEmptyExamples",
    "PadToLength",
    "PrefixLM",
    "TruncateToLength",
    "generate_sequential_chunks",
]


def FilterByLength(
    max_length: int | None,
    min_length: int | None = 0,
    length_keys: Sequence[Any] | None = None,
    length_axis: int = 0,
) -> Stage:
    """A stage that keeps the examples whose length is within bounds.

    The length of an example is the largest length of its arrays at `length_keys`, or the length of
    a bare array.

    Args:
      max_length: the largest length; None for no bound.
      min_length: the smallest length; None for no bound.
      length_keys: the positions of the arrays in an example, or the keys of a dict. None means the
        first two arrays that have the axis.
      length_axis: the axis of the length.
    Returns: a stage.
    Raises:
      ValueError: both bounds are None, or the smallest length is above the largest.
      ShapeError (while it runs): an example does not have a key or the axis.
    Example:
      >>> import numpy
      >>> examples = [(numpy.ones(n),) for n in (2, 5, 9)]
      >>> [len(x) for (x,) in FilterByLength(5)(examples)]
      [2, 5]
    Source: Trax documentation, `data.FilterByLength`.
    """
    name = "FilterByLength"
    if max_length is None and min_length is None:
        raise noted(ValueError(f"{name}: expected max_length or min_length; got None for both"))
    most = (
        None
        if max_length is None
        else option_checks.whole_number(name, "max_length", max_length, 0)
    )
    least = (
        0 if min_length is None else option_checks.whole_number(name, "min_length", min_length, 0)
    )
    if most is not None and least > most:
        raise noted(ValueError(f"{name}: min_length {least} is greater than max_length {most}"))
    length = length_function(name, length_keys, length_axis)

    def fits(example: Any) -> bool:
        n = length(example)
        return n >= least and (most is None or n <= most)

    return filter_stage(name, fits)


def length_function(stage: str, length_keys: Sequence[Any] | None, length_axis: int) -> Any:
    """A function that returns the length of an example, or raises `Unsuitable`."""
    axis = option_checks.whole_number(stage, "length_axis", length_axis, 0)
    if length_keys is not None and (
        isinstance(length_keys, str) or not hasattr(length_keys, "__iter__") or not len(length_keys)
    ):
        raise option_checks.wrong_type(stage, "length_keys", "a list such as [0, 1]", length_keys)

    def length(example: Any) -> int:
        if not isinstance(example, tuple | list | Mapping):
            example = (example,)
        if length_keys is None:
            arrays = list(example.values() if isinstance(example, Mapping) else example)[:2]
            lengths = [n.shape[axis] for n in map(np.asanyarray, arrays) if n.ndim > axis]
            if not lengths:
                raise Unsuitable(f"an array with an axis {axis}")
            return int(max(lengths))
        return max(_length(field(example, key, stage), key, axis) for key in length_keys)

    return length


def _length(array: Any, key: Any, axis: int) -> int:
    shape = np.shape(array)
    if len(shape) <= axis:
        raise Unsuitable(f"an array with an axis {axis} at {key!r}")
    return int(shape[axis])


def field(example: Any, key: Any, stage: str) -> Any:
    """The array of an example at a key."""
    try:
        return example[key]
    except (LookupError, TypeError):
        raise Unsuitable(f"an array at {key!r}", f"name existing keys: {stage}(…)") from None


def FilterEmptyExamples(axes: Sequence[int] | None = None, debug: bool = False) -> Stage:
    """A stage that drops the examples with an empty sequence, of shape (0,).

    Args:
      axes: the positions in an example to check; None for all.
      debug: whether to print the shapes of dropped examples.
    Returns: a stage.
    Example:
      >>> import numpy
      >>> list(FilterEmptyExamples()([(numpy.ones(0),), (numpy.ones(2),)]))
      [(array([1., 1.]),)]
    Source: Trax documentation, `data.FilterEmptyExamples`.
    """
    option_checks.flag("FilterEmptyExamples", "debug", debug)

    def is_full(example: Any) -> bool:
        fields = example if isinstance(example, tuple | list) else (example,)
        keys = range(len(fields)) if axes is None else axes
        shapes = [np.shape(field(fields, key, "FilterEmptyExamples")) for key in keys]
        if debug and (0,) in shapes:
            print(f"FilterEmptyExamples: dropped an example of the shapes {shapes}")
        return (0,) not in shapes

    return filter_stage("FilterEmptyExamples", is_full)


def TruncateToLength(len_map: Mapping[int, Any] | None = None) -> Stage:
    """A stage that truncates arrays to a length.

    Args:
      len_map: a dict from the position of an array to its length: an int for the first axis, or a
        tuple with one number for each axis, where None keeps the axis. Without `len_map` nothing
        changes.
    Returns: a stage, whose examples are tuples.
    Raises:
      TypeError, ValueError: `len_map` is invalid.
      ShapeError (while it runs): an example does not have the array, or the array lacks an axis.
    Example:
      >>> import numpy
      >>> list(TruncateToLength({0: 3})([(numpy.arange(5), 7)]))
      [(array([0, 1, 2]), 7)]
    Source: Trax documentation, `data.TruncateToLength`. There, arrays of several axes lose their
      order.
    """
    name = "TruncateToLength"
    slices = {
        key: tuple(slice(n) for n in _axis_lengths(name, key, length))
        for key, length in _checked_map(name, len_map).items()
    }

    def cut(example: Any) -> tuple[Any, ...]:
        fields = fields_of(example)
        for key, places in slices.items():
            array = np.asarray(field(fields, key, name))
            if array.ndim < len(places):
                raise Unsuitable(f"an array with {len(places)} axes at {key}")
            fields[key] = array[places]
        return tuple(fields)

    return each(name, cut)


def _axis_lengths(name: str, key: Any, length: Any) -> list[int | None]:
    lengths = length if isinstance(length, tuple | list) else [length]
    option = f"len_map[{key!r}]"
    return [None if n is None else option_checks.whole_number(name, option, n, 0) for n in lengths]


def _checked_map(name: str, len_map: Any) -> Mapping[int, Any]:
    if len_map is None:
        return {}
    if not isinstance(len_map, Mapping):
        raise option_checks.wrong_type(name, "len_map", "a dict such as {0: 100, 1: 100}", len_map)
    for key in len_map:
        option_checks.whole_number(name, "a key of len_map", key, 0)
    return len_map


def fields_of(example: Any) -> list[Any]:
    """The arrays of an example as a list; a bare array becomes a list of one."""
    if isinstance(example, tuple | list):
        return list(example)
    if isinstance(example, Mapping | str | bytes):
        raise Unsuitable("a tuple of arrays")
    return [example]


def PadToLength(
    len_map: Mapping[int, int] | None = None,
    pad_value: Any = 0,
    multiple: bool = False,
) -> Stage:
    """A stage that pads the first axis of arrays at the end. It never shortens arrays.

    Args:
      len_map: a dict from the position of an array to its length.
      pad_value: the value of the new elements: a number, or a dict from positions to numbers; 0 by
        default.
      multiple: whether to pad to the next multiple of the length.
    Returns: a stage, whose examples are tuples.
    Raises:
      TypeError, ValueError: an option is invalid; there is no `len_map`.
      ShapeError (while it runs): an example does not have the array, or the array has no axes.
    Example:
      >>> import numpy
      >>> list(PadToLength({0: 4})([(numpy.arange(1, 4), 7)]))
      [(array([1, 2, 3, 0]), 7)]
      >>> list(PadToLength({0: 4}, pad_value=9, multiple=True)([(numpy.arange(5),)]))
      [(array([0, 1, 2, 3, 4, 9, 9, 9]),)]
    Source: Trax documentation, `data.PadToLength`. There, with `multiple`, some lengths are wrong.
    """
    name = "PadToLength"
    if len_map is None:
        raise noted(ValueError(f"{name}: len_map must be a dict such as {{0: 100}}; got None"))
    lengths = {
        key: option_checks.whole_number(name, f"len_map[{key!r}]", n)
        for key, n in _checked_map(name, len_map).items()
    }
    values = {
        key: pad_value.get(key, 0) if isinstance(pad_value, Mapping) else pad_value
        for key in lengths
    }
    for key, value in values.items():
        option_checks.number(name, f"pad_value[{key}]", value)
    option_checks.flag(name, "multiple", multiple)

    def pad(example: Any) -> tuple[Any, ...]:
        fields = fields_of(example)
        for key, n in lengths.items():
            array = np.asarray(field(fields, key, name))
            if not array.ndim:
                raise Unsuitable(f"an array with an axis at {key}")
            length = -(-len(array) // n) * n if multiple else n
            fields[key] = lengthened(array, max(length, len(array)), values[key])
        return tuple(fields)

    return each(name, pad)


def lengthened(array: np.ndarray, length: int, value: Any = 0) -> np.ndarray:
    """Pads the end of an array's first axis with a value."""
    if length == len(array):
        return array
    result = np.full((length, *array.shape[1:]), value, array.dtype)
    result[: len(array)] = array
    return result


def AppendValue(val: Mapping[int, Any] | None = None) -> Stage:
    """A stage that appends values to the last axis of arrays, such as the end of a sentence.

    Args:
      val: a dict from the position of an array to the value, or values, to append. A number is
        appended to each row of an array with several axes. None appends nothing.
    Returns: a stage.
    Raises:
      TypeError: `val` is invalid.
      ShapeError (while it runs): an example does not have the array; the values do not fit.
    Example:
      >>> import numpy
      >>> list(AppendValue({0: 1})([(numpy.array([5, 6]), 7)]))
      [(array([5, 6, 1]), 7)]
    Source: Trax documentation, `data.AppendValue`.
    """
    name = "AppendValue"
    values = _checked_map(name, val) if isinstance(val, Mapping) or val is None else None
    if values is None:
        raise option_checks.wrong_type(name, "val", "a dict such as {0: 1}", val)

    def append(example: Any) -> Any:
        fields = fields_of(example)
        for key, value in values.items():
            fields[key] = _appended(np.asarray(field(fields, key, name)), value, key)
        return tuple(fields) if isinstance(example, tuple | list) else fields[0]

    return each(name, append)


def _appended(array: np.ndarray, value: Any, key: int) -> np.ndarray:
    more = np.asarray(value).astype(array.dtype)
    if not np.array_equal(more, value):
        raise Unsuitable(f"an array at {key} of a dtype that has {value}")
    if more.ndim == 0:
        more = more[None]
    if not array.ndim or more.ndim > array.ndim:
        raise Unsuitable(f"an array with {max(more.ndim, 1)} axes at {key}")
    try:
        more = np.broadcast_to(more, (*array.shape[:-1], more.shape[-1]))
    except ValueError:
        raise Unsuitable(f"an array at {key} to which values {more.shape} fit") from None
    return np.concatenate([array, more], axis=-1)


def ConcatenateToLMInput(pad_to_length: int | None = None) -> Stage:
    """A stage that joins inputs and targets into one sequence, for a language model.

    (inputs, targets) become (both, both, weights), with weights of 0 for the inputs and the padding
    and of 1 for the targets. An example of one array x becomes (x, x).

    Args:
      pad_to_length: the length to which sequences are padded with zeros; None for no padding.
    Returns: a stage.
    Raises:
      TypeError, ValueError: `pad_to_length` is not an int of at least 1.
      ShapeError (while it runs): a sequence is longer, or an example has the wrong form.
    Example:
      >>> import numpy
      >>> examples = [(numpy.array([5, 6]), numpy.array([7]))]
      >>> next(ConcatenateToLMInput(pad_to_length=4)(examples))
      (array([5, 6, 7, 0]), array([5, 6, 7, 0]), array([0, 0, 1, 0]))
    Source: Trax documentation, `data.ConcatenateToLMInput`.
    """
    name = "ConcatenateToLMInput"
    limit = None
    if pad_to_length is not None:
        limit = option_checks.whole_number(name, "pad_to_length", pad_to_length)

    def join(example: Any) -> tuple[Any, ...]:
        fields = fields_of(example)
        if len(fields) == 1:
            return fields[0], fields[0]
        if len(fields) != 2 or any(np.ndim(x) != 1 for x in fields):
            raise Unsuitable("one array, or two of one axis")
        inputs, targets = map(np.asarray, fields)
        both = np.concatenate([inputs, targets])
        weights = np.zeros(len(both), inputs.dtype)
        weights[len(inputs) :] = 1
        if limit is not None:
            if len(both) > limit:
                raise Unsuitable(
                    f"at most pad_to_length={limit} elements, not {len(inputs)} + {len(targets)}",
                    "FilterByLength or TruncateToLength before it",
                )
            both, weights = lengthened(both, limit), lengthened(weights, limit)
        return both, both, weights

    return each(name, join)


def PrefixLM(input_length: int = 128, output_length: int = 512) -> Stage:
    """A stage that splits sequences into inputs and the targets that follow them.

    Args:
      input_length: the number of elements of the inputs.
      output_length: the number of elements of the targets; the last targets may be shorter.
    Returns: a stage from sequences [n], bare or in tuples of one, or lists of numbers, to pairs
      (inputs, targets).
    Raises:
      TypeError, ValueError: a length is not an int of at least 1.
      ShapeError (while it runs): an example is not one array with one axis.
    Example:
      >>> import numpy
      >>> for inputs, targets in PrefixLM(2, 3)([numpy.arange(9)]):
      ...     print(inputs, targets)
      [0 1] [2 3 4]
      [5 6] [7 8]
    Source: Trax documentation, `data.PrefixLM`.
    """
    n_in = option_checks.whole_number("PrefixLM", "input_length", input_length)
    n_out = option_checks.whole_number("PrefixLM", "output_length", output_length)

    def pairs(example: Any) -> Iterator[tuple[Any, Any]]:
        tokens = sequence(example)
        starts = range(0, len(tokens) - n_in, n_in + n_out)
        return ((tokens[s : s + n_in], tokens[s + n_in : s + n_in + n_out]) for s in starts)

    return spread("PrefixLM", pairs)


def generate_sequential_chunks(max_length: int | None = None) -> Stage:
    """A stage that splits sequences into consecutive pieces.

    Args:
      max_length: the length of the pieces; the last piece of a sequence may be shorter.
    Returns: a stage from sequences [n], bare or in tuples of one, to arrays [at most max_length].
    Raises:
      TypeError, ValueError: `max_length` is not an int of at least 1.
      ShapeError (while it runs): an example is not one array with one axis.
    Example:
      >>> import numpy
      >>> list(generate_sequential_chunks(3)([numpy.arange(5)]))
      [array([0, 1, 2]), array([3, 4])]
    Source: Trax documentation, `data.generate_sequential_chunks`.
    """
    n = option_checks.whole_number("generate_sequential_chunks", "max_length", max_length)

    def pieces(example: Any) -> Iterator[Any]:
        tokens = sequence(example)
        return (tokens[start : start + n] for start in range(0, len(tokens), n))

    return spread("generate_sequential_chunks", pieces)


def sequence(example: Any) -> Any:
    """The only array of an example, which must have one axis; or the example, a list of numbers."""
    if isinstance(example, list) and example and all(isinstance(x, int | float) for x in example):
        return example
    fields = fields_of(example)
    if len(fields) != 1 or np.ndim(fields[0]) != 1:
        raise Unsuitable("one array with one axis")
    return np.asarray(fields[0])
