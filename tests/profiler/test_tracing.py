"""Traces, events and memory profiles: files that are really written, refused nesting, options."""

import glob
import gzip
import json
import os

import numpy as np
import pytest

import weft
from weft import profiler

QUICK = profiler.ProfileOptions(host_tracer_level=1, python_tracer_level=0)


def files(folder, end):
    return glob.glob(os.path.join(folder, "plugins", "profile", "*", "*" + end))


# a class that jaxlib makes at first use lacks a name that Python warns of
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_trace_has_the_events_of_the_user(tmp_path):
    with profiler.trace(tmp_path, create_perfetto_trace=True, profiler_options=QUICK):
        assert profiler.TraceAnnotation.is_enabled()
        with profiler.TraceAnnotation("inference", model="small") as event:
            event.set_metadata(size=3)
        for i in range(2):
            with profiler.StepTraceAnnotation("train", step_num=i):
                weft.numpy.sin(np.ones(3))
        assert profiler.annotate_function(lambda x: x + 1, name="increase", by=1)(1) == 2
        with pytest.raises(RuntimeError, match="already"):
            profiler.start_trace(tmp_path)
    assert not profiler.TraceAnnotation.is_enabled()
    (path,) = files(tmp_path, ".xplane.pb")
    data = profiler.ProfileData.from_file(path)
    events = [e for p in data.planes for line in p.lines for e in line.events]
    names = [e.name for e in events]
    assert [names.count(n) for n in ("inference", "train", "increase")] == [1, 2, 1]
    stats = [dict(e.stats) for e in events if e.name == "inference"]
    assert stats[0]["model"] == "small"
    assert int(stats[0]["size"]) == 3
    (by,) = [dict(e.stats)["by"] for e in events if e.name == "increase"]
    assert int(by) == 1
    steps = [dict(e.stats) for e in events if e.name == "train"]
    assert [(int(s["step_num"]), int(s["_r"])) for s in steps] == [(0, 1), (1, 1)]
    assert data.find_plane_with_name("/host:CPU").name == "/host:CPU"
    assert data.find_plane_with_name("nothing") is None
    for end in ("vm.trace.json.gz", "perfetto_trace.json.gz"):
        for trace in files(tmp_path, end):
            with gzip.open(trace, "rt") as file:
                assert "inference" in {e.get("name") for e in json.load(file)["traceEvents"]}
    assert len(files(tmp_path, "trace.json.gz")) == 2


def test_a_trace_ends_with_an_error_in_its_block(tmp_path):
    with pytest.raises(KeyError), profiler.trace(tmp_path, profiler_options=QUICK):
        raise KeyError
    assert len(files(tmp_path, ".xplane.pb")) == 1
    with pytest.raises(RuntimeError, match="no trace"):
        profiler.stop_trace()


def test_annotations_keep_functions_as_they_are():
    @profiler.annotate_function
    def double(x):
        """Twice x."""
        return 2 * x

    assert double.__doc__ == "Twice x."
    assert double(x=3) == 6
    with pytest.raises(ZeroDivisionError), profiler.TraceAnnotation("a"):
        raise ZeroDivisionError
    assert profiler.TraceContext is profiler.TraceAnnotation
    assert profiler.StepTraceContext is profiler.StepTraceAnnotation
    assert profiler.trace_function is profiler.annotate_function


def test_memory_profiles(tmp_path):
    x = weft.device_put(np.ones((64, 64), np.float32), weft.devices()[0])
    before = profiler.device_memory_profile()
    profiler.save_device_memory_profile(tmp_path / "memory.prof", "cpu")
    assert len((tmp_path / "memory.prof").read_bytes()) > 50
    assert isinstance(before, bytes)
    assert len(before) > 50
    assert x.shape == (64, 64)


def test_one_server():
    with pytest.raises(RuntimeError, match="no server"):
        profiler.stop_server()
    profiler.start_server(0)
    try:
        with pytest.raises(RuntimeError, match="already"):
            profiler.start_server(0)
    finally:
        profiler.stop_server()


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: profiler.start_trace(3), TypeError, "int"),
        (lambda: profiler.start_trace("a", create_perfetto_link=True), ValueError, "link"),
        (lambda: profiler.start_trace("a", profiler_options={}), TypeError, "profiler_options"),
        (lambda: profiler.start_server("a"), TypeError, "port"),
        (lambda: profiler.TraceAnnotation(3), TypeError, "name"),
        (lambda: profiler.TraceAnnotation("a").set_metadata(b=1), RuntimeError, "within"),
        (lambda: profiler.annotate_function(3), TypeError, "annotate_function"),
        (lambda: profiler.device_memory_profile("abacus"), RuntimeError, "abacus"),
    ],
)
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
