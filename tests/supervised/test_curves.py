"""Curves: where points lie, which are kept, axes, numbers that are not finite."""

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as onp
import pytest

from weft.supervised.curves import Scale, curve, number_text, thinned, ticks


def points_of(drawing, mode=0):
    (line,) = re.findall(rf'class="line mode-{mode}" points="([^"]*)"', drawing)
    return [tuple(map(float, pair.split(","))) for pair in line.split()]


def test_points_lie_on_straight_axes():
    drawn = points_of(curve({"train": [(0, 1.0), (50, 2.0), (100, 3.0)]}))
    (x0, y0), (x1, y1), (x2, y2) = drawn
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert y2 < y0  # up is more
    assert x0 == 58


def test_wide_ranges_are_logarithmic():
    drawn = points_of(curve({"train": [(0, 1.0), (1, 100.0), (2, 10_000.0)]}))
    assert drawn[0][1] - drawn[1][1] == pytest.approx(drawn[1][1] - drawn[2][1], abs=0.11)
    drawn = points_of(curve({"train": [(0, 0.0), (1, 100.0), (2, 10_000.0)]}))  # zero has no log
    assert drawn[0][1] - drawn[1][1] < 0.05 * (drawn[1][1] - drawn[2][1])


def test_modes_have_classes_and_names():
    drawing = curve({name: [(1, 2.0)] for name in "abcde"})
    assert re.findall(r'line (mode-\d)"', drawing) == [f"mode-{i}" for i in (0, 1, 2, 3, 0)]
    assert "<title>e, step 1: 2</title>" in drawing


def test_numbers_that_are_not_finite_are_marked():
    drawing = curve({"train": [(1, 1.0), (2, math.nan), (3, math.inf), (4, 2.0)]})
    assert len(points_of(drawing)) == 2
    assert "<title>train, step 2: nan</title>" in drawing
    assert "<title>train, step 3: inf</title>" in drawing


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(5, 0.0)],
        [(5, 3.0), (5, 3.0)],
        [(1, math.nan)],
        [(1, 1e308), (2, -1e308)],
        [(1, 5e-324), (2, 1e308)],
        [(10**17, 1.0), (10**17 + 1, 1.0 + 1e-15)],
    ],
)
def test_any_series_gives_a_drawing(points):
    drawing = curve({"train": points})
    ElementTree.fromstring(drawing)
    for x, y in points_of(drawing):
        assert 0 <= x <= 420
        assert 0 <= y <= 230


def test_names_are_escaped():
    ElementTree.fromstring(curve({'<a&"b': [(1, 1.0), (2, math.nan)]}))


@pytest.mark.parametrize("count", [1, 9, 10, 11, 1000, 12_345])
def test_thinned_keeps_extremes_and_ends(count):
    values = onp.random.default_rng(count).normal(size=count)
    points = list(enumerate(values.tolist()))
    kept = thinned(points, 10)
    assert len(kept) <= 12
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert min(points, key=lambda p: p[1]) in kept
    assert max(points, key=lambda p: p[1]) in kept
    assert sorted(kept) == list(kept)


@pytest.mark.parametrize(
    ("low", "high", "is_log", "expected"),
    [
        (0.0, 10.0, False, [0, 2, 4, 6, 8, 10]),
        (-0.13, 0.37, False, [-0.1, 0, 0.1, 0.2, 0.3]),
        (1.0, 1000.0, True, [1, 10, 100, 1000]),
        (0.3, 20.0, True, [0.5, 1, 2, 5, 10, 20]),
    ],
)
def test_ticks(low, high, is_log, expected):
    assert ticks(Scale(low, high, 0.0, 1.0, is_log)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.0, "0"), (1500.0, "1,500"), (0.25, "0.25"), (1e-5, "1e-05"), (2e7, "2e+07")],
)
def test_numbers(value, text):
    assert number_text(value) == text
