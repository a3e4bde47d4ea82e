"""Worst errors of elementwise functions against mpmath, written to docs/accuracy.md.

    python benchmarks/accuracy.py             (or: make accuracy; some minutes)
    python benchmarks/accuracy.py gamma erf   prints the functions with these words in their names

The functions, where they are sampled, and the reasons for large errors: tests/accuracy_table.py.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from accuracy_table import ROWS, Row, Worst, measured  # noqa: E402

PAGE = ROOT / "docs" / "accuracy.md"
HEAD = """# Accuracy

This page lists the largest error of every real elementwise function over its domain, in units in \
the last place (ulps) of the exact value, which mpmath computes. Below each number is the argument \
with this error. *Eager* means calls outside `jit` on 64 elements, computed by NumPy or XLA, \
whichever is faster; *compiled* means programs of XLA on the CPU. A correctly rounded result has \
an error of at most 0.5.

`make accuracy` writes this page: `benchmarks/accuracy.py` measures hundreds to thousands of \
random arguments for each function of the table `tests/accuracy_table.py`; \
`tests/test_accuracy.py` checks the bounds on a few. Results below the smallest normal number are \
left out, because XLA rounds them to zero. float16 and bfloat16 are computed in float32 and \
rounded once, so their errors are little more than 0.5. A number in brackets after a name is the \
index among several results.

The last column gives the reason for errors above 8 ulps in float32.

| function | float32 eager | float32 compiled | float64 eager | float64 compiled | why |
|---|---|---|---|---|---|
"""


def shown(worst: Worst) -> str:
    """A cell of the table."""
    if worst.ulps < 0:
        return "–"
    at = ", ".join(f"{x:.9g}" for x in worst.arguments)
    size = f"{worst.ulps:.2f}" if worst.ulps < 100 else f"{worst.ulps:.3g}"
    return f"{size}<br>{at}"


def line(row: Row) -> str:
    """The function's row of the table."""
    cells = [
        shown(worst)
        for dtype in ("float32", "float64")
        for _, worst in measured(row, dtype, row.points)
    ]
    name, *place = row.name.split(" ", 1)
    about = f"`{name}`" + (f" {place[0]}" if place else "")
    return f"| {about} | {' | '.join(cells)} | {row.reason} |"


def main(words: Sequence[str]) -> None:
    """Prints the functions with these words in their names, or writes the page."""
    rows = [r for r in ROWS if not words or any(w in r.name for w in words)]
    lines = []
    for row in rows:
        lines.append(line(row))
        print(lines[-1], flush=True)
    if not words:
        PAGE.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
