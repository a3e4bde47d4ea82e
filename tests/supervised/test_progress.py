"""The live line: its text, its timing, on a terminal and without one; it never waits."""

import io

import pytest

from weft.supervised.progress import Progress, duration_text, number_text, speed_text


class Clock:
    """Seconds that a test moves on."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal; it has no width, so 80 columns are taken."""

    def isatty(self):
        return True

    def fileno(self):
        raise OSError("none")


class Pending:
    """A loss on a device that may not be computed yet; reading it then would wait."""

    def __init__(self, value, ready):
        self.value, self.ready = value, ready

    def is_ready(self):
        return self.ready

    def __float__(self):
        assert self.ready, "the loss was waited for"
        return self.value


@pytest.fixture
def clock():
    return Clock()


def test_without_a_terminal_a_line_is_written_every_half_minute(clock):
    stream = io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.begin(100, 400)
    for step in range(101, 221):
        clock.now += 0.5
        progress.update(step, 1.5, 0.01)
    assert stream.getvalue() == (
        "step 160/500 | loss 1.5000 | learning rate 0.01\n"
        "step 220/500 | 2.0 steps/s | loss 1.5000 | learning rate 0.01 | 2:20 left\n"
    )


def test_on_a_terminal_it_is_redrawn_four_times_a_second(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(stream, clock=clock)
    progress.begin(0, 1000)
    for step in range(1, 129):
        clock.now += 1 / 128
        progress.update(step)
    drawn = stream.getvalue().split("\r\x1b[K")[1:]
    assert drawn[0] == "step 1/1,000"
    assert drawn[1] == "step 33/1,000 | 128 steps/s | 0:08 left"
    assert len(drawn) == 4
    progress.clear()
    progress.clear()
    assert stream.getvalue().count("\r\x1b[K") == 5
    progress.end()
    assert not stream.getvalue().endswith("\n")  # there is nothing on the line


def test_a_line_is_no_longer_than_the_terminal_is_wide(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(stream, clock=clock)
    progress.begin(10**12, 10**15)
    clock.now = 1.0
    progress.update(10**12 + 1, 0.1234, 0.00001)
    clock.now = 2.0
    progress.update(10**12 + 2, 0.1234, 0.00001)
    assert max(map(len, stream.getvalue().split("\r\x1b[K"))) == 79
    progress.end()
    assert stream.getvalue().endswith("\n")


def test_a_dumb_terminal_gets_lines(clock, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    progress = Progress(stream, every=1, clock=clock)
    progress.begin(0)
    clock.now = 1.0
    progress.update(7)
    assert stream.getvalue() == "step 7\n"


def test_nothing_is_shown_before_begin_nor_after_end(clock):
    stream = io.StringIO()
    progress = Progress(stream, every=1, clock=clock)
    clock.now = 100.0
    progress.update(1)
    progress.begin(0)
    progress.end()
    clock.now = 200.0
    progress.update(2)
    assert stream.getvalue() == ""


def test_the_loss_is_the_newest_that_is_computed(clock):
    stream = io.StringIO()
    progress = Progress(stream, every=1, clock=clock)
    progress.begin(0)
    early, late = Pending(1.0, ready=False), Pending(2.0, ready=False)
    clock.now = 1.0
    progress.update(1, early)
    early.ready = True
    clock.now = 2.0
    progress.update(2, late)
    late.ready = True
    clock.now = 3.0
    progress.update(3, Pending(3.0, ready=True))
    losses = [line.partition("loss ")[2] for line in stream.getvalue().splitlines()]
    assert losses == ["", "1.0000", "3.0000"]


def test_the_loss_is_not_touched_when_nothing_is_due(clock):
    progress = Progress(io.StringIO(), every=1, clock=clock)
    progress.begin(0)
    progress.update(1, object(), object())


def test_a_terminal_that_is_gone_does_not_end_the_run(clock):
    stream = io.StringIO()
    progress = Progress(stream, every=1, clock=clock)
    progress.begin(0)
    stream.close()
    clock.now = 1.0
    progress.update(1)
    progress.update(2)
    progress.end()


def test_without_stderr_nothing_is_shown(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    progress = Progress(every=0.001)
    progress.begin(0, 10)
    progress.update(1, 0.5)
    progress.end()


@pytest.mark.parametrize("every", [0, -1.0, "1"])
def test_a_wrong_interval_is_refused(every):
    with pytest.raises((TypeError, ValueError), match="Progress: every must be"):
        Progress(every=every)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3723, "1:02:03"), (187200, "2 days 4 h")],
)
def test_times(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("speed", "text"), [(1234.4, "1,234 steps/s"), (12.34, "12.3 steps/s"), (0.25, "4.00 s/step")]
)
def test_speeds(speed, text):
    assert speed_text(speed) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0000"), (0.12344, "0.1234"), (1e-5, "1e-05"), (123456.0, "1.23e+05")],
)
def test_losses(value, text):
    assert number_text(value) == text
    assert number_text(float("nan")) == "nan"
