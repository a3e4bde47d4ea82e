"""Writes results.md from what was measured. Measures nothing."""

import statistics
from typing import Any

from rounds import Rounds

LEGEND = """\
# Benchmarks

Made by `make bench`; what is measured, and how, is in [README.md](README.md); the raw data is in
`results.json`. Ratios are the peer's time over weft's: above 1, weft takes less. They are medians
of the ratios of interleaved rounds, not ratios of medians. Where two clocks stand in a cell, the
first is the one that the target is for.
"""


def number(x: float) -> str:
    """Three digits."""
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def ratio(case: dict[str, list[dict[str, float]]], peer: str, clock: str) -> float:
    """The median over rounds of the peer's time over weft's."""
    pairs = zip(case[peer], case["weft"], strict=True)
    return statistics.median(theirs[clock] / ours[clock] for theirs, ours in pairs)


def table(module: Any, found: Rounds) -> list[str]:
    """A question's lines: title, and a row a case."""
    peers = list(next(iter(found.values())))
    others = [p for p in peers if p != "weft"]
    head = ["", "weft"]
    for p in others:
        head += [p, f"{p} ÷ weft", "target"]
    lines = [
        f"## {module.TITLE}",
        "",
        f"{module.UNIT}; {' · '.join(module.CLOCKS)}.",
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for name, case in found.items():
        cells = [name, times(case, "weft", module)]
        for p in others:
            ratios = [ratio(case, p, clock) for clock in module.CLOCKS]
            target = module.TARGETS.get(p, {}).get(name)
            cells += [times(case, p, module), " · ".join(f"{number(r)} ×" for r in ratios)]
            met = "" if target is None else " met" if ratios[0] >= target else " **missed**"
            cells.append("" if target is None else f"≥ {number(target)} ×{met}")
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def times(case: dict[str, list[dict[str, float]]], peer: str, module: Any) -> str:
    """A peer's medians, one a clock."""
    medians = [statistics.median(m[clock] for m in case[peer]) for clock in module.CLOCKS]
    return " · ".join(map(number, medians))


def page(sections: dict[str, Any], modules: dict[str, Any]) -> str:
    """All of results.md."""
    lines = [LEGEND]
    for question, section in sections.items():
        lines += table(modules[question], section["rounds"])
        machine = section["machine"]
        lines += [f"{section['count']} rounds on {machine['cpu']}, {machine['cores']} cores.", ""]
        lines += [
            f"- {p}: {', '.join(f'{k} {v}' for k, v in v.items())}"
            for p, v in machine["versions"].items()
        ]
        lines.append("")
    return "\n".join(lines)
