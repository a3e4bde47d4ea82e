"""The tests of this folder, and layers, on the backend `tensorflow-numpy`, in one process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft import fastmath
from weft.fastmath import backends

HERE = Path(__file__).parent
TESTS = [str(HERE), str(HERE.parent / "layers" / "test_backends.py")]


@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow isn't installed"
)
@pytest.mark.timeout(580)
def test_all_of_it_on_tensorflow():
    # TensorFlow has an XLA of its own, and bytecode beside its many sources
    others = ("PYTEST_XDIST", "PYTHONPYCACHEPREFIX", "XLA_FLAGS")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(others)} | {
        "FASTMATH_BACKENDS": "tensorflow-numpy",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    options = ["-q", "--no-header", "--tb=short", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-W", "ignore::DeprecationWarning", *TESTS],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_without_tensorflow_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.delitem(backends._loaded, fastmath.Backend.TFNP, raising=False)
    for name in [n for n in sys.modules if n.startswith(("weft.fastmath.tf", "weft.fastmath.ten"))]:
        monkeypatch.delitem(sys.modules, name)
    before = fastmath.backend_name()
    with pytest.raises(ImportError, match=r"pip install 'weft\[tf\]'"):
        fastmath.set_backend("tensorflow-numpy")
    with (
        pytest.raises(ImportError, match="TensorFlow"),
        fastmath.use_backend(fastmath.Backend.TFNP),
    ):
        pass
    assert fastmath.backend_name() == before
