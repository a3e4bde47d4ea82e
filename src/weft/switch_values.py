"""Parsers of switch values: from a user's value, or the text of an environment variable, to the
stored value; a ValueError says what was expected.
"""

import os
from collections.abc import Callable
from typing import Any

_TRUE = ("1", "true", "on", "yes")
_FALSE = ("0", "false", "off", "no", "")


def flag(value: object) -> bool:
    if isinstance(value, str):
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
    elif type(value).__name__ in ("bool", "bool_", "int") and value in (0, 1):  # np.bool_ too
        return bool(value)
    raise ValueError("True or False (in the environment: 1, true, on, yes or 0, false, off, no)")


def one_of(*choices: str | None) -> Callable[[Any], Any]:
    def parse(value: object) -> Any:
        text = value.lower() if isinstance(value, str) else value
        if text in ("", "none") and None in choices:
            text = None
        if not (text is None or isinstance(text, str)) or text not in choices:
            raise ValueError("one of " + ", ".join(map(repr, choices)))
        return text

    return parse


def words_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: object) -> str:
        words = {w.strip() for w in value.split(",")} - {""} if isinstance(value, str) else {"?"}
        if not words.issubset(choices):
            raise ValueError("'' or a comma-separated list of " + ", ".join(choices))
        return ",".join(c for c in choices if c in words)

    return parse


def integer(minimum: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = value.strip().lstrip("-") if isinstance(value, str) else ""
        if text.isascii() and text.isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise ValueError(f"a whole number >= {minimum}")
        return value

    return parse


def integer_or_none(minimum: int) -> Callable[[Any], int | None]:
    parse_integer = integer(minimum)

    def parse(value: object) -> int | None:
        if value is None or value in ("", "none", "None"):
            return None
        try:
            return parse_integer(value)
        except ValueError as error:
            raise ValueError(f"{error} or None") from None

    return parse


def seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not number > 0:
        raise ValueError("seconds above 0; inf means no limit")
    return number


def text_or_none(value: object) -> str | None:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if text is None or isinstance(text, str):
        return text
    raise ValueError("a string or None")


GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")


def device(value: object) -> Any:
    if value in ("", "none", "None"):
        return None
    if value is None or isinstance(value, str) or hasattr(value, "device_kind"):
        return value
    raise ValueError("one of devices(), a platform such as 'cpu' or 'cpu:1', or None")


DOT_ALGORITHMS = (
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)
"""The names of `lax.DotAlgorithmPreset`, but the default."""


def precision(value: object) -> str | None:
    synonyms = {
        "bfloat16": "default",
        "fastest": "default",
        "bfloat16_3x": "high",
        "tensorfloat32": "high",
        "float32": "highest",
    }
    name = synonyms.get(value, value) if isinstance(value, str) else value
    if name in DOT_ALGORITHMS:
        return name
    try:
        return one_of(None, "default", "high", "highest")(name)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(f"{error}, or the name of a lax.DotAlgorithmPreset") from None
