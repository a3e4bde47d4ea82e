"""Recurrences for the derivatives of operations along a path.

A path is a list: the value at s = 0 of an array that depends on s, then its first, second, …
derivatives there; `None` is zero.

Source: Griewank & Walther, Evaluating Derivatives, 2nd edition (2008), chapter 13: an equation such
  as y' = y x' for y = exp(x), with the product rule of order n, gives each derivative of y from the
  previous ones.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.primitive import Primitive
from ...primitives.arithmetic import div, integer_pow, mul, sqrt, square
from ...primitives.comparison import eq
from ...primitives.convolution import conv_general_dilated
from ...primitives.creation import zeros
from ...primitives.exponential import exp, log, log1p, logistic, pow_
from ...primitives.products import dot_general
from ...primitives.selection import select_n
from ...primitives.trigonometric import cos, cosh, sin, sinh, tan, tanh

Path = list[Any]
Rule = Callable[..., Path]

recurrences: dict[Primitive, Rule] = {}
"""The rules of this file. Each takes the paths of the operands, and the parameters."""


def added(a: Any, b: Any) -> Any:
    """The sum of two derivatives."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def negated(a: Any) -> Any:
    """The negative of a derivative."""
    return None if a is None else -a


def of_product(
    f: Path, g: Path, n: int, ks: Sequence[int], product: Callable[..., Any] = mul
) -> Any:
    """The terms of the n-th derivative of a product that contain the k-th derivative of `f`, for k
    in `ks`."""
    total = None
    for k in ks:
        if f[k] is not None and g[n - k] is not None:
            term = product(f[k], g[n - k])
            count = math.comb(n, k)
            total = added(total, term if count == 1 else term * count)
    return total


def product_path(f: Path, g: Path, product: Callable[..., Any] = mul) -> Path:
    """The path of a product, or of another operation that is linear in each of two operands."""
    return [of_product(f, g, n, range(n + 1), product) for n in range(len(f))]


def quotient_path(u: Path, v: Path) -> Path:
    """The path of u / v, from u = (u / v) v. The first entry of `u` may be `None`."""
    q: Path = []
    for n, top in enumerate(u):
        rest = added(top, negated(of_product(q, v, n, range(n))))
        q.append(None if rest is None else rest / v[0])
    return q


def bilinear(primitive: Primitive) -> None:
    """Adds a rule for an operation that is linear in each of its two operands."""

    def rule(x: Path, y: Path, **params: Any) -> Path:
        return product_path(x, y, lambda a, b: primitive(a, b, **params))

    recurrences[primitive] = rule


for _primitive in (mul, dot_general, conv_general_dilated):
    bilinear(_primitive)


def by_slope(primitive: Primitive, slope: Callable[[Path, int], Any]) -> None:
    """Adds a rule for a function with y' = slope(y) x'.

    Args:
      slope: `slope(y, n)` returns the n-th derivative of the slope.
    """

    def rule(x: Path) -> Path:
        y: Path = [primitive(x[0])]
        slopes: Path = []
        for n in range(len(x) - 1):
            slopes.append(slope(y, n))
            y.append(of_product(slopes, x[1:], n, range(n + 1)))
        return y

    recurrences[primitive] = rule


def square_at(y: Path, n: int) -> Any:
    """The n-th derivative of y²."""
    return of_product(y, y, n, range(n + 1))


by_slope(exp, lambda y, n: y[n])
by_slope(tanh, lambda y, n: 1 - square_at(y, 0) if n == 0 else negated(square_at(y, n)))
by_slope(tan, lambda y, n: 1 + square_at(y, 0) if n == 0 else square_at(y, n))
by_slope(logistic, lambda y, n: added(y[n], negated(square_at(y, n))))


def paired(primitive: Primitive, other: Primitive, sign: int, other_sign: int) -> None:
    """Adds a rule for a pair of functions y, z with y' = ±z x' and z' = ±y x'."""

    def rule(x: Path) -> Path:
        y: Path = [primitive(x[0])]
        z: Path = [other(x[0])]
        for n in range(len(x) - 1):
            dy = of_product(z, x[1:], n, range(n + 1))
            dz = of_product(y, x[1:], n, range(n + 1))
            y.append(dy if sign > 0 else negated(dy))
            z.append(dz if other_sign > 0 else negated(dz))
        return y

    recurrences[primitive] = rule


paired(sin, cos, 1, -1)
paired(cos, sin, -1, 1)
paired(sinh, cosh, 1, 1)
paired(cosh, sinh, 1, 1)


def path_of_log(x: Path) -> Path:
    """log: y' = x' / x."""
    return [log(x[0]), *quotient_path(x[1:], x[:-1])]


def path_of_log1p(x: Path) -> Path:
    """log(1 + x): y' = x' / (1 + x)."""
    return [log1p(x[0]), *quotient_path(x[1:], [1 + x[0], *x[1:-1]])]


def path_of_sqrt(x: Path) -> Path:
    """The square root: y² = x."""
    y: Path = [sqrt(x[0])]
    for n in range(1, len(x)):
        rest = added(x[n], negated(of_product(y, y, n, range(1, n))))
        y.append(None if rest is None else rest / (2 * y[0]))
    return y


def path_of_integer_pow(x: Path, *, y: int) -> Path:
    """An integer power, by repeated squaring; exact where x is 0."""
    result: Path | None = None
    factor, left = x, abs(y)
    while left:
        if left % 2:
            result = factor if result is None else product_path(result, factor)
        left //= 2
        if left:
            factor = product_path(factor, factor)
    one = [integer_pow(x[0], y=0), *[None] * (len(x) - 1)]
    if result is None:
        return one
    if y < 0:
        result = quotient_path(one, result)
    result[0] = integer_pow(x[0], y=y)
    return result


def path_of_power(x: Path, p: Any) -> Path:
    """A constant power of x, by Faà di Bruno's formula; exact where x is 0.

    The k-th derivative of the power is p (p - 1) … (p - k + 1) x to the p - k; it is 0 where the
    factor is, for every x.
    """
    order = len(x) - 1
    slopes: Path = [pow_(x[0], p)]
    factor = 1
    for k in range(order):
        factor = factor * (p - k)
        slope = factor * pow_(x[0], p - (k + 1))
        slopes.append(select_n(eq(factor, zeros(factor.aval)), slope, zeros(slope.aval)))
    return composed(slopes, x)


def composed(slopes: Path, x: Path) -> Path:
    """The path of f(x) from the derivatives of f at x[0].

    The n-th derivative is the sum over j of the j-th derivative of f times B(n, j), a Bell
    polynomial:
    B(n, j) is the sum over i of C(n-1, i-1) x[i] B(n-i, j-1), and B(0, 0) is 1.
    """
    order = len(x) - 1
    bell: dict[tuple[int, int], Any] = {}
    y: Path = [slopes[0]]
    for n in range(1, order + 1):
        total = None
        for j in range(1, n + 1):
            term = x[n] if j == 1 else None
            for i in range(1, n - j + 2) if j > 1 else ():
                before = bell[n - i, j - 1]
                if x[i] is not None and before is not None:
                    term = added(term, x[i] * before * math.comb(n - 1, i - 1))
            bell[n, j] = term
            if term is not None:
                total = added(total, slopes[j] * term)
        y.append(total)
    return y


recurrences.update(
    {
        div: quotient_path,
        square: lambda x: product_path(x, x),
        log: path_of_log,
        log1p: path_of_log1p,
        sqrt: path_of_sqrt,
        integer_pow: path_of_integer_pow,
    }
)
