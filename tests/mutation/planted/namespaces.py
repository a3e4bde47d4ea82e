"""Bugs in `weft.lax`, `weft.numpy`, `weft.random`."""

from planted.record import Mutant

RARE = "tests/numpy/test_rare_branches.py"
BORDERS = "tests/random/test_borders.py"

MUTANTS = (
    Mutant(
        "N01", "quantile 'nearest': halves up instead of to even", "numpy/quantiles.py",
        "low = high = arithmetic.round_(position, rounding_method=EVEN)",
        "low = high = arithmetic.floor(position + 0.5)",
        f"{RARE} -k quantiles",
    ),
    Mutant(
        "N02", "isclose relative to the first operand", "numpy/comparison.py",
        "magnitude = arithmetic.abs_(y)",
        "magnitude = arithmetic.abs_(x)",
        f"{RARE} -k isclose",
    ),
    Mutant(
        "N03", "isclose of infinities", "numpy/comparison.py",
        "result = selection.select_n(finite, comparison.eq(x, y), is_near)",
        "result = is_near",
        f"{RARE} -k isclose",
    ),
    Mutant(
        "N04", "linspace of integers rounds to zero", "numpy/ranges.py",
        "host = np.floor(host)",
        "host = np.trunc(host)",
        f"{RARE} -k linspace",
    ),
    Mutant(
        "N07", "frexp of subnormals", "numpy/floating_point.py",
        "    exponent = arithmetic.sub(exponent, shift)\n",
        "",
        f"{RARE} -k frexp",
    ),
    Mutant(
        "N09", "average: axes of weights in the order given", "numpy/statistics.py",
        "if order != list(range(len(axes))):",
        "if False:",
        f"{RARE} -k average",
    ),
    Mutant(
        "N12", "histogramdd: density counts the widths of the first axis", "numpy/histograms.py",
        "for k, edge in enumerate(edges):\n            widths",
        "for k, edge in enumerate(edges[:1]):\n            widths",
        f"{RARE} -k histogram",
    ),
    Mutant(
        "N14", "fmax: NaN in one operand", "numpy/extrema.py",
        "    takes_y = _greater(x, y) | comparison.ne(y, y)\n"
        "    return selection.select_n(takes_y, y, x)\n\n\ndef _fmin",
        "    takes_y = _greater(x, y)\n    return selection.select_n(takes_y, y, x)\n\n\ndef _fmin",
        f"{RARE} -k extremes",
    ),
    Mutant(
        "X03", "associative_scan: one axis for leaves of all ranks", "lax/associative_scan.py",
        "axes = [axis % x.ndim for x in values]",
        "axes = [axis % values[0].ndim for x in values]",
        "tests/lax/test_associative_scan.py",
    ),
    Mutant(
        "A01", "loggamma: sign of tiny samples' derivative", "random/gamma.py",
        "small_slope = -y / a",
        "small_slope = y / a",
        f"{BORDERS} -k gamma",
    ),
    Mutant(
        "A02", "truncated_normal: bounds come out", "random/normal.py",
        "return arithmetic.max_(smallest, arithmetic.min_(x, largest))",
        "return x",
        f"{BORDERS} -k bounds",
    ),
    Mutant(
        "A03", "poisson: another border between its methods", "random/poisson.py",
        "comparison.lt(lam, literal(10.0, lam.dtype))",
        "comparison.lt(lam, literal(12.0, lam.dtype))",
        f"{BORDERS} -k poisson",
    ),
)  # fmt: skip
