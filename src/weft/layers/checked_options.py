"""Options of layers, checked where a layer is made. Knows numbers and names, no layers or arrays."""

from collections.abc import Sequence
from typing import Any

from ..user_lines import noted

MODES = ("train", "eval", "predict", "viz")


def checked_mode(layer: str, mode: str) -> str:
    """A mode that layers know."""
    if mode not in MODES:
        raise noted(ValueError(f"{layer}: mode should be one of {', '.join(MODES)}; got {mode!r}"))
    return mode


def checked_rate(layer: str, rate: float, name: str = "dropout") -> float:
    """A rate of dropout, 0 <= rate < 1."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        raise noted(TypeError(f"{layer}: {name} should be a number; got {rate!r}"))
    if not 0.0 <= rate < 1.0:
        raise noted(
            ValueError(f"{layer}: {name} should be at least 0 and below 1; got {rate!r}")
        )
    return rate


def whole(layer: str, name: str, number: Any, least: int = 1) -> int:
    """A Python integer of at least `least`."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise noted(TypeError(f"{layer}: {name} should be an integer; got {number!r}"))
    number = number.__index__()
    if number < least:
        raise noted(ValueError(f"{layer}: {name} should be at least {least}; got {number}"))
    return int(number)


def whole_numbers(layer: str, name: str, numbers: Sequence[int], least: int = 1) -> tuple[int, ...]:
    """A tuple of such integers, made of any sequence of them."""
    if not isinstance(numbers, (tuple, list)):
        raise noted(TypeError(f"{layer}: {name} should be a tuple of integers; got {numbers!r}"))
    return tuple(whole(layer, name, number, least) for number in numbers)


def divided(layer: str, name: str, number: int, parts_name: str, parts: int) -> int:
    """`number // parts`, which must come out even."""
    number, parts = whole(layer, name, number), whole(layer, parts_name, parts)
    if number % parts:
        raise noted(
            ValueError(
                f"{layer}: {name} should be a multiple of {parts_name}; got {number} and {parts}"
            )
        )
    return number // parts
