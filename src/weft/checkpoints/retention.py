"""Retention decides which checkpoints are removed when a new one is written."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..option_checks import choice, whole_number
from ..user_lines import noted


@dataclass(frozen=True)
class Retention:
    """Decides which checkpoints of a run are kept.

    Attributes:
      keep_last: the number of newest checkpoints to keep; None keeps all.
      keep_every: also keeps checkpoints of steps that are multiples of this number.
      keep_best: also keeps this number of checkpoints with the best values of a metric.
      best_metric: the name of the metric in the metadata.
      best_is: "lowest" or "highest".
    """

    keep_last: int | None
    keep_every: int | None
    keep_best: int | None
    best_metric: str | None
    best_is: str

    def __post_init__(self) -> None:
        for option in ("keep_last", "keep_every", "keep_best"):
            value = getattr(self, option)
            if value is not None:
                whole_number("Checkpoints", option, value)
                if self.keep_last is None:
                    raise noted(
                        ValueError(
                            f"Checkpoints: {option}={value} needs keep_last: without it all "
                            "checkpoints stay\n  fix: keep_last=1"
                        )
                    )
        if self.keep_best is not None and self.best_metric is None:
            raise noted(
                ValueError(
                    "Checkpoints: keep_best needs best_metric, the name of a number in the "
                    "metadata\n  fix: best_metric='loss'"
                )
            )
        choice("Checkpoints", "best_is", self.best_is, ("lowest", "highest"))

    def metric_in(self, metadata: dict[str, Any]) -> float | None:
        """The value of the metric, if the metadata has one.

        Raises: TypeError: it is not a number.
        """
        value = None if self.best_metric is None else metadata.get(self.best_metric)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise noted(
            TypeError(
                f"Checkpoints: the metric {self.best_metric!r} in the metadata must be a number; "
                f"got {value!r:.60}\n  fix: float(…) of a scalar"
            )
        )

    def best(self, steps: Iterable[int], metric_of: Callable[[int], float | None]) -> list[int]:
        """The steps that have a metric, best first; of equal ones, the newest first."""
        sign = 1 if self.best_is == "lowest" else -1
        values = {step: metric_of(step) for step in steps}
        ranked = {s: sign * v for s, v in values.items() if v is not None and not math.isnan(v)}
        return sorted(ranked, key=lambda step: (ranked[step], -step))

    def superfluous(
        self, steps: Iterable[int], new: int, metric_of: Callable[[int], float | None]
    ) -> list[int]:
        """The steps whose checkpoints to remove after `new` is written.

        `new` is always kept, even if a run restarts at an earlier step.
        """
        steps = sorted(steps)
        if self.keep_last is None:
            return []
        stay = {new, *steps[-self.keep_last :]}
        if self.keep_every is not None:
            stay |= {step for step in steps if step % self.keep_every == 0}
        if self.keep_best is not None:
            stay |= set(self.best(steps, metric_of)[: self.keep_best])
        return [step for step in steps if step not in stay]
