"""Views of a program in the form of JAX's `core`, for other libraries' interpreters.

weft's own programs (`core/jaxpr.py`) are made for speed: they hold the values of their constants,
literals are arrays, and the parameters of an equation are a tuple of pairs.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .array import Array
from .aval import Aval

if TYPE_CHECKING:
    from .jaxpr import Equation, Jaxpr, Var
    from .primitive import Primitive


class Literal:
    """A number among the inputs of an equation or the outputs of a program.

    Attributes:
      val: the number, as an array without axes.
      aval: its aval.
    Example:
      >>> import weft
      >>> x, two = weft.make_jaxpr(lambda x: x * 2.0)(1.0).eqns[0].invars
      >>> two.val.item(), isinstance(two, Literal), isinstance(x, Literal)
      (2.0, True, False)
    Source: JAX documentation, `jax.extend.core.Literal`.
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: Array) -> None:
        self.val = val
        self.aval: Aval = val.aval

    def __repr__(self) -> str:
        return f"Literal({self.val})"


def literal_or_var(atom: object) -> Any:
    """The variable itself; for an array, a `Literal`."""
    return Literal(atom) if isinstance(atom, Array) else atom


class JaxprEqn:
    """An equation of a program: `outvars = primitive[params] invars`.

    Attributes:
      primitive: the operation. `primitive.bind(*values, **params)` applies it; it returns a list if
        `primitive.multiple_results`.
      invars: variables and literals.
      outvars: variables.
      params: a dict; programs inside are closed ones.
      source_info: the operation, and the user's line if it was recorded (`debug_nans`).
    Example:
      >>> import weft
      >>> (e,) = weft.make_jaxpr(lambda x: x.sum(0))(weft.numpy.ones((2, 3))).eqns
      >>> e.primitive, e.invars[0].aval, e.params
      (reduce_sum, float32[2,3], {'axes': (0,)})
    Source: JAX documentation, `jax.extend.core.JaxprEqn`.
    """

    __slots__ = ("invars", "outvars", "params", "primitive", "source_info")

    def __init__(self, equation: "Equation") -> None:
        self.primitive: Primitive = equation.primitive
        self.invars = [literal_or_var(v) for v in equation.inputs]
        self.outvars: list[Var] = list(equation.outvars)
        self.params: dict[str, Any] = dict(equation.params)
        self.source_info = equation.source_info

    def __repr__(self) -> str:
        return f"JaxprEqn({self.primitive}, {self.params})"


class OpenJaxpr:
    """A program whose constants are variables without values: `weft.core.Jaxpr`.

    The result of `make_jaxpr` has one as `jaxpr`, and the values as `consts`.

    Attributes:
      constvars, invars: variables.
      eqns: the equations.
      outvars: variables and literals.
    Example:
      >>> import weft
      >>> closed = weft.make_jaxpr(lambda x: (weft.numpy.sin(x), 1.0))(2.0)
      >>> closed.jaxpr.eqns, closed.jaxpr.outvars
      ([JaxprEqn(sin, {})], [Var<float32[]>, Literal(1.0)])
    Source: JAX documentation, `jax.extend.core.Jaxpr`.
    """

    __slots__ = ("closed",)

    def __init__(self, closed: "Jaxpr") -> None:
        self.closed = closed

    @property
    def constvars(self) -> "Sequence[Var]":
        """The variables of the constants."""
        return self.closed.constvars

    @property
    def invars(self) -> "Sequence[Var]":
        """The variables of the arguments."""
        return self.closed.invars

    @property
    def outvars(self) -> list[Any]:
        """The results: variables and literals."""
        return [literal_or_var(v) for v in self.closed.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations."""
        return self.closed.eqns

    @property
    def equations(self) -> "Sequence[Equation]":
        """The equations as weft's own interpreters read them."""
        return self.closed.equations

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenJaxpr) and other.closed is self.closed

    def __hash__(self) -> int:
        return hash(self.closed)

    def __str__(self) -> str:
        return str(self.closed)

    __repr__ = __str__
