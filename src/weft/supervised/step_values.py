"""StepValues: numbers of many steps, kept on the device until somebody asks for their means.
scalar_of checks that a value is a scalar.

Reading a number from a device waits for the step that makes it, and adding one to another on the
device costs a call each step. So the scalars are only collected; some dozens of them become one
array in one compiled call.
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
"""So many steps' numbers become one array, in a call whose cost they share
(benchmarks/run_log.py)."""


class StepValues:
    """Collects scalars of each step, such as the loss, without waiting for the device.

    The mean is exact (`math.fsum`) and rounded once. So it does not depend on how often the numbers
    were gathered, and a resumed run that gets the earlier numbers by `set_state` has the same
    means, bit for bit.

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
        Raises: ValueError: the names differ from those of the steps before, or a value is not a
          scalar. This is found later, when numbers are gathered.
        """
        self._rows.append(values)
        self._count += 1
        if len(self._rows) >= GATHERED:
            self._gather()

    def arrays(self) -> dict[str, Any]:
        """The numbers of all steps, by name: NumPy arrays of float64. Waits for the device."""
        if self._rows:
            self._gather()
        if not self._gathered:
            return {}
        return {
            name: onp.concatenate([onp.asarray(part[name], "float64") for part in self._gathered])
            for name in self._gathered[0]
        }

    def means(self) -> dict[str, float]:
        """The mean of each number over the steps; none before the first step."""
        return {name: _mean(column) for name, column in self.arrays().items()}

    def first_nonfinite(self) -> tuple[int, str] | None:
        """The first step, from 0, with a number that is not finite, and the number's name.

        Of several in one step, the first in the order of the names counts.
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
        """Forgets all numbers."""
        self._rows, self._gathered, self._count = [], [], 0

    def get_state(self) -> dict[str, list[float]]:
        """The numbers as lists of floats, for a checkpoint. Waits for the device."""
        return {name: column.tolist() for name, column in self.arrays().items()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Takes the numbers of a checkpoint in place of those that are there."""
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
      owner: the function, for the error.
      tag: the name of the value.
      value: a number, or an array with one element and no axis.
    Raises: ValueError: it is something else.
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
    """Scalars as an array of one axis, on the device if they are there."""
    is_whole = len(values) == GATHERED
    if is_whole and all(type(value) is Array and not value.shape for value in values):
        return _stacked(*values)
    return onp.array([scalar_of("StepValues", name, value) for value in values])


_stacked = jit(lambda *scalars: jnp.stack(scalars))


def _mean(column: Any) -> float:
    if not onp.isfinite(column).all():  # where fsum raises errors
        with onp.errstate(invalid="ignore"):  # inf - inf
            return float(onp.mean(column))
    return math.fsum(column) / len(column)
