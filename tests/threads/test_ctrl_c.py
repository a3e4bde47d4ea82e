"""Ctrl-C while programs are compiled, run and awaited: no crash, and the next call is right."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = str(Path(__file__).with_name("ctrl_c.py"))


def environment(devices):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "XLA_"))}
    return env | {"WEFT_CACHE_DIR": "", "WEFT_CPU_DEVICES": str(devices)}


def bombarded(count, devices):
    return subprocess.run(
        [sys.executable, SCRIPT, str(count)],
        env=environment(devices),
        capture_output=True,
        text=True,
        timeout=540,
    )


@pytest.mark.parametrize("devices", [1, 8])
def test_interrupts_of_compiling_running_and_waiting(devices):
    done = bombarded(6, devices)
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])


@pytest.mark.slow
@pytest.mark.timeout(560)
@pytest.mark.parametrize("devices", [1, 8])
def test_two_hundred_interrupts_of_compiling_running_and_waiting(devices):
    done = bombarded(200, devices)
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])


LEFT = """
import os, signal, sys, threading
import weft, weft.numpy as np

def f(x):
    for i in range(2_000):
        x = np.sin(x) * np.cos(x + i) @ x
    return x

program = weft.jit(f).lower(np.ones((4, 4)))
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    program.compile()
except KeyboardInterrupt:
    print(weft.jit(lambda x: x + 1)(1), flush=True)
    os.write(1, b"left")
    sys.exit(7)
"""


def test_a_process_ends_soon_after_a_compilation_was_left():
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", LEFT],
        env=environment(1),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, errors = process.communicate(timeout=300)
    assert (process.returncode, out, errors) == (7, "2\nleft", "")
    assert time.monotonic() - begun < 60
