"""The errors of elementwise functions are within the bounds that docs/accuracy.md states: a few
points each; in compiled programs a sample of functions. `benchmarks/accuracy.py` measures all."""

import re
from pathlib import Path

import numpy as np
import pytest
import sampling
from accuracy_table import ROWS, exact_values, worst_of

import weft
from weft.config import enable_x64

PAGE = (Path(__file__).parents[1] / "docs" / "accuracy.md").read_text()
LIMIT = 8.0
COMPILED = sampling.some(ROWS, 12, "accuracy")


def limit(row, dtype):
    """The bound of a function: that of all, or a little over its worst error on the page."""
    if not row.reason and dtype == "float32":
        return LIMIT
    name = row.name.split(" ")[0]
    lines = [x for x in PAGE.splitlines() if x.startswith(f"| `{name}`") and row.reason in x]
    numbers = [float(n) for x in lines for n in re.findall(r"\| ([\d.e+]+)<br>", x)]
    return 4 * max(numbers) + LIMIT


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_errors_are_bounded(row):
    for dtype in ("float32", "float64"):
        with enable_x64(dtype == "float64"):
            xs = row.arguments(dtype, 24, sampling.seed)
            got = np.asarray(row.function()(*map(weft.numpy.array, xs)))
        worst = worst_of(xs, got, exact_values(row, xs))
        assert worst.ulps <= limit(row, dtype), (row.name, dtype, worst)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_errors_of_compiled_programs_are_bounded(dtype):
    with enable_x64(dtype == "float64"):
        arguments = [row.arguments(dtype, 24, sampling.seed) for row in COMPILED]
        outs = weft.jit(
            lambda all_xs: [r.function()(*xs) for r, xs in zip(COMPILED, all_xs, strict=True)]
        )(arguments)
    for row, xs, out in zip(COMPILED, arguments, outs, strict=True):
        worst = worst_of(xs, np.asarray(out), exact_values(row, xs))
        assert worst.ulps <= limit(row, dtype), (row.name, dtype, worst)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_powers_are_whole(dtype):
    with enable_x64(dtype == "float64"):
        two = np.exp2(np.arange(-126, 128)).astype(dtype)
        ten = np.array([float(f"1e{k}") for k in range(23 if dtype == "float64" else 11)], dtype)
        both = lambda x, y: (weft.numpy.log2(x), weft.numpy.log10(y))  # noqa: E731
        for f in (both, weft.jit(both)):
            first, second = f(weft.numpy.array(two), weft.numpy.array(ten))
            np.testing.assert_array_equal(first, np.arange(-126, 128))
            np.testing.assert_array_equal(second, np.arange(len(ten)))


def test_every_large_error_on_the_page_has_a_reason():
    rows = [x.split("|")[1:-1] for x in PAGE.splitlines() if x.startswith("| `")]
    assert len(rows) == len(ROWS)
    for name, *cells, why in rows:
        for cell in cells[:2]:
            number = float(cell.strip().split("<br>")[0])
            assert number <= LIMIT or why.strip(), f"{name}: {number} ulps without a reason"
