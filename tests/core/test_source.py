"""The user's line: the innermost one outside weft and NumPy."""

import functools

import pytest

from weft.core.source import function_line, located, note_user_line, user_line


def test_user_line():
    assert user_line().startswith("test_source.py:")
    assert user_line().endswith(", in test_user_line")


def test_a_note_is_added_once():
    error = ValueError("x")
    note_user_line(error)
    note_user_line(error)
    assert len(error.__notes__) == 1
    assert "in test_a_note_is_added_once" in error.__notes__[0]


def test_the_line_that_raised_comes_before_the_line_that_called():
    def inner():
        raise ValueError("x")

    with pytest.raises(ValueError, match="x") as caught:
        located(inner)()
    assert caught.value.__notes__[0].endswith(", in inner")


def test_other_errors_are_left_alone():
    def inner():
        raise KeyError("x")

    with pytest.raises(KeyError) as caught:
        located(inner)()
    assert not hasattr(caught.value, "__notes__")


def test_function_line():
    def f(x):
        return x

    here = f"({__file__.rsplit('/', 1)[-1]}:{f.__code__.co_firstlineno})"
    assert function_line(f) == f"f {here}"
    assert function_line(functools.partial(f, 1)) == f"f {here}"

    @functools.wraps(f)
    def wrapper(x):
        return f(x)

    assert function_line(wrapper) == f"f {here}"

    class Callable:
        def __call__(self, x):
            return x

    assert function_line(Callable()) == "Callable"
    assert function_line(len) == "len"
