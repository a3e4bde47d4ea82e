"""Children save in a loop and are killed; what they had saved is there, to the bit."""

import os
import random
import signal
import sys
import time

import numpy as np

from weft.checkpoints import Checkpoints, restore, save

folder, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def tree(step):
    rng = np.random.default_rng(step)
    return {"w": rng.normal(size=(150, 100)), "m": [rng.integers(0, 9, 50), step], "step": step}


def check(found):
    """The tree of a step, to the bit."""
    expected = tree(found["step"])
    assert found["m"][1] == found["step"]
    assert found["w"].tobytes() == expected["w"].tobytes()
    assert found["m"][0].tobytes() == expected["m"][0].tobytes()
    return found["step"]


def work(first, pipe):
    """Saves in all ways, and says which step is on the disk."""
    checkpoints = Checkpoints(f"{folder}/run", keep_last=2)
    step = first
    while True:
        checkpoints.save(step, tree(step))
        save(f"{folder}/one", tree(step), overwrite=True)
        checkpoints.save(step, tree(step), name="model")
        checkpoints.wait()
        os.write(pipe, b"%d\n" % step)
        step += 1


rng = random.Random(seed)
last = 0
for _ in range(kills):
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        work(last + 1, theirs)
    os.close(theirs)
    told = os.read(ours, 1)  # its first step is there
    time.sleep(rng.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while more := os.read(ours, 1 << 16):
        told += more
    os.close(ours)
    promised = int(told.split(b"\n")[-2])
    checkpoints = Checkpoints(f"{folder}/run")
    steps = [check(checkpoints.restore(step)) for step in checkpoints.steps()]
    assert steps == checkpoints.steps()
    assert promised <= steps[-1] <= promised + 1, (promised, steps)
    assert promised <= check(checkpoints.restore("model")) <= promised + 1
    assert promised <= check(restore(f"{folder}/one")) <= promised + 1
    left = [name for name in os.listdir(f"{folder}/run") if name.startswith(".")]
    assert len(left) <= 4, left
    last = steps[-1]
print("kept", kills)
