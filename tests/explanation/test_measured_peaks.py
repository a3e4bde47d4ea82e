"""Predicted peaks of memory against the growth of a process, for twenty programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from measured_peaks import PROGRAMS

SCRIPT = Path(__file__).with_name("measured_peaks.py")

# each large array has its own mapping, which is given back when it is freed
ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "WEFT_KEEP_HOST_MEMORY": "0",
    "WEFT_CPU_DEVICES": "1",
}


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_predicted_peaks_are_the_measured_ones():
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    peaks = json.loads(done.stdout)
    assert peaks.keys() == PROGRAMS.keys()
    wrong = {
        name: (predicted, measured)
        for name, (predicted, measured) in peaks.items()
        if abs(predicted / measured - 1) > 0.1
    }
    assert wrong == {}
