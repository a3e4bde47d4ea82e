"""Starts processes for tests, waits for them with a limit, and lets none of them stay."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "distributed"

START = 60.0
"""Seconds for processes to come to where a test wants them, on a machine that is busy."""

CLUSTER = re.compile(
    "WEFT_(COORDINATOR|NUM_PROCESSES|PROCESS_ID|FAULT_TIMEOUT)|XLA_(?!FLAGS)|SLURM|OMPI|PMIX"
)


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return f"127.0.0.1:{trial.getsockname()[1]}"


def environment(**more):
    """This environment without what says that it is part of a cluster."""
    kept = {name: value for name, value in os.environ.items() if not CLUSTER.match(name)}
    return kept | {"PYTHONUNBUFFERED": "1", "WEFT_CPU_DEVICES": "1"} | more


@dataclass
class Ended:
    """What is left of a process."""

    status: int
    out: str
    err: str
    seconds: float


class Process:
    """A script of this folder as a process; its output goes to files, which don't fill up."""

    def __init__(self, folder, name, command, env):
        self.files = [folder / f"{name}.out", folder / f"{name}.err"]
        with self.files[0].open("w") as out, self.files[1].open("w") as err:
            self.popen = subprocess.Popen(
                [sys.executable, *command], env=env, stdout=out, stderr=err, cwd=folder
            )
        self.pid = self.popen.pid

    @property
    def out(self):
        return self.files[0].read_text()

    @property
    def err(self):
        return self.files[1].read_text()

    def wait_for(self, text, seconds=START):
        """Waits until it has printed a text."""
        deadline = time.monotonic() + seconds
        while text not in self.out + self.err:
            assert time.monotonic() < deadline, f"no {text!r} in\n{self.out}\n{self.err}"
            assert self.popen.poll() is None, f"ended without {text!r}:\n{self.out}\n{self.err}"
            time.sleep(0.01)

    def end(self, seconds=START):
        """Waits for its end."""
        began = time.monotonic()
        try:
            status = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"hangs after {seconds} s:\n{self.out}\n{self.err}") from None
        return Ended(status, self.out, self.err, time.monotonic() - began)


@contextmanager
def processes(folder):
    """Gives a function that starts processes; afterwards there are none."""
    started = []

    def start(script, *args, **env):
        name = f"process{len(started)}"
        process = Process(folder, name, [str(FOLDER / script), *map(str, args)], environment(**env))
        started.append(process)
        return process

    def launch(*args, **env):
        command = ["-m", "weft.distributed.run", *map(str, args)]
        process = Process(folder, f"launcher{len(started)}", command, environment(**env))
        started.append(process)
        return process

    start.launch = launch
    try:
        yield start
    finally:
        for process in started:
            process.popen.kill()
            process.popen.wait()


def members(start, script, count, *args, address=None, **env):
    """All processes of a run, without the launcher."""
    address = address or free_address()
    return [
        start(
            script,
            *args,
            WEFT_COORDINATOR=address,
            WEFT_NUM_PROCESSES=str(count),
            WEFT_PROCESS_ID=str(rank),
            **env,
        )
        for rank in range(count)
    ]
