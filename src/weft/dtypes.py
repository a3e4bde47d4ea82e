"""The dtypes of arrays: promotion, kinds and limits, as tables over NumPy and ml_dtypes.

Public: canonicalize_dtype, finfo, float0, iinfo, issubdtype, promote_types, result_type and
scalar_type_of; bfloat16, extended and prng_key are dtypes and kinds of them.

A Python scalar has a *weak* type: a kind (`int*`, `float*`, `complex*`) without a width, so that
`x * 2` keeps the dtype of `x`. With 64-bit types switched off (the default, see
`weft.config.enable_x64`), the canonical form of a 64-bit dtype is its 32-bit partner.

The promotion lattice: a result is the least type above both operands, and an error if none is:

    bool → int* → uint8 → uint16 → uint32 → uint64 ─┐
             │       ╲       ╲        ╲             ├→ float* → bfloat16 ─┬→ float32 → float64
             └────→ int8 → int16 → int32 → int64 ───┘     │   └ float16 ──┘      │         │
             └→ int2, int4, uint2, uint4                  └→ complex* ───→ complex64 → complex128
                (nothing above)                           └→ float4, each float8 (nothing above)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from .config import thread
from .errors import ShapeError, TypePromotionError
from .extended_dtypes import KEYS, ExtendedDType, extended, is_extended, prng_key
from .typing import DTypeLike
from .user_lines import levels_to_user, noted

__all__ = [
    "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype",
    "prng_key", "promote_types", "result_type", "scalar_type_of",
]  # fmt: skip

# NumPy's dtypes are NumPy dtypes here; those of ml_dtypes are classes of scalars, as NumPy's own
# names are (`bfloat16(1.5)`). `x.dtype == bfloat16` holds either way; a key must be `np.dtype(…)`.
# fmt: off
bool_           = np.dtype(np.bool_)
int2            = ml_dtypes.int2
int4            = ml_dtypes.int4
int8            = np.dtype(np.int8)
int16           = np.dtype(np.int16)
int32           = np.dtype(np.int32)
int64           = np.dtype(np.int64)
uint2           = ml_dtypes.uint2
uint4           = ml_dtypes.uint4
uint8           = np.dtype(np.uint8)
uint16          = np.dtype(np.uint16)
uint32          = np.dtype(np.uint32)
uint64          = np.dtype(np.uint64)
float4_e2m1fn   = ml_dtypes.float4_e2m1fn
float8_e3m4     = ml_dtypes.float8_e3m4
float8_e4m3     = ml_dtypes.float8_e4m3
float8_e4m3b11fnuz = ml_dtypes.float8_e4m3b11fnuz
float8_e4m3fn   = ml_dtypes.float8_e4m3fn
float8_e4m3fnuz = ml_dtypes.float8_e4m3fnuz
float8_e5m2     = ml_dtypes.float8_e5m2
float8_e5m2fnuz = ml_dtypes.float8_e5m2fnuz
float8_e8m0fnu  = ml_dtypes.float8_e8m0fnu
bfloat16        = ml_dtypes.bfloat16
float16         = np.dtype(np.float16)
float32         = np.dtype(np.float32)
float64         = np.dtype(np.float64)
complex64       = np.dtype(np.complex64)
complex128      = np.dtype(np.complex128)
float0          = np.dtype([("float0", np.void, 0)])   # for tangents of integers: without bits
# fmt: on

SMALL_FLOATS: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, (
    float4_e2m1fn, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz,
    float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
)))  # fmt: skip
"""Those of 8 bits, and of 4."""
SMALL_INTS: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, (int2, int4, uint2, uint4)))
"""Those of less than a byte: NumPy keeps each in one, XLA packs them."""
SIGNED: tuple[np.dtype[Any], ...] = (*SMALL_INTS[:2], int8, int16, int32, int64)
UNSIGNED: tuple[np.dtype[Any], ...] = (*SMALL_INTS[2:], uint8, uint16, uint32, uint64)
FLOATS: tuple[np.dtype[Any], ...] = (*SMALL_FLOATS, np.dtype(bfloat16), float16, float32, float64)
COMPLEX: tuple[np.dtype[Any], ...] = (complex64, complex128)
DTYPES: tuple[np.dtype[Any], ...] = (bool_, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
"""Every dtype of arrays (except float0, which only tangents have)."""

_BOOL, _SIGNED, _UNSIGNED, _FLOAT, _COMPLEX, _FLOAT0, _EXTENDED = 1, 2, 4, 8, 16, 32, 64
_KIND: dict[Any, int] = {
    bool_: _BOOL,
    **dict.fromkeys(SIGNED, _SIGNED),
    **dict.fromkeys(UNSIGNED, _UNSIGNED),
    **dict.fromkeys(FLOATS, _FLOAT),
    **dict.fromkeys(COMPLEX, _COMPLEX),
    float0: _FLOAT0,
    **dict.fromkeys(KEYS, _EXTENDED),
}
_NARROW_DTYPES = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
# also maps equal twins (longlong) to ours
_NUMPY_DTYPES: dict[Any, np.dtype[Any]] = {d: d for d in (*DTYPES, float0)}


# ---- canonical form ----

_CANONICAL: tuple[dict[Any, Any], dict[Any, Any]] = ({d: d for d in KEYS}, {d: d for d in KEYS})


def canonicalize_dtype(
    dtype: object, allow_extended_dtype: bool = True, *, x64: bool | None = None
) -> np.dtype[Any]:
    """The dtype of an array that is created with `dtype`.

    Args:
      dtype: a NumPy dtype or scalar type, a name, one of Python's bool, int, float, complex, or
        anything with an attribute `dtype`.
      allow_extended_dtype: False refuses the dtype of keys.
      x64: whether 64-bit types exist; the current setting if None.
    Returns: one of `DTYPES`, `float0`, or the extended dtype of keys.
    Raises: TypeError: not a dtype, or one that arrays can't have. ValueError: a dtype of keys.
    Example:
      >>> canonicalize_dtype("float64", x64=False), canonicalize_dtype(int, x64=True)
      (dtype('float32'), dtype('int64'))
    """
    if x64 is None:
        x64 = thread.x64
    if not allow_extended_dtype and is_extended(dtype):
        raise noted(ValueError(f"canonicalize_dtype: {dtype} is extended: only keys have it"))
    try:
        return _CANONICAL[x64][dtype]
    except (KeyError, TypeError):  # TypeError: unhashable, such as the list that spells float0
        pass
    canonical = named_dtype(dtype)
    if not x64:
        canonical = _NARROW_DTYPES.get(canonical, canonical)
    if isinstance(dtype, (np.dtype, type, str)):
        _CANONICAL[x64][dtype] = canonical
    return canonical


def named_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype that `dtype` names, independent of the x64 setting."""
    if isinstance(dtype, np.dtype) and dtype in _NUMPY_DTYPES:
        return _NUMPY_DTYPES[dtype]
    if dtype is None:
        raise TypeError("None is not a dtype; pass one, such as 'float32', or leave it out")
    attribute = getattr(dtype, "dtype", None)
    for candidate in (dtype, attribute):
        if candidate.__class__ is ExtendedDType:
            return candidate  # type: ignore[return-value]
    # A descriptor: `dtype` is a NumPy scalar class, whose own `dtype` serves its instances.
    own = attribute if isinstance(attribute, np.dtype) else _of_numpy(dtype)
    native = _NUMPY_DTYPES.get(own.newbyteorder("="))
    if native is None:
        raise TypeError(
            f"arrays of dtype {own} are not supported; supported: "
            + ", ".join(d.name for d in DTYPES)
        )
    return native


def _of_numpy(dtype: Any, operation: str = "") -> np.dtype[Any]:
    """The dtype that NumPy understands by `dtype`, whether arrays may have it or not."""
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as error:
        shape = "; the lengths of a shape are one argument, (2, 3)" * isinstance(dtype, int)
        raise TypeError(
            f"{operation}{dtype!r:.60} is not a dtype: {error}\n"
            f"  fix: a name, such as 'float32', or a class, such as weft.numpy.float32{shape}"
        ) from None


def requested_dtype(dtype: DTypeLike, operation: str = "array") -> np.dtype[Any]:
    """`canonicalize_dtype` for a dtype that the user wrote: warns if the result is narrower.

    The warning points at the user's line, so Python's default filter shows it once for each line.
    Python's `int`, `float` and `complex` mean the default width and never cause a warning.
    """
    if hasattr(dtype, "aval"):
        raise TypeError(f"an array is not a dtype; got {dtype.aval}\n  fix: x.dtype")
    canonical = canonicalize_dtype(dtype)
    if thread.x64 or dtype in (int, float, complex) or not isinstance(dtype, (np.dtype, type, str)):
        return canonical
    requested = named_dtype(dtype)
    if requested != canonical:
        warnings.warn(
            f"Explicitly requested dtype {requested} is not there, as 64-bit types are off: "
            f"{operation} gives {canonical}. To have them: set WEFT_ENABLE_X64=1 in the "
            'environment, or config.update("enable_x64", True) before arrays are made.',
            UserWarning,
            stacklevel=levels_to_user(),
        )
    return canonical


def default_int() -> np.dtype[Any]:
    """The dtype of a Python int: int32, or int64 when 64-bit types are on."""
    return int64 if thread.x64 else int32


def default_float() -> np.dtype[Any]:
    """The dtype of a Python float: float32, or float64 when 64-bit types are on."""
    return float64 if thread.x64 else float32


def default_complex() -> np.dtype[Any]:
    """The dtype of a Python complex: complex64, or complex128 when 64-bit types are on."""
    return complex128 if thread.x64 else complex64


# ---- kinds ----


def _kind(dtype: DTypeLike) -> int:
    try:
        return _KIND[dtype]
    except (KeyError, TypeError):  # not a canonical np.dtype: a scalar type, a name, …
        return _KIND[named_dtype(dtype)]


def is_bool(dtype: DTypeLike) -> bool:
    """True if `dtype` is bool."""
    return _kind(dtype) == _BOOL


def is_integer(dtype: DTypeLike) -> bool:
    """True if `dtype` is a signed or unsigned integer (bool is not).

    Example:
      >>> is_integer(int4), is_integer("uint8"), is_integer(bool)
      (True, True, False)
    """
    return _kind(dtype) & (_SIGNED | _UNSIGNED) != 0


def is_signed(dtype: DTypeLike) -> bool:
    """True if `dtype` is a signed integer."""
    return _kind(dtype) == _SIGNED


def is_unsigned(dtype: DTypeLike) -> bool:
    """True if `dtype` is an unsigned integer."""
    return _kind(dtype) == _UNSIGNED


def is_float(dtype: DTypeLike) -> bool:
    """True if `dtype` is a real floating-point type, bfloat16, the float8s and float4 included.

    Example:
      >>> is_float(bfloat16), is_float(complex64), is_float(float0)
      (True, False, False)
    """
    return _kind(dtype) == _FLOAT


def is_complex(dtype: DTypeLike) -> bool:
    """True if `dtype` is complex."""
    return _kind(dtype) == _COMPLEX


def is_inexact(dtype: DTypeLike) -> bool:
    """True if `dtype` is floating-point or complex, and can be differentiated."""
    return _kind(dtype) & (_FLOAT | _COMPLEX) != 0


_ABSTRACT: dict[int, type[np.generic]] = {
    _SIGNED: np.signedinteger,
    _UNSIGNED: np.unsignedinteger,
    _FLOAT: np.floating,
    _COMPLEX: np.complexfloating,
}


def issubdtype(a: Any, b: Any) -> bool:
    """NumPy's `issubdtype`, extended to bfloat16, float8, int4 and keys.

    Example:
      >>> issubdtype(bfloat16, np.floating), issubdtype("int4", np.signedinteger)
      (True, True)
    """
    if is_extended(b):
        return a is b
    a = a.type if is_extended(a) else a
    a, b = (d if _is_abstract(d) else _of_numpy(d, "issubdtype: ") for d in (a, b))
    if not _is_abstract(b):
        return not _is_abstract(a) and bool(a == b)
    if not _is_abstract(a):
        a = _ABSTRACT.get(_KIND.get(a, 0), a)
    return bool(np.issubdtype(a, b))


def _is_abstract(dtype: DTypeLike) -> bool:
    """True if `dtype` is a NumPy class of dtypes, such as np.floating, and not a single dtype."""
    return isinstance(dtype, type) and dtype in _ABSTRACT_CLASSES


_ABSTRACT_CLASSES = frozenset(
    {base for dtype in (*DTYPES, np.dtype(str)) for base in dtype.type.__mro__[1:]}
    | {extended, prng_key}
) - {object, int, float, complex, str}


def scalar_type_of(x: object) -> type:
    """The Python type (bool, int, float or complex) of a value or dtype.

    Example:
      >>> scalar_type_of(bfloat16), scalar_type_of(np.int8(3)), scalar_type_of(1j)
      (<class 'float'>, <class 'int'>, <class 'complex'>)
    """
    kind = _kind(dtype_and_weak(x)[0])
    if kind in (_FLOAT0, _EXTENDED):
        name = "float0" if kind == _FLOAT0 else dtype_and_weak(x)[0].name
        raise TypeError(f"{name} has no scalar type: it holds no number")
    return {_BOOL: bool, _FLOAT: float, _COMPLEX: complex}.get(kind, int)


_REAL: dict[np.dtype[Any], np.dtype[Any]] = {complex64: float32, complex128: float64}


def real_of(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of the real part: complex64 → float32, complex128 → float64, others unchanged."""
    own = named_dtype(dtype)
    return _REAL.get(own, own)


def complex_of(dtype: DTypeLike) -> np.dtype[Any]:
    """The smallest complex dtype that can represent `dtype`.

    Example:
      >>> complex_of(float64), complex_of(bfloat16), complex_of(complex64)
      (dtype('complex128'), dtype('complex64'), dtype('complex64'))
    """
    own = named_dtype(dtype)
    if is_complex(own):
        return own
    if is_float(own):
        return complex128 if own == float64 else complex64
    if own == float0 or is_extended(own):
        raise TypeError(f"{_shown(own, False)} has no complex partner: it holds no number")
    return default_complex()


def tangent_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of a derivative: `dtype` itself when inexact, else float0."""
    primal = named_dtype(dtype)
    return primal if _KIND[primal] & (_FLOAT | _COMPLEX) else float0


_PACKED = dict(zip((*SMALL_INTS, np.dtype(float4_e2m1fn)), (2, 4, 2, 4, 4), strict=True))


def bit_width(dtype: DTypeLike) -> int:
    """Bits of one element: 4 for int4, 8 for bool and float8, 128 for complex128, 0 for float0."""
    dtype = named_dtype(dtype)
    return _PACKED.get(dtype, dtype.itemsize * 8)


itemsize_bits = bit_width

_FINFO: Callable[[Any], Any] = cache(ml_dtypes.finfo)  # untyped there
_IINFO: Callable[[Any], Any] = cache(ml_dtypes.iinfo)


def finfo(dtype: DTypeLike) -> Any:
    """Limits of a floating-point dtype: eps, max, tiny, …; of the real part if it is complex.

    Args:
      dtype: a dtype, or an array or scalar with that dtype.
    Raises: ValueError: it is an integer or boolean dtype.

    Example:
      >>> float(finfo(bfloat16).eps), finfo(complex64).bits
      (0.0078125, 32)
    """
    own = real_of(_of_either(dtype))
    if not is_float(own):
        raise noted(
            ValueError(f"finfo: {_shown(own, False)} is not floating-point\n  fix: use iinfo")
        )
    return _FINFO(own)


def iinfo(int_type: DTypeLike) -> Any:
    """Limits of an integer dtype: min, max, bits.

    Args:
      int_type: a dtype, or an array or scalar with that dtype.
    Raises: ValueError: it is not an integer dtype.
    Example:
      >>> iinfo(int4).min, iinfo("uint16").max
      (-8, 65535)
    """
    own = _of_either(int_type)
    if not is_integer(own):
        raise noted(
            ValueError(f"iinfo: {_shown(own, False)} is not an integer type\n  fix: use finfo")
        )
    return _IINFO(own)


def _of_either(x: object) -> np.dtype[Any]:
    """The dtype of a name, an array or a Python number."""
    return canonicalize_dtype(type(x)) if type(x) in _PYTHON else named_dtype(x)


# ---- promotion ----

# Edges of the lattice in the module docstring. Between names, since `np.dtype(int) == int`.
_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("int*",),
    "int*": ("uint8", "int8", *(dtype.name for dtype in SMALL_INTS)),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": ("bfloat16", "float16", "complex*", *(dtype.name for dtype in SMALL_FLOATS)),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
}
_WEAK: dict[str, Callable[[], np.dtype[Any]]] = {
    "int*": default_int,
    "float*": default_float,
    "complex*": default_complex,
}
_BY_NAME = {dtype.name: dtype for dtype in DTYPES}


@cache
def _all_above(node: str) -> frozenset[str]:
    """`node` and everything that it promotes to."""
    return frozenset({node}).union(*(_all_above(n) for n in _ABOVE.get(node, ())))


def _weak_node(dtype: np.dtype[Any]) -> str:
    kind = _KIND[dtype]
    return {_BOOL: "bool", _FLOAT: "float*", _COMPLEX: "complex*"}.get(kind, "int*")


_PROMOTED: tuple[dict[Any, tuple[np.dtype[Any], bool]], ...] = ({}, {})  # x64 off, on


def promote(
    dtype_a: np.dtype[Any], weak_a: bool, dtype_b: np.dtype[Any], weak_b: bool
) -> tuple[np.dtype[Any], bool]:
    """The common type of two operands, as (dtype, weak); canonical under the current x64 setting.

    Raises: TypeError: the dtypes do not promote; convert one operand explicitly.
    Example:
      >>> promote(int8, False, uint8, False)
      (dtype('int16'), False)
      >>> promote(bfloat16, False, float32, True)  # x + 1.0
      (dtype(bfloat16), False)
    """
    # hot paths have their own tables, keyed on avals
    x64 = thread.x64
    if thread.numpy_dtype_promotion == "strict" and not _agree(dtype_a, weak_a, dtype_b, weak_b):
        raise TypePromotionError(
            f"{_shown(dtype_a, weak_a)} and {_shown(dtype_b, weak_b)} are not promoted to one "
            "dtype: numpy_dtype_promotion is 'strict'\n  fix: convert one of them with astype"
        )
    try:
        return _PROMOTED[x64][dtype_a, weak_a, dtype_b, weak_b]
    except KeyError:
        pass
    result = _join(named_dtype(dtype_a), weak_a, named_dtype(dtype_b), weak_b)
    _PROMOTED[x64][dtype_a, weak_a, dtype_b, weak_b] = result
    return result


def _agree(a: np.dtype[Any], weak_a: bool, b: np.dtype[Any], weak_b: bool) -> bool:
    """True if the dtypes agree, or one is a Python scalar of the same kind or a lesser one."""
    if weak_a and weak_b:
        return True
    if not (weak_a or weak_b):
        return a == b
    rank = [0 if k == _BOOL else 1 if k & (_SIGNED | _UNSIGNED) else k for k in map(_kind, (a, b))]
    return 0 < rank[weak_b] <= rank[weak_a]


def _join(
    a: np.dtype[Any], weak_a: bool, b: np.dtype[Any], weak_b: bool
) -> tuple[np.dtype[Any], bool]:
    if float0 in (a, b):
        raise ShapeError(
            f"no operation takes float0 (operands: {_shown(a, weak_a)} and {_shown(b, weak_b)}): "
            "it is the type of a derivative with respect to an integer, and holds no value"
        )
    if is_extended(a) or is_extended(b):
        if a is b:
            return a, False
        raise TypePromotionError(
            f"{_shown(a, weak_a)} and {_shown(b, weak_b)} have no common type: keys combine with "
            "keys only\n  fix: random.key_data(keys) gives their uint32 words"
        )
    # Two weak operands meet as if they were strong, so that a weak int8 stays one.
    both_weak = weak_a and weak_b
    node_a = _weak_node(a) if weak_a and not both_weak else a.name
    node_b = _weak_node(b) if weak_b and not both_weak else b.name
    common = _all_above(node_a) & _all_above(node_b)
    for node in common:
        if common <= _all_above(node):
            if node in _WEAK:
                return _WEAK[node](), True
            dtype = canonicalize_dtype(_BY_NAME[node])
            return dtype, both_weak and dtype != bool_
    raise TypePromotionError(
        f"{_shown(a, weak_a)} and {_shown(b, weak_b)} have no common type: integers of 2 and 4 "
        "bits and floats of 4 and 8 bits are never promoted implicitly\n"
        "  fix: convert one of them with astype"
    )


def _shown(dtype: np.dtype[Any], weak: bool) -> str:
    if dtype == float0:
        return "float0"
    return f"weak {dtype.name}" if weak else dtype.name


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """The common dtype of two dtypes; Python's int, float and complex count as weak.

    Example:
      >>> promote_types("int16", "float16"), promote_types("uint8", int)
      (dtype('float16'), dtype('uint8'))
    """
    return promote(*_type_and_weak(a), *_type_and_weak(b))[0]


def dtype_and_weak(x: object) -> tuple[np.dtype[Any], bool]:
    """The (canonical dtype, weak type) of an array, scalar, weft value, dtype or Python type.

    Example:
      >>> dtype_and_weak(np.int8(1)), dtype_and_weak(True)
      ((dtype('int8'), False), (dtype('bool'), False))
    """
    python = type(x)
    if python in _PYTHON:
        return canonicalize_dtype(python), python is not bool
    if isinstance(x, (type, str, np.dtype, ExtendedDType)):
        return _type_and_weak(x)
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return canonicalize_dtype(dtype), bool(getattr(x, "weak_type", False))
    for base in _PYTHON:  # subclasses, such as IntEnum
        if isinstance(x, base):
            return canonicalize_dtype(base), base is not bool
    if isinstance(x, (list, tuple)):
        try:
            return canonicalize_dtype(x), False  # a spelled-out structured dtype: float0
        except TypeError:
            pass
    raise TypeError(f"{type(x).__name__} {x!r} is neither an array, a scalar nor a dtype")


_PYTHON = (bool, int, float, complex)


def _type_and_weak(dtype: object) -> tuple[np.dtype[Any], bool]:
    return canonicalize_dtype(dtype), dtype is int or dtype is float or dtype is complex


def result_type_and_weak(*args: object) -> tuple[np.dtype[Any], bool]:
    """`promote` for any number of arrays, scalars and dtypes."""
    if not args:
        raise ValueError("result_type: at least one array or dtype is needed")
    args = tuple([default_float() if x is None else x for x in args])
    result = dtype_and_weak(args[0])
    for x in args[1:]:
        result = promote(*result, *dtype_and_weak(x))
    return result


def result_type(*args: object, return_weak_type_flag: bool = False) -> Any:
    """The dtype of an operation on these arrays, scalars and dtypes.

    Args:
      args: arrays, scalars, dtypes, weft values; `None` is the default float, as in NumPy.
      return_weak_type_flag: return a pair: the dtype, and True if it is weak.
    Raises: TypeError: no common type.
    Example:
      >>> result_type(np.int32(1), np.float16(2), 3.0)
      dtype('float16')
    """
    both = result_type_and_weak(*args)
    return both if return_weak_type_flag else both[0]
