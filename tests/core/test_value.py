"""Arrays and tracers have the same operators and methods."""

import weakref

import numpy as np
import pytest

import weft
from weft.core.array import Array, Tracer
from weft.core.value import Value


def subclasses(cls):
    for c in cls.__subclasses__():
        yield c
        yield from subclasses(c)


@pytest.mark.parametrize("transform", [weft.jit, weft.grad, weft.vmap])
def test_weak_references_and_device_get_of_traced_values(transform):
    def f(x):
        assert weakref.ref(x)() is x
        assert weft.device_get({"x": x})["x"] is x
        return x

    x = np.ones(2, "f") if transform is weft.vmap else 1.0
    assert np.all(np.asarray(transform(f)(x)) == 1)


@pytest.mark.parametrize("cls", [Array, *subclasses(Tracer)], ids=lambda c: c.__name__)
def test_what_a_value_keeps_hides_no_method(cls):
    """`tracer.var` once was a variable of a jaxpr, and `x.var()` failed under jit."""
    slots = {s for c in cls.__mro__ for s in getattr(c, "__slots__", ())}
    methods = {name for name in vars(Value) if not name.startswith("__")}
    assert not (slots - {"aval", "type"}) & methods


X = np.array([[0.5, -1.25, 2.0], [3.0, 0.125, -0.75]], np.float32)
METHODS = {
    "sum": ("sum", (), {}),
    "mean": ("mean", (0,), {}),
    "var": ("var", (), {"axis": 1}),
    "std": ("std", (), {}),
    "max": ("max", (1,), {}),
    "min": ("min", (), {}),
    "prod": ("prod", (0,), {}),
    "cumsum": ("cumsum", (1,), {}),
    "trace": ("trace", (), {}),
    "argmax": ("argmax", (1,), {}),
    "argmin": ("argmin", (), {}),
    "argsort": ("argsort", (1,), {}),
    "reshape": ("reshape", (3, 2), {}),
    "ravel": ("ravel", (), {}),
    "transpose": ("transpose", (), {}),
    "swapaxes": ("swapaxes", (0, 1), {}),
    "round": ("round", (1,), {}),
    "dot": ("dot", (X.T,), {}),
    "diagonal": ("diagonal", (), {}),
    "astype": ("astype", ("int32",), {}),
    "clip": ("clip", (0, 1), {}),
    "repeat": ("repeat", (2, 0), {}),
    "flatten": ("flatten", (), {}),
    "squeeze": ("squeeze", (), {}),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys_outside_and_inside_transformations(name):
    method, args, kwargs = METHODS[name]
    f = lambda x: getattr(x, method)(*args, **kwargs)  # noqa: E731
    expected = f(X)
    for g in (
        f,
        weft.jit(f),
        lambda x: weft.vmap(f)(x[None])[0],
        lambda x: weft.jvp(f, (x,), (x,))[0],
    ):
        got = g(weft.device_put(X))
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)
        assert got.shape == expected.shape


OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: abs(x) ** y,
    "@": lambda x, y: x @ (y * np.ones((3, 2), np.float32)),
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "neg": lambda x, y: -x,
    "pos": lambda x, y: +x,
    "abs": lambda x, y: abs(x),
    "r+": lambda x, y: y + x,
    "r-": lambda x, y: y - x,
    "r/": lambda x, y: y / x,
    "r**": lambda x, y: 1.5**x,
    "r%": lambda x, y: y % x,
    "r//": lambda x, y: y // x,
    "getitem": lambda x, y: x[1, ::2],
    "divmod": lambda x, y: divmod(x, y)[1],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_numpys_outside_and_inside_transformations(name):
    f = OPERATORS[name]
    expected = f(X, np.float32(0.75))
    for g in (f, weft.jit(f), lambda x, y: weft.vmap(f, (0, None))(x[None], y)[0]):
        for y in (0.75, np.float32(0.75)):
            got = g(weft.device_put(X), y)
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5)
            assert got.dtype == expected.dtype
