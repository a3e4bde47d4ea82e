"""Checks of options: numbers, shapes, flags, choices, modes.

Each function takes the name of the layer or function, the option's name and its value, and returns
the checked value. Its errors name all three and the user's line. `optional` imports a package that
only an option or a feature needs; no other function of layers, data and training does.
"""

import importlib
import math
import operator
from collections.abc import Collection
from typing import Any

import numpy as onp

from .errors import ShapeError
from .user_lines import noted

INITIALIZER_SIGNATURE = "of (shape, rng)"


def whole_number(name: str, option: str, value: Any, least: int = 1) -> int:
    """The option as an int of at least `least`."""
    if isinstance(value, bool | onp.bool_) or not isinstance(value, int | onp.integer):
        raise wrong_type(name, option, "an int", value)
    if value < least:
        raise wrong_value(name, option, f"at least {least}", value)
    return int(value)


def number(
    name: str,
    option: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
) -> Any:
    """The option, a number from `least` to `most` and greater than `above`."""
    if isinstance(value, bool | onp.bool_) or not isinstance(
        value, int | float | onp.integer | onp.floating
    ):
        raise wrong_type(name, option, "a number", value)
    if not (least <= value <= most and value > above):
        bounds = {"at least": least, "at most": most, "greater than": above}
        limits = [f"{how} {bound}" for how, bound in bounds.items() if math.isfinite(bound)]
        raise wrong_value(name, option, " and ".join(limits) or "no NaN", value)
    return value


def flag(name: str, option: str, value: Any) -> bool:
    """The option, True or False."""
    if not isinstance(value, bool | onp.bool_):
        raise wrong_type(name, option, "True or False", value)
    return bool(value)


def choice(name: str, option: str, value: Any, choices: Collection[Any]) -> Any:
    """The option, one of several strings (or None)."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise wrong_value(name, option, " or ".join(map(repr, choices)), value)
    return value


def function(name: str, option: str, value: Any, form: str) -> Any:
    """The option, a callable; `form` describes its arguments."""
    if not callable(value):
        raise wrong_type(name, option, f"a function {form}", value)
    return value


def lengths(
    name: str, option: str, value: Any, count: int | None = None, least: int = 1
) -> tuple[int, ...]:
    """The option as a tuple of ints of at least `least`: `count` of them, or any number."""
    if not isinstance(value, tuple | list):
        raise wrong_type(name, option, f"a tuple such as {(2,) * (count or 2)}", value)
    if count is not None and len(value) != count:
        raise wrong_value(name, option, f"{count} numbers, one for each spatial axis", value)
    return tuple(whole_number(name, f"{option}[{i}]", item, least) for i, item in enumerate(value))


def shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints, which must not be negative.

    Raises: ValueError: a negative length. TypeError: not ints.
    """
    shape_lengths = ints_of(name, "a shape", shape)
    if any(n < 0 for n in shape_lengths):
        raise noted(ShapeError(f"{name}: lengths must not be negative; got shape {shape_lengths}"))
    return shape_lengths


def ints_of(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """A sequence of ints as a tuple."""
    try:
        return tuple([operator.index(v) for v in values])
    except TypeError:
        raise noted(
            TypeError(
                f"{name}: {argument} must be a sequence of ints known when traced; got {values!r}"
            )
        ) from None


def wrong_type(name: str, option: str, expected: str, value: Any) -> TypeError:
    """The error for an option of the wrong type."""
    return noted(TypeError(_message(name, option, expected, value)))


def wrong_value(name: str, option: str, expected: str, value: Any) -> ValueError:
    """The error for an option out of its range."""
    return noted(ValueError(_message(name, option, expected, value)))


def _message(name: str, option: str, expected: str, value: Any) -> str:
    text = repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    fix = ""
    if option != "mode" and isinstance(value, str) and value in MODES:
        fix = f"\n  fix: pass the mode by keyword: {name}(…, mode={value!r})"
    return f"{name}: {option} must be {expected}; got {text}{fix}"


MODES = ("train", "eval", "predict", "viz")


def checked_mode(name: str, mode: Any) -> str:
    """One of the modes."""
    return str(choice(name, "mode", mode, MODES))


def checked_rate(name: str, rate: Any, option: str = "dropout") -> float:
    """A rate of dropout, 0 <= rate < 1."""
    if number(name, option, rate, least=0.0) >= 1.0:
        raise noted(ValueError(f"{name}: {option} must be less than 1; got {rate}"))
    return float(rate)


def divided(name: str, option: str, value: Any, parts_option: str, parts: Any) -> int:
    """`value // parts`; `parts` must divide `value`."""
    value = whole_number(name, option, value)
    parts = whole_number(name, parts_option, parts)
    if value % parts:
        raise noted(
            ValueError(
                f"{name}: {option} must be a multiple of {parts_option}; got {value} and {parts}"
            )
        )
    return int(value // parts)


def optional(package: str, feature: str, extra: str) -> Any:
    """A package that a feature needs.

    Args:
      package: the name that is imported.
      feature: the feature, for the error: `Tokenize: 'sentencepiece'`.
      extra: the name for `pip install`.
    Returns: the module.
    Raises: ImportError: the package is not installed.
    Example:
      >>> optional("math", "Example", "math").pi
      3.141592653589793
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:  # a package that it needs is missing
            raise
        raise noted(
            ImportError(f"{feature} needs the package {package}\n  fix: pip install {extra}")
        ) from None
