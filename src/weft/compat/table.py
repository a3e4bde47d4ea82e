"""The table of names as rows: the names that `import jax` provides, and their kinds.
`docs/compat.md` shows it.

python -m weft.compat.table         prints the table for the page
"""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from .names import names_of
from .stand_ins import Refused

SAME, ADAPTED, REFUSED = "same", "adapted", "refused"


class Row(NamedTuple):
    """A name of the table.

    Attributes:
      module: the module of JAX, such as "jax.core".
      name: the name in the module; "*" for all names without a row, "*_p" for its primitives.
      kind: "same" for weft's own object, "adapted" for a definition of weft.compat, "refused" for a
        name that can be imported but not used.
      reason: why it is refused; empty for the other kinds.
    """

    module: str
    name: str
    kind: str
    reason: str


def rows(version: str) -> list[Row]:
    """The rows of all names in the table for a version of JAX."""
    return [row for module, names in names_of(version).items() for row in _of(module, names)]


def _of(module: str, names: Mapping[str, Any]) -> Iterator[Row]:
    for name, value in names.items():
        if name == "__shown__":  # not a name of the module
            continue
        if name != "__getattr__":
            yield Row(module, name, *_kind(value))
        elif not isinstance(other := _default_definition(value), Refused):
            yield Row(module, "*_p", SAME, "")
        else:
            yield Row(module, "*", REFUSED, other._reason)


def _default_definition(function: Any) -> Any:
    """The default definition of names without their own entry."""
    try:
        return function("no_such_name")
    except AttributeError:
        return None


def _kind(value: Any) -> tuple[str, str]:
    if isinstance(value, Refused):
        return REFUSED, value._reason
    if isinstance(value, ModuleType):
        return SAME, ""
    scope = getattr(value, "__globals__", {})  # the wrapper's, not the inner function's
    module_name = (
        scope.get("__name__") or getattr(value, "__module__", None) or type(value).__module__
    )
    is_weft_name = module_name.startswith("weft.") and not module_name.startswith("weft.compat")
    return (SAME if is_weft_name else ADAPTED), ""


def as_markdown(version: str) -> str:
    """The table as Markdown: one line for each module and kind."""
    lines = ["| module | how | names | why |", "|---|---|---|---|"]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows(version):
        groups.setdefault((row.module, row.kind, row.reason), []).append(row.name)
    for (module, kind, reason), names in sorted(groups.items()):
        name_list = " ".join(f"`{name}`" for name in sorted(names))
        lines.append(f"| `{module}` | {kind} | {name_list} | {reason} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown("0.10.2"), end="")
