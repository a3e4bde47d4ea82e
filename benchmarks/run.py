"""Measures weft against its peers in interleaved processes of one run; writes a table.

python benchmarks/run.py                         all questions, against jax
python benchmarks/run.py --peers jax,torch       and PyTorch, in the eager questions
python benchmarks/run.py --quick eager step      two questions, few rounds, nothing written
python benchmarks/run.py step                    one question; the rest of results.md stays
python benchmarks/run.py --peers newest parallel_turns    weft on the newest jaxlib beside
BENCH_BEFORE=../old python benchmarks/run.py --peers before    against another checkout of weft;
                                                 nothing is written
"""

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import report
from environments import versions
from rounds import KINDS

HERE = Path(__file__).resolve().parent
QUESTIONS = (
    "cold_start",
    "eager",
    "fourier",
    "nn",
    "layers",
    "decoding",
    "fastmath",
    "company",
    "eager_grad",
    "eager_grad_first",
    "first_calls",
    "dispatch",
    "compile",
    "step",
    "stax_step",
    "special",
    "linalg",
    "memory",
    "checkpoint",
    "train_checkpoint",
    "growth",
    "endurance",
    "parallel_dispatch",
    "parallel_call",
    "parallel_step",
    "parallel_compile",
    "parallel_scaling",
    "parallel_turns",
)
ROUNDS = {"steady": (15, 3), "fresh": (5, 1), "whole": (7, 2)}  # (usual, quick)


def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> None:
    """Asks the questions; writes results.json and results.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", metavar="question", help=", ".join(QUESTIONS))
    parser.add_argument(
        "--peers", default="jax", help="jax, torch, newest, before; several with a comma"
    )
    parser.add_argument("--rounds", type=int, help="how many, for all questions")
    parser.add_argument("--note", help="when, and how busy the machine was: printed with the table")
    parser.add_argument("--quick", action="store_true", help="few rounds; nothing is written")
    options = parser.parse_args()
    unknown = set(options.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}; there are {QUESTIONS}")
    modules = {question: importlib.import_module(question) for question in QUESTIONS}
    peers = ["weft", *[p for p in options.peers.split(",") if p]]
    if "before" in peers and "BENCH_BEFORE" not in os.environ:
        parser.error("--peers before needs BENCH_BEFORE, the folder of the other checkout")
    machine: dict[str, Any] = {"cpu": cpu(), "cores": os.cpu_count()}
    named = [
        *peers,
        *[p for q in options.questions or QUESTIONS for p in getattr(modules[q], "ALWAYS", ())],
    ]
    machine["versions"] = {p: json.loads(versions(p)) for p in named}

    data = HERE / "results.json"
    sections = json.loads(data.read_text()) if data.exists() else {}
    for question in options.questions or QUESTIONS:
        module = modules[question]
        asked = [p for p in peers if p in module.PEERS or p == "before"]
        asked += [p for p in getattr(module, "ALWAYS", ()) if p not in asked]
        usual, quick = ROUNDS[module.KIND]
        count = options.rounds or (quick if options.quick else usual)
        found = KINDS[module.KIND](question, module, asked, count)
        sys.stdout.write("\n".join(report.table(module, found)) + "\n")
        sys.stdout.flush()
        present = {p: machine["versions"][p] for p in asked}
        sections[question] = {
            "count": count,
            "machine": machine | {"versions": present},
            "rounds": found,
        }
        if options.note:
            sections[question]["note"] = options.note
        if not (options.quick or "before" in peers):
            sections = {q: sections[q] for q in QUESTIONS if q in sections}
            data.write_text(json.dumps(sections) + "\n")
            (HERE / "results.md").write_text(report.page(sections, modules))


if __name__ == "__main__":
    main()
