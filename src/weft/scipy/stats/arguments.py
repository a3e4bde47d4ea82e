"""Makes the public functions of distributions from formulas: binds and promotes their arguments,
and plans calls.

A distribution writes its signature once, as a function that returns its arguments as a tuple.
`help()` shows it, and type checkers read it, for each function made here.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias

from ... import dtypes
from ...core.array import Array
from ...errors import ShapeError
from ...numpy.plans import composite
from ...numpy.promotion import SCALARS, cast, check_ranks, promote_values, strong, value
from ...numpy.reductions import wide_of
from ...transforms.jit.function import jit
from ...typing import ArrayLike
from ...user_lines import note_user_line, noted

__all__: list[str] = []

P = ParamSpec("P")

Arguments: TypeAlias = tuple[ArrayLike, ...]
"""A point or a probability, the shape parameters, the location, and for densities the scale."""

Formula: TypeAlias = Callable[..., Any]
"""(values of one real float dtype, `standard`: True if location and scale are 0 and 1) -> value."""


def point_arguments(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    """The signature at a point, for a distribution without shape parameters."""
    return x, loc, scale


def probability_arguments(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    """The signature at a probability, for a distribution without shape parameters."""
    return q, loc, scale


def public(
    module: str,
    name: str,
    bind: Callable[P, Arguments],
    formula: Formula,
    doc: str,
    compiled: bool = False,
) -> Callable[P, Array]:
    """The public function `name` of a distribution's module.

    Args:
      bind: a function with the signature, which returns the arguments.
      formula: computes the result from values of one float dtype and the option `standard`.
      compiled: run eager calls as one compiled program, because the formula has loops.
    """
    signature = inspect.signature(bind)
    full_name = f"{module.rpartition('.')[2]}.{name}"
    names = list(signature.parameters)
    call = jit(formula, static_argnames="standard") if compiled else composite(formula)

    def function(*args: P.args, **kwargs: P.kwargs) -> Array:
        try:
            arguments = bind(*args, **kwargs)
        except TypeError as error:
            message = f"{full_name}: {str(error).partition('() ')[2]}"
            raise noted(TypeError(f"{message}; its signature is {signature}")) from None
        try:
            return promoted(full_name, names, arguments, call)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, doc
    result: Any = function
    result.__signature__ = signature.replace(return_annotation=Array)
    result.__annotations__ = {**bind.__annotations__, "return": Array}
    return function


def promoted(full_name: str, names: Sequence[str], arguments: Arguments, call: Formula) -> Array:
    """The result for arguments of any kind. It computes 16-bit floats in float32."""
    loc_and_scale = arguments[names.index("loc") :]
    standard = all(x.__class__ is int and x == i for i, x in enumerate(loc_and_scale))
    values = reals(full_name, names, arguments[: -len(loc_and_scale)] if standard else arguments)
    dtype = values[0].aval.dtype
    compute_dtype = wide_of(dtype)
    if compute_dtype != dtype:
        return cast(call(*[cast(x, compute_dtype) for x in values], standard=standard), dtype)  # type: ignore
    return call(*values, standard=standard)


def reals(full_name: str, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
    """Arguments as values of one real float dtype.

    Raises: TypeError: an argument is not an array or a number, or is complex.
    """
    float_dtypes = [
        x if x.__class__ in SCALARS else value(full_name, x, n)
        for n, x in zip(names, arguments, strict=False)
    ]
    for n, x in zip(names, float_dtypes, strict=False):
        if dtypes.is_complex(x.dtype) if hasattr(x, "dtype") else x.__class__ is complex:
            description = x.aval if hasattr(x, "aval") else x
            raise ShapeError(
                f"{full_name}: {n} must be real; got {description}\n  fix: {n}.real drops the "
                "imaginary part"
            )
    check_ranks(full_name, *float_dtypes)
    values = promote_values(full_name, *float_dtypes, to_inexact=True)
    if all([v.aval.weak_type for v in values]):
        return values
    return [strong(v) for v in values]  # a weak float32 alone becomes the default float


def in_wide_real_dtype(full_name: str, function: Callable[..., Any], **arguments: Any) -> Array:
    """The result of a function whose arguments are converted to one real float dtype. It computes
    16-bit floats in float32."""
    values = reals(full_name, list(arguments), list(arguments.values()))
    dtype = values[0].aval.dtype
    compute_dtype = wide_of(dtype)
    return cast(function(*[cast(x, compute_dtype) for x in values]), dtype)
