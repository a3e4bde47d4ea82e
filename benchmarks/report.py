"""Writes results.md from what was measured. Measures nothing."""

import statistics
from typing import Any

from rounds import Measurement, Rounds

Measurements = list[Measurement]

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


def ratio(above: Measurements, below: Measurements, clock: str) -> float:
    """The median over rounds of the ratios of two measurements."""
    pairs = zip(above, below, strict=True)
    return statistics.median(a[clock] / b[clock] for a, b in pairs)


def ratios(above: Measurements, below: Measurements, module: Any) -> str:
    """The ratios by each clock; nothing where there is nothing to compare."""
    if not above or not below:
        return ""
    return " · ".join(f"{number(ratio(above, below, clock))} ×" for clock in module.CLOCKS)


def table(module: Any, found: Rounds) -> list[str]:
    """A question's lines: title, and a row a case."""
    peers = list(next(iter(found.values())))
    others = [p for p in peers if p != "weft"]
    base, cases = getattr(module, "COMPARED", ("", {}))  # each case with another of the same peer
    head = ["", "weft"]
    for p in others:
        head += [p, f"{p} ÷ weft", "target"]
    if cases:
        head += [f"{p}: {base} ÷ this" for p in peers]
    lines = [
        f"## {module.TITLE}",
        "",
        f"{module.UNIT}; {' · '.join(module.CLOCKS)}.",
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for name, case in found.items():
        cells = [name, times(case["weft"], module)]
        for p in others:
            target = module.TARGETS.get(p, {}).get(name)
            cells += [times(case[p], module), ratios(case[p], case["weft"], module)]
            if target is None:
                cells.append("")
            else:
                met = ratio(case[p], case["weft"], module.CLOCKS[0]) >= target
                cells.append(f"≥ {number(target)} × {'met' if met else '**missed**'}")
        if cases:
            other = found.get(cases.get(name, ""), {})
            cells += [ratios(other.get(p, []), case[p], module) for p in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def times(measurements: Measurements, module: Any) -> str:
    """The medians, one a clock."""
    if not measurements:
        return ""
    medians = [statistics.median(m[clock] for m in measurements) for clock in module.CLOCKS]
    return " · ".join(map(number, medians))


def page(sections: dict[str, Any], modules: dict[str, Any]) -> str:
    """All of results.md."""
    lines = [LEGEND]
    for question, section in sections.items():
        lines += table(modules[question], section["rounds"])
        machine = section["machine"]
        when = f"; {section['note']}" if "note" in section else ""
        lines += [f"{section['count']} rounds on {machine['cpu']}, {machine['cores']} cores{when}."]
        lines.append("")
        lines += [
            f"- {p}: {', '.join(f'{k} {v}' for k, v in v.items())}"
            for p, v in machine["versions"].items()
        ]
        lines.append("")
    return "\n".join(lines)
