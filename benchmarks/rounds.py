"""Takes measurements in interleaved rounds: in each, every case in every peer, one after the other.

Knows processes and pipes; knows nothing of what a question asks.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environments import python_of, variables

WORKER = str(Path(__file__).with_name("worker.py"))
SECONDS = 0.02  # of one measurement of a steady question

Measurement = dict[str, float]
Rounds = dict[str, dict[str, list[Measurement]]]  # case -> peer -> one measurement a round


class Worker:
    """A peer's process for a steady question."""

    def __init__(self, peer: str, question: str, devices: int, more: dict[str, str]) -> None:
        self.peer = peer
        self.process = subprocess.Popen(
            [python_of(peer), WORKER, peer, question, str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables(peer, devices=devices) | more,
        )

    def read(self) -> Any:
        """The next answer."""
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            sys.exit(f"{self.peer}: the worker ended early, with status {self.process.wait()}")
        return json.loads(line)

    def measure(self, case: int) -> Measurement:
        """One measurement of one case."""
        self.process.stdin.write(f"{case}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return self.read()

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


def devices_of(module: Any) -> int:
    """How many CPU devices a question wants."""
    return getattr(module, "DEVICES", 1)


def turned(peers: list[str], i: int) -> list[str]:
    """The peers, beginning with another one each round: none always has the cooler machine."""
    return [*peers[i % len(peers) :], *peers[: i % len(peers)]]


def steady(question: str, module: Any, peers: list[str], rounds: int) -> Rounds:
    """A process a peer, warm; they are ready before the first round begins.

    A question's SLOW cases are measured in every third round; its VARIABLES are set in all peers.
    """
    more, slow = getattr(module, "VARIABLES", {}), getattr(module, "SLOW", ())
    workers = {p: Worker(p, question, devices_of(module), more) for p in peers}
    names = {p: worker.read() for p, worker in workers.items()}  # one after the other: set-up
    found: Rounds = {name: {p: [] for p in peers} for name in names[peers[0]]}
    for i in range(rounds):
        for name in found:
            if name in slow and i % 3:
                continue
            for p in turned(peers, i):
                if name in names[p]:  # NumPy hasn't got all of them
                    found[name][p].append(workers[p].measure(names[p].index(name)))
    for worker in workers.values():
        worker.close()
    return found


def fresh(question: str, module: Any, peers: list[str], rounds: int) -> Rounds:
    """A new process for each measurement, which says what it measured inside."""
    found: Rounds = {}
    for i in range(rounds):
        for case in module.CASES:
            for p in turned(peers, i):
                with busy(module.company(case) if hasattr(module, "company") else 0):
                    done = subprocess.run(
                        [python_of(p), WORKER, p, question, case],
                        stdout=subprocess.PIPE,
                        text=True,
                        env=variables(p, devices=devices_of(module))
                        | getattr(module, "VARIABLES", {}),
                    )
                if done.returncode:
                    sys.exit(f"{question}: {case}: {p} failed")
                for stage, measurement in json.loads(done.stdout.splitlines()[-1]).items():
                    row = found.setdefault(f"{case} {stage}".strip(), {q: [] for q in peers})
                    row[p].append(measurement)
    return found


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """A block beside which so many processes use the processor without end."""
    processes = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def whole(question: str, module: Any, peers: list[str], rounds: int) -> Rounds:
    """A new process for each measurement, measured from outside: start, work and end."""
    found: Rounds = {case: {p: [] for p in peers} for case in module.CASES}
    with tempfile.TemporaryDirectory() as folder:
        for case in module.CASES:
            for p in peers:  # not counted: writes byte code, reads files, fills disk caches
                run_whole(p, module.program(p, case), os.path.join(folder, p))
        for i in range(rounds):
            for case in module.CASES:
                for p in turned(peers, i):
                    cache = os.path.join(folder, p) if case in module.CACHED else ""
                    found[case][p].append(run_whole(p, module.program(p, case), cache))
    return found


def run_whole(peer: str, program: str, cache: str) -> Measurement:
    """Milliseconds of a process from its start to its end, and its peak memory in MB."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [python_of(peer), "-c", program], env=variables(peer, cache), stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{peer} failed:\n{program}")
    wall = time.perf_counter() - begun
    cpu = usage.ru_utime + usage.ru_stime
    return {"cpu": cpu * 1e3, "wall": wall * 1e3, "peak": usage.ru_maxrss / 1024}


KINDS = {"steady": steady, "fresh": fresh, "whole": whole}
