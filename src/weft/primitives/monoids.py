"""Monoids: the associative operations by which arrays are reduced, whole, in windows, or running.

Knows their primitives, identities and NumPy's names; knows nothing of axes.
"""

from typing import NamedTuple

import numpy as np

from ..core.aval import Aval
from ..core.primitive import Primitive
from ..stablehlo import Block, Operand
from .arithmetic import max_, min_, mul
from .bitwise import bitwise_and, bitwise_or, bitwise_xor
from .extremes import all_ones, highest, lowest
from .rule_types import Identity, Ufunc
from .structural import add
from .transcendental import logaddexp


class Monoid(NamedTuple):
    """An associative operation with an identity.

    Attributes:
      by: its primitive, of two operands.
      ufunc: NumPy's function of two arrays.
      identity: the element that changes nothing.
    """

    by: Primitive
    ufunc: Ufunc
    identity: Identity

    def write(self, block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        """Writes the operation on two operands."""
        return self.by.lower_rule(block, x, y, out=out)  # type: ignore[misc]

    def region(self, block: Block, aval: Aval) -> str:
        """The region of a reduction: the operation on scalars of an aval's dtype."""
        scalar = aval.update(shape=(), weak_type=False)
        return block.region(
            [scalar] * 2, lambda inner, xs: [self.write(inner, xs[0], xs[1], scalar)]
        )


SUM = Monoid(add, np.add, lambda dtype: dtype.type(0))
PRODUCT = Monoid(mul, np.multiply, lambda dtype: dtype.type(1))
MAXIMUM = Monoid(max_, np.maximum, lowest)
MINIMUM = Monoid(min_, np.minimum, highest)
AND = Monoid(bitwise_and, np.bitwise_and, all_ones)
OR = Monoid(bitwise_or, np.bitwise_or, lambda dtype: dtype.type(0))
XOR = Monoid(bitwise_xor, np.bitwise_xor, lambda dtype: dtype.type(0))
LOGSUMEXP = Monoid(logaddexp, np.logaddexp, lowest)
