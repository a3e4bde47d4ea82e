"""Constructs SciPy's elementwise functions from primitives."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.makers import binary, unary
from ...numpy.plans import composite
from ...numpy.promotion import SCALARS, noted, promote_values, strong, value
from ...numpy.ufunc_options import takes_options
from ...typing import Array
from ...user_lines import note_user_line

F = TypeVar("F", bound=Callable[..., Any])


def floats(name: str, **arguments: Any) -> list[Any]:
    """Real arguments as values of one float dtype; errors name the argument."""
    xs = [
        x if x.__class__ in SCALARS else value(name, x, argument)
        for argument, x in arguments.items()
    ]
    values = promote_values(name, *xs, to_inexact=True)
    for argument, x in zip(arguments, values, strict=True):
        if x.aval.dtype.kind == "c":
            raise noted(
                ShapeError(
                    f"{name}: expected real operands; {argument} is {x.aval}\n"
                    "  fix: weft.numpy.real, if the imaginary parts are zero"
                )
            )
    if len({x.aval.weak_type for x in values}) > 1:  # a Python number takes the dtype of an array
        values = [strong(x) for x in values]
    return values


def elementwise(
    primitive: Primitive | Callable[..., Value], name: str, *arguments: str
) -> Callable[..., Array]:
    """An elementwise function of real numbers, with promotion: `function(x, y, …)`.

    Args:
      primitive: a primitive, or a function of values of one float dtype.
      arguments: their names, for messages.
    """
    call = composite(_applied(primitive, name))

    def function(*xs: Any) -> Any:
        try:
            return call(*floats(name, **dict(zip(arguments, xs, strict=True))))
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    if not isinstance(primitive, Primitive):
        return function
    maker: Any = {1: unary, 2: binary}.get(len(arguments))
    if maker is None:
        return function
    fast = maker(primitive, name, to_inexact=True)
    return fast


def computed_by(primitive: Primitive | Callable[..., Value]) -> Callable[[F], F]:
    """Decorates a function that consists of parameters and a docstring: `elementwise` computes it,
    with the options of a ufunc."""

    def decorate(function: F) -> F:
        names = list(inspect.signature(function).parameters)
        call = elementwise(primitive, function.__name__, *names)

        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            if kwargs or len(args) != len(names):
                function(*args, **kwargs)  # raises Python's error for wrong arguments
                args = (*args, *(kwargs[name] for name in names[len(args) :]))
            try:
                return call(*args)
            except TypeError as error:
                for name, x in zip(names, args, strict=True):
                    value(function.__name__, x, name)  # its error names the parameter
                operation, colon, text = str(error.args[0]).partition(": ")
                if colon and operation.isidentifier():  # of a function that it calls
                    error.args = (f"{function.__name__}: {text}",)
                raise

        return takes_options(public)  # type: ignore[return-value]

    return decorate


def _applied(primitive: Primitive | Callable[..., Value], name: str) -> Callable[..., Value]:
    def apply(*xs: Any) -> Any:
        return primitive(*xs)

    apply.__name__ = apply.__qualname__ = name
    return apply
