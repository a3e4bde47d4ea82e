"""SummaryWriter writes event files for TensorBoard: scalars, images, histograms and texts.

The package tensorboardX makes the records. Each is appended to the file at once, so a killed run
leaves complete records. is_available is True if the package is installed.
"""

import importlib.util
import os
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import numpy as onp

from .. import option_checks
from ..option_checks import optional
from ..user_lines import noted
from .appended_file import AppendedFile
from .step_values import scalar_of

__all__ = ["SummaryWriter", "is_available"]

PACKAGE = "tensorboardX"
FIRST_RECORD = "brain.Event:2"  # readers expect this version at the beginning of a file


def is_available() -> bool:
    """True if tensorboardX is installed. It is not imported.

    Example:
      >>> is_available() in (True, False)
      True
    """
    return importlib.util.find_spec(PACKAGE) is not None


class SummaryWriter:
    """Writes one event file of a folder, which `tensorboard --logdir` shows.

    Args:
      log_dir: the folder; it and the file are made when the first record is written.
      enable: False for a writer that writes nothing.
      first_step: the step after the checkpoint from which a run resumes. TensorBoard then ignores
        the records of this and later steps in earlier files.

    Raises: ImportError: tensorboardX is not installed (when the first record is written).

    Example:
      >>> writer = SummaryWriter("run/train")
      >>> writer.scalar("metrics/L2Loss", 0.25, step=1)
      >>> writer.close()
      >>> import os
      >>> len(os.listdir("run/train"))
      1

    Source: Trax documentation, `jaxboard.SummaryWriter`.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], enable: bool = True, first_step: int | None = None
    ) -> None:
        self._directory = os.path.expanduser(os.fspath(log_dir))
        self._is_enabled = option_checks.flag("SummaryWriter", "enable", enable)
        self._first_step = first_step
        self._file: AppendedFile | None = None
        self._library: Any = None

    def scalar(self, tag: str, value: Any, step: int | None = None) -> None:
        """Writes a number.

        Args:
          tag: its name.
          value: a number or a scalar array.
          step: the number of the step.
        Raises: ValueError: the value is not a scalar.
        """
        self.scalars({tag: value}, step)

    def scalars(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Writes numbers of one step in one record.

        Args:
          values: numbers or scalar arrays, by name.
          step: the number of the step.
        Raises: ValueError: a value is not a scalar.
        """
        numbers = {tag: scalar_of("SummaryWriter", tag, value) for tag, value in values.items()}
        if self._is_enabled and numbers:
            kind = self._loaded().summary.Summary
            value_of = kind.Value
            self._add(
                kind(value=[value_of(tag=t, simple_value=v) for t, v in numbers.items()]), step
            )

    def image(self, tag: str, image: Any, step: int | None = None) -> None:
        """Writes an image.

        Args:
          tag: its name.
          image: array [height, width] or [height, width, channels] with 1, 3 or 4 channels: bytes,
            or numbers from 0 to 1. If numbers are outside this range, they are scaled so that the
            minimum is black and the maximum is white.
          step: the number of the step.
        Raises: ValueError: the array has another shape. ImportError: Pillow is not installed.
        """
        pixels = pixels_of(tag, image)
        if self._is_enabled:
            optional("PIL", "SummaryWriter.image", "pillow")
            summary = self._loaded().summary.image(tag, pixels, dataformats="HWC")
            self._add_as(tag, summary, step)

    def images(self, tag: str, images: Any, step: int | None = None) -> None:
        """Writes images as a grid that is about as high as wide.

        Args:
          tag: its name.
          images: array [n, height, width, channels], or [n, height, width].
          step: the number of the step.
        Raises: ValueError: the array has another shape.
        """
        stack = onp.asarray(images)
        if stack.ndim not in (3, 4) or not stack.size:
            raise _wrong_shape("images", tag, "[n, height, width, channels]", stack)
        columns = int(onp.ceil(onp.sqrt(len(stack))))
        n_rows = -(-len(stack) // columns)
        grid = onp.zeros((n_rows * columns, *stack.shape[1:]), stack.dtype)
        grid[: len(stack)] = stack
        rows = [onp.concatenate(list(part), 1) for part in onp.split(grid, n_rows)]
        self.image(tag, onp.concatenate(rows, 0), step)

    def histogram(self, tag: str, values: Any, step: int | None = None, bins: int = 30) -> None:
        """Writes a histogram of numbers.

        Args:
          tag: its name.
          values: array of any shape. Elements that are not finite are left out.
          step: the number of the step.
          bins: the number of intervals of equal length.
        """
        numbers = onp.asarray(values, "float64").ravel()
        numbers = numbers[onp.isfinite(numbers)]
        if self._is_enabled and numbers.size:
            summary = self._loaded().summary.histogram(tag, numbers, bins)
            self._add_as(tag, summary, step)

    def text(self, tag: str, text: str, step: int | None = None) -> None:
        """Writes a text, which TensorBoard shows as Markdown.

        Args:
          tag: its name.
          text: the text.
          step: the number of the step.
        """
        if self._is_enabled:
            self._add(self._loaded().summary.text(tag, str(text)), step)

    def flush(self) -> None:
        """Does nothing, because records go to the file at once. It exists for programs written for
        Trax."""

    def close(self) -> None:
        """Closes the file; a further record begins another file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _loaded(self) -> Any:
        if self._library is None:
            self._library = optional(PACKAGE, "SummaryWriter", PACKAGE)
        return self._library

    def _add_as(self, tag: str, summary: Any, step: int | None) -> None:
        """Writes a summary with its own name; tensorboardX would replace some characters."""
        summary.value[0].tag = tag
        self._add(summary, step)

    def _add(self, summary: Any, step: int | None) -> None:
        library = self._loaded()
        event = library.writer.Event
        if self._file is None:
            self._file = AppendedFile(os.path.join(self._directory, self._name()))
            self._append(event(wall_time=time.time(), file_version=FIRST_RECORD))
            if self._first_step is not None:
                log = library.writer.SessionLog
                begun = log(status=log.START)
                self._append(event(wall_time=time.time(), step=self._first_step, session_log=begun))
        self._append(event(wall_time=time.time(), step=step, summary=summary))

    def _append(self, event: Any) -> None:
        """Appends a record in TFRecord format: length, data, and a checksum of each."""
        assert self._file is not None
        checksum = self._library.record_writer.masked_crc32c
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        checksums = [struct.pack("<I", checksum(part)) for part in (length, data)]
        self._file.append(b"".join([length, checksums[0], data, checksums[1]]))

    def _name(self) -> str:
        """A new name, which sorts after the names of earlier files."""
        begun = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
        is_there = os.path.isdir(self._directory)
        count = len(os.listdir(self._directory)) if is_there else 0
        return f"{begun}.{count:04d}"


def pixels_of(tag: str, image: Any) -> Any:
    """An image as bytes [height, width, channels].

    Raises: ValueError: the array has another shape.
    """
    array = onp.asarray(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[-1] not in (1, 3, 4) or not array.size:
        raise _wrong_shape("image", tag, "[height, width, channels] of 1, 3 or 4 channels", array)
    if array.dtype != onp.uint8:
        numbers = onp.nan_to_num(array.astype("float64"))
        low, high = float(numbers.min()), float(numbers.max())
        if low < 0 or high > 1:
            numbers = (numbers - low) / max(high - low, 1e-300)
        array = onp.round(255 * numbers).astype("uint8")
    return onp.repeat(array, 3, 2) if array.shape[-1] == 1 else array


def _wrong_shape(method: str, tag: str, expected: str, array: Any) -> ValueError:
    return noted(
        ValueError(f"{method}: {tag!r} must be an array {expected}; got {array.dtype}{array.shape}")
    )
