"""TOML text: lines_of returns the line of each key; written writes tables, value_text writes a
value. Python's `tomllib` reads values without their lines. `lines_of` reads a text that `tomllib`
has accepted, so it does not check the syntax.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Path", "lines_of", "value_text", "written"]

Path: TypeAlias = tuple[str | int, ...]
"""The path of a value: keys of tables, and indices of list elements."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


def lines_of(text: str) -> dict[Path, int]:
    """The line number of each table, key and list element in a TOML text, from 1.

    Args:
      text: a text that `tomllib.loads` accepts.
    Returns: the lines by path; the path of a list element ends with its index.
    Example:
      >>> lines_of('[model]\\nname = "MLP"\\n')
      {('model',): 1, ('model', 'name'): 2}
    """
    reader = _Reader(text)
    reader.document()
    return reader.lines


class _Reader:
    """Reads a TOML text and records the line of each key."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}  # for tables begun by `[[name]]`

    def document(self) -> None:
        table: Path = ()
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _header(self) -> Path:
        is_list = self.text.startswith("[[", self.at)
        line = self._line()
        self.at += 2 if is_list else 1
        table: Path = ()
        keys = self._keys()
        for i, key in enumerate(keys):
            table = (*table, key)
            is_last = i == len(keys) - 1
            self.lines.setdefault(table, line)
            if is_last and is_list:
                self._counts[table] = self._counts.get(table, -1) + 1
            if table in self._counts:
                table = (*table, self._counts[table])
                self.lines.setdefault(table, line)
        self.at += 2 if is_list else 1
        return table

    def _pair(self, table: Path) -> None:
        line = self._line()
        for key in self._keys():
            table = (*table, key)
            self.lines.setdefault(table, line)
        self.at += 1  # =
        self._value(table)

    def _keys(self) -> list[str]:
        """Reads the keys of `a.b."c d"`, and moves to the character after them."""
        keys: list[str] = []
        while True:
            self._skip()
            match = _STRING.match(self.text, self.at) or _BARE.match(self.text, self.at)
            assert match is not None, self.text[self.at :][:20]
            key = match.group()
            keys.append(json.loads(key) if key[0] == '"' else key.strip("'"))
            self.at = match.end()
            self._skip()
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip()
        match = _STRING.match(self.text, self.at)
        if match:
            self.at = match.end()
        elif self.text[self.at] == "[":
            self._inside("]", path)
        elif self.text[self.at] == "{":
            self._inside("}", path)
        else:
            plain = _PLAIN.match(self.text, self.at)
            self.at = plain.end() if plain else self.at + 1

    def _inside(self, end: str, path: Path) -> None:
        """Reads a list or an inline table."""
        self.at += 1
        number = 0
        while True:
            self._skip()
            if self.text[self.at] == end:
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
            elif end == "]":
                self.lines[*path, number] = self._line()
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1


def written(tables: Mapping[str, Any]) -> str:
    """Writes tables as a TOML text, which `tomllib.loads` reads back unchanged.

    Args:
      tables: strings, numbers, booleans, lists and dicts of them.
    Returns: the text. Tables that contain tables get their own headers; other tables are inline.
    Example:
      >>> print(written({"run": {"steps": 10}, "model": {"name": "MLP", "layer_widths": [4, 3]}}))
      [run]
      steps = 10
      <BLANKLINE>
      [model]
      name = "MLP"
      layer_widths = [4, 3]
      <BLANKLINE>
    """
    parts = [_table_text((), tables)] if any(not _is_table(v) for v in tables.values()) else []
    parts += [_table_text((key,), value) for key, value in tables.items() if _is_table(value)]
    return "\n".join(parts)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _table_text(keys: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """A table with its header, followed by the inner tables that contain tables or lists."""
    plain_values = {k: v for k, v in table.items() if not _is_table(v)} if not keys else {}
    if keys:
        plain_values = {k: v for k, v in table.items() if not (_is_table(v) and _is_deep(v))}
    lines = [f"[{'.'.join(map(_key_text, keys))}]"] if keys else []
    for key, value in plain_values.items():
        lines.append(f"{_key_text(key)} = {_broken(value)}")
    text = "".join(f"{line}\n" for line in lines)
    for key, value in table.items() if keys else ():
        if key not in plain_values:
            text += "\n" + _table_text((*keys, key), value)
    return text


def _is_deep(table: Mapping[str, Any]) -> bool:
    return any(_is_table(v) or (isinstance(v, list) and any(map(_is_table, v)))
               for v in table.values())  # fmt: skip


def _broken(value: Any) -> str:
    """A value; a list of tables has one line for each table."""
    if isinstance(value, list) and any(map(_is_table, value)):
        return "[\n" + "".join(f"  {value_text(item)},\n" for item in value) + "]"
    return value_text(value)


def value_text(value: Any) -> str:
    """A TOML value in one line.

    Args:
      value: a string, a number, a boolean, a list, a dict, or a date.
    Example:
      >>> value_text([1, 2.5, "a", True])
      '[1, 2.5, "a", true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return repr(value)  # includes nan and inf
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key_text(k)} = {value_text(v)}" for k, v in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return str(value)


def _key_text(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    """A TOML string: a JSON string in which the character U+007F is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
