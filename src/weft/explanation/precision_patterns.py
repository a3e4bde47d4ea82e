"""The known patterns that lose digits, each with a rewriting: `np.exp(x) - 1` is `np.expm1(x)`."""

import ast

from .nan_patterns import Pattern
from .nan_rewritings import (
    Fault,
    exponential,
    in_single_precision,
    sigmoid_argument,
    softplus,
    squared,
    variance_by_difference,
)

BINARY = ast.BinOp


def difference(fault: Fault, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """a and b in `a - b`; None for other expressions, such as a variable assigned `a - b`."""
    return fault.code.operands(node, ast.Sub) if isinstance(node, BINARY) else None


def expm1(fault: Fault, node: ast.expr) -> str:
    """`np.exp(x) - 1` and `1 - np.exp(x)`."""
    code = fault.code
    if (parts := difference(fault, node)) is None:
        return ""
    for sign, one, other in (("", parts[1], parts[0]), ("-", parts[0], parts[1])):
        if code.number(one) == 1 and (x := exponential(fault, other)) is not None:
            return f"{sign}{fault.np}.expm1({code.source(x)})"
    return ""


def log1p(fault: Fault, node: ast.expr) -> str:
    """`np.log(1 + x)` and `np.log(1 - x)`."""
    code = fault.code
    args = code.call(node, "log") if isinstance(node, ast.Call) else None
    if not args:
        return ""
    parts = code.operands(args[0], ast.Add)
    for one, x in (parts, parts[::-1]) if parts else ():
        if code.number(one) == 1:
            return f"{fault.np}.log1p({code.source(x)})"
    parts = code.operands(args[0], ast.Sub)
    if parts and code.number(parts[0]) == 1:
        return f"{fault.np}.log1p({code.negated(parts[1])})"
    if parts and code.number(parts[1]) == 1:
        return f"{fault.np}.log1p({code.atom(parts[0])} - 2)"
    return ""


def one_minus_cosine(fault: Fault, node: ast.expr) -> str:
    code = fault.code
    parts = difference(fault, node)
    args = code.call(parts[1], "cos") if parts and code.number(parts[0]) == 1 else None
    return f"2 * {fault.np}.sin({code.atom(args[0])} / 2) ** 2" if args else ""


def one_minus_sigmoid(fault: Fault, node: ast.expr) -> str:
    if (parts := difference(fault, node)) is None or fault.code.number(parts[0]) != 1:
        return ""
    x = sigmoid_argument(fault, parts[1], -1)
    return f"{fault.nn}.sigmoid({x})" if x else ""


def one_minus_tanh(fault: Fault, node: ast.expr) -> str:
    """`1 - np.tanh(x)` and `1 - np.tanh(x) ** 2`."""
    code = fault.code
    parts = difference(fault, node)
    if parts is None or code.number(parts[0]) != 1:
        return ""
    if args := code.call(parts[1], "tanh"):
        return f"2 * {fault.nn}.sigmoid(-2 * {code.atom(args[0])})"
    inner = squared(fault, parts[1])
    args = code.call(inner, "tanh") if inner is not None else None
    return f"1 / {fault.np}.cosh({code.source(args[0])}) ** 2" if args else ""


def one_minus_erf(fault: Fault, node: ast.expr) -> str:
    code = fault.code
    parts = difference(fault, node)
    args = code.call(parts[1], "erf") if parts and code.number(parts[0]) == 1 else None
    return f"{code.alias('scipy.special')}.erfc({code.source(args[0])})" if args else ""


def roots(fault: Fault, node: ast.expr) -> str:
    """`np.sqrt(a) - np.sqrt(b)`."""
    code = fault.code
    parts = difference(fault, node)
    pair = [code.call(side, "sqrt") for side in parts or ()]
    if not parts or not all(pair):
        return ""
    a, b = (code.atom(args[0]) for args in pair if args)
    np_ = fault.np
    return f"({a} - {b}) / ({np_}.sqrt({strip(a)}) + {np_}.sqrt({strip(b)}))"


def strip(text: str) -> str:
    """A text without the parentheses around it."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def squares(fault: Fault, node: ast.expr) -> str:
    """`a ** 2 - b ** 2`."""
    parts = difference(fault, node)
    sides = [squared(fault, side) for side in parts or ()]
    if not parts or any(side is None for side in sides):
        return ""
    a, b = (fault.code.atom(side) for side in sides if side is not None)
    return f"({a} - {b}) * ({a} + {b})"


def logarithms(fault: Fault, node: ast.expr) -> str:
    """`np.log(a) - np.log(b)`."""
    parts = difference(fault, node)
    pair = [fault.code.call(side, "log") for side in parts or ()]
    if not parts or not all(pair):
        return ""
    a, b = (fault.code.atom(args[0]) for args in pair if args)
    return f"{fault.np}.log1p(({a} - {b}) / {b})"


def reciprocals(fault: Fault, node: ast.expr) -> str:
    """`1 / a - 1 / b`."""
    code = fault.code
    parts = difference(fault, node)
    pair = [code.operands(side, ast.Div) for side in parts or ()]
    if not parts or not all(p and code.number(p[0]) == 1 for p in pair):
        return ""
    a, b = (code.atom(p[1]) for p in pair if p)
    return f"({b} - {a}) / ({a} * {b})"


def hyperbolic_sine(fault: Fault, node: ast.expr) -> str:
    """`(np.exp(x) - np.exp(-x)) / 2`."""
    code = fault.code
    parts = code.operands(node, ast.Div) if isinstance(node, BINARY) else None
    inner = code.operands(parts[0], ast.Sub) if parts and code.number(parts[1]) == 2 else None
    pair = [exponential(fault, side) for side in inner or ()]
    if len(pair) != 2 or pair[0] is None or pair[1] is None:
        return ""
    same = code.negated(pair[0]) == code.source(pair[1])
    return f"{fault.np}.sinh({code.source(pair[0])})" if same else ""


def hypot(fault: Fault, node: ast.expr) -> str:
    """`np.sqrt(x ** 2 + y ** 2)`."""
    code = fault.code
    args = code.call(node, "sqrt") if isinstance(node, ast.Call) else None
    parts = code.operands(args[0], ast.Add) if args else None
    sides = [side if code.number(side) == 1 else squared(fault, side) for side in parts or ()]
    if not parts or any(side is None for side in sides):
        return ""
    x, y = (code.source(side) for side in sides if side is not None)
    return f"{fault.np}.hypot({x}, {y})"


SUB = frozenset({"sub", "add"})
LOG = frozenset({"log"})
CANCELS = "subtracts nearly equal numbers"

PRECISION_PATTERNS: tuple[Pattern, ...] = (
    Pattern("exp(x) - 1", SUB, expm1, CANCELS, "np.expm1(x)"),
    Pattern(
        "log(1 + exp(x))", LOG, softplus, "1 + exp(x) loses a small exponential", "nn.softplus"
    ),
    Pattern("log(1 + x)", LOG, log1p, "1 + x loses the digits of a small x", "np.log1p(x)"),
    Pattern("1 - cos(x)", SUB, one_minus_cosine, CANCELS, "2 · sin(x / 2)²"),
    Pattern("1 - sigmoid(x)", SUB, one_minus_sigmoid, CANCELS, "nn.sigmoid(-x)"),
    Pattern("1 - tanh(x)", SUB, one_minus_tanh, CANCELS, "the sigmoid, or 1 / cosh²"),
    Pattern("1 - erf(x)", SUB, one_minus_erf, CANCELS, "erfc(x)"),
    Pattern("E[x²] - E[x]²", SUB, variance_by_difference, CANCELS, "np.var", reach="sources"),
    Pattern("difference of roots", SUB, roots, CANCELS, "(a - b) / (√a + √b)"),
    Pattern("difference of squares", SUB, squares, CANCELS, "(a - b) · (a + b)"),
    Pattern("difference of logarithms", SUB, logarithms, CANCELS, "log1p((a - b) / b)"),
    Pattern("difference of reciprocals", SUB, reciprocals, CANCELS, "(b - a) / (a · b)"),
    Pattern("sinh by hand", SUB, hyperbolic_sine, CANCELS, "np.sinh(x)"),
    Pattern(
        "root of a sum of squares",
        frozenset({"mul", "square", "integer_pow", "pow"}),
        hypot,
        "the square of a large or small number is out of range",
        "np.hypot(x, y)",
        reach="uses",
    ),
    Pattern(
        "sum in 16 bits",
        frozenset({"reduce_sum", "dot_general", "mul", "square"}),
        in_single_precision,
        "16 bits are too few",
        "compute sums and products in float32",
        lambda fault: fault.dtype in ("float16", "bfloat16"),
    ),
)
