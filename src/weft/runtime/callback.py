"""Lets compiled programs on the CPU call Python functions. Knows NumPy arrays; knows no tracing.

A program calls the target `weft_callback` with the number that `register` gave:

    %1 = stablehlo.custom_call @weft_callback(%0) {api_version = 4 : i32, has_side_effect = true,
           backend_config = {index = 7 : i64}} : (tensor<3xf32>) -> tensor<3xf32>

The target is a typed FFI handler in Python. It reads XLA's C structs by their offsets, as laid out
in `jaxlib/include/xla/ffi/api/c_api.h` (major version 0, on machines with 64-bit addresses).
"""

import collections
import ctypes
import functools
import itertools
import math
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import custom_calls, versions

BufferSpec: TypeAlias = tuple[Sequence[int], Any]
"""Shape and dtype."""


class _Input(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int


class _Output(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    memory: Any  # a ctypes array type of the output's size


class _Entry(NamedTuple):
    function: Callable[..., Sequence[Any]]
    inputs: tuple[_Input, ...]
    outputs: tuple[_Output, ...]


_entries: dict[int, _Entry] = {}
_numbers = itertools.count()


def register(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[BufferSpec],
    outputs: Sequence[BufferSpec],
) -> int:
    """Makes a Python function callable by programs, under the number that is given back.

    The function gets its inputs as NumPy arrays, which it may keep and must not write to, and gives
    a sequence of outputs of exactly the shapes and dtypes announced. It may run in any thread.
    """
    _register_target()
    entry = _Entry(
        function,
        tuple(_Input(*_checked(spec), _size(spec)) for spec in inputs),
        tuple(_Output(*_checked(spec), ctypes.c_char * _size(spec)) for spec in outputs),
    )
    number = next(_numbers)
    _entries[number] = entry
    return number


def release(index: int) -> None:
    """Forgets a function; a program that calls it afterwards fails with an error."""
    _entries.pop(index, None)


def _checked(spec: BufferSpec) -> tuple[tuple[int, ...], np.dtype[Any]]:
    dtype = np.dtype(spec[1])
    if dtype.name in ("int2", "int4", "uint2", "uint4", "float4_e2m1fn"):
        raise TypeError(f"callback: {dtype.name} has several elements a byte; convert it to int8")
    return tuple(spec[0]), dtype


def _size(spec: BufferSpec) -> int:
    return math.prod(spec[0]) * np.dtype(spec[1]).itemsize


# --- errors ---

_failures: collections.OrderedDict[int, BaseException] = collections.OrderedDict()
_failures_lock = threading.Lock()
_failure_numbers = itertools.count(1)
_MARK = "weft_callback failure "
_KEPT = 64


def take_error(failure: BaseException | None = None) -> BaseException | None:
    """The exception that a callback raised, to be raised again; each is given once.

    Args:
      failure: the runtime's error for the program. None: the latest exception is meant.
    """
    with _failures_lock:
        if failure is None:
            return _failures.popitem()[1] if _failures else None
        _, found, rest = str(failure).partition(_MARK)
        number, _, _ = rest.partition(":")
        return _failures.pop(int(number), None) if found and number.isdigit() else None


def _keep(error: BaseException) -> int:
    number = next(_failure_numbers)
    with _failures_lock:
        _failures[number] = error
        while len(_failures) > _KEPT:
            _failures.popitem(last=False)
    return number


# --- the handler; offsets are in words of eight bytes ---

_FRAME = ctypes.c_int64 * 21
# XLA_FFI_CallFrame
_EXTENSION, _API, _ARG_COUNT, _ARGS, _RET_COUNT, _RETS = 1, 2, 7, 9, 12, 14
_ATTR_COUNT, _ATTR_NAMES, _ATTRS = 17, 19, 20
# XLA_FFI_Buffer: the address of the data; XLA_FFI_Scalar: the dtype, the address of the value
_BUFFER_DATA, _SCALAR_VALUE = 3, 1
# XLA_FFI_Api: the version, and the function Error_Create
_API_VERSION, _ERROR_CREATE = 4, 6
_METADATA_EXTENSION = 1
_INTERNAL = 13
_WORD = 8

_int64_at = ctypes.c_int64.from_address
_int32_at = ctypes.c_int32.from_address
_string_at = ctypes.string_at


class _ErrorCreateArgs(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


_ErrorCreate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorCreateArgs))


def _handle(address: int) -> int | None:
    """What XLA calls. Gives None, or the address of an error; lets no exception out."""
    frame = _FRAME.from_address(address)
    try:
        if frame[_EXTENSION]:
            _answer_extensions(frame[_EXTENSION], frame[_API])
            return None
        _call(frame)
    except BaseException as error:
        lines = traceback.format_exception(error)
        message = f"{_MARK}{_keep(error)}: a Python callback raised\n{''.join(lines)}"
        return _new_error(frame[_API], message)
    return None


def _call(frame: Any) -> None:
    index = _index(frame)
    entry = _entries.get(index)
    if entry is None:
        raise LookupError(f"callback {index} was released, or belongs to another process")
    function, inputs, outputs = entry
    if frame[_ARG_COUNT] != len(inputs) or frame[_RET_COUNT] != len(outputs):
        raise TypeError(
            f"callback {index} was registered with {len(inputs)} inputs and {len(outputs)} "
            f"outputs; the program has {frame[_ARG_COUNT]} and {frame[_RET_COUNT]}"
        )
    args = []
    pointers = frame[_ARGS]
    for shape, dtype, size in inputs:
        data = _int64_at(_int64_at(pointers).value + _BUFFER_DATA * _WORD).value
        # One copy: XLA's memory is valid during the call only. Bytes make the array read-only.
        args.append(np.ndarray(shape, dtype, _string_at(data, size)))
        pointers += _WORD
    results = function(*args)
    if len(results) != len(outputs):
        raise TypeError(f"a callback gave {len(results)} results; {len(outputs)} were announced")
    pointers = frame[_RETS]
    for result, (shape, dtype, memory) in zip(results, outputs, strict=True):
        result = np.asarray(result)
        if result.shape != shape or result.dtype != dtype:
            raise TypeError(
                f"a callback gave {result.dtype}{list(result.shape)}; "
                f"{dtype}{list(shape)} was announced"
            )
        data = _int64_at(_int64_at(pointers).value + _BUFFER_DATA * _WORD).value
        if data:
            np.ndarray(shape, dtype, memory.from_address(data))[...] = result
        pointers += _WORD


def _index(frame: Any) -> int:
    """The value of the attribute `index`; of whichever integer type the text gave it."""
    names, attributes = frame[_ATTR_NAMES], frame[_ATTRS]
    for n in range(frame[_ATTR_COUNT]):
        name = _int64_at(names + n * _WORD).value
        if _string_at(_int64_at(name).value, _int64_at(name + _WORD).value) == b"index":
            scalar = _int64_at(attributes + n * _WORD).value
            value = _int64_at(scalar + _SCALAR_VALUE * _WORD).value
            wide = _int32_at(scalar).value in (5, 9)  # S64, U64
            return _int64_at(value).value if wide else _int32_at(value).value
    raise TypeError("a call of weft_callback has no attribute 'index'")


def _answer_extensions(extension: int, api: int) -> None:
    """Tells XLA, which asks before it uses a handler, the version of the interface."""
    while extension:
        kind, following = _int32_at(extension + _WORD).value, _int64_at(extension + 2 * _WORD).value
        if kind == _METADATA_EXTENSION:
            metadata = _int64_at(extension + 3 * _WORD).value
            version = api + _API_VERSION * _WORD if api else 0
            major = _int32_at(version).value if version else 0
            if major == 0:  # the one whose layout is used here; else XLA refuses the handler
                _int32_at(metadata + 3 * _WORD).value = 0
                minor = _int32_at(version + 4).value if version else 1
                _int32_at(metadata + 3 * _WORD + 4).value = minor
                _int32_at(metadata + 4 * _WORD).value = 0  # no traits
        extension = following


def _new_error(api: int, message: str) -> int | None:
    create = _ErrorCreate(_int64_at(api + _ERROR_CREATE * _WORD).value)
    size = _ErrorCreateArgs.code.offset + _ErrorCreateArgs.code.size
    encoded = message.replace("\0", "").encode()
    return create(ctypes.byref(_ErrorCreateArgs(size, None, encoded, _INTERNAL)))  # type: ignore[no-any-return]


_Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_handler = _Handler(_handle)  # kept: XLA holds its address

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


@functools.cache
def _register_target() -> None:
    address = ctypes.cast(_handler, ctypes.c_void_p).value
    versions.load().register_handler(
        custom_calls.CALLBACK, {"execute": _new_capsule(address, None, None)}
    )
