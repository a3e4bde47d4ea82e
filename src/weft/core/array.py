"""Arrays and tracers, the two kinds of value; Python and NumPy data converted to arrays.

The base trace (`interpreters/evaluate.py`) moves elements between the host and devices.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..extended_dtypes import host_dtype, is_extended, no_numbers, stored
from ..sharding import Sharding, SingleDeviceSharding
from ..user_lines import called_with, noted
from .aval import Aval, aval
from .kernels import cast_on_host, run_kernel
from .placement import ArrayType
from .trace import current
from .value import Value


@dataclass(frozen=True)
class Shard:
    """The part of an array that is on one device."""

    device: Any
    index: tuple[slice, ...]
    """The part: `x[index]`."""
    data: "Array"
    replica_id: int
    """The number of devices before this one that have the same part."""


class Array(Value):
    """An immutable array: on the host, on devices, or both. weft's functions make them.

    `type` is the aval and the placement (`core/placement.py`), `aval` the aval alone. Both are
    slots, because every eager operation reads them.
    """

    __slots__ = ("__weakref__", "_buffer", "_host", "_shared", "aval", "type")
    type: ArrayType
    _shared: bool  # set if programs share the array: see `is_shared`

    def __init__(self, host: object, type: ArrayType, buffer: object = None) -> None:
        """Args:
        host: the elements as a NumPy array, if they are on the host.
        type: the aval and the placement; just an aval for an array that may be anywhere.
        buffer: XLA's buffer, on the devices of the type, or on the default device.
        """
        self._host = host
        self._buffer = buffer
        self.type = type
        self.aval = type.aval

    def concrete(self) -> "Array":
        return self

    def host(self) -> Any:
        """The elements as a NumPy array (or NumPy scalar) that must not be written to."""
        host = self._host
        return current.base.fetch(self) if host is None else host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if is_extended(self.aval.dtype):
            raise noted(no_numbers("numpy.asarray", self.aval))
        host = np.asarray(self.host())
        if dtype is not None and dtype != host.dtype:
            if copy is False:
                raise ValueError(f"__array__: converting {self.aval} to {dtype} needs a copy")
            return cast_on_host(host, np.dtype(dtype))
        if copy:
            return host.copy()
        if host.flags.writeable:
            host = host.view()
            host.flags.writeable = False
        return host

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the array, in the memory where it is.

        Args:
          stream: the consumer's stream on an accelerator, which waits for the array. Without one
            the array is ready when this returns.
          max_version: the newest version of DLPack that the consumer reads.
          dl_device: the target device: the array's own, or the CPU.
          copy: True copies, False never copies, `None` copies if necessary.
        Raises: BufferError: the device or the dtype is not supported, or only a copy is possible.
        """
        options = {
            "stream": stream,
            "max_version": max_version,
            "dl_device": dl_device,
            "copy": copy,
        }
        return current.base.to_dlpack(self, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return current.base.dlpack_device(self)

    def __buffer__(self, flags: int) -> memoryview:
        """The elements as a read-only buffer; Python 3.12 and later call this."""
        if is_extended(self.aval.dtype):
            raise noted(no_numbers("buffer", self.aval))
        if flags & _WRITABLE:
            raise BufferError(
                f"buffer: arrays are immutable; got a request to write to {self.aval}"
            )
        try:
            host: Any = np.asarray(self.host())
            return memoryview(host).toreadonly()
        except ValueError:  # such as bfloat16
            raise BufferError(
                f"buffer: Python's buffers have no elements of dtype {self.aval.dtype.name}\n"
                "  fix: x.tobytes(), or x.view('uint16')"
            ) from None

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def tobytes(self, order: str = "C") -> bytes:
        """The bytes of the elements, in row-major order; "F" is column-major."""
        return np.asarray(self.host()).tobytes(order)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        parts = np.array(self.host()), self.aval.weak_type
        return _unpickle, (*parts, self.aval.dtype) if is_extended(self.aval.dtype) else parts

    def __copy__(self) -> "Array":
        # a new object, since a program may take the memory of the one that is donated to it
        return current.base.duplicate(self)

    def __deepcopy__(self, memo: object) -> "Array":
        return self.__copy__()

    def __repr__(self) -> str:
        return Value.operators.array_repr(self)

    def __str__(self) -> str:
        return Value.operators.array_str(self)

    # --- placement ---

    @property
    def device(self) -> Any:
        """The device that holds the array (the default device for an array on the host).

        For an array on several devices this is its sharding; `devices()` returns all of them.
        """
        return self.type.placement.device or current.base.default_device(self)

    def devices(self) -> set[Any]:
        """The devices that hold the array."""
        return set(self.type.placement.devices or (self.device,))

    @property
    def sharding(self) -> Sharding:
        """The sharding: which part of the array each device holds."""
        return self.type.placement.sharding or SingleDeviceSharding(self.device)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts of the array that this process holds."""
        parts = {part.device: part for part in current.base.parts_of(self)}
        sharding = self.sharding
        shards = []
        seen: dict[Any, int] = {}
        for device, index in zip(sharding.devices, sharding.indices(self.shape), strict=True):
            key = tuple((part.start, part.stop) for part in index)
            copies = seen[key] = seen.get(key, -1) + 1
            if device in parts:
                shards.append(Shard(device, index, parts[device], copies))
        return shards

    def addressable_data(self, index: int) -> "Array":
        """The part on the device at this position among the devices of this process."""
        return self.addressable_shards[index].data

    @property
    def is_fully_replicated(self) -> bool:
        """True if every device of the array holds all of it."""
        sharding = self.type.placement.sharding
        return sharding is None or sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """True if all of the array's devices belong to this process."""
        sharding = self.type.placement.sharding
        return sharding is None or sharding.is_fully_addressable

    @property
    def global_shape(self) -> tuple[int, ...]:
        """The shape of the whole array, over all processes."""
        return self.aval.shape

    def platform(self) -> str:
        """The platform of the devices that hold the array: 'cpu', 'cuda'."""
        return str(min(self.devices(), key=lambda d: d.id).platform)

    def on_device_size_in_bytes(self) -> int:
        """The total number of bytes that the array takes on its devices."""
        return current.base.on_device_size(self)

    @property
    def committed(self) -> bool:
        """True if the array was put on named devices; operations on it run there."""
        return self.type.placement.committed

    def block_until_ready(self) -> "Array":
        """Waits until the array has been computed; returns it."""
        current.base.wait(self)
        return self

    def copy_to_host_async(self) -> None:
        """Begins copying to the host; on the CPU there is nothing to copy."""

    def delete(self) -> None:
        """Frees the memory now. Using the array afterwards is an error.

        An array that is cached for a Python number, such as `numpy.positive(2.0)`, stays.
        """
        current.base.delete(self)

    def is_deleted(self) -> bool:
        """True if the memory was freed or donated."""
        return current.base.is_deleted(self)

    def is_ready(self) -> bool:
        """True if the array has been computed."""
        return current.base.is_ready(self)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the memory; valid while the array lives."""
        if self.type.placement.group is not None:
            raise noted(
                ValueError(
                    f"unsafe_buffer_pointer: a {self.aval} array on {len(self.devices())} devices "
                    "has no single address\n"
                    "  fix: addressable_shards[i].data.unsafe_buffer_pointer()"
                )
            )
        return current.base.pointer(self)


class Tracer(Value):
    """A value that replaces an array while a function is traced.

    Example:
      >>> from weft.core import Tracer
      >>> @jit
      ... def f(x):
      ...     print(isinstance(x, Tracer), x.shape)
      ...     return x
      >>> f(np.ones(3))
      True (3,)
      Array([1., 1., 1.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_trace", "aval")
    _trace: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise noted(self.conversion_error("numpy.asarray", errors.TracerArrayConversionError))

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        """The error for an operation that needs concrete elements."""
        return error(f"{operation}: {self.aval} is traced: its elements are not known")

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>"

    __str__ = __repr__

    def block_until_ready(self) -> "Tracer":
        """Returns the value itself: there is nothing to wait for."""
        return self

    def __deepcopy__(self, memo: object) -> "Tracer":
        return self


def _unpickle(
    host: np.ndarray[Any, Any], weak_type: bool, dtype: np.dtype[Any] | None = None
) -> Array:
    return Array(host, aval(host.shape, host.dtype if dtype is None else dtype, weak_type))


# --- making values ---

_WRITABLE = 1  # PyBUF_WRITABLE


_SCALARS = (bool, int, float, complex)


_literals: dict[Any, dict[Any, Array]] = {}


def is_shared(x: Array) -> bool:
    """True for an array that is cached for a number, and so shared by programs.

    It must never be deleted or donated. Other arrays leave the slot empty, which costs nothing.
    """
    return hasattr(x, "_shared")


def unshared(x: Any) -> Any:
    """The value; for an array that programs share, a copy that may be donated or deleted."""
    return Array(x._host, x.aval) if hasattr(x, "_shared") else x


def as_value(x: Any, function: str | None = None, parameter: str | None = None) -> Any:
    """`x` itself if it is a value; an `Array` for a scalar or a NumPy array (which is copied).

    An object of another library may return an array or tracer of weft by `x.__jax_array__()`.

    Args:
      function, parameter: the names for the error, if the public function that the user called with
        `x` cannot be found.
    Raises: TypeError: `x` is something else.
    Example:
      >>> as_value(2.0)
      Array(2., dtype=float32, weak_type=True)
      >>> import numpy
      >>> as_value(numpy.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    if isinstance(x, Value):
        return x
    if type(x) in _SCALARS:
        return scalar(x)
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    try:
        return from_host(x)
    except TypeError as error:
        called, given_as = called_with(x)
        if called is not None:
            parameter = given_as
            if function is None or not function.endswith("." + called):  # norm.cdf
                function = called
        raise noted(_not_an_array(error, x, function, parameter)) from None


def _not_an_array(
    error: TypeError, x: object, function: str | None, parameter: str | None
) -> TypeError:
    """The error for an argument, with the names of the function and of its parameter if known."""
    if function is None:
        return error
    kind = "None" if x is None else f"a {type(x).__name__}"
    named = parameter or "the argument"
    expected = f"{function}: expected an array or a scalar for {named}; got {kind}"
    if isinstance(x, (list, tuple)):
        return TypeError(
            f"{expected}\n  fix: {function}(np.array({parameter or 'x'})): lists are never made "
            "into arrays silently, as that is slow"
        )
    if x is None or isinstance(x, (str, dict, set)):
        return TypeError(f"{expected}\n  fix: pass an array or a number for {named}")
    return TypeError(f"{function}: {named}: {error}")


def scalar(x: bool | int | float | complex) -> Array:
    """A weak array for a Python scalar, in this thread's precision."""
    kind = type(x)
    if kind is float:
        dtype = dtypes.default_float()
    elif kind is int:
        dtype = dtypes.default_int()
    elif kind is bool:
        return Array(np.bool_(x), aval((), dtypes.bool_))
    else:
        dtype = dtypes.default_complex()
    return literal(x, dtype)


def literals_of(kind: type, dtype: np.dtype[Any]) -> dict[Any, Array]:
    """The cached arrays for Python scalars of one class and one dtype."""
    return _literals.setdefault((kind, dtype), {})


def literal(x: object, dtype: np.dtype[Any]) -> Array:
    """A weak array for a Python scalar in `dtype`. Cached, since programs repeat numbers.

    Example:
      >>> import numpy
      >>> literal(2.0, numpy.dtype("float32"))
      Array(2., dtype=float32, weak_type=True)
    """
    cache = literals_of(x.__class__, dtype)
    # 0.0 and -0.0 are equal and would share an entry, and so would complex numbers with such parts.
    # Their texts differ, and no number is equal to a text.
    kind = x.__class__
    key = x if kind is int or kind is bool or (x and kind is float) else repr(x)
    array = cache.get(key)
    if array is None:
        try:
            # NumPy computes faster with an array without axes than with a NumPy scalar
            host = np.asarray(run_kernel(stored(dtype).type, x))
            if is_extended(dtype):
                if x:
                    raise noted(no_numbers("array", f"dtype {dtype} for {x!r}"))
                host = host.view(host_dtype(dtype))
            host.flags.writeable = False
        except OverflowError:
            raise noted(integer_overflow("array", x, dtype)) from None
        if len(cache) > 4096:
            cache.clear()
        array = Array(host, aval((), dtype, True))
        array._shared = True
        cache[key] = array
    return array


def literal_key(x: Array) -> tuple[Aval, bytes]:
    """A key for an array of one element, equal for equal types and bits.

    Equal literals are one object only until the cache of `literal` is emptied.
    """
    return x.aval, x.host().tobytes()


@functools.lru_cache(64)
def one(dtype: np.dtype[Any]) -> Array:
    """The number 1 as a strong array, the cotangent with which a gradient begins.

    It is cached, like literals, so that its copy on a device is made once.
    """
    array = Array(literal(1, dtype).host(), aval((), dtype))
    array._shared = True
    return array


def refuse_masked(x: object) -> None:
    """Refuses a masked array, since `numpy.asarray` would drop its mask."""
    if isinstance(x, np.ndarray) and hasattr(x, "filled"):
        raise TypeError(
            f"a masked array ({x.dtype}, shape {x.shape}) isn't taken: its mask would be lost\n"
            "  fix: x.filled(value); or x.data with the mask in numpy.where"
        )


def from_host(x: object, copy: bool = True) -> Array:
    """An `Array` with a copy of a NumPy array or scalar, or of anything `numpy.asarray` accepts."""
    if isinstance(x, Aval):
        raise TypeError(
            f"an argument in which a function must be linear, {x}, is used in a way that isn't\n"
            "  fix: only sums, and products with values that don't depend on it"
        )
    if isinstance(x, (list, tuple, dict, str)) or x is None:
        raise TypeError(
            f"expected an array or a scalar; got a {type(x).__name__}"
            + (
                "\n  fix: numpy.array(x) makes an array of it"
                if isinstance(x, (list, tuple))
                else ""
            )
        )
    host = x if isinstance(x, np.generic) else np.asarray(x)
    if host is not x:
        refuse_masked(x)
    dtype = dtypes.canonicalize_dtype(host.dtype)
    if host.dtype != dtype:
        host = cast_on_host(np.asarray(host), dtype)
    elif copy and not isinstance(host, np.generic):
        host = host.copy()
    return Array(host, aval(host.shape, dtype))


def integer_overflow(operation: str, numbers: object, dtype: np.dtype[Any]) -> OverflowError:
    """The error for Python integers that `dtype` cannot represent; suggests a dtype that can."""
    integers = np.asarray(numbers, object).ravel().tolist()
    low, high = min(integers), max(integers)
    limits = dtypes.iinfo(dtype)
    offending = str(high if low >= limits.min else low)
    fitting = [
        d
        for d in (*dtypes.SIGNED, *dtypes.UNSIGNED)
        if dtypes.iinfo(d).min <= low and high <= dtypes.iinfo(d).max
    ]
    available = [
        d for d in fitting if dtypes.canonicalize_dtype(d) == d and dtypes.iinfo(d).bits >= 8
    ]
    cure = "a float, such as float32"
    if available:
        cure = f"a wider dtype, such as {available[0]}"
    elif fitting:
        cure += f", or {fitting[0]}, after config.update('enable_x64', True)"
    return OverflowError(
        f"{operation}: the Python integer {offending} does not fit {dtype.name}, whose numbers are "
        f"{limits.min} to {limits.max}\n  fix: {cure}"
    )
