"""`weft.core`: programs and values under JAX's names; eval_jaxpr and jaxpr_as_fun run a program,
get_aval returns the aval of a value.

A `Jaxpr` of weft's own modules and of `weft.extend` has the values of its constants, so it is JAX's
`ClosedJaxpr`. The `Jaxpr` here is JAX's, without them.
"""

from collections.abc import Callable, Sequence
from typing import Any, overload

from ..typing import ArrayLike
from .array import Array, Tracer, as_value
from .aval import Aval
from .jaxpr import Jaxpr as ClosedJaxpr, Var, run
from .open_jaxpr import JaxprEqn, Literal, OpenJaxpr
from .primitive import Primitive
from .ref import AbstractRef, Ref
from .source import located
from .trace import current

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Var",
    "eval_jaxpr",
    "get_aval",
    "jaxpr_as_fun",
]

Jaxpr = OpenJaxpr
ShapedArray = Aval


@located
def get_aval(x: object) -> Aval:
    """The aval of an array, a tracer or a number: its shape, dtype and weak type.

    Raises: TypeError: `x` is neither an array nor a number.
    Example:
      >>> import weft
      >>> weft.core.get_aval(weft.numpy.ones((2, 3))), weft.core.get_aval(1.0).weak_type
      (float32[2,3], True)
    Source: JAX documentation, `jax.core.get_aval`.
    """
    return as_value(x).aval


@overload
def typeof(x: Ref) -> AbstractRef: ...
@overload
def typeof(x: ArrayLike) -> Aval: ...
@located
def typeof(x: object) -> Aval | AbstractRef:
    """The type of an array, a tracer or a number: its shape and dtype, printed `float32[2,3]`.

    Args:
      x: the array; or a ref, whose type is printed `Ref{float32[2,3]}`.
    Returns: an object with `shape`, `dtype`, `ndim`, `size` and `weak_type`; those of equal types
      of arrays are one object.
    Raises: TypeError: `x` is neither an array nor a number.
    Example:
      >>> import weft
      >>> weft.typeof(weft.numpy.ones((2, 3)))
      float32[2,3]
      >>> weft.jit(lambda x: weft.numpy.zeros(weft.typeof(x).shape))(weft.numpy.ones(2))
      Array([0., 0.], dtype=float32)
    Source: JAX documentation, `jax.typeof`.
    """
    if isinstance(x, Ref):
        return AbstractRef(x.aval)
    return as_value(x).aval


@located
def eval_jaxpr(
    jaxpr: OpenJaxpr | ClosedJaxpr,
    consts: Sequence[object],
    *args: object,
    propagate_source_info: bool = True,
) -> list[Any]:
    """Applies a program to values, operation by operation.

    Args:
      jaxpr: the program.
      consts: the values of its constants, `closed.consts`.
      args: a value for each of its inputs.
      propagate_source_info: has no effect, because lines are looked up when an error occurs.
    Returns: a list of its results.
    Raises: TypeError: a wrong number of constants or arguments.
    Example:
      >>> import weft
      >>> closed = weft.make_jaxpr(lambda x, y: (x + y, 1.0))(2.0, 3.0)
      >>> weft.core.eval_jaxpr(closed.jaxpr, closed.consts, 4.0, 5.0)
      [Array(9., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True)]
    Source: JAX documentation, `jax.core.eval_jaxpr`.
    """
    closed = jaxpr.closed if isinstance(jaxpr, OpenJaxpr) else jaxpr
    for values, variables, kind in (
        (consts, closed.constvars, "constants"),
        (args, closed.invars, "arguments"),
    ):
        if len(values) != len(variables):
            raise TypeError(
                f"eval_jaxpr: the program has {len(variables)} {kind}; got {len(values)}\n"
                "  fix: pass closed.jaxpr, closed.consts, and an array for each of closed.in_avals"
            )
    program = closed.without_consts()
    return run(program, [as_value(x) for x in (*consts, *args)], current.trace)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Array]]:
    """A function that applies a program to its arguments and returns the list of its results.

    Example:
      >>> import weft
      >>> f = weft.core.jaxpr_as_fun(weft.make_jaxpr(lambda x: x * 3.0)(1.0))
      >>> f(weft.numpy.float32(2.0))
      [Array(6., dtype=float32)]
    Source: JAX documentation, `jax.extend.core.jaxpr_as_fun`.
    """

    def function(*args: object) -> list[Array]:
        return eval_jaxpr(closed_jaxpr, closed_jaxpr.consts, *args)

    return function
