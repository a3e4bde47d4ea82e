"""Classes of JAX that libraries check for, derive from or name in annotations, and that are no
classes of weft."""

from typing import Any

from ..interpreters.jvp import JvpTracer
from ..interpreters.linearize import LinearizeTracer
from ..user_lines import noted
from .stand_ins import RefusedError, Standing, Transformed


class JVPTracer(metaclass=Standing, of=(JvpTracer, LinearizeTracer)):
    """The class of values under differentiation; weft has one class for each of its two modes."""


class PjitFunction(metaclass=Transformed, methods="trace lower eval_shape clear_cache memory"):
    """The class of jitted functions."""


class PmapFunction(metaclass=Transformed, methods="lower clear_cache"):
    """The class of functions of `pmap`."""


class HiPrimitive:
    """The base class of operations on a library's own types. They can be defined but not
    applied."""

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Raises an error."""
        raise noted(
            RefusedError(f"{self.name}: weft has no primitives on types of a library's own")
        )


class TypedNdArray:
    """The class of typed NumPy literals. weft's literals are arrays, so it has no instances."""


class TypedInt(int):
    """The class of typed integer literals; it has no instances either."""


class TypedFloat(float):
    """The class of typed float literals; it has no instances either."""


class TypedComplex(complex):
    """The class of typed complex literals; it has no instances either."""


class DropVar:
    """The class of unused results; weft has no such variables."""


class ConcreteArray:
    """The class of avals with a value, as of 2024. weft's avals have no values, so it has no
    instances."""


class Effect:
    """The base class of JAX's effects."""


class EffectTypeSet:
    """A set of effect classes, in which libraries register theirs."""

    def add_type(self, kind: type) -> None:
        """Registers a class. It has no effect, because weft orders all effects."""

    def contains(self, effect: object) -> bool:
        """True, because every effect is allowed."""
        return True
