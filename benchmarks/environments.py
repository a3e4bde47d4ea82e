"""Where each peer lives: an environment of its own, so that no peer's packages help another's.

The versions are those of pyproject.toml: the extras `bench` (jax) and `bench-torch`. The peer
`newest` is weft itself in the environment of `make test-newest`, which has the newest jaxlib;
`before` is weft of another checkout, which BENCH_BEFORE names, in this environment, and `numpy` the
NumPy of this environment, alone.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"jax": "bench", "torch": "bench-torch"}
BACKENDS = ("host", "tensorflow")  # of weft.fastmath
LIBRARIES = ("flax", "haiku")  # they are measured on jax, in its environment


def python_of(peer: str) -> str:
    """The interpreter of a peer; its environment is made if it isn't there.

    BENCH_PYTHON_JAX, BENCH_PYTHON_TORCH and BENCH_PYTHON_NEWEST name other interpreters.
    """
    if peer in ("weft", "before", "numpy", *BACKENDS):
        return sys.executable
    if peer in LIBRARIES:
        peer = "jax"
    given = os.environ.get(f"BENCH_PYTHON_{peer.upper()}")
    if given:
        return given
    folder = ROOT / f".venv-{peer}"
    python = folder / "bin" / "python"
    if peer == "newest":
        if not python.exists():
            sys.exit(
                f"{folder.name} is not there\n  fix: make test-newest, or BENCH_PYTHON_NEWEST=…"
            )
        return str(python)
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    wanted, ready = " ".join(extras[EXTRAS[peer]]), folder / ".ready"
    if not ready.exists() or ready.read_text() != wanted:
        sys.stderr.write(f"making {folder.name} with {wanted} …\n")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "numpy", *wanted.split()], check=True
        )
        ready.write_text(wanted)
    return str(python)


def variables(peer: str, cache: str = "", devices: int = 1) -> dict[str, str]:
    """Environment variables of a peer's process.

    Its disk cache is in `cache`, or off; its CPU is so many devices.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "JAX_", "XLA_"))}
    # The working tree's weft for weft, and nothing of it for the others; with byte code on disk, as
    # installed packages have it.
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        env.pop(name, None)
    if peer in ("weft", "newest", *BACKENDS):
        env["PYTHONPATH"] = str(ROOT / "src")
    elif peer == "before":
        env["PYTHONPATH"] = str(Path(os.environ["BENCH_BEFORE"]).resolve() / "src")
    if devices > 1:
        env["WEFT_CPU_DEVICES"] = env["JAX_NUM_CPU_DEVICES"] = str(devices)
    env["WEFT_CACHE_DIR"] = cache
    if cache:
        env["JAX_COMPILATION_CACHE_DIR"] = cache
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    return env


VERSIONS = """
import importlib.metadata as m, json, platform
found = {"python": platform.python_version()}
for name in ("jax", "jaxlib", "flax", "dm-haiku", "torch", "numpy", "tensorflow_cpu", "tensorflow"):
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def versions(peer: str) -> str:
    """The versions in a peer's environment, as JSON."""
    done = subprocess.run(
        [python_of(peer), "-c", VERSIONS],
        env=variables(peer),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
