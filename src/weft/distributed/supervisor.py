"""Runs child processes until all have ended. If one fails, it stops the others."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from .members import LOST

POLL = 0.02
"""Seconds between two checks of the children."""

SETTLE = 3.0
"""Seconds in which the other processes may report a lost process first."""

GRACE = 5.0
"""Seconds between the request to end and the kill."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end the supervisor and its children."""

# The signal that Linux sends a process whose parent dies outlives exec.
GUARD = """
import ctypes, os, sys
parent, *command = sys.argv[1:]
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(parent):
    os.execv(command[0], command)
"""


class Child(NamedTuple):
    """A process to start."""

    rank: int
    command: Sequence[str]
    environment: dict[str, str]
    """Environment variables to add to this process's."""


class Running:
    """A running process, in its own session, so that Ctrl-C reaches only the supervisor."""

    def __init__(self, child: Child) -> None:
        command = [*child.command]
        if sys.platform == "linux":
            command = [sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), *command]
        self.rank = child.rank
        self.process = subprocess.Popen(
            command,
            env=os.environ | child.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def status(self) -> int:
        """The exit status as in a shell: 128 + the signal that killed it."""
        code = self.process.returncode
        return 128 - code if code < 0 else code

    def send(self, number: int) -> None:
        """Sends a signal to the program and the processes that it started."""
        if self.is_alive:
            with suppress(ProcessLookupError):  # it has already ended
                os.killpg(self.process.pid, number)

    def __str__(self) -> str:
        return f"process {self.rank} (pid {self.process.pid})"

    def fate(self) -> str:
        code = self.process.returncode
        if code >= 0:
            return f"{self} ended with status {code}"
        likely = "; was the machine out of memory?" if code == -signal.SIGKILL else ""
        return f"{self} was killed by {signal.Signals(-code).name}{likely}"


def run_children(children: Sequence[Child]) -> int:
    """Starts the children and waits until they end. Their output gets the prefix `[rank]`.

    Returns: 0 if all ended with 0; otherwise the status of the first that failed, or 128 + the
      signal that killed it, or that ended this process.
    """
    signals: list[int] = []
    before = {n: signal.signal(n, lambda number, _: signals.append(number)) for n in SIGNALS}
    running: list[Running] = []
    try:
        for child in children:
            running.append(Running(child))
        pumps = [pump for each in running for pump in _pumps(each)]
        status = _supervise(running, signals)
        _stop(running, signals[0] if signals else signal.SIGTERM)
        for pump in pumps:
            pump.join(1)  # a process that a child left behind may keep the pipe open
        return status
    finally:
        for each in running:
            each.send(signal.SIGKILL)
        for number, handler in before.items():
            signal.signal(number, handler)


def _supervise(running: list[Running], signals: list[int]) -> int:
    """Waits until all have ended, one has failed, or a signal arrives. Returns the status."""
    while not signals:
        failed = [each for each in running if not each.is_alive and each.status]
        if failed:
            return _report_failure(running, failed, signals)
        if not any(each.is_alive for each in running):
            return 0
        time.sleep(POLL)
    _say(f"{signal.Signals(signals[0]).name} arrived: the processes are stopped")
    return 128 + signals[0]


def _report_failure(running: list[Running], failed: list[Running], signals: list[int]) -> int:
    """Reports the process that failed, after giving the others time to report it."""
    deadline = time.monotonic() + SETTLE
    culprit = None
    while True:
        # a process with status LOST ended because of another one; a signal is more informative than
        # a status
        causes = [each for each in running if not each.is_alive and each.status not in (0, LOST)]
        if causes and culprit is None:
            culprit = min(causes, key=lambda each: each.process.returncode)
            _say(f"{culprit.fate()}; the others are stopped")
        alive = [each for each in running if each.is_alive]
        if signals or not alive or time.monotonic() > deadline:
            break
        time.sleep(POLL)
    if culprit is None:
        culprit = failed[0]
        survivors = f"; still there: {', '.join(map(str, alive))}" if alive else ""
        _say(f"{culprit.fate()}: it reported that another process was lost{survivors}")
    return culprit.status


def _stop(running: list[Running], number: int) -> None:
    for each in running:
        each.send(number)
        each.send(signal.SIGCONT)  # a paused process would not receive it
    deadline = time.monotonic() + GRACE
    while any(each.is_alive for each in running) and time.monotonic() < deadline:
        time.sleep(POLL)
    for each in running:
        each.send(signal.SIGKILL)
        each.process.wait()


# --- output ---


def _say(text: str) -> None:
    sys.stderr.write(f"weft.distributed.run: {text}\n")
    sys.stderr.flush()


def _pumps(each: Running) -> list[threading.Thread]:
    streams = (each.process.stdout, sys.stdout), (each.process.stderr, sys.stderr)
    pumps = [
        threading.Thread(target=_pump, args=(source, target.buffer, each.rank), daemon=True)
        for source, target in streams
    ]
    for pump in pumps:
        pump.start()
    return pumps


def _pump(source: IO[bytes], target: IO[bytes], rank: int) -> None:
    """Copies output line by line."""
    start = f"[{rank}] ".encode()
    with source, suppress(BrokenPipeError):  # there is no reader
        for line in source:
            target.write(start + line.removesuffix(b"\n") + b"\n")
            target.flush()
