"""Callbacks and events of a training loop.

TrainingStepCallback is the base class of code that a loop calls at chosen steps. LoopEvents decides
after which steps a loop saves and reports, and which task a step trains.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from .. import option_checks
from ..user_lines import noted
from .tasks import TrainTask

__all__ = ["TrainingStepCallback"]


class TrainingStepCallback:
    """Base class for callbacks that a training loop calls at chosen steps.

    Pass a loop a list of classes, or of functions that map the loop to a callback: `Loop(…,
    callbacks=[MyCallback])`. It creates the callbacks when it is created. A subclass defines
    `call_at`, and one or both of `on_step_begin` and `on_step_end`.

    Args:
      loop: the training loop, with its model, history and step; `self._loop` in methods.
    Example:
      >>> class Report(TrainingStepCallback):
      ...     def call_at(self, step):
      ...         return step % 100 == 0
      ...     def on_step_end(self, step):
      ...         print("step", step, "of", self._loop)
      >>> report = Report("a loop")
      >>> report.call_at(200), report.call_at(201)
      (True, False)
      >>> report.on_step_end(200)
      step 200 of a loop
    Source: Trax documentation, `supervised.callbacks.TrainingStepCallback`.
    """

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def call_at(self, step: int) -> bool:
        """True for steps at which the loop calls the other methods. Subclasses define it.

        Args:
          step: the number of the step, from 1 on.
        Raises: NotImplementedError: the subclass does not define it.
        """
        name = type(self).__name__
        raise noted(
            NotImplementedError(
                f"{name}: a subclass of TrainingStepCallback needs call_at(step) -> bool"
            )
        )

    def on_step_begin(self, step: int) -> None:
        """Called before a step for which `call_at` is True; does nothing by default."""

    def on_step_end(self, step: int) -> None:
        """Called after a step for which `call_at` is True; does nothing by default."""


def made_callbacks(
    makers: Sequence[Callable[[Any], TrainingStepCallback]], loop: Any
) -> list[TrainingStepCallback]:
    """The callbacks of a loop.

    Raises: TypeError: an element is a callback object, or cannot be called.
    """
    callbacks = []
    for make in makers:
        if isinstance(make, TrainingStepCallback) or not callable(make):
            name = type(make).__name__
            raise noted(
                TypeError(
                    "Loop: callbacks must be classes, or functions from the loop to a callback; "
                    f"got an object of {name}\n  fix: callbacks=[{name}], or lambda loop: {name}(…)"
                )
            )
        callbacks.append(make(loop))
    return callbacks


class LoopEvents:
    """Decides at which steps a `training.Loop` saves, reports and changes tasks.

    Args:
      tasks: the loop's tasks; the first task has the default numbers of steps.
      checkpoint_at, permanent_checkpoint_at, eval_at, which_task: as for `training.Loop`.

    Raises: TypeError: an option is not a function.
    """

    def __init__(
        self,
        tasks: Sequence[TrainTask],
        checkpoint_at: Callable[[int], bool] | None,
        permanent_checkpoint_at: Callable[[int], bool] | None,
        eval_at: Callable[[int], bool] | None,
        which_task: Callable[[int], int] | None,
    ) -> None:
        default = at_step_1_and_every(tasks[0].n_steps_per_checkpoint)
        every = tasks[0].n_steps_per_permanent_checkpoint
        permanent = at_step_1_and_every(every) if every else (lambda step: False)
        self.saves = _function("checkpoint_at", checkpoint_at, default)
        self.saves_at_end = checkpoint_at is None
        self.reports = _function("eval_at", eval_at, default)
        self.saves_for_good = _function(
            "permanent_checkpoint_at", permanent_checkpoint_at, permanent
        )
        self._n_tasks = len(tasks)
        self._which_task = _function("which_task", which_task, lambda step: step % len(tasks))

    def task(self, step: int) -> int:
        """The number of the task that a step trains.

        Raises: ValueError: `which_task` returns an invalid number.
        """
        number = self._which_task(step)
        if not isinstance(number, int | onp.integer) or not 0 <= number < self._n_tasks:
            raise noted(
                ValueError(
                    f"Loop: which_task must give the number of one of {self._n_tasks} tasks, from "
                    f"0; got {number!r} for step {step}"
                )
            )
        return int(number)

    def names(self, step: int) -> list[str]:
        """The names of the checkpoints to be saved after a step."""
        names = ["model"] if self.saves(step) else []
        return [*names, f"model_{step}"] if self.saves_for_good(step) else names


def at_step_1_and_every(n: int) -> Callable[[int], bool]:
    """True for step 1 and the multiples of n."""
    return lambda step: step == 1 or step % n == 0


def _function(option: str, function: Any, default: Callable[[int], Any]) -> Callable[[int], Any]:
    """A function of the step; raises an error for other objects."""
    if function is None:
        return default
    checked: Callable[[int], Any] = option_checks.function("Loop", option, function, "of the step")
    return checked
