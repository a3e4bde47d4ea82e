"""Functions written once, as formulas that run in NumPy or are lowered to StableHLO.

    def softplus(m, x):
        return m.maximum(x, 0) + m.log1p(m.exp(-m.abs(x)))

    evaluate=evaluated(softplus), stablehlo=lowered(softplus)

`m` is an `Algebra`: `HostAlgebra` for float64 arrays, `BlockAlgebra` for `Term`s, operands of a
block that have operators.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Rule
from ..stablehlo import Block, Operand
from .rule_types import Host, Kernel


class HostAlgebra:
    """The algebra of NumPy arrays, computing in float64."""

    exp, log, log1p, expm1 = np.exp, np.log, np.log1p, np.expm1
    sqrt, sin, cos, tan, floor, abs = np.sqrt, np.sin, np.cos, np.tan, np.floor, np.abs
    maximum, minimum, power = np.maximum, np.minimum, np.power
    eps = 2.0**-52
    tiny = float(np.finfo(np.float64).tiny)

    round = np.rint

    def where(self, condition: Host, x: Host | float, y: Host | float) -> Host:
        return np.where(condition, x, y)

    def power_of_two(self, n: Host) -> Host:
        return np.ldexp(1.0, n.astype(np.int32))

    def quotient(self, p: Host, q: Host) -> tuple[Host, Host, Host]:
        (a, i), (b, j) = np.frexp(p), np.frexp(q)
        k = np.trunc((i - j) + 2 * (a - b))
        return k, a, np.ldexp(b, (k - (i - j)).astype(np.int32))

    def like(self, x: Host, number: float) -> Host:
        return np.full(np.shape(x), number)

    def loop(
        self,
        limit: int,
        cond_fun: Callable[..., Host],
        step: Callable[..., Sequence[Host]],
        state: Sequence[Host],
    ) -> Sequence[Host]:
        for n in range(1, limit + 1):
            if not np.any(cond_fun(*state)):
                break
            state = step(float(n), *state)
        return state


class Term:
    """An operand of a block, with operators."""

    __slots__ = ("algebra", "operand")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, algebra: "BlockAlgebra", operand: Any) -> None:
        self.algebra, self.operand = algebra, operand

    def _with(self, operation: str, other: Any, is_swapped: bool = False) -> "Term":
        block, aval = self.algebra.block, self.operand.aval
        other_operand = other.operand if isinstance(other, Term) else block.full(other, aval)
        pair = (other_operand, self.operand) if is_swapped else (self.operand, other_operand)
        return Term(self.algebra, block.elementwise(operation, pair, aval))

    def __add__(self, other: object) -> "Term":
        return self._with("add", other)

    __radd__ = __add__

    def __sub__(self, other: object) -> "Term":
        return self._with("subtract", other)

    def __rsub__(self, other: object) -> "Term":
        return self._with("subtract", other, True)

    def __mul__(self, other: object) -> "Term":
        return self._with("multiply", other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "Term":
        return self._with("divide", other)

    def __rtruediv__(self, other: object) -> "Term":
        return self._with("divide", other, True)

    def __neg__(self) -> "Term":
        return self.apply("negate")

    def apply(self, operation: str) -> "Term":
        """An operation of one operand."""
        aval = self.operand.aval
        return Term(self.algebra, self.algebra.block.elementwise(operation, (self.operand,), aval))

    def _compare(self, direction: str, other: Any) -> "Term":
        block, aval = self.algebra.block, self.operand.aval
        other_operand = other.operand if isinstance(other, Term) else block.full(other, aval)
        flags = aval.update(dtype=dtypes.bool_)
        return Term(self.algebra, block.compare(direction, self.operand, other_operand, flags))

    def __lt__(self, other: object) -> "Term":
        return self._compare("LT", other)

    def __le__(self, other: object) -> "Term":
        return self._compare("LE", other)

    def __gt__(self, other: object) -> "Term":
        return self._compare("GT", other)

    def __ge__(self, other: object) -> "Term":
        return self._compare("GE", other)

    def __eq__(self, other: object) -> "Term":  # type: ignore[override]
        return self._compare("EQ", other)

    def __ne__(self, other: object) -> "Term":  # type: ignore[override]
        return self._compare("NE", other)

    def __and__(self, other: object) -> "Term":
        return self._with("and", other)

    def __or__(self, other: object) -> "Term":
        return self._with("or", other)

    def __invert__(self) -> "Term":
        return self.apply("not")


Number: TypeAlias = Term
"""A number in a formula: a `Term` or a float64 array. Both have the same operators."""

Formula: TypeAlias = Callable[..., Number]
"""(algebra, number, …) -> number."""


class Algebra(Protocol):
    """The elementary functions of formulas."""

    eps: float
    tiny: float
    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    expm1: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    sin: Callable[[Number], Number]
    cos: Callable[[Number], Number]
    tan: Callable[[Number], Number]
    floor: Callable[[Number], Number]
    round: Callable[[Number], Number]
    abs: Callable[[Number], Number]

    def log1p(self, x: Number, /) -> Number: ...
    def maximum(self, x: Number | float, y: Number | float) -> Number: ...
    def minimum(self, x: Number | float, y: Number | float) -> Number: ...
    def power(self, x: Number | float, y: Number | float) -> Number: ...
    def where(self, condition: Number, x: Number | float, y: Number | float) -> Number: ...

    def power_of_two(self, n: Number) -> Number:
        """2 to the power of an integer. The results range from the smallest normal number to the
        largest."""

    def quotient(self, p: Number, q: Number) -> tuple[Number, Number, Number]:
        """(k, a, b) with p / q = 2**k a / b, exactly, for positive, finite and normal p and q; k is
        an integer and a / b is from 0.47 to 2.13. Where k is 0, a and b are p and q times one power
        of 2."""

    def like(self, x: Number, number: float) -> Number:
        """A number broadcast to the shape of x."""

    def loop(
        self,
        limit: int,
        cond_fun: Callable[..., Number],
        step: Callable[..., Sequence[Number]],
        state: Sequence[Number],
    ) -> Sequence[Number]:
        """Repeats `state = step(n, *state)` for n = 1, 2, … while `cond_fun(*state)` is true
        anywhere, at most `limit` times."""


def _unary(operation: str) -> "staticmethod[[Term], Term]":
    return staticmethod(lambda x: x.apply(operation))


class BlockAlgebra:
    """The algebra of terms, all of one aval. Operations are written to `block`: the given block, or
    a loop's block inside a loop."""

    exp, log = _unary("exponential"), _unary("log")
    expm1 = _unary("exponential_minus_one")
    sqrt, sin, cos, tan = _unary("sqrt"), _unary("sine"), _unary("cosine"), _unary("tan")
    floor, round, abs = _unary("floor"), _unary("round_nearest_even"), _unary("abs")

    def __init__(self, block: Block, aval: Any) -> None:
        self.block, self.aval = block, aval
        self.eps = float(dtypes.finfo(aval.dtype).eps)
        self.tiny = float(dtypes.finfo(aval.dtype).tiny)

    def term(self, x: object) -> Term:
        """A number or term as a term."""
        return x if isinstance(x, Term) else Term(self, self.block.full(x, self.aval))

    def log1p(self, x: Term) -> Term:
        """log(1 + x), from 1 + x = 2**k (1 + f) with 1 + f from √½ to √2. XLA's own function takes
        twice as long, and is off by a hundred units in the last place of float64 near -0.4."""
        minus_k, f = self.reduced(x, 1, math.sqrt(2))
        high, low = log_of_2(self)
        out = f - (self.bend(f) + minus_k * low) - minus_k * high
        return self.log_outside(1 + x, out)

    def logarithm_to(self, base: int, x: Term) -> Term:
        """The logarithm of x = 2**k (1 + f) to base 2 or 10, 1 + f from √½ to √2."""
        minus_k, f = self.reduced(x, 0, math.sqrt(2))
        high, low = (1.0, 0.0) if base == 2 else log10_of_2(self)
        log_1p_f = (f - self.bend(f)) * (1 / math.log(base))
        return self.log_outside(x, (log_1p_f - minus_k * low) - minus_k * high)

    def reduced(self, x: Term, addend: int, upper_bound: float) -> tuple[Term, Term]:
        """(-k, f) with x + addend = 2**k (1 + f), where 1 + f is from upper_bound / 2 to
        upper_bound, and `addend` is 0 or 1. Rounding of the sum does not affect f."""
        _, mantissa_bits, bias = self._format()
        total = 1 + x if addend else x
        shift = (self._bits(self.term(upper_bound)) - self._bits(total)) & (-1 << mantissa_bits)
        scaled_x = self._number(self._bits(x) + shift)
        if not addend:
            return self._exponent(shift), scaled_x - 1
        scale = self._number((shift + (bias << mantissa_bits))._with("maximum", 0))  # 2**-k, or 0
        return self._exponent(shift), scaled_x - (1 - scale)

    def log_outside(self, x: Term, finite_value: Term) -> Term:
        """`finite_value` for positive finite x, elsewhere the logarithm of x."""
        out = self.where(x < math.inf, finite_value, x)
        return self.where(x > 0, out, self.where(x == 0, -math.inf, math.nan))

    def head(self, x: Term) -> Term:
        """The first half of the digits of x: products of such numbers are exact."""
        half = (self._format()[1] + 2) // 2
        return self._number(self._bits(x) & (-1 << half))

    def bend(self, f: Term) -> Term:
        """f - log(1 + f) for 1 + f from √½ to √2."""
        s = f / (2 + f)
        return s * (f - 2 * (s * s) * inverse_tanh(self, s, WITHIN_ROOT))

    def power_of_two(self, n: Term) -> Term:
        """2 to the power of an integer, by writing the exponent bits."""
        block, bits, mantissa_bits, bias = self.block, *self._format()
        biased_exponent = block.convert((n + bias).operand, bits.dtype)
        power = block.elementwise(
            "shift_left", (biased_exponent, block.full(mantissa_bits, bits)), bits
        )
        return Term(self, block.op("bitcast_convert", power, out=self.aval))

    def quotient(self, p: Term, q: Term) -> tuple[Term, Term, Term]:
        """p / q as 2**k a / b: see `Algebra.quotient`. The difference of the bits is nearly the
        difference of the logarithms."""
        _, mantissa_bits, bias = self._format()
        fraction = (1 << mantissa_bits) - 1
        p_bits, q_bits = self._bits(p), self._bits(q)
        difference = p_bits - q_bits
        sign = difference._with("shift_right_arithmetic", 8 * self.aval.dtype.itemsize - 1)
        shift = (difference + (sign & fraction)) & ~fraction  # towards zero
        mantissa = (p_bits & fraction) | (bias << mantissa_bits)
        b = self._number(q_bits + (shift - (p_bits - mantissa)))
        return self._exponent(shift), self._number(mantissa), b

    def unit(self, x: Term, y: Term) -> Term:
        """A power of two that scales the larger of |x| and |y| to between 1 and 4; zero stays
        zero."""
        _, mantissa_bits, bias = self._format()
        exponents = (2 * bias + 1) << mantissa_bits
        larger_exponent = (self._bits(x) & exponents)._with("maximum", self._bits(y) & exponents)
        return self._number(
            ((2 * bias << mantissa_bits) - larger_exponent)._with("maximum", 1 << mantissa_bits)
        )

    def _bits(self, x: Term) -> Term:
        return Term(self, self.bits(x))

    def _number(self, bits: Term) -> Term:
        """The number with these bits."""
        return Term(self, self.block.op("bitcast_convert", bits.operand, out=self.aval))

    def _exponent(self, shift: Term) -> Term:
        """The number by which bits shift the exponent."""
        exponent = shift._with("shift_right_arithmetic", self._format()[1]).operand
        exponent_int32 = self.block.convert(
            exponent, dtypes.int32
        )  # processors convert these in vectors
        return Term(self, self.block.convert(exponent_int32, self.aval.dtype))

    def has_sign(self, x: Term) -> Term:
        """True for negative numbers, and for -0."""
        return Term(self, self.bits(x)) < 0

    def bits(self, x: Term) -> Operand:
        """The bits of a number as a signed integer."""
        return self.block.op("bitcast_convert", x.operand, out=self._format()[0])

    def _format(self) -> tuple[Aval, int, int]:
        """(the aval of the bits, the number of bits of the fraction, the exponent of 1)."""
        if self.aval.dtype == dtypes.float64:
            return self.aval.update(dtype=dtypes.int64), 52, 1023
        return self.aval.update(dtype=dtypes.int32), 23, 127

    def maximum(self, x: Number | float, y: Number | float) -> Term:
        return self.term(x)._with("maximum", y)

    def minimum(self, x: Number | float, y: Number | float) -> Term:
        return self.term(x)._with("minimum", y)

    def power(self, x: Number | float, y: Number | float) -> Term:
        return self.term(x)._with("power", y)

    def where(self, condition: Term, x: Any, y: Any) -> Term:
        x, y = self.term(x), self.term(y)
        return Term(self, self.block.select(condition.operand, x.operand, y.operand))

    def like(self, x: Term, number: float) -> Term:
        return self.term(number)

    def loop(
        self,
        limit: int,
        cond_fun: Callable[..., Number],
        step: Callable[..., Sequence[Number]],
        state: Sequence[Term],
    ) -> Sequence[Number]:
        scalar = self.aval.update(shape=())
        flag = scalar.update(dtype=dtypes.bool_)
        avals = [scalar, *(s.operand.aval for s in state)]

        def condition(block: Block, args: Sequence[Operand]) -> list[Operand]:
            self.block = block
            count, *state_operands = args
            is_active = cond_fun(*(Term(self, r) for r in state_operands)).operand
            if is_active.aval.ndim:
                is_active = block.reduce("or", False, is_active, range(is_active.aval.ndim), flag)
            in_limit = block.compare("LE", count, block.full(limit, scalar), flag)
            return [block.elementwise("and", (is_active, in_limit), flag)]

        def body(block: Block, args: Sequence[Operand]) -> list[Operand]:
            self.block = block
            count, *state_operands = args
            n = Term(self, block.widen(count, self.aval.shape))
            next_state = step(n, *(Term(self, r) for r in state_operands))
            next_count = block.elementwise("add", (count, block.full(1, scalar)), scalar)
            return [next_count, *(self.term(a).operand for a in next_state)]

        outer_block = self.block
        try:
            regions = [outer_block.region(avals, condition), outer_block.region(avals, body)]
        finally:
            self.block = outer_block
        start = [self.block.full(1, scalar), *(s.operand for s in state)]
        outs = self.block.op("while", *start, out=avals, regions=regions)
        return [Term(self, o) for o in outs[1:]]


def evaluated(formula: Formula) -> Kernel:
    """An evaluate rule: computes in float64, and rounds once."""

    def rule(*xs: Host) -> Host:
        shape = np.broadcast_shapes(*(x.shape for x in xs))
        operands = [np.broadcast_to(x, shape).astype(np.float64) for x in xs]
        return np.asarray(formula(HostAlgebra(), *operands)).astype(xs[0].dtype)

    return rule


def lowered(formula: Formula) -> Rule:
    """A lowering rule: computes in float64 for float64, in float32 for all smaller floats."""

    def rule(block: Block, *operands: Operand, out: Aval) -> Operand:
        compute_dtype = dtypes.float64 if out.dtype == dtypes.float64 else dtypes.float32
        aval = out.update(dtype=compute_dtype, weak_type=False)
        algebra = BlockAlgebra(block, aval)
        terms = [
            Term(algebra, block.widen(block.convert(x, compute_dtype), out.shape)) for x in operands
        ]
        result = formula(algebra, *terms)
        return block.convert(result.operand, out.dtype)

    return rule


def lowered_in_wider(operation: str) -> Rule:
    """A lowering rule by one operation, for small floats computed in float32."""

    def rule(block: Block, *operands: Operand, out: Aval) -> Operand:
        compute_dtype = out.dtype if out.dtype.itemsize > 2 else dtypes.float32
        aval = out.update(dtype=compute_dtype, weak_type=False)
        xs = [block.widen(block.convert(x, compute_dtype), out.shape) for x in operands]
        return block.convert(block.op(operation, *xs, out=aval), out.dtype)

    return rule


@functools.cache
def _powers(coefficients: tuple[float, ...], eps: float) -> tuple[float, ...]:
    """A Chebyshev series as coefficients of powers, up to its last significant term."""
    significant = [c for c in coefficients if abs(c) > eps / 64]
    return tuple(np.polynomial.chebyshev.cheb2poly(significant).tolist())


def chebyshev(m: Algebra, coefficients: tuple[float, ...], t: Number) -> Number:
    """The sum of c[k] T_k(t), as a polynomial. It takes half of Clenshaw's operations, and loses no
    digits if each term is at most 1 / 2.5 of the one before."""
    return polynomial(m, _powers(coefficients, m.eps), t)


def clenshaw(m: Algebra, coefficients: Sequence[float], t: Number) -> Number:
    """The sum of c[k] T_k(t), by Clenshaw's recurrence: for series that fall slowly."""
    significant = [c for c in coefficients if abs(c) > m.eps / 64]
    b1 = b2 = m.like(t, 0.0)
    for c in reversed(significant[1:]):
        b1, b2 = 2 * t * b1 - b2 + c, b1
    return t * b1 - b2 + significant[0]


def polynomial(m: Algebra, coefficients: Sequence[float], t: Number) -> Number:
    """The sum of c[k] t**k, by Horner's rule."""
    total = m.like(t, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * t + c
    return total


# of sin(πt) / t in t², for |t| ≤ 1/2, computed for weft with 50 digits: to 3e-11, and to 5e-22
_SINE_OF_PI = (
    3.1415926535362897, -5.167712764624538, 2.550163318947079, -0.5992521978240785,
    0.08205040180920087, -0.007028386408774963,
)  # fmt: skip
_SINE_OF_PI_FLOAT64 = (
    3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207869,
    0.08214588661099363, -0.007370430943702923, 0.0004663027874646718, -2.191525032299303e-05,
    7.948539488365077e-07, -2.228375224664824e-08,
)  # fmt: skip


def sine_of_pi(m: Algebra, t: Number) -> Number:
    """sin(πt) for |t| ≤ 1/2, ten times as fast as XLA's own sine, which is not vectorised."""
    is_float64 = m.eps < 1e-10
    return t * polynomial(m, _SINE_OF_PI_FLOAT64 if is_float64 else _SINE_OF_PI, t * t)


def split_log1m(m: Algebra, part: Number) -> tuple[Number, Number]:
    """(complement, error) with log(1 - part) = log(complement) + error, for part from 0 to 1. With
    it, two branches of a function can share the logarithm."""
    complement = 1 - part
    # the minimum keeps XLA from simplifying 1 - (1 - part)
    return complement, ((1 - m.minimum(complement, 2.0)) - part) / complement


# of (atanh(s) / s - 1) / s² in s², for |s| up to these two, lowest power first, computed for
# weft with 60 digits: s² times it to 3e-9 and 5e-18, 2e-9 and 2e-18
WITHIN_ROOT, WITHIN_TWO = 0.172, 0.37
_INVERSE_TANH = {
    WITHIN_ROOT: (0.33333342659574744, 0.1999433320987344, 0.14792558618760754),
    WITHIN_TWO: (
        0.33333334320279734, 0.1999964039768939, 0.14306465152940384, 0.10698367508260084,
        0.12328007158418504,
    ),
}  # fmt: skip
_INVERSE_TANH_FLOAT64 = {
    WITHIN_ROOT: (
        0.3333333333333335, 0.19999999999948206, 0.14285714313687262, 0.11111105453492373,
        0.09091452840980287, 0.07665586313284953, 0.07311609191449932,
    ),
    WITHIN_TWO: (
        0.33333333333333337, 0.19999999999997775, 0.14285714286362344, 0.11111111037630621,
        0.09090913351771523, 0.07692164079753046, 0.06669669071180125, 0.05842351236744045,
        0.05601079208957626, 0.03034376786360726, 0.09022066727952037,
    ),
}  # fmt: skip


def inverse_tanh(m: Algebra, s: Number, limit: float) -> Number:
    """(atanh(s) / s - 1) / s² for |s| ≤ limit, which is `WITHIN_ROOT` or `WITHIN_TWO`."""
    table = _INVERSE_TANH if m.eps > 1e-10 else _INVERSE_TANH_FLOAT64
    return polynomial(m, table[limit], s * s)


def log_of_2(m: Algebra) -> tuple[float, float]:
    """log(2) as a sum of two numbers. The product of the first and an exponent is exact."""
    if m.eps > 1e-10:
        return 0.693145751953125, 1.4286068203094173e-06
    return 0.693147180559663, 2.8235290563031577e-13


def log10_of_2(m: Algebra) -> tuple[float, float]:
    """log10(2) as a sum of two numbers, like `log_of_2`."""
    if m.eps > 1e-10:
        return 0.301025390625, 4.605038981195214e-06
    return 0.30102999566361177, 3.694239077158931e-13
