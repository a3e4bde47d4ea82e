"""Ends while a checkpoint is being written, in the ways that there are."""

import os
import sys
import time
import warnings

import numpy as np

from weft.checkpoints import Checkpoints, saving

folder, how = sys.argv[1:]
original = saving.write_tensors


def slow(path, tensors):
    time.sleep(0.3)
    if how == "full":
        raise OSError(28, "No space left on device")
    original(path, tensors)


saving.write_tensors = slow
checkpoints = Checkpoints(folder)
checkpoints.save(1, {"x": np.arange(1000.0)})
if how == "fork":
    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, about forks with threads
    pid = os.fork()
    if pid == 0:  # the child waits for nothing, saves its own, and leaves the parent's alone
        assert checkpoints.steps() == []
        saving.write_tensors = original
        checkpoints.save(2, {"x": np.arange(3.0)})
        assert checkpoints.steps() == [2]
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0
    assert checkpoints.steps() == [1, 2]
if how == "exit":
    sys.exit(3)
if how == "error":
    raise ValueError("the end")
