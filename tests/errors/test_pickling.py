"""Errors come back from other processes with their message, their notes and the user's line."""

import copy
import functools
import inspect
import multiprocessing
import pickle
import subprocess
import sys
import traceback

import pytest

import weft
import weft.numpy as np
from weft import errors, lax
from weft.core.source import located
from weft.runtime import failures


@pytest.fixture(autouse=True)
def filtering():
    with weft.config.temporarily(traceback_filtering="auto"):
        yield


CLASSES = [
    cls
    for module in (errors, failures)
    for _, cls in inspect.getmembers(module, inspect.isclass)
    if issubclass(cls, Exception)
]

WAYS = {
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


class OfTheUser(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def raised(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def same(came, error):
    assert type(came) is type(error)
    assert str(came) == str(error)
    assert came.args == error.args
    assert getattr(came, "__notes__", []) == getattr(error, "__notes__", [])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_class(cls, way):
    @located
    def fails():
        raise cls("what went wrong")

    same(WAYS[way](raised(fails)), raised(fails))


def leaked():
    kept = []
    weft.jit(lambda x: kept.append(x) or x)(1.0)
    return kept[0] + 1.0


def nans():
    with weft.debug_nans(True):
        np.log(-np.ones(3))


RAISING = {
    "eager shapes": lambda: np.ones(3) + np.ones(4),
    "traced shapes": lambda: weft.jit(lambda x: x @ np.ones(4))(np.ones(3)),
    "an axis": lambda: np.sum(np.ones(3), 2),
    "an index": lambda: np.ones(3)[0, 0],
    "a condition": lambda: weft.jit(lambda x: 1 if x else 2)(1.0),
    "a leak": leaked,
    "a NaN": nans,
    "no rule": lambda: weft.grad(lambda x: lax.nextafter(x, 2.0))(1.0),
    "a tree": lambda: weft.tree_util.tree_map(lambda x, y: x, [1], [1, 2]),
    "of the user": lambda: weft.jit(lambda x: (_ for _ in ()).throw(OfTheUser(3)))(1.0),
    "of Python": lambda: weft.jit(lambda x: {}["k"])(1.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", RAISING)
def test_errors_of_programs(program, way):
    error = raised(RAISING[program])
    came = WAYS[way](error)
    same(came, error)
    assert getattr(came, "number", None) == getattr(error, "number", None)


def test_the_whole_traceback_is_a_traceback_here_and_nothing_elsewhere():
    error = raised(weft.jit(lambda x: x + np.ones(4)), np.ones(3))
    own = [f for f, _ in traceback.walk_tb(error.unfiltered_traceback)]
    assert any(f.f_code.co_filename.startswith(weft.__path__[0]) for f in own)
    assert pickle.loads(pickle.dumps(error)).unfiltered_traceback is None


def test_a_copy_that_is_raised_again_is_folded_again():
    error = raised(weft.jit(lambda x: x + np.ones(4)), np.ones(3))

    def again(x, error):
        raise error

    for way in WAYS.values():
        function = weft.jit(functools.partial(again, error=way(error)))
        assert raised(function, 1.0).unfiltered_traceback is not None


def in_a_worker(n):
    return np.ones(n) + np.ones(n + 1)


def test_a_pool_of_processes_tells_what_went_wrong():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        error = raised(pool.apply, in_a_worker, (3,))
    assert type(error) is errors.ShapeError
    assert "float32[3], float32[4]" in str(error)
    line = inspect.getsourcelines(in_a_worker)[1] + 1
    assert error.__notes__ == [f"  at test_pickling.py:{line}, in in_a_worker"]


FORKED = """
import multiprocessing, weft, weft.numpy as np
weft.jit(lambda x: x + 1)(1.0)
def work(n):
    return float(weft.jit(lambda x: x + n)(1.0))
with multiprocessing.get_context("fork").Pool(1) as pool:
    try:
        pool.apply(work, (2,))
    except RuntimeError as error:
        print(type(error).__name__, error)
"""


def test_a_forked_pool_tells_that_it_was_forked():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "forked" in done.stdout
    assert "fix: use multiprocessing.get_context('spawn')" in done.stdout
