"""Reads pickles of arrays and containers without running any code from them.

A pickle is a program for a small stack machine, which can call any function. Here, a table of
instructions only makes numbers, text, lists, tuples, dicts, NumPy arrays and signatures. The few
functions in pickles of arrays are recognized but not called: the array is made from its bytes.
Everything else raises an error.
"""

import codecs
import pickletools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..shapes import ShapeDtype


class RefusedPickle(ValueError):
    """A pickle contains something other than arrays and containers."""


class Name(NamedTuple):
    """A function or class that a pickle names."""

    module: str
    name: str


class Mark:
    """The position on the stack where the items of a container begin."""


class Empty:
    """An object whose state is set later: an array, a dtype or a signature."""

    def __init__(self, kind: str, dtype: Any = None) -> None:
        self.kind, self.value, self.dtype = kind, None, dtype


ARRAY, DTYPE, SCALAR, BUFFER, JAX_ARRAY, SIGNATURE, ENCODE, NDARRAY, NUMBER, BYTES = (
    "array",
    "dtype",
    "scalar",
    "buffer",
    "jax array",
    "signature",
    "encode",
    "ndarray",
    "number",
    "bytes",
)
KIND_OF_FUNCTION = {
    Name("numpy", "ndarray"): NDARRAY,
    Name("numpy", "dtype"): DTYPE,
    Name("_codecs", "encode"): ENCODE,
    Name("__builtin__", "bytes"): BYTES,
    Name("jax._src.array", "_reconstruct_array"): JAX_ARRAY,
    Name("jax._src.device_array", "reconstruct_device_array"): JAX_ARRAY,
    Name("jax.interpreters.xla", "reconstruct_device_array"): JAX_ARRAY,
    Name("trax.shapes", "ShapeDtype"): SIGNATURE,
    Name("weft.shapes", "ShapeDtype"): SIGNATURE,
}
for core in ("numpy.core", "numpy._core"):
    KIND_OF_FUNCTION[Name(f"{core}.multiarray", "_reconstruct")] = ARRAY
    KIND_OF_FUNCTION[Name(f"{core}.multiarray", "scalar")] = SCALAR
    KIND_OF_FUNCTION[Name(f"{core}.numeric", "_frombuffer")] = BUFFER

DTYPE_NAMES = (
    "bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
)
TYPES_OF_NUMBERS = {
    "numpy": DTYPE_NAMES.split(),
    "ml_dtypes": ["bfloat16", "float8_e4m3fn", "float8_e5m2"],
}
DTYPE_CODE = re.compile(r"[<>=|]?([iufcb]\d{1,2}|[?bBhHiIlLqQefdFD])")


def read(data: bytes) -> Any:
    """Reads the content of a pickle.

    Args:
      data: the pickle, of any protocol.
    Raises: RefusedPickle: it names a function or class that arrays do not need. ValueError: the
      pickle is incomplete.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            step = STEPS.get(opcode.name)
            if step is None:
                raise RefusedPickle(f"the pickle has the instruction {opcode.name}")
            step(machine, argument)
            if opcode.name == "STOP":
                return _filled(machine.stack.pop())
    except RefusedPickle:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(f"it is not a complete pickle ({error})") from None
    raise ValueError("it is not a complete pickle")


class _Machine:
    """The machine's stack, and its memo by number."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop()

    def pop_marked(self) -> list[Any]:
        """Pops the items above the last mark, and the mark."""
        at = max(i for i, item in enumerate(self.stack) if item is Mark)
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def remember(self, number: Any = None) -> None:
        self.memo[len(self.memo) if number is None else number] = self.stack[-1]

    def name(self, module: Any, name: Any) -> None:
        """Pushes a name that pickles of arrays use; other names raise an error."""
        function = Name(module, name)
        kind = KIND_OF_FUNCTION.get(function)
        if name in TYPES_OF_NUMBERS.get(module, ()):
            kind = NUMBER
        if kind is None:
            raise RefusedPickle(f"the pickle names {module}.{name}")
        self.push(_type_of_numbers(function) if kind is NUMBER else function)

    def reduce(self) -> None:
        """Pushes the result of one of the recognized functions."""
        arguments, function = self.pop(), self.pop()
        make = MAKERS.get(KIND_OF_FUNCTION.get(function, "") if isinstance(function, Name) else "")
        if make is None or not isinstance(arguments, tuple):
            raise RefusedPickle(f"the pickle has {function!r} called")
        self.push(make(*arguments))

    def build(self) -> None:
        """Sets the state of the object on the stack."""
        state, target = self.pop(), self.stack[-1]
        if not isinstance(target, Empty) or target.kind not in STATES:
            raise RefusedPickle(f"the pickle sets the state of {type(target).__name__}")
        STATES[target.kind](target, state)

    def new(self) -> None:
        """Pushes an object of a class; `build` sets its state."""
        arguments, kind = self.pop(), self.pop()
        if not isinstance(kind, Name) or KIND_OF_FUNCTION.get(kind) != SIGNATURE or arguments != ():
            raise RefusedPickle(f"the pickle makes an object of {kind!r}")
        self.push(Empty(SIGNATURE))

    def set_items(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict:
            raise RefusedPickle(f"the pickle sets items of {type(target).__name__}")
        keys = [_filled(key) for key in pairs[::2]]
        if not all(isinstance(key, str | int | float | tuple | bytes) for key in keys):
            raise RefusedPickle("the pickle has a dictionary whose keys aren't plain")
        target.update(zip(keys, pairs[1::2], strict=True))

    def append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise RefusedPickle(f"the pickle appends to {type(target).__name__}")
        target.extend(items)


def _filled(value: Any, depth: int = 0) -> Any:
    """A value whose placeholders are replaced by arrays and signatures."""
    if depth > 100:
        raise RefusedPickle("the pickle is nested too deep, or holds itself")
    if isinstance(value, Empty):
        if value.value is None:
            raise ValueError(f"{value.kind} without its content")
        return value.value
    if isinstance(value, Name) or value is Mark:
        raise RefusedPickle(f"the pickle holds the function {value!r} itself")
    if type(value) in (list, tuple):
        return type(value)(_filled(item, depth + 1) for item in value)
    if type(value) is dict:
        return {key: _filled(item, depth + 1) for key, item in value.items()}
    return value


def _type_of_numbers(name: Name) -> Any:
    return getattr(ml_dtypes if name.module == "ml_dtypes" else np, name.name)


def _dtype(code: Any, *_: Any) -> Empty:
    """`numpy.dtype` of a numeric type code or a class of ml_dtypes; other arguments raise an
    error."""
    if isinstance(code, Empty):
        code = code.value
    allowed = isinstance(code, type) or (isinstance(code, str) and DTYPE_CODE.fullmatch(code))
    if not allowed:
        raise RefusedPickle(f"the pickle has arrays of dtype {code!r}")
    dtype = Empty(DTYPE)
    dtype.value = np.dtype(code)
    return dtype


def _order_of_bytes(instance: Empty, state: Any) -> None:
    """Reads the byte order from the state of a dtype; for numbers it contains nothing else."""
    dtype: Any = instance.value
    if dtype.kind != "V" and state[1] in ("<", ">"):
        instance.value = dtype.newbyteorder(state[1])


def _of_bytes(data: Any, dtype: Any, shape: Any, order: str) -> np.ndarray[Any, Any]:
    """An array from its bytes; their number must match exactly."""
    dtype = _filled(dtype)
    shape = tuple(shape)
    if not isinstance(data, bytes | bytearray) or not all(
        isinstance(n, int) and n >= 0 for n in shape
    ):
        raise RefusedPickle("the pickle has an array whose elements aren't bytes")
    array = np.frombuffer(bytearray(data), dtype)
    return array.astype(dtype.newbyteorder("=")).reshape(shape, order=order)  # type: ignore[call-overload]


def _array(*_: Any) -> Empty:
    return Empty(ARRAY)


def _elements(instance: Empty, state: Any) -> None:
    _, shape, dtype, is_fortran, data = state
    instance.value = _of_bytes(data, dtype, shape, "F" if is_fortran else "C")  # type: ignore[assignment]


def _buffer(data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> Any:
    """An array from its bytes, whose axes may be in another order, `axes`."""
    array = _of_bytes(data, dtype, shape, "F" if order == "F" else "C")
    if axes is None:
        return array
    if sorted(axes) != [*range(array.ndim)]:
        raise RefusedPickle(f"the pickle has an array of {array.ndim} axes in the order {axes!r}")
    return array.transpose(axes)


def _scalar(dtype: Any, data: Any) -> Any:
    return _of_bytes(data, dtype, (), "C")[()]


def _jax_array(function: Any, arguments: Any, state: Any, *_: Any) -> Any:
    if not isinstance(function, Name) or KIND_OF_FUNCTION[function] != ARRAY:
        raise RefusedPickle(f"the pickle has {function!r} called")
    array = _array(*arguments)
    _elements(array, state)
    return array


def _signature(instance: Empty, state: Any) -> None:
    slots = state[1] if isinstance(state, tuple) else state
    dtype = slots["dtype"]
    instance.value = ShapeDtype(_filled(slots["shape"]), _filled(dtype))  # type: ignore[assignment]


def _no_bytes(*arguments: Any) -> bytes:
    """Empty bytes, as protocol 2 writes them."""
    if arguments:
        raise RefusedPickle("the pickle makes bytes of another object")
    return b""


def _encoded(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):
        raise RefusedPickle(f"the pickle has text encoded as {encoding!r}")
    return codecs.latin_1_encode(text)[0]


MAKERS: dict[str, Callable[..., Any]] = {
    ARRAY: _array,
    BUFFER: _buffer,
    BYTES: _no_bytes,
    DTYPE: _dtype,
    ENCODE: _encoded,
    JAX_ARRAY: _jax_array,
    SCALAR: _scalar,
}
STATES = {ARRAY: _elements, DTYPE: _order_of_bytes, SIGNATURE: _signature}


def _pushes(value: Callable[[_Machine, Any], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, argument: machine.push(value(machine, argument))


def _popped(machine: _Machine, n: int) -> tuple[Any, ...]:
    items = tuple(machine.stack[len(machine.stack) - n :])
    del machine.stack[len(machine.stack) - n :]
    return items


def _stack_global(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    machine.name(module, name)


PUSH_OPCODES = (
    "BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES "
    "SHORT_BINBYTES BINBYTES8 BYTEARRAY8 INT LONG FLOAT UNICODE"
)
"""The instructions that push their argument."""

STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda machine, _: None),
    **dict.fromkeys(PUSH_OPCODES.split(), _pushes(lambda _, argument: argument)),
    "NONE": _pushes(lambda *_: None),
    "NEWTRUE": _pushes(lambda *_: True),
    "NEWFALSE": _pushes(lambda *_: False),
    "EMPTY_DICT": _pushes(lambda *_: {}),
    "EMPTY_LIST": _pushes(lambda *_: []),
    "EMPTY_TUPLE": _pushes(lambda *_: ()),
    "MARK": _pushes(lambda *_: Mark),
    "TUPLE": _pushes(lambda machine, _: tuple(machine.pop_marked())),
    "TUPLE1": _pushes(lambda machine, _: _popped(machine, 1)),
    "TUPLE2": _pushes(lambda machine, _: _popped(machine, 2)),
    "TUPLE3": _pushes(lambda machine, _: _popped(machine, 3)),
    "APPEND": lambda machine, _: machine.append([machine.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.pop_marked()),
    "SETITEM": lambda machine, _: machine.set_items([*_popped(machine, 2)]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_marked()),
    **dict.fromkeys(("MEMOIZE",), lambda machine, _: machine.remember()),
    **dict.fromkeys(
        ("PUT", "BINPUT", "LONG_BINPUT"), lambda machine, number: machine.remember(number)
    ),
    **dict.fromkeys(
        ("GET", "BINGET", "LONG_BINGET"), _pushes(lambda machine, number: machine.memo[number])
    ),
    "GLOBAL": lambda machine, name: machine.name(*name.split(" ", 1)),
    "STACK_GLOBAL": _stack_global,
    "REDUCE": lambda machine, _: machine.reduce(),
    "NEWOBJ": lambda machine, _: machine.new(),
    "BUILD": lambda machine, _: machine.build(),
    "POP": lambda machine, _: machine.pop(),
}
