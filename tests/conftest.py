"""What all tests share: eight devices, no cache of executables, repeatable hypothesis runs, and the
markers `gpu` and `devices`."""

import os
from pathlib import Path

# Processes that tests start find weft too, installed or not.
SOURCE = str(Path(__file__).parents[1] / "src")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (SOURCE, os.environ.get("PYTHONPATH"))))

# Read when weft is imported: a test must not pass because an earlier run left an executable.
os.environ.setdefault("WEFT_CACHE_DIR", "")

# The CPU acts as eight devices, unless the environment says otherwise. Processes that tests start
# get as many; those that need another number say so themselves.
os.environ.setdefault("WEFT_CPU_DEVICES", "8")

# Who works on weft wants its frames in the tracebacks of failing tests.
os.environ.setdefault("WEFT_TRACEBACK_FILTERING", "off")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def has_gpu():
    """Whether this machine has a GPU that weft can use."""
    import weft

    return any(device.platform in ("cuda", "gpu", "rocm") for device in weft.devices())


@pytest.fixture(autouse=True)
def skipped_without_hardware(request):
    """Skips a test marked `gpu` where there is none, and one marked `devices(n)` where the
    preferred platform has fewer, as where that is one GPU."""
    if request.node.get_closest_marker("gpu") and not request.getfixturevalue("has_gpu"):
        pytest.skip("needs a GPU")
    if marker := request.node.get_closest_marker("devices"):
        import weft

        if weft.local_device_count() < marker.args[0]:
            pytest.skip(f"needs {marker.args[0]} devices")
