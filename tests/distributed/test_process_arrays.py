"""Arrays over the devices of two processes, and the same training on one process and on two."""

import json

import numpy as np
import pytest
import sampling
from several_processes import members, processes


def ended(process, seconds=200):
    end = process.end(seconds)
    assert end.status == 0, end.out + end.err
    return end.out.splitlines()[-1]


def test_arrays_over_two_processes(tmp_path):
    with processes(tmp_path) as start:
        both = members(start, "arrays.py", 2, WEFT_CPU_DEVICES="4")
        assert [ended(process) for process in both] == ["done", "done"]


@pytest.mark.parametrize(
    "how", sampling.some(["pmap", "jit", "jit with divided weights"], 1, "training")
)
def test_training_is_the_same_on_one_process_and_on_two(tmp_path, how):
    with processes(tmp_path) as start:
        (one,) = [start("training.py", how, WEFT_CPU_DEVICES="8")]
        losses = json.loads(ended(one))
        both = members(start, "training.py", 2, how, WEFT_CPU_DEVICES="4")
        of_two = [json.loads(ended(process)) for process in both]
    assert of_two[0] == of_two[1]
    np.testing.assert_allclose(of_two[0], losses, rtol=0, atol=1e-6)
    assert losses[-1] < losses[0] / 2
