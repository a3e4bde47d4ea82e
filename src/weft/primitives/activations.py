"""Activations of neural networks whose derivative no composition gives exactly, or not cheaply.

At 0 the derivative of relu is 0: that of the maximum would be one half. That of softplus is the
logistic function, at any size of x. Knows nothing of the functions that are made of these.
"""

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..stablehlo import Block, Operand
from .arithmetic import like, mul
from .comparison import gt
from .families import HALF, evaluate_in_wider, unary
from .formulas import Algebra, Number, lowered
from .number_operands import LARGE, by_rows
from .rule_types import Host
from .selection import where
from .transcendental import logistic


def _relu(x: Host) -> Host:
    none = x.dtype.type(0)
    return np.maximum(x, none) if x.size < LARGE else by_rows(np.maximum, x, none)


def _lower_relu(block: Block, x: Operand, out: Aval) -> Operand:
    if dtypes.is_unsigned(out.dtype):
        return x
    return block.elementwise("maximum", (x, block.full(0, out)), out)


def _relu_jvp(dx: Value, out: Value, x: Value) -> Value:
    return where(gt(x, like(x, 0)), dx, like(dx, 0))  # type: ignore[no-any-return]


relu: Primitive = unary(
    "relu", "The larger one of x and 0; its derivative at 0 is 0.", evaluate=_relu,
    stablehlo=_lower_relu, jvp=_relu_jvp, accepts="real", host_limit=2_000_000,
)  # fmt: skip


def _softplus(x: Host) -> Host:
    """Four vectorised steps; np.logaddexp takes ten times as long."""
    tail = np.log1p(np.exp(np.negative(np.absolute(x))))
    return np.add(np.maximum(x, x.dtype.type(0)), tail)


def _softplus_formula(m: Algebra, x: Number) -> Number:
    return m.maximum(x, 0) + m.log1p(m.exp(-m.abs(x)))


softplus: Primitive = unary(
    "softplus", "log(1 + exp(x)), without overflow.", evaluate=_softplus,
    stablehlo=lowered(_softplus_formula), jvp=lambda dx, out, x: mul(dx, logistic(x)),
    accepts="float", host_limit=262_144,
)  # fmt: skip
evaluate_in_wider(softplus, "float", table=HALF)
