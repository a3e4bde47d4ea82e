"""What seeing a run costs, run by itself: python benchmarks/run_log.py

Microseconds of the calling thread, the median of seven turns. For a step: the live line when
nothing is due, and the numbers that are kept for their means and for the alarm; beside them, adding
the loss to a sum on the device. For a report: lines and files.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import weft
import weft.numpy as np
from weft.supervised.nan_alarm import NanAlarm
from weft.supervised.run_log import RunLog
from weft.supervised.step_values import StepValues

TURNS = 7


def microseconds(call: Callable[[], object], count: int) -> float:
    """The CPU time of a call in the calling thread."""

    def turn() -> float:
        start = time.thread_time()
        for _ in range(count):
            call()
        return (time.thread_time() - start) / count * 1e6

    turn()
    return statistics.median(turn() for _ in range(TURNS))


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    share = 10 if parser.parse_args().quick else 1
    steps, reports = 64 * 200 // share, 200 // share

    step = weft.jit(lambda w: (w + 1, np.sum(w), np.sum(w * w), np.max(w)))
    _, loss, norm, other = step(np.ones((8, 8)))
    stats = {"loss": loss, "gradients_l2": norm, "weights_l2": other}
    log = RunLog(stdout=False, live=True)
    log.begin(0, 10**9)
    log.live(1, loss, 0.1)
    one, three, alarm = StepValues(), StepValues(), NanAlarm()
    total = weft.jit(lambda total, loss: total + loss)
    log.live(2, loss, 0.1)
    cases = [
        ("a step: live line, nothing due", lambda: log.live(2, loss, 0.1), steps),
        ("a step: StepValues.add of 1 number", lambda: one.add({"loss": loss}), steps),
        ("a step: StepValues.add of 3 numbers", lambda: three.add(stats), steps),
        ("a step: NanAlarm.update", lambda: alarm.update(loss), steps),
        ("beside: a compiled sum on the device", lambda: total(loss, loss), steps),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (
            ("JSONL and CSV", {"tensorboard": False}),
            ("JSONL, CSV and event files", {}),
        ):
            files = RunLog(f"{folder}/{name}", stdout=False, **options)
            values = {f"metrics/{key}": 0.5 for key in stats}

            def report(files: RunLog = files, values: dict[str, float] = values) -> None:
                files.scalars(1, "train", values)

            cases.append((f"a report of 3 numbers: {name}", report, reports))
        for name, call, count in cases:
            print(f"{name:50} {microseconds(call, count):8.2f} µs")


if __name__ == "__main__":
    main()
