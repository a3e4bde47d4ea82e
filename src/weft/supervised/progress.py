"""Progress: a line on the terminal with the step, the speed, the loss and the time left.

It is redrawn in place. Without a terminal, a line is written every half minute.
"""

import collections
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from .. import option_checks

__all__ = ["Progress"]

REDRAWN_EVERY = 0.25
"""Seconds between two drawings on a terminal."""

WRITTEN_EVERY = 30.0
"""Seconds between two lines without a terminal."""

MARKS = 40
"""The number of drawings over which the speed is averaged: ten seconds on a terminal."""

ERASE = "\r\x1b[K"


class Progress:
    """Shows the progress of a run in one line.

    Args:
      stream: the output stream; by default `sys.stderr`, so that other programs can read
        `sys.stdout`.
      every: the seconds between two drawings; by default 0.25 on a terminal, otherwise 30.
      clock: a function that returns seconds.

    Raises: TypeError, ValueError: `every` is not a number greater than 0.

    `update` costs a tenth of a microsecond when nothing is due. It never waits for a device: the
    loss shown is the newest one that is already computed.

    Example:
      >>> import sys
      >>> seconds = iter([0.0, 1.0, 2.0, 3.0])
      >>> progress = Progress(sys.stdout, every=1.0, clock=lambda: next(seconds))
      >>> progress.begin(0, 100)
      >>> for step in (1, 2):
      ...     progress.update(step, 0.75, 0.001)
      step 1/100 | loss 0.7500 | learning rate 0.001
      step 2/100 | 1.0 steps/s | loss 0.7500 | learning rate 0.001 | 1:38 left
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        every: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._is_terminal = _is_terminal(self._stream)
        if every is None:
            every = REDRAWN_EVERY if self._is_terminal else WRITTEN_EVERY
        self._every = option_checks.number("Progress", "every", every, above=0.0)
        self._clock = clock
        self._due = float("inf")  # `begin` starts the display
        self._last: int | None = None
        self._shown = ""  # the text on the terminal's last line
        self._marks: collections.deque[tuple[float, int]] = collections.deque(maxlen=MARKS)
        self._loss: float | None = None
        self._waiting: Any = None  # the loss at the last drawing, if it had not been computed

    def begin(self, step: int, n_steps: int | None = None) -> None:
        """Begins to show steps.

        Args:
          step: the number of completed steps.
          n_steps: the number of steps from here to the end; None if unknown.
        """
        if self._stream is None:
            return
        self._last = None if n_steps is None else step + n_steps
        self._marks.clear()
        self._due = self._clock() + (0.0 if self._is_terminal else self._every)

    def update(self, step: int, loss: Any = None, learning_rate: Any = None) -> None:
        """Draws the line, unless it was drawn a moment ago.

        Args:
          step: the number of completed steps.
          loss: the loss of the step, a number or a scalar on a device.
          learning_rate: the learning rate of the step.
        """
        now = self._clock()
        if now >= self._due:
            self._draw(now, step, loss, learning_rate)

    def clear(self) -> None:
        """Erases the line from the terminal, so that another line can be printed."""
        if self._shown:
            self._write(ERASE)
            self._shown = ""

    def end(self) -> None:
        """Leaves the line as it was last drawn; nothing more is shown until the next `begin`."""
        if self._shown:
            self._write("\n")
            self._shown = ""
        self._due = float("inf")
        self._waiting = None

    def _draw(self, now: float, step: int, loss: Any, learning_rate: Any) -> None:
        self._due = now + self._every
        self._note(loss)
        self._marks.append((now, step))
        text = self._text(step, learning_rate)
        if not self._is_terminal:
            self._write(text + "\n")
            return
        text = text[: _columns(self._stream) - 1]
        if text != self._shown:
            self._write(ERASE + text)
            self._shown = text

    def _note(self, loss: Any) -> None:
        """Keeps the newest loss that can be read without waiting for a device."""
        for value in (loss, self._waiting):
            if value is not None and (not hasattr(value, "is_ready") or value.is_ready()):
                self._loss = float(value)
                break
        self._waiting = loss

    def _text(self, step: int, learning_rate: Any) -> str:
        parts = [f"step {step:,}" if self._last is None else f"step {step:,}/{self._last:,}"]
        (before, first), (now, _) = self._marks[0], self._marks[-1]
        speed = (step - first) / (now - before) if now > before else 0.0
        if speed:
            parts.append(speed_text(speed))
        if self._loss is not None:
            parts.append(f"loss {number_text(self._loss)}")
        if learning_rate is not None:
            parts.append(f"learning rate {float(learning_rate):.3g}")
        if speed and self._last is not None:
            parts.append(f"{duration_text((self._last - step) / speed)} left")
        return " | ".join(parts)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # a missing terminal must not end a run
            self._stream, self._due = None, float("inf")


def speed_text(speed: float) -> str:
    """A number of steps per second: `1,234 steps/s`, `12.3 steps/s`, `4.00 s/step`."""
    if speed >= 100:
        return f"{speed:,.0f} steps/s"
    return f"{speed:.1f} steps/s" if speed >= 1 else f"{1 / speed:.2f} s/step"


def number_text(value: float) -> str:
    """A loss in few characters: `0.1234`, `1.23e-05`, `nan`."""
    size = abs(value)
    return f"{value:.4f}" if size == 0 or 1e-3 <= size < 1e5 else f"{value:.3g}"


def duration_text(seconds: float) -> str:
    """A time: `0:07`, `1:02:03`, `2 days 3 h`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} day{'s' if days > 1 else ''} {hour} h"
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


def _is_terminal(stream: TextIO | None) -> bool:
    """True for a terminal that can erase a line."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # raised for a closed file
        return False


def _columns(stream: TextIO | None) -> int:
    """The width of a terminal in characters."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80 if stream else 80
    except (OSError, ValueError, AttributeError):
        return 80
