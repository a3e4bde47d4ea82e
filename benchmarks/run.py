"""Measures weft against its peers in interleaved processes of one run; writes a table.

    python benchmarks/run.py                         all questions, against jax
    python benchmarks/run.py --peers jax,torch       … and PyTorch (eager questions only)
    python benchmarks/run.py --quick eager step      two questions, few rounds

Each peer has a process of its own, in an environment of its own (`.venv-jax`, `.venv-torch`, made
on demand). In every round each case is measured in every peer, one after the other; the ratio of a
round is peer / weft, and the median of the rounds' ratios is reported. Steady questions are warmed
up; fresh ones use a new process for each measurement, with the disk caches off unless stated.
"""

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

QUESTIONS = {
    "eager": "un-jitted operations (µs, wall)",
    "eager_grad": "un-jitted value and gradient (µs, wall)",
    "eager_grad_first": "the first un-jitted gradient in a process (ms, CPU)",
    "dispatch": "a call of a compiled function (µs, CPU of the caller)",
    "compile": "trace, lower, compile, first call of jit(value_and_grad) (ms, CPU)",
    "step": "a compiled step (µs, wall)",
    "cold_start": "whole processes (ms, CPU)",
    "memory": "peak memory (MB)",
}
CLOCK = dict.fromkeys(("eager_grad_first", "dispatch", "compile", "cold_start", "memory"), "cpu")
EAGER = ("eager", "eager_grad", "eager_grad_first")
PINNED = {"jax": ["jax==0.10.2"], "torch": ["torch==2.13.0", "numpy"]}


def python_of(peer: str) -> str:
    """The interpreter of a peer's environment; made on demand."""
    if peer == "weft":
        return sys.executable
    given = os.environ.get(f"BENCH_PYTHON_{peer.upper()}")
    if given:
        return given
    python = ROOT / f".venv-{peer}" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PINNED[peer]], check=True)
    return str(python)


def environment(peer: str) -> dict[str, str]:
    """No disk caches: what is measured is the work."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or peer == "weft"}
    env["WEFT_CACHE_DIR"] = ""
    return env


class Worker:
    """A peer's process for a steady question."""

    def __init__(self, peer: str, question: str) -> None:
        self.process = subprocess.Popen(
            [python_of(peer), str(HERE / "worker.py"), peer, question],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(peer),
        )  # fmt: skip
        self.names: list[str] = self.read()

    def read(self) -> Any:
        """The next answer."""
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            sys.exit("a worker ended early")
        return json.loads(line)

    def measure(self, i: int) -> dict[str, float]:
        """The time of one case."""
        self.process.stdin.write(f"{i}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return self.read()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


Rounds = dict[str, dict[str, list[dict[str, float]]]]  # case -> peer -> a measurement a round


def steady(question: str, peers: list[str], rounds: int) -> Rounds:
    """Interleaved rounds of a steady question."""
    workers = {p: Worker(p, question) for p in peers}
    names = workers["weft"].names
    found: Rounds = {n: {p: [] for p in peers} for n in names}
    for _ in range(rounds):
        for i, name in enumerate(names):
            for p in peers:
                found[name][p].append(workers[p].measure(i))
    for w in workers.values():
        w.close()
    return found


def fresh(question: str, peers: list[str], rounds: int, module: Any) -> Rounds:
    """Interleaved fresh processes."""
    found: Rounds = {}
    for _ in range(rounds):
        for name in module.NAMES:
            for p in peers:
                done = subprocess.run(
                    [python_of(p), str(HERE / "worker.py"), p, question, name],
                    capture_output=True, text=True, env=environment(p),
                )  # fmt: skip
                if done.returncode:
                    sys.exit(f"{question}: {p}: {name}\n{done.stderr}")
                result = json.loads(done.stdout.splitlines()[-1])
                stages = getattr(module, "STAGES", None)
                for key in stages or [""]:
                    label = f"{name}: {key}" if key else name
                    row = found.setdefault(label, {q: [] for q in peers})
                    row[p].append(result[key] if key else result)
    return found


def processes(peers: list[str], rounds: int, module: Any) -> Rounds:
    """Interleaved whole processes."""
    found: Rounds = {n: {p: [] for p in peers} for n in module.PROGRAMS}
    for _ in range(rounds):
        for name in module.PROGRAMS:
            for p in peers:
                found[name][p].append(module.measure(python_of(p), p, name))
    return found


def table(question: str, found: Rounds, peers: list[str], targets: dict[str, float]) -> list[str]:
    """A Markdown table: medians, and medians of the rounds' ratios."""
    clock = CLOCK.get(question, "wall")
    others = [p for p in peers if p != "weft"]
    head = ["case", "weft", *others, *[f"{p} / weft" for p in others], "target (jax / weft)"]
    lines = [
        f"## {question}: {QUESTIONS[question]}", "",
        "| " + " | ".join(head) + " |", "|---" * len(head) + "|",
    ]  # fmt: skip
    for name, by_peer in found.items():
        mine = [m[clock] for m in by_peer["weft"]]
        cells = [name, f"{statistics.median(mine):.3g}"]
        cells += [f"{statistics.median(m[clock] for m in by_peer[p]):.3g}" for p in others]
        for p in others:
            ratios = [m[clock] / w for m, w in zip(by_peer[p], mine, strict=True)]
            cells.append(f"{statistics.median(ratios):.2f} ×")
        target = targets.get(name)
        cells.append("" if target is None else f"≥ {target:.2f} ×")
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def main() -> None:
    """Runs the questions and writes results.md and results.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("questions", nargs="*", default=[], help=", ".join(QUESTIONS))
    parser.add_argument("--peers", default="jax")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="two rounds; nothing is written")
    options = parser.parse_args()
    others = [p for p in options.peers.split(",") if p]
    rounds = 2 if options.quick else options.rounds
    text = [
        "# weft's benchmarks", "",
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {rounds} rounds "
        f"({max(2, rounds // 2)} for fresh processes); peers {', '.join(others)}. Ratios are "
        "medians of interleaved rounds: above 1, weft takes less.", "",
    ]  # fmt: skip
    raw: dict[str, Any] = {}
    for question in options.questions or QUESTIONS:
        module = importlib.import_module(question)
        peers = ["weft", *[p for p in others if p != "torch" or question in EAGER]]
        few = max(2, rounds // 2)
        if module.KIND == "steady":
            found = steady(question, peers, rounds)
        elif module.KIND == "fresh":
            found = fresh(question, peers, few, module)
        else:
            found = processes(peers, few, module)
        raw[question] = found
        lines = table(question, found, peers, module.TARGETS)
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        text += lines
    if not options.quick and not options.questions:
        (HERE / "results.md").write_text("\n".join(text))
        (HERE / "results.json").write_text(json.dumps(raw))


if __name__ == "__main__":
    main()
