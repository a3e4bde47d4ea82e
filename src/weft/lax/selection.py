"""select, select_n, clamp; and identities that concern derivatives or compilation: stop_gradient,
optimization_barrier, tie_in."""

from typing import Any, TypeVar

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import selection as p
from ..primitives.structural import convert_element_type
from ..tree_util import tree_flatten, tree_map
from ..typing import ArrayLike, PyTree
from .operands import same_type

__all__ = [
    "clamp",
    "optimization_barrier",
    "select",
    "select_n",
    "stop_gradient",
    "tie_in",
]

Tree = TypeVar("Tree")


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Elements of `on_true` where `pred` is true, and of `on_false` elsewhere.

    Args:
      pred: boolean array of the cases' shape, or a boolean scalar.
      on_true, on_false: arrays of one shape and dtype.
    Returns: array of that shape and dtype.
    Raises: TypeError: shapes or dtypes differ.
    Example:
      >>> from weft import lax
      >>> lax.select(True, 1.0, 2.0).item()
      1.0
    Source: StableHLO `select`.
    """
    return _select("select", ("on_false", "on_true"), pred, (on_false, on_true))


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Selects each element from one of several arrays, by index.

    Args:
      which: boolean (for one or two cases; True selects the second) or integer array of the cases'
        shape, or a scalar. It is clamped to the range of cases.
      cases: arrays of one shape and dtype.
    Returns: array of that shape and dtype.
    Raises: TypeError: shapes or dtypes differ, or more than two cases for a boolean.
    Example:
      >>> from weft import lax
      >>> lax.select_n(2, 1.0, 2.0, 3.0).item()
      3.0
    Source: StableHLO `select`.
    """
    return _select("select_n", [f"cases[{i}]" for i in range(len(cases))], which, cases)


@located
def _select(name: str, names: Any, selector: Any, cases: Any) -> Array:
    if not cases:
        raise TypeError(f"{name}: expected at least one case; got none")
    selector = as_value(selector)
    values = same_type(name, names, *cases) if len(cases) > 1 else [as_value(cases[0])]
    shape = values[0].shape
    for n, v in zip(names, values, strict=True):
        if v.shape != shape:
            raise ShapeError(
                f"{name}: {names[0]} and {n} must have one shape; got {values[0].aval} and "
                f"{v.aval}\n"
                "  fix: lax.broadcast, or weft.numpy.where, which broadcasts"
            )
    if selector.ndim and selector.shape != shape:
        raise ShapeError(
            f"{name}: the selector must be a scalar or have the cases' shape; got {selector.aval} "
            f"for cases {values[0].aval}\n  fix: weft.numpy.where, which broadcasts"
        )
    if dtypes.is_integer(selector.dtype) and selector.dtype != dtypes.int32:
        selector = convert_element_type(selector, dtype=dtypes.int32)
    return p.select_n(selector, *values)


@located
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Limits x to the interval from `min` to `max`. The derivative is 0 at the ends and outside.

    Args:
      min, max: arrays of x's shape, or scalars; of x's dtype.
      x: array of any dtype but complex.
    Returns: array of x's shape and dtype.
    Raises: TypeError: dtypes or shapes differ.
    Example:
      >>> from weft import lax
      >>> lax.clamp(0.0, 1.5, 1.0).item()
      1.0
    Source: StableHLO `clamp`.
    """
    low, value, high = same_type("clamp", ("min", "x", "max"), min, x, max)
    for name, bound in (("min", low), ("max", high)):
        if bound.ndim and bound.shape != value.shape:
            raise ShapeError(
                f"clamp: {name} must be a scalar or have x's shape; got {name}: {bound.aval}, "
                f"x: {value.aval}"
            )
    return p.clamp(low, value, high)


def stop_gradient(x: Tree) -> Tree:
    """The identity, with a derivative of zero.

    Args:
      x: an array, or containers of arrays.
    Returns: the same.
    Example:
      >>> import weft
      >>> from weft import lax
      >>> weft.grad(lambda x: x * lax.stop_gradient(x))(3.0).item()
      3.0
    Source: weft.
    """
    return tree_map(_stop, x)


def _stop(x: Any) -> Any:
    value = x if isinstance(x, Value) else as_value(x)
    return p.stop_gradient(value) if dtypes.is_inexact(value.dtype) else x


def optimization_barrier(operand: Tree, /) -> Tree:
    """The identity, as a barrier: the compiler moves no operation across it, and does not merge two
    barriers.

    Args:
      operand: an array, or containers of arrays.
    Returns: the same.
    Example:
      >>> from weft import lax
      >>> lax.optimization_barrier(3.0).item()
      3.0
    Source: StableHLO `optimization_barrier`.
    """
    leaves, tree = tree_flatten(operand)
    return tree.unflatten(p.optimization_barrier(*leaves)) if leaves else operand


def tie_in(x: PyTree, y: PyTree) -> PyTree:
    """`y`. (In old versions of the documented system it tied y to the trace of x.)

    Example:
      >>> from weft import lax
      >>> lax.tie_in(1, 2)
      2
    Source: JAX documentation, `jax.lax.tie_in`.
    """
    return y
