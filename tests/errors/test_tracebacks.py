"""Tracebacks: the user's frames in order, weft's folded away, the whole one at hand."""

import os
import subprocess
import sys
import traceback

import pytest

import weft
import weft.numpy as np
from weft import lax

WEFT = weft.__file__.removesuffix("__init__.py")


@pytest.fixture(params=["auto", "quiet_remove_frames"], autouse=True)
def filtering(request):
    with weft.config.temporarily(traceback_filtering=request.param):
        yield


def broken(x):
    return np.ones(2) * x[:3]


def outer(x):
    return inner(x) + 1.0


def inner(x):
    return broken(x)


def with_rule(f):
    g = weft.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return g


def raises_its_own(x):
    raise KeyError("mine")


def names(trace):
    """The functions in a traceback, in order, and whether frames of weft are among them."""
    frames = traceback.extract_tb(trace)
    return [f.name for f in frames], any(f.filename.startswith(WEFT) for f in frames)


x = np.ones(4)
TRANSFORMED = {
    "jit": lambda f: weft.jit(f)(x),
    "grad": lambda f: weft.grad(f)(x),
    "value_and_grad": lambda f: weft.value_and_grad(f)(x),
    "vmap": lambda f: weft.vmap(f)(x[None]),
    "jvp": lambda f: weft.jvp(f, (x,), (x,)),
    "vjp": lambda f: weft.vjp(f, x),
    "linearize": lambda f: weft.linearize(f, x),
    "jacfwd": lambda f: weft.jacfwd(f)(x),
    "jacrev": lambda f: weft.jacrev(f)(x),
    "hessian": lambda f: weft.hessian(f)(x),
    "checkpoint": lambda f: weft.checkpoint(f)(x),
    "make_jaxpr": lambda f: weft.make_jaxpr(f)(x),
    "eval_shape": lambda f: weft.eval_shape(f, x),
    "scan": lambda f: lax.scan(lambda c, y: (c, f(y)), 0.0, x[None]),
    "cond": lambda f: lax.cond(True, f, lambda y: y[0], x),
    "while_loop": lambda f: lax.while_loop(lambda y: y.sum() < 0, f, x),
    "custom_jvp": lambda f: with_rule(f)(x),
    "jit of grad of vmap": lambda f: weft.jit(weft.grad(lambda y: weft.vmap(f)(y).sum()))(x[None]),
    "lower": lambda f: weft.jit(f).lower(x),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("function", [outer, raises_its_own])
def test_only_the_users_frames_are_left(transform, function):
    with pytest.raises((TypeError, KeyError)) as caught:
        TRANSFORMED[transform](function)
    error = caught.value
    found, has_weft = names(error.__traceback__)
    path = ["outer", "inner", "broken"] if function is outer else ["raises_its_own"]
    assert found[-len(path) :] == path
    assert found[0] == "test_only_the_users_frames_are_left"
    assert not has_weft
    whole, has_weft = names(error.unfiltered_traceback)
    assert has_weft
    assert [f for f in whole if f in path] == path


def test_frames_of_the_user_between_stay_in_order():
    def a(x):
        return weft.vmap(b)(x[None]).sum()

    def b(x):
        return weft.jit(c)(x)

    def c(x):
        return lax.scan(d, 0.0, x)[0]

    def d(carry, y):
        return carry, broken(np.ones(4))

    with pytest.raises(TypeError) as caught:
        weft.grad(a)(x)
    found, has_weft = names(caught.value.__traceback__)
    assert [f for f in found if not f.startswith("<")][1:] == ["a", "b", "c", "d", "broken"]
    assert not has_weft


def test_off_keeps_all_frames():
    with weft.config.temporarily(traceback_filtering="off"):
        with pytest.raises(TypeError) as caught:
            weft.jit(outer)(x)
        assert names(caught.value.__traceback__)[1]
        assert not hasattr(caught.value, "unfiltered_traceback")


def test_remove_frames_says_so():
    with (
        weft.config.temporarily(traceback_filtering="remove_frames"),
        pytest.raises(TypeError) as caught,
    ):
        weft.jit(outer)(x)
    assert sum("traceback_filtering" in note for note in caught.value.__notes__) == 1
    assert not names(caught.value.__traceback__)[1]


def test_tracebackhide_keeps_frames_and_hides_them():
    with (
        weft.config.temporarily(traceback_filtering="tracebackhide"),
        pytest.raises(TypeError) as caught,
    ):
        weft.jit(outer)(x)
    frames = [f for f, _ in traceback.walk_tb(caught.value.__traceback__)]
    own = [f for f in frames if f.f_code.co_filename.startswith(WEFT)]
    assert own
    assert all(f.f_locals.get("__tracebackhide__") for f in own)
    assert [e.name for e in caught.traceback.filter(caught)][-3:] == ["outer", "inner", "broken"]


def test_an_error_that_is_caught_and_raised_again_keeps_its_frames():
    @weft.jit
    def f(x):
        try:
            return outer(x)
        except TypeError as error:
            raise ValueError("again") from error

    with pytest.raises(ValueError, match="again") as caught:
        f(x)
    assert names(caught.value.__traceback__)[0][-1] == "f"
    assert names(caught.value.__cause__.__traceback__)[0][:4] == ["f", "outer", "inner", "broken"]


PROGRAM = """
import weft, weft.numpy as np
def model(x):
    return np.ones(2) * x
def main():
    weft.jit(lambda x: model(x))(np.ones(3))
{setting}
{call}
"""


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("main()", "fix: axes are aligned from the right"),
        ("np.ones(2) * np.ones(3)", "fix: axes are aligned from the right"),
        ("np.sum(np.ones(3), 4)", "fix: an axis from -1 to 0"),
    ],
)
def test_an_uncaught_error_prints_the_users_lines(call, fix):
    text = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setting="", call=call)],
        env={**os.environ, "WEFT_TRACEBACK_FILTERING": "auto"},
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    assert WEFT not in text
    assert text.count('File "<string>"') == (4 if call == "main()" else 1)
    assert f"  {fix}" in text


def test_the_users_own_hook_is_left_alone():
    setting = "import sys\nsys.excepthook = lambda *a: print('own hook', a[0].__name__)"
    text = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setting=setting, call="main()")],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert text.strip() == "own hook ShapeError"
