"""Finds the cases: every module of `tests/cases` with a list `CASES`.

WEFT_CASES=arithmetic,special takes only those modules.
"""

import importlib
import os
import pathlib
import traceback
from typing import Any

from cases.case import Case

FAILED: dict[str, str] = {}
_CHUNK = 16  # cases in one compiled program


def collected() -> list[Case]:
    """All cases, in order of module and appearance, with unique names."""
    chosen = [name for name in os.environ.get("WEFT_CASES", "").split(",") if name]
    found: list[Case] = []
    for path in sorted((pathlib.Path(__file__).parent.parent / "cases").glob("*.py")):
        family = path.stem
        if family in ("__init__", "case") or (chosen and family not in chosen):
            continue
        try:
            module = importlib.import_module(f"cases.{family}")
        except Exception:  # one broken module must not hide the others; a test reports it
            FAILED[family] = traceback.format_exc()
            continue
        names: dict[str, int] = {}
        for case in module.CASES:
            case.family = family
            n = names[case.name] = names.get(case.name, 0) + 1
            if n > 1:
                case.name += f"#{n}"
            found.append(case)
    return found


CASES = collected()


def under(law: str) -> list[Any]:
    """The cases that a law holds for."""
    return [c for c in CASES if law not in c.without]


def groups(law: str) -> dict[str, list[Case]]:
    """Cases of one operation together, so that they share one compilation."""
    together: dict[str, list[Case]] = {}
    for case in under(law):
        stem = f"{case.family}.{case.operation}"
        n = 0
        while len(together.get(f"{stem}+{n}" if n else stem, ())) >= _CHUNK:
            n += 1
        together.setdefault(f"{stem}+{n}" if n else stem, []).append(case)
    return together
