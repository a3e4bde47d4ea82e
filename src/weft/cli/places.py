"""ConfigError, the error of a configuration file; Places finds the line of a value for such errors.
near makes the fix for an unknown name.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..user_lines import noted
from .toml_text import Path

__all__ = ["ConfigError", "Places", "near"]


class ConfigError(ValueError):
    """A configuration file has an unexpected key or value.

    The message names the file, the line, the table, the key and a fix.
    """


@dataclass(frozen=True)
class Places:
    """The places where the values of a configuration were written.

    Args:
      file: the file.
      lines: the lines of its tables, keys and elements.
      overrides: the command-line options that override values.
    """

    file: str
    lines: Mapping[Path, int]
    overrides: Mapping[Path, str] = field(default_factory=dict)

    def of(self, path: Path) -> str:
        """The place of a path, or of the nearest enclosing path: `chars.toml:12`, or `--set
        model.d_model=64`."""
        for n in range(len(path), 0, -1):
            if path[:n] in self.overrides:
                return self.overrides[path[:n]]
            if path[:n] in self.lines:
                return f"{self.file}:{self.lines[path[:n]]}"
        below = (text for key, text in self.overrides.items() if key[: len(path)] == path != ())
        return next(below, self.file)

    def error(self, path: Path, message: str, fix: str) -> ConfigError:
        """The error for a value.

        Args:
          path: the path of the value.
          message: the expected value, and the value in the file.
          fix: how to correct it.
        """
        return noted(ConfigError(f"{self.of(path)}: {_named(path)}{message}\n  fix: {fix}"))


def _named(path: Path) -> str:
    """`[data] stages[1].batch_size: `."""
    if not path:
        return ""
    keys = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path[1:])
    return f"[{path[0]}]{' ' * bool(keys)}{keys.removeprefix('.')}: "


def near(name: object, names: Iterable[str], listed: int = 12) -> str:
    """The fix for an unknown name: the closest known name, or all of them.

    Args:
      name: the unknown name.
      names: the known names.
      listed: the largest number of suggestions.
    Example:
      >>> near("Adamm", ["SGD", "Adam"])
      'did you mean Adam?'
    """
    there = list(names)
    lower = {one.lower(): one for one in there}
    matches = difflib.get_close_matches(str(name).lower(), lower, 1, 0.6)
    if matches:
        return f"did you mean {lower[matches[0]]}?"
    if not there:
        return "leave it out"
    shown = ", ".join(there[:listed]) + (", …" if len(there) > listed else "")
    return f"one of {shown}" if len(there) > 1 else shown
