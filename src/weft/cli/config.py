"""The configuration file of a run: read reads a Config from TOML, applies the values of the command
line, and checks every table, key, name and value.
"""

import os
import pathlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import parameters
from .places import ConfigError, Places, near
from .registries import METRICS, MODELS, OPTIMIZERS, SCHEDULES, SOURCES, STAGES, Registry
from .toml_text import Path, lines_of, written

__all__ = ["FILE_NAME", "Config", "ConfigError", "read"]

FILE_NAME = "config.toml"
"""The file in a run's folder with its configuration."""


@dataclass(frozen=True)
class Config:
    """The checked configuration of a run.

    Args:
      tables: the values from `tomllib`, with the defaults of the table `run`.
      places: the places where the values were written.
    """

    tables: Mapping[str, Any]
    places: Places

    @property
    def run(self) -> Mapping[str, Any]:
        """The table `run`, with its defaults."""
        table: Mapping[str, Any] = self.tables["run"]
        return table

    @property
    def output_dir(self) -> str:
        """The folder of the run."""
        return str(self.run["output_dir"])

    def text(self) -> str:
        """The configuration as TOML."""
        return written(self.tables)


Named: TypeAlias = str | Mapping[str, Any]
"""A name with parameters, or just a name."""


def _run(
    steps: int,
    output_dir: str | None = None,
    seed: int = 0,
    devices: int | None = None,
    precision: str = "float32",
    accumulation_steps: int = 1,
    save_every: int | None = None,
    report_every: int | None = None,
    keep_every: int | None = None,
    lowest: str | None = None,
    highest: str | None = None,
) -> None:
    """The table `run`.

    Args:
      steps: the number of steps of the whole run.
      output_dir: the folder for checkpoints and logs.
      seed: the seed of the weights, of dropout, and of data without their own seed.
      devices: the number of devices among which each batch is divided.
      precision: "float32", "bfloat16" or "float16".
      accumulation_steps: the number of parts into which each batch is divided.
      save_every: steps between two checkpoints; the first and last steps are saved too.
      report_every: steps between two reports of metrics; the first and last steps are reported too.
      keep_every: steps between two checkpoints that are never removed.
      lowest: a metric; the checkpoint with its lowest value is kept.
      highest: a metric; the checkpoint with its highest value is kept.
    """


def _data(source: Named, stages: Sequence[Named] = ()) -> None:
    """The table `data`.

    Args:
      source: the name of a source of data with its parameters
      stages: the stages that examples go through
    """


def _eval(metrics: Sequence[Named], data: Mapping[str, Any], batches: int = 1) -> None:
    """The table `eval`.

    Args:
      metrics: the names of the metrics
      data: a table like `data`, with the data to evaluate on
      batches: the number of batches of an evaluation
    """


def _sample(
    prompt: str = "",
    length: int = 200,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    n: int = 1,
    seed: int = 0,
    eos_id: int = -1,
    every: int | None = None,
) -> None:
    """The table `sample`.

    Args:
      prompt: the text that samples continue
      length: the number of tokens to draw
      temperature: 0 draws the most likely token
      top_k: draw only from this number of most likely tokens
      top_p: draw only from the most likely tokens with this total probability
      n: the number of samples
      seed: the random seed of the samples
      eos_id: the token that ends a sample; -1 for none
      every: in training, steps between two logged samples
    """


_NAMED: dict[str, tuple[Registry, str]] = {
    "model": (MODELS, "TransformerLM"),
    "loss": (METRICS, "CategoryCrossEntropy"),
    "optimizer": (OPTIMIZERS, "Adam"),
    "schedule": (SCHEDULES, "warmup_and_rsqrt_decay"),
}
_TABLES = ("run", "model", "loss", "optimizer", "schedule", "data", "eval", "sample")
_NEEDED = ("run", "model", "loss", "optimizer", "data")
_PRECISIONS = ("float32", "bfloat16", "float16")


def read(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] = {},
) -> Config:
    """Reads and checks the configuration file of a run.

    Args:
      path: the TOML file.
      overrides: strings such as "model.d_model=64" or "data.stages.Batch.batch_size=8", which
        override values of the file.
      options: values by table and key from options of the command line, such as `--steps`; they
        override values too.
    Returns: the configuration, without reading data or building models.
    Raises: ConfigError: there is no such file, it is not TOML, or it has an unexpected table, key,
      name or value; the message names the line and a fix.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("run.toml").write_text('''
      ... run = { steps = 10 }
      ... model = { name = "MLP", layer_widths = [32, 10] }
      ... loss = { name = "CategoryCrossEntropy" }
      ... optimizer = { name = "Adam" }
      ... data = { source = "Digits", stages = [{ name = "Batch", batch_size = 64 }] }
      ... ''')
      >>> read("run.toml", ["run.steps=20"]).run["steps"]
      20
    """
    file = os.fspath(path)
    tables, lines = _parsed(file)
    override_places: dict[Path, str] = {}
    for text in overrides:
        place, value = _override(file, tables, text)
        override_places[place] = f"--set {text}"
        _set_value(Places(f"--set {text}", {}), tables, place, value)
    for table, values in options.items():
        for key, value in values.items():
            option = f"--{key.replace('_', '-')} {value}"
            override_places[table, key] = option
            _set_value(Places(option, {}), tables, (table, key), value)
    places = Places(file, lines, override_places)
    _check_tables(places, tables)
    run = {"output_dir": os.path.join("runs", pathlib.Path(file).stem), **tables["run"]}
    run = {**_defaults(run), **run}
    return Config({**tables, "run": run}, places)


def _defaults(run: Mapping[str, Any]) -> dict[str, Any]:
    """The default values of the table `run`."""
    steps = run["steps"]
    save_every = run.get("save_every", max(1, min(steps // 10, 1000)))
    return {
        "seed": 0,
        "precision": "float32",
        "accumulation_steps": 1,
        "save_every": save_every,
        "report_every": save_every,
    }


def _parsed(file: str) -> tuple[dict[str, Any], dict[Path, int]]:
    """The tables of a file, and the lines of its keys."""
    places = Places(file, {})
    try:
        text = pathlib.Path(file).read_bytes().decode().replace("\r\n", "\n").removeprefix("\ufeff")
    except OSError as error:
        raise places.error((), f"can't be read: {error.strerror}", "the path of a file") from None
    except UnicodeDecodeError as error:
        raise places.error((), f"is not UTF-8: {error.reason}", "a TOML file") from None
    try:
        return tomllib.loads(text), lines_of(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        message, line = match.groups() if match else (str(error), None)
        place = f"{file}:{line or text.count(chr(10)) + 1}"
        raise Places(place, {}).error(
            (), f"not TOML: {message}", "TOML, as in steps = 100"
        ) from None


def _override(file: str, tables: Any, text: str) -> tuple[Path, Any]:
    """The path and the value in a text such as `model.d_model=64`."""
    places = Places(f"--set {text}", {})
    keys, equals, value = text.partition("=")
    if not equals or not all(key.strip() for key in keys.split(".")):
        raise places.error((), "expected a key and a value", "--set model.d_model=64")
    path: list[str | int] = []
    inner: Any = tables
    for key in (key.strip() for key in keys.split(".")):
        path.append(_element(places, inner, key) if isinstance(inner, list) else key)
        if isinstance(inner, list):
            inner = inner[path[-1]]  # type: ignore[index]
        else:
            inner = inner.get(key, {}) if isinstance(inner, dict) else {}
    try:
        return tuple(path), tomllib.loads(f"value = {value.strip()}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return tuple(path), value.strip()  # the shell has removed the quotes of a string


def _element(places: Places, items: list[Any], key: str) -> int:
    """The index of a list element: the number itself, or the index of the element with that
    name."""
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    if re.fullmatch(r"\d+", key) and int(key) < len(items):
        return int(key)
    if key in names:
        return names.index(key)
    known_names = [str(name) for name in names]
    raise places.error((), f"there is no element {key!r} in the list", near(key, known_names))


def _set_value(places: Places, tables: Any, path: Path, value: Any) -> None:
    """Sets a value in nested tables, and makes missing tables."""
    inner = tables
    for i, key in enumerate(path[:-1]):
        if not isinstance(inner, list):
            inner.setdefault(key, {})
        if isinstance(inner[key], str) and i:  # just the name of a source or a stage
            inner[key] = {"name": inner[key]}
        inner = inner[key]
        if not isinstance(inner, dict | list):
            keys = ".".join(map(str, path[: i + 1]))
            raise places.error((), f"{keys} is not a table", f"--set {keys}=…")
    inner[path[-1]] = value


def _check_tables(places: Places, tables: Mapping[str, Any]) -> None:
    for name, table in tables.items():
        if name not in _TABLES:
            message = f"there is no table {name!r}"
            raise places.error((name,), message, near(name, _TABLES))
        if not isinstance(table, Mapping):
            raise places.error((name,), "expected a table", f"[{name}] in a line of its own")
    for name in _NEEDED:
        if name not in tables:
            raise places.error((), f"the table [{name}] is missing", _example(name))
    _check_run(places, tables["run"])
    for name, (registry, example) in _NAMED.items():
        if name in tables:
            _check_named(places, (name,), tables[name], registry, example)
    _check_data(places, ("data",), tables["data"])
    if "eval" in tables:
        _check_eval(places, tables)
    if "sample" in tables:
        _check_keys(places, ("sample",), _sample, tables["sample"])


def _example(table: str) -> str:
    if table == "run":
        return "[run] with steps = 1000"
    if table == "data":
        return '[data] with source = { name = "Windows", text = "texts/*.txt", length = 128 }'
    return f'[{table}] with name = "{_NAMED[table][1]}"'


def _check_keys(
    places: Places, path: Path, function: Callable[..., Any], table: Mapping[str, Any]
) -> None:
    """Checks the keys and values of a table against the function that describes it."""
    parameters.arguments(places, path, function, table, is_table=True)


def _check_run(places: Places, run: Mapping[str, Any]) -> None:
    _check_keys(places, ("run",), _run, run)
    for key in run:
        value = run[key]
        least = 0 if key == "seed" else 1
        if isinstance(value, int) and value < least:
            message = f"expected a whole number of at least {least}; got {value}"
            raise places.error(("run", key), message, f"{key} = {least}")
    precision = run.get("precision", "float32")
    if precision not in _PRECISIONS:
        raise places.error(
            ("run", "precision"),
            f"there is no precision {precision!r}",
            near(precision, _PRECISIONS),
        )


def _check_named(places: Places, path: Path, table: Any, registry: Registry, example: str) -> None:
    """Checks a table with a name: the name, and the keys and values of its parameters."""
    name, place = parameters.name_of(places, path, table, registry.kind, example)
    function = registry.function(places, place, name)
    values = table if isinstance(table, Mapping) else {}
    parameters.arguments(places, path, function, values)


def _check_data(places: Places, path: Path, table: Any, needs_source: bool = True) -> None:
    if not isinstance(table, Mapping):
        raise places.error(path, "expected a table", "data = { source = … }")
    _check_keys(places, path, _data, table)
    _check_named(places, (*path, "source"), table["source"], SOURCES, "Windows")
    for i, stage in enumerate(table.get("stages", ())):
        _check_named(places, (*path, "stages", i), stage, STAGES, "Batch")


def _check_eval(places: Places, tables: Mapping[str, Any]) -> None:
    table = tables["eval"]
    _check_keys(places, ("eval",), _eval, table)
    _check_data(places, ("eval", "data"), table["data"])
    if table.get("batches", 1) < 1:
        raise places.error(("eval", "batches"), "expected at least 1", "batches = 10")
    for i, metric in enumerate(table["metrics"]):
        _check_named(places, ("eval", "metrics", i), metric, METRICS, "CategoryAccuracy")
