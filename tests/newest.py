"""Runs the engine's tests on the newest Python found on this machine, with the newest jaxlib.

Makes `.venv-newest` with it. `make test-newest` calls this; arguments go to pytest.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-newest"
SLOW = ["--ignore=tests/generated"]


def version_of(python: str) -> tuple[int, int]:
    """(3, 13) for a Python that runs; (0, 0) for one that doesn't."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=20)
        major, minor = map(int, done.stdout.split())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0, 0
    return major, minor


def candidates() -> list[str]:
    """Pythons on the path, and those that version managers keep."""
    found = [path for n in range(11, 20) if (path := shutil.which(f"python3.{n}"))]
    for root in (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv"):
        if root:
            found += glob.glob(f"{root}/versions/*/bin/python")
    uv = Path.home() / ".local/share/uv/python"
    return [*found, *glob.glob(f"{uv}/*/bin/python"), sys.executable]


def main() -> int:
    """Finds, installs, tests."""
    supported = [v for p in candidates() if (3, 11) <= (v := version_of(p)) <= (3, 13)]
    newest = max(supported)
    python = next(p for p in candidates() if version_of(p) == newest)
    sys.stdout.write(f"newest Python: {'.'.join(map(str, newest))}\n")
    if not (VENV / "bin/python").exists():
        subprocess.run([python, "-m", "venv", str(VENV)], check=True)
    inside = str(VENV / "bin/python")
    text = (ROOT / "pyproject.toml").read_text()
    jaxlib = re.search(r'"(jaxlib [^"]+)"', text)
    wanted = jaxlib.group(1).replace(" ", "") if jaxlib else "jaxlib"
    install = [inside, "-m", "pip", "install", "-q", "--upgrade"]
    subprocess.run([*install, "-e", f"{ROOT}[test,interop,tf]", wanted], check=True)
    report = "import jaxlib.version as v; print('jaxlib', v.__version__, flush=True)"
    subprocess.run([inside, "-c", report], check=True)
    extra = sys.argv[1:] or ["-n", "2", "-q"]
    return subprocess.run([inside, "-m", "pytest", *SLOW, *extra, "tests"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
