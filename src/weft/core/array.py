"""Arrays and tracers: the two kinds of value, and how Python and NumPy data become arrays.

The base trace knows how to move elements between the host and devices.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..extended_dtypes import host_dtype, is_extended, no_numbers, stored
from ..sharding import Sharding, SingleDeviceSharding
from .aval import Aval, aval
from .number_ranges import not_fitting
from .placement import ArrayType
from .quiet import quietly_cast, run_quietly
from .source import noted
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
    """An immutable array: on the host, on devices, or both. Made by weft's functions.

    `type` says what it is and where (`core/placement.py`), `aval` only what it is. Both are slots:
    every eager operation reads them.
    """

    __slots__ = ("__weakref__", "_buffer", "_host", "_kept", "aval", "type")
    type: ArrayType
    _kept: bool  # set if programs share it: see `is_kept`

    def __init__(self, host: object, type: ArrayType, buffer: object = None) -> None:
        """
        Args:
          host: the elements in NumPy, if they are on the host.
          type: an aval for an array that may be anywhere.
          buffer: XLA's, on the devices that the type says, or else on the default device.
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
            return quietly_cast(host, np.dtype(dtype))
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
        """A DLPack capsule of the array, in the memory that it is in.

        Args:
          stream: of an accelerator: the consumer's, which waits for the array. Without one, what
            is handed over has been computed.
          max_version: the newest version of DLPack that the consumer knows.
          dl_device: where it is wanted: where it is, or on the CPU.
          copy: True copies; False never does; `None` does where it must.
        Raises: BufferError: not on such a device, not without a copy, or not of such a dtype.
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
        """The elements as a buffer that is only read; Python 3.12 and later call this."""
        if is_extended(self.aval.dtype):
            raise noted(no_numbers("buffer", self.aval))
        if flags & _WRITABLE:
            raise BufferError(
                f"buffer: arrays are immutable; got a request to write to {self.aval}"
            )
        try:
            host: Any = np.asarray(self.host())
            return memoryview(host).toreadonly()
        except ValueError:  # bfloat16 and its like
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
        # immutable, but not for ever: a program that is given one of the two may take its memory
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
        """The device that holds the array (the default one for an array on the host).

        For an array on several devices, its sharding; `devices()` is the set of them.
        """
        return self.type.placement.device or current.base.default_device(self)

    def devices(self) -> set[Any]:
        """The devices that hold the array."""
        return set(self.type.placement.devices or (self.device,))

    @property
    def sharding(self) -> Sharding:
        """The part of the array that each of its devices has."""
        return self.type.placement.sharding or SingleDeviceSharding(self.device)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that this process has."""
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
        """The part on the device of this number among those of this process."""
        return self.addressable_shards[index].data

    @property
    def is_fully_replicated(self) -> bool:
        """True if each of its devices has all of the array."""
        sharding = self.type.placement.sharding
        return sharding is None or sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """True if this process has all of the array's devices."""
        sharding = self.type.placement.sharding
        return sharding is None or sharding.is_fully_addressable

    @property
    def global_shape(self) -> tuple[int, ...]:
        """The shape of the whole array, over all processes."""
        return self.aval.shape

    def platform(self) -> str:
        """The kind of the devices that hold the array: 'cpu', 'cuda'."""
        return str(min(self.devices(), key=lambda d: d.id).platform)

    def on_device_size_in_bytes(self) -> int:
        """The bytes that the array takes on its devices, all of them together."""
        return current.base.on_device_size(self)

    @property
    def committed(self) -> bool:
        """True if the array stays where it was put."""
        return self.type.placement.committed

    def block_until_ready(self) -> "Array":
        """Waits until the array has been computed; returns it."""
        current.base.wait(self)
        return self

    def copy_to_host_async(self) -> None:
        """Begins copying to the host; on the CPU there is nothing to copy."""

    def delete(self) -> None:
        """Frees the memory now; using the array afterwards is an error.

        The array that weft keeps for a Python number, such as `numpy.positive(2.0)`, stays.
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
    """A value that stands for an array while a function is traced."""

    __slots__ = ("__weakref__", "_trace", "aval")
    _trace: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise noted(self.conversion_error("numpy.asarray", errors.TracerArrayConversionError))

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        """The error for a use that needs to know the value now."""
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


def is_kept(x: Array) -> bool:
    """True for an array that stands for a number wherever programs have this number.

    It must never be deleted nor donated. The slot is empty in all others, which so cost nothing.
    """
    return hasattr(x, "_kept")


def own(x: Any) -> Any:
    """The value; for an array that is kept, another one like it, which may be given away."""
    return Array(x._host, x.aval) if hasattr(x, "_kept") else x


def as_value(x: Any) -> Any:
    """A value for `x`: itself, or an `Array` for a scalar or a NumPy array (which is copied)."""
    if isinstance(x, Value):
        return x
    if type(x) in _SCALARS:
        return scalar(x)
    return from_host(x)


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
    """The arrays cached for Python scalars of a class that take `dtype`."""
    return _literals.setdefault((kind, dtype), {})


def literal(x: object, dtype: np.dtype[Any]) -> Array:
    """A weak array for a Python scalar that takes `dtype`. Cached, because programs repeat them."""
    cache = literals_of(x.__class__, dtype)
    # 0.0 and -0.0 are equal, and would be one key, as would complex numbers with such parts. Texts
    # differ; and a look-up of the number itself in this table finds none of them.
    kind = x.__class__
    key = x if kind is int or kind is bool or (x and kind is float) else repr(x)
    array = cache.get(key)
    if array is None:
        try:
            # NumPy computes with an array without axes in 0.35 µs, with a NumPy scalar in 0.50
            host = np.asarray(run_quietly(stored(dtype).type, x))
            if is_extended(dtype):
                if x:
                    raise noted(no_numbers("array", f"dtype {dtype} for {x!r}"))
                host = host.view(host_dtype(dtype))
            host.flags.writeable = False
        except OverflowError:
            raise noted(not_fitting("array", x, dtype)) from None
        if len(cache) > 4096:
            cache.clear()
        array = Array(host, aval((), dtype, True))
        array._kept = True
        cache[key] = array
    return array


@functools.lru_cache(64)
def one(dtype: np.dtype[Any]) -> Array:
    """The number 1 as a strong array: the cotangent with which a gradient begins.

    It is kept, as literals are, so that what has been put on a device once stays there.
    """
    array = Array(literal(1, dtype).host(), aval((), dtype))
    array._kept = True
    return array


def refuse_masked(x: object) -> None:
    """Refuses a masked array of NumPy's, of which `numpy.asarray` takes the data alone."""
    if isinstance(x, np.ndarray) and hasattr(x, "filled"):
        raise TypeError(
            f"a masked array ({x.dtype}, shape {x.shape}) isn't taken: its mask would be lost\n"
            "  fix: x.filled(value); or x.data with the mask in numpy.where"
        )


def from_host(x: object, copy: bool = True) -> Array:
    """An `Array` with a copy of a NumPy array, NumPy scalar, or what `numpy.asarray` takes."""
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
        host = quietly_cast(np.asarray(host), dtype)
    elif copy and not isinstance(host, np.generic):
        host = host.copy()
    return Array(host, aval(host.shape, dtype))
