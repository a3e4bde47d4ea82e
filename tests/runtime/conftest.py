"""What the tests of the runtime share: a device, and Python processes of their own."""

import os
import subprocess
import sys
import textwrap

import pytest

from weft import runtime


@pytest.fixture
def device():
    return runtime.default_device()


@pytest.fixture
def python(tmp_path):
    """Runs code in a fresh process without jax's or weft's variables; gives what it printed."""

    def run(code, *, status=0, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "XLA_", "TF_"))}
        env |= {"WEFT_CACHE_DIR": "", "PYTHONPATH": os.pathsep.join(sys.path)} | variables
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run
