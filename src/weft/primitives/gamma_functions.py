"""Functions made of the gamma function, and not only of its logarithm.

Knows derivatives; the formulas are in `gamma_formulas`.
"""

from ..core.primitive import Primitive
from ..core.value import Value
from .arithmetic import add, mul, sub
from .families import zero
from .gamma_formulas import betaln_formula, gamma_formula, gamma_sign
from .gamma_quotients import beta_formula, poch_formula
from .special import by_formula, digamma

gamma: Primitive = by_formula(
    "gamma", "Γ(x).", gamma_formula, lambda dx, out, x: mul(dx, mul(out, digamma(x)))
)
gammasgn: Primitive = by_formula("gammasgn", "The sign of Γ(x).", gamma_sign, zero)


def _slope(x: Value, y: Value) -> Value:
    """The derivative of log B(x, y) in x."""
    return sub(digamma(x), digamma(add(x, y)))


betaln: Primitive = by_formula(
    "betaln", "log |B(a, b)|.", betaln_formula,
    (
        lambda da, out, a, b: mul(da, _slope(a, b)),
        lambda db, out, a, b: mul(db, _slope(b, a)),
    ),
)  # fmt: skip
beta: Primitive = by_formula(
    "beta", "B(a, b) = Γ(a) Γ(b) / Γ(a + b).", beta_formula,
    (
        lambda da, out, a, b: mul(da, mul(out, _slope(a, b))),
        lambda db, out, a, b: mul(db, mul(out, _slope(b, a))),
    ),
)  # fmt: skip
poch: Primitive = by_formula(
    "poch", "Pochhammer's symbol Γ(z + n) / Γ(z).", poch_formula,
    (
        lambda dz, out, z, n: mul(dz, mul(out, sub(digamma(add(z, n)), digamma(z)))),
        lambda dn, out, z, n: mul(dn, mul(out, digamma(add(z, n)))),
    ),
)  # fmt: skip
