"""Step sizes as functions of the step's number: constant, exponential_decay, inverse_time_decay,
polynomial_decay, piecewise_constant, and make_schedule.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ... import numpy as np
from ...core.array import Tracer
from ...core.source import located
from ...errors import ShapeError
from ...typing import ArrayLike
from .states import setting

__all__ = [
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "make_schedule",
    "piecewise_constant",
    "polynomial_decay",
]

Schedule: TypeAlias = Callable[[ArrayLike], ArrayLike]
"""A function from the number of a step (from 0 on) to its step size."""


@located
def constant(step_size: ArrayLike) -> Schedule:
    """The same step size in each step.

    Args:
      step_size: a number, 0 or more.
    Returns: function of the number of the step.
    Raises: ValueError: `step_size` is negative, infinite or NaN. TypeError: it is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> optimizers.constant(0.5)(10)
      0.5
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    step_size = setting("constant", "step_size", step_size)
    return lambda i: step_size


@located
def exponential_decay(
    step_size: ArrayLike, decay_steps: ArrayLike, decay_rate: ArrayLike
) -> Schedule:
    """step_size · decay_rate^(i / decay_steps).

    Args:
      step_size: the step size of step 0; a number, 0 or more.
      decay_steps: the number of steps in which the step size decays by one factor; above 0.
      decay_rate: the factor; above 0.
    Returns: function of the number of the step.
    Raises: ValueError: a number is out of its range. TypeError: one is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> float(optimizers.exponential_decay(1.0, 10, 0.25)(5))
      0.5
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    name = "exponential_decay"
    step_size = setting(name, "step_size", step_size)
    decay_steps = setting(name, "decay_steps", decay_steps, with_low=False)
    decay_rate = setting(name, "decay_rate", decay_rate, with_low=False)
    return lambda i: step_size * decay_rate ** (np.asarray(i) / decay_steps)  # type: ignore[operator]


@located
def inverse_time_decay(
    step_size: ArrayLike, decay_steps: ArrayLike, decay_rate: ArrayLike, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate · i / decay_steps).

    Args:
      step_size: the step size of step 0; a number, 0 or more.
      decay_steps: the unit in which steps are counted; above 0.
      decay_rate: 0 or more.
      staircase: rounds `i / decay_steps` down, so that step sizes change every `decay_steps`.
    Returns: function of the number of the step.
    Raises: ValueError: a number is out of its range. TypeError: one is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> float(optimizers.inverse_time_decay(1.0, 10, 3.0)(10))
      0.25
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    name = "inverse_time_decay"
    step_size = setting(name, "step_size", step_size)
    decay_steps = setting(name, "decay_steps", decay_steps, with_low=False)
    decay_rate = setting(name, "decay_rate", decay_rate)

    def schedule(i: ArrayLike) -> Any:
        elapsed = np.asarray(i) / decay_steps
        return step_size / (1 + decay_rate * (np.floor(elapsed) if staircase else elapsed))

    return schedule


@located
def polynomial_decay(
    step_size: ArrayLike,
    decay_steps: ArrayLike,
    final_step_size: ArrayLike,
    power: ArrayLike = 1.0,
) -> Schedule:
    """(step_size - final_step_size) · (1 - i / decay_steps)^power + final_step_size.

    Args:
      step_size: the step size of step 0; a number, 0 or more.
      decay_steps: the first step with the final step size; above 0.
      final_step_size: 0 or more.
      power: 1 is a straight line; above 0.
    Returns: function of the number of the step.
    Raises: ValueError: a number is out of its range. TypeError: one is not a number.
    Example:
      >>> from weft.experimental import optimizers
      >>> schedule = optimizers.polynomial_decay(1.0, 10, 0.5)
      >>> float(schedule(5)), float(schedule(20))
      (0.75, 0.5)
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    name = "polynomial_decay"
    step_size = setting(name, "step_size", step_size)
    decay_steps = setting(name, "decay_steps", decay_steps, with_low=False)
    final_step_size = setting(name, "final_step_size", final_step_size)
    power = setting(name, "power", power, with_low=False)

    def schedule(i: ArrayLike) -> Any:
        left = (1 - np.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size  # type: ignore[operator]

    return schedule


@located
def piecewise_constant(
    boundaries: ArrayLike | Sequence[float], values: ArrayLike | Sequence[float]
) -> Schedule:
    """Step sizes that change after given steps.

    Args:
      boundaries: array [n], increasing: the last step of each step size except the last.
      values: array [n + 1] of step sizes, each 0 or more.
    Returns: function of the number of the step.
    Raises: ValueError: the lengths do not match, boundaries do not increase, or a step size is
      negative, infinite or NaN.
    Example:
      >>> from weft.experimental import optimizers
      >>> schedule = optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.25])
      >>> [float(schedule(i)) for i in (0, 10, 11, 20, 21)]
      [1.0, 1.0, 0.5, 0.5, 0.25]
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    name = "piecewise_constant"
    ends, sizes = np.asarray(boundaries), np.asarray(values)
    if ends.ndim != 1 or sizes.ndim != 1 or len(sizes) != len(ends) + 1:
        raise ShapeError(
            f"{name}: expected a vector of boundaries, and one of values with one element more; "
            f"got {ends.aval} and {sizes.aval}"
        )
    if not isinstance(ends, Tracer):
        listed = ends.tolist()
        if not all(a < b for a, b in itertools.pairwise(listed)):
            raise ValueError(f"{name}: boundaries must increase; got {listed}")
    if not isinstance(sizes, Tracer):
        for size in sizes.tolist():
            setting(name, "each of values", size)
    return lambda i: sizes[np.sum(np.asarray(i) > ends)]


@located
def make_schedule(scalar_or_schedule: ArrayLike | Schedule) -> Schedule:
    """A schedule from a schedule or a number.

    Args:
      scalar_or_schedule: a step size, 0 or more, or a function of the number of the step.
    Returns: function of the number of the step.
    Raises: ValueError: a negative, infinite or NaN step size. TypeError: neither a number nor a
      function.
    Example:
      >>> from weft.experimental import optimizers
      >>> optimizers.make_schedule(0.5)(10), optimizers.make_schedule(lambda i: 1 / (i + 1))(3)
      (0.5, 0.25)
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    step_size = setting("make_schedule", "the step size", scalar_or_schedule)
    return constant(step_size)
