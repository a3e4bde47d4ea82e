"""write_report makes one HTML page of a run: curves, a table of metrics, samples, configuration.

The page holds all that it shows, and asks no network for anything. It is made of the files that
`RunLog` wrote, so that the run may be going on, or was killed.
"""

import html
import json
import math
import os
import time

from ..user_lines import noted
from .curves import Points, curve
from .metric_files import Metrics, read_metrics
from .progress import duration_text

__all__ = ["write_report"]

MAX_CURVES = 100
MAX_POINTS = 40_000
"""Of all series together: 12 bytes each, 0.5 MB."""

MAX_SAMPLES, MAX_SAMPLE, MAX_CONFIG = 30, 4_000, 60_000
MAX_ROWS = 500

STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --card: #fff; --ink: #1c1d21; --soft: #666a73;
  --edge: #e3e4e8; --grid: #ecedf0; --m0: #3b5bdb; --m1: #d9480f; --m2: #2b8a3e; --m3: #9c36b5;
  --bad: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --page: #16171b; --card: #1e2026; --ink: #e7e8ec;
  --soft: #9a9fab; --edge: #32353d; --grid: #2a2d34; --m0: #91a7ff; --m1: #ff922b; --m2: #69db7c;
  --m3: #e599f7; --bad: #ff8787; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1400px; padding: 20px 16px 60px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 34px 0 10px; }
h3 { font-size: 14px; font-weight: 600; margin: 0 0 4px; overflow-wrap: anywhere; }
p, .soft { color: var(--soft); margin: 0; }
.cards { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
.card, pre, .scroll { background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  padding: 12px; min-width: 0; overflow-wrap: anywhere; }
.tiles { display: grid; gap: 10px; margin-top: 14px;
  grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); }
.tile .soft { font-size: 13px; }
.tile b { display: block; font-size: 20px; font-weight: 600; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .bad { fill: var(--bad); font-weight: 700; text-anchor: middle; }
.grid { stroke: var(--grid); } .axis { stroke: var(--edge); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
polyline.mode-0 { stroke: var(--m0); } polyline.mode-1 { stroke: var(--m1); }
polyline.mode-2 { stroke: var(--m2); } polyline.mode-3 { stroke: var(--m3); }
i.mode-0 { background: var(--m0); } i.mode-1 { background: var(--m1); }
i.mode-2 { background: var(--m2); } i.mode-3 { background: var(--m3); }
circle.mode-0 { fill: var(--m0); } circle.mode-1 { fill: var(--m1); }
circle.mode-2 { fill: var(--m2); } circle.mode-3 { fill: var(--m3); }
.key { display: inline-block; margin-right: 12px; font-size: 12.5px; color: var(--soft); }
.key i { display: inline-block; width: 14px; height: 3px; margin-right: 5px;
  vertical-align: middle; }
.scroll { overflow-x: auto; padding: 4px 12px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 0 6px 18px; border-top: 1px solid var(--grid);
  white-space: nowrap; }
tr:first-child th { border-top: 0; color: var(--soft); font-weight: 500; font-size: 13px; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td small { color: var(--soft); }
pre { margin: 0; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; max-height: 420px; overflow-y: auto; }
.samples { display: grid; gap: 12px; }
"""


def write_report(
    run_directory: str | os.PathLike[str], path: str | os.PathLike[str] | None = None
) -> str:
    """Writes the page of a run.

    Args:
      run_directory: the folder of the run, the `output_dir` of its loop.
      path: the file of the page; by default `report.html` in that folder.
    Returns: the path of the page.
    Raises: FileNotFoundError: the folder has no `metrics.jsonl`. OSError: the page cannot be
      written.
    Example:
      >>> from weft.supervised.run_log import RunLog
      >>> log = RunLog("run", stdout=False, tensorboard=False)
      >>> log.scalars(1, "train", {"metrics/L2Loss": 0.25})
      >>> log.close()
      >>> write_report("run").replace("\\\\", "/")
      'run/report.html'
    """
    directory = os.path.expanduser(os.fspath(run_directory))
    metrics = read_metrics(directory)
    target = os.path.join(directory, "report.html") if path is None else os.fspath(path)
    name = os.path.basename(os.path.abspath(directory))
    try:
        with open(f"{target}.part", "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(page(name, metrics))
        os.replace(f"{target}.part", target)
    except OSError as error:
        raise noted(
            type(error)(
                f"write_report: {target} can't be written: {error.strerror}\n"
                "  fix: write_report(run_directory, path) with a path that can be written"
            )
        ) from None
    return target


def page(name: str, metrics: Metrics) -> str:
    """The page of a run as text: HTML that is XML too."""
    sections = [
        _head(name, metrics),
        _section("Metrics", _curves(metrics, "metrics/")),
        _section("", _table(metrics)),
        _section("Training", _curves(metrics, "training/")),
        _section("Layers and others", _curves(metrics, "")),
        _section("Samples", _samples(metrics)),
        _section("Configuration", _config(metrics)),
        _section("Versions", _versions(metrics)),
    ]
    title = _clean(name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{''.join(sections)}</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    if not content:
        return ""
    heading = f"<h2>{_clean(title)}</h2>\n" if title else '<div style="height:14px"></div>\n'
    return f"<section>\n{heading}{content}</section>\n"


def _head(name: str, metrics: Metrics) -> str:
    """The title, how the run is, and its newest numbers."""
    tiles = [("step", f"{_last_step(metrics):,}")]
    for (task, mode, tag), points in metrics.series.items():
        if tag.startswith("metrics/") and len(tiles) < 7:
            label = " ".join(filter(None, (task, mode, _short(tag))))
            tiles.append((label, f"{points[-1][1]:.4g}"))
    boxes = "".join(
        f'<div class="card tile"><span class="soft">{_clean(label)}</span>'
        f"<b>{_clean(value)}</b></div>\n"
        for label, value in tiles
    )
    damaged = f"; {metrics.damaged} lines could not be read" if metrics.damaged else ""
    return (
        f"<header>\n<h1>{_clean(name)}</h1>\n<p>{_clean(_status(metrics))}{damaged}</p>\n"
        f'<div class="tiles">\n{boxes}</div>\n</header>\n'
    )


def _last_step(metrics: Metrics) -> int:
    reported = [points[-1][0] for points in metrics.series.values()]
    return max([*reported, *(row["step"] for row in metrics.clock)], default=0)


def _status(metrics: Metrics) -> str:
    """The state of the run by its clock: ended, or going on or killed."""
    timed = [row for row in metrics.clock if isinstance(row.get("time"), int | float)]
    if not timed:
        return "the run has no clock.jsonl"
    begun, last = timed[0]["time"], timed[-1]["time"]
    day = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last))
    took = f"{duration_text(last - begun)} after its first line"
    if timed[-1].get("event") == "end":
        return f"ended on {day}, {took}"
    return f"not ended: it runs, or was killed; its last line is of {day}, {took}"


def _short(tag: str) -> str:
    return tag.partition("/")[2] or tag


def _curves(metrics: Metrics, prefix: str) -> str:
    """The curves of the metrics with a prefix; the empty one is for those with neither."""
    charts: dict[tuple[str, str], dict[str, Points]] = {}
    for (task, mode, tag), points in {**metrics.series, **_timed(metrics)}.items():
        kind = next((p for p in ("metrics/", "training/") if tag.startswith(p)), "")
        if kind == prefix:
            charts.setdefault((task, tag), {})[mode] = points
    n_points = max(20, MAX_POINTS // max(1, len(metrics.series)))
    cards = [
        f'<div class="card">\n<h3>{_clean(" ".join(filter(None, (task, _short(tag)))))}</h3>\n'
        f"{_key(list(series))}{curve(series, min(n_points, 600))}\n</div>\n"
        for (task, tag), series in list(charts.items())[:MAX_CURVES]
    ]
    more = len(charts) - MAX_CURVES
    rest = f"<p>{more} more are in metrics.jsonl.</p>\n" if more > 0 else ""
    return f'<div class="cards">\n{"".join(cards)}</div>\n{rest}' if cards else ""


def _timed(metrics: Metrics) -> dict[tuple[str, str, str], Points]:
    """The speed, from the clock's file."""
    tag = "training/steps per second"
    series: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in metrics.clock:
        if isinstance(row.get(tag), int | float):
            key = str(row.get("task", "")), str(row.get("mode", "")), tag
            series.setdefault(key, []).append((row["step"], float(row[tag])))
    return dict(series)


def _key(modes: list[str]) -> str:
    """The colours of the modes."""
    keys = [
        f'<span class="key"><i class="mode-{number % 4}"></i>{_clean(mode)}</span>'
        for number, mode in enumerate(modes)
    ]
    return f"<div>{''.join(keys)}</div>\n"


def _table(metrics: Metrics) -> str:
    """The last, least and greatest number of each metric."""
    rows = []
    for (task, mode, tag), points in list(metrics.series.items())[:MAX_ROWS]:
        finite = [p for p in points if math.isfinite(p[1])] or points
        least = min(finite, key=lambda p: p[1])
        most = max(finite, key=lambda p: p[1])
        cells = [
            " ".join(filter(None, (task, mode, _short(tag)))),
            *map(_cell, (points[-1], least, most)),
        ]
        rows.append(f"<tr><td>{_clean(cells[0])}</td>{''.join(cells[1:])}</tr>\n")
    if not rows:
        return ""
    titles = "".join(f"<th>{title}</th>" for title in ("metric", "last", "lowest", "highest"))
    return f'<div class="scroll"><table>\n<tr>{titles}</tr>\n{"".join(rows)}</table></div>\n'


def _cell(point: tuple[int, float]) -> str:
    step, value = point
    return f"<td>{value:.6g} <small>at {step:,}</small></td>"


def _samples(metrics: Metrics) -> str:
    """The newest texts, the last one first."""
    newest = metrics.texts[: -MAX_SAMPLES - 1 : -1]
    samples = [
        f'<div>\n<h3>{_clean(tag)} <span class="soft">{_clean(mode)}, step {step:,}'
        f"</span></h3>\n<pre>{_clean(_cut(text, MAX_SAMPLE))}</pre>\n</div>\n"
        for step, mode, tag, text in newest
    ]
    return f'<div class="samples">\n{"".join(samples)}</div>\n' if samples else ""


def _config(metrics: Metrics) -> str:
    if metrics.config in (None, {}, []):
        return ""
    text = json.dumps(metrics.config, indent=2, ensure_ascii=False)
    return f"<pre>{_clean(_cut(text, MAX_CONFIG))}</pre>\n"


def _versions(metrics: Metrics) -> str:
    rows = [
        f"<tr><td>{_clean(name)}</td><td>{_clean(version)}</td></tr>\n"
        for name, version in metrics.versions.items()
    ]
    return f'<div class="scroll"><table>\n{"".join(rows)}</table></div>\n' if rows else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} … ({len(text):,} characters)"


def _clean(text: str) -> str:
    """A text for HTML, in which characters that XML forbids are replaced."""
    allowed = (c if c >= " " or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return html.escape("".join(allowed))
