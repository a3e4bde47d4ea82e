"""Bugs in first-order primitives, and in the text that is written for them."""

from planted.record import Mutant

EDGES = "tests/primitives/test_large_and_edges.py"

MUTANTS = (
    Mutant(
        "P03", "a long sum drops the rest after whole rows", "primitives/single_thread_blas.py",
        "        return total + elements[row_multiple:].dot(ones_of_remainder)\n",
        "        return total\n",
        f"{EDGES} -k long_array",
    ),
    Mutant(
        "P05", "cumulative loop: axes not brought back (3-D, large)", "primitives/cumulative.py",
        "inverse_order = tuple(sorted(range(len(order)), key=lambda i: order[i]))",
        "inverse_order = order",
        f"{EDGES} -k running",
    ),
    Mutant(
        "P10", "betainc at a = x = 0", "primitives/incomplete_gamma_beta.py",
        "    value = m.where((a == 0) & (x == 0), 0.0, m.where((b == 0) & (x == 1), 1.0, value))\n",
        "",
        f"{EDGES} -k betainc",
    ),
    Mutant(
        "P11", "igamma(inf, x)", "primitives/incomplete_gamma_beta.py",
        "out = m.where((x == 0) | (a == math.inf), at_zero, out)\n        # if a",
        "out = m.where(x == 0, at_zero, out)\n        # if a",
        f"{EDGES} -k incomplete_gamma",
    ),
    Mutant(
        "P16", "stable sort: the order of -0 and 0", "primitives/sorting.py",
        'if is_stable and x.dtype.kind == "f":',
        'if is_stable and x.dtype.kind == "c":',
        f"{EDGES} -k stable_sort",
    ),
    Mutant(
        "C71", "log1p: beyond half of the largest number", "primitives/formulas.py",
        '(shift + (bias << mantissa_bits))._with("maximum", 0)',
        "(shift + (bias << mantissa_bits))",
        "tests/primitives/test_large_and_edges.py -k log1p",
    ),
    Mutant(
        "C72", "pivots of lu on the host: an exchange loses a row", "primitives/linalg/lu.py",
        "            rows[i], rows[j] = rows[j], rows[i]\n        order[index]",
        "            rows[i] = rows[j]\n        order[index]",
        "tests/primitives/linalg tests/lax/linalg -k lu",
    ),
    Mutant(
        "C73", "complex reciprocal: infinite numbers", "primitives/complex_lowering.py",
        "math.inf - m.minimum(*magnitudes)",
        "math.inf",
        "tests/numpy/test_complex_infinities.py",
    ),
    Mutant(
        "C05", "the constants 0.0 and -0.0 are one", "stablehlo/block.py",
        "key = (repr(value), aval)",
        "key = (value, aval)",
        "tests/stablehlo/test_constants.py",
    ),
    Mutant(
        "C06", "an array of 0.0 and -0.0 is taken for one number", "stablehlo/attributes.py",
        "(flat.view(np.uint8) == np.resize(flat[:1].view(np.uint8), flat.nbytes)).all()",
        "bool((flat == flat[0]).all())",
        "tests/stablehlo/test_constants.py",
    ),
)  # fmt: skip
