"""Transformations and compiled calls from many threads at once: right results, and one compilation
for each signature. `races.py` has the scenarios."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threads.races import SCENARIOS

RACES = Path(__file__).with_name("races.py")


@pytest.mark.parametrize("name", SCENARIOS)
def test_threads(name):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(RACES), name],
        capture_output=True,
        text=True,
        timeout=120,  # a deadlock is a failure
        env=os.environ,
    )
    assert done.stdout == "ok\n", done.stderr[-6000:]
