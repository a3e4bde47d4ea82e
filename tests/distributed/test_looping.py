"""A training loop over two processes makes the steps that one process makes."""

import json

import numpy as np
import pytest
from several_processes import members, processes


def losses(ended):
    (line,) = [text for text in ended.out.splitlines() if text.startswith("losses ")]
    step, values = json.loads(line.removeprefix("losses "))
    return step, np.array(values)


@pytest.fixture
def start(tmp_path):
    with processes(tmp_path) as start:
        yield start


def test_two_processes_train_as_one_and_resume(start, tmp_path):
    (alone,) = members(start, "looping.py", 1, tmp_path / "one")
    both = members(start, "looping.py", 2, tmp_path / "two")
    one, *two = [process.end() for process in (alone, *both)]
    assert [ended.status for ended in (one, *two)] == [0, 0, 0], two[0].err + two[1].err
    step, expected = losses(one)
    assert step == 8
    for ended in two:
        np.testing.assert_allclose(losses(ended)[1], expected, rtol=1e-5)
    assert "Step      1: train" in two[0].out
    assert "Step" not in two[1].out.replace("losses", "")
    again = [process.end() for process in members(start, "looping.py", 2, tmp_path / "two")]
    assert [losses(ended)[0] for ended in again] == [8, 8]
    np.testing.assert_allclose(losses(again[1])[1], expected, rtol=1e-5)
