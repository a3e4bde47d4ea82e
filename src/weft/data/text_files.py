"""Sources that read files: Lines of text, JSONLines, CSV, and Windows of bytes."""

import csv
import functools
import glob
import itertools
import json
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import option_checks
from ..errors import ShapeError
from ..user_lines import noted
from .sources import Source

__all__ = ["CSV", "JSONLines", "Lines", "Windows"]

Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def files_of(name: str, files: Any) -> list[pathlib.Path]:
    """The paths of files: one path, a pattern such as `*.txt`, or a list of either. All must
    exist."""
    if isinstance(files, str | os.PathLike):
        files = [files]
    if not isinstance(files, list | tuple) or not files:
        raise option_checks.wrong_type(name, "files", "a path or a list of paths", files)
    paths: list[pathlib.Path] = []
    for file in files:
        if not isinstance(file, str | os.PathLike):
            raise option_checks.wrong_type(name, "files", "paths", file)
        path = pathlib.Path(file)
        if path.is_file():
            paths.append(path)
            continue
        matches = sorted(p for p in map(pathlib.Path, glob.glob(str(file), recursive=True)))
        matches = [p for p in matches if p.is_file()]
        if not matches:
            raise noted(FileNotFoundError(f"{name}: there is no file {str(file)!r}"))
        paths += matches
    return paths


def Lines(files: Files, epochs: int | None = 1) -> Source:
    """A source of the lines of text files.

    Args:
      files: a path, a pattern such as `"texts/*.txt"`, whose files are sorted by name, or a list of
        them. Files are UTF-8.
      epochs: the number of passes until the stream ends; None for an endless stream.
    Returns: a source of tuples of one string, without the end of the line.
    Raises:
      FileNotFoundError: there is no such file.
      ValueError (while it runs): a line is not UTF-8.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("two.txt").write_text("one\\ntwo\\n")
      >>> list(Lines("two.txt")())
      [('one',), ('two',)]
    """
    paths = files_of("Lines", files)

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        lines = itertools.islice(_lines(paths), start, None)
        return ((_text("Lines", *line),) for line in lines)

    return Source("Lines", read, None, epochs)


def _lines(paths: Sequence[pathlib.Path]) -> Iterator[tuple[bytes, pathlib.Path, int]]:
    """The lines of files, each with its path and number."""
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                yield line, path, number


def _text(name: str, line: bytes, path: pathlib.Path, number: int) -> str:
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise noted(
            ValueError(f"{name}: {path}, line {number}: not UTF-8 ({error.reason})")
        ) from None


def JSONLines(files: Files, keys: Sequence[str] | None = None, epochs: int | None = 1) -> Source:
    """A source of files with a JSON object on each line.

    Args:
      files: a path, a pattern, or a list of them, as for `Lines`.
      keys: the keys of the objects that become the fields of examples, in this order. None gives
        dicts.
      epochs: the number of passes until the stream ends; None for an endless stream.
    Returns: a source of tuples of strings and NumPy arrays, or of dicts. Empty lines are skipped.
    Raises:
      FileNotFoundError: there is no such file.
      ValueError (while it runs): a line is not an object, or lacks a key.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("a.jsonl").write_text('{"text": "to be", "ids": [3, 4]}\\n')
      >>> list(JSONLines("a.jsonl", ["ids", "text"])())
      [(array([3, 4]), 'to be')]
    """
    paths = files_of("JSONLines", files)
    if keys is not None and (isinstance(keys, str) or not all(isinstance(k, str) for k in keys)):
        raise option_checks.wrong_type("JSONLines", "keys", "a list such as ['text']", keys)

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        lines = (item for item in _lines(paths) if not item[0].isspace())
        return (_object(keys, *item) for item in itertools.islice(lines, start, None))

    return Source("JSONLines", read, None, epochs)


def _object(keys: Sequence[str] | None, line: bytes, path: pathlib.Path, number: int) -> Any:
    place = f"JSONLines: {path}, line {number}"
    try:
        values = json.loads(line)
    except ValueError as error:
        raise noted(ValueError(f"{place}: not JSON ({error})")) from None
    if not isinstance(values, dict):
        raise noted(ValueError(f"{place}: expected an object; got {type(values).__name__}"))
    expected = list(values) if keys is None else keys
    if missing := [key for key in expected if key not in values]:
        raise noted(
            ValueError(f"{place}: expected the keys {list(expected)}; {missing[0]!r} is missing")
        )
    if keys is None:
        return values
    return tuple(_field(place, key, values[key]) for key in expected)


def _field(place: str, key: str, value: Any) -> Any:
    try:
        array = np.asarray(value)
    except ValueError:  # raised for lists of different lengths
        array = np.asarray(None)
    if array.dtype == object:
        raise noted(ValueError(f"{place}: expected numbers or a string at {key!r}; got {value}"))
    return value if isinstance(value, str) else array


def CSV(
    files: Files,
    columns: Mapping[str | tuple[str, ...], Any],
    epochs: int | None = 1,
    delimiter: str = ",",
) -> Source:
    """A source of the rows of CSV files whose first line has the names of the columns.

    Args:
      files: a path, a pattern, or a list of them, as for `Lines`.
      columns: the fields of examples: a dict from the name of a column to its dtype, `str` for
        text. A tuple of names makes one array from several columns.
      epochs: the number of passes until the stream ends; None for an endless stream.
      delimiter: the character between two values.
    Returns: a source of tuples with a field for each entry of `columns`.
    Raises:
      FileNotFoundError: there is no such file.
      TypeError, ValueError: an option is invalid.
      ValueError (while it runs): a file lacks a column, or a value is not of the dtype.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("a.csv").write_text("length,width,kind\\n5.1,3.5,0\\n4.9,3.0,1\\n")
      >>> for x, y in CSV("a.csv", {("length", "width"): "float32", "kind": "int32"})():
      ...     print(x, y)
      [5.1 3.5] 0
      [4.9 3. ] 1
    """
    name = "CSV"
    paths = files_of(name, files)
    if not isinstance(columns, Mapping) or not columns:
        raise option_checks.wrong_type(name, "columns", "a dict of names and dtypes", columns)
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise option_checks.wrong_value(name, "delimiter", "one character", delimiter)
    dtypes = {key: None if dtype is str else np.dtype(dtype) for key, dtype in columns.items()}

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        rows = (row for path in paths for row in _rows(path, dtypes, delimiter))
        return (convert() for convert in itertools.islice(rows, start, None))

    return Source(name, read, None, epochs)


def _rows(
    path: pathlib.Path, dtypes: Mapping[Any, Any], delimiter: str
) -> Iterator[Callable[[], tuple[Any, ...]]]:
    """For each row, a function that makes its example, so that skipped rows cost nothing."""
    texts = (_text("CSV", *line) + "\n" for line in _lines([path]))
    table = csv.reader(texts, delimiter=delimiter)
    header = [column.lstrip("\ufeff") for column in next(table, [])]  # Excel adds this mark
    places = {key: _places(path, header, key) for key in dtypes}

    def example(row: Sequence[str], line: int) -> tuple[Any, ...]:
        return tuple(_value(path, line, row, places[k], dtype) for k, dtype in dtypes.items())

    for row in table:
        if row:
            yield functools.partial(example, row, table.line_num)


def _places(path: pathlib.Path, header: Sequence[str], key: Any) -> Any:
    for column in key if isinstance(key, tuple) else (key,):
        if column not in header:
            several = tuple(re.split(r"\s*,\s*", str(column)))
            fix = f"\n  fix: {several}, for an array of these" if {*several} <= {*header} else ""
            raise noted(ValueError(f"CSV: {path} has no column {column!r}; it has {header}{fix}"))
    return [header.index(c) for c in key] if isinstance(key, tuple) else header.index(key)


def _value(path: pathlib.Path, line: int, row: Sequence[str], places: Any, dtype: Any) -> Any:
    try:
        texts = [row[i] for i in places] if isinstance(places, list) else row[places]
        return texts if dtype is None and isinstance(texts, str) else np.asarray(texts, dtype)
    except (IndexError, ValueError) as error:
        expected = "a text" if dtype is None else dtype
        raise noted(
            ValueError(f"CSV: {path}, line {line}: expected {expected}; got {row} ({error})")
        ) from None


def Windows(
    text: Any,
    length: int,
    shuffle: bool = False,
    epochs: int | None = 1,
    seed: int | None = None,
) -> Source:
    """A source of windows of a text, for a language model of bytes or of tokens.

    Without `shuffle`, the windows are consecutive, and the end of the text is dropped if it is
    shorter than a window. With `shuffle`, a pass has the same number of windows, at random
    positions.

    Args:
      text: files, as for `Lines`, whose bytes are one text; or the text itself: bytes, or an array
        of integers [n], such as tokens.
      length: the length of windows.
      shuffle: whether windows are at random positions.
      epochs: the number of passes until the stream ends; None for an endless stream.
      seed: the seed of the positions; None draws one from NumPy's global generator for each stream.
    Returns: a source of pairs (window, window), int32 arrays [length]: inputs and targets for a
      model that shifts its inputs, like the models of `weft.models`. Its position can be set
      without reading.
    Raises:
      TypeError, ValueError: an option is invalid.
      FileNotFoundError: there is no such file.
      ShapeError: the text does not have one axis, or is shorter than a window.
    Example:
      >>> list(Windows(b"abcdefg", 3)())[1]
      (array([100, 101, 102], dtype=int32), array([100, 101, 102], dtype=int32))
    """
    name = "Windows"
    n = option_checks.whole_number(name, "length", length)
    tokens = _tokens(name, text)
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise noted(
            ShapeError(
                f"{name}: expected a text of integers with one axis; got {tokens.dtype}"
                f"{list(tokens.shape)}"
            )
        )
    if len(tokens) < n:
        raise noted(
            ShapeError(f"{name}: expected a text of at least length={n}; got {len(tokens)}")
        )

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        count = len(tokens) // n
        begins: Sequence[int] = range(0, count * n, n)
        if seed is not None:
            rng = np.random.default_rng([seed, number])
            begins = rng.integers(len(tokens) - n + 1, size=count).tolist()
        windows = (tokens[begin : begin + n].astype(np.int32) for begin in begins[start:])
        return ((window, window) for window in windows)

    return Source(name, read, None, epochs, shuffle, seed)


def _tokens(name: str, text: Any) -> np.ndarray:
    if isinstance(text, bytes | bytearray):
        return np.frombuffer(text, np.uint8)
    if isinstance(text, str | os.PathLike | list | tuple):
        return np.concatenate([np.fromfile(p, np.uint8) for p in files_of(name, text)])
    return np.asarray(text)
