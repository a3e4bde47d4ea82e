"""Loading jaxlib."""

import subprocess
import sys

PROGRAM = """
import os
before = dict(os.environ)
import weft, weft.numpy as np
assert weft.jit(lambda x: x @ x)(np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]
try:
    weft.jit(lambda x: weft.pure_callback(lambda x: 1 / 0, x, x))(np.ones(3))
except ZeroDivisionError:
    pass
assert dict(os.environ) == before, set(os.environ) - set(before)
"""


def test_xla_logs_nothing_and_the_environment_stays_as_it_is():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
