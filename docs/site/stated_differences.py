"""Where a name differs from NumPy's and JAX's, of docs/differences.md and of signatures."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy
from public_names import DOCS

SHORT = {"np": "weft.numpy", "lax": "weft.lax", "random": "weft.random", "weft": "weft"}


def differences_of(namespace: str, name: str, value: Any) -> list[str]:
    """The lines that the page of a name has about its differences."""
    return STATED.get(f"{namespace}.{name}", []) + missing_parameters(namespace, name, value)


def stated_differences(text: str) -> dict[str, list[str]]:
    """The lines of the page that begin with a name of weft's, by its full name."""
    result: dict[str, list[str]] = {}
    titles: list[str] = []
    for line in text.splitlines():
        head, said = "", ""
        if line.startswith("| "):
            cells = re.split(r" *\| *", line.strip("| "))
            head, titles = cells[0], titles or cells
            columns = zip(titles[1:], cells[1:], strict=True)
            said = f"{head} – " + "; ".join(f"*{title}:* {cell}" for title, cell in columns)
        elif not line.startswith("|"):
            titles = []
            match = re.match(r"- \*\*(.*?)\*\*", line)
            head, said = (match.group(1), line[2:]) if match else ("", "")
        for name in names_in(head):
            result.setdefault(name, []).append(said.replace("](", "](../"))
    return result


def names_in(head: str) -> Iterator[str]:
    """The full names that code spans in the head of a line begin with."""
    head = re.sub(r"\b(under|outside|with) `[^`]*`", "", head)
    for prefix, name in re.findall(r"`(?:(np|lax|random|weft)\.)?([a-z]\w+)[^`]*`", head):
        for owner in [SHORT[prefix]] if prefix else SHORT.values():
            if hasattr(importlib.import_module(owner), name):
                yield f"{owner}.{name}"
                break


def missing_parameters(namespace: str, name: str, value: Any) -> list[str]:
    """A line for the options that NumPy's function of that name has, and weft's does not have."""
    original = getattr(numpy, name, None)
    if namespace != "weft.numpy" or inspect.isclass(value) or not callable(original):
        return []
    try:
        own, theirs = inspect.signature(value).parameters, inspect.signature(original).parameters
    except (TypeError, ValueError):
        return []
    options = [n for n, p in theirs.items() if p.default is not p.empty]
    missing = ", ".join(f"`{n}`" for n in options if n not in own)
    return [f"NumPy's parameters that weft does not have: {missing}"] if missing else []


STATED = stated_differences((DOCS / "differences.md").read_text())
