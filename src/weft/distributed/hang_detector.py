"""Detects from another thread whether the main thread hangs, and where. A thread that is blocked in
one call uses no processor time. A thread that computes does, and so does a loop of short sleeps.
This distinguishes a process that hangs from a slow one.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

WEFT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


BUSY = 0.01
"""The fraction of a processor's time above which a process counts as busy."""


class HangDetector:
    """Observes the main thread from another thread."""

    def __init__(self) -> None:
        self._main = threading.main_thread().ident or 0
        # not available on macOS, where no thread counts as still
        of_thread = getattr(time, "pthread_getcpuclockid", None)
        self._clock = of_thread(self._main) if of_thread else None
        self._seen = self._used = self._spent = 0.0
        self._still_since = self._waiting_since = self._seen = time.monotonic()

    def poll(self) -> tuple[float, float, str]:
        """The first fields of a Status: how long the main thread has been still, how long it has
        waited, and its position."""
        now = time.monotonic()
        inside, at = whereabouts(self._main)
        used = 0.0 if self._clock is None else time.clock_gettime(self._clock)
        # the processor time of the other threads
        spent = time.process_time() - time.thread_time()
        allowed = BUSY * (now - self._seen)
        if inside or self._clock is None or used != self._used or spent - self._spent > allowed:
            self._still_since = now
        if not inside or used - self._used > allowed:
            self._waiting_since = now
        self._seen, self._used, self._spent = now, used, spent
        return now - self._still_since, now - self._waiting_since, at


def whereabouts(thread: int) -> tuple[bool, str]:
    """(True if a thread is inside weft, the user's line as `train.py:12 in step`).

    Example:
      >>> whereabouts(threading.get_ident())[1] != ""
      True
    """
    inside = None
    for place in _stack(sys._current_frames().get(thread)):
        ours = place.startswith(WEFT)
        inside = ours if inside is None else inside
        if not ours:
            return inside, place
    return bool(inside), ""


def _stack(frame: FrameType | None) -> Iterator[str]:
    """The positions on a stack, innermost first, without those inside `threading`."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename != threading.__file__:
            yield f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
