"""Complex numbers and their parts: complex_, real, imag, conj.

A cotangent is paired with a tangent without conjugation. So the transpose of `real` is ct + 0i, the
transpose of `imag` is 0 - i ct, and `conj` is its own transpose.
"""

import functools

import numpy as np

from .. import dtypes
from ..core.primitive import Primitive
from ..core.value import Value
from .creation import zeros
from .elementwise import nary, unary
from .rule_types import Argument, Host, Tangents

complex_: Primitive = nary(
    "complex",
    "x + iy.",
    evaluate=lambda x, y: _complex(x, y),
    stablehlo="complex",
    jvp=(
        lambda dx, out, x, y: complex_(dx, zeros(dx.aval)),
        lambda dy, out, x, y: complex_(zeros(dy.aval), dy),
    ),
    transpose=(lambda ct, x, y: real(ct), lambda ct, x, y: -imag(ct)),
    accepts="float32 or float64",
    out_dtype=dtypes.complex_of,
)


def _complex(x: Host, y: Host) -> Host:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), dtypes.complex_of(x.dtype))
    out.real, out.imag = x, y
    return out


_part = functools.partial(unary, accepts="complex", out_dtype=dtypes.real_of, host="always")

real: Primitive = _part(
    "real", "The real part.", evaluate=np.real, stablehlo="real", jvp=lambda dx, out, x: real(dx),
)  # fmt: skip
imag: Primitive = _part(
    "imag", "The imaginary part.", evaluate=np.imag, stablehlo="imag",
    jvp=lambda dx, out, x: imag(dx),
)  # fmt: skip
conj: Primitive = unary(
    "conj", "The complex conjugate.", evaluate=np.conjugate, stablehlo="chlo.conj",
    accepts="complex", jvp=lambda dx, out, x: conj(dx), linear=True,
)  # fmt: skip


@real.transpose
def _(ct: Value, x: Argument) -> Tangents:
    return (complex_(ct, zeros(ct.aval)),)


@imag.transpose
def _(ct: Value, x: Argument) -> Tangents:
    return (complex_(zeros(ct.aval), -ct),)
