"""Measures the limits of `core/host_policy.py`, and writes them there: `make tune`.

A limit is the number of elements up to which NumPy is faster than XLA in operations of one class.
For a few operations of each class this finds the number at which the times cross, between sizes
that double; the limit is the median over the operations, rounded to two digits. Only numbers
change: run it on a quiet machine, and look at `git diff`.

    python benchmarks/tune.py          measures, prints and writes
    python benchmarks/tune.py --dry    writes nothing
"""

import argparse
import math
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy

import weft

POLICY = Path(__file__).resolve().parents[1] / "src" / "weft" / "core" / "host_policy.py"
SIZES = [2**k for k in range(10, 22)]
ROUNDS, SECONDS = 9, 0.002

Operation = Callable[[Any, Any], Any]


def operations() -> dict[str, dict[str, Operation]]:
    """For each class a few of its operations, of two arrays of positive numbers."""
    np, lax = weft.numpy, weft.lax
    return {
        "arithmetic": {
            "add": lambda x, y: x + y,
            "mul": lambda x, y: x * y,
            "max": lambda x, y: np.maximum(x, y),
            "sqrt": lambda x, y: np.sqrt(x),
            "reduce_max": lambda x, y: np.max(x),
            "lt": lambda x, y: x < y,
        },
        "transcendental": {
            "exp": lambda x, y: np.exp(x),
            "log": lambda x, y: np.log(x),
            "tanh": lambda x, y: np.tanh(x),
            "atan2": lambda x, y: np.arctan2(x, y),
            "logistic": lambda x, y: lax.logistic(x),
        },
        "other": {
            "rem": lambda x, y: lax.rem(x, 0.7),
            "logaddexp": lambda x, y: np.logaddexp(x, y),
            "cumsum": lambda x, y: np.cumsum(x),
            "reduce_prod": lambda x, y: np.prod(x),
            "erf_inv": lambda x, y: lax.erf_inv(x),
        },
    }


def seconds(operation: Operation, x: Any, y: Any) -> float:
    """The least time of a call, of several rounds."""
    operation(x, y).block_until_ready()
    best, calls = math.inf, 1
    for _ in range(ROUNDS):
        begun = perf_counter()
        for _ in range(calls):
            operation(x, y).block_until_ready()
        best = min(best, (perf_counter() - begun) / calls)
        calls = max(1, int(SECONDS / best))
    return best


def crossing(operation: Operation) -> float:
    """The number of elements at which NumPy's time crosses XLA's, on a logarithmic scale."""
    random = numpy.random.RandomState(0)
    before = None
    for size in SIZES:
        x, y = (weft.numpy.array(random.uniform(0.1, 0.9, size).astype("f")) for _ in range(2))
        times = []
        for tier in ("host", "xla"):
            weft.config.update("weft_eager_tier", tier)
            times.append(seconds(operation, x, y))
        ratio = math.log(times[0] / times[1])
        if ratio >= 0:
            if before is None:
                return size
            return size * 2 ** (-ratio / (ratio - before))
        before = ratio
    return SIZES[-1]


def rounded(number: float) -> int:
    """A number of elements with two digits."""
    unit = 10 ** max(int(math.log10(number)) - 1, 0)
    return round(number / unit) * unit


def written(text: str, limits: dict[str, int]) -> str:
    """The module's text with other limits."""
    for name, limit in limits.items():
        text, count = re.subn(rf'("{name}": )[\d_]+,', rf"\g<1>{limit:_},", text)
        if count != 1:
            raise ValueError(f"tune: expected one limit {name!r} in {POLICY.name}; found {count}")
    return text


def main() -> None:
    """Measures all operations; writes the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    limits = {}
    for name, members in operations().items():
        found = {member: crossing(operation) for member, operation in members.items()}
        limits[name] = rounded(statistics.median(found.values()))
        details = ", ".join(f"{member} {rounded(n):_}" for member, n in found.items())
        sys.stdout.write(f"{name}: {limits[name]:_} ({details})\n")
        sys.stdout.flush()
    if not options.dry:
        POLICY.write_text(written(POLICY.read_text(), limits))


if __name__ == "__main__":
    main()
