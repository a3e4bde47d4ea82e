"""The commands train, evaluate, sample, report, explain, info and cache. Each takes the parsed
arguments of the command line and returns the exit status.
"""

import functools
import os
import signal
import threading
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .. import info as installation
from ..checkpoints import read_metadata
from ..compiler import disk_cache
from ..explanation.explain import explain_program
from ..layers.base import LayerError
from ..layers.modes import in_mode
from ..layers.serial import inputs_from_stack
from ..random import PRNGKey
from ..supervised.compiled_tasks import Evaluator, signature_of, with_ends
from ..supervised.run_log import RunLog, metric_line
from ..supervised.run_report import write_report
from ..transforms.devices.devices import process_index
from . import building, sampling
from .config import FILE_NAME, Config, read
from .parameters import FAILURES, from_failure
from .places import Places
from .toml_text import Path, value_text

__all__ = ["cache", "evaluate", "explain", "info", "report", "sample", "train"]

STOPPED = 128
"""A shell adds this to the number of the signal that ended a process."""


class Stopped(Exception):
    """A signal has ended the training, and the loop has saved a checkpoint."""


def train(arguments: Namespace) -> int:
    """Trains the model of a configuration file, or resumes its run from a checkpoint."""
    config = read(arguments.config, arguments.set, {"run": _options_of(arguments, _RUN_OPTIONS)})
    _check_same_model(config)
    folder = os.path.expanduser(config.output_dir)
    is_chief = process_index() == 0
    log = RunLog(folder if is_chief else None, stdout=is_chief)
    callbacks: list[Any] = []
    if config.tables.get("sample", {}).get("every"):
        callbacks.append(functools.partial(sampling.Samples, config=config, log=log))
    loop = building.loop_of(config, log=log, callbacks=callbacks)
    if is_chief:
        _write_config(folder, config)
    steps, first = config.run["steps"], loop.step
    if first >= steps:
        log.message(f"{folder} has all {steps} steps already; --steps {2 * steps} adds more")
        return 0
    log.message(f"{folder}: steps {first + 1} to {steps}")
    try:
        with _signals(log) as stops:
            loop.run(steps - first)
    except Stopped:
        log.message(_saved(folder))
        return STOPPED + stops[0]
    finally:
        log.close()
    print(f"{_saved(folder)}; weft report {folder} draws its curves")
    return 0


_RUN_OPTIONS = ("output_dir", "steps")
_SAMPLE_OPTIONS = ("prompt", "length", "temperature", "top_k", "top_p", "n", "seed")


def _options_of(arguments: Namespace, options: Sequence[str]) -> dict[str, Any]:
    """The values of the options on the command line."""
    values = {option: getattr(arguments, option) for option in options}
    return {option: value for option, value in values.items() if value is not None}


def _saved(folder: str) -> str:
    """The step from which a run resumes, in words."""
    path = os.path.join(folder, "model")
    if not os.path.isdir(path):
        return "No step is saved"
    return f"Step {read_metadata(path)['step']} is saved in {path}"


@contextmanager
def _signals(log: RunLog) -> Iterator[list[int]]:
    """A block in which Ctrl-C and SIGTERM raise `Stopped`, once the step is finished and saved.

    The loop saves at SIGTERM, so Ctrl-C becomes SIGTERM; a second Ctrl-C ends at once. The list
    holds the number of the signal.
    """
    stops: list[int] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stops:
            raise KeyboardInterrupt
        stops.append(number)
        log.message("Saving after this step, then ending; Ctrl-C again ends at once")
        signal.raise_signal(signal.SIGTERM)

    def ended(number: int, frame: FrameType | None) -> None:
        stops.append(number)
        raise Stopped

    if threading.current_thread() is not threading.main_thread():
        yield stops
        return
    before = signal.signal(signal.SIGTERM, ended), signal.signal(signal.SIGINT, interrupted)
    try:
        yield stops
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def _write_config(folder: str, config: Config) -> None:
    """Writes the configuration into the run's folder: as a whole, or not at all."""
    path = os.path.join(folder, FILE_NAME)
    with open(f"{path}.part", "w", encoding="utf-8", newline="\n") as file:
        file.write(config.text())
    os.replace(f"{path}.part", path)


def _check_same_model(config: Config) -> None:
    """Raises an error if a run would resume with another model."""
    folder = os.path.expanduser(config.output_dir)
    file = os.path.join(folder, FILE_NAME)
    if not (os.path.isfile(file) and os.path.isdir(os.path.join(folder, "model"))):
        return
    earlier = read(file)
    new, old = (_flat(c.tables["model"], ("model",)) for c in (config, earlier))
    for path in [*new, *old]:
        if new.get(path) != old.get(path):
            was, now = (value_text(x[path]) if path in x else "no value" for x in (old, new))
            raise config.places.error(
                path,
                f"the run in {folder} has {was}; got {now}",
                "--output-dir with a new folder, or the model that the run has",
            )


def _flat(value: Any, path: Path) -> dict[Path, Any]:
    """Nested tables and lists as values by path."""
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {path: value}
    flat = [_flat(item, (*path, key)) for key, item in items]
    return {key: item for part in flat for key, item in part.items()}


def _run_of(
    place: str, overrides: Sequence[str], options: Mapping[str, Mapping[str, Any]] = {}
) -> tuple[Config, str]:
    """The configuration and the folder of a run, from its folder or its configuration file."""
    if os.path.isdir(place):
        file = os.path.join(place, FILE_NAME)
        if not os.path.isfile(file):
            raise Places(place, {}).error(
                (), f"has no {FILE_NAME}", "the folder of a run that weft train has begun"
            )
        return read(file, overrides, options), place
    config = read(place, overrides, options)
    return config, os.path.expanduser(config.output_dir)


def evaluate(arguments: Namespace) -> int:
    """Prints the metrics of a run's model on the data of the table `eval`, from their beginning."""
    config, folder = _run_of(arguments.run, arguments.set)
    task = building.eval_task_of(config)
    if task is None:
        raise config.places.error(
            (), "the table [eval] is missing", "[eval] with metrics, batches and data"
        )
    model = building.model_of(config)
    batch = signature_of(task)
    model.init(inputs_from_stack(batch, model.n_in), rng=PRNGKey(0))
    step = building.restored(model, folder, arguments.checkpoint)
    whole = with_ends(in_mode(model, "eval"), task.metrics, batch, PRNGKey(0))
    means, n, _ = Evaluator(task, whole, tuple).means(PRNGKey(config.run["seed"]))
    print(f"{folder}: {arguments.checkpoint}, {n} batches")
    width = max(map(len, means))
    for name, value in means.items():
        print(metric_line(step, "eval", name, value, width))
    return 0


def sample(arguments: Namespace) -> int:
    """Prints samples of a run's language model while they are drawn."""
    overrides = _options_of(arguments, _SAMPLE_OPTIONS)
    config, folder = _run_of(arguments.run, (), {"sample": overrides})
    options = config.tables.get("sample", {})
    model, codec = building.model_of(config), sampling.Codec(config.tables)
    building.restored(model, folder, arguments.checkpoint)
    n = options.get("n", 1)
    for number in range(n):
        if n > 1:
            print(f"{chr(10) * bool(number)}--- {number + 1}")
        print(options.get("prompt", ""), end="", flush=True)
        try:
            for piece in sampling.written_text(model, codec, options, number):
                print(piece, end="", flush=True)
        except BrokenPipeError:
            raise
        except LayerError as error:
            name = str(error).split(": ")[1]
            raise config.places.error(
                ("model",),
                f"the model does not map tokens to logits: {name} rejects them",
                "weft sample with the run of a language model",
            ) from None
        except FAILURES as error:
            raise from_failure(config.places, ("sample",), options, error) from None
        print()
    return 0


def report(arguments: Namespace) -> int:
    """Writes the HTML page of a run."""
    print(write_report(arguments.run, arguments.output))
    return 0


def explain(arguments: Namespace) -> int:
    """Runs a program, prints where its time and memory go, and writes an HTML page about it."""
    if not os.path.isfile(arguments.program):
        raise FileNotFoundError(
            f"there is no file {arguments.program}\n  fix: weft explain PROGRAM.py"
        )
    explanation, status = explain_program(arguments.program, arguments.arguments)
    print(explanation)
    stem = os.path.splitext(os.path.basename(arguments.program))[0]
    print(f"\nThe page is {explanation.save(arguments.output or f'{stem}.html')}")
    return status


def info(arguments: Namespace) -> int:
    """Prints versions, devices, caches and switches."""
    print(installation.describe())
    return 0


def cache(arguments: Namespace) -> int:
    """Prints where the cache of compiled programs is, and its size; or empties it."""
    if arguments.clear:
        disk_cache.clear()
    of = disk_cache.info()
    if of["path"] is None:
        print("The cache is off: the switch cache_dir is empty")
        return 0
    print(f"folder    {of['path']}")
    print(f"entries   {of['entries']:,}")
    print(f"size      {of['bytes'] / 2**20:,.1f} MiB")
    return 0
