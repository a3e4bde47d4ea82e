"""explanation_page makes the HTML page of an explanation, with the findings on its first screen."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..runtime.failures import size_of
from ..supervised.curves import curve
from ..supervised.html_page import clean, cut, html_page, section, tile_row

MAX_FINDINGS, MAX_ROWS, MAX_TRACES, MAX_PLANS, MAX_POINTS = 100, 120, 60, 12, 400
MAX_TEXT = 2_000

STYLE = """
.finding { background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  border-left: 4px solid var(--m1); padding: 10px 14px; margin: 10px 0; overflow-wrap: anywhere; }
.finding b { font-weight: 600; }
.finding code, td code { font: 13px/1.5 ui-monospace, monospace; }
.finding pre { margin: 8px 0 0; padding: 8px 10px; max-height: none; }
.minus { color: var(--bad); } .plus { color: var(--m2); }
.where { color: var(--m0); font: 13px ui-monospace, monospace; }
td.text { text-align: left; white-space: pre; }
.good { border-left-color: var(--m2); }
"""


def explanation_page(e: Any) -> str:
    """The page of an explanation as text."""
    return html_page(
        e.title,
        [
            _head(e),
            section("Findings", _findings(e.findings)),
            section("Functions", _programs(e)),
            section("Lines", _lines(e)),
            section("Memory over time", _memory(e)),
            section("Kernels: what was fused", _kernels(e)),
            section("Moves between host and devices", _moves(e)),
            section("Arrays that functions close over", _constants(e)),
            section("Why each function was traced", _traces(e)),
        ],
        STYLE,
    )


def seconds_text(seconds: float, measured: bool = True) -> str:
    """`1.50 s`, `12.0 ms`, `3 µs`; with `~` for an estimate."""
    text = f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"
    if seconds >= 1:
        text = f"{seconds:,.2f} s"
    return text if measured else f"~{text}"


def _head(e: Any) -> str:
    plans = [p.memory.peak_bytes for p in e.programs if p.memory is not None]
    tiles = [
        ("findings", str(len(e.findings))),
        ("functions", str(len(e.programs))),
        ("calls", f"{sum(p.called.count for p in e.programs):,}"),
        (
            "seconds in calls",
            seconds_text(sum(p.called.typical_seconds * p.called.count for p in e.programs)),
        ),
        ("seconds to compile", seconds_text(sum(p.compile_seconds for p in e.programs))),
        ("largest peak", size_of(max(plans, default=0))),
    ]
    return (
        f"<header>\n<h1>{clean(e.title)}</h1>\n<p>Made by weft.explain.</p>\n"
        f"{tile_row(tiles)}</header>\n"
    )


def _findings(findings: Sequence[Any]) -> str:
    if not findings:
        return (
            '<div class="finding good">Nothing found that costs time or memory without need.'
            "</div>\n"
        )
    return "".join(map(_finding, findings[:MAX_FINDINGS]))


def _finding(f: Any) -> str:
    change = ""
    if f.after:
        change = (
            f'<pre><span class="minus">- {clean(f.before)}</span>\n'
            f'<span class="plus">+ {clean(f.after)}</span></pre>\n'
        )
    elif f.before:
        change = f"<pre>{clean(f.before)}</pre>\n"
    return (
        f'<div class="finding"><span class="where">{clean(str(f.line))}</span> '
        f"<b>{clean(f.kind)}</b><div>{clean(cut(f.message, MAX_TEXT))}</div>\n"
        f"<div>Fix: {clean(cut(f.advice, MAX_TEXT))}</div>\n{change}</div>\n"
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], code: Sequence[int] = ()) -> str:
    """A table; the columns in `code` have the user's text, which is flush left."""
    body = []
    for row in rows:
        cells = [
            f'<td class="text"><code>{clean(cut(cell, 160))}</code></td>'
            if n in code
            else f"<td>{clean(cell)}</td>"
            for n, cell in enumerate(row)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>\n")
    if not body:
        return ""
    more = len(body) - MAX_ROWS
    rest = f"<p>{more} more rows are left out.</p>\n" if more > 0 else ""
    head = "".join(f"<th>{clean(title)}</th>" for title in titles)
    rows_text = "".join(body[:MAX_ROWS])
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{rows_text}</table></div>\n{rest}'


def _programs(e: Any) -> str:
    titles = ("function", "calls", "each call", "to compile", "equations", "kernels", "memory")
    return table(
        titles,
        [
            (
                cut(f"{p.called.name} ({', '.join(map(str, p.called.traced.avals[0]))})", 70),
                f"{p.called.count:,}",
                seconds_text(p.called.typical_seconds),
                seconds_text(p.compile_seconds),
                f"{p.equations:,}",
                f"{len(p.kernels):,}",
                size_of(p.memory.peak_bytes) if p.memory is not None else "–",
            )
            for p in e.programs
        ],
    )


def _lines(e: Any) -> str:
    titles = ("line", "seconds", "equations", "kernels", "bytes", "outside jit", "text")
    rows = [
        (
            str(r.line),
            seconds_text(r.seconds, r.measured),
            f"{r.equations:,}",
            f"{r.kernels:,}",
            size_of(r.bytes),
            f"{r.operations:,}" if r.operations else "",
            r.text,
        )
        for r in e.lines
    ]
    return table(titles, rows, code=(6,))


def _memory(e: Any) -> str:
    plans = sorted(
        [p.memory for p in e.programs if p.memory is not None], key=lambda m: -m.peak_bytes
    )
    cards = []
    for plan in plans[:MAX_PLANS]:
        step = max(1, len(plan.moments) // MAX_POINTS)
        points = [(n, m.bytes / 2**20) for n, m in enumerate(plan.moments)][::step]
        buffers = table(
            ("largest buffers at the peak", "kind", "type", "line", "operation"),
            [
                (size_of(b.bytes), b.kind, b.shape, str(b.line) if b.line.number else "", b.name)
                for b in plan.buffers[:10]
            ],
        )
        drawing = curve({"MiB in use, by instruction": points}, MAX_POINTS) if points else ""
        cards.append(
            f'<div class="card">\n<h3>{clean(str(plan).splitlines()[0])}</h3>\n{drawing}\n</div>\n'
            f"{buffers}"
        )
    return "".join(cards)


def _kernels(e: Any) -> str:
    titles = ("function", "seconds", "bytes", "operations", "lines")
    rows = [
        (r.program, seconds_text(r.seconds, r.measured), size_of(r.bytes), r.fused, r.lines)
        for r in e.kernels
    ]
    return table(titles, rows, code=(3, 4))


def _moves(e: Any) -> str:
    rows = [(d, line, kind, f"{n:,}", size_of(size)) for d, line, kind, n, size in e.moves]
    return table(("direction", "line", "type", "times", "bytes"), rows)


def _constants(e: Any) -> str:
    rows = [(name, kind, size_of(size)) for name, kind, size in e.constants]
    return table(("function", "type", "bytes"), rows)


def _traces(e: Any) -> str:
    texts = [cut(text, MAX_TEXT) for text in e.retraces[:MAX_TRACES]]
    return f"<pre>{clean(chr(10).join(texts))}</pre>\n" if texts else ""
