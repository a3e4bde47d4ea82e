"""AccuracyMode and Tolerance: the accuracy with which elementary functions are computed."""

import dataclasses
import enum
from typing import Any

from ..interpreters.eager_tiers import accelerated
from ..user_lines import noted

__all__ = ["AccuracyMode", "Tolerance"]


class AccuracyMode(enum.Enum):
    """The implementation of an elementary function: the default or the most accurate.

    On a CPU they are the same.

    Example:
      >>> lax.exp(np.array(1.0), accuracy=lax.AccuracyMode.HIGHEST)
      Array(2.718282, dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2

    def __repr__(self) -> str:
        return f"AccuracyMode.{self.name}"


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Bounds of a function's error: absolute, relative, and in units in the last place.

    Every function refuses it, because XLA's compilers for CPUs and GPUs accept such bounds but
    ignore them.

    Args:
      atol, rtol: floats, 0 or more.
      ulps: int, 0 or more.
    Raises: ValueError: a bound is negative, or all are 0.
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
    """Raises an error for an accuracy that cannot be guaranteed."""
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return
    if accuracy is AccuracyMode.HIGHEST:
        if accelerated():
            raise noted(
                NotImplementedError(
                    f"{name}: accuracy={accuracy!r} is for CPUs, where there is one implementation;"
                    " accelerators' compilers ignore it\n  fix: leave it out"
                )
            )
        return
    if isinstance(accuracy, Tolerance):
        raise noted(
            NotImplementedError(
                f"{name}: accuracy={accuracy} can't be promised: XLA ignores tolerances on "
                "CPUs and GPUs\n  fix: leave it out, or compute in float64"
            )
        )
    raise noted(
        TypeError(f"{name}: accuracy must be a lax.AccuracyMode or None; got {accuracy!r:.80}")
    )
