"""TrainingStepCallback, the base class of code that a training loop calls at chosen steps."""

from typing import Any

from ..user_lines import noted

__all__ = ["TrainingStepCallback"]


class TrainingStepCallback:
    """Base class of callbacks, which a training loop calls at chosen steps.

    A loop takes a list of classes, or of functions with the loop as argument that return callbacks:
    `Loop(…, callbacks=[MyCallback])`. It makes the callbacks when it is made itself. A subclass
    defines `call_at`, and one or both of `on_step_begin` and `on_step_end`.

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
        """True for the steps at which the loop calls the other methods; defined by subclasses.

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
