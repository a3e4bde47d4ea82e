"""One peer in a process of its own: measures what it is told to, one JSON line an answer.

`worker.py PEER QUESTION` serves a steady question: it prints the names of its cases, then for each
number read from standard input the time of that case. `worker.py PEER QUESTION CASE` measures one
case of a fresh question and ends.
"""

import importlib
import json
import os
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers

REPEATS = 5


def answer(x: Any) -> None:
    """One line to the one who asked."""
    sys.stdout.write(json.dumps(x) + "\n")
    sys.stdout.flush()


def measured(run: Any, times: int) -> dict[str, float]:
    """Microseconds a call: the best of some repeats, by the wall clock and by this thread's CPU."""
    wall, cpu = [], []
    for _ in range(REPEATS):
        c, w = time.thread_time(), time.perf_counter()
        for _ in range(times):
            run()
        wall.append(time.perf_counter() - w)
        cpu.append(time.thread_time() - c)
    return {"wall": min(wall) / times * 1e6, "cpu": min(cpu) / times * 1e6}


def main() -> None:
    """Serves one question."""
    peer, question = sys.argv[1:3]
    module = importlib.import_module(question)
    P = peers.load(peer)
    if len(sys.argv) > 3:
        answer(module.measure(P, sys.argv[3]))
        return
    cases = list(module.cases(P))
    for _, run, times in cases:
        for _ in range(max(20, min(100, times))):
            run()
    answer([name for name, _, _ in cases])
    for line in sys.stdin:
        _, run, times = cases[int(line)]
        answer(measured(run, times))


if __name__ == "__main__":
    main()
