"""SymbolicZero, CustomVJPPrimal: the arguments of derivative rules defined with `symbolic_zeros`.

A rule that knows which tangents or cotangents are zero can skip work. See `custom_jvp.defjvp` and
`custom_vjp.defvjp`.
"""

import math
from typing import Any

from .. import dtypes
from ..core.aval import Aval
from ..core.value import Value


class SymbolicZero:
    """Stands for a tangent or cotangent that is zero everywhere. A rule may return one.

    Args:
      aval: the type of the primal, `weft.typeof(x)`; or a shape.
      dtype: the dtype, if a shape is passed.
    Attributes:
      shape, dtype: the shape and dtype of the tangent; the dtype is float0 if the primal is an
        integer.
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
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.dtype.name}[{','.join(map(str, self.shape))}])"


class CustomVJPPrimal:
    """An argument of the forward rule of a `custom_vjp` defined with `symbolic_zeros`.

    Attributes:
      value: the argument.
      perturbed: whether its cotangent is needed.
    Example:
      >>> import weft
      >>> @weft.custom_vjp
      ... def product(x, y):
      ...     return x * y
      >>> def forward(x, y):
      ...     print(x.perturbed, y.perturbed)
      ...     return x.value * y.value, (x.value, y.value)
      >>> def backward(residuals, ct):
      ...     x, y = residuals
      ...     return ct * y, ct * x
      >>> product.defvjp(forward, backward, symbolic_zeros=True)
      >>> grad(product)(2.0, 3.0)
      True False
      Array(3., dtype=float32, weak_type=True)
    Source: jax.custom_derivatives.CustomVJPPrimal.
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Value, perturbed: bool) -> None:
        self.value, self.perturbed = value, perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value}, perturbed={self.perturbed})"
