"""Zeros that are known to be zeros: what custom derivative rules get that ask for them.

A rule that is told which of its tangents or cotangents are zero can leave work out. See
`custom_jvp.defjvp` and `custom_vjp.defvjp`, the option `symbolic_zeros`.
"""

from typing import Any

from .. import dtypes
from ..core.aval import Aval
from ..core.value import Value


class SymbolicZero:
    """Stands for a tangent or cotangent that is zero everywhere. It can be given back as one.

    Args:
      aval: the type of the array that it stands for, `weft.typeof(x)`; or its shape.
      dtype: its dtype, after a shape.
    Attributes:
      shape, dtype: of the array that it stands for; float0 for that of an integer.
    Example:
      >>> import weft
      >>> from weft.custom_derivatives import SymbolicZero
      >>> @weft.custom_jvp
      ... def f(x, y):
      ...     return x * y
      >>> def f_jvp(primals, tangents):
      ...     (x, y), (dx, dy) = primals, tangents
      ...     print("dy is zero:", isinstance(dy, SymbolicZero))
      ...     return f(x, y), dx * y if isinstance(dy, SymbolicZero) else dx * y + x * dy
      >>> _ = f.defjvp(f_jvp, symbolic_zeros=True)
      >>> print(weft.grad(f)(2.0, 3.0))
      dy is zero: True
      3.0
    Source: jax.custom_derivatives.SymbolicZero.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, aval: tuple[int, ...] | Aval, dtype: Any = None) -> None:
        shape: Any = aval
        if isinstance(aval, Aval):
            dtype = aval.dtype if dtypes.is_inexact(aval.dtype) else dtypes.float0
            shape = aval.shape
        if dtype is None:
            raise TypeError(
                f"SymbolicZero: expected a shape and a dtype, or weft.typeof(x); got {shape!r}"
            )
        self.shape, self.dtype = tuple(shape), dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def __repr__(self) -> str:
        return f"SymbolicZero({self.dtype.name}[{','.join(map(str, self.shape))}])"


class CustomVJPPrimal:
    """An argument of the forward rule of a `custom_vjp` that asks for symbolic zeros.

    Attributes:
      value: the argument.
      perturbed: whether a derivative in it is asked for; if not, its cotangent isn't used.
    Source: jax.custom_derivatives.CustomVJPPrimal.
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Value, perturbed: bool) -> None:
        self.value, self.perturbed = value, perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value}, perturbed={self.perturbed})"


def symbolic(primal: Aval) -> SymbolicZero:
    """The zero of a primal's tangent."""
    return SymbolicZero(primal)
