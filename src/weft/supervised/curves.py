"""curve draws series of numbers over steps as SVG, for the page of a run; thinned reduces their
points. Colours come from the page's style sheet, so one drawing works on light and dark pages.
"""

import html
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["curve", "thinned"]

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 10, 26
TICKS = 5
COLOURS = 4
WIDE = 100.0
"""The ratio of maximum to minimum above which the vertical axis is logarithmic."""

MOST = 1e300  # so that differences are finite

MARKED = 40
"""The largest number of points of a series that is drawn with circles."""

Points = Sequence[tuple[int, float]]


class Scale(NamedTuple):
    """An axis: maps numbers from `low` to `high` to positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def curve(series: Mapping[str, Points], n_points: int = 500) -> str:
    """A drawing of series of numbers.

    Args:
      series: the points (step, value) of each mode. Values that are not finite are marked at the
        top.
      n_points: the approximate maximum of drawn points per series.
    Returns: an element `svg`. Lines have the classes `mode-0`, `mode-1`, … in the order of the
      series.
    Example:
      >>> drawing = curve({"train": [(1, 0.5), (2, 0.25)]})
      >>> drawing.count("<circle"), drawing.startswith("<svg")
      (2, True)
    """
    finite = [
        [(step, min(max(value, -MOST), MOST)) for step, value in points if math.isfinite(value)]
        for points in series.values()
    ]
    steps = [step for points in series.values() for step, _ in points]
    values = [value for points in finite for _, value in points]
    across = _spread(min(steps, default=0), max(steps, default=0))
    x = Scale(*across, LEFT, WIDTH - RIGHT)
    y = _vertical(values)
    parts = [_axes(x, y)]
    for number, (mode, points) in enumerate(series.items()):
        colour = f"mode-{number % COLOURS}"
        drawn = thinned(finite[number], n_points)
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in drawn)
        parts.append(f'<polyline class="line {colour}" points="{path}"/>')
        if len(drawn) <= MARKED:
            parts += [
                f'<circle class="{colour}" cx="{x(step):.1f}" cy="{y(value):.1f}" r="2.5">'
                f"<title>{html.escape(mode)}, step {step:,}: {value:.6g}</title></circle>"
                for step, value in drawn
            ]
        bad = [(step, value) for step, value in points if not math.isfinite(value)]
        parts += [
            f'<text class="bad" x="{x(step):.1f}" y="{TOP + 9}">×'
            f"<title>{html.escape(mode)}, step {step:,}: {value}</title></text>"
            for step, value in bad[:MARKED]
        ]
    label = html.escape(", ".join(f"{m}: {len(points)} points" for m, points in series.items()))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>"
    )


def thinned(points: Points, n_points: int) -> Points:
    """Reduces the points of a curve without changing its look: keeps the minimum and maximum of
    each part.

    Args:
      points: pairs (step, value) in the order of the steps.
      n_points: the approximate maximum of points in the result.
    Returns: points of the series in their order, including the first and the last.
    Example:
      >>> spike = [(i, 9.0 if i == 500 else 1.0) for i in range(1000)]
      >>> [p for p in thinned(spike, 10) if p[1] > 1]
      [(500, 9.0)]
    """
    if len(points) <= n_points:
        return points
    n_parts = max(1, n_points // 2)
    indices = {0, len(points) - 1}
    for part in range(n_parts):
        inside = range(part * len(points) // n_parts, (part + 1) * len(points) // n_parts)
        indices.add(min(inside, key=lambda i: points[i][1]))
        indices.add(max(inside, key=lambda i: points[i][1]))
    return [points[i] for i in sorted(indices)]


def number_text(value: float) -> str:
    """A number on an axis: `0.25`, `1,500`, `1e-05`."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{value:,.6f}".rstrip("0").rstrip(".")
        return text if text not in ("-0", "") else "0"
    return f"{value:.3g}"


def _spread(low: float, high: float) -> tuple[float, float]:
    """Two different end points."""
    if low < high:
        return low, high
    margin = abs(low) * 0.1 or 1.0
    return low - margin, high + margin


def _vertical(values: list[float]) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low > 0 and high / low > WIDE:
        return Scale(low / 1.1, high * 1.1, HEIGHT - BOTTOM, TOP, True)
    low, high = _spread(low, high)
    margin = (high - low) * 0.05
    return Scale(low - margin, high + margin, HEIGHT - BOTTOM, TOP)


def ticks(scale: Scale) -> list[float]:
    """About five round numbers within an axis."""
    if scale.is_log:
        first, last = math.ceil(math.log10(scale.low)), math.floor(math.log10(scale.high))
        powers = [10.0**e for e in range(first, last + 1, max(1, (last - first + 1) // TICKS))]
        if len(powers) > 2:
            return powers
        exponents = range(first - 1, last + 1)
        finer = [m * 10.0**e for e in exponents for m in (1, 2, 5)]
        return [value for value in finer if scale.low <= value <= scale.high]
    rough = (scale.high - scale.low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    return [i * step for i in range(first, last + 1)]


def _axes(x: Scale, y: Scale) -> str:
    """Lines and numbers of both axes."""
    parts = []
    for value in ticks(y):
        at = f"{y(value):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{at}" dy="4" text-anchor="end">{number_text(value)}</text>'
        )
    for value in ticks(x):
        if value == int(value):
            parts.append(
                f'<text x="{x(value):.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
                f"{number_text(value)}</text>"
            )
    base = HEIGHT - BOTTOM
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    return "".join(parts)
