"""One peer in a process of its own: measures what it is told to, one line of JSON an answer.

`worker.py PEER QUESTION SECONDS` serves a steady question: it prints the names of the cases, then
for each number read from standard input a measurement of that case, about SECONDS long.
`worker.py PEER QUESTION CASE` measures one case of a fresh question, and ends.
"""

import importlib
import json
import os
import sys
from time import perf_counter, process_time, thread_time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers

WARM_UP = 0.2  # seconds, and at least three calls: compiles, fills caches, raises the clock


def answer(x: Any) -> None:
    """One line to the one who asked."""
    sys.stdout.write(json.dumps(x) + "\n")
    sys.stdout.flush()


def calls_in(seconds: float, run: Any, wait: Any) -> int:
    """How many calls take about so long; warms up on the way."""
    for _ in range(3):
        result = run()
    calls, begun = 0, perf_counter()
    while calls == 0 or perf_counter() - begun < WARM_UP:
        result = run()
        calls += 1
    wait(result)
    return max(1, int(seconds * calls / (perf_counter() - begun)))


def measured(run: Any, calls: int, wait: Any) -> dict[str, float]:
    """Microseconds a call: of this thread, of the process, and on the wall."""
    repeated = range(calls)
    thread, cpu, wall = thread_time(), process_time(), perf_counter()
    for _ in repeated:
        result = run()
    wall, cpu, thread = perf_counter() - wall, process_time() - cpu, thread_time() - thread
    wait(result)  # what goes on in the background is not to trouble the next one
    scale = 1e6 / calls
    return {"thread": thread * scale, "cpu": cpu * scale, "wall": wall * scale}


def measured_apart(run: Any, calls: int, wait: Any) -> dict[str, float]:
    """The same without what the calls begin in the background: awaited between them, unclocked."""
    thread = wall = 0.0
    result = run()
    for _ in range(calls):
        wait(result)
        thread_begun, begun = thread_time(), perf_counter()
        result = run()
        wall += perf_counter() - begun
        thread += thread_time() - thread_begun
    wait(result)
    scale = 1e6 / calls
    return {"thread": thread * scale, "wall": wall * scale}


def main() -> None:
    """Serves one question."""
    peer, question, argument = sys.argv[1:]
    module = importlib.import_module(question)
    loaded = peers.load(peer)
    if module.KIND == "fresh":
        answer(module.measure(loaded, argument))
        return
    cases = list(module.cases(loaded))
    calls = [calls_in(float(argument), run, loaded.wait) for _, run in cases]
    answer([name for name, _ in cases])
    measure = measured_apart if getattr(module, "APART", False) else measured
    for line in sys.stdin:
        i = int(line)
        answer(measure(cases[i][1], calls[i], loaded.wait))


if __name__ == "__main__":
    main()
