"""Calls that fail leave a file, and its replay stops at the same operation with the same bits."""

import copy
import glob
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as onp
import pytest
from failing_steps import STEPS

import weft
import weft.numpy as np
from weft import explanation, grad, jit, lax
from weft.explanation import failed_calls
from weft.explanation.program_file import written_program

SCRIPT = str(Path(__file__).with_name("failing_steps.py"))
X = onp.array([1.0, -1.0], onp.float32)


def python(*arguments, **environment):
    """The standard output and error of a program, and its exit status."""
    environment = {**os.environ, "WEFT_CPU_DEVICES": "1"} | environment
    command = [sys.executable, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    return ended.stdout, ended.stderr, ended.returncode


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """By the name of a step: what its replay should give, and what it gives in a new process."""
    folder = tmp_path_factory.mktemp("failed")
    out, err, status = python(SCRIPT, "run", folder, WEFT_CPU_DEVICES="4")
    assert status == 0, err
    steps = json.loads(out)
    for name in ("SIGKILL", "SIGSEGV"):
        _, err, status = python(SCRIPT, "kill", name, folder / name)
        assert status == -getattr(signal, name), err
        (path,) = glob.glob(str(folder / name / "*"))
        os.rename(path, folder / f"killed by {name}")
        steps[f"killed by {name}"] = {"equation": "pure_callback", "files": [path]}
    out, err, status = python(SCRIPT, "replay", *[folder / name for name in steps])
    assert status == 0, err
    results = json.loads(out)
    return {name: (steps[name], results[name]) for name in steps}


KINDS = {
    "overflow": "infinity",
    "under_debug_infs": "infinity",
    "callback_raises": "error",
    "check": "check",
    "out_of_memory": "error",
    "killed by SIGKILL": "missing",
    "killed by SIGSEGV": "missing",
}


@pytest.mark.parametrize("name", [*STEPS, "killed by SIGKILL", "killed by SIGSEGV"])
def test_a_failed_step_fails_again_at_the_same_place_with_the_same_bits(name, replayed):
    expected, actual = replayed[name]
    assert len(expected.pop("files")) == 1
    assert {key: actual[key] for key in expected} == expected
    assert actual["kind"] == KINDS.get(name, "NaN")
    assert actual["function"] == ("killed" if name.startswith("killed") else name)
    # the line that says so in the source is in the text, as it was
    if name != "check":
        assert re.search(r"\n  > +\d+  .*  # fails(\n +\^+)?\n", actual["text"])
    number = int(actual["line"].split(":")[1].split(",")[0])
    assert Path(SCRIPT).read_text().splitlines()[number - 1].endswith("# fails")


def test_the_steps_of_loops_are_named(replayed):
    assert replayed["scan_step"][1]["inside"] == ["step 2 of scan"]
    assert replayed["callback_raises"][1]["inside"] == ["step 3 of scan"]
    assert "ValueError: 3.0 is too large" in replayed["callback_raises"][1]["text"]
    assert "Serial > Log, made at failing_steps.py" in replayed["model_of_layers"][1]["text"]
    text = replayed["killed by SIGKILL"][1]["text"]
    assert "the process ended during the call" in text
    assert "the file does not contain die (failing_steps.py:" in text


# --- in this process ---


@pytest.fixture
def folder(tmp_path):
    with weft.config.temporarily(replay_dir=tmp_path / "failed"):
        yield tmp_path / "failed"


def files(folder):
    """The files, the oldest first."""
    return sorted(
        map(str, folder.glob("*")), key=lambda path: int(path.split("-")[-1].split(".")[0])
    )


def negative_log(x):
    return np.log(x)


def test_a_warning_names_the_file_and_the_command(folder, caplog):
    jit(negative_log)(X)
    (path,) = files(folder)
    assert re.fullmatch(
        rf"negative_log-\d{{8}}-\d{{6}}-{os.getpid()}-\d+\.safetensors", os.path.basename(path)
    )
    assert [r.getMessage() for r in caplog.records] == [
        f"negative_log: a NaN in its results, none in its arguments; replay: weft replay {path}"
    ]
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_an_error_has_a_note(folder):
    def refuse(x):
        raise KeyError("no")

    with pytest.raises(KeyError) as error:
        jit(lambda x: weft.pure_callback(refuse, x, x))(X)
    (path,) = files(folder)
    assert f"  replay: weft replay {path}" in error.value.__notes__
    again = explanation.replay(path)
    assert (again.kind, again.equation) == ("error", "pure_callback")
    assert "refuse (test_replay.py:" in again.reason
    assert again.inputs[0].tobytes() == X.tobytes()


def test_a_call_that_ends_well_leaves_nothing(folder, caplog):
    f = jit(lambda x: x / 2)
    f(X), f(onp.array([onp.nan, onp.inf], onp.float32)), f(onp.arange(3))
    jit(lambda x: (x > 0, 7))(X)
    assert files(folder) == []
    assert caplog.records == []


def test_a_nan_that_comes_in_leaves_nothing(folder):
    constant = np.array([onp.nan, 1.0])
    jit(lambda x: x + constant)(X)
    jit(lambda x: np.log(x))(onp.array([onp.nan, -1.0], onp.float32))
    assert files(folder) == []


def test_ctrl_c_leaves_nothing(folder):
    def interrupt(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jit(lambda x: weft.pure_callback(interrupt, x, x))(X)
    assert files(folder) == []


def test_infinities_by_design_leave_one_file(folder, caplog):
    masked = jit(lambda x: np.where(x > 0, x, -np.inf))
    for _ in range(3):
        masked(X)
    assert len(files(folder)) == len(caplog.records) == 1
    worse = jit(lambda x, y: (np.where(x > 0, x, -np.inf), np.log(y)))
    worse(X, 1.0), worse(X, -1.0)
    kinds = [explanation.replay(path).kind for path in files(folder)]
    assert kinds == ["infinity", "infinity", "NaN"]


def test_the_newest_files_are_kept(folder):
    for n in range(1, failed_calls.KEPT + 4):
        jit(negative_log)(-onp.ones(n, onp.float32))
    shapes = [explanation.replay(path).inputs[0].shape for path in files(folder)]
    assert shapes == [(n,) for n in range(4, failed_calls.KEPT + 4)]


def test_threads_do_not_mix(folder):
    f = jit(negative_log)
    barrier = threading.Barrier(3)

    def work(n):
        with weft.config.temporarily(replay_dir=folder):
            barrier.wait()
            f(-onp.full(n, n, onp.float32))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    inputs = [explanation.replay(path).inputs[0].tolist() for path in files(folder)]
    assert sorted(inputs, key=len) == [[-1.0], [-2.0] * 2, [-3.0] * 3]


def test_a_call_in_a_callback_of_a_call(folder):
    """Both have failed; the inner one has the operation."""

    def inner(x):
        with weft.config.temporarily(replay_dir=folder, debug_nans=True):
            return jit(negative_log)(-x)

    with pytest.raises(FloatingPointError) as error:
        jit(lambda x: weft.pure_callback(inner, x, x) * 2)(2.0)
    outer, nested = map(explanation.replay, files(folder))
    assert (nested.kind, nested.equation, nested.inputs[0].item()) == ("NaN", "log", -2.0)
    assert (outer.kind, outer.equation) == ("error", "pure_callback")
    assert sum(note.startswith("  replay: ") for note in error.value.__notes__) == 2


def test_operations_with_programs_inside_outside_of_jit(folder):
    lax.scan(lambda c, x: (np.sqrt(c - x), c), 3.0, onp.arange(5.0, dtype=onp.float32))
    grad(jit(lambda x: np.sum(np.log(x) * 0)))(onp.zeros(2, onp.float32))
    scan, *derivatives = map(explanation.replay, files(folder))
    assert (scan.equation, scan.inside) == ("sqrt", ("step 2 of scan",))
    assert {r.kind for r in derivatives} == {"NaN"}


def test_pmap(folder):
    weft.pmap(lambda x, y: np.log(x) + y, in_axes=(0, None))(X[None], 2.0)
    (path,) = files(folder)
    again = explanation.replay(path)
    assert (again.kind, again.equation) == ("NaN", "log")
    assert again.inputs[0].tolist() == [X.tolist()]


def test_refs_and_statics(folder):
    ref = weft.new_ref(np.array(X))

    def step(n, r, x):
        r[...] = r[...] * n
        return np.log(r[...] - x)

    jit(step, static_argnums=0)(3, ref, 0.5)
    (path,) = files(folder)
    again = explanation.replay(path)
    assert again.inputs[0].tolist() == [2.5, -3.5]


def test_arrays_are_named_in_the_file(folder):
    safetensors = pytest.importorskip("safetensors.numpy")
    jit(lambda params, x: np.log(params["w"] * x))({"w": X}, 2.0)
    arrays = safetensors.load_file(files(folder)[0])
    assert arrays.keys() == {"params['w']", "x", "sha256"}
    assert arrays["params['w']"].tobytes() == X.tobytes()


def test_constants_are_in_the_file(folder):
    table = np.array(X)
    jit(lambda x: np.log(table * x))(2.0)
    again = explanation.replay(files(folder)[0])
    assert again.inputs[0].tolist() == [2.0, -2.0]
    assert [c.tobytes() for c in again.call.program.consts] == [X.tobytes()]


def test_a_folder_that_cannot_be_written(tmp_path, caplog):
    place = tmp_path / "file"
    place.write_text("")
    with weft.config.temporarily(replay_dir=place):
        assert onp.isnan(jit(negative_log)(X)[1])
    (record,) = caplog.records
    assert record.getMessage().startswith("negative_log: replay_dir: the call could not be saved: ")


def test_a_callback_without_results_is_not_called(folder, capfd):
    def f(x):
        weft.debug.print("x is {}", x)
        return np.log(x)

    jit(f)(X)
    assert capfd.readouterr().out.count("x is") == 1
    again = explanation.replay(files(folder)[0])
    assert (again.kind, again.equation) == ("NaN", "log")
    assert capfd.readouterr().out == ""


def fused(x):
    """Only its compiled program may differ: x * x overflows, and hypot does not."""
    return np.sum(x)


def test_nothing_fails(folder):
    """A process that was killed from outside during a call."""
    path = failed_calls.written(jit(fused).trace(X).jaxpr, [np.array(X)])
    again = explanation.replay(path, compiled=True)
    assert (again.kind, again.equation, again.line, again.inputs) == ("none", "", "", ())
    assert str(again).endswith(
        "runs to its end, equation by equation: nothing fails\n"
        "  the compiled program gives the same bits"
    )
    assert "weft replay --compiled" in str(explanation.replay(path))


def test_an_argument_brings_the_nan(folder):
    bad = np.array([onp.nan, 1.0])
    path = failed_calls.written(jit(fused).trace(bad).jaxpr, [bad])
    again = explanation.replay(path)
    assert (again.kind, again.reason) == ("argument", "x")
    assert "a NaN comes in with x: float32[2], 1 of 2 are nan" in str(again)


def test_a_replay_is_not_saved_itself_and_keeps_the_switches(folder):
    jit(negative_log)(X)
    (path,) = files(folder)
    with weft.config.temporarily(debug_infs=True):
        before = weft.config.describe()
        explanation.replay(path)
        assert weft.config.describe() == before
    assert files(folder) == [path]


def test_off():
    out, err, status = python(
        "-c",
        """
import sys, os, weft
weft.jit(lambda x: weft.numpy.log(x))(-1.0)
weft.grad(weft.jit(lambda x: x * x))(1.0)
with weft.config.temporarily(replay_dir=""):
    weft.jit(lambda x: weft.numpy.log(x))(-1.0)
from weft.core.trace import current
print([m for m in sys.modules if m.startswith("weft.explanation")], current.trace is current.base)
""",
    )
    assert (out, err, status) == ("[] True\n", "", 0)


def test_the_environment_turns_it_on(tmp_path):
    program = "import weft; weft.jit(lambda x: weft.numpy.log(x))(-1.0)"
    _, err, status = python("-c", program, WEFT_REPLAY_DIR=str(tmp_path / "of all"))
    (path,) = files(tmp_path / "of all")
    assert status == 0
    assert err == (
        f"<lambda>: a NaN in its results, none in its arguments; replay: weft replay '{path}'\n"
    )


# --- files ---


@pytest.fixture
def file(folder):
    jit(negative_log)(X)
    (path,) = files(folder)
    return path


def edited(path, change, **metadata):
    """Changes what a file says of its call, as a program that knows the format can."""
    data = Path(path).read_bytes()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n])
    inside = header["__metadata__"]
    call = json.loads(inside["call"])
    change(call)
    header["__metadata__"] = inside | {"call": json.dumps(call)} | metadata
    text = json.dumps(header).encode()
    body = len(text).to_bytes(8, "little") + text + data[8 + n : -32]
    Path(path).write_bytes(body + hashlib.sha256(body).digest())


def test_other_versions_are_named(file):
    edited(file, lambda call: call["versions"].update(numpy="1.0.0"))
    assert f"differs: numpy was 1.0.0, is {onp.__version__}" in str(explanation.replay(file))


def with_part(*path, **values):
    """A change of a part of what a file says of its call."""

    def change(call):
        for key in path:
            call = call[key]
        call.update(values)

    return change


def unchanged(call):
    pass


NEWER = "has version '2' of the format; this weft reads version 1\n  fix: a newer weft"
WRONG = {
    "newer": (unchanged, {"version": "2"}, NEWER),
    "foreign": (unchanged, {"format": "x"}, "it has another format"),
    "no program": (unchanged, {"program": "["}, "its JSON is broken"),
    "deep": (unchanged, {"program": "[" * 100_000}, "is damaged"),
    "wrong switch": (with_part("switches", enable_x64=3), {}, "enable_x64: expected"),
    "other switch": (with_part("switches", debug="hlo"), {}, "it has the switches"),
    "arguments": (with_part(constants=1), {}, "its arguments are not those of its program"),
    "arrays": (with_part(arrays={}), {}, "its arrays differ from their description"),
    "place": (with_part(place=["a"]), {}, "the place must have 3 items"),
    "lines": (with_part(lines={"a": {"x": "y"}}), {}, "the number of a line is 'x'"),
    "outcome": (with_part(outcome="bad"), {}, "the outcome must be a list"),
}


def test_an_operation_of_a_newer_version(file):
    def newer(call):
        call["versions"]["weft"] = "9.9"

    program = explanation.replay(file).call.program
    text = json.dumps(written_program(program).content).replace('"log"', '"new_log"')
    edited(file, newer, program=text)
    message = "this weft has no operation 'new_log'; weft 9.9 wrote it, this is "
    with pytest.raises(ValueError, match=message):
        explanation.replay(file)


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_another_kind_is_refused(name, file):
    change, metadata, message = WRONG[name]
    edited(file, change, **metadata)
    with pytest.raises(ValueError, match=message):
        explanation.replay(file)


ODD = (None, True, -1, 0, 3, 10**30, 0.5, "", "add", [], [[]], {}, {"program": 0}, {"float": "1"})


def test_any_other_json_is_read_or_refused(file):
    """With a checksum that is right, as somebody who means harm would write it."""
    choose = random.Random(0).choice
    data = Path(file).read_bytes()
    call = json.loads(
        json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["call"]
    )
    program = written_program(explanation.replay(file).call.program).content
    refused = []
    for _ in range(200):
        changed = copy.deepcopy({"call": call, "program": program})
        spots = [*places_in(changed["call"]), *places_in(changed["program"])]
        container, key = choose(spots)
        container[key] = choose(ODD)
        Path(file).write_bytes(data)
        texts = {name: json.dumps(part) for name, part in changed.items()}
        edited(file, unchanged, **texts)
        try:
            explanation.replay(file)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("fix: " in text for text in refused)


def places_in(value):
    """Each container in a value of JSON, with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items if isinstance(value, dict | list) else ():
        yield value, key
        yield from places_in(item) if isinstance(item, dict | list) else ()


def test_every_changed_byte_is_seen(file):
    data = Path(file).read_bytes()
    for i in range(0, len(data), len(data) // 80):
        Path(file).write_bytes(data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :])
        with pytest.raises(ValueError, match="fix: "):
            explanation.replay(file)


@pytest.mark.parametrize("length", [0, 7, 8, 100, -33, -1])
def test_a_file_that_was_cut_off_is_refused(length, file):
    data = Path(file).read_bytes()
    Path(file).write_bytes(data[:length])
    with pytest.raises(ValueError, match="is damaged, or not a file of a failed call"):
        explanation.replay(file)
    Path(file).write_bytes(data + b"x")
    with pytest.raises(ValueError, match="its length does not match its arrays"):
        explanation.replay(file)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        explanation.replay(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="it is not a regular file"):
        explanation.replay(tmp_path / "pipe")


# --- the command ---


def test_the_command_replays_in_a_process_of_its_own(file):
    out, err, status = python("-m", "weft.cli", "replay", file)
    assert (status, err) == (0, "")
    assert f"{explanation.replay(file)}\n" == out
    assert (
        "stops at log: it made a NaN\n  operation: log in the forward pass of test_replay.py:"
        in out
    )


CRASH = """
import os, signal
from weft.extend import Primitive
crash = Primitive("crash_of_the_test")
crash.type(lambda x: x)
@crash.evaluate
def _(x):
    {}
    return x
crash.lower(lambda block, x, out: x)
"""


def test_the_command_survives_a_signal(tmp_path, folder):
    """An operation that ends the process, here of a module that Python loads at its start."""
    (tmp_path / "crashing.py").write_text(CRASH.format("pass"))
    sys.path.insert(0, str(tmp_path))
    try:
        import crashing
    finally:
        sys.path.remove(str(tmp_path))

    def f(x):
        y = lax.scan(lambda c, x: (crashing.crash(c) + x, None), 0.0, x)[0]
        return crashing.crash(y)  # a compiled loop does not evaluate it

    xs = np.arange(3.0)
    path = failed_calls.written(jit(f).trace(xs).jaxpr, [xs])
    out, _, status = python("-m", "weft.cli", "replay", path)
    assert status == 0
    assert "the file does not contain crash_of_the_test, of the module crashing" in out
    body = "os.kill(os.getpid(), signal.SIGSEGV)"
    (tmp_path / "crashing.py").write_text(CRASH.format(body))
    (tmp_path / "sitecustomize.py").write_text("import crashing")
    out, err, status = python("-m", "weft.cli", "replay", path, PYTHONPATH=str(tmp_path))
    assert (err, status) == ("", 0)
    assert out.startswith(
        "stops at: SIGSEGV ended the process in\n  operation: crash_of_the_test in"
    )
    assert "  inside: step 0 of scan\n" in out
    assert "  input 0: float32[]" in out


def test_the_command_refuses_other_files(tmp_path):
    out, err, status = python("-m", "weft.cli", "replay", SCRIPT)
    assert (out, status) == ("", 1)
    assert err.startswith(
        f"weft replay: replay: {SCRIPT} is damaged, or not a file of a failed call"
    )
    out, err, status = python("-m", "weft.cli", "replay", tmp_path / "missing")
    assert (out, status) == ("", 2)
    assert err == f"weft replay: there is no file {tmp_path / 'missing'}\n  fix: weft replay FILE\n"
