"""Overlapping segments of signals: `welch` and `stft` cut a signal into segments, and `istft` joins
them again."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import ShapeError
from ...numpy.axes import as_int
from ...numpy.creation import from_numpy
from ...numpy.joining import concatenate
from ...numpy.padding import pad
from ...numpy.promotion import noted, value
from ...primitives.structural import reshape
from .windows import periodic_window


@dataclasses.dataclass(frozen=True)
class Segments:
    """The segments of a signal.

    Attributes:
      window: a value [length].
      length: the length of a segment.
      overlap: the number of samples that two neighbours share.
      transformed: the length to which a segment is padded.
    """

    window: Any
    length: int
    overlap: int
    transformed: int

    @property
    def step(self) -> int:
        """The distance between the starts of two neighbouring segments."""
        return self.length - self.overlap


def segments_of_options(
    name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, dtype: Any, n: int | None
) -> Segments:
    """The segments for a function's arguments.

    Args:
      n: the length of the signal, which bounds the length of a segment; `None` if unknown.
    Raises: ValueError: the lengths contradict each other.
    """
    lengths = {"nperseg": nperseg, "noverlap": noverlap, "nfft": nfft}
    options = {k: None if v is None else as_int(name, v, k) for k, v in lengths.items()}
    length = options["nperseg"]
    if length is not None and length < 1:
        raise ValueError(f"{name}: nperseg must be 1 or more; got {length}")
    array = isinstance(window, (Value, np.ndarray, list))
    if array:
        window = value(
            name, _from_list(name, window) if isinstance(window, list) else window, "window"
        )
        if window.ndim != 1:
            raise ShapeError(f"{name}: a window must have one axis; got {window.aval}")
        if n is not None and window.shape[0] > n:
            raise ShapeError(f"{name}: the window {window.aval} is longer than the signal, {n}")
        if length is not None and length != window.shape[0]:
            raise ShapeError(f"{name}: nperseg is {length}, and the window {window.aval}")
        length = window.shape[0]
    if length is None:
        length = 256
        length = length if n is None else min(length, n)
    elif n is not None and length > n:
        warnings.warn(
            f"{name}: nperseg = {length} is more than the signal has samples; using {n}",
            UserWarning,
            stacklevel=4,
        )
        length = n
    if not array:
        window = from_numpy(periodic_window(name, window, length))
    overlap = length // 2 if options["noverlap"] is None else options["noverlap"]
    if not 0 <= overlap < length:
        raise ValueError(
            f"{name}: noverlap must be from 0 to nperseg - 1, {length - 1}; got {overlap}"
        )
    transform_length = length if options["nfft"] is None else options["nfft"]
    if transform_length < length:
        raise ValueError(f"{name}: nfft must be nperseg, {length}, or more; got {transform_length}")
    return Segments(window.astype(dtype), length, overlap, transform_length)


def cut(x: Any, segments: Segments) -> Any:
    """Cuts [..., n] into segments [..., count, length]."""
    n, step, length = x.shape[-1], segments.step, segments.length
    count = (n - segments.overlap) // step
    if length % step == 0:  # slices of whole blocks, without a gather
        parts = length // step
        blocks = x[..., : (count + parts - 1) * step]
        blocks = reshape(blocks, shape=(*x.shape[:-1], count + parts - 1, step))
        return concatenate([blocks[..., i : i + count, :] for i in range(parts)], -1)
    indices = np.arange(count)[:, None] * step + np.arange(length)
    return x[..., indices]


def overlap_add(parts: Any, segments: Segments) -> Any:
    """Joins segments [..., count, length] into [..., n]: their sum, each at its position. The
    transpose of `cut`."""
    *batch_shape, count, length = parts.shape
    step = segments.step
    total = length + (count - 1) * step
    if length % step:
        indices = np.arange(count)[:, None] * step + np.arange(length)
        zeros = from_numpy(np.zeros((*batch_shape, total), parts.aval.dtype))
        return zeros.at[..., indices].add(parts)
    blocks_per_segment = length // step
    blocks = reshape(parts, shape=(*batch_shape, count, blocks_per_segment, step))
    no_padding = [(0, 0)] * len(batch_shape)
    shifted_blocks = [
        pad(blocks[..., i, :], [*no_padding, (i, blocks_per_segment - 1 - i), (0, 0)])
        for i in range(blocks_per_segment)
    ]
    result = shifted_blocks[0]
    for one in shifted_blocks[1:]:
        result = result + one
    return reshape(result, shape=(*batch_shape, total))


def _from_list(name: str, window: list[Any]) -> Any:
    try:
        return np.asarray(window)
    except ValueError:
        raise noted(
            ShapeError(f"{name}: window must be a list of numbers; got {window!r:.80}")
        ) from None


def extended(name: str, x: Any, boundary: str | None, n: int) -> Any:
    """Extends the last axis by n samples at each end."""
    if boundary is None or n == 0:
        return x
    modes: dict[str, tuple[str, dict[str, str]]] = {
        "even": ("reflect", {}),
        "odd": ("reflect", {"reflect_type": "odd"}),
        "constant": ("edge", {}),
        "zeros": ("constant", {}),
    }
    if not isinstance(boundary, str) or boundary not in modes:
        raise noted(
            ValueError(
                f"{name}: boundary must be None or one of {', '.join(map(repr, modes))}; got "
                f"{boundary!r:.80}"
            )
        )
    if boundary in ("even", "odd") and n >= x.shape[-1]:
        raise noted(
            ShapeError(
                f"{name}: boundary {boundary!r} needs more than {n} samples; got {x.shape[-1]}"
            )
        )
    mode, options = modes[boundary]
    return pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode, **options)
