"""The command replay, which runs a call that failed again. It takes the parsed arguments of the
command line, and returns the exit status.

The call runs in a separate process, which writes each operation to a file before it runs. If a
signal ends that process, the file names its last operation.
"""

import os
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace

from ..explanation.replay import Replay, replayed

__all__ = ["replay"]


def replay(arguments: Namespace) -> int:
    """Runs a saved call again, and prints where it fails."""
    if arguments.progress:  # this is the process that runs it
        print(replay_here(arguments))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        progress = os.path.join(folder, "progress")
        status = run_child(arguments, progress)
        if status >= 0:
            return status
        reached = text_of(progress)
        if run_child(arguments, progress, "--deep") < 0:  # this time with the steps of loops
            reached = text_of(progress)
    print(f"stops at: {signal.Signals(-status).name} ended the process in\n{reached}")
    return 0


def run_child(arguments: Namespace, progress: str, *options: str) -> int:
    """The exit status of a process that runs the call; minus the number of a signal."""
    command = [sys.executable, "-m", f"{__package__}", "replay", arguments.file]
    command += ["--progress", progress, *options]
    command += ["--compiled"] * arguments.compiled + ["--traceback"] * arguments.traceback
    sys.stdout.flush()
    return subprocess.run(command, check=False).returncode


def replay_here(arguments: Namespace) -> Replay:
    """Runs the call. Before each operation, its text is written to a file."""
    with open(arguments.progress, "wb", buffering=0) as file:

        def announce(text: str) -> None:
            file.seek(0)
            file.truncate()
            file.write(text.encode())

        return replayed(arguments.file, arguments.compiled, announce, arguments.deep)


def text_of(path: str) -> str:
    """The text in a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()
