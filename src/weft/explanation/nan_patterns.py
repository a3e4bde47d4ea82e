"""The known patterns that make a NaN or an infinity, each with a rewriting of the user's line.

`PATTERNS` lists them with the operations for which they are tried; the first match is used.
"""

import ast
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .findings import Finding
from .nan_rewritings import (
    SINGULAR,
    Fault,
    angle_at_zero,
    clipped,
    division_by_zero,
    exponential_in_range,
    has_zero_times_infinity,
    in_single_precision,
    log_of_complement,
    log_of_exp,
    log_of_product,
    log_of_zero,
    log_sigmoid,
    log_softmax,
    logsumexp,
    masked_by_infinity,
    overflows,
    power_of_zero,
    root_at_zero,
    sigmoid,
    singular_matrix,
    softmax,
    softplus,
    tanh,
    variance_by_difference,
    where_around,
    x_log_y,
    zero_times_infinity,
)

Rewriting = Callable[[Fault, ast.expr], str]


class Pattern(NamedTuple):
    """A known pattern.

    Attributes:
      operations: the operations that fail, or whose derivatives fail, because of the pattern.
      holds: a further condition on the fault.
      reach: the statements to search besides the one at the line: "uses" or "sources"; see
        `Fault.statements`.
    """

    kind: str
    operations: frozenset[str]
    rewriting: Rewriting
    message: str
    advice: str
    holds: Callable[[Fault], bool] = lambda fault: True
    reach: str = ""


EXPONENTIALS = frozenset(
    {"exp", "log", "log1p", "div", "reduce_sum", "logistic", "softmax", "sub", "add"}
)
ROOTS = frozenset({"sqrt", "rsqrt", "reduce_sum"})
SINGULARITIES = frozenset({*SINGULAR, "div", "pow", "integer_pow"})

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "log of softmax",
        EXPONENTIALS,
        log_softmax,
        "small probabilities become 0, and the logarithm of 0 is infinite",
        "compute the logarithm in one function, which never forms the probabilities",
        reach="uses",
    ),
    Pattern(
        "log of sigmoid",
        EXPONENTIALS,
        log_sigmoid,
        "the sigmoid of a large negative number is 0, and the logarithm of 0 is infinite",
        "nn.log_sigmoid; the logarithm of 1 - sigmoid(x) is log_sigmoid(-x)",
        reach="uses",
    ),
    Pattern(
        "log of a sum of exponentials",
        EXPONENTIALS,
        logsumexp,
        "the exponential of a large number is infinite; if all are very negative, their sum is 0",
        "nn.logsumexp, which subtracts the largest number first",
        reach="uses",
    ),
    Pattern(
        "log of 1 + exp",
        EXPONENTIALS,
        softplus,
        "the exponential of a large number is infinite",
        "nn.softplus",
        reach="uses",
    ),
    Pattern(
        "log of exp",
        EXPONENTIALS,
        log_of_exp,
        "the exponential is 0 or infinite before the logarithm undoes it",
        "use the exponent itself",
        reach="uses",
    ),
    Pattern(
        "log of a product",
        EXPONENTIALS | {"reduce_prod"},
        log_of_product,
        "a product of many numbers becomes 0 or infinite",
        "add logarithms",
        reach="uses",
    ),
    Pattern(
        "softmax by hand",
        EXPONENTIALS,
        softmax,
        "the exponential of a large number is infinite; if all are very negative, their sum is 0",
        "nn.softmax, which subtracts the largest number first",
        reach="uses",
    ),
    Pattern(
        "sigmoid by hand",
        EXPONENTIALS | {"mul", "neg", "integer_pow"},
        sigmoid,
        "the exponential of a large number is infinite, and so is its derivative",
        "nn.sigmoid",
        reach="uses",
    ),
    Pattern(
        "tanh by hand",
        EXPONENTIALS,
        tanh,
        "both exponentials are infinite for a large number: inf / inf",
        "np.tanh",
        reach="uses",
    ),
    Pattern(
        "where over a singular operation",
        SINGULARITIES,
        where_around,
        "np.where selects the other branch, but the derivative of this one is infinite there, and "
        "0 · inf is NaN",
        "give the operation a safe argument where the other branch is selected",
        lambda fault: fault.is_derivative,
    ),
    Pattern(
        "x · log(y) at 0",
        frozenset({"mul"}),
        x_log_y,
        "0 times the logarithm of 0 is 0 · -inf",
        "xlogy(x, y), which is 0 where x is 0",
        has_zero_times_infinity,
    ),
    Pattern(
        "variance as a difference",
        frozenset({"sqrt", "rsqrt", "log", "div", "sub", "pow"}),
        variance_by_difference,
        "E[x²] - E[x]² loses all digits where the variance is small, and can become negative",
        "np.var, which subtracts the mean first",
        reach="sources",
    ),
    Pattern(
        "root of a negative number",
        ROOTS,
        root_at_zero,
        "the root of a negative number is NaN",
        "keep the argument of the root positive",
        lambda fault: not fault.is_derivative and bool((fault.input(0) < 0).any()),
    ),
    Pattern(
        "root at 0",
        ROOTS,
        root_at_zero,
        "the derivative of a root at 0 is infinite: of a norm of zeros, of the deviation of equal "
        "numbers",
        "keep the argument of the root away from 0",
        lambda fault: fault.is_derivative or bool((fault.input(0) == 0).any()),
    ),
    Pattern(
        "power of 0",
        frozenset({"pow", "integer_pow", "div"}),
        power_of_zero,
        "the power, or its derivative, is not finite at 0, and a power of a negative number is NaN",
        "keep the base positive",
    ),
    Pattern(
        "inverse function at the edge",
        frozenset({"acos", "asin", "atanh", "acosh"}),
        clipped,
        "the function is NaN outside of its interval, and its derivative is infinite at the edge",
        "keep the argument inside the interval",
    ),
    Pattern(
        "angle of (0, 0)",
        frozenset({"atan2"}),
        angle_at_zero,
        "the derivative of the angle at the origin is 0 / 0",
        "choose another point there: the angle stays 0",
    ),
    Pattern(
        "singular matrix",
        frozenset({"cholesky", "inverse", "factored_inverse"}),
        singular_matrix,
        "the matrix is singular, or not positive definite",
        "add a small multiple of the identity, or use the pseudoinverse",
    ),
    Pattern(
        "log(1 - p)",
        frozenset({"log"}),
        log_of_complement,
        "p is 1, or so close to it that 1 - p is 0",
        "np.log1p(-p) with a p below 1; nn.log_sigmoid(-x) for p = sigmoid(x)",
    ),
    Pattern(
        "log of 0",
        frozenset({"log", "log1p"}),
        log_of_zero,
        "the logarithm of 0 is infinite, and of a negative number NaN",
        "keep the argument positive",
    ),
    Pattern(
        "division by 0",
        frozenset({"div"}),
        division_by_zero,
        "the divisor is 0, such as the sum, the norm or the deviation of an array of zeros",
        "divide by another number where the divisor is 0",
        lambda fault: bool((fault.input(1) == 0).any()),
    ),
    Pattern(
        "all masked",
        frozenset({"sub", "exp", "div", "reduce_sum", "log", "softmax", "select_n"}),
        masked_by_infinity,
        "all numbers of a row are -inf: subtracting the largest one is inf - inf",
        "mask with a large finite number; a row that is masked entirely is then uniform",
        lambda fault: not overflows(fault),
        reach="sources",
    ),
    Pattern(
        "overflow of float16",
        frozenset(
            {"mul", "integer_pow", "square", "pow", "reduce_sum", "add", "dot_general", "dot"}
        )
        | {"convert_element_type", "exp"},
        in_single_precision,
        "the result is above 65504, the largest number of float16",
        "compute squares, products and sums in float32",
        lambda fault: fault.is_half and overflows(fault),
    ),
    Pattern(
        "overflow of exp",
        frozenset({"exp"}),
        exponential_in_range,
        "the exponential of a large number is infinite",
        "keep the argument in range, or compute with logarithms",
    ),
    Pattern(
        "0 · inf",
        frozenset({"mul"}),
        zero_times_infinity,
        "a factor of 0 does not remove an infinity: 0 · inf is NaN",
        "select with np.where instead of multiplying",
        has_zero_times_infinity,
    ),
)


def finding_of(faults: Sequence[Fault], table: Sequence[Pattern] = PATTERNS) -> Finding | None:
    """The finding for the first pattern that matches a statement of one of the faults, with the
    rewritten statement."""
    for pattern, fault in itertools.product(table, faults):
        if fault.operation not in pattern.operations or not pattern.holds(fault):
            continue
        code = fault.code
        rewriting = functools.partial(pattern.rewriting, fault)
        for statement in fault.statements(pattern.reach):
            first = fault.node if pattern.reach == "" else None
            inside = fault.node if pattern.reach == "uses" else None
            if after := code.rewritten(statement, rewriting, first, inside):
                line, before = fault.line._replace(number=statement.lineno), code.text(statement)
                return Finding(pattern.kind, line, pattern.message, pattern.advice, before, after)
    return None
