"""Lowering of functions of complex numbers by their symmetries, with the values that C99 requires.

XLA's own functions of complex numbers lose the signs of zeros, and with them the side of a branch
cut, and return NaN for infinite numbers. Here roots, logarithms and inverse functions are computed
from absolute values of the parts, or of the imaginary part only, and the signs are restored. Other
functions take the parts with their signs. The values at infinity and NaN are inserted (C99, Annex
G.6). NumPy's functions have the same values.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Rule
from ..stablehlo import Block, Operand
from .elementwise import by_kind
from .formulas import BlockAlgebra, Term

Parts: TypeAlias = tuple[Term, Term]
"""The real and the imaginary part."""

InParts: TypeAlias = Callable[[BlockAlgebra, Term, Term], Parts]
"""(algebra, real part, imaginary part) -> the parts of the result."""


def _negative(m: BlockAlgebra, x: Term) -> Term:
    """True where the sign bit is set: for negative numbers, -0 and some NaNs."""
    block, bits = m.block, m.bits(x)
    flags = bits.aval.update(dtype=dtypes.bool_)
    return Term(m, block.compare("LT", bits, block.full(0, bits.aval), flags))


def _signed_zero(m: BlockAlgebra, x: Term) -> Term:
    """0 with the sign of a number."""
    return m.where(x < 0, -0.0, 0.0)


def _infinite(x: Term) -> Term:
    return x == math.inf


def _finite(m: BlockAlgebra, x: Term) -> Term:
    return m.abs(x) < math.inf


def complex_rule(real_rule: Rule, in_parts: InParts, symmetry: str) -> Rule:
    """The lowering rule of a function of real or complex numbers.

    Args:
      real_rule: (block, x, out) -> operand, for real numbers.
      in_parts: computes the parts of the result from the parts of z.
      symmetry: `conjugate`: f(conj z) = conj f(z); `in_parts` gets |Im z|. `odd` or `even`: f is
        also odd or even; `in_parts` gets |Re z| and |Im z|. `kept`: `in_parts` gets the parts with
        their signs, as functions with sines and cosines need: XLA computes sine and cosine of one
        argument together, and replaces a cosine of |y| by one of y.
    """

    def rule(block: Block, x: Operand, out: Aval) -> Operand:
        part = out.update(dtype=dtypes.real_of(out.dtype), weak_type=False)
        m = BlockAlgebra(block, part)
        a, b = Term(m, block.op("real", x, out=part)), Term(m, block.op("imag", x, out=part))
        if symmetry == "kept":
            re, im = in_parts(m, a, b)
            return block.op("complex", re.operand, im.operand, out=out)
        re_is_negative, im_is_negative = _negative(m, a), _negative(m, b)
        re, im = in_parts(m, a if symmetry == "conjugate" else m.abs(a), m.abs(b))
        if symmetry == "odd":
            re = m.where(re_is_negative, -re, re)
        elif symmetry == "even":
            im = m.where(re_is_negative, -im, im)
        im = m.where(im_is_negative, -im, im)
        return block.op("complex", re.operand, im.operand, out=out)

    return by_kind(real_rule, rule)


def operation(name: str) -> InParts:
    """XLA's operation on complex numbers, as a function of their parts."""

    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        wide_dtype = dtypes.complex128 if m.aval.dtype == dtypes.float64 else dtypes.complex64
        aval = m.aval.update(dtype=wide_dtype)
        z = m.block.op("complex", x.operand, y.operand, out=aval)
        value = m.block.op(name, z, out=aval)
        re, im = (m.block.op(part, value, out=m.aval) for part in ("real", "imag"))
        return Term(m, re), Term(m, im)

    return apply


def with_parts_swapped(in_parts: InParts) -> InParts:
    """f(i conj z) with the parts of the result exchanged. It makes sin from sinh, atan from atanh,
    …"""

    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        re, im = in_parts(m, y, x)
        return im, re

    return apply


# --- quotients: shared values end in a selection, or XLA would make several loops ---


def reciprocal_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """1 / z, with signs; 0 if one part is infinite, NaN if both are. Scaling prevents overflow."""
    scale, largest_number = m.unit(x, y), float(dtypes.finfo(m.aval.dtype).max)
    a, b = (m.maximum(m.minimum(part, largest_number), -largest_number) * scale for part in (x, y))
    magnitudes = m.abs(x), m.abs(y)
    square = m.where(
        m.maximum(*magnitudes) == math.inf, math.inf - m.minimum(*magnitudes), a * a + b * b
    )
    return a / square * scale, -(b / square * scale)


def sign_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """z / |z|, with signs; 0 at 0. If one part is infinite, the other is ignored unless it is
    infinite or NaN."""
    scale = m.unit(x, y)
    a, b = x * scale, y * scale
    square = a * a + b * b
    length = m.where(square == 0, 1.0, m.sqrt(square))

    def part_of_sign(part: Term, scaled_part: Term, other: Term) -> Term:
        unit_part = m.where(part < 0, -1.0, 1.0) + (other - other)
        return m.where(m.abs(part) == math.inf, unit_part, scaled_part / length)

    return part_of_sign(x, a, y), part_of_sign(y, b, x)


# --- exponentials and logarithms ---


def exp_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """exp(z), with signs."""
    re, im = operation("exponential")(m, x, y)
    y_not_finite = ~_finite(m, y)
    re = m.where(y_not_finite & (m.abs(x) == math.inf), m.where(x < 0, 0.0, math.inf), re)
    return re, m.where(y == 0, y, m.where(y_not_finite & (x == -math.inf), _signed_zero(m, y), im))


def expm1_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """exp(z) - 1, with signs."""
    re, im = operation("exponential_minus_one")(m, x, y)
    y_not_finite = ~_finite(m, y)
    re = m.where((x == 0) & (y == 0), x, m.where(x == -math.inf, -1.0, re))
    re = m.where(y_not_finite & (x == math.inf), math.inf, re)
    return re, m.where(y == 0, y, m.where(y_not_finite & (x == -math.inf), _signed_zero(m, y), im))


def _logarithm(name: str) -> InParts:
    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        re, im = operation(name)(m, x, y)
        return m.where((m.abs(x) == math.inf) | _infinite(y), math.inf, re), im

    return apply


log_in_parts, log1p_in_parts = _logarithm("log"), _logarithm("log_plus_one")


def sqrt_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """The root in the right half-plane."""
    re, im = operation("sqrt")(m, x, y)
    left, right, high = x == -math.inf, x == math.inf, _infinite(y)
    re = m.where(left & (y == y), 0.0, m.where(right, math.inf, re))
    im = m.where(right & (y == y), 0.0, m.where(left, math.inf, im))
    return m.where(high, math.inf, re), m.where(high, math.inf, im)


def rsqrt_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """1 / sqrt(z), ten times as fast as XLA's own, which computes a power. The real part is
    infinite at 0."""
    re, im = reciprocal_in_parts(m, *sqrt_in_parts(m, x, y))
    return m.where((x == 0) & (y == 0), math.inf, re), im


# --- hyperbolic functions, and by them the trigonometric ones ---


def sinh_in_parts(hyperbolic: Callable[..., Any]) -> InParts:
    """sinh(z), with signs, from `hyperbolic(name, block, operand, aval)`, which serves real
    numbers."""

    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        sinh, cosh = (Term(m, hyperbolic(n, m.block, x.operand, m.aval)) for n in ("sinh", "cosh"))
        y_not_finite = ~_finite(m, y)
        re = m.where(((x == 0) | (m.abs(x) == math.inf)) & y_not_finite, x, sinh * m.cos(y))
        return re, m.where(y == 0, y, cosh * m.sin(y))

    return apply


def cosh_in_parts(hyperbolic: Callable[..., Any]) -> InParts:
    """cosh(z), like `sinh`."""

    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        sinh, cosh = (Term(m, hyperbolic(n, m.block, x.operand, m.aval)) for n in ("sinh", "cosh"))
        re = m.where((m.abs(x) == math.inf) & ~_finite(m, y), math.inf, cosh * m.cos(y))
        is_negative = _negative(m, m.maximum(m.minimum(x, 1), -1) * m.maximum(m.minimum(y, 1), -1))
        signed_zero = m.where(is_negative, -0.0, 0.0)
        return re, m.where((x == 0) | (y == 0), signed_zero, sinh * m.sin(y))

    return apply


def cos_in_parts(hyperbolic: Callable[..., Any]) -> InParts:
    """cos(x + iy), which is cosh(y - ix)."""
    cosh = cosh_in_parts(hyperbolic)

    def apply(m: BlockAlgebra, x: Term, y: Term) -> Parts:
        re, im = cosh(m, y, x)
        return re, -im

    return apply


def tanh_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """tanh(z), with signs."""
    # where the real part is 1, the imaginary one is 0 with the sign of sin(2y), also at infinity
    re, im = operation("tanh")(m, m.maximum(m.minimum(x, 400.0), -400.0), y)
    x_is_infinite, y_not_finite = m.abs(x) == math.inf, ~_finite(m, y)
    re = m.where(x_is_infinite, m.where(x < 0, -1.0, 1.0), m.where(x == 0, x, re))
    return re, m.where(y == 0, y, m.where(x_is_infinite & y_not_finite, _signed_zero(m, y), im))


def asinh_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """The inverse of sinh."""
    re, im = operation("chlo.asinh")(m, x, y)
    re = m.where(
        _infinite(x) | _infinite(y), math.inf, m.where(x == 0, m.where(y <= 1, 0.0, re), re)
    )
    return re, m.where(y == 0, 0.0, im)


def acosh_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """The inverse of cosh, with values in the right half-plane."""
    re, im = operation("chlo.acosh")(m, x, y)
    re = m.where((m.abs(x) == math.inf) | _infinite(y), math.inf, re)
    return re, m.where((x == 0) & (y != y), math.pi / 2, im)


def acos_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """The inverse of cos."""
    re, im = operation("chlo.acos")(m, x, y)
    re = m.where((x == 0) & (y != y), math.pi / 2, re)
    return re, m.where((m.abs(x) == math.inf) | _infinite(y), -math.inf, im)


def atanh_in_parts(m: BlockAlgebra, x: Term, y: Term) -> Parts:
    """The inverse of tanh."""
    re, im = operation("chlo.atanh")(m, x, y)
    is_infinite, is_nan = _infinite(x) | _infinite(y), (x != x) | (y != y)
    re = m.where(is_infinite | (x == 0), 0.0, m.where(is_nan, math.nan, re))
    im = m.where(is_infinite, math.pi / 2, m.where((y == 0) & (x <= 1), 0.0, im))
    return re, m.where((y != y) | (is_nan & ~is_infinite), math.nan, im)


asin_in_parts = with_parts_swapped(asinh_in_parts)
atan_in_parts = with_parts_swapped(atanh_in_parts)
