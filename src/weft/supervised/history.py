"""History: the metrics of a run by mode, name and step, as plain numbers."""

import operator
from collections.abc import Mapping
from typing import Any

from ..user_lines import noted

__all__ = ["History"]

Points = list[tuple[int, float]]


class History:
    """The metrics of a run: (step, value) pairs for each mode ("train", "eval") and metric.

    Values are Python floats, so writing and reading a history as JSON preserves it.

    Example:
      >>> history = History()
      >>> history.append("train", "loss", 1, 2.5)
      >>> history.append("train", "loss", 2, np.array(1.5))
      >>> history.get("train", "loss")
      [(1, 2.5), (2, 1.5)]
      >>> history.modes, history.metrics_for_mode("train")
      (['train'], ['loss'])
    Source: Trax documentation, `supervised.history.History`.
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[str, Points]] = {}

    def append(self, mode: str, metric: str, step: int, value: Any) -> None:
        """Adds the value of a metric at a step.

        Args:
          mode: a name such as "train".
          metric: the metric's name.
          step: the number of the step.
          value: a number or a scalar array.
        Raises: TypeError: the value is not a number, or the step is not an int.
        """
        point = _int(metric, step), _float(metric, value)
        self._values.setdefault(mode, {}).setdefault(metric, []).append(point)

    def get(self, mode: str, metric: str) -> Points:
        """A list of the (step, value) pairs of a metric; empty if nothing was added."""
        return list(self._values.get(mode, {}).get(metric, ()))

    @property
    def modes(self) -> list[str]:
        """The modes that have values, sorted."""
        return sorted(self._values)

    def metrics_for_mode(self, mode: str) -> list[str]:
        """The metrics that have values in a mode, sorted."""
        return sorted(self._values.get(mode, ()))

    def to_dict(self) -> dict[str, Any]:
        """The history as dicts, lists and numbers, for JSON.

        Example:
          >>> history = History()
          >>> history.append("eval", "accuracy", 10, 0.5)
          >>> history.to_dict()
          {'_values': {'eval': {'accuracy': [[10, 0.5]]}}}
        """
        return {
            "_values": {
                mode: {
                    metric: [list(point) for point in points] for metric, points in series.items()
                }
                for mode, series in self._values.items()
            }
        }

    @classmethod
    def from_dict(cls, json_object: Mapping[str, Any]) -> "History":
        """The history that `to_dict` described.

        Args:
          json_object: the dict, possibly read back from JSON.
        Returns: a new `History`.
        Raises: ValueError: it is malformed.
        Example:
          >>> history = History.from_dict({"_values": {"eval": {"accuracy": [[10, 0.5]]}}})
          >>> history.get("eval", "accuracy")
          [(10, 0.5)]
        """
        history = cls()
        modes = json_object.get("_values") if isinstance(json_object, Mapping) else None
        if not isinstance(modes, Mapping):
            raise noted(_malformed(json_object))
        for mode, metrics in modes.items():
            if not isinstance(metrics, Mapping):
                raise noted(_malformed(metrics))
            for metric, points in metrics.items():
                if not isinstance(points, list | tuple):
                    raise noted(_malformed(points))
                for point in points:
                    if not isinstance(point, list | tuple) or len(point) != 2:
                        raise noted(_malformed(point))
                    history.append(mode, metric, *point)
        return history


def _malformed(part: Any) -> ValueError:
    return ValueError(
        "History.from_dict: expected {'_values': {mode: {metric: [[step, value], …]}}}; got "
        f"{repr(part)[:80]}"
    )


def _int(metric: str, step: Any) -> int:
    """A step as an int."""
    try:
        return operator.index(step)
    except TypeError:
        raise noted(
            TypeError(f"History.append: the step of {metric!r} must be an int; got {step!r}")
        ) from None


def _float(metric: str, value: Any) -> float:
    """A value of a metric as a float."""
    shape = getattr(value, "shape", None)
    if isinstance(value, int | float) or shape == ():
        return float(value)
    got = repr(value)[:80] if shape is None else f"{value.dtype}[{','.join(map(str, shape))}]"
    raise noted(
        TypeError(
            f"History.append: the metric {metric!r} must be a scalar; got {got}"
            "\n  fix: reduce it in the metric's layer, for example by its mean"
        )
    )
