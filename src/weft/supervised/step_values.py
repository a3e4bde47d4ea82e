"""StepValues: numbers of many steps, kept on the device until their means are needed. scalar_of
checks that a value is a scalar.

Reading a number from a device waits for the step that computes it, and adding numbers on the device
would cost a call per step. So the scalars are only collected; every few dozen of them are combined
into one array by one compiled call.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as onp

from .. import numpy as jnp
from ..core.array import Array
from ..transforms.jit.function import jit
from ..user_lines import noted

__all__ = ["StepValues", "scalar_of"]

GATHERED = 64
"""The number of steps whose numbers are combined into one array, in one call
(benchmarks/run_log.py)."""


class StepValues:
    """Collects scalars of each step, such as the loss, without waiting for the device.

    The mean is exact (`math.fsum`) and rounded once. So it does not depend on how often the numbers
    were gathered, and a resumed run that restores earlier numbers by `set_state` has bitwise equal
    means.

    Example:
      >>> values = StepValues()
      >>> for loss in (3.0, 2.0, 1.0):
      ...     values.add({"loss": np.asarray(loss)})
      >>> len(values), values.means()
      (3, {'loss': 2.0})
      >>> values.clear()
      >>> values.means()
      {}
    """

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any]] = []
        self._gathered: list[dict[str, Any]] = []  # for each name an array [GATHERED]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, values: Mapping[str, Any]) -> None:
        """Adds the numbers of a step.

        Args:
          values: scalars on a device, or numbers, by name; each step has the same names.
        Raises: ValueError: (raised later, when numbers are gathered) the names differ from those of
          earlier steps, or a value is not a scalar.
        """
        self._rows.append(values)
        self._count += 1
        if len(self._rows) >= GATHERED:
            self._gather()

    def arrays(self) -> dict[str, Any]:
        """The numbers of all steps, by name, as NumPy arrays of float64. Waits for the device."""
        if self._rows:
            self._gather()
        if not self._gathered:
            return {}
        return {
            name: onp.concatenate([onp.asarray(part[name], "float64") for part in self._gathered])
            for name in self._gathered[0]
        }

    def means(self) -> dict[str, float]:
        """The mean of each number over the steps; empty before the first step."""
        return {name: _mean(column) for name, column in self.arrays().items()}

    def first_nonfinite(self) -> tuple[int, str] | None:
        """The first step, from 0, with a number that is not finite, and the name of that number.

        If there are several in a step, the first name counts.
        """
        bad = [
            (int(onp.argmin(onp.isfinite(column))), order, name)
            for order, (name, column) in enumerate(self.arrays().items())
            if not onp.isfinite(column).all()
        ]
        if not bad:
            return None
        step, _, name = min(bad)
        return step, name

    def clear(self) -> None:
        """Removes all numbers."""
        self._rows, self._gathered, self._count = [], [], 0

    def get_state(self) -> dict[str, list[float]]:
        """The numbers as lists of floats, for a checkpoint. Waits for the device."""
        return {name: column.tolist() for name, column in self.arrays().items()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Replaces the current numbers with those of a checkpoint."""
        self.clear()
        if state:
            columns = {name: onp.asarray(column, "float64") for name, column in state.items()}
            self._gathered = [columns]
            self._count = len(next(iter(columns.values())))

    def _gather(self) -> None:
        rows, self._rows = self._rows, []
        names = list(self._gathered[0] if self._gathered else rows[0])
        for row in rows:
            if list(row) != names:
                raise noted(
                    ValueError(
                        f"StepValues: each step must have the same names; got {list(row)} after "
                        f"{names}"
                    )
                )
        self._gathered.append({name: _column(name, [row[name] for row in rows]) for name in names})


def scalar_of(owner: str, tag: str, value: Any) -> float:
    """A number or a scalar array as a float.

    Args:
      owner: the calling function, for the error.
      tag: the name of the value.
      value: a number or a scalar array.
    Raises: ValueError: it is not a scalar.
    Example:
      >>> scalar_of("RunLog", "metrics/loss", np.asarray(0.5))
      0.5
    """
    if not isinstance(value, str | bytes | bool) and onp.shape(value) == ():
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    shape = f"an array of shape {onp.shape(value)}" if onp.shape(value) else repr(value)
    raise noted(
        ValueError(
            f"{owner}: {tag!r} must be a scalar; got {shape}\n"
            "  fix: np.mean(x), or RunLog's image, histogram or text for arrays"
        )
    )


def _column(name: str, values: list[Any]) -> Any:
    """Scalars as an array with one axis, on the device if they are there."""
    is_whole = len(values) == GATHERED
    if is_whole and all(type(value) is Array and not value.shape for value in values):
        return _stacked(*values)
    return onp.array([scalar_of("StepValues", name, value) for value in values])


_stacked = jit(lambda *scalars: jnp.stack(scalars))


def _mean(column: Any) -> float:
    if not onp.isfinite(column).all():  # fsum raises errors for these
        with onp.errstate(invalid="ignore"):  # inf - inf
            return float(onp.mean(column))
    return math.fsum(column) / len(column)
