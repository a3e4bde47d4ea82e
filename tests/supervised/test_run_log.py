"""What a loop reports: the lines on stdout against Trax's, the files, the live line, resuming."""

import io
import logging
import os
import sys
import time

import numpy as onp
import pytest

import weft.numpy as np
from weft import layers as tl
from weft.supervised.metric_files import read_metrics
from weft.supervised.run_log import RunLog, layer_summaries, metric_line, step_line


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            step_line(1, "Total number of trainable weights: 12"),
            "Step      1: Total number of trainable weights: 12",
        ),
        (
            step_line(100, f"Ran {100} train steps in {12.341:0.2f} secs"),
            "Step    100: Ran 100 train steps in 12.34 secs",
        ),
        (step_line(1234567, "x"), "Step  1234567: x"),
        (
            metric_line(100, "train", "CrossEntropyLoss", 0.12345678),
            "Step    100: train CrossEntropyLoss |  0.12345678",
        ),
        (
            metric_line(100, "eval", "CrossEntropyLoss", 0.12345678),
            "Step    100: eval  CrossEntropyLoss |  0.12345678",
        ),
        (
            metric_line(100, "eval", "Accuracy", -1.5, width=16),
            "Step    100: eval          Accuracy | -1.50000000",
        ),
        (metric_line(7, "train", "loss", float("nan")), "Step      7: train loss |  nan"),
        (metric_line(7, "train", "loss", 1e10), "Step      7: train loss |  10000000000.00000000"),
    ],
)
def test_lines(line, text):
    assert line == text


@pytest.mark.parametrize("step", [1, 100, 999_999, 1_000_000])
@pytest.mark.parametrize("value", [0.12345678, -3.0, 1e-9, 123456.789, float("inf")])
def test_lines_are_those_of_percent_formats(step, value):
    text = "Step % 6d: %s %s | % .8f" % (step, "eval".ljust(5), "L2Loss".rjust(9), value)  # noqa: UP031
    assert metric_line(step, "eval", "L2Loss", value, 9) == text


def report(log, step):
    """What a loop reports at a step."""
    log.message("")
    log.step_line(step, "Ran 1 train steps in 0.50 secs")
    log.scalars(step, "train", {"metrics/L2Loss": np.asarray(1 / step)}, width=8)
    log.scalars(step, "train", {"training/learning_rate": 0.1}, stdout=False)
    log.scalars(step, "train", {"training/steps per second": time.time()}, stdout=False)
    log.scalars(step, "eval", {"metrics/Accuracy": onp.float32(0.5)}, width=8)
    log.text(step, "eval", "sample", f"text {step}")


def test_what_is_printed(tmp_path, capsys):
    log = RunLog(tmp_path, live=False, tensorboard=False)
    report(log, 2)
    log.close()
    out, err = capsys.readouterr()
    assert out == (
        "\n"
        "Step      2: Ran 1 train steps in 0.50 secs\n"
        "Step      2: train   L2Loss |  0.50000000\n"
        "Step      2: eval  Accuracy |  0.50000000\n"
    )
    assert err == ""


def test_what_is_not_printed_goes_to_the_logger(caplog, capsys):
    with caplog.at_level(logging.INFO, "weft.supervised"):
        report(RunLog(stdout=False), 2)
    assert capsys.readouterr() == ("", "")
    assert "Step      2: train learning_rate |  0.10000000" in caplog.messages
    assert "Step      2: train   L2Loss |  0.50000000" in caplog.messages


def test_without_a_width_names_are_aligned_to_the_longest_so_far(capsys):
    log = RunLog(live=False)
    log.scalars(1, "train", {"metrics/loss": 1.0})
    log.scalars(1, "train", {"training/a_very_long_name": 1.0}, stdout=False)
    log.scalars(1, "eval", {"metrics/accuracy": 1.0, "plain": 2.0})
    log.scalars(2, "train", {"metrics/loss": 1.0})
    names = [line[19:].partition(" |")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["loss", "accuracy", "   plain", "    loss"]


def test_the_files_of_a_run(tmp_path):
    pytest.importorskip("tensorboardX")
    log = RunLog(tmp_path / "run", stdout=False)
    assert not (tmp_path / "run").exists()  # nothing was written yet
    log.resume(0)
    log.describe(0, {"d_model": 8})
    report(log, 1)
    log.end(1)
    log.flush()
    log.close()
    assert sorted(os.listdir(tmp_path / "run")) == [
        "clock.jsonl",
        "eval",
        "metrics.csv",
        "metrics.jsonl",
        "train",
    ]
    read = read_metrics(tmp_path / "run")
    assert read.series == {
        ("", "train", "metrics/L2Loss"): [(1, 1.0)],
        ("", "train", "training/learning_rate"): [(1, 0.1)],
        ("", "eval", "metrics/Accuracy"): [(1, 0.5)],
    }
    assert read.config == {"d_model": 8}
    assert list(read.versions)[0:2] == ["weft", "jaxlib"]
    assert read.texts == [(1, "eval", "sample", "text 1")]
    assert [row.get("event") for row in read.clock] == ["begin", None, None, None, None, "end"]


def test_a_task_has_a_folder_for_its_events(tmp_path):
    pytest.importorskip("tensorboardX")
    log = RunLog(tmp_path, stdout=False)
    log.scalars(1, "train", {"metrics/loss": 1.0}, task="second")
    log.close()
    assert os.listdir(tmp_path / "second" / "train")
    assert read_metrics(tmp_path).series == {("second", "train", "metrics/loss"): [(1, 1.0)]}


def test_a_run_that_is_resumed_has_the_files_of_one_that_is_not(tmp_path):
    def run(directory, first, last):
        log = RunLog(directory, stdout=False, tensorboard=False)
        log.resume(first)
        log.describe(first, {"d_model": 8})
        for step in range(first + 1, last + 1):
            report(log, step)
        log.end(last)
        log.close()

    run(tmp_path / "whole", 0, 6)
    run(tmp_path / "cut", 0, 5)
    run(tmp_path / "cut", 3, 6)
    for name in ("metrics.jsonl", "metrics.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_tensorboard_forgets_the_steps_after_the_checkpoint(tmp_path):
    pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for first, value in ((0, 1.0), (2, 2.0)):
        log = RunLog(tmp_path, stdout=False)
        log.resume(first)
        for step in range(first + 1, 5):
            log.scalars(step, "train", {"metrics/loss": value})
        log.close()
    events = accumulator.EventAccumulator(str(tmp_path / "train")).Reload()
    values = [(e.step, e.value) for e in events.Scalars("metrics/loss")]
    assert values == [(1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0)]


def test_the_summaries_of_layers_come_back(tmp_path):
    pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = tl.Serial(
        tl.SummaryImage("input", n_in=1, num_summaries=2),
        tl.SummaryScalar("mean"),
        tl.Serial(
            tl.SummaryScalar("mean", lambda x: np.max(x)), tl.SummaryScalar("rows", np.ravel)
        ),
    )
    x = onp.linspace(0, 1, 2 * 4 * 4 * 3, dtype="float32").reshape(2, 4, 4, 3)
    model(x)
    log = RunLog(tmp_path, stdout=False)
    log.summaries(5, "eval", model.state)
    log.close()
    events = accumulator.EventAccumulator(str(tmp_path / "eval")).Reload()
    assert sorted(events.Tags()["scalars"]) == ["summary_mean", "summary_mean_2"]
    assert events.Tags()["images"] == ["summary_input0", "summary_input1"]
    assert events.Tags()["histograms"] == ["summary_rows"]
    assert events.Scalars("summary_mean")[0].value == pytest.approx(0.5)
    assert read_metrics(tmp_path).series["", "eval", "summary_mean_2"] == [(5, 1.0)]


def test_summaries_are_found_in_any_nesting():
    state = ((), {"summary_a": 1, "cache": {"summary_b": 2}}, [{"summary_a": 3}, ({"other": 4},)])
    assert layer_summaries(state) == {"summary_a": 1, "summary_b": 2, "summary_a_2": 3}
    assert layer_summaries(()) == {}


def test_images_and_histograms_without_event_files_are_left_out(tmp_path):
    for log in (RunLog(stdout=False), RunLog(tmp_path, stdout=False, tensorboard=False)):
        log.image(1, "eval", "x", onp.zeros((2, 2)))
        log.histogram(1, "eval", "x", onp.zeros(2))
        log.close()
    assert not os.listdir(tmp_path)


def test_the_line_of_the_speed_gives_way_to_lines_on_stdout(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    log = RunLog()
    log.begin(0, 10)
    log.live(1, 0.5, 0.1)
    log.step_line(1, "hello")
    log.end(1)
    drawn = "step 1/10 | loss 0.5000 | learning rate 0.1"
    assert terminal.getvalue() == f"\r\x1b[K{drawn}\r\x1b[KStep      1: hello\n"


@pytest.mark.parametrize(("options", "shown"), [({}, True), ({"stdout": False}, False)])
def test_the_speed_is_shown_where_lines_are_printed(monkeypatch, options, shown):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("weft.supervised.progress.WRITTEN_EVERY", 1e-9)
    log = RunLog(**options)
    log.begin(0, 10)
    log.live(1)
    log.end(1)
    assert bool(stream.getvalue()) is shown


@pytest.mark.parametrize("value", [onp.ones(2), "0.5", None, True])
def test_a_metric_that_is_no_scalar_is_refused_and_nothing_written(tmp_path, value, capsys):
    log = RunLog(tmp_path, live=False)
    with pytest.raises(ValueError, match=r"RunLog\.scalars: 'metrics/b' must be a scalar") as error:
        log.scalars(1, "train", {"metrics/a": 1.0, "metrics/b": value})
    assert any(note.startswith("  at test_run_log.py") for note in error.value.__notes__)
    assert capsys.readouterr().out == ""
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directory": 3}, "RunLog: directory must be a path or None; got 3"),
        ({"stdout": "yes"}, "RunLog: stdout must be True or False"),
        ({"live": 1}, "RunLog: live must be True or False"),
        ({"tensorboard": "auto"}, "RunLog: tensorboard must be True or False"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(TypeError, match=message):
        RunLog(**options)


def test_event_files_that_are_asked_for_need_the_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="RunLog: tensorboard=True needs the package"):
        RunLog(tmp_path, tensorboard=True)


def test_without_the_package_the_other_files_are_written(monkeypatch, tmp_path):
    monkeypatch.setattr("weft.supervised.run_log.is_available", lambda: False)
    log = RunLog(tmp_path, stdout=False)
    log.scalars(1, "train", {"metrics/loss": 1.0})
    log.close()
    assert sorted(os.listdir(tmp_path)) == ["clock.jsonl", "metrics.csv", "metrics.jsonl"]
