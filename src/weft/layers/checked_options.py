"""Checks of options that layers of sequences share: modes, rates of dropout, equal parts.

Each takes the layer's name, gives the value in one form, and raises errors that name the layer, the
option, what came, and the user's line.
"""

from typing import Any

from ..user_lines import noted
from .options import choice, number, whole_number

MODES = ("train", "eval", "predict", "viz")


def checked_mode(layer: str, mode: Any) -> str:
    """One of the modes."""
    return str(choice(layer, "mode", mode, MODES))


def checked_rate(layer: str, rate: Any, option: str = "dropout") -> float:
    """A rate of dropout, 0 <= rate < 1."""
    if number(layer, option, rate, least=0.0) >= 1.0:
        raise noted(ValueError(f"{layer}: {option} must be less than 1; got {rate}"))
    return float(rate)


def divided(layer: str, option: str, value: Any, parts_option: str, parts: Any) -> int:
    """`value // parts`, which must come out even."""
    value = whole_number(layer, option, value)
    parts = whole_number(layer, parts_option, parts)
    if value % parts:
        raise noted(
            ValueError(
                f"{layer}: {option} must be a multiple of {parts_option}; got {value} and {parts}"
            )
        )
    return int(value // parts)
