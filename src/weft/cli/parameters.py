"""Passes TOML tables to functions as arguments. arguments checks a table against the function's
annotations; called calls the function; named_object does both for a table with a name, which
name_of returns; converted converts a single value. from_failure converts the error of a function to
an error of the file.

Where a parameter takes a layer, or a function that makes one, a string names a layer of
`weft.layers`. So does a table with a `name`; its other keys are the layer's parameters. The string
"none" means None where a parameter allows it.
"""

import collections.abc
import enum
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import WeftError
from ..layers import initializers
from ..layers.base import Layer
from .places import ConfigError, Places, near
from .registries import INITIALIZERS, LAYERS, Registry
from .toml_text import Path, value_text

__all__ = [
    "FAILURES",
    "arguments",
    "called",
    "converted",
    "from_failure",
    "name_of",
    "named_object",
]

FAILURES = (WeftError, ValueError, TypeError, ImportError, OSError, NotImplementedError)
"""Errors of a function that may be caused by its arguments."""

NONE = "none"


def name_of(places: Places, path: Path, table: Any, kind: str, example: str) -> tuple[Any, Path]:
    """The name in a table or a string, and its path.

    Args:
      places: for errors.
      path: the path of the table or string.
      table: the table or string.
      kind: the kind of object that it names, for errors.
      example: a name, for errors.
    Raises: ConfigError: it is neither a string nor a table with a name.
    """
    if isinstance(table, str):
        return table, path
    if not isinstance(table, Mapping):
        raise places.error(
            path,
            f"expected the name of a {kind}, or a table with it; got {_shown(table)}",
            f'"{example}", or {{ name = "{example}", … }}',
        )
    if "name" not in table:
        raise places.error(path, f"the name of the {kind} is missing", f'name = "{example}"')
    return table["name"], (*path, "name")


def named_object(
    places: Places,
    path: Path,
    table: Any,
    registry: Registry,
    example: str,
    others: Mapping[str, Any] = {},
) -> Any:
    """Calls the function that a table names, with the other keys as arguments.

    Args:
      places: for errors.
      path: the path of the table.
      table: the name with parameters, or just the name.
      registry: the known names.
      example: one of them, for errors.
      others: default values of parameters, used if the function has them and the table does not.
    Raises: ConfigError: a name, key or value is invalid.
    """
    name, place = name_of(places, path, table, registry.kind, example)
    function = registry.function(places, place, name)
    values = table if isinstance(table, Mapping) else {}
    bound = arguments(places, path, function, values, others)
    return called(places, path, function, bound)


def called(
    places: Places, path: Path, function: Callable[..., Any], bound: inspect.BoundArguments
) -> Any:
    """Calls a function; its own errors become errors of the file.

    Args:
      places: for errors.
      path: the path of the table of its arguments.
      function: the function.
      bound: its arguments.
    Raises: ConfigError: the function raised an error about them.
    """
    try:
        return function(*bound.args, **bound.kwargs)
    except ConfigError:
        raise
    except FAILURES as error:
        raise from_failure(places, path, bound.arguments, error) from None


def from_failure(
    places: Places,
    path: Path,
    values: Mapping[str, Any],
    error: BaseException,
    fix: str = "other values in this table",
) -> ConfigError:
    """Converts the error of a function to an error of the file, at the key or value that it
    mentions first.

    Args:
      places: for the error.
      path: the path of the table of the function's arguments.
      values: the arguments.
      error: the function's error.
      fix: the fix if the error has none and mentions no key.
    """
    message, _, own_fix = str(error).partition("\n  fix: ")
    words = re.findall(r"\w+", message)[1:]
    key = next((word for word in words if word in values), None)
    if key is None:
        texts = (key for key, value in values.items() if isinstance(value, str))
        key = next((key for key in texts if repr(values[key]) in message), None)
    if isinstance(error, FileNotFoundError):
        fix = "the path of a file that is there"
    elif key is not None:
        fix = f"another value of {key}"
    return places.error(path if key is None else (*path, key), message, own_fix or fix)


def arguments(
    places: Places,
    path: Path,
    function: Callable[..., Any],
    table: Mapping[str, Any],
    others: Mapping[str, Any] = {},
    is_table: bool = False,
) -> inspect.BoundArguments:
    """The arguments of a function from a table.

    Args:
      places: for errors.
      path: the path of the table.
      function: the function.
      table: values by parameter name; the key `name` is ignored.
      others: default values of parameters, used if the function has them and the table does not.
      is_table: whether the function only describes the keys of a table.
    Raises: ConfigError: a key is not a parameter, a value does not fit its annotation, or a
      parameter without a default is missing.
    """
    signature = inspect.signature(function)
    parameters = {
        name: p
        for name, p in signature.parameters.items()
        if p.kind is not p.VAR_KEYWORD and name != "mode"
    }
    values: dict[str, Any] = {}
    owner = getattr(function, "__name__", "")
    for key, value in table.items():
        if key == "name":
            continue
        at = (*path, key)
        if key == "mode" and "mode" in signature.parameters:
            raise places.error(at, f"the mode of {owner} is set automatically", "leave it out")
        if key not in parameters:
            message = "there is no such key" if is_table else f"{owner} has no parameter {key!r}"
            raise places.error(at, message, near(key, [*parameters]))
        values[key] = _argument(places, at, parameters[key], value)
    for key, value in others.items():
        if key in parameters and key not in values:
            values[key] = value
    for key, p in parameters.items():
        if p.default is p.empty and key not in values and p.kind is not p.VAR_POSITIONAL:
            meaning = _meaning(function, key)
            needs = f"the key {key} is missing" if is_table else f"{owner} needs {key}"
            raise places.error(
                path,
                f"{needs}{f': {meaning}' if meaning else ''}",
                f"{key} = …  # {expected(p.annotation)}",
            )
    ordered = {key: values[key] for key in signature.parameters if key in values}
    return inspect.BoundArguments(signature, ordered)  # type: ignore[arg-type]


def _argument(places: Places, path: Path, p: inspect.Parameter, value: Any) -> Any:
    """The value of a parameter."""
    if p.kind is p.VAR_POSITIONAL:  # `Serial(*layers)`
        if not isinstance(value, list):
            raise places.error(path, f"expected a list of layers; got {_shown(value)}", "[…]")
        return tuple(_layer(places, (*path, i), item) for i, item in enumerate(value))
    if p.annotation is Any and p.default is not p.empty and callable(p.default):
        return _factory(places, path, value)
    if p.annotation is Any and isinstance(value, Mapping) and "name" in value:
        return _layer(places, path, value)
    return converted(places, path, p.annotation, value, p.default)


def converted(
    places: Places, path: Path, annotation: Any, value: Any, default: Any = inspect.Parameter.empty
) -> Any:
    """Converts a TOML value to a type.

    Args:
      places: for errors.
      path: the path of the value.
      annotation: the type.
      value: the value.
      default: the parameter's default, for the error.
    Raises: ConfigError: the value has another type.
    """
    try:
        return _converted(places, path, annotation, value)
    except _Misfit:
        raise places.error(
            path,
            f"expected {expected(annotation)}; got {_shown(value)}",
            _better(str(path[-1]), annotation, value, default),
        ) from None


class _Misfit(Exception):
    """Raised if a value does not have the type."""


def _converted(places: Places, path: Path, annotation: Any, value: Any) -> Any:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _alternative(places, path, inner, value)
    if annotation in (Any, inspect.Parameter.empty) or isinstance(annotation, str):
        return value
    if annotation is Layer:
        return _layer(places, path, value)
    if origin is collections.abc.Callable or annotation is initializers.Initializer:
        return _factory(places, path, value)
    kind = origin or annotation
    if kind in (collections.abc.Sequence, list, tuple, collections.abc.Iterable):
        return _sequence(places, path, kind, inner, value)
    if kind in (collections.abc.Mapping, dict):
        if not isinstance(value, Mapping):
            raise _Misfit
        keys, values = inner or (Any, Any)
        return {
            _key(keys, key): _converted(places, (*path, key), values, item)
            for key, item in value.items()
        }
    return _plain(annotation, value)


def _plain(annotation: Any, value: Any) -> Any:
    """A number, a string, a boolean, or a member of an enumeration, by its name."""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        if not isinstance(value, str) or value.upper() not in annotation.__members__:
            raise _Misfit
        return annotation[value.upper()]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is float and is_number:
        return float(value)
    if annotation is int and is_number and isinstance(value, int):
        return value
    if annotation in (str, bool) and isinstance(value, annotation):
        return value
    if annotation in (int, float, str, bool) or annotation is type(None):
        raise _Misfit
    return value


def _alternative(places: Places, path: Path, inner: Sequence[Any], value: Any) -> Any:
    """The value as the first of several types that fits."""
    if value == NONE and type(None) in inner and str not in inner:
        return None
    suitable = [a for a in inner if expected(a)]
    for annotation in suitable:
        try:
            return _converted(places, path, annotation, value)
        except _Misfit:
            pass
    raise _Misfit


def _sequence(places: Places, path: Path, kind: Any, inner: Sequence[Any], value: Any) -> Any:
    if not isinstance(value, list):
        raise _Misfit
    if kind is tuple and inner and inner[-1] is not ...:
        if len(inner) != len(value):
            raise _Misfit
        types_of = inner
    else:
        types_of = [inner[0] if inner else Any] * len(value)
    items = [
        _converted(places, (*path, i), annotation, item)
        for i, (annotation, item) in enumerate(zip(types_of, value, strict=True))
    ]
    return tuple(items) if kind is tuple else items


def _key(annotation: Any, key: str) -> Any:
    """A key of a table, which is a string: `0 = …` for int keys, `"x, y" = …` for keys that may be
    tuples."""
    if annotation is int:
        if not re.fullmatch(r"-?\d+", key):
            raise _Misfit
        return int(key)
    if "," in key and any(typing.get_origin(a) is tuple for a in typing.get_args(annotation)):
        return tuple(filter(None, map(str.strip, key.split(","))))
    return key


def _layer(places: Places, path: Path, value: Any) -> Any:
    """A layer, from its name or a table; or a list of layers."""
    if isinstance(value, list):
        return [_layer(places, (*path, i), item) for i, item in enumerate(value)]
    return named_object(places, path, value, LAYERS, "Relu")


def _factory(places: Places, path: Path, value: Any) -> Any:
    """A function that makes layers, or an initializer, from its name or a table."""
    if not isinstance(value, str | Mapping):
        raise _Misfit
    name, place = name_of(places, path, value, "layer", "Relu")
    if name in INITIALIZERS:
        return named_object(places, path, value, INITIALIZERS, "GlorotUniformInitializer")
    function = LAYERS.function(places, place, name)
    if isinstance(value, str):
        return function
    options = _partial(places, path, function, value)
    return functools.wraps(function)(functools.partial(function, **options))


def _partial(
    places: Places, path: Path, function: Callable[..., Any], table: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a factory. Missing ones are passed when it is called."""
    parameters = inspect.signature(function).parameters
    missing = {
        key: None for key, p in parameters.items() if p.default is p.empty and key not in table
    }
    bound = arguments(places, path, function, table, missing)
    return {key: value for key, value in bound.arguments.items() if key in table}


# --- messages ---


def expected(annotation: Any) -> str:
    """The name of a type in words; an empty string for a type that TOML does not have."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = [expected(a) for a in inner if a is not type(None)]
        if type(None) in inner and str not in inner:
            kinds.append(f'"{NONE}"')
        return " or ".join(dict.fromkeys(filter(None, kinds)))
    words = {
        int: "a whole number",
        float: "a number",
        str: "a string",
        bool: "true or false",
        Layer: "the name of a layer",
        Any: "a value",
    }
    if annotation in words:
        return words[annotation]
    if origin is collections.abc.Callable:
        return "the name of a layer"
    if annotation is initializers.Initializer:
        return "the name of an initializer"
    kind = origin or annotation
    if kind in (collections.abc.Sequence, list, tuple, collections.abc.Iterable):
        items = [word for word in expected(inner[0] if inner else Any).split(" or ")]
        plural = [f"{item.removeprefix('a ')}s" for item in items if item.startswith("a ")]
        return f"a list of {' or '.join(plural)}" if plural else "a list"
    if kind in (collections.abc.Mapping, dict):
        return "a table"
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return " or ".join(f'"{name}"' for name in annotation.__members__)
    return ""


def _shown(value: Any) -> str:
    """A value as text, with its type if the text alone is ambiguous."""
    text = value_text(value)
    text = text if len(text) <= 60 else f"{text[:57]}…"
    return f"{text} (a string)" if isinstance(value, str) else text


def _better(key: str, annotation: Any, value: Any, default: Any) -> str:
    """The fix for a value of the wrong type."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    types_of = {*typing.get_args(annotation)} if is_union else {annotation}
    if isinstance(value, str) and types_of & {int, float}:
        text = value.replace("_", "")
        whole = re.fullmatch(r"\s*[+-]?\d+\s*", text)
        if whole or (float in types_of and re.fullmatch(r"\s*[+-]?[\d.]+(e[+-]?\d+)?\s*", text)):
            return f"{key} = {text.strip()}"
    if isinstance(value, str) and bool in types_of and value.lower() in ("true", "false"):
        return f"{key} = {value.lower()}"
    if isinstance(value, float) and int in types_of and math.isfinite(value):
        return f"{key} = {round(value)}"
    kinds = {typing.get_origin(kind) for kind in types_of}
    if kinds & {list, tuple, collections.abc.Sequence} and isinstance(value, str | dict):
        return f"{key} = {value_text([value])}"
    is_plain = isinstance(default, bool | int | float | str | list | tuple)
    if is_plain and default != inspect.Parameter.empty:
        return f"{key} = {value_text(default)}, its default"
    return f"{key} = …  # {expected(annotation)}"


def _meaning(function: Callable[..., Any], parameter: str) -> str:
    """The first sentence about a parameter in a docstring."""
    text = inspect.getdoc(function) or ""
    args = re.search(r"^Args:\n((?:[ ].*\n|\n)*)", text + "\n", re.MULTILINE)
    entries = re.split(r"\n(?=  \S)", args.group(1).rstrip()) if args else []
    for entry in entries:
        names, _, meaning = entry.partition(": ")
        if parameter in re.findall(r"\w+", names):
            return " ".join(meaning.split()).split(". ")[0].rstrip(".")
    return ""
