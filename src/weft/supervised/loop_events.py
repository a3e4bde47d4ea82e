"""LoopEvents says after which steps a loop saves and reports, and which task a step trains."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..layers import option_checks
from ..user_lines import noted
from .tasks import TrainTask

__all__ = ["LoopEvents"]


class LoopEvents:
    """The steps at which something happens in a `training.Loop`.

    Args:
      tasks: the loop's tasks; the first one's numbers of steps are the defaults.
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

        Raises: ValueError: `which_task` gives another number.
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
    """A function of the step."""
    if function is None:
        return default
    checked: Callable[[int], Any] = option_checks.function("Loop", option, function, "of the step")
    return checked
