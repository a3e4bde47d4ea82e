"""weft.explain: the object, its text and page, and that it leaves nothing behind."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import grad, jit, lax, profiler
from weft.core.events import audience
from weft.runtime.transfers import unguarded


def loss(w, x):
    hidden = np.tanh(x @ w)
    return np.mean(hidden**2)


@jit
def step(w, x):
    return w - 0.1 * grad(loss)(w, x)


def train(w, x, steps=5):
    for _ in range(steps):
        w = step(w, x)
        print(float(np.sum(w)))
    return w


W, X = np.ones((600, 600)), np.ones((20, 600))
HERE = os.path.basename(__file__)


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def test_a_loop_is_explained(capfd):
    report = weft.explain(train, W, X)
    assert capfd.readouterr().out.count("\n") == 5
    kinds = {f.kind: f for f in report.findings}
    assert kinds.keys() == {"undonated state", "read in a loop"}
    assert kinds["read in a loop"].line == (HERE, line_of(train, 3))
    assert kinds["read in a loop"].after == "if step % 100 == 0: print(float(np.sum(w)))"
    assert kinds["undonated state"].line == (HERE, line_of(step.__wrapped__, 0))
    assert kinds["undonated state"].after == '@jit(donate_argnames="w")'
    (program,) = report.programs
    assert (program.called.name, program.called.count) == ("step", 5)
    assert program.memory.peak_bytes > 2 * W.nbytes
    rows = {row.line.number: row for row in report.lines}
    assert rows[line_of(loss, 1)].equations > 2
    assert rows[line_of(loss, 1)].kernels >= 2
    assert rows[line_of(loss, 1)].seconds > 0
    assert rows[line_of(loss, 1)].text == "hidden = np.tanh(x @ w)"
    total = sum(row.seconds for row in report.lines)
    assert total <= 1.01 * 5 * program.called.typical_seconds
    assert any("fused" in row.fused for row in report.kernels)


def test_a_jitted_function_is_called_again_for_its_seconds():
    seen = []
    f = jit(lambda x: (seen.append(1), np.sort(x @ x))[1], donate_argnums=0)
    x = np.ones((50, 50))
    report = weft.explain(f, x)
    assert len(seen) == 1
    assert x.sum() == 2500  # a copy was donated
    (program,) = report.programs
    assert program.called.count == 4
    assert program.is_measured


def test_a_function_without_jit_is_jitted():
    report = weft.explain(lambda x: np.cumsum(np.tanh(x)), np.ones(500))
    assert [p.called.name for p in report.programs] == ["<lambda>"]
    refused = weft.explain(lambda x: np.ones(2) if x.sum() > 0 else np.ones(3), np.ones(3))
    assert refused.programs == []


def test_what_ran_before_is_no_reason_for_a_retrace():
    f = jit(lambda x: x * 2)
    f(np.ones(3)), f(2.0)
    report = weft.explain(lambda: f(np.float32(1)))
    assert report.findings == []


def test_the_same_is_found_again():
    f = jit(lambda x: np.cumsum(x * 2))

    def run():
        return [f(np.ones(n)) for n in (2, 3, 4)]

    first, second = weft.explain(run), weft.explain(run)
    assert first.findings[0].message == second.findings[0].message
    assert [len(p.kernels) for p in first.programs] == [len(p.kernels) for p in second.programs]


def test_retraces_have_their_reasons():
    def run():
        f = jit(lambda batch: batch["x"] * 2)
        for n in (2, 3, 4):
            f({"x": np.ones(n)})

    report = weft.explain(run)
    (finding,) = report.findings
    assert finding.kind == "retrace: shape"
    assert "argument batch['x'] was float32[2], is float32[3] (shape)" in finding.message
    assert len(report.retraces) == 3


def test_constants_and_moves_are_listed():
    table = np.asarray(onp.ones((30, 30), "float32"))
    f = jit(lambda x: x @ table)

    def run():
        return onp.asarray(f(np.ones(30)))

    report = weft.explain(run)
    assert report.findings == []
    assert report.constants == [("<lambda>", "float32[30,30]", 3600)]
    directions = {(d, kind, n) for d, _, kind, n, _ in report.moves}
    assert ("device to host", "float32[30]", 1) in directions


# --- text and page ---


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_stands_alone(tmp_path, capfd):
    report = weft.explain(train, W, X)
    path = report.save(tmp_path / "page.html")
    text = Path(path).read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img", text)
    assert not {name for name, _ in reader.attributes} & {"src", "href", "srcset", "data"}
    assert len(text) < 100_000
    assert text == report._repr_html_()
    words = " ".join(" ".join(reader.words).split())
    for finding in report.findings:
        assert " ".join(finding.message.split()) in words
        assert words.index(finding.kind) < words.index("Memory over time")
    for heading in ("Lines", "Kernels: what was fused", "Why each function was traced"):
        assert heading in words


def test_a_large_program_is_a_small_page():
    def deep(x):
        for i in range(120):
            x = np.sort(np.tanh(x) + i) * 1.01 if i % 7 else np.cumsum(x)
        return x

    report = weft.explain(jit(deep), np.ones(64))
    assert len(report._repr_html_()) < 1_000_000
    assert report.programs[0].equations > 300
    assert report.seconds_to_explain < 1


def test_the_text_begins_with_the_findings(capfd):
    text = str(weft.explain(train, W, X))
    first, *rows = text.splitlines()
    assert first.startswith(f"train ({HERE}:{line_of(train, 0)}): 2 findings; 1 programs, 5 calls")
    assert rows[1].startswith(f"{HERE}:")
    assert text.index("    fix: ") < text.index("equations")
    assert "memory of step:" in text


def test_a_page_that_cannot_be_written(tmp_path):
    report = weft.explain(jit(lambda x: x + 1), np.ones(3))
    with pytest.raises(OSError, match=r"explain: .* can't be written: .*\n  fix:"):
        report.save(tmp_path / "missing" / "page.html")


# --- nothing is left behind, and nothing is paid for without it ---


def test_switches_are_as_before_also_after_an_error():
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weft.explain(fails)
    assert not weft.config.debug_lines
    assert not weft.config.log_compiles
    assert audience.listener is None
    assert unguarded.platforms == ("cpu",)
    with pytest.raises(RuntimeError, match="another explain is running\n  fix:"):
        weft.explain(lambda: weft.explain(fails))
    assert audience.listener is None


def test_the_users_own_trace_goes_on(tmp_path):
    with profiler.trace(tmp_path, profiler_options=profiler.ProfileOptions(python_tracer_level=0)):
        report = weft.explain(jit(lambda x: np.sort(x)), np.ones(300))
    assert not report.programs[0].is_measured  # the seconds are estimated
    assert report.lines[0].seconds > 0
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))


def test_results_are_the_same_bits():
    f = jit(lambda x: lax.fori_loop(0, 5, lambda i, c: np.tanh(c @ x) / 3, x))
    x = np.asarray(onp.random.default_rng(0).normal(size=(40, 40)).astype("float32"))
    plain, kept = f(x), []
    weft.explain(lambda: kept.append(f(x)))
    assert onp.array_equal(plain, kept[0])


def calls_of_python(function):
    """The functions that Python calls, by file and name."""
    seen = []

    def note(frame, event, _):
        if event == "call":
            seen.append((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


OWN = {"events.py", "source_location.py", "memory.py", "optimized.py", "recorder.py", "watch.py"}


def test_without_it_no_function_of_it_runs():
    """In a first call, a later one, an operation outside jit, and a read."""
    x = np.ones((30, 30))

    def use():
        f = jit(lambda x, y: np.tanh(x @ y) * 2)
        y = f(x, x)
        f(y, x)
        f(onp.ones((30, 30), "float32"), y=x)
        float((y + x).sum())
        onp.asarray(f(y, y))

    use()
    files = {file for file, _ in calls_of_python(use)}
    assert "stage.py" in files  # it was traced
    assert not files & OWN


def test_a_call_costs_the_same_after_it():
    f = jit(lambda x: np.tanh(x @ x))
    x = np.ones((30, 30))

    def call():
        return f(x)

    call(), call()
    before = calls_of_python(call)
    weft.explain(f, x)
    call()
    assert calls_of_python(call) == before
    assert ("dispatch.py", "compiled") in before  # the fast path


def test_a_program_that_does_not_use_it_does_not_load_it():
    code = (
        "import sys, weft, weft.numpy as np\n"
        "weft.jit(lambda x: x @ x)(np.ones((3, 3)))\n"
        "print([m for m in sys.modules if 'explanation' in m or 'watch' in m])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stdout.strip() == b"[]"


@pytest.mark.parametrize("kind", ["pmap", "shard_map"])
def test_programs_of_several_devices_are_explained(kind):
    def total(x):
        return lax.psum(np.sin(x), "i")

    n = len(weft.devices())
    if kind == "pmap":
        f = weft.pmap(total, axis_name="i")
    else:
        mesh = weft.sharding.Mesh(onp.array(weft.devices()), ("i",))
        spec = weft.sharding.PartitionSpec
        f = jit(weft.shard_map(total, mesh=mesh, in_specs=spec("i"), out_specs=spec()))
    report = weft.explain(f, np.ones((n, 8)))
    (program,) = report.programs
    assert program.called.name == "total"
    assert report.findings == []
    number = total.__code__.co_firstlineno + 1
    assert number in {row.line.number for row in report.lines if row.equations}
