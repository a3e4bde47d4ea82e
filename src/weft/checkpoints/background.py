"""Background: work in a thread, whose errors are raised by the next call."""

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable

from ..user_lines import noted

NICENESS = 10
"""The thread has a lower priority than threads that compute. Otherwise, if these use all cores, a
step during a save takes half as long again (benchmarks/train_checkpoint.py)."""


class _Outcome:
    """The error of the last work. The thread refers to this object, and not to the `Background`."""

    def __init__(self) -> None:
        self.error: BaseException | None = None


class Background:
    """Runs one function at a time in a thread. The next call raises its error. The process does not
    end before the function, because the thread is not a daemon. In a forked child there is no
    thread and nothing to wait for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._renew()
        weakref.finalize(self, _report, self._outcome, os.getpid(), name)

    def _renew(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._outcome = _Outcome()

    def start(self, work: Callable[[], None]) -> None:
        """Starts a function after the previous one has ended.

        Raises: the error of the previous one.
        """
        if os.getpid() != self._process:
            self._renew()
        with self._lock:
            self.wait()
            self._thread = threading.Thread(
                target=_run, args=(work, self._outcome), name=self.name, daemon=False
            )
            self._thread.start()

    def wait(self) -> None:
        """Waits until the function has ended.

        Raises: its error, once.
        """
        if os.getpid() != self._process:
            self._renew()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
                self._thread = None
            error, self._outcome.error = self._outcome.error, None
            if error is None:
                return
            try:
                raise noted(error)
            finally:
                del error  # the error refers to this frame


def _run(work: Callable[[], None], outcome: _Outcome) -> None:
    try:
        if sys.platform == "linux":  # on Linux, each thread has its own priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        work()
    except BaseException as error:  # for the thread that waits
        if isinstance(error, OSError):  # its traceback would keep the arrays alive
            error.__context__ = None
            error = error.with_traceback(None)
        outcome.error = error


def _report(outcome: _Outcome, process: int, name: str) -> None:
    """Warns of an error that was not raised, when the object is freed or the process ends."""
    if outcome.error is not None and os.getpid() == process:
        warnings.warn(f"{name}: {outcome.error}", RuntimeWarning, stacklevel=1)
