"""Arguments of samplers: checks of dtype, shape, parameters and mode; and `sampler`, which turns a
function that draws samples into a public one. Small eager arrays use a plan, others a compiled
program.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array
from ..core.aval import aval
from ..core.kernels import run_kernel
from ..core.trace import current
from ..errors import ShapeError
from ..interpreters.eager_tiers import accelerated
from ..numpy.axes import shape_tuple
from ..numpy.creation import dtype_argument
from ..numpy.plans import composite
from ..numpy.promotion import SCALARS, cast, value
from ..transforms.jit.function import jit
from .keys import one_key

# --- arguments ---


def float_dtype(name: str, dtype: Any, accepts_complex: bool = False) -> Any:
    """The dtype of samples: the requested one, or the default float."""
    result_dtype = dtype_argument(name, dtype)
    if result_dtype is None:
        return dtypes.default_float()
    if not (dtypes.is_float(result_dtype) or (accepts_complex and dtypes.is_complex(result_dtype))):
        expected = "a float or complex dtype" if accepts_complex else "a float dtype"
        raise ShapeError(
            f"{name}: dtype must be {expected}; got {result_dtype}\n"
            "  fix: float32, or randint for integers"
        )
    return result_dtype


def parameter(name: str, x: Any, argument: str, dtype: Any) -> Any:
    """A parameter as a value of the samples' dtype."""
    if x.__class__ in SCALARS and x.__class__ is not complex:
        return Array(run_kernel(np.array, x, dtype)[()], aval((), dtype))
    v = value(name, x, argument)
    if dtypes.is_complex(v.aval.dtype):
        raise ShapeError(
            f"{name}: {argument} must be real; got {v.aval}\n  fix: np.real({argument})"
        )
    return cast(v, dtype)


def sample_shape(name: str, shape: Any, **parameters: Any) -> tuple[int, ...]:
    """The shape of the samples: the requested shape, or the shape to which parameters broadcast."""
    shapes = [p.aval.shape for p in parameters.values()]
    try:
        if shape is None:
            return np.broadcast_shapes(*shapes)
        result_shape = shape_tuple(name, shape)
        if np.broadcast_shapes(result_shape, *shapes) == result_shape:
            return result_shape
        problem = f"don't broadcast to shape {result_shape}"
    except ValueError:
        problem = (
            "don't broadcast together" if shape is None else f"don't broadcast to shape {shape}"
        )
    parameter_texts = ", ".join(f"{n} {p.aval}" for n, p in parameters.items())
    raise ValueError(
        f"{name}: parameters {problem}: {parameter_texts}\n"
        "  fix: `shape` is the shape of the result; leave it out to broadcast the parameters"
    )


def drawing_mode(name: str, mode: Any) -> str:
    """The resolution of probabilities: "low" (also `None`), or "high"."""
    if mode is None:
        return "low"
    if not isinstance(mode, str) or mode not in ("low", "high"):
        raise ValueError(
            f"{name}: mode must be 'low' or 'high'; got {mode!r}\n"
            "  fix: 'high' where probabilities below 1e-7 count"
        )
    return mode


def without_parameters(name: str, key: Any, shape: Any, dtype: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments of a distribution without parameters."""
    return one_key(name, key), {
        "shape": shape_tuple(name, shape),
        "dtype": float_dtype(name, dtype),
    }


def with_parameters(
    name: str, key: Any, shape: Any, dtype: Any, **arguments: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a distribution with parameters."""
    data, dtype = one_key(name, key), float_dtype(name, dtype)
    parameters = {n: parameter(name, x, n, dtype) for n, x in arguments.items()}
    shape = sample_shape(name, shape, **parameters)
    return [data, *parameters.values()], {"shape": shape, "dtype": dtype}


# one compiled program draws larger arrays
_MAX_PLANNED_ELEMENTS = 1 << 20


# --- running ---


def sampler(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of values (a key first) with hashable keyword options, including
    `shape`. Eager calls run its plan (see `composite`), or one compiled program for large arrays
    and on accelerators.
    """
    planned = {False: composite(function), True: composite(function)}  # one for each stream
    compiled: dict[tuple[str, ...], Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*xs: Any, shape: tuple[int, ...], **options: Any) -> Any:
        if current.trace is not current.base:
            return function(*xs, shape=shape, **options)
        element_count = 1
        for n in shape:
            element_count *= n
        if element_count <= _MAX_PLANNED_ELEMENTS and not accelerated():
            return planned[thread.threefry_partitionable](*xs, shape=shape, **options)
        names = ("shape", *options)
        if names not in compiled:
            compiled[names] = jit(function, static_argnames=names)
        return compiled[names](*xs, shape=shape, **options)

    return call
