"""Schedules of the learning rate: constant, warmup, warmup_and_rsqrt_decay, warmup_and_cosine,
warmup_and_polynomial_decay, exponential_decay, piecewise_constant and multifactor; checked_rate
evaluates one.

A schedule is a function of the step. For an int it returns a float; for a scalar array, as inside
`jit`, it returns a scalar array. A training loop counts steps from 1.
"""

import bisect
import difflib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..fastmath import numpy as jnp
from ..option_checks import number, whole_number
from ..user_lines import noted

__all__ = [
    "checked_rate",
    "constant",
    "exponential_decay",
    "multifactor",
    "piecewise_constant",
    "warmup",
    "warmup_and_cosine",
    "warmup_and_polynomial_decay",
    "warmup_and_rsqrt_decay",
]

Schedule = Callable[[Any], Any]
Tail = Callable[[Any, Any, Any], Any]


# --- the schedules ---


def constant(value: float) -> Schedule:
    """One value for all steps from 1 on; 0 at step 0.

    Args:
      value: the value, at least 0.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = constant(0.1)
      >>> [schedule(step) for step in (0, 1, 1000)]
      [0.0, 0.1, 0.1]
    Source: Trax documentation, `supervised.lr_schedules.constant`.
    """
    value = _rate("constant", "value", value)
    return _Named(f"constant({value})", _BodyAndTail(value, body_start=1))


def warmup(n_warmup_steps: int, max_value: float) -> Schedule:
    """Rises linearly from 0 at step 0 to `max_value` at step n_warmup_steps + 1, then is constant.

    Args:
      n_warmup_steps: the number of steps after step 0 with a value below `max_value`.
      max_value: the value after them, at least 0.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = warmup(3, 1.0)
      >>> [schedule(step) for step in range(7)]
      [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    Source: Trax documentation, `supervised.lr_schedules.warmup`.
    """
    start, value = _warm("warmup", n_warmup_steps, max_value)
    return _Named(f"warmup({start - 1}, {value})", _BodyAndTail(value, body_start=start))


def warmup_and_rsqrt_decay(n_warmup_steps: int, max_value: float) -> Schedule:
    """Linear warm-up to `max_value` at step T = n_warmup_steps + 1, then max_value · √T / √step.

    Args:
      n_warmup_steps: the number of steps after step 0 before `max_value` is reached.
      max_value: the greatest value, at least 0.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = warmup_and_rsqrt_decay(3, 1.0)
      >>> [schedule(step) for step in (0, 1, 3, 4, 16, 400)]
      [0.0, 0.25, 0.75, 1.0, 0.5, 0.1]
    Source: Vaswani et al., Attention is all you need (2017); Trax documentation,
      `supervised.lr_schedules.warmup_and_rsqrt_decay`.
    """
    start, value = _warm("warmup_and_rsqrt_decay", n_warmup_steps, max_value)
    text = f"warmup_and_rsqrt_decay({start - 1}, {value})"
    return _Named(text, _BodyAndTail(value, tail_start=start, tail_fn=_rsqrt))


def warmup_and_cosine(
    n_warmup_steps: int,
    max_value: float,
    steps_per_cycle: int,
    min_value: float = 0.0,
    n_cycles: int | None = 1,
) -> Schedule:
    """Linear warm-up to `max_value`, then decay along half a cosine, once or in cycles.

    From step T = n_warmup_steps + 1 a cycle is

        min_value + (max_value − min_value) · (1 + cos(π · (step − T) / steps_per_cycle)) / 2

    Args:
      n_warmup_steps: the number of steps after step 0 before `max_value` is reached.
      max_value: the greatest value, at least 0.
      steps_per_cycle: number of steps from `max_value` to `min_value`.
      min_value: the value at the end of a cycle, at least 0.
      n_cycles: number of cycles, each of which begins at `max_value`. After the last one the
        value is `min_value`. None repeats cycles endlessly.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = warmup_and_cosine(1, 1.0, steps_per_cycle=4)
      >>> [round(schedule(step), 3) for step in range(9)]
      [0.0, 0.5, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0, 0.0]
    Source: Loshchilov and Hutter, SGDR (2017).
    """
    name = "warmup_and_cosine"
    start, value = _warm(name, n_warmup_steps, max_value)
    tail = _CosineSawtoothTail(steps_per_cycle, min_value, n_cycles)
    text = f"{name}({start - 1}, {value}, {steps_per_cycle}, {min_value}, {n_cycles})"
    return _Named(text, _BodyAndTail(value, tail_start=start, tail_fn=tail))


def warmup_and_polynomial_decay(
    n_warmup_steps: int,
    max_value: float,
    n_decay_steps: int,
    end_value: float = 0.0,
    power: float = 1.0,
) -> Schedule:
    """Linear warm-up to `max_value`, then polynomial decay to `end_value`.

    From step T = n_warmup_steps + 1 to T + n_decay_steps it is

        end_value + (max_value − end_value) · (1 − (step − T) / n_decay_steps) ^ power

    and `end_value` afterwards. With `power=1` the decay is linear.

    Args:
      n_warmup_steps: the number of steps after step 0 before `max_value` is reached.
      max_value: the value at T, at least 0.
      n_decay_steps: number of steps from `max_value` to `end_value`.
      end_value: the last value, at least 0.
      power: the exponent, greater than 0.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = warmup_and_polynomial_decay(1, 1.0, n_decay_steps=4)
      >>> [schedule(step) for step in range(9)]
      [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0, 0.0]
    """
    name = "warmup_and_polynomial_decay"
    start, value = _warm(name, n_warmup_steps, max_value)
    n = whole_number(name, "n_decay_steps", n_decay_steps)
    end = _rate(name, "end_value", end_value)
    power = number(name, "power", power, above=0.0)

    def tail(step: Any, tail_start: Any, body_value: Any) -> Any:
        left = _functions_of(step).maximum(tail_start + n - step, 0) / n
        return end + (body_value - end) * left**power

    text = f"{name}({start - 1}, {value}, {n}, {end}, {power})"
    return _Named(text, _BodyAndTail(value, tail_start=start, tail_fn=tail))


def exponential_decay(value: float, decay_factor: float, steps_per_decay: int) -> Schedule:
    """value · decay_factor ^ (step / steps_per_decay), from step 0 on.

    Args:
      value: the value at step 0, at least 0.
      decay_factor: the factor, greater than 0 and at most 1.
      steps_per_decay: the number of steps for one multiplication by the factor.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument is not a number, or out of range.
    Example:
      >>> schedule = exponential_decay(1.0, 0.25, steps_per_decay=10)
      >>> [schedule(step) for step in (0, 5, 10, 20)]
      [1.0, 0.5, 0.25, 0.0625]
    """
    name = "exponential_decay"
    value = _rate(name, "value", value)
    factor = number(name, "decay_factor", decay_factor, above=0.0, most=1.0)
    n = whole_number(name, "steps_per_decay", steps_per_decay)

    def tail(step: Any, tail_start: Any, body_value: Any) -> Any:
        if _is_number(step):
            return body_value * factor ** (step / n)
        return body_value * jnp.exp(step * (math.log(factor) / n))  # avoids rounding the factor

    text = f"{name}({value}, {factor}, {n})"
    return _Named(text, _BodyAndTail(value, tail_start=0, tail_fn=tail))


def piecewise_constant(boundaries: Sequence[int], values: Sequence[float]) -> Schedule:
    """Piecewise constant: values[i] if i boundaries are at or below the step.

    Args:
      boundaries: increasing steps; the next value begins at each of them.
      values: one value more than there are boundaries; each at least 0.
    Returns: a function of the step.
    Raises: TypeError, ValueError: an argument has the wrong type, or is out of range.
    Example:
      >>> schedule = piecewise_constant([100, 200], [0.1, 0.01, 0.001])
      >>> [schedule(step) for step in (0, 99, 100, 200)]
      [0.1, 0.1, 0.01, 0.001]
    """
    name = "piecewise_constant"
    steps = [whole_number(name, f"boundaries[{i}]", b) for i, b in enumerate(boundaries)]
    rates = [_rate(name, f"values[{i}]", v) for i, v in enumerate(values)]
    if steps != sorted(set(steps)):
        raise noted(ValueError(f"{name}: boundaries must increase; got {steps}"))
    if len(rates) != len(steps) + 1:
        raise noted(
            ValueError(
                f"{name}: there must be {len(steps) + 1} values for {len(steps)} boundaries; got "
                f"{len(rates)}"
            )
        )

    def rate(step: Any) -> Any:
        if _is_number(step):
            return rates[bisect.bisect_right(steps, step)]
        value = jnp.asarray(rates[0])
        for boundary, next_value in zip(steps, rates[1:], strict=True):
            value = jnp.where(step >= boundary, next_value, value)
        return value

    return _Named(f"{name}({steps}, {rates})", rate)


def multifactor(
    factors: str = "constant * linear_warmup * rsqrt_decay",
    constant: float = 0.1,
    warmup_steps: int = 400,
    decay_factor: float = 0.5,
    steps_per_decay: int = 20000,
    steps_per_cycle: int = 100000,
    second_constant: float = 0.01,
    second_constant_step: int = 10000,
    minimum: float = 0,
) -> Schedule:
    """Product of factors named in a string, with a lower bound.

    | factor | value |
    |---|---|
    | `constant` | constant |
    | `two_constants` | constant before the step second_constant_step, then second_constant |
    | `linear_warmup` | min(1, step / warmup_steps) |
    | `rsqrt_decay` | 1 / √max(step, warmup_steps) |
    | `rsqrt_normalized_decay` | √warmup_steps / √max(step, warmup_steps) |
    | `decay_every` | decay_factor ^ ⌊step / steps_per_decay⌋ |
    | `cosine_decay` | (1 + cos(π · (n mod steps_per_cycle) / steps_per_cycle)) / 2 |

    with n = max(0, step − warmup_steps).

    Args:
      factors: the names of factors, separated by `*`.
      constant: a number, at least 0.
      warmup_steps: the number of warm-up steps; 0 means no warm-up.
      decay_factor: the factor of each decay, at least 0.
      steps_per_decay: number of steps between two decays.
      steps_per_cycle: the number of steps for half a cosine.
      second_constant: a number, at least 0.
      second_constant_step: the first step with `second_constant`.
      minimum: the lower bound, at least 0.
    Returns: a function of the step.
    Raises:
      ValueError: an unknown factor.
      TypeError, ValueError: another argument is not a number, or out of range.
    Example:
      >>> schedule = multifactor("constant * linear_warmup", constant=2.0, warmup_steps=4)
      >>> [schedule(step) for step in (0, 1, 4, 5)]
      [0.0, 0.5, 2.0, 2.0]
    Source: Trax documentation, `supervised.lr_schedules.multifactor`.
    """
    name = "multifactor"
    if not isinstance(factors, str):
        raise noted(
            TypeError(
                f"{name}: factors must be a string such as 'constant * linear_warmup'; got "
                f"{factors!r}"
            )
        )
    names = [factor.strip() for factor in factors.split("*")]
    value = _rate(name, "constant", constant)
    second = _rate(name, "second_constant", second_constant)
    second_step = number(name, "second_constant_step", second_constant_step, least=0)
    warm = number(name, "warmup_steps", warmup_steps, least=0)
    decay = number(name, "decay_factor", decay_factor, least=0.0)
    per_decay = number(name, "steps_per_decay", steps_per_decay, above=0)
    per_cycle = number(name, "steps_per_cycle", steps_per_cycle, above=0)
    least = _rate(name, "minimum", minimum)
    formulas: dict[str, Callable[[Any, Any], Any]] = {
        "constant": lambda np, step: value,
        "two_constants": lambda np, step: np.where(step < second_step, value, second),
        "linear_warmup": lambda np, step: np.minimum(1.0, step / warm) if warm else 1.0,
        "rsqrt_decay": lambda np, step: 1.0 / np.sqrt(np.maximum(step, warm or 1)),
        "rsqrt_normalized_decay": lambda np, step: np.sqrt(
            (warm or 1) / np.maximum(step, warm or 1)
        ),
        "decay_every": lambda np, step: decay ** (step // per_decay),
        "cosine_decay": lambda np, step: _half_cosine(np.maximum(step - warm, 0), per_cycle),
    }
    for factor in names:
        if factor not in formulas:
            near = difflib.get_close_matches(factor, formulas, 1)
            raise noted(
                ValueError(
                    f"{name}: factors must be among {', '.join(formulas)}; got {factor!r}"
                    + (f"\n  fix: did you mean {near[0]!r}?" if near else "")
                )
            )

    def rate(step: Any) -> Any:
        np = _functions_of(step)
        return np.maximum(math.prod(formulas[factor](np, step) for factor in names), least)

    return _Named(f"{name}({factors!r})", rate)


def checked_rate(schedule: Schedule, step: int) -> float:
    """The learning rate of a step, for a training loop.

    Args:
      schedule: a function of the step.
      step: the number of the step.
    Returns: a finite float of at least 0.
    Raises:
      TypeError: the schedule is not a function, or did not return a number.
      ValueError: it returned NaN, an infinity or a negative number.
    Example:
      >>> checked_rate(warmup(3, 1.0), 2)
      0.5
      >>> try:
      ...     checked_rate(lambda step: float("nan"), 12)
      ... except ValueError as error:
      ...     print(str(error).partition("; ")[2])
      <lambda> returned nan
    """
    if not callable(schedule):
        raise noted(
            TypeError(f"checked_rate: schedule must be a function of the step; got {schedule!r}")
        )
    rate = schedule(step)
    name = repr(schedule) if isinstance(schedule, _Named) else getattr(schedule, "__name__", "")
    name = name or repr(schedule)
    if not (_is_number(rate) or getattr(rate, "shape", None) == ()):
        raise noted(
            TypeError(
                f"checked_rate: the learning rate of step {step} must be a number; {name} returned "
                f"{rate!r}"
            )
        )
    value = float(rate)
    if not 0 <= value < math.inf:
        raise noted(
            ValueError(
                f"checked_rate: the learning rate of step {step} must be finite and at least 0; "
                f"{name} returned {value}"
            )
        )
    return value


# --- building blocks ---


class _Named:
    """A schedule with a name for messages. For Python numbers it returns Python numbers."""

    def __init__(self, text: str, schedule: Schedule) -> None:
        self._text, self._schedule = text, schedule

    def __call__(self, step: Any) -> Any:
        if isinstance(step, onp.generic | onp.ndarray) and step.shape == ():
            step = step.item()
        if _is_number(step):
            return float(self._schedule(step))
        return self._schedule(jnp.asarray(step))

    def __repr__(self) -> str:
        return self._text


class _BodyAndTail:
    """A linear warm-up, a constant (the body), and a function of the step (the tail).

    Args:
      body_value: the constant.
      body_start: the step at which the warm-up reaches it; None means `tail_start`.
      tail_start: the first step of the tail; None means no tail.
      tail_fn: called as tail_fn(step, tail_start, body_value) for steps from `tail_start` on.
    Raises: ValueError: both starts are None, or `tail_start` has no `tail_fn`.
    """

    def __init__(
        self,
        body_value: float,
        body_start: int | None = None,
        tail_start: int | None = None,
        tail_fn: Tail | None = None,
    ) -> None:
        start = tail_start if body_start is None else body_start
        if start is None:
            raise noted(ValueError("_BodyAndTail: expected body_start or tail_start; got neither"))
        if tail_start is not None and tail_fn is None:
            raise noted(
                ValueError(f"_BodyAndTail: tail_start={tail_start} needs tail_fn; got none")
            )
        self._body_value, self._body_start = body_value, start
        self._tail_start, self._tail_fn = tail_start, tail_fn

    def learning_rate(self, step: Any) -> Any:
        """The value at a step."""
        np, body = _functions_of(step), self._body_value
        value: Any = body
        if self._tail_start is not None and self._tail_fn is not None:
            since = np.maximum(step, self._tail_start)  # the tail may be undefined before its start
            tail = self._tail_fn(since, self._tail_start, body)
            value = np.where(step >= self._tail_start, tail, value)
        if self._body_start:
            value = np.where(step < self._body_start, step / self._body_start * body, value)
        return value

    __call__ = learning_rate


def _rsqrt(step: Any, tail_start: Any, body_value: Any) -> Any:
    """A tail proportional to 1 / √step."""
    return body_value * _functions_of(step).sqrt(tail_start / step)


class _CosineSawtoothTail:
    """A tail of repeated decays along half a cosine.

    Args:
      steps_per_cycle: the number of steps of each decay.
      min_value: the value at the end of each decay.
      n_cycles: the number of decays; then the value is `min_value`. None repeats them endlessly.
    """

    def __init__(
        self, steps_per_cycle: int, min_value: float = 1e-5, n_cycles: int | None = None
    ) -> None:
        name = "warmup_and_cosine"
        self._steps = whole_number(name, "steps_per_cycle", steps_per_cycle)
        self._min = _rate(name, "min_value", min_value)
        self._end = None
        if n_cycles is not None:
            self._end = self._steps * whole_number(name, "n_cycles", n_cycles)

    def __call__(self, step: Any, tail_start: Any, body_value: Any) -> Any:
        since = step - tail_start
        share = _half_cosine(since, self._steps)
        if self._end is not None:
            share = _functions_of(step).where(since < self._end, share, 0.0)
        return self._min + (body_value - self._min) * share


def _half_cosine(step: Any, steps: Any) -> Any:
    """(1 + cos(π · p)) / 2 for p = (step mod steps) / steps, the falling half of a cosine.

    It is computed as sin² of the remaining steps, because 1 + cos(x) loses digits in float32 near x
    = π. The steps are reduced before the division, so that p is exactly 0 where a cycle begins.
    """
    left = (steps - step % steps) / steps
    return _functions_of(step).sin(math.pi / 2 * left) ** 2


class _OfNumbers:
    """The functions that schedules need, for Python numbers."""

    maximum, minimum, sqrt, sin = max, min, math.sqrt, math.sin

    @staticmethod
    def where(condition: bool, x: float, y: float) -> float:
        return x if condition else y


def _functions_of(step: Any) -> Any:
    """The functions for a step: for Python numbers, or those of the current backend."""
    return _OfNumbers if _is_number(step) else jnp


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | onp.integer | onp.floating)


def _rate(schedule: str, option: str, value: Any) -> Any:
    """Checks that a value is a finite number of at least 0."""
    number(schedule, option, value, least=0.0)
    if not math.isfinite(value):
        raise noted(ValueError(f"{schedule}: {option} must be finite; got {value}"))
    return value


def _warm(schedule: str, n_warmup_steps: Any, max_value: Any) -> tuple[int, Any]:
    """The step at which the warm-up ends, and the value there."""
    n = whole_number(schedule, "n_warmup_steps", n_warmup_steps, least=0)
    return n + 1, _rate(schedule, "max_value", max_value)
