"""Creation of arrays: array, asarray, copy, astype, zeros, ones, empty, full, and zeros_like,
ones_like, empty_like, full_like.

Python data and NumPy arrays become arrays on the host; they move to a device when they are first
used there. Functions that read buffers, files and iterators are in `from_data.py`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..compiler.placing import with_default_device
from ..config import caches, thread
from ..core.array import Array, as_value, from_host, integer_overflow, refuse_masked, unshared
from ..core.aval import aval as aval_of
from ..core.caching import remember_under
from ..core.kernels import cast_on_host, run_kernel
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..interpreters.eager_tiers import made_on_device
from ..lax.creation import sharding_like
from ..lax.operands import uncommitted
from ..primitives import comparison, creation, selection, slicing, structural
from ..transforms.devices.device_put import device_put
from ..typing import ArrayLike, DTypeLike, Shape
from ..user_lines import called_with
from .axes import as_int, shape_tuple
from .plans import plan_table
from .promotion import SCALARS, cast, noted, value

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "astype",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_base = current.base
_requested_dtypes = plan_table()  # dtype argument -> canonical dtype


def dtype_argument(name: str, dtype: Any) -> Any:
    """The canonical dtype of a dtype argument; `None` for `None`."""
    if dtype is None:
        return None
    try:
        return caches.now[_requested_dtypes][dtype]
    except (KeyError, TypeError):
        pass
    try:
        state, canonical = thread.switches, dtypes.requested_dtype(dtype, name)
        if dtype in (int, float, complex) or dtypes.named_dtype(dtype) == canonical:  # no warning
            remember_under(state, _requested_dtypes, dtype, canonical)
        return canonical
    except TypeError as error:
        raise noted(TypeError(f"{name}: {error}")) from None


def on_device(x: Any, device: Any) -> Any:
    """A value moved to a device; the value itself for `None`."""
    return x if device is None else device_put(x, device)


# --- from data ---


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Array:
    """An array with a copy of the data.

    Args:
      object: an array, a scalar, nested lists or tuples of those, or another object that NumPy
        converts to an array.
      dtype: dtype of the result; by default the dtype of the data, with 64-bit types narrowed to
        32 bits unless x64 is on. A Python scalar alone gives a weakly typed array.
      copy: False allows the array to share memory with `object`.
      order: ignored: arrays have no memory order.
      ndmin: the minimal number of axes; axes of length one are added in front.
      device: the device of the result.
    Returns: array.
    Raises: TypeError: the data cannot be converted. ValueError: nested lists of unequal lengths.
      OverflowError: an integer is out of range for the dtype.
    Example:
      >>> np.array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    out_dtype = None if dtype is None else dtype_argument("array", dtype)
    data_type = object.__class__
    result: Any
    if data_type is np.ndarray:
        result = from_numpy_array(object, out_dtype, copy)
    elif isinstance(object, Value):
        result = object if out_dtype is None else cast(object, out_dtype)
        if copy and result is object:
            result = copied(object)
    elif data_type in SCALARS:
        result = unshared(as_value(object)) if out_dtype is None else _as_dtype(object, out_dtype)
    elif data_type is list or data_type is tuple or isinstance(object, (list, tuple)):
        result = _from_nested(object, out_dtype)
    else:
        result = _from_other(object, out_dtype, copy)
    if ndmin and result.aval.ndim < as_int("array", ndmin, "ndmin"):
        result = structural.reshape(
            result, shape=(1,) * (ndmin - result.aval.ndim) + result.aval.shape
        )
    if device is None:
        return result if thread.default_device is None else with_default_device(result)
    return on_device(result, device)


def _as_dtype(x: Any, dtype: Any) -> Array:
    """Converts data to an array with a dtype, by NumPy."""
    if dtypes.is_integer(dtype):
        try:
            host = np.asarray(x)
            if host.dtype.kind == "c":
                raise _no_complex(dtype)
            # asarray raises an error for integers out of range
            host = np.asarray(x, dtype) if host.dtype.kind in "iuO" else host_as(host, dtype)
        except OverflowError:
            raise noted(integer_overflow("array", x, dtype)) from None
    elif dtypes.is_float(dtype) and dtypes.is_complex(np.asarray(x).dtype):
        raise _no_complex(dtype)
    else:
        host = run_kernel(np.asarray, x, dtype)
    return Array(host, aval_of(host.shape, dtype))


def _no_complex(dtype: Any) -> Exception:
    return noted(
        TypeError(
            f"array: complex data can't become {dtype.name}\n"
            "  fix: np.real(x) drops the imaginary part"
        )
    )


def host_as(x: np.ndarray, dtype: Any) -> np.ndarray:
    """A NumPy array converted to another dtype as XLA does. (With NumPy, the integers for NaN and
    for floats out of range depend on the processor.)"""
    if dtypes.is_integer(dtype) and dtypes.is_float(x.dtype):
        return run_kernel(structural.converted, x, dtype)
    return cast_on_host(x, dtype)


def from_numpy_array(x: np.ndarray, dtype: Any, copy: bool) -> Array:
    if dtype is None:
        try:
            dtype = dtypes.canonicalize_dtype(x.dtype)
        except TypeError as error:
            raise noted(TypeError(f"array: {error}")) from None
    if x.dtype != dtype:
        host = host_as(x, dtype)
    elif copy:
        host = x.copy()
    else:
        host = x
    return Array(host, aval_of(host.shape, dtype))


def _from_nested(x: Any, dtype: Any) -> Any:
    leaves: list[Any] = []
    _collect(x, leaves)
    types = {leaf.__class__ for leaf in leaves}
    if types <= SCALARS:
        if dtype is None:
            if not types:
                dtype = dtypes.default_float()
            elif complex in types:
                dtype = dtypes.default_complex()
            elif float in types:
                dtype = dtypes.default_float()
            elif int in types:
                dtype = dtypes.default_int()
            else:
                dtype = dtypes.bool_
        return _regular(x, dtype)
    leaves = [
        leaf if isinstance(leaf, Value) or leaf.__class__ in SCALARS else array(leaf, copy=False)
        for leaf in leaves
    ]
    if dtype is None:
        dtype = dtypes.result_type(*leaves)
    concrete = all(isinstance(leaf, Array) or leaf.__class__ in SCALARS for leaf in leaves)
    if concrete and not is_extended(dtype):
        return _regular(_hosts(x), dtype)
    return _stacked(x, dtype)


def _collect(x: Any, leaves: list[Any]) -> None:
    for item in x:
        if item.__class__ is list or item.__class__ is tuple:
            _collect(item, leaves)
        else:
            leaves.append(item)


def _hosts(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_hosts(item) for item in x]
    if isinstance(x, Array):
        return np.asarray(x.host())
    return x if x.__class__ in SCALARS else array(x, copy=False).host()


def _regular(x: Any, dtype: Any) -> Array:
    """An array from nested lists of concrete data."""
    try:
        if dtypes.is_integer(dtype) or dtypes.is_bool(dtype):
            return _as_dtype(x, dtype)
        host = run_kernel(np.array, x, dtype)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise noted(
                ShapeError(
                    "array: nested lists must be of equal lengths, level by level; got "
                    f"{_shortened(x)}\n  fix: pad the short ones"
                )
            ) from None
        raise
    except TypeError:
        return _as_dtype(x, dtype)
    return Array(host, aval_of(host.shape, dtype))


def _shortened(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 80 else text[:77] + "..."


def _stacked(x: Any, dtype: Any) -> Any:
    """An array from nested lists that contain traced values."""
    if not isinstance(x, (list, tuple)):
        x = as_value(x) if x.__class__ in SCALARS else value("array", x, "an element")
        return cast(x, dtype)
    parts = [_stacked(item, dtype) for item in x]
    if not parts:
        return zeros((0,), dtype)
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        raise noted(
            ShapeError(
                "array: nested lists must be of equal lengths, level by level; got parts of shapes "
                + ", ".join(map(str, sorted(shapes)))
            )
        )
    return structural_stack(parts)


def structural_stack(parts: Sequence[Any]) -> Any:
    """Values of one shape and dtype stacked along a new first axis."""
    rows = [structural.reshape(p, shape=(1, *p.shape)) for p in parts]
    return rows[0] if len(rows) == 1 else slicing.concatenate(*rows, dimension=0)


def _from_other(x: Any, dtype: Any, copy: bool) -> Any:
    if x is None or isinstance(x, (str, bytes, dict, set)):
        raise _no_array(x)
    if hasattr(x, "__jax_array__"):
        return array(x.__jax_array__(), dtype, copy)
    try:
        refuse_masked(x)
    except TypeError as error:
        raise noted(TypeError(f"array: {error}")) from None
    host = np.asarray(x)
    if host.dtype == object:
        raise _no_array(x)
    return from_numpy_array(host, dtype, copy)


def _no_array(x: Any) -> Exception:
    # a function among the arguments is otherwise taken for one that raised the error
    name = (called_with(x)[0] if callable(x) else None) or "array"
    kind = "None" if x is None else type(x).__name__
    text = f"{name}: expected an array, a scalar, or nested lists of those; got {kind}"
    return noted(TypeError(f"{text}\n  fix: numbers only; use numpy.nan for missing values"))


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
) -> Array:
    """Converts data to an array; an array is returned unchanged.

    Args:
      a, dtype, device: as in `array`.
      copy: True always copies. False shares the memory of a NumPy array, which must not be written
        to afterwards; it is an error if the data must be copied. None copies if needed.
    Returns: array.
    Raises: as `array`. ValueError: `copy` is False, and the data must be copied.
    Example:
      >>> np.asarray([1.5, 2])
      Array([1.5, 2. ], dtype=float32)
    """
    if isinstance(a, Value) and dtype is None and not copy and device is None:
        return a  # type: ignore[return-value]
    if copy is False and not isinstance(a, Value):
        host = np.asarray(a)
        out_dtype = dtype_argument("asarray", dtype) or dtypes.canonicalize_dtype(host.dtype)
        if host is not a or host.dtype != out_dtype:
            raise noted(
                ShapeError(
                    f"asarray: copy=False needs a NumPy array of dtype {out_dtype}; got "
                    f"{type(a).__name__} of dtype {host.dtype}\n"
                    "  fix: copy=None copies where needed"
                )
            )
        return array(a, out_dtype, copy=False, device=device)
    return array(
        a, dtype, copy=copy is not False and (copy or not isinstance(a, Value)), device=device
    )


asanyarray = asarray
ascontiguousarray = asarray


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array.

    Example:
      >>> np.copy(np.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    return copied(value("copy", a, "a"))


def copied(x: Any) -> Any:
    return current.trace.bind(selection.copy, (x,), (), x.aval)


def astype(
    x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: Any = None
) -> Array:
    """The array converted to another dtype.

    Floats are rounded towards zero to integers; the imaginary part of complex numbers is dropped.

    Args:
      x: array of any shape.
      dtype: a dtype; None is the default float.
    Returns: array of the shape of `x`; never weakly typed.
    Example:
      >>> np.astype(np.array([1.7, -1.7]), int)
      Array([ 1, -1], dtype=int32)
    """
    v = value("astype", x)
    out_dtype = dtype_argument("astype", float if dtype is None else dtype)
    if out_dtype == dtypes.bool_ and v.aval.dtype != out_dtype:
        zero = creation.zeros(v.aval.update(shape=(), weak_type=True))
        result = comparison.ne(v, zero)
    else:
        result = cast(v, out_dtype)
    if copy and result is v:
        result = copied(v)
    return on_device(result, device)


# --- constants ---


def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """An array of zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default the default float.
      device: the device of the result.
    Returns: array of shape `shape`.
    Example:
      >>> np.zeros((2, 2))
      Array([[0., 0.],
             [0., 0.]], dtype=float32)
    """
    return _constant("zeros", 0, shape, dtype, device)


def ones(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """An array of ones.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default the default float.
      device: the device of the result.
    Returns: array of shape `shape`.
    Example:
      >>> np.ones(3, dtype=int)
      Array([1, 1, 1], dtype=int32)
    """
    return _constant("ones", 1, shape, dtype, device)


def empty(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """An array of zeros: memory is never uninitialised.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default the default float.
      device: the device of the result.
    Returns: array of shape `shape`.
    Example:
      >>> np.empty(2)
      Array([0., 0.], dtype=float32)
    """
    return _constant("empty", 0, shape, dtype, device)


def _constant(name: str, number: int, shape: Any, dtype: Any, device: Any) -> Any:
    lengths = shape_tuple(name, shape)
    out_dtype = dtypes.default_float() if dtype is None else dtype_argument(name, dtype)
    aval = aval_of(lengths, out_dtype)
    if current.trace is not _base or is_extended(out_dtype) or made_on_device(aval.size):
        return on_device(creation.full(aval, number), device)
    try:
        host = np.zeros(lengths, out_dtype) if not number else np.full(lengths, number, out_dtype)
    except MemoryError as error:
        raise noted(error)  # noqa: B904
    return on_device(Array(host, aval), device)


def full(
    shape: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Any = None
) -> Array:
    """An array filled with one value, or with an array that is broadcast.

    Args:
      shape: an int or a sequence of ints.
      fill_value: a scalar, or an array that broadcasts to `shape`.
      dtype: by default the dtype of `fill_value` (weak if it is a Python scalar).
      device: the device of the result.
    Returns: array of shape `shape`.
    Example:
      >>> np.full((2,), 7)
      Array([7, 7], dtype=int32, weak_type=True)
    """
    lengths = shape_tuple("full", shape)
    return on_device(_filled("full", lengths, fill_value, dtype_argument("full", dtype)), device)


def _filled(name: str, shape: Shape, fill_value: Any, dtype: Any, weak_type: bool = False) -> Any:
    if fill_value.__class__ in SCALARS:
        if is_extended(dtype):
            raise noted(no_numbers(name, f"dtype {dtype} for {fill_value!r}"))
        if dtype is None or weak_type:
            x = as_value(fill_value) if dtype is None else cast(as_value(fill_value), dtype, True)
        else:
            x = _as_dtype(fill_value, dtype)
        if current.trace is _base and not weak_type and not made_on_device(math.prod(shape)):
            return Array(np.full(shape, x._host, x.aval.dtype), x.aval.update(shape=shape))
    elif isinstance(fill_value, (list, tuple)):
        x = array(fill_value, dtype)
    else:
        x = value(name, fill_value, "fill_value")
        if dtype is not None:
            x = cast(x, dtype, weak_type)
    return broadcast(name, x, shape)


def broadcast(name: str, x: Any, shape: Shape) -> Any:
    """NumPy's broadcasting of one value, with an error that names the function."""
    if x.aval.shape == shape:
        return x
    if x.aval.ndim > len(shape) or any(
        n not in (1, m) for n, m in zip(x.aval.shape[::-1], shape[::-1], strict=False)
    ):
        raise noted(
            ShapeError(
                f"{name}: {x.aval} does not broadcast to shape {shape}\n"
                "  fix: axes are aligned from the right, and must be equal or 1"
            )
        )
    return structural.widen(x, shape)


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[Shape, Any, bool]:
    """Shape, dtype and weak type of an array like `a`."""
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = value(name, a, "a")
    requested_dtype = dtype_argument(name, dtype)
    lengths = tuple(a.shape) if shape is None else shape_tuple(name, shape)
    weak_type = requested_dtype is None and bool(getattr(a, "weak_type", False))
    return (
        lengths,
        dtypes.canonicalize_dtype(a.dtype) if requested_dtype is None else requested_dtype,
        weak_type,
    )


def _constant_like(name: str, number: int, a: Any, dtype: Any, shape: Any, device: Any) -> Any:
    if uncommitted(a) and dtype is None and shape is None and not a.aval.weak_type:
        return _constant(name, number, a.aval.shape, a.aval.dtype, device)
    lengths, out_dtype, weak_type = _like(name, a, dtype, shape)
    device = sharding_like(a, shape) if device is None else device
    if not weak_type:
        return _constant(name, number, lengths, out_dtype, device)
    return on_device(creation.full(aval_of(lengths, out_dtype, True), number), device)


def zeros_like(
    a: Any, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of zeros with the shape and dtype of another array.

    Args:
      a: an array, or anything with a shape and a dtype.
      dtype, shape: by default those of `a`.
    Example:
      >>> np.zeros_like(np.arange(3))
      Array([0, 0, 0], dtype=int32)
    """
    return _constant_like("zeros_like", 0, a, dtype, shape, device)


def ones_like(
    a: Any, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of ones with the shape and dtype of another array.

    Args:
      a: an array, or anything with a shape and a dtype.
      dtype, shape: by default those of `a`.
    Example:
      >>> np.ones_like(np.arange(3.0))
      Array([1., 1., 1.], dtype=float32)
    """
    return _constant_like("ones_like", 1, a, dtype, shape, device)


def empty_like(
    prototype: Any, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of zeros with the shape and dtype of another array.

    Args:
      prototype: an array, or anything with a shape and a dtype.
      dtype, shape: by default the same as `prototype`'s.
    Example:
      >>> np.empty_like(np.arange(2))
      Array([0, 0], dtype=int32)
    """
    return _constant_like("empty_like", 0, prototype, dtype, shape, device)


def full_like(
    a: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """An array filled with one value, with the shape and dtype of another array.

    Args:
      a: an array, or anything with a shape and a dtype.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype, shape: by default those of `a`.
    Example:
      >>> np.full_like(np.arange(3.0), 2)
      Array([2., 2., 2.], dtype=float32)
    """
    lengths, out_dtype, weak_type = _like("full_like", a, dtype, shape)
    device = sharding_like(a, shape) if device is None else device
    return on_device(_filled("full_like", lengths, fill_value, out_dtype, weak_type), device)


def from_numpy(x: Any) -> Array:
    """An array that shares the memory of a NumPy array, which must not be written to afterwards."""
    array = from_host(x, copy=False)
    return array if thread.default_device is None else with_default_device(array)
