"""fft: the discrete Fourier transform over the last axes.

Cotangents are paired with tangents without conjugation, so a complex transform is its own
transpose: its matrix is symmetric. The transposes of the real transforms are each other, conjugated
and weighted: the stored half of a spectrum represents both halves, except for the frequencies
0 and n / 2.
"""

import enum
import functools
import math
from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..sharding import UNCONSTRAINED
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .arithmetic import mul, neg
from .complex_numbers import complex_, imag, real
from .creation import full
from .elementwise import check_kind
from .rule_types import Argument, Host, Integers, Kernel, Tangents
from .slicing import pad
from .structural import batch_in_front, broadcast_in_dim, linear_jvp


class FftType(enum.Enum):
    """The kinds of Fourier transforms: complex, inverse complex, real, inverse real.

    Example:
      >>> lax.fft(np.ones(4), lax.FftType.RFFT, (4,))
      Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


MAX_AXES = 3
"""XLA transforms up to three axes at once."""

fft = Primitive(
    "fft",
    "Discrete Fourier transform over the last axes.",
    host="always",  # XLA divides rows among threads as they come: their last bits vary by the call
)


def real_length(n: int) -> int:
    """The number of frequencies of a real signal of length n; the others are their conjugates."""
    return n // 2 + 1


@fft.type
def _(x: Aval, *, fft_type: FftType, fft_lengths: Integers) -> Aval:
    name = f"fft of type {fft_type.name}"
    if not 1 <= len(fft_lengths) <= min(MAX_AXES, x.ndim):
        raise ShapeError(
            f"{name}: expected from 1 to {MAX_AXES} lengths, and no more than {x} has axes; got "
            f"fft_lengths {fft_lengths}"
        )
    if any(n < 1 for n in fft_lengths):
        raise ShapeError(f"{name}: lengths must be 1 or more; got fft_lengths {fft_lengths}")
    full_lengths, half_lengths = fft_lengths, (*fft_lengths[:-1], real_length(fft_lengths[-1]))
    check_kind(name, "float32 or float64" if fft_type is FftType.RFFT else "complex", x)
    expected = half_lengths if fft_type is FftType.IRFFT else full_lengths
    if x.shape[-len(full_lengths) :] != expected:
        raise ShapeError(
            f"{name}: the last axes of {x} must have lengths {expected} for fft_lengths "
            f"{full_lengths}"
        )
    batch_shape, dtype = x.shape[: -len(full_lengths)], x.dtype
    if fft_type is FftType.RFFT:
        dtype = dtypes.complex_of(dtype)
    elif fft_type is FftType.IRFFT:
        dtype = dtypes.real_of(dtype)
    shape = (*batch_shape, *(half_lengths if fft_type is FftType.RFFT else full_lengths))
    return x.update(shape=shape, dtype=dtype, weak_type=False)


@fft.evaluate
def fft_evaluated(x: Host, *, fft_type: FftType, fft_lengths: Integers) -> Host:
    leading_axes = range(-len(fft_lengths), -1)
    if fft_type is FftType.FFT or fft_type is FftType.IFFT:
        transform = np.fft.fft if fft_type is FftType.FFT else np.fft.ifft
        for axis in (*leading_axes, -1):
            x = transform(x, axis=axis)
        return x
    if fft_type is FftType.RFFT:
        x = np.fft.rfft(x)
        for axis in leading_axes:
            x = np.fft.fft(x, axis=axis)
        return x
    for axis in leading_axes:
        x = np.fft.ifft(x, axis=axis)
    return np.fft.irfft(x, fft_lengths[-1])


@fft.host.kernel
def _(x: Aval, *, fft_type: FftType, fft_lengths: Integers) -> Kernel:
    if len(fft_lengths) > 1:
        return functools.partial(fft_evaluated, fft_type=fft_type, fft_lengths=fft_lengths)
    if fft_type is FftType.IRFFT:
        return functools.partial(np.fft.irfft, n=fft_lengths[0])
    functions = {FftType.FFT: np.fft.fft, FftType.IFFT: np.fft.ifft, FftType.RFFT: np.fft.rfft}
    return functions[fft_type]


@fft.lower
def _(block: Block, x: Operand, out: Aval, fft_type: FftType, fft_lengths: Integers) -> Operand:
    if not out.size:
        return block.full(0, out)
    *outer_lengths, last_length = fft_lengths
    if fft_type is FftType.IRFFT and outer_lengths and block.module.platform not in ("cpu", "tpu"):
        # cuFFT's transform of several axes expects a spectrum of real numbers along all of them,
        # and is wrong otherwise: https://github.com/jax-ml/jax/issues/40143
        n_batch, n = x.aval.ndim - len(fft_lengths), x.aval.ndim
        order = (*range(n_batch), n - 1, *range(n_batch, n - 1))
        x = block.transpose(x, order)
        x = write_transform(block, x, x.aval, FftType.IFFT, outer_lengths)
        x = block.transpose(x, tuple([order.index(i) for i in range(n)]))
        return write_transform(block, x, out, fft_type, (last_length,))
    if fft_type is FftType.FFT and out.ndim > 2 and block.module.meshes is not None:
        # XLA divides such a transform among devices. If there are more devices than a part can be
        # divided into, it ends the process
        result = write_transform(block, replicate_last_axis(block, x), out, fft_type, fft_lengths)
        return replicate_last_axis(block, result)
    return write_transform(block, x, out, fft_type, fft_lengths)


def replicate_last_axis(block: Block, x: Operand) -> Operand:
    """The value with its last axis replicated on every device; the compiler divides the other
    axes."""
    meshes, region = block.module.meshes, block.module.region
    if meshes is None or (region is not None and not region.rest):
        return x
    mesh = next(iter(meshes.names)) if region is None else region.mesh
    spec = (*[UNCONSTRAINED] * (x.aval.ndim - 1), None)
    return block.constraint(x, meshes.sharding(mesh, spec, x.aval.ndim))


def write_transform(
    block: Block, x: Operand, out: Aval, fft_type: FftType, fft_lengths: Sequence[int]
) -> Operand:
    """Writes XLA's operation."""
    kind = f"fft_type = #stablehlo<fft_type {fft_type.name}>"
    lengths = f"fft_length = {ints(fft_lengths)}"
    result: Operand = block.op("fft", x, out=out, attributes=f"{kind}, {lengths}")
    return result


fft.jvp(linear_jvp(fft))


@fft.transpose
def _(ct: Value, x: Argument, *, fft_type: FftType, fft_lengths: Integers) -> Tangents:
    if fft_type is FftType.RFFT:
        count = math.prod(fft_lengths)
        spectrum = conjugate_pairs(ct, fft_lengths[-1], count, count / 2)
        return (fft(spectrum, fft_type=FftType.IRFFT, fft_lengths=fft_lengths),)
    if fft_type is FftType.IRFFT:
        spectrum_half = fft(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        scale = 1 / math.prod(fft_lengths)
        return (conjugate_pairs(spectrum_half, fft_lengths[-1], scale, 2 * scale),)
    return (fft(ct, fft_type=fft_type, fft_lengths=fft_lengths),)


def conjugate_pairs(half_spectrum: Value, n: int, edge_weight: float, pair_weight: float) -> Value:
    """The conjugate of half a spectrum along its last axis, times `pair_weight` at frequencies with
    a conjugate in the other half, and times `edge_weight` at 0 and n / 2."""
    x, y = (
        real(half_spectrum),
        imag(half_spectrum),
    )  # two real products: a complex one takes twice as long
    scalar = x.aval.update(shape=(), weak_type=False)
    inner_weights = full(scalar.update(shape=((n - 1) // 2,)), pair_weight)
    edges = ((1, int(n % 2 == 0), 0),)
    weight_line = pad(inner_weights, full(scalar, edge_weight), padding=edges)
    weights = broadcast_in_dim(weight_line, shape=x.shape, dims=(x.ndim - 1,))
    return complex_(mul(x, weights), neg(mul(y, weights)))


fft.batch(batch_in_front(fft))
