"""Operands of activations, and plans for cheap eager calls. Narrow floats are computed in float32
and rounded once.
"""

import functools
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..errors import ShapeError
from ..numpy.creation import broadcast
from ..numpy.plans import composite
from ..numpy.promotion import as_inexact, cast, noted, promote_values, strong, value
from ..numpy.reductions import keep_axes, truth, wide_of
from ..primitives import structural


def number(name: str, x: Any, argument: str = "x") -> Any:
    """A value of an inexact dtype; integers and booleans become the default float."""
    return as_inexact(name, value(name, x, argument))


def real_number(name: str, x: Any) -> Any:
    """A value of a float dtype; integers and booleans become the default float."""
    return no_complex(name, number(name, x), "x")


def no_complex(name: str, x: Any, argument: str = "x") -> Any:
    """Raises an error for complex numbers."""
    if dtypes.is_complex(x.aval.dtype):
        raise noted(
            ShapeError(f"{name}: {argument} must be real; got {x.aval}\n  fix: np.real({argument})")
        )
    return x


def with_parameter(name: str, x: Any, parameter: Any, argument: str) -> tuple[Any, Any]:
    """An operand and a parameter of an activation, as floats of one dtype."""
    x, second_operand = value(name, x), parameter
    if not isinstance(second_operand, (int, float)):
        second_operand = no_complex(name, value(name, second_operand, argument), argument)
    operand, parameter_value = promote_values(
        name, no_complex(name, x), second_operand, to_inexact=True
    )
    weak_type = operand.aval.weak_type
    return (
        operand,
        parameter_value
        if parameter_value.aval.weak_type == weak_type or weak_type
        else strong(parameter_value),
    )


def activation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of values with one float dtype (by position) and hashable options (by
    keyword); its result has the dtype of the first operand. Eager calls run it from a plan.
    """

    @functools.wraps(function)
    def rounded(x: Any, *parameters: Any, **options: Any) -> Any:
        dtype, wide_dtype = x.aval.dtype, wide_of(x.aval.dtype)
        if wide_dtype == dtype:
            return function(x, *parameters, **options)
        xs = [cast(v, wide_dtype) if v.aval.dtype == dtype else v for v in (x, *parameters)]
        return cast(function(*xs, **options), dtype, x.aval.weak_type)

    return composite(rounded)


def sum_over(x: Any, axes: tuple[int, ...]) -> Any:
    return keep_axes(structural.reduce_sum(x, axes=axes), x, axes, True)


def with_mask(name: str, x: Any, where: Any) -> list[Any]:
    """The mask among the operands, if there is one."""
    if where is None:
        return []
    mask = truth(name, where, "where")
    broadcast(name, mask, x.shape)
    return [mask]
