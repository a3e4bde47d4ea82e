"""The exactness to compute elementary functions with. Knows no function."""

import dataclasses
import enum
from typing import Any

from ..core.source import noted
from ..interpreters.eager_tiers import accelerated

__all__ = ["AccuracyMode", "Tolerance"]


class AccuracyMode(enum.Enum):
    """The implementation to take of an elementary function: the usual, or the most exact one.

    On a CPU each has one implementation, which is both.
    """

    HIGHEST = 1
    DEFAULT = 2

    def __repr__(self) -> str:
        return f"AccuracyMode.{self.name}"


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Bounds of a function's error: absolute, relative, and in units in the last place.

    Nothing takes one: XLA's compilers for CPUs and GPUs accept bounds and don't look at them, so
    that they would hold by chance only.

    Args:
      atol, rtol: floats, 0 or more.
      ulps: int, 0 or more.
    Raises: ValueError: a negative bound, or none at all.
    Example:
      >>> lax.Tolerance(rtol=1e-6)
      Tolerance(atol=0.0, rtol=1e-06, ulps=0)
    Source: StableHLO, `ResultAccuracyAttr`.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        bounds = (self.atol, self.rtol, self.ulps)
        if not all(bound >= 0 for bound in bounds) or not any(bounds):
            raise noted(
                ValueError(
                    "Tolerance: expected atol, rtol and ulps of 0 or more, and one above 0; got "
                    f"{self}"
                )
            )


def check_accuracy(name: str, accuracy: Any) -> None:
    """Refuses an accuracy that the function wouldn't be computed with."""
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return
    if accuracy is AccuracyMode.HIGHEST:
        if accelerated():
            raise noted(
                NotImplementedError(
                    f"{name}: accuracy={accuracy!r} is for CPUs, where there is one implementation;"
                    " accelerators' compilers aren't told\n  fix: leave it out"
                )
            )
        return
    if isinstance(accuracy, Tolerance):
        raise noted(
            NotImplementedError(
                f"{name}: accuracy={accuracy} can't be promised: XLA doesn't look at tolerances on "
                "CPUs and GPUs\n  fix: leave it out, or compute in float64"
            )
        )
    raise noted(
        TypeError(f"{name}: accuracy must be a lax.AccuracyMode or None; got {accuracy!r:.80}")
    )
