"""MetricFiles writes the numbers of a run as lines of JSON and CSV; read_metrics reads them.

Each line is appended by one system call, so a killed run leaves complete lines. Metrics holds the
numbers read.
"""

import csv
import io
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..user_lines import noted
from .appended_file import AppendedFile

__all__ = ["MetricFiles", "Metrics", "read_metrics"]

JSONL, CSV, CLOCK = "metrics.jsonl", "metrics.csv", "clock.jsonl"
HEADER = "step,mode,task,metric,value\n"
MAX_DIGITS = 18  # keys of a step

CLOCK_METRICS = ("training/steps per second",)
"""Numbers that vary between runs of the same program; they go to the clock's file."""


class MetricFiles:
    """Three files of a run, to which lines are appended.

    `metrics.jsonl` has a line for each report: `{"step": 100, "mode": "train", "scalars":
    {"metrics/L2Loss": 0.5}}`. Texts, and the run's description, have separate lines.
    `metrics.csv` has a line for each number, with the columns step, mode, task, metric, value.
    Both contain computed numbers only, so two runs of the same program write the same bytes.
    `clock.jsonl` has the times: seconds since 1970, steps per second.

    JSON has only finite numbers, so others are written as the strings "nan", "inf" or "-inf".

    Args:
      directory: the run's folder; it is made when the first line is written.
      clock: a function that returns the seconds since 1970.

    Example:
      >>> files = MetricFiles("run")
      >>> files.scalars(1, "train", {"metrics/L2Loss": 0.25})
      >>> files.close()
      >>> import pathlib
      >>> print(pathlib.Path("run/metrics.jsonl").read_text(), end="")
      {"step": 1, "mode": "train", "scalars": {"metrics/L2Loss": 0.25}}
      >>> print(pathlib.Path("run/metrics.csv").read_text(), end="")
      step,mode,task,metric,value
      1,train,,metrics/L2Loss,0.25
    """

    def __init__(
        self, directory: str | os.PathLike[str], clock: Callable[[], float] = time.time
    ) -> None:
        self._directory = os.path.expanduser(os.fspath(directory))
        self._clock = clock
        self._files: dict[str, AppendedFile] = {}

    def scalars(self, step: int, mode: str, values: Mapping[str, float], task: str = "") -> None:
        """Writes numbers of a step.

        Args:
          step: the number of the step.
          mode: "train" or "eval".
          values: floats by name.
          task: the task, if the run has several.
        Raises: OSError: the disk is full, or the folder cannot be written to.
        """
        values = {name: float(value) for name, value in values.items()}
        computed = {k: v for k, v in values.items() if k not in CLOCK_METRICS}
        timed = {k: _jsonable(v) for k, v in values.items() if k in CLOCK_METRICS}
        if computed:
            scalars = {name: _jsonable(value) for name, value in computed.items()}
            self._line(JSONL, step, mode, task, {"scalars": scalars})
            rows = [[step, mode, task, name, repr(value)] for name, value in computed.items()]
            self._file(CSV).append(_csv_text(rows).encode())
        self._line(CLOCK, step, mode, task, {"time": round(self._clock(), 3), **timed})

    def text(self, step: int, mode: str, tag: str, text: str, task: str = "") -> None:
        """Writes a text of a step, such as a sample of a language model."""
        self._line(JSONL, step, mode, task, {"text": {tag: text}})

    def description(self, step: int, config: Any, versions: Mapping[str, str]) -> bool:
        """Writes the run's configuration and versions, if they differ from the last ones in the
        file.

        Args:
          step: the step from which they apply.
          config: dicts, lists, numbers and texts; other objects are written as text.
          versions: versions of programs by name.
        Returns: True if they were written.
        """
        row = {"step": step, "config": plain(config), "versions": dict(versions)}
        earlier = [r for r in _rows(os.path.join(self._directory, JSONL)) if "config" in r]
        if earlier and {**earlier[-1], "step": step} == row:
            return False
        self._file(JSONL).append(_line_of(row))
        return True

    def event(self, step: int, event: str) -> None:
        """Records in the clock's file that the run began or ended."""
        row = {"step": step, "event": event, "time": round(self._clock(), 3)}
        self._file(CLOCK).append(_line_of(row))

    def cut(self, step: int) -> None:
        """Removes the lines after a step, for a run that resumes there.

        Args:
          step: the step of the checkpoint. Lines up to this step are kept.
        """
        for name in (JSONL, CSV, CLOCK):
            path = os.path.join(self._directory, name)
            if name in self._files or os.path.exists(path):
                self._file(name).truncate(_end_of(path, step))

    def close(self) -> None:
        """Closes the files. Writing another line opens them again."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def _file(self, name: str) -> "AppendedFile":
        file = self._files.get(name)
        if file is None:
            file = AppendedFile(os.path.join(self._directory, name), of_lines=True)
            self._files[name] = file
            if name == CSV and not file.size:
                file.append(HEADER.encode())
        return file

    def _line(self, name: str, step: int, mode: str, task: str, rest: dict[str, Any]) -> None:
        row = {"step": step, "mode": mode, **({"task": task} if task else {}), **rest}
        self._file(name).append(_line_of(row))


def _end_of(path: str, step: int) -> int:
    """The length in bytes up to the first line of a later step."""
    end = 0
    with open(path, "rb") as file:
        for line in file:
            later = _step_of(line)
            if later is not None and later > step:
                break
            end += len(line)
    return end


def _step_of(line: bytes) -> int | None:
    """The step of a line of any file; None for the header or a damaged line."""
    if line[:1].isdigit():
        number = line.partition(b",")[0]
        return int(number) if number.isdigit() and len(number) < MAX_DIGITS else None
    row = _parsed(line)
    return None if row is None else row["step"]


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Parses a JSON line with a step; None if it is damaged."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_row = isinstance(row, dict) and type(row.get("step")) is int
    return row if is_row and 0 <= row["step"] < 10**MAX_DIGITS else None


def _rows(path: str) -> list[dict[str, Any]]:
    """The lines of a file as dicts; empty if there is no file. Damaged lines are skipped."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return [row for row in map(_parsed, file) if row is not None]


def _line_of(row: dict[str, Any]) -> bytes:
    return (json.dumps(row) + "\n").encode()


def _jsonable(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _csv_text(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def plain(value: Any) -> Any:
    """A configuration as JSON values; other objects become text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return _jsonable(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


class Metrics(NamedTuple):
    """The lines of a run.

    Attributes:
      series: the list of (step, value) for each (task, mode, metric).
      texts: a list of (step, mode, tag, text).
      config: the last configuration.
      versions: the last versions, by name.
      clock: the lines of `clock.jsonl`, as dicts.
      damaged: the number of lines that could not be read.
    """

    series: dict[tuple[str, str, str], list[tuple[int, float]]]
    texts: list[tuple[int, str, str, str]]
    config: Any
    versions: dict[str, str]
    clock: list[dict[str, Any]]
    damaged: int


def read_metrics(directory: str | os.PathLike[str]) -> Metrics:
    """Reads the files of `MetricFiles`, even while a run writes them.

    Args:
      directory: the run's folder.
    Returns: the numbers, texts and times of the lines.
    Raises: FileNotFoundError: the folder has no `metrics.jsonl`.
    Example:
      >>> files = MetricFiles("other run")
      >>> files.scalars(1, "train", {"metrics/L2Loss": 0.25})
      >>> files.scalars(2, "train", {"metrics/L2Loss": float("nan")})
      >>> files.close()
      >>> read_metrics("other run").series
      {('', 'train', 'metrics/L2Loss'): [(1, 0.25), (2, nan)]}
    """
    directory = os.path.expanduser(os.fspath(directory))
    path = os.path.join(directory, JSONL)
    if not os.path.exists(path):
        raise noted(
            FileNotFoundError(
                f"read_metrics: {directory} has no {JSONL}\n"
                "  fix: the folder that was the output_dir of a Loop, or the directory of a RunLog"
            )
        )
    read = Metrics({}, [], None, {}, _rows(os.path.join(directory, CLOCK)), _damaged(path))
    for row in _rows(path):
        mode, task = str(row.get("mode", "")), str(row.get("task", ""))
        for name, value in _items(row, "scalars"):
            if (number := _number(value)) is not None:
                read.series.setdefault((task, mode, name), []).append((row["step"], number))
        for tag, text in _items(row, "text"):
            read.texts.append((row["step"], mode, tag, str(text)))
        if "config" in row:
            versions = {name: str(version) for name, version in _items(row, "versions")}
            read = read._replace(config=row["config"], versions=versions)
    return read


def _items(row: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """The items of a dict inside a line."""
    inside = row.get(key)
    return list(inside.items()) if isinstance(inside, dict) else []


def _number(value: Any) -> float | None:
    """A number from a line; None for other values."""
    if isinstance(value, bool) or not (
        isinstance(value, int | float) or value in ("nan", "inf", "-inf")
    ):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _damaged(path: str) -> int:
    """The number of unreadable lines. An incomplete last line does not count."""
    with open(path, "rb") as file:
        return sum(line.endswith(b"\n") and _parsed(line) is None for line in file)
