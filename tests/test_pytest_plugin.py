"""The plug-in for pytest: its fixtures and the derivative rules that it checks, in pytest runs of
their own."""

import os
import re
import subprocess
import sys

import pytest

PLUGINS = ("-p", "weft.pytest_plugin", "-p", "no:cacheprovider")

HEAD = """
import weft, weft.numpy as np
from weft import jit

@jit
def step(w, x):
    return w - 0.1 * x

def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)

W, X = np.ones((10, 3)), np.ones((5, 10))
"""

GOOD = """
def test_traces(max_traces):
    with max_traces(2, step):
        step(np.ones(3), 1.0)
        step(np.ones(4), 1.0)
        step(np.ones(4), 2.0)

def test_traces_of_all(max_traces):
    with max_traces(1):
        step(np.ones(5), 1.0)
        jit(loss)(W, X)

def test_traces_of_another(max_traces):
    with max_traces(0, loss):
        step(np.ones(6), 1.0)

def test_equations(max_equations):
    max_equations(4, loss, W, X)
    max_equations(4, jit(loss), W, X)

def test_bytes(max_bytes):
    max_bytes(4 * (30 + 50 + 15 + 15 + 1) + 64, loss, W, X)

def test_program(same_program_as):
    same_program_as("programs/loss.txt", loss, W, X)

def test_the_switch_is_on():
    assert weft.config.check_derivatives
"""

BAD = """
def test_traces(max_traces):
    with max_traces(1, step):
        step(np.ones(3), 1.0)
        step(np.ones(4), 1.0)

def test_traces_of_a_new_function(max_traces):
    with max_traces(1):
        for rate in (0.1, 0.2):
            jit(lambda x: x * rate)(1.0)

def test_traces_in_traces(max_traces):
    with max_traces(1), max_traces(1):
        pass

def test_an_error_in_the_block(max_traces):
    with max_traces(1):
        raise KeyError("the user's")

def test_equations(max_equations):
    max_equations(3, loss, W, X)

def test_bytes(max_bytes):
    max_bytes(300, loss, W, X)

def test_program(same_program_as):
    same_program_as("programs/loss.txt", lambda w, x: np.sum(np.tanh(x @ w)), W, X)

def test_no_program(same_program_as):
    same_program_as("programs/missing.txt", loss, W, X)

def test_no_text_of_a_program(same_program_as):
    same_program_as("test_it.py", loss, W, X)

def test_a_rule():
    f = weft.custom_jvp(lambda x: np.cos(x))
    f.defjvps(lambda t, out, x: t * np.sin(x))
    weft.grad(f)(1.0)
"""


def run(folder, text, *options, ci=True):
    """The exit status and the output of a run of pytest."""
    (folder / "test_it.py").write_text(HEAD + text)
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "PYTEST_ADDOPTS")}
    if ci:
        environment["CI"] = "true"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGINS, "-q", "-rA", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with a stored program, and the output of the run that stored it."""
    folder = tmp_path_factory.mktemp("good")
    return folder, *run(folder, GOOD, "--update-programs")


@pytest.fixture(scope="module")
def failures(good):
    """The messages of the failing tests, by name."""
    folder = good[0]
    _, output = run(folder, BAD)
    parts = re.split(r"^_+ (test_\w+) _+$", output.partition("short test summary")[0], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True)), output


def test_what_holds_passes(good):
    _, status, output = good
    assert status == 0, output
    assert "7 passed" in output


def test_a_program_is_stored_as_text(good):
    text = (good[0] / "programs" / "loss.txt").read_text()
    assert text == (
        "# The program of loss, for the types of its inputs. Written by pytest --update-programs.\n"
        "%0:f32[10,3], %1:f32[5,10] = inputs()\n"
        "%2:f32[5,3] = dot_general(%1, %0) dims=(((1,), (0,)), ((), ()))\n"
        "%3:f32[5,3] = tanh(%2)\n"
        "%4:f32[5,3] = square(%3)\n"
        "%5:f32[] = reduce_sum(%4) axes=(0, 1)\n"
        "results(%5)\n"
    )


def test_a_stored_program_is_compared(good):
    status, output = run(good[0], GOOD)
    assert status == 0, output


def test_everything_else_fails(failures):
    messages, output = failures
    assert "10 failed" in output
    assert len(messages) == 10


FAILURES = {
    "test_traces": [
        "max_traces: step (test_it.py:5) was traced 2 times; expected at most once",
        "again (2nd time)",
        "argument w was float32[3], is float32[4] (shape)",
    ],
    "test_traces_of_a_new_function": [
        "max_traces: <lambda> (test_it.py:",
        "was traced 2 times; expected at most once",
        "was defined again",
    ],
    "test_traces_in_traces": ["max_traces: another max_traces, or weft.explain, is running"],
    "test_an_error_in_the_block": ['KeyError: "the user\'s"'],
    "test_equations": [
        "max_equations: loss (test_it.py:9) has 4 equations; expected at most 3",
        "1 dot_general, 1 tanh, 1 square, 1 reduce_sum",
    ],
    "test_bytes": [
        "max_bytes: loss (test_it.py:9) needs ",
        "bytes at the peak; expected at most 300 (300 bytes)",
        "f32[5,10]  x",
    ],
    "test_program": [
        "same_program_as: the program of <lambda> (test_it.py:",
        "- is the file's, + the function's",
        "- %4:f32[5,3] = square(%3)",
        "~ %4:f32[] = reduce_sum(%3) axes=(0, 1)    # test_it.py:",
        "fix: run pytest --update-programs if the change is intended",
    ],
    "test_no_program": ["missing.txt is missing", "fix: run pytest --update-programs, and commit"],
    "test_no_text_of_a_program": ["test_it.py: expected an equation in line 1; got ''"],
    "test_a_rule": ["DerivativeRuleError: custom_jvp: the rule <lambda>", "the sign is wrong"],
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_is_wrong(failures, name):
    message = failures[0][name]
    for text in FAILURES[name]:
        assert text in message


def test_the_ini_file_turns_off_the_comparison_and_a_missing_program_is_written(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nweft_check_derivatives = false\n")
    text = """
def test_program(same_program_as):
    same_program_as("loss.txt", loss, W, X)
    assert not weft.config.check_derivatives
"""
    status, output = run(tmp_path, text, ci=False)
    assert status == 0, output
    assert (tmp_path / "loss.txt").exists()
