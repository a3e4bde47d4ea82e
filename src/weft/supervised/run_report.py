"""write_report makes an HTML page of a run: curves, a table of metrics, samples, configuration. The
page is self-contained. It is made from the files of `RunLog`, so the run may still be active, or
killed.
"""

import json
import math
import os
import time

from .curves import Points, curve
from .html_page import clean, cut, html_page, section, tile_row, write_page
from .metric_files import Metrics, read_metrics
from .progress import duration_text

__all__ = ["write_report"]

MAX_CURVES = 100
MAX_POINTS = 40_000
"""The number of points of all series together: 12 bytes each, 0.5 MB."""

MAX_SAMPLES, MAX_SAMPLE, MAX_CONFIG = 30, 4_000, 60_000
MAX_ROWS = 500


def write_report(
    run_directory: str | os.PathLike[str], path: str | os.PathLike[str] | None = None
) -> str:
    """Writes the report page of a run.

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
    return write_page("write_report", target, page(name, metrics))


def page(name: str, metrics: Metrics) -> str:
    """The page of a run as text: HTML that is also valid XML."""
    sections = [
        _head(name, metrics),
        section("Metrics", _curves(metrics, "metrics/")),
        section("", _table(metrics)),
        section("Training", _curves(metrics, "training/")),
        section("Layers and others", _curves(metrics, "")),
        section("Samples", _samples(metrics)),
        section("Configuration", _config(metrics)),
        section("Versions", _versions(metrics)),
    ]
    return html_page(name, sections)


def _head(name: str, metrics: Metrics) -> str:
    """The title, the state of the run, and its latest numbers."""
    tiles = [("step", f"{_last_step(metrics):,}")]
    for (task, mode, tag), points in metrics.series.items():
        if tag.startswith("metrics/") and len(tiles) < 7:
            label = " ".join(filter(None, (task, mode, _short(tag))))
            tiles.append((label, f"{points[-1][1]:.4g}"))
    damaged = f"; {metrics.damaged} lines could not be read" if metrics.damaged else ""
    return (
        f"<header>\n<h1>{clean(name)}</h1>\n<p>{clean(_status(metrics))}{damaged}</p>\n"
        f"{tile_row(tiles)}</header>\n"
    )


def _last_step(metrics: Metrics) -> int:
    reported = [points[-1][0] for points in metrics.series.values()]
    return max([*reported, *(row["step"] for row in metrics.clock)], default=0)


def _status(metrics: Metrics) -> str:
    """The state of the run according to its clock: ended, or running or killed."""
    timed = [row for row in metrics.clock if isinstance(row.get("time"), int | float)]
    if not timed:
        return "the run has no clock.jsonl"
    begun, last = timed[0]["time"], timed[-1]["time"]
    day = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last))
    took = f"{duration_text(last - begun)} after its first line"
    if timed[-1].get("event") == "end":
        return f"ended on {day}, {took}"
    return f"not ended: running, or killed; its last line is from {day}, {took}"


def _short(tag: str) -> str:
    return tag.partition("/")[2] or tag


def _curves(metrics: Metrics, prefix: str) -> str:
    """The curves of metrics with a prefix; the empty prefix means the metrics with no known
    prefix."""
    charts: dict[tuple[str, str], dict[str, Points]] = {}
    for (task, mode, tag), points in {**metrics.series, **_timed(metrics)}.items():
        kind = next((p for p in ("metrics/", "training/") if tag.startswith(p)), "")
        if kind == prefix:
            charts.setdefault((task, tag), {})[mode] = points
    n_points = max(20, MAX_POINTS // max(1, len(metrics.series)))
    cards = [
        f'<div class="card">\n<h3>{clean(" ".join(filter(None, (task, _short(tag)))))}</h3>\n'
        f"{_key(list(series))}{curve(series, min(n_points, 600))}\n</div>\n"
        for (task, tag), series in list(charts.items())[:MAX_CURVES]
    ]
    more = len(charts) - MAX_CURVES
    rest = f"<p>{more} more are in metrics.jsonl.</p>\n" if more > 0 else ""
    return f'<div class="cards">\n{"".join(cards)}</div>\n{rest}' if cards else ""


def _timed(metrics: Metrics) -> dict[tuple[str, str, str], Points]:
    """The curve of the speed, from the clock's file."""
    tag = "training/steps per second"
    series: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in metrics.clock:
        if isinstance(row.get(tag), int | float):
            key = str(row.get("task", "")), str(row.get("mode", "")), tag
            series.setdefault(key, []).append((row["step"], float(row[tag])))
    return dict(series)


def _key(modes: list[str]) -> str:
    """The legend with the colours of the modes."""
    keys = [
        f'<span class="key"><i class="mode-{number % 4}"></i>{clean(mode)}</span>'
        for number, mode in enumerate(modes)
    ]
    return f"<div>{''.join(keys)}</div>\n"


def _table(metrics: Metrics) -> str:
    """The last, minimal and maximal value of each metric."""
    rows = []
    for (task, mode, tag), points in list(metrics.series.items())[:MAX_ROWS]:
        finite = [p for p in points if math.isfinite(p[1])] or points
        least = min(finite, key=lambda p: p[1])
        most = max(finite, key=lambda p: p[1])
        cells = [
            " ".join(filter(None, (task, mode, _short(tag)))),
            *map(_cell, (points[-1], least, most)),
        ]
        rows.append(f"<tr><td>{clean(cells[0])}</td>{''.join(cells[1:])}</tr>\n")
    if not rows:
        return ""
    titles = "".join(f"<th>{title}</th>" for title in ("metric", "last", "lowest", "highest"))
    return f'<div class="scroll"><table>\n<tr>{titles}</tr>\n{"".join(rows)}</table></div>\n'


def _cell(point: tuple[int, float]) -> str:
    step, value = point
    return f"<td>{value:.6g} <small>at {step:,}</small></td>"


def _samples(metrics: Metrics) -> str:
    """The newest texts, latest first."""
    newest = metrics.texts[: -MAX_SAMPLES - 1 : -1]
    samples = [
        f'<div>\n<h3>{clean(tag)} <span class="soft">{clean(mode)}, step {step:,}'
        f"</span></h3>\n<pre>{clean(cut(text, MAX_SAMPLE))}</pre>\n</div>\n"
        for step, mode, tag, text in newest
    ]
    return f'<div class="samples">\n{"".join(samples)}</div>\n' if samples else ""


def _config(metrics: Metrics) -> str:
    if metrics.config in (None, {}, []):
        return ""
    text = json.dumps(metrics.config, indent=2, ensure_ascii=False)
    return f"<pre>{clean(cut(text, MAX_CONFIG))}</pre>\n"


def _versions(metrics: Metrics) -> str:
    rows = [
        f"<tr><td>{clean(name)}</td><td>{clean(version)}</td></tr>\n"
        for name, version in metrics.versions.items()
    ]
    return f'<div class="scroll"><table>\n{"".join(rows)}</table></div>\n' if rows else ""
