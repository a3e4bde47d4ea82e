"""What a row of a table is called in the name of its test, so that `-k` finds it."""

from typing import Any


def row_name(row: Any) -> str:
    """Its functions, arrays, options and texts: `qr float64[5,3] mode='full'`."""
    return " ".join(filter(None, map(part_name, row if isinstance(row, (tuple, list)) else [row])))


def part_name(part: Any) -> str:
    """A lambda has no name of its own, and gives its line."""
    if isinstance(part, str):
        return part[:60]
    if isinstance(part, dict):
        return " ".join(f"{key}={part_name(value) or value!r}" for key, value in part.items())
    if isinstance(part, (tuple, list)):
        return ",".join(map(part_name, part))
    if hasattr(part, "dtype") and hasattr(part, "shape") and not isinstance(part, type):
        return f"{part.dtype}[{','.join(map(str, part.shape))}]"
    name = getattr(part, "__name__", None)
    if name == "<lambda>":
        return f"line {part.__code__.co_firstlineno}"
    if name is None and not isinstance(part, (int, float, complex, type(None))):
        return type(part).__name__
    return name or repr(part)
