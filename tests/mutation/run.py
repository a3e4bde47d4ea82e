"""Plants small bugs, one at a time, and says which of them the tests notice.

    python tests/mutation/run.py                  all of them, some twenty minutes on one core
    python tests/mutation/run.py P03 N01          some
    python tests/mutation/run.py --workers 2      two at once
    python tests/mutation/run.py --list           which there are, and whether each has its place

A bug is a record in `planted/`: an exact piece of source text, what is written in its stead, and
the tests that are to fail then. It is planted in a copy of the tree, in a temporary folder, and
only these tests are run; before that, they must pass without it. A bug that makes them run out of
time counts as noticed, and is shown as such. The exit status is 0 if every bug was noticed.

Not part of `make test`: a survivor is a place where a test is missing, and a record whose text is
no longer in the source ("moved") is to be written anew.
"""

import argparse
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import MUTANTS
from planted.record import Mutant

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120  # seconds for the tests of one bug
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
SURVIVED, KILLED, LATE, MOVED, BROKEN, EQUIVALENT = (
    "SURVIVED",
    "killed",
    "killed by time",
    "MOVED",
    "TESTS FAIL WITHOUT IT",
    "equivalent",
)


def copied(folder: Path) -> Path:
    """A copy of the tree: what tests read, without environments and results."""
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "benchmarks")
    shutil.copytree(ROOT, folder, ignore=left_out)
    return folder


def write(path: Path, text: str) -> None:
    """Writes a module, and removes what Python compiled of it: two versions may have one size and
    be of one second, which is all that Python compares."""
    path.write_text(text)
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink()


def occurrences(tree: Path, mutant: Mutant) -> int:
    """How often the text to be replaced is in the source; it must be once."""
    path = tree / "src" / "weft" / mutant.file
    return path.read_text().count(mutant.before) if path.exists() else 0


def outcome_of(tests: str, tree: Path, limit: float) -> str:
    """Runs tests in a tree: `KILLED` if one fails, `LATE` if they take too long."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | SETTINGS
    running = subprocess.Popen(
        [*command, *shlex.split(tests)],
        cwd=tree,
        env=environment | {"PYTHONPATH": str(tree / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return KILLED if running.wait(limit) else SURVIVED
    except subprocess.TimeoutExpired:
        return LATE
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def planted(mutant: Mutant, tree: Path, limit: float) -> str:
    """The outcome of the tests of a bug with the bug in the source."""
    path = tree / "src" / "weft" / mutant.file
    text = path.read_text()
    write(path, text.replace(mutant.before, mutant.after))
    try:
        return outcome_of(mutant.tests, tree, limit)
    finally:
        write(path, text)


def chosen(ids: Sequence[str]) -> list[Mutant]:
    """The records with these ids; without any, all but the equivalent ones."""
    known = {m.id: m for m in MUTANTS}
    if len(known) < len(MUTANTS):
        raise SystemExit("two bugs have one id")
    if unknown := [i for i in ids if i not in known]:
        raise SystemExit(f"no such bugs: {', '.join(unknown)}")
    return [known[i] for i in ids] if ids else list(MUTANTS)


def main() -> int:
    """Plants the bugs that were asked for, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("ids", nargs="*", help="ids of bugs; all by default")
    parser.add_argument("--workers", type=int, default=1, help="how many run at once")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the tests of a bug")
    parser.add_argument("--list", action="store_true", help="plant nothing")
    options = parser.parse_args()
    mutants = chosen(options.ids)
    outcomes: dict[str, str] = {}
    counts: dict[str, int] = {}

    def tell(mutant: Mutant, outcome: str, seconds: float = 0.0) -> None:
        outcomes[mutant.id] = outcome
        counts[outcome] = counts.get(outcome, 0) + 1
        where = f"{mutant.file}: {mutant.what}"
        note = f" ({mutant.equivalent})" if outcome == EQUIVALENT else ""
        sys.stdout.write(f"{mutant.id:5} {outcome:22} {seconds:5.0f} s  {where}{note}\n")
        sys.stdout.flush()

    waiting = []
    for mutant in mutants:
        if occurrences(ROOT, mutant) != 1:
            tell(mutant, MOVED)
        elif mutant.equivalent and mutant.id not in options.ids:
            tell(mutant, EQUIVALENT)
        elif options.list:
            tell(mutant, "there")
        else:
            waiting.append(mutant)

    with tempfile.TemporaryDirectory(prefix="planted") as folder:
        trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
        workers = max(1, min(options.workers, len(waiting)))
        for n in range(workers if waiting else 0):
            trees.put(copied(Path(folder) / f"tree{n}"))

        def sound(tests: str) -> bool:
            tree = trees.get()
            try:
                return outcome_of(tests, tree, options.limit) == SURVIVED
            finally:
                trees.put(tree)

        def plant(mutant: Mutant) -> None:
            tree = trees.get()
            begun = time.monotonic()
            try:
                outcome = planted(mutant, tree, options.limit)
            finally:
                trees.put(tree)
            tell(mutant, outcome, time.monotonic() - begun)

        with ThreadPoolExecutor(workers) as pool:
            files = sorted({m.tests for m in waiting})
            passes = dict(zip(files, pool.map(sound, files), strict=True))
            for mutant in waiting:
                if not passes[mutant.tests]:
                    tell(mutant, BROKEN)
            list(pool.map(plant, [m for m in waiting if passes[m.tests]]))

    sys.stdout.write(", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())) + "\n")
    return int(bool({SURVIVED, MOVED, BROKEN} & set(outcomes.values())))


if __name__ == "__main__":
    sys.exit(main())
