"""Sums over the devices of all processes, for so many seconds: what the tests of faults disturb.

In a second argument, `rank:what:round`, is what a process does in that round.
"""

import os
import sys
import time

import weft
import weft.numpy as np
from weft import lax

initialize = weft.distributed.initialize  # which loads it
print("begins")
initialize()
rank, n = weft.process_index(), weft.local_device_count()
total = weft.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
who, what, when = sys.argv[2].split(":") if len(sys.argv) > 2 else ("", "", "0")

deadline = float("inf")
for step in range(10**9):
    if step == 1:
        print(f"summing in {os.getpid()}")
        deadline = time.monotonic() + float(sys.argv[1])
    if str(rank) == who and step == int(when):
        match what:
            case "raise":
                raise ValueError("no more data")
            case "sleep":
                time.sleep(1000)
            case "exit":
                sys.exit(3)
            case "crash":
                os.abort()
            case "fork":
                if os.fork() == 0:  # it lives on for a while
                    time.sleep(20)
                    os._exit(0)
    time.sleep(0.01)  # a busy loop would take time from other tests
    go_on = np.full(n, float(rank > 0 or time.monotonic() < deadline))
    if total(go_on)[0] < weft.device_count():
        break
print(f"done after {step > 0}")
