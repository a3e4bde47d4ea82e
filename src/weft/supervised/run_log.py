"""RunLog writes the reports of a training loop to stdout, to a live line, and to files. step_line
and metric_line format lines on stdout; layer_summaries collects the values that SummaryScalar and
SummaryImage keep in a model's state.
"""

import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as onp

from .. import option_checks
from ..option_checks import optional
from ..runtime import versions
from ..transforms.devices.devices import local_devices
from .event_files import PACKAGE, SummaryWriter, is_available
from .metric_files import MetricFiles, plain
from .progress import Progress
from .step_values import scalar_of

__all__ = ["RunLog", "layer_summaries", "metric_line", "step_line"]

logger = logging.getLogger("weft.supervised")


def step_line(step: int, text: str) -> str:
    """A line about a step: `Step    100: Ran 100 train steps in 12.34 secs`.

    Args:
      step: the number of the step.
      text: the rest of the line.
    Example:
      >>> step_line(100, "Ran 100 train steps in 12.34 secs")
      'Step    100: Ran 100 train steps in 12.34 secs'
    Source: Trax documentation, `supervised.training.Loop`.
    """
    return f"Step {step: 6d}: {text}"


def metric_line(step: int, mode: str, name: str, value: float, width: int = 0) -> str:
    """A line with a metric: `Step    100: train L2Loss |  0.12345678`.

    Args:
      step: the number of the step.
      mode: "train" or "eval".
      name: the metric.
      value: its value.
      width: the length of the longest name; names are aligned to the right.
    Example:
      >>> metric_line(100, "eval", "L2Loss", 0.125, width=8)
      'Step    100: eval    L2Loss |  0.12500000'
    Source: Trax documentation, `supervised.training.Loop`.
    """
    return step_line(step, f"{mode:5} {name.rjust(width)} | {value: .8f}")


class RunLog:
    """Prints and writes the reports of a training loop.

    Lines in Trax's format go to stdout. A line on stderr shows the speed, the loss and the
    remaining time (`progress.Progress`). The folder contains `metrics.jsonl`, `metrics.csv` and
    `clock.jsonl` (`metric_files.MetricFiles`), and event files for TensorBoard in `train` and
    `eval`. All lines, and the metrics that are not printed, go to the logger "weft.supervised".

    Args:
      directory: the folder of the run; None writes no files.
      stdout: whether to print lines.
      live: whether to show the speed; by default, the value of `stdout`.
      tensorboard: whether to write event files; by default, if tensorboardX is installed.

    Raises: TypeError: an option is invalid. ImportError: `tensorboard` is True, and
      tensorboardX is not installed.

    Example:
      >>> log = RunLog("run", live=False)
      >>> log.scalars(1, "train", {"metrics/L2Loss": 0.25})
      Step      1: train L2Loss |  0.25000000
      >>> log.scalars(1, "train", {"training/learning_rate": 0.1}, stdout=False)
      >>> log.close()
      >>> import pathlib
      >>> print(pathlib.Path("run/metrics.csv").read_text(), end="")
      step,mode,task,metric,value
      1,train,,metrics/L2Loss,0.25
      1,train,,training/learning_rate,0.1
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        stdout: bool = True,
        live: bool | None = None,
        tensorboard: bool | None = None,
    ) -> None:
        if directory is not None and not isinstance(directory, str | os.PathLike):
            raise option_checks.wrong_type("RunLog", "directory", "a path or None", directory)
        self._directory = None if directory is None else os.path.expanduser(os.fspath(directory))
        self._prints = option_checks.flag("RunLog", "stdout", stdout)
        shown = self._prints if live is None else option_checks.flag("RunLog", "live", live)
        self._progress = Progress() if shown else None
        if tensorboard is None:
            self._has_events = is_available()
        else:
            self._has_events = option_checks.flag("RunLog", "tensorboard", tensorboard)
            if self._has_events:
                optional(PACKAGE, "RunLog: tensorboard=True", PACKAGE)
        self._files = None if self._directory is None else MetricFiles(self._directory)
        self._writers: dict[str, SummaryWriter] = {}
        self._first_step: int | None = None
        self._width = 0

    # A run.

    def resume(self, step: int) -> None:
        """Removes the lines that an earlier run wrote after the step from which this one resumes.

        A run that was killed and resumed then writes the files that an uninterrupted one would
        have. Event files are kept; a marker in them makes TensorBoard ignore the later steps.

        Args:
          step: the step of the checkpoint; 0 for a run that begins.
        """
        self._first_step = step + 1
        if self._files is not None:
            self._files.cut(step)

    def describe(self, step: int, config: Any) -> None:
        """Writes the run's configuration and the versions of its programs.

        Args:
          step: the step from which it applies: 0 at the beginning.
          config: dicts, lists, numbers and texts; other objects are written as text.
        """
        if self._files is not None:
            is_new = self._files.description(step, config, _versions())
            self._files.event(step, "begin")
            if is_new and (writer := self._writer("train", "")) is not None:
                text = json.dumps(plain(config), indent=2)
                writer.text("config", "\n".join(f"    {line}" for line in text.splitlines()), step)

    # The live line.

    def begin(self, step: int, n_steps: int | None = None) -> None:
        """Begins to show the speed.

        Args:
          step: the number of completed steps.
          n_steps: the number of steps from here to the end; None if unknown.
        """
        if self._progress is not None:
            self._progress.begin(step, n_steps)

    def live(self, step: int, loss: Any = None, learning_rate: Any = None) -> None:
        """Updates the speed if it is due. Call it after every step; it costs next to nothing.

        Args:
          step: the number of completed steps.
          loss: the loss of the step, a number or a scalar on a device; `live` does not wait for it.
          learning_rate: the learning rate of the step.
        """
        if self._progress is not None:
            self._progress.update(step, loss, learning_rate)

    def end(self, step: int) -> None:
        """Records the end of the run, and stops updating the line with the speed.

        Args:
          step: the number of completed steps.
        """
        if self._progress is not None:
            self._progress.end()
        if self._files is not None:
            self._files.event(step, "end")

    # Lines.

    def message(self, text: str, stdout: bool = True) -> None:
        """Prints a line.

        Args:
          text: the line.
          stdout: False logs it without printing.
        """
        logger.info(text)
        if self._prints and stdout:
            if self._progress is not None:
                self._progress.clear()
            print(text, flush=True)

    def step_line(self, step: int, text: str, stdout: bool = True) -> None:
        """Prints a line about a step; see the function `step_line`."""
        self.message(step_line(step, text), stdout)

    # Values.

    def scalars(
        self,
        step: int,
        mode: str,
        values: Mapping[str, Any],
        *,
        stdout: bool = True,
        width: int | None = None,
        task: str = "",
    ) -> None:
        """Prints numbers and writes them to the files.

        Args:
          step: the number of the step.
          mode: "train" or "eval".
          values: numbers or scalar arrays by tag, such as "metrics/L2Loss". The part after the
            first slash is printed.
          stdout: False writes the numbers without printing them.
          width: the length of the longest name; by default, of the names printed so far.
          task: the folder of the task's event files, if the run has several tasks.
        Raises: ValueError: a value is not a scalar. OSError: a file cannot be written.
        """
        numbers = {tag: scalar_of("RunLog.scalars", tag, value) for tag, value in values.items()}
        names = {tag: tag.partition("/")[2] or tag for tag in numbers}
        if stdout:
            self._width = max([self._width, *map(len, names.values())])
        for tag, value in numbers.items():
            line = metric_line(
                step, mode, names[tag], value, self._width if width is None else width
            )
            self.message(line, stdout)
        if self._files is not None:
            self._files.scalars(step, mode, numbers, task)
        if (writer := self._writer(mode, task)) is not None:
            writer.scalars(numbers, step)

    def image(self, step: int, mode: str, tag: str, image: Any, *, task: str = "") -> None:
        """Writes an image to the event files; see `event_files.SummaryWriter.image`."""
        if (writer := self._writer(mode, task)) is not None:
            writer.image(tag, image, step)

    def histogram(self, step: int, mode: str, tag: str, values: Any, *, task: str = "") -> None:
        """Writes a histogram to the event files; see `event_files.SummaryWriter.histogram`."""
        if (writer := self._writer(mode, task)) is not None:
            writer.histogram(tag, values, step)

    def text(self, step: int, mode: str, tag: str, text: str, *, task: str = "") -> None:
        """Writes a text, such as a sample of a language model, to all files.

        Args:
          step: the number of the step.
          mode: "train" or "eval".
          tag: the name of the text.
          text: the text.
          task: the folder of the task's event files, if the run has several tasks.
        """
        if self._files is not None:
            self._files.text(step, mode, tag, text, task)
        if (writer := self._writer(mode, task)) is not None:
            writer.text(tag, text, step)

    def summaries(self, step: int, mode: str, state: Any, *, task: str = "") -> None:
        """Writes the values that the layers SummaryScalar and SummaryImage keep in a model's state.

        Scalars go to all files. Images, and other arrays as histograms, go to event files only.

        Args:
          step: the number of the step.
          mode: "train" or "eval".
          state: the state of a model.
          task: the folder of the task's event files, if the run has several tasks.
        """
        values = layer_summaries(state)
        scalars = {tag: value for tag, value in values.items() if onp.ndim(value) == 0}
        self.scalars(step, mode, scalars, stdout=False, task=task)
        for tag, value in values.items():
            if _is_image(value):
                self.image(step, mode, tag, value, task=task)
            elif tag not in scalars:
                self.histogram(step, mode, tag, value, task=task)

    def flush(self) -> None:
        """Flushes stdout. The files are always up to date."""
        if self._prints:
            sys.stdout.flush()

    def close(self) -> None:
        """Closes the files. Writing another value opens them again."""
        if self._progress is not None:
            self._progress.end()
        if self._files is not None:
            self._files.close()
        for writer in self._writers.values():
            writer.close()

    def _writer(self, mode: str, task: str) -> SummaryWriter | None:
        """The event-file writer for a mode."""
        if self._directory is None or not self._has_events:
            return None
        place = os.path.join(self._directory, task, mode)
        if place not in self._writers:
            self._writers[place] = SummaryWriter(place, first_step=self._first_step)
        return self._writers[place]


def layer_summaries(state: Any) -> dict[str, Any]:
    """The numbers and images that SummaryScalar and SummaryImage keep in a model's state.

    Args:
      state: the state of a model: nested tuples, lists and dicts.
    Returns: scalars and images by their keys, which begin with `summary_`. If two layers have
      the same name, the second key ends in `_2`.
    Example:
      >>> model = tl.Serial(tl.SummaryScalar("mean"), tl.Relu(), tl.SummaryScalar("mean"))
      >>> _ = model(np.array([-1.0, 3.0]))
      >>> {key: float(value) for key, value in layer_summaries(model.state).items()}
      {'summary_mean': 1.0, 'summary_mean_2': 1.5}
    """
    values: dict[str, Any] = {}

    def visit(part: Any) -> None:
        if isinstance(part, dict):
            for key, value in part.items():
                if isinstance(key, str) and key.startswith("summary_"):
                    name, count = key, 1
                    while name in values:
                        count += 1
                        name = f"{key}_{count}"
                    values[name] = value
                else:
                    visit(value)
        elif isinstance(part, tuple | list):
            for item in part:
                visit(item)

    visit(state)
    return values


def _is_image(value: Any) -> bool:
    shape = onp.shape(value)
    return len(shape) == 2 or (len(shape) == 3 and shape[-1] in (1, 3, 4))


def _versions() -> dict[str, str]:
    """The versions of weft, its libraries and Python, and the devices."""
    devices = local_devices()
    return {**versions.installed(), "devices": f"{len(devices)} × {devices[0].device_kind}"}
