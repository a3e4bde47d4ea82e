"""The user's line: the innermost one outside weft and NumPy."""

import functools
import unittest.mock

import pytest

import weft
from weft.core.source import function_line, located, unwrapped
from weft.user_lines import note_user_line, user_line


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


class Echo:
    """An object that has every attribute, each of them itself."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args):
        return args[0]


@pytest.mark.parametrize("function", [unittest.mock.Mock(return_value=1.0), Echo()])
@pytest.mark.parametrize(
    "transform",
    [
        weft.jit,
        weft.grad,
        lambda f: weft.vmap(f, axis_size=2, in_axes=None),
        weft.checkpoint,
        weft.custom_jvp,
        weft.custom_vjp,
        weft.make_jaxpr,
        weft.named_call,
        lambda f: lambda x: weft.lax.cond(True, f, f, x),
        lambda f: lambda x: weft.lax.while_loop(lambda x: False, f, x),
    ],
)
def test_attributes_of_any_object_are_not_taken_for_what_it_wraps(transform, function):
    wrapped = transform(function)
    if isinstance(wrapped, weft.custom_jvp):
        wrapped.defjvp(lambda p, t: (p[0], t[0]))
    elif isinstance(wrapped, weft.custom_vjp):
        wrapped.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    wrapped(1.0)  # it ended: there is nothing to find in these objects
    assert function_line(function) in ("Echo", "Mock")


def test_wrappers_are_known_by_their_class():
    def f(x):
        return x

    class Object:
        method = f

    for wrapper in (
        functools.partial(functools.partial(f, 1)),
        functools.lru_cache(f),
        Object().method,
        functools.partialmethod(f).__get__(Object()),
        weft.jit(f),
        weft.custom_jvp(f),
        weft.tree_util.Partial(functools.partial(f)),
    ):
        assert unwrapped(wrapper) is f


def test_builtin_functions_have_their_name():
    assert function_line(len) == "len"
    assert function_line(weft.numpy.sin) == "sin"


def test_a_callable_object_may_have_anything_as_its_name():
    class Layer:
        __name__ = property(lambda self: "layer")  # of the class: not a string
        __annotations__ = property(lambda self: None)

        def __call__(self, x):
            return 2 * x

    assert weft.vmap(Layer)  # the class itself
    for transform in (weft.jit, weft.vmap, weft.grad):
        assert transform(Layer())
    layer = Layer()
    layer.__class__ = type("Named", (Layer,), {"__name__": 3})
    assert weft.vmap(layer)(weft.numpy.ones(2)).tolist() == [2, 2]
