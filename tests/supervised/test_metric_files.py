"""The files of a run: their bytes, killing, resuming, damage, reading."""

import csv
import json
import math
import os
import signal
import subprocess
import sys

import pytest

from weft.supervised.metric_files import MetricFiles, read_metrics


def run(directory, first, last):
    """The files of a run's steps; each step has numbers of both modes, every third a text."""
    files = MetricFiles(directory, clock=lambda: 1000.0)
    files.description(0, {"d_model": 3}, {"weft": "1"})
    for step in range(first, last + 1):
        files.scalars(step, "train", {"metrics/loss": 1 / step, "training/learning_rate": 0.1})
        files.scalars(step, "train", {"training/steps per second": float(os.getpid())})
        files.scalars(step, "eval", {"metrics/accuracy": step / 100}, task="a,b")
        if step % 3 == 0:
            files.text(step, "eval", "sample", "one\ntwo ü")
    files.close()


def contents(directory):
    return [(directory / name).read_bytes() for name in ("metrics.jsonl", "metrics.csv")]


def test_the_bytes_of_the_files(tmp_path):
    run(tmp_path, 2, 3)
    assert (tmp_path / "metrics.csv").read_text().splitlines() == [
        "step,mode,task,metric,value",
        "2,train,,metrics/loss,0.5",
        "2,train,,training/learning_rate,0.1",
        '2,eval,"a,b",metrics/accuracy,0.02',
        "3,train,,metrics/loss,0.3333333333333333",
        "3,train,,training/learning_rate,0.1",
        '3,eval,"a,b",metrics/accuracy,0.03',
    ]
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert lines[:3] == [
        '{"step": 0, "config": {"d_model": 3}, "versions": {"weft": "1"}}',
        '{"step": 2, "mode": "train", "scalars": {"metrics/loss": 0.5, "training/learning_rate": '
        "0.1}}",
        '{"step": 2, "mode": "eval", "task": "a,b", "scalars": {"metrics/accuracy": 0.02}}',
    ]
    clock = [json.loads(line) for line in (tmp_path / "clock.jsonl").read_text().splitlines()]
    assert clock[1] == {
        "step": 2,
        "mode": "train",
        "time": 1000.0,
        "training/steps per second": float(os.getpid()),
    }


def test_csv_and_jsonl_hold_the_same_numbers(tmp_path):
    run(tmp_path, 1, 20)
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = [
            ((r["task"], r["mode"], r["metric"]), (int(r["step"]), float(r["value"])))
            for r in csv.DictReader(file)
        ]
    series = read_metrics(tmp_path).series
    assert sorted(rows) == sorted((key, p) for key, points in series.items() for p in points)
    assert series["", "train", "metrics/loss"][2] == (3, 1 / 3)


@pytest.mark.parametrize("checkpoint", [0, 1, 7, 10])
def test_a_resumed_run_writes_what_an_uninterrupted_one_does(tmp_path, checkpoint):
    run(tmp_path / "whole", 1, 10)
    run(tmp_path / "cut", 1, 9)
    with open(tmp_path / "cut" / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 10, "mo')  # the machine stopped here
    if checkpoint == 10:  # what was written after the last report of a run that is whole
        run(tmp_path / "cut", 10, 10)
    files = MetricFiles(tmp_path / "cut")
    files.cut(checkpoint)
    files.close()
    run(tmp_path / "cut", checkpoint + 1, 10)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    steps = [row["step"] for row in read_metrics(tmp_path / "cut").clock]
    assert steps == sorted(steps)


def test_cutting_while_the_files_are_open(tmp_path):
    files = MetricFiles(tmp_path)
    for step in (1, 2, 3):
        files.scalars(step, "train", {"loss": 1.0})
    files.cut(2)
    files.scalars(3, "train", {"loss": 2.0})
    files.close()
    assert read_metrics(tmp_path).series["", "train", "loss"] == [(1, 1.0), (2, 1.0), (3, 2.0)]


def test_cutting_where_there_is_nothing_makes_nothing(tmp_path):
    MetricFiles(tmp_path / "run").cut(5)
    assert not (tmp_path / "run").exists()


KILLED = """
import sys
from weft.supervised.metric_files import MetricFiles
files = MetricFiles(sys.argv[1])
step = 0
while True:
    step += 1
    files.scalars(step, "train", {"metrics/loss": 1 / step})
    if step == 200:
        print("go", flush=True)
"""


def test_a_killed_run_leaves_whole_lines(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "go\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    read = read_metrics(tmp_path)
    (points,) = read.series.values()
    assert read.damaged == 0
    assert len(points) >= 200
    assert points == [(step, 1 / step) for step in range(1, len(points) + 1)]
    for name in ("metrics.jsonl", "metrics.csv"):
        assert (tmp_path / name).read_bytes().endswith(b"\n")


def test_numbers_that_are_not_finite(tmp_path):
    files = MetricFiles(tmp_path)
    numbers = [math.nan, math.inf, -math.inf]
    for step, number in enumerate(numbers):
        files.scalars(step, "train", {"loss": number, "training/steps per second": number})
    files.close()

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    for name in ("metrics.jsonl", "clock.jsonl"):
        for line in (tmp_path / name).read_text().splitlines():
            json.loads(line, parse_constant=refuse)
    values = [value for _, value in read_metrics(tmp_path).series["", "train", "loss"]]
    assert str(values) == "[nan, inf, -inf]"
    assert (tmp_path / "metrics.csv").read_text().splitlines()[1:] == [
        "0,train,,loss,nan",
        "1,train,,loss,inf",
        "2,train,,loss,-inf",
    ]


def test_a_description_is_written_when_it_changes(tmp_path):
    files = MetricFiles(tmp_path)
    config = {"rate": math.inf, "layers": (1, 2), "kind": float, 3: None, "flag": True}
    assert files.description(0, config, {"weft": "1"})
    assert not files.description(50, config, {"weft": "1"})
    files.close()
    assert not MetricFiles(tmp_path).description(60, config, {"weft": "1"})
    files = MetricFiles(tmp_path)
    assert files.description(70, config, {"weft": "2"})
    files.close()
    read = read_metrics(tmp_path)
    assert read.versions == {"weft": "2"}
    assert read.config == {
        "rate": "inf",
        "layers": [1, 2],
        "kind": "<class 'float'>",
        "3": None,
        "flag": True,
    }
    assert (tmp_path / "metrics.jsonl").read_text().count("config") == 2


DAMAGED = [
    b"not json\n",
    b"[1, 2]\n",
    b'{"mode": "train"}\n',
    b'{"step": "3"}\n',
    b'{"step": true}\n',
    b"\xff\xfe\n",
    b"\n",
    b"12,13\n",
    b'{"step": 4, "scalars": [1]}\n',
    b'{"step": 4, "scalars": {"loss": [1], "b": true, "c": null, "d": "x"}}\n',
    b'{"step": 4, "text": 3, "config": 7, "versions": 5}\n',
    b'{"step": 4, "scalars": {"loss": 1' + b"0" * 400 + b"}}\n",
    b"[" * 100_000 + b"\n",
    b'{"step": -1, "scalars": {"loss": 1}}\n',
    b'{"step": 1' + b"0" * 30 + b', "scalars": {"loss": 1}}\n',
    b'{"step": 1' + b"0" * 5000 + b"}\n",
    b"1" + b"0" * 5000 + b",train\n",
]


@pytest.mark.parametrize("line", DAMAGED)
def test_damaged_lines_are_left_out(tmp_path, line):
    files = MetricFiles(tmp_path)
    files.scalars(1, "train", {"loss": 1.0})
    files.close()
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(line + b'{"step": 9, "sca')  # a line that is being written is no damage
    files = MetricFiles(tmp_path)
    files.scalars(2, "train", {"loss": 2.0})
    read = read_metrics(tmp_path)
    assert read.series == {("", "train", "loss"): [(1, 1.0), (2, 2.0)]}
    assert read.damaged == (0 if b'"step": 4' in line else 1)
    files.cut(1)
    files.close()
    assert read_metrics(tmp_path).series == {("", "train", "loss"): [(1, 1.0)]}


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no metrics.jsonl\n  fix: the folder that"):
        read_metrics(tmp_path)


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    files = MetricFiles("~/run")
    files.scalars(1, "train", {"loss": 1.0})
    files.close()
    assert (tmp_path / "run" / "metrics.jsonl").exists()
    assert read_metrics("~/run").series
