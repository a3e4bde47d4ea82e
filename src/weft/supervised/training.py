"""Loop: trains a model on tasks, evaluates it, saves it, and resumes where it was.

TrainTask and EvalTask come from `tasks.py`, init_host_and_devices from `hosts.py`.
"""

import collections
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as onp

from .. import option_checks
from ..fastmath import tree_leaves
from ..layers.base import Layer
from ..layers.modes import in_mode, share_weights
from ..layers.serial import inputs_from_stack
from ..optimizers.trainer import Trainer
from ..random import fold_in, split
from ..user_lines import noted
from .callbacks import LoopEvents, made_callbacks
from .compiled_tasks import (
    Evaluator,
    reversible_trainer_of,
    signature_of,
    trainer_of,
    with_ends,
)
from .history import History
from .hosts import init_host_and_devices as init_host_and_devices
from .loop_checkpoints import LoopCheckpoints
from .nan_alarm import find_nonfinite
from .run_log import RunLog
from .step_values import StepValues
from .tasks import EndOfData, EvalTask, TrainTask

__all__ = ["EvalTask", "Loop", "TrainTask", "init_host_and_devices"]

IN_FLIGHT = 2
"""The number of steps that may run on the devices before the loop waits for the first."""

NOT_AGAIN = (
    "  the step is finite when it is run operation by operation: the compiled step overflows\n"
    "  fix: a lower learning rate, or clip_grad_norm of the optimizer"
)


class Loop:
    """Trains a model on one task or several: batches, steps, reports, evaluations, checkpoints.

    If `output_dir` has a checkpoint, the loop resumes from it: weights, state, the optimizer's
    state, random keys, the position in the data, the step and the history. Its further steps equal
    those of an uninterrupted run, bit for bit on the same kind of machine.

    Args:
      model: a layer; it is initialized if it has no weights.
      tasks: a `TrainTask`, or several that take turns.
      eval_model: the model that is evaluated, with the weights of `model`; by default, `model` in
        mode "eval".
      eval_tasks: an `EvalTask` or several; None or [] for no evaluation.
      output_dir: the folder for checkpoints and logs; None writes nothing.
      checkpoint_at: function of the step that returns whether to save; by default, after step 1,
        every `n_steps_per_checkpoint` steps of the first task, and when `run` ends.
      checkpoint_low_metric: the name of a metric, such as "L2Loss"; the checkpoint with the lowest
        value is kept as "lowest_L2Loss".
      checkpoint_high_metric: the same for the highest value.
      permanent_checkpoint_at: function of the step that returns whether to keep a checkpoint
        permanently, as "model_<step>"; by default, every `n_steps_per_permanent_checkpoint` steps.
      eval_at: function of the step that returns whether to report and evaluate; the default is that
        of `checkpoint_at`.
      which_task: function of the step that returns the number of the task; by default, tasks take
        turns.
      n_devices: the number of devices among which each batch is divided; by default, all devices of
        this process.
      random_seed: seeds Python's `random`, NumPy's global generator and the loop's keys; None for a
        new seed in each run.
      loss_chunk_size: with the memory-efficient trainer, see
        `optimizers.extract_reversible_blocks`.
      use_memory_efficient_trainer: whether to train with `optimizers.ReversibleSerialTrainer`.
      adasum: see `optimizers.Trainer`.
      callbacks: classes, or functions that make a `TrainingStepCallback` from the loop.
      accumulation_steps: see `optimizers.Trainer`.
      precision: None; "bfloat16" or "float16" computes the model in 16 bits, with weights, loss and
        the optimizer's state in float32. With float16 the loss is scaled.
      log: a `run_log.RunLog`; the default prints, and writes to `output_dir`.

    Raises: TypeError, ValueError: an option is invalid.

    Example:
      >>> import numpy
      >>> from weft import layers as tl, optimizers
      >>> from weft.supervised import training
      >>> x = numpy.linspace(-1, 1, 8, dtype="float32").reshape(8, 1)
      >>> batch = x, 3 * x, numpy.ones_like(x)
      >>> task = training.TrainTask([batch], tl.L2Loss(), optimizers.SGD(0.5))
      >>> loop = training.Loop(tl.Dense(1), task, random_seed=0)
      Will not write evaluation metrics, because output_dir is None.
      >>> loop.run(50)  # doctest: +ELLIPSIS
      <BLANKLINE>
      Step      1: Total number of trainable weights: 2
      Step      1: Ran 1 train steps in ... secs
      Step      1: train L2Loss |  ...
      >>> float(loop.model.weights[0][0, 0].round(3))
      3.0

    Source: Trax documentation, `supervised.training.Loop`.
    """

    def __init__(
        self,
        model: Layer,
        tasks: TrainTask | Sequence[TrainTask],
        eval_model: Layer | None = None,
        eval_tasks: EvalTask | Sequence[EvalTask] | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        checkpoint_at: Callable[[int], bool] | None = None,
        checkpoint_low_metric: str | None = None,
        checkpoint_high_metric: str | None = None,
        permanent_checkpoint_at: Callable[[int], bool] | None = None,
        eval_at: Callable[[int], bool] | None = None,
        which_task: Callable[[int], int] | None = None,
        n_devices: int | None = None,
        random_seed: int | None = None,
        loss_chunk_size: int = 0,
        use_memory_efficient_trainer: bool | int = False,
        adasum: bool = False,
        callbacks: Sequence[Callable[["Loop"], Any]] | None = None,
        *,
        accumulation_steps: int = 1,
        precision: str | None = None,
        log: RunLog | None = None,
    ) -> None:
        if not isinstance(model, Layer):
            raise option_checks.wrong_type("Loop", "model", "a layer", model)
        self._tasks = _listed("tasks", tasks, TrainTask, least=1)
        self._eval_tasks = _listed("eval_tasks", eval_tasks or [], EvalTask)
        self._is_chief, _, self._n_devices, root = init_host_and_devices(n_devices, random_seed)
        self._keys = tuple(split(root, 3))  # keys for `new_rng`, for steps and for evaluations
        self._events = LoopEvents(
            self._tasks, checkpoint_at, permanent_checkpoint_at, eval_at, which_task
        )
        self._best = {"lowest": checkpoint_low_metric, "highest": checkpoint_high_metric}
        self._check_best()
        self._output_dir = _made_folder(output_dir)
        option_checks.choice("Loop", "precision", precision, (None, "bfloat16", "float16"))
        self._precision = precision
        self._step, self._saved_step, self._history = 0, 0, History()

        self._model = model
        self._batch_signature = signature_of(self._tasks[0])
        self._initialize(model)
        self._trainer_per_task: list[Any] = []
        if use_memory_efficient_trainer:
            self._make_reversible_trainer(loss_chunk_size, use_memory_efficient_trainer == 2)
        else:
            self._make_trainers(accumulation_steps=accumulation_steps, adasum=adasum)
        self._current: Any = self._trainer_per_task[0]
        self._make_evaluators(eval_model)
        self._values = [StepValues() for _ in self._tasks]
        self._in_flight = collections.deque[tuple[int, Any, Any]]()
        self._reported, self._report_is_due = (0, time.perf_counter()), False
        self._make_log(log)
        self._checkpoints = LoopCheckpoints(self)
        self.load_checkpoint()
        self._log.resume(self._step - self._report_is_due)
        self._log.describe(self._step, self._description())
        self._callbacks = made_callbacks(callbacks or (), self)

    # The parts of a loop.

    @property
    def step(self) -> int:
        """The number of completed steps."""
        return self._step

    @property
    def history(self) -> History:
        """The reported numbers, by mode and metric."""
        return self._history

    @property
    def n_devices(self) -> int:
        """The number of devices of this process that are used."""
        return self._n_devices

    @property
    def is_chief(self) -> bool:
        """True in the process that prints and writes logs, the first one."""
        return self._is_chief

    @property
    def model(self) -> Layer:
        """The model, with its latest weights."""
        return self._model

    @property
    def tasks(self) -> list[TrainTask]:
        """The tasks to train on."""
        return self._tasks

    @property
    def eval_model(self) -> Layer:
        """The model that is evaluated."""
        return self._eval_model

    @property
    def eval_tasks(self) -> list[EvalTask]:
        """The tasks to evaluate on."""
        return self._eval_tasks

    @property
    def output_dir(self) -> str | None:
        """The folder for checkpoints and logs."""
        return self._output_dir

    def new_rng(self) -> Any:
        """A new random key."""
        root, key = split(self._keys[0])
        self._keys = root, *self._keys[1:]
        return key

    def update_weights_and_state(self, weights: Any = None, state: Any = None) -> None:
        """Replaces the model's weights or state, for the following steps.

        Args:
          weights: nested like `model.weights`; None keeps the current weights.
          state: nested like `model.state`; None keeps the current state.
        """
        if weights is not None:
            self._model.weights = weights
        if state is not None:
            self._model.state = state
        for trainer in self._trainer_per_task:
            trainer.read()

    # Running.

    def run(self, n_steps: int = 1) -> None:
        """Trains for a number of steps. It may be called again. The run ends early if the data end
        and cannot begin again, or, after saving, at SIGTERM. However it ends, the model has the
        latest weights.

        Args:
          n_steps: the number of steps.
        Raises: FloatingPointError: the loss or a gradient is not finite; the message names the
          layer. The model keeps the weights from before that step.
        """
        n_steps = option_checks.whole_number("Loop.run", "n_steps", n_steps, least=0)
        with self._running(n_steps) as signals:
            for _ in range(n_steps):
                try:
                    self._one_step()
                except EndOfData as end:
                    self._log.message(f"{end}; training ends")
                    break
                if signals:
                    break
            self._wait(0)
            if self._step != self._saved_step and (signals or self._events.saves_at_end):
                self._save("model")
        if signals:  # passes the signal on to the previous handler
            signal.raise_signal(signals[0])

    def _one_step(self) -> None:
        step = self._step + 1
        current = self._events.task(step)
        task, trainer = self._tasks[current], self._trainer_per_task[current]
        batch = task.next_batch()
        rate = task.learning_rate(step)
        called = [c for c in self._callbacks if c.call_at(step)] if self._callbacks else ()
        if trainer is not self._current:
            self._current.write()
            trainer.read()
            self._current = trainer
        self._step = step
        if called:
            trainer.write()
            for callback in called:
                callback.on_step_begin(step)
            trainer.read()
        try:
            loss, stats = trainer.advance(batch, self._keys[1], step, rate)
        except BaseException:
            self._step = step - 1
            raise
        if "loss" not in stats:
            stats = {**stats, "loss": loss}
        self._values[current].add(stats)
        self._in_flight.append((step, batch, stats))
        self._wait(IN_FLIGHT)
        if called:
            trainer.write()
            for callback in called:
                callback.on_step_end(step)
            trainer.read()
        self._log.live(step, loss, rate)
        names = self._events.names(step)
        self._report_is_due = bool(self._events.reports(step))
        if names or self._report_is_due:
            self._wait(0)
            for name in names:
                self._save(name)
            self._report(saves="model" in names)

    def _wait(self, most: int) -> None:
        """Waits until at most `count` steps are running, and checks the numbers of the others."""
        while len(self._in_flight) > most:
            step, batch, stats = self._in_flight.popleft()
            for name in ("loss", "gradients_l2"):
                if name in stats and not math.isfinite(stats[name]):
                    self._fail(step, batch, name, float(stats[name]))

    def _fail(self, step: int, batch: Any, name: str, value: float) -> None:
        """Raises an error for a number that is not finite. The trainer has the weights from before
        the step. Steps with loss scaling may overflow and are skipped.
        """
        trainer = self._current
        if getattr(trainer, "loss_scale", None) is not None:
            return
        self._step = step - 1
        self._in_flight.clear()
        lines = [f"Loop: {'the loss' if name == 'loss' else name} of step {step} is {value}"]
        if isinstance(trainer, Trainer):
            trainer.write()
            model = trainer.model_with_loss
            key = fold_in(self._keys[1], step)
            nonfinite = find_nonfinite(
                model, model.weights, model.state, trainer.placed(batch), key
            )
            lines.append(nonfinite.message if nonfinite else NOT_AGAIN)
        raise noted(FloatingPointError("\n".join(lines)))

    @contextlib.contextmanager
    def _running(self, n_steps: int) -> Iterator[list[int]]:
        """A context in which SIGTERM appends its number to the list; at its end the model gets the
        latest weights."""
        signals: list[int] = []

        def note(number: int, frame: FrameType | None) -> None:
            signals.append(number)

        is_main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, note) if is_main else None
        self._current.read()
        self._log.begin(self._step, n_steps)
        try:
            if self._report_is_due:  # the report of the step at which the run was saved
                self._report(saves=self._events.saves(self._step))
            self._reported = self._step, time.perf_counter()
            yield signals
        finally:
            if is_main:
                signal.signal(signal.SIGTERM, before)
            self._in_flight.clear()
            self._current.write()
            share_weights(self._model, self._eval_model)
            self._log.end(self._step)
            self._checkpoints.wait()

    # Reports and evaluations.

    def _report(self, saves: bool) -> None:
        """Reports training and evaluates, if that is due; keeps the best of the saved models."""
        if self._report_is_due:
            self._report_training()
            self.run_evals()
            self._report_is_due = False
        if saves:
            self._save_best()

    def _report_training(self) -> None:
        """Prints and records the progress of training since the last report."""
        step, now = self._step, time.perf_counter()
        self._log.message("")
        if step == 1:
            n_weights = sum(int(onp.size(w)) for w in tree_leaves(self._model.weights))
            self._log.step_line(step, f"Total number of trainable weights: {n_weights}")
        seconds = now - self._reported[1]
        steps = step - self._reported[0]
        if steps:  # there are none directly after resuming at a report
            self._log.step_line(step, f"Ran {steps} train steps in {seconds:.2f} secs")
        self._reported = step, now
        for task, values in zip(self._tasks, self._values, strict=True):
            if not len(values):
                continue
            means = values.means()
            values.clear()
            self.log_summary({task.loss_name: means["loss"]}, task, "metrics/", "train")
            speed = {"steps per second": steps / max(seconds, 1e-9)} if steps else {}
            means = {"learning_rate": task.learning_rate(step), **speed, **means}
            self.log_summary(means, task, "training/", "train", stdout=False)

    def log_summary(
        self,
        values: Mapping[str, Any],
        summary_writer: TrainTask | EvalTask | None,
        value_prefix: str,
        log_prefix: str,
        stdout: bool = True,
    ) -> None:
        """Prints values of the latest step, writes them to the logs, and adds them to the history.

        Args:
          values: numbers by name.
          summary_writer: the task in whose folder they are logged; None means the first task.
          value_prefix: a prefix of the names, such as "metrics/".
          log_prefix: "train" or "eval".
          stdout: whether to print them too.
        """
        numbers = {value_prefix + name: float(value) for name, value in values.items()}
        for name, number in numbers.items():
            self._history.append(log_prefix, name, self._step, number)
        self._log.scalars(
            self._step,
            log_prefix,
            numbers,
            stdout=stdout,
            width=self._width,
            task=self._folder(summary_writer),
        )

    def run_evals(self, summary_writers: Any = None) -> None:
        """Evaluates the model on every evaluation task, and reports the metrics.

        Args:
          summary_writers: not used; the loop writes to its own logs.
        """
        self._current.write()
        share_weights(self._model, self._eval_model)
        key = fold_in(self._keys[2], self._step)
        for task, evaluator in zip(self._eval_tasks, self._evaluators, strict=True):
            means, n, state = evaluator.means(key)
            if n < task.n_eval_batches:
                self._log.message(
                    f"EvalTask: the data ended after {n} of {task.n_eval_batches} batches"
                )
            if n:
                self.log_summary(means, task, "metrics/", "eval")
                self._log.summaries(self._step, "eval", state, task=self._folder(task))
        self._log.flush()

    # Checkpoints.

    def save_checkpoint(self, basename: str) -> None:
        """Saves the complete state of training, and waits until it is on the disk.

        Args:
          basename: name of the checkpoint in `output_dir`, such as "model". An older checkpoint of
            this name is replaced when the new one is complete.
        """
        self._save(basename)
        self._checkpoints.wait()

    def _save(self, basename: str) -> None:
        """Starts saving in the background, if there is a folder."""
        if self._output_dir is None:
            self._log.message("Did not save checkpoint as output_dir is None", stdout=False)
            return
        self._current.write()
        self._checkpoints.save(basename, self._report_is_due)
        if basename == "model":
            self._saved_step = self._step

    def load_checkpoint(
        self, directory: str | os.PathLike[str] | None = None, filename: str | None = None
    ) -> None:
        """Restores the state of training from a checkpoint. If there is none, nothing changes.

        Args:
          directory: folder of the checkpoint; by default, `output_dir`.
          filename: name of the checkpoint; by default, "model".
        Raises: CheckpointError: the checkpoint is damaged, or belongs to another model or
          optimizer.
        """
        folder = self._output_dir if directory is None else os.path.expanduser(os.fspath(directory))
        if folder is None or not self._checkpoints.load(folder, filename or "model"):
            return
        self._saved_step = self._step
        self._reported = self._step, time.perf_counter()
        for trainer in self._trainer_per_task:
            trainer.read()
        share_weights(self._model, self._eval_model)

    def _save_best(self) -> None:
        """Saves the model if a metric is the best so far."""
        for prefix, metric in self._best.items():
            values = [value for _, value in self._history.get("eval", f"metrics/{metric}")]
            best = (min if prefix == "lowest" else max)(values, default=None)
            if values and values[-1] == best:
                self._save(f"{prefix}_{metric}")

    # Construction.

    def _check_best(self) -> None:
        for metric in self._best.values():
            if metric is not None and metric not in self._metric_names():
                raise noted(
                    ValueError(
                        f"Loop: expected a metric of eval_tasks for the best checkpoint, of "
                        f"{self._metric_names()}; got {metric!r}"
                    )
                )

    def _metric_names(self) -> list[str]:
        return [name for task in self._eval_tasks for name in task.metric_names]

    def _folder(self, task: TrainTask | EvalTask | None) -> str:
        """The folder of a task's logs in `output_dir`."""
        tasks: Sequence[Any] = self._eval_tasks if isinstance(task, EvalTask) else self._tasks
        if task is None or len(tasks) == 1:
            return ""
        return task.export_prefix or str(tasks.index(task))

    def _make_log(self, log: RunLog | None) -> None:
        """Makes the default log."""
        names = [task.loss_name for task in self._tasks] + self._metric_names()
        self._width = max(map(len, names))
        if log is None:
            folder = self._output_dir if self._is_chief else None
            log = RunLog(folder, stdout=self._is_chief)
            if self._output_dir is None:
                log.message("Will not write evaluation metrics, because output_dir is None.")
        self._log = log

    def _make_trainers(self, **options: Any) -> None:
        """Makes a trainer for each task."""
        for task in self._tasks:
            arguments = self._model, task, self._precision, self._n_devices, self.new_rng()
            self._trainer_per_task.append(trainer_of(*arguments, **options))

    def _make_reversible_trainer(self, chunk: int, free: bool) -> None:
        """Makes the trainer that trains the model one layer at a time."""
        arguments = self._model, self._tasks, chunk, free, self._n_devices, self.new_rng()
        self._trainer_per_task.append(reversible_trainer_of(*arguments))

    def _make_evaluators(self, eval_model: Layer | None) -> None:
        """Makes the evaluation model, if none was given, and compiles it with each task's
        metrics."""
        if eval_model is None:
            eval_model = in_mode(self._model, "eval")
        elif not isinstance(eval_model, Layer):
            expected = "a layer, or None (eval_tasks takes an EvalTask)"
            raise option_checks.wrong_type("Loop", "eval_model", expected, eval_model)
        else:
            self._initialize(eval_model)
        self._eval_model = eval_model
        share_weights(self._model, eval_model)
        self._evaluators = []
        for task in self._eval_tasks:
            whole = with_ends(eval_model, task.metrics, signature_of(task), self.new_rng())
            self._evaluators.append(Evaluator(task, whole, self._current.placed))

    def _initialize(self, model: Layer) -> None:
        """Initializes a model if it has no weights."""
        model.rng = self.new_rng()
        if not tree_leaves(model.weights) and not tree_leaves(model.state):
            model.init(inputs_from_stack(self._batch_signature, model.n_in))

    def _description(self) -> dict[str, Any]:
        """The configuration of the run, for the logs."""
        return {
            "model": str(self._model),
            "tasks": [
                {
                    "loss": task.loss_name,
                    "optimizer": trainer.optimizer.__class__.__name__,
                    **{name: float(x) for name, x in trainer.optimizer.opt_params.items()},
                }
                for task, trainer in zip(self._tasks, self._trainer_per_task, strict=True)
            ],
            "metrics": self._metric_names(),
            "devices": self._n_devices,
            "precision": self._precision or "float32",
        }


def _made_folder(output_dir: str | os.PathLike[str] | None) -> str | None:
    """The folder of a run; makes it if it does not exist."""
    if output_dir is None:
        return None
    folder = os.path.expanduser(os.fspath(output_dir))
    os.makedirs(folder, exist_ok=True)
    return folder


def _listed(option: str, tasks: Any, kind: type, least: int = 0) -> list[Any]:
    """One or several tasks as a list."""
    tasks = list(tasks) if isinstance(tasks, list | tuple) else [tasks]
    for task in tasks:
        if not isinstance(task, kind):
            raise option_checks.wrong_type("Loop", option, f"{kind.__name__} objects", task)
    if len(tasks) < least:
        raise noted(ValueError(f"Loop: {option} must be one {kind.__name__} or more; got none"))
    return tasks
