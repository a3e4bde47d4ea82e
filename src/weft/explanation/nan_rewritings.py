"""Rewritings of the expressions that make a NaN or an infinity, for `nan_patterns.py`.

A rewriting gets a `Fault` and an expression of the user's program. It returns the new text of the
expression, or an empty text if the expression does not have the pattern.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.optimized import Line
from .user_code import UserCode, expressions, function_name


@dataclass(eq=False)
class Fault:
    """An operation with a bad result, and the user's statement that applied it.

    Attributes:
      operation: the operation of the user's line; `primitive`: that operation, or the operation of
        its derivative that had the bad result.
      node: the expression of the statement that applied it.
      inputs, output: NumPy arrays; `dtype`: the name of the result's dtype, which may be bfloat16.
    """

    line: Line
    operation: str
    primitive: str
    backward: bool
    inputs: Sequence[Any]
    output: Any
    dtype: str
    code: UserCode
    statement: ast.stmt | None
    node: ast.expr | None

    def statements(self, reach: str) -> list[ast.stmt]:
        """The statement of the line; "uses" adds the statements that use its result, "sources"
        those that made its inputs."""
        if self.statement is None:
            return []
        if reach == "uses":
            return [self.statement, *self.code.uses(self.statement)]
        return self.code.sources(self.statement) if reach == "sources" else [self.statement]

    @property
    def np(self) -> str:
        """The name of `weft.numpy` in the user's file."""
        return self.code.alias("numpy")

    @property
    def nn(self) -> str:
        """The name of `weft.nn` in the user's file."""
        return self.code.alias("nn")

    @property
    def is_half(self) -> bool:
        """True if the result is in float16, whose largest number is 65504."""
        return self.dtype == "float16"

    @property
    def is_derivative(self) -> bool:
        """True if the bad result belongs to the operation's derivative, not to the operation."""
        return self.backward or self.primitive != self.operation

    @property
    def tiny(self) -> str:
        """A small number whose square root has a finite derivative."""
        return "1e-7" if self.is_half else "1e-30"

    def input(self, i: int) -> Any:
        """The elements of an input; none if there is no such input."""
        return np.asarray(self.inputs[i] if i < len(self.inputs) else [])


# --- logarithms and exponentials ---


def exponential(fault: Fault, node: ast.expr) -> ast.expr | None:
    """x in `np.exp(x)`."""
    args = fault.code.call(node, "exp")
    return args[0] if args else None


def sum_of_exponentials(fault: Fault, node: ast.expr) -> tuple[ast.expr, str] | None:
    """x and the options in `np.sum(np.exp(x), axis=0)`."""
    total = fault.code.reduction(node, "sum")
    x = exponential(fault, total.operand) if total else None
    return (x, total.options) if x is not None and total else None


def softmax_parts(fault: Fault, node: ast.expr) -> tuple[str, str] | None:
    """x and the axis in `nn.softmax(x, axis)`, or in `np.exp(x) / np.sum(np.exp(x), axis)`."""
    code = fault.code
    if call := code.reduction(node, "softmax"):
        return code.source(call.operand), call.options
    if (parts := code.operands(node, ast.Div)) is None:
        return None
    divisor = code.see(parts[1])
    divisor = divisor.value if isinstance(divisor, ast.Subscript) else divisor  # [:, None]
    above, below = exponential(fault, parts[0]), sum_of_exponentials(fault, divisor)
    if above is None or below is None or not code.equal(above, below[0]):
        return None
    axis = below[1].replace(", keepdims=True", "")
    return code.source(above), axis or ", axis=None"


def sigmoid_argument(fault: Fault, node: ast.expr, sign: int = 1) -> str:
    """x in `nn.sigmoid(x)` and `1 / (1 + np.exp(-x))`; `-x` for 1 minus one of them, and for a
    negative sign."""
    code = fault.code
    if args := code.call(node, "sigmoid", "expit", "logistic"):
        return code.source(args[0]) if sign > 0 else code.negated(args[0])
    parts = code.operands(node, ast.Div)
    if parts and code.number(parts[0]) == 1 and (x := one_plus_exp(fault, parts[1])):
        return code.negated(x) if sign > 0 else code.source(x)
    parts = code.operands(node, ast.Sub)
    if parts and code.number(parts[0]) == 1:
        return sigmoid_argument(fault, parts[1], -sign)
    return ""


def one_plus_exp(fault: Fault, node: ast.expr) -> ast.expr | None:
    """x in `1 + np.exp(x)`."""
    parts = fault.code.operands(node, ast.Add)
    for one, other in (parts, parts[::-1]) if parts else ():
        if fault.code.number(one) == 1:
            return exponential(fault, other)
    return None


def log_softmax(fault: Fault, node: ast.expr) -> str:
    args = fault.code.call(node, "log")
    parts = softmax_parts(fault, args[0]) if args else None
    return f"{fault.nn}.log_softmax({parts[0]}{parts[1]})" if parts else ""


def log_sigmoid(fault: Fault, node: ast.expr) -> str:
    args = fault.code.call(node, "log")
    x = sigmoid_argument(fault, args[0]) if args else ""
    return f"{fault.nn}.log_sigmoid({x})" if x else ""


def logsumexp(fault: Fault, node: ast.expr) -> str:
    args = fault.code.call(node, "log")
    if not args:
        return ""
    if parts := sum_of_exponentials(fault, args[0]):
        return f"{fault.nn}.logsumexp({fault.code.source(parts[0])}{parts[1]})"
    sides = [exponential(fault, side) for side in fault.code.operands(args[0], ast.Add) or ()]
    if len(sides) == 2 and all(x is not None for x in sides):
        a, b = (fault.code.source(x) for x in sides if x is not None)
        return f"{fault.np}.logaddexp({a}, {b})"
    return ""


def softplus(fault: Fault, node: ast.expr) -> str:
    x = None
    if args := fault.code.call(node, "log"):
        x = one_plus_exp(fault, args[0])
    elif args := fault.code.call(node, "log1p"):
        x = exponential(fault, args[0])
    return f"{fault.nn}.softplus({fault.code.source(x)})" if x is not None else ""


def softmax(fault: Fault, node: ast.expr) -> str:
    parts = softmax_parts(fault, node) if isinstance(node, ast.BinOp) else None
    return f"{fault.nn}.softmax({parts[0]}{parts[1]})" if parts else ""


def sigmoid(fault: Fault, node: ast.expr) -> str:
    x = sigmoid_argument(fault, node) if isinstance(node, ast.BinOp) else ""
    return f"{fault.nn}.sigmoid({x})" if x else ""


def tanh(fault: Fault, node: ast.expr) -> str:
    """`(np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))`."""
    code = fault.code
    parts = code.operands(node, ast.Div) if isinstance(node, ast.BinOp) else None
    above = code.operands(parts[0], ast.Sub) if parts else None
    below = code.operands(parts[1], ast.Add) if parts else None
    if not above or not below:
        return ""
    x, y, *others = (exponential(fault, side) for side in (*above, *below))
    if x is None or y is None or any(other is None for other in others):
        return ""
    is_tanh = code.negated(x) == code.source(y) or code.negated(y) == code.source(x)
    return f"{fault.np}.tanh({code.source(x)})" if is_tanh else ""


def x_log_y(fault: Fault, node: ast.expr) -> str:
    code = fault.code
    parts = code.operands(node, ast.Mult) if isinstance(node, ast.BinOp) else None
    for x, other in (parts, parts[::-1]) if parts else ():
        for function, base in (("log", ""), ("log2", "2.0"), ("log10", "10.0")):
            if (args := code.call(other, function)) and code.number(x) is None:
                arguments = f"{code.source(x)}, {code.source(args[0])}"
                scale = f" / {fault.np}.log({base})" if base else ""
                return f"{code.alias('scipy.special')}.xlogy({arguments}){scale}"
    return ""


def log_of_exp(fault: Fault, node: ast.expr) -> str:
    args = fault.code.call(node, "log")
    x = exponential(fault, args[0]) if args else None
    return fault.code.atom(x) if x is not None else ""


def log_of_product(fault: Fault, node: ast.expr) -> str:
    args = fault.code.call(node, "log")
    product = fault.code.reduction(args[0], "prod") if args else None
    if product is None:
        return ""
    x = fault.code.source(product.operand)
    return f"{fault.np}.sum({fault.np}.log({x}){product.options})"


# --- operations with a singular point ---

SINGULAR: dict[str, tuple[tuple[str, ...], str]] = {
    "sqrt": (("sqrt",), "1.0"),
    "rsqrt": (("rsqrt",), "1.0"),
    "cbrt": (("cbrt",), "1.0"),
    "log": (("log", "log2", "log10"), "1.0"),
    "log1p": (("log1p",), "1.0"),
    "exp": (("exp",), "0.0"),
    "acos": (("arccos", "acos"), "0.0"),
    "asin": (("arcsin", "asin"), "0.0"),
    "atanh": (("arctanh", "atanh"), "0.0"),
    "acosh": (("arccosh", "acosh"), "2.0"),
    "tan": (("tan",), "0.0"),
}
"""For each operation, the public functions that apply it, and an argument where it is finite."""


def singular_argument(fault: Fault, node: ast.expr) -> tuple[ast.expr, str] | None:
    """The argument of the operation in an expression that applies it, and a safe value for it."""
    functions, safe = SINGULAR.get(fault.operation, ((), "1.0"))
    if isinstance(node, ast.Call) and node.args and function_name(node) in functions:
        return node.args[0], safe
    operator = node.op if isinstance(node, ast.BinOp) else None
    if isinstance(operator, ast.Div) and fault.operation == "div":
        return node.right, safe  # type: ignore[attr-defined]
    if isinstance(operator, ast.Pow) and fault.operation in ("pow", "integer_pow", "sqrt", "div"):
        return node.left, safe  # type: ignore[attr-defined]
    return None


def replaced(fault: Fault, node: ast.expr, part: ast.expr, new: str) -> str:
    """The text of an expression, with new text for a part of it."""
    return fault.code.with_parts(node, [(part, new)])


def where_around(fault: Fault, node: ast.expr) -> str:
    """An operation in a branch of `np.where`; it gets a safe argument where the other branch is
    selected."""
    code = fault.code
    if (parts := singular_argument(fault, node)) is None:
        return ""
    argument, safe = parts
    here = code.owner[node]
    for statement in (here, *code.uses(here)):
        for call in expressions(statement):
            if not (isinstance(call, ast.Call) and function_name(call) == "where"):
                continue
            if len(call.args) != 3:
                continue
            condition = call.args[0]
            condition = condition if code.is_same(condition, here) else code.see(condition)
            if not code.is_same(condition, here):
                continue
            x, test = code.source(argument), code.source(condition)
            if code.contains(call.args[1], node):
                return replaced(fault, node, argument, f"{fault.np}.where({test}, {x}, {safe})")
            if code.contains(call.args[2], node):
                return replaced(fault, node, argument, f"{fault.np}.where({test}, {safe}, {x})")
    return ""


def root_at_zero(fault: Fault, node: ast.expr) -> str:
    code, np_, tiny = fault.code, fault.np, fault.tiny
    if isinstance(node, ast.Call) and (std := code.reduction(node, "std")):
        var = f"{np_}.var({code.source(std.operand)}{std.options})"
        return f"{np_}.sqrt({np_}.maximum({var}, {tiny}))"
    if isinstance(node, ast.Call) and function_name(node) == "norm" and len(node.args) == 1:
        x = code.atom(node.args[0])
        options = "".join(f", {k.arg}={code.source(k.value)}" for k in node.keywords)
        return f"{np_}.sqrt({np_}.maximum({np_}.sum({x} ** 2{options}), {tiny}))"
    if isinstance(node, ast.Call) and function_name(node) in ("sqrt", "rsqrt") and node.args:
        x = code.source(node.args[0])
        if function_name(node) == "rsqrt":  # its derivative is a larger power
            tiny = "1e-3" if fault.is_half else "1e-12"
        return replaced(fault, node, node.args[0], f"{np_}.maximum({x}, {tiny})")
    return ""


def variance_by_difference(fault: Fault, node: ast.expr) -> str:
    """`np.mean(x ** 2) - np.mean(x) ** 2`."""
    code = fault.code
    parts = code.operands(node, ast.Sub) if isinstance(node, ast.BinOp) else None
    first = code.reduction(parts[0], "mean") if parts else None
    x = squared(fault, first.operand) if first else None
    mean = squared(fault, parts[1]) if parts else None
    second = code.reduction(mean, "mean") if mean is not None else None
    if first is None or second is None or x is None or not code.equal(x, second.operand):
        return ""
    return f"{fault.np}.var({code.source(x)}{first.options})"


def squared(fault: Fault, node: ast.expr) -> ast.expr | None:
    """x in `x ** 2`, `x * x`, and `np.square(x)`."""
    code = fault.code
    if (power := code.operands(node, ast.Pow)) and code.number(power[1]) == 2:
        return power[0]  # type: ignore[no-any-return]
    if (product := code.operands(node, ast.Mult)) and code.equal(*product):
        return product[0]  # type: ignore[no-any-return]
    args = code.call(node, "square")
    return args[0] if args else None


def power_of_zero(fault: Fault, node: ast.expr) -> str:
    parts = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        parts = node.left
    elif isinstance(node, ast.Call) and function_name(node) in ("power", "pow", "float_power"):
        parts = node.args[0] if node.args else None
    if parts is None:
        return ""
    exponent = node.right if isinstance(node, ast.BinOp) else None
    if fault.operation == "div" and (exponent is None or (fault.code.number(exponent) or 0) >= 0):
        return ""
    base, tiny = fault.code.source(parts), fault.tiny
    if (fault.input(0) < 0).any() and not np.isnan(fault.output).any():  # keeps their sign
        return replaced(fault, node, parts, f"{fault.np}.where({base} == 0, {tiny}, {base})")
    return replaced(fault, node, parts, f"{fault.np}.maximum({base}, {tiny})")


def clipped(fault: Fault, node: ast.expr) -> str:
    parts = singular_argument(fault, node)
    if parts is None or not isinstance(node, ast.Call):
        return ""
    edge = "1e-3" if fault.is_half else "1e-6"
    x = fault.code.source(parts[0])
    new = f"{fault.np}.clip({x}, -1 + {edge}, 1 - {edge})"
    if fault.operation == "acosh":
        new = f"{fault.np}.maximum({x}, 1 + {edge})"
    return replaced(fault, node, parts[0], new)


def angle_at_zero(fault: Fault, node: ast.expr) -> str:
    """`np.arctan2(y, x)`, whose derivative at the origin is 0 / 0."""
    if not isinstance(node, ast.Call) or not (args := fault.code.call(node, "arctan2", "atan2")):
        return ""
    y, x = (fault.code.compared(arg) for arg in args[:2])
    safe = f"{fault.np}.where(({x} == 0) & ({y} == 0), 1.0, {x})"
    return replaced(fault, node, node.args[1], safe)


def singular_matrix(fault: Fault, node: ast.expr) -> str:
    """`np.linalg.inv(a)`, and `np.linalg.cholesky(a)`."""
    name = function_name(node) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return ""
    a = fault.code.source(node.args[0])
    if name == "inv" and "inverse" in fault.operation:
        return f"{fault.np}.linalg.pinv({a})"
    if name == "cholesky" and fault.operation == "cholesky":
        identity = f"{fault.np}.eye({fault.code.atom(node.args[0])}.shape[-1])"
        return replaced(fault, node, node.args[0], f"{a} + 1e-6 * {identity}")
    return ""


def log_of_complement(fault: Fault, node: ast.expr) -> str:
    """`np.log(1 - p)`, for a p that may be 1."""
    code = fault.code
    args = code.call(node, "log") if isinstance(node, ast.Call) else None
    parts = code.operands(args[0], ast.Sub) if args else None
    if not parts or code.number(parts[0]) != 1:
        return ""
    edge = "1e-3" if fault.is_half else "1e-7"
    return f"{fault.np}.log1p(-{fault.np}.minimum({code.source(parts[1])}, 1 - {edge}))"


def log_of_zero(fault: Fault, node: ast.expr) -> str:
    parts = singular_argument(fault, node)
    if parts is None or not isinstance(node, ast.Call):
        return ""
    least = "-1 + 1e-6" if fault.operation == "log1p" else fault.tiny
    new = f"{fault.np}.maximum({fault.code.source(parts[0])}, {least})"
    return replaced(fault, node, parts[0], new)


def division_by_zero(fault: Fault, node: ast.expr) -> str:
    code = fault.code
    divisor: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        divisor = node.right
    elif isinstance(node, ast.Call) and function_name(node) in ("divide", "true_divide"):
        divisor = node.args[-1] if len(node.args) == 2 else None
    elif isinstance(node, ast.Call) and function_name(node) == "reciprocal":
        divisor = node.args[0] if node.args else None
    if divisor is None or code.number(divisor) is not None:
        return ""
    root = root_at_zero(fault, code.see(divisor))
    if root and code.is_same(code.see(divisor), code.owner[node]):
        return replaced(fault, node, divisor, root)
    x = code.source(divisor)
    return replaced(
        fault, node, divisor, f"{fault.np}.where({code.compared(divisor)} == 0, 1.0, {x})"
    )


# --- infinities ---


def masked_by_infinity(fault: Fault, node: ast.expr) -> str:
    """`-np.inf` in place of masked numbers."""
    text = finite_in_place(fault, node)
    return text if text.startswith("-") else ""


def finite_in_place(fault: Fault, node: ast.expr) -> str:
    """A large number in place of `np.inf`, `-np.inf` or `float("inf")`; empty for others."""
    finite = "6e4" if fault.is_half else "1e9"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = finite_in_place(fault, node.operand)
        return f"-{inner}" if inner and not inner.startswith("-") else ""
    if isinstance(node, ast.Attribute | ast.Name):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        return finite if name in ("inf", "infty") else ""
    return {"inf": finite, "-inf": f"-{finite}"}.get(float_text(node), "")


def float_text(node: ast.expr) -> str:
    """The argument of `float("inf")`: "inf"; empty for other expressions."""
    if isinstance(node, ast.Call) and function_name(node) == "float" and node.args:
        value = getattr(node.args[0], "value", "")
        return value if isinstance(value, str) else ""
    return ""


def zero_times_infinity(fault: Fault, node: ast.expr) -> str:
    code = fault.code
    parts = code.operands(node, ast.Mult) if isinstance(node, ast.BinOp) else None
    if not parts:
        return ""
    for part in parts:
        if finite := finite_in_place(fault, part):
            return replaced(fault, node, part, finite)
    factor = parts[zero_times_infinity_sides(fault)[0]]
    return f"{fault.np}.where({code.compared(factor)} != 0, {code.source(node)}, 0.0)"


SQUARES = ("square", "integer_pow", "pow", "mul")
"""The operations that compute `x ** 2`."""


def in_single_precision(fault: Fault, node: ast.expr) -> str:
    """An operation on 16-bit numbers with too large or inexact a result; its operands become
    float32."""
    code, operands = fault.code, list[ast.expr]()
    name = function_name(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.BinOp):
        products = isinstance(node.op, ast.Mult) and fault.operation == "mul"
        products = products or (isinstance(node.op, ast.MatMult) and "dot" in fault.operation)
        if products:
            operands = [node.left, node.right]
        elif isinstance(node.op, ast.Pow) and fault.operation in SQUARES:
            operands = [node.left]
        elif isinstance(node.op, ast.Add) and fault.operation == "add":
            operands = [node.left, node.right]
    elif name == "square" and fault.operation in SQUARES:
        operands = node.args[:1]  # type: ignore[attr-defined]
    elif name in ("dot", "matmul", "vdot", "inner") and "dot" in fault.operation:
        operands = node.args[:2]  # type: ignore[attr-defined]
    elif isinstance(node, ast.Call) and fault.operation in ("reduce_sum", "convert_element_type"):
        total = code.reduction(node, "sum", "mean", "prod")
        operands = [total.operand] if total else []
    elif name == "norm" and fault.operation in (*SQUARES, "reduce_sum"):
        operands = node.args[:1]  # type: ignore[attr-defined]
    operands = [x for x in operands if code.number(x) is None]
    changes = [(x, f"{code.atom(x)}.astype({fault.np}.float32)") for x in operands]
    return code.with_parts(node, changes) if changes else ""


def exponential_in_range(fault: Fault, node: ast.expr) -> str:
    x = exponential(fault, node) if isinstance(node, ast.Call) else None
    largest = {"float16": "11.0", "float64": "700.0"}.get(fault.dtype, "80.0")
    return f"{fault.np}.exp({fault.np}.minimum({fault.code.source(x)}, {largest}))" if x else ""


def zero_times_infinity_sides(fault: Fault) -> list[int]:
    """The inputs of a product, 0 or 1, that are 0 where the other one is infinite."""
    a, b = fault.input(0), fault.input(1)
    return [i for i, (x, y) in enumerate(((a, b), (b, a))) if ((x == 0) & np.isinf(y)).any()]


def has_zero_times_infinity(fault: Fault) -> bool:
    return bool(zero_times_infinity_sides(fault))


def overflows(fault: Fault) -> bool:
    return all(bool(np.isfinite(x).all()) for x in fault.inputs)
