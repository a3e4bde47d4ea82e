"""The ends of a process: normal ones write what was begun, and a kill loses nothing written."""

import os
from pathlib import Path

import numpy as np
import pytest
from several_processes import processes

from weft.checkpoints import Checkpoints

HERE = Path(__file__).parent


SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=SLOW)])
def test_kills_lose_nothing(kills, tmp_path):
    with processes(tmp_path) as start:
        end = start(HERE / "killed.py", tmp_path, kills, 0).end(240)
    assert (end.status, end.err) == (0, "")
    assert end.out == f"kept {kills}\n"


@pytest.mark.parametrize(("how", "status"), [("return", 0), ("exit", 3), ("error", 1)])
def test_a_process_ends_when_its_checkpoint_is_written(how, status, tmp_path):
    with processes(tmp_path) as start:
        end = start(HERE / "ending.py", tmp_path / "run", how).end()
    assert end.status == status
    assert ("the end" in end.err) == (how == "error")
    np.testing.assert_array_equal(Checkpoints(tmp_path / "run").restore(1)["x"], np.arange(1000.0))
    assert os.listdir(tmp_path / "run") == ["step-00000001"]


def test_an_error_at_the_end_is_told(tmp_path):
    with processes(tmp_path) as start:
        end = start(HERE / "ending.py", tmp_path / "run", "full").end()
    assert "RuntimeWarning: Checkpoints(" in end.err
    assert "could not be written: No space left on device; nothing was written" in end.err
    assert os.listdir(tmp_path / "run") == []


def test_a_forked_child_saves_its_own(tmp_path):
    with processes(tmp_path) as start:
        end = start(HERE / "ending.py", tmp_path / "run", "fork").end()
    assert (end.status, end.err) == (0, "")
