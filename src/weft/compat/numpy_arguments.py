"""`jax._src.numpy.util`: how functions of `jax.numpy` check and promote their arguments, for
libraries that define such functions."""

from collections.abc import Callable
from typing import Any

import numpy

from ..dtypes import promote_types
from ..numpy import asarray, expand_dims
from ..numpy.promotion import cast, promote_values, value


def check_arraylike(fun_name: str, *args: Any, **options: Any) -> None:
    """Raises a TypeError for an argument that is not an array or a scalar."""
    ensure_arraylike_tuple(fun_name, args)


def check_arraylike_or_none(fun_name: str, *args: Any) -> None:
    """The same, where `None` is allowed."""
    check_arraylike(fun_name, *[x for x in args if x is not None])


def ensure_arraylike(fun_name: str, *args: Any) -> Any:
    """The arguments as arrays: one array, or a tuple of several."""
    arrays = ensure_arraylike_tuple(fun_name, args)
    return arrays[0] if len(arrays) == 1 else arrays


def ensure_arraylike_tuple(fun_name: str, tup: Any) -> tuple[Any, ...]:
    """The entries of a sequence as arrays."""
    return tuple(value(fun_name, x, f"argument {i}") for i, x in enumerate(tup))


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments as arrays of one dtype."""
    return promote_values("promote_dtypes", *args) if args else []


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """The arguments as arrays of one inexact dtype."""
    return promote_values("promote_dtypes", *args, to_inexact=True)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """The arguments as arrays of one dtype that is not boolean."""
    return promote_values("promote_dtypes", *args, to_number=True)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """The arguments as arrays of one complex dtype."""
    xs = promote_dtypes_inexact(*args)
    dtype = promote_types(xs[0].dtype, numpy.complex64)
    return [cast(x, dtype, x.aval.weak_type) for x in xs]


def promote_shapes(fun_name: str, *args: Any) -> list[Any]:
    """The arguments as arrays of one rank; scalars keep theirs."""
    arrays = [asarray(x) for x in args]
    rank = max((x.ndim for x in arrays), default=0)
    return [expand_dims(x, range(rank - x.ndim)) if 0 < x.ndim < rank else x for x in arrays]


def _promoting_args(promote: Callable[..., list[Any]], description: str) -> Callable[..., Any]:
    """The function that checks arguments, promotes their dtypes and then their ranks."""

    def promote_args(fun_name: str, *args: Any) -> list[Any]:
        return promote_shapes(fun_name, *promote(*ensure_arraylike_tuple(fun_name, args)))

    promote_args.__doc__ = f"The arguments as arrays of one {description} and one rank."
    return promote_args


promote_args = _promoting_args(promote_dtypes, "dtype")
promote_args_inexact = _promoting_args(promote_dtypes_inexact, "inexact dtype")
promote_args_numeric = _promoting_args(promote_dtypes_numeric, "dtype that is not boolean")
promote_args_complex = _promoting_args(promote_dtypes_complex, "complex dtype")
