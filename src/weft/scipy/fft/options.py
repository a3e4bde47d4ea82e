"""Types, norms, axes and lengths of cosine and sine transforms."""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import ShapeError
from ...lax.complex_numbers import complex as complex_of_parts
from ...numpy.creation import from_numpy
from ...numpy.fft.lengths import NORMS, checked_axes, fitted, pack_options, signal_lengths
from ...numpy.plans import planned
from ...numpy.promotion import cast
from ...primitives.structural import move_axis
from .kernels import COSINES, Kernel

INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}
SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


def real_trigonometric(
    name: str, kernels: dict[int, Kernel], inverse: bool, has_several_axes: bool
) -> Callable[..., Any]:
    """A planned transform of an array: (x, (type, *axes_and_lengths), form, norm, orthogonalize).
    `pack_options` returns `axes_and_lengths` and `form`, for any number of axes."""

    def transform(x: Any, type_and_options: Any, form: int, norm: Any, orthogonalize: Any) -> Any:
        kind, axes_and_lengths = checked_type(name, type_and_options[0]), type_and_options[1:]
        if norm not in (None, *NORMS):
            raise ValueError(
                f"{name}: norm must be one of {', '.join(map(repr, NORMS))}; got {norm!r}"
            )
        if orthogonalize is None:
            orthogonalize = norm == "ortho"
        if inverse:
            kind, norm = INVERSES[kind], SWAPPED.get(norm, norm)
        axes, s = unpack_options(axes_and_lengths, form)
        argument = "axes" if has_several_axes else "axis"
        transformed_axes = checked_axes(name, x, axes, s, argument)
        if len(set(transformed_axes)) < len(transformed_axes):
            raise ShapeError(f"{name}: axes must be different; got {axes}")
        lengths = signal_lengths(
            name, x, transformed_axes, s, False, "s" if has_several_axes else "n"
        )
        run = functools.partial(
            normalized_transform,
            name,
            kernels,
            kind,
            norm,
            bool(orthogonalize),
            transformed_axes,
            lengths,
        )
        x = in_float_dtype(x)
        if dtypes.is_complex(x.aval.dtype):
            return complex_of_parts(run(x.real), run(x.imag))
        return run(x)

    return planned(name, transform, "x")


def with_type(name: str, type: Any, s: Any, axes: Any) -> tuple[tuple[Any, ...], int]:
    """The type, lengths and axes as one tuple of ints, for a plan's key, and the form that
    `unpack_options` needs. An int means a sequence of one, as in SciPy."""
    s, axes = ((x,) if isinstance(x, (int, np.integer)) else x for x in (s, axes))
    axes_and_lengths, form = pack_options(name, s, axes)
    return (type, *(axes_and_lengths or ())), form


def unpack_options(axes_and_lengths: Any, form: int) -> tuple[Any, Any]:
    """(axes, lengths), from the result of `pack_options`; each is `None` if it was omitted."""
    if form < 0:
        return None, axes_and_lengths if form == -1 else None
    return axes_and_lengths[:form], axes_and_lengths[form:] if len(
        axes_and_lengths
    ) > form else None


def checked_type(name: str, type: Any) -> int:
    """The type of a transform, which must be 1 to 4."""
    try:
        kind = operator.index(type)
    except TypeError:
        kind = 0
    if kind not in INVERSES or type is True:
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4; got {type!r}")
    return kind


def in_float_dtype(x: Any) -> Any:
    """A value of a float or complex dtype of 32 bits or more."""
    dtype = x.aval.dtype
    if not dtypes.is_inexact(dtype):
        dtype = dtypes.default_float()
    elif dtype.itemsize < 4:
        dtype = dtypes.float32
    return cast(x, dtype)


def normalized_transform(
    name: str,
    kernels: dict[int, Kernel],
    kind: int,
    norm: str | None,
    orthogonalize: bool,
    axes: Sequence[int],
    lengths: Sequence[int],
    x: Any,
) -> Any:
    """The transform of real numbers along some axes, with its norm."""
    cosine = kernels is COSINES
    scale = 1.0
    for axis, n in zip(axes, lengths, strict=True):
        if cosine and kind == 1 and n < 2:
            raise ShapeError(f"{name}: type 1 needs an axis of length 2 or more; got {x.aval}")
        period = 2 * (n - 1 if cosine else n + 1) if kind == 1 else 2 * n
        scale *= period
        rows = move_axis(fitted(x, axis, n), axis, x.ndim - 1)
        if orthogonalize:
            rows = weight_edges(rows, cosine, kind, is_input=True)
        rows = kernels[kind](rows)
        if orthogonalize:
            rows = weight_edges(rows, cosine, kind, is_input=False)
        x = move_axis(rows, x.ndim - 1, axis)
    if norm == "ortho":
        x = x * (1 / math.sqrt(scale))
    elif norm == "forward":
        x = x * (1 / scale)
    return x


def weight_edges(x: Any, cosine: bool, kind: int, is_input: bool) -> Any:
    """Multiplies or divides the elements at the edges by √2, which makes the matrix of the
    transform orthogonal up to its norm."""
    if kind == 4 or (kind == 1 and not cosine) or (kind, is_input) in ((2, True), (3, False)):
        return x
    weights = np.ones(x.shape[-1], x.aval.dtype)
    edges = [0, -1] if kind == 1 else [0 if cosine else -1]
    weights[edges] = math.sqrt(2) if is_input else math.sqrt(0.5)
    return x * from_numpy(weights)
