"""`python -m weft.distributed.run -n 4 script.py …`: starts processes on this machine.

In the script, `weft.distributed.initialize()` needs no arguments.
"""

import argparse
import socket
import sys

from .supervisor import Child, run_children


def main(arguments: list[str]) -> int:
    """Starts the processes and waits until they have ended.

    Args:
      arguments: the arguments after the name of this module in a shell.
    Returns: 0 if all ended with 0; otherwise the status of the process that failed, or 128 + the
      signal that ended it.
    """
    options = parsed(arguments)
    command = ["-m", *options.module] if options.module else options.script
    address = options.coordinator or f"127.0.0.1:{free_port()}"
    children = [
        Child(rank, [sys.executable, *command], environment(options, address, rank))
        for rank in range(options.processes)
    ]
    return run_children(children)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options; ends the process with a message if they are invalid."""
    parser = argparse.ArgumentParser(
        prog="python -m weft.distributed.run",
        description="Runs a Python program as several processes that compute together.",
        epilog="If one fails, the others are stopped. The output's lines begin with [process].",
    )
    parser.add_argument("-n", "--processes", type=int, required=True, help="how many")
    parser.add_argument(
        "--devices-per-process",
        type=int,
        metavar="K",
        help="CPU devices of each process; of GPUs, process r gets those from r*K on",
    )
    parser.add_argument(
        "--fault-timeout",
        type=float,
        metavar="SECONDS",
        help="after which a lost process ends the others (60)",
    )
    parser.add_argument(
        "--coordinator",
        metavar="HOST:PORT",
        help="where they meet; a free port of 127.0.0.1 by default",
    )
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE …",
        help="a module to run instead of a script, and its arguments",
    )
    parser.add_argument("script", nargs=argparse.REMAINDER, help="script.py and its arguments")
    options = parser.parse_args(arguments)
    if not options.module and not options.script:
        parser.error("expected a script, or -m and a module")
    for name in ("processes", "devices_per_process", "fault_timeout"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            parser.error(f"--{name.replace('_', '-')}: expected a number above 0; got {value}")
    return options


def environment(options: argparse.Namespace, address: str, rank: int) -> dict[str, str]:
    """The environment variables to add for a process."""
    variables = {
        "WEFT_COORDINATOR": address,
        "WEFT_NUM_PROCESSES": str(options.processes),
        "WEFT_PROCESS_ID": str(rank),
        "PYTHONUNBUFFERED": "1",  # so that output before a crash is not lost
    }
    if options.fault_timeout is not None:
        variables["WEFT_FAULT_TIMEOUT"] = str(options.fault_timeout)
    if options.devices_per_process is not None:
        first = rank * options.devices_per_process
        devices = range(first, first + options.devices_per_process)
        variables["WEFT_CPU_DEVICES"] = str(options.devices_per_process)
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, devices))
    return variables


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
