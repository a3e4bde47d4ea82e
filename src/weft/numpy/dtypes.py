"""Dtypes: bool_, int32, float32, bfloat16, complex64, … and ndarray; finfo, iinfo, promote_types,
result_type, can_cast, isdtype, issubdtype, issubsctype.

`np.float32` is both a dtype and a function that converts to it, as in NumPy.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import from_host
from ..core.kernels import run_kernel
from ..core.value import Value
from ..typing import Array, DTypeLike
from ..user_lines import noted
from .creation import array

__all__ = [
    "ComplexWarning",
    "bfloat16",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "flexible",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "isdtype",
    "issubdtype",
    "issubsctype",
    "ndarray",
    "number",
    "object_",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


ndarray = Array
"""The type of arrays and of tracers."""


class ScalarType(type):
    """The type of `float32`, `int8`, …: a dtype that converts to a scalar when it is called."""

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Any:
        """A scalar (or an array) of this dtype."""
        if isinstance(x, Value):
            return x.astype(cls.dtype)
        if isinstance(x, (list, tuple)):  # there may be traced values among the elements
            return array(x, cls.dtype)
        return from_host(run_kernel(np.asarray, x, dtypes.canonicalize_dtype(cls.dtype)))

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return cls is other or cls.dtype.type is other

    def __repr__(cls) -> str:
        return f"weft.numpy.{cls.__name__}"

    def __instancecheck__(cls, x: Any) -> bool:
        if isinstance(x, Value):
            return not x.ndim and x.dtype == cls.dtype
        return isinstance(x, cls.dtype.type)


_WITHOUT_X64 = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


def scalar_type(name: str) -> Any:
    """The scalar type of a dtype."""
    dtype = np.dtype(getattr(dtypes, name))
    narrow_name = _WITHOUT_X64.get(dtype.name)
    literal_text = {"b": "True", "c": "1.+0.j"}.get(dtype.kind) or (
        "1." if name in ("float16", "float32", "float64") else "1"
    )
    lines = [
        f"The dtype {dtype}; a call converts to a scalar of it.",
        *(
            ["", f"While `enable_x64` is off, arrays have {narrow_name} in its place."]
            if narrow_name
            else []
        ),
        "",
        "Example:",
        f"  >>> np.{name}(1)",
        f"  Array({literal_text}, dtype={narrow_name or dtype.name})",
    ]
    return ScalarType(name, (), {"dtype": dtype, "__doc__": "\n".join(lines)})


# fmt: off
bool_ = scalar_type("bool_")
int2, int4, int8, int16, int32, int64 = map(
    scalar_type, ("int2", "int4", "int8", "int16", "int32", "int64"))
uint2, uint4, uint8, uint16, uint32, uint64 = map(
    scalar_type, ("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"))
bfloat16, float16, float32, float64 = map(
    scalar_type, ("bfloat16", "float16", "float32", "float64"))
complex64, complex128 = map(scalar_type, ("complex64", "complex128"))
float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz = map(
    scalar_type,
    ("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"))
float4_e2m1fn, float8_e3m4, float8_e4m3, float8_e8m0fnu = map(
    scalar_type, ("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu"))
# fmt: on

# NumPy's names for its widest types; here they have the default width.
int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128

generic, number, inexact = np.generic, np.number, np.inexact
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
flexible, character, object_ = np.flexible, np.character, np.object_
dtype = np.dtype
ComplexWarning = np.exceptions.ComplexWarning

finfo = dtypes.finfo
iinfo = dtypes.iinfo
promote_types = dtypes.promote_types
result_type = dtypes.result_type


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """True if a dtype equals or belongs to another dtype or class, such as `np.floating`, which
    includes bfloat16.

    Example:
      >>> np.issubdtype(np.bfloat16, np.floating)
      True
    """
    return dtypes.issubdtype(arg1, arg2)


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """True if the dtype of the first argument is a subtype of the dtype of the second.

    Example:
      >>> np.issubsctype(np.zeros(2), np.floating)
      True
    """
    subtype, supertype = (
        a if isinstance(a, type) else getattr(a, "dtype", a) for a in (arg1, arg2)
    )
    try:
        return issubdtype(subtype, supertype)
    except TypeError as error:
        message = str(error).removeprefix("issubdtype: ")
        raise noted(TypeError(f"issubsctype: {message}")) from None


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """True if a dtype is of a kind, by the names of the array API standard.

    Args:
      kind: 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
        'complex floating', 'numeric', a dtype, or a tuple of these.
    Example:
      >>> np.isdtype(np.float32, "real floating"), np.isdtype(np.int8, ("bool", np.int16))
      (True, False)
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    named_dtype = _named_dtype("isdtype", dtype)
    return any(_is_kind(named_dtype, k) for k in kinds)


def _named_dtype(name: str, dtype: Any) -> Any:
    """The dtype that an argument of a function names."""
    try:
        return dtypes.named_dtype(dtype)
    except TypeError as error:
        raise noted(TypeError(f"{name}: {error}")) from None


_KINDS = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed,
    "unsigned integer": dtypes.is_unsigned,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_float,
    "complex floating": dtypes.is_complex,
    "numeric": lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d),
}


def _is_kind(dtype: Any, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind](dtype)
    try:
        return bool(dtype == dtypes.named_dtype(kind))
    except TypeError:
        raise ValueError(
            f"isdtype: kind must be one of {', '.join(map(repr, _KINDS))}, a dtype, or a tuple of "
            f"those; got {kind!r}"
        ) from None


def can_cast(from_: Any, to: DTypeLike, casting: str = "safe") -> bool:
    """True if NumPy's casting rules allow a conversion between dtypes.

    Args:
      from_: a dtype, array or scalar.
      casting: 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'.
    Example:
      >>> np.can_cast(np.int32, np.float64), np.can_cast(np.float32, np.int8)
      (True, False)
    """
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise noted(
            ValueError(
                "can_cast: casting must be 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'; got "
                f"{casting!r:.60}"
            )
        )
    from_dtype = _named_dtype("can_cast", getattr(from_, "dtype", from_))
    return np.can_cast(from_dtype, _named_dtype("can_cast", to), casting=casting)  # type: ignore[arg-type]
