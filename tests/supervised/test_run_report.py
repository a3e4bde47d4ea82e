"""The page of a run: well formed, alone, small, complete, of runs in any state."""

import math
import os
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from weft.supervised.metric_files import JSONL, MetricFiles
from weft.supervised.run_log import RunLog
from weft.supervised.run_report import write_report

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def page_of(directory):
    """The text on the page of a run, after checks of its form."""
    path = write_report(directory)
    text = Path(path).read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert os.path.getsize(path) < 1_000_000
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img", text)
    assert not {name for name, _ in reader.attributes} & {"src", "href", "srcset", "data", "action"}
    return " ".join(" ".join(reader.words).split())


def logged(directory, steps=12, **options):
    log = RunLog(directory, stdout=False, tensorboard=False)
    log.describe(0, {"model": {"d_model": 64}, "name": "<tiny> & co"})
    for step in range(1, steps + 1):
        log.scalars(step, "train", {"metrics/CrossEntropyLoss": 2 / step})
        log.scalars(
            step, "train", {"training/learning_rate": 0.125, "training/steps per second": 33.0}
        )
        log.scalars(step, "eval", {"metrics/CrossEntropyLoss": 3 / step, "summary_x": 4.0})
    log.text(steps, "eval", "sample", "To be, or <b>not</b>\x00 to be")
    return log


def test_a_run_that_ended(tmp_path):
    log = logged(tmp_path / "tiny run")
    log.end(12)
    log.close()
    text = page_of(tmp_path / "tiny run")
    assert text.startswith("tiny run")
    for part in (
        "ended on",
        "step 12",
        "train CrossEntropyLoss 0.1667",
        "eval CrossEntropyLoss 0.25",
        "0.166667 at 12 0.166667 at 12 2 at 1",  # last, lowest, highest
        "learning_rate",
        "steps per second",
        "summary_x",
        "To be, or <b>not</b>\N{REPLACEMENT CHARACTER} to be",
        '"name": "<tiny> & co"',
        '"d_model": 64',
        "jaxlib",
    ):
        assert part in text, part


def test_a_run_that_goes_on_or_was_killed(tmp_path):
    logged(tmp_path)  # not closed
    with open(tmp_path / JSONL, "a") as file:
        file.write('{"step": 13, "scal')
    text = page_of(tmp_path)
    assert "not ended: running, or killed; its last line is from" in text
    assert "could not be read" not in text


def test_a_run_with_damaged_lines_and_no_clock(tmp_path):
    logged(tmp_path).close()
    (tmp_path / "clock.jsonl").unlink()
    with open(tmp_path / JSONL, "a") as file:
        file.write("damage\n")
    text = page_of(tmp_path)
    assert "the run has no clock.jsonl; 1 lines could not be read" in text
    assert "step 12" in text


def test_a_run_without_numbers(tmp_path):
    (tmp_path / JSONL).write_text("")
    assert "step 0" in page_of(tmp_path)


def test_a_large_run_is_a_small_page(tmp_path):
    files = MetricFiles(tmp_path)
    for step in range(1, 1200):
        names = (f"metrics/metric{i}" for i in range(150))
        files.scalars(step, "train", {name: math.sin(step + len(name)) for name in names})
    for step in range(100):
        files.text(step, "eval", "sample", "x & y" * 20_000)
    files.description(0, {"long": "y" * 500_000}, {"weft": "1"})
    files.close()
    text = page_of(tmp_path)
    assert "50 more are in metrics.jsonl" in text
    assert "(100,000 characters)" in text


def test_numbers_that_are_not_finite_and_several_tasks(tmp_path):
    files = MetricFiles(tmp_path)
    for step, value in enumerate([1.0, math.nan, 0.5, math.inf]):
        files.scalars(step, "train", {"metrics/loss": value}, task="first")
        files.scalars(step, "train", {"metrics/loss": math.nan}, task="second")
    files.close()
    text = page_of(tmp_path)
    assert "first train loss inf at 3 0.5 at 2 1 at 0" in text
    assert "second train loss nan at 3 nan at 0 nan at 0" in text


def test_text_that_no_file_can_hold(tmp_path):
    (tmp_path / JSONL).write_text('{"step": 1, "text": {"a\\u0001": "\\ud800"}}\n')
    page_of(tmp_path)


def test_another_path(tmp_path):
    logged(tmp_path / "run").close()
    assert write_report(tmp_path / "run", tmp_path / "page.html") == str(tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    assert sorted(os.listdir(tmp_path)) == ["page.html", "run"]


def test_the_page_is_replaced_as_a_whole(tmp_path):
    logged(tmp_path).close()
    (tmp_path / "report.html").write_text("old")
    write_report(str(tmp_path))
    assert not (tmp_path / "report.html.part").exists()
    assert "CrossEntropyLoss" in (tmp_path / "report.html").read_text()


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no metrics\.jsonl"):
        write_report(tmp_path)
    logged(tmp_path).close()
    with pytest.raises(OSError, match=r"write_report: .* can't be written: .*\n  fix: write"):
        write_report(tmp_path, tmp_path / "missing" / "page.html")
