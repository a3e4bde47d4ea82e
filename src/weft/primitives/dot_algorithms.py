"""DotAlgorithm and its presets: the dtype to which a dot product rounds its operands, and the dtype
of its sums."""

import enum
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from .. import dtypes
from ..errors import ShapeError
from ..stablehlo import element
from ..typing import DTypeLike
from .rule_types import DType

TF32 = "tf32"


class DotAlgorithm(NamedTuple):
    """Specifies how a product of arrays multiplies and sums floats; a value for `precision=`.

    Attributes:
      lhs_precision_type, rhs_precision_type: the dtypes that operands are rounded to; 'tf32' is the
        format of tensor cores.
      accumulation_type: the dtype of the sums.
      lhs_component_count, rhs_component_count: the parts that each operand is split into.
      num_primitive_operations: the products of such parts.
      allow_imprecise_accumulation: whether some sums may have a lower precision.

    Example:
      >>> from weft import lax
      >>> algorithm = lax.DotAlgorithm("float32", "float32", "float32")
      >>> x = lax.full((2, 2), 1.0)
      >>> lax.dot(x, x, precision=algorithm).tolist()
      [[2.0, 2.0], [2.0, 2.0]]
    Source: StableHLO `dot_general`, its attribute `algorithm`.
    """

    lhs_precision_type: DTypeLike | None
    rhs_precision_type: DTypeLike | None
    accumulation_type: DTypeLike | None
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


_F16, _F32, _F64 = map(dtypes.named_dtype, ("float16", "float32", "float64"))
_BF16 = dtypes.named_dtype("bfloat16")


class DotAlgorithmPreset(enum.Enum):
    """The algorithms that at least one platform supports. A name has the operands' dtypes, then the
    dtype of the sums.

    X3, X6 and X9 compute 3, 6 or 9 products of narrower parts, to approach float32; with FAST_ACCUM
    some sums may have a lower precision. Operands of another dtype are converted first, and the
    result is converted back. CPUs support the algorithms with one float dtype (F16, F32, F64), and
    BF16_BF16_F32 with X3 and X6, which multiply float32 at full width there.

    Example:
      >>> from weft import lax
      >>> x = lax.full((2, 2), 1.0)
      >>> lax.dot(x, x, precision=lax.DotAlgorithmPreset.F32_F32_F32).dtype
      dtype('float32')
      >>> lax.dot(x, x, precision="F32_F32_F32").dtype
      dtype('float32')
    Source: JAX documentation, `jax.lax.DotAlgorithmPreset`.
    """

    DEFAULT = None
    ANY_F8_ANY_F8_F32 = DotAlgorithm(None, None, _F32)
    ANY_F8_ANY_F8_F32_FAST_ACCUM = DotAlgorithm(None, None, _F32, 1, 1, 1, True)
    ANY_F8_ANY_F8_ANY = DotAlgorithm(None, None, None)
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = DotAlgorithm(None, None, None, 1, 1, 1, True)
    F16_F16_F16 = DotAlgorithm(_F16, _F16, _F16)
    F16_F16_F32 = DotAlgorithm(_F16, _F16, _F32)
    BF16_BF16_BF16 = DotAlgorithm(_BF16, _BF16, _BF16)
    BF16_BF16_F32 = DotAlgorithm(_BF16, _BF16, _F32)
    BF16_BF16_F32_X3 = DotAlgorithm(_BF16, _BF16, _F32, 1, 1, 3)
    BF16_BF16_F32_X6 = DotAlgorithm(_BF16, _BF16, _F32, 1, 1, 6)
    BF16_BF16_F32_X9 = DotAlgorithm(_BF16, _BF16, _F32, 1, 1, 9)
    TF32_TF32_F32 = DotAlgorithm(TF32, TF32, _F32)
    TF32_TF32_F32_X3 = DotAlgorithm(TF32, TF32, _F32, 1, 1, 3)
    F32_F32_F32 = DotAlgorithm(_F32, _F32, _F32)
    F64_F64_F64 = DotAlgorithm(_F64, _F64, _F64)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


PRESETS = DotAlgorithmPreset.__members__

Algorithm = DotAlgorithm | DotAlgorithmPreset

_PRESET_OF = {preset.value: preset for preset in DotAlgorithmPreset}

_ON_CPU = [
    DotAlgorithmPreset.F16_F16_F16,
    DotAlgorithmPreset.F32_F32_F32,
    DotAlgorithmPreset.F64_F64_F64,
    DotAlgorithmPreset.BF16_BF16_F32,
    DotAlgorithmPreset.BF16_BF16_F32_X3,
    DotAlgorithmPreset.BF16_BF16_F32_X6,
]


def canonical_algorithm(name: str, algorithm: DotAlgorithm) -> Algorithm:
    """The preset that equals an algorithm, or else the algorithm with NumPy's dtypes.

    Raises: TypeError: a type is not a float type.
    """
    types: list[Any] = []
    for field, value in zip(algorithm._fields, algorithm[:3], strict=False):
        is_tf32 = isinstance(value, str) and value == TF32
        if not is_tf32 and (value is None or not dtypes.is_float(dtypes.named_dtype(value))):
            raise TypeError(f"{name}: {field} of a DotAlgorithm must be a float dtype; got {value}")
        types.append(TF32 if is_tf32 else dtypes.named_dtype(value))
    canonical = DotAlgorithm(types[0], types[1], types[2], *algorithm[3:])
    return _PRESET_OF.get(canonical, canonical)


class ProductTypes(NamedTuple):
    """The dtypes of the operands and of the sums in which a product is computed."""

    lhs: DType
    rhs: DType
    sums: DType


def uses_algorithm(algorithm: object, dtype: DType) -> TypeGuard[Algorithm]:
    """True if products of a dtype use an algorithm. Only real floats do."""
    return isinstance(algorithm, (DotAlgorithm, DotAlgorithmPreset)) and dtypes.is_float(dtype)


def definition(algorithm: Algorithm) -> DotAlgorithm:
    """The algorithm of a preset; an algorithm is returned unchanged."""
    result: DotAlgorithm = algorithm if isinstance(algorithm, DotAlgorithm) else algorithm.value
    return result


def product_types(algorithm: Algorithm, dtype: DType) -> ProductTypes:
    """The dtypes to which an algorithm converts operands of a dtype, and the dtype of its sums.

    Raises: TypeError: the algorithm accepts only float8.
    """
    full_algorithm = definition(algorithm)
    lhs, rhs = [
        operand_type(algorithm, precision_type, full_algorithm.num_primitive_operations, dtype)
        for precision_type in full_algorithm[:2]
    ]
    sums = _F32 if full_algorithm[2] is None else np.dtype(full_algorithm[2])
    return ProductTypes(lhs, rhs, sums)


def operand_type(algorithm: Algorithm, precision_type: Any, products: int, dtype: DType) -> DType:
    """The dtype of the operand that XLA gets: the narrow dtype to which it is rounded, or float32
    if XLA rounds it or splits it into parts."""
    if precision_type is None:
        if not dtype.name.startswith("float8"):
            raise ShapeError(
                f"dot_general: the algorithm {algorithm!r} is for operands of a float8 dtype; got "
                f"{dtype.name}\n  fix: convert them with .astype, or choose another algorithm"
            )
        return dtype
    if isinstance(precision_type, str) or products > 1:
        return _F32
    if precision_type == dtypes.bfloat16 and dtype == np.float32:
        return dtype
    return np.dtype(precision_type)


def check_on_cpu(algorithm: Algorithm) -> None:
    """Raises an error for an algorithm that XLA does not have on CPUs."""
    if algorithm not in _ON_CPU:
        raise ValueError(
            f"dot_general: the CPU can't multiply by the algorithm {algorithm!r}; it has "
            f"{', '.join(preset.name for preset in _ON_CPU)}\n"
            "  fix: one of these, a lax.Precision, or lax.platform_dependent with a function for "
            "each platform"
        )


def algorithm_attribute(algorithm: Algorithm, types: ProductTypes) -> str:
    """StableHLO's attribute, for operands that are in the algorithm's dtypes."""
    full_algorithm = definition(algorithm)
    names = [
        expected
        if isinstance(expected, str)
        else element(actual if expected is None else np.dtype(expected))
        for expected, actual in zip(full_algorithm[:3], types, strict=True)
    ]
    fields = [
        f"lhs_precision_type = {names[0]}",
        f"rhs_precision_type = {names[1]}",
        f"accumulation_type = {names[2]}",
        f"lhs_component_count = {full_algorithm.lhs_component_count}",
        f"rhs_component_count = {full_algorithm.rhs_component_count}",
        f"num_primitive_operations = {full_algorithm.num_primitive_operations}",
        "allow_imprecise_accumulation = "
        f"{str(full_algorithm.allow_imprecise_accumulation).lower()}",
    ]
    return f", algorithm = #stablehlo.dot_algorithm<{', '.join(fields)}>"
