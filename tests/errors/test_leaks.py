"""check_tracer_leaks: what leaks is named, with where it was made and what keeps it; what doesn't
is left alone."""

import gc
import importlib
import sys

import pytest

import weft
import weft.numpy as np
from weft import lax

X = np.ones(3)


@pytest.fixture(scope="module", autouse=True)
def leaky():
    """The leaky functions. A search goes through all objects but frozen ones: earlier ones are
    frozen here, and the functions, with what keeps the leaks, are newer."""
    gc.collect()
    gc.freeze()
    sys.modules.pop("leaky_functions", None)
    return importlib.import_module("leaky_functions")


LEAKS = [
    ("into_a_list", "mul", "[0] of a list: the global 'seen' of module"),
    ("into_a_global_dict", "add", "[0] of a tuple: ['x'] of a dict: the global 'table' of module"),
    ("into_an_attribute", "sin", "the attribute 'weights' of a Model"),
    ("counter", "mul", "the variable 'last' that f (leaky_functions.py:"),
    ("generator", "mul", "the local variable 'y' of each"),
]
TRANSFORMS = {
    "jit": lambda f: weft.jit(f)(X),
    "grad": lambda f: weft.grad(f)(X),
    "vmap": lambda f: weft.vmap(f)(X[None]),
    "jvp": lambda f: weft.jvp(f, (X,), (X,)),
    "vjp": lambda f: weft.vjp(f, X),
    "linearize": lambda f: weft.linearize(f, X),
    "make_jaxpr": lambda f: weft.make_jaxpr(f)(X),
    "scan": lambda f: lax.scan(lambda c, x: (c, f(x)), 0.0, X[None]),
    "cond": lambda f: lax.cond(True, f, lambda x: x[0], X),
}


@pytest.fixture(autouse=True)
def tidy(leaky):
    yield
    leaky.seen.clear()
    leaky.table.clear()
    leaky.into_an_attribute.__defaults__[0].weights = None


@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("name", "made_by", "kept_by"), LEAKS)
def test_a_leak_is_named(leaky, name, made_by, kept_by, transform):
    function = getattr(leaky, name)
    function = function() if name == "counter" else function
    with (
        weft.check_tracer_leaks(True),
        pytest.raises(weft.errors.UnexpectedTracerError) as caught,
    ):
        TRANSFORMS[transform](function)
    text = str(caught.value)
    assert text.startswith(f"{transform}: a traced value is kept when the trace of ")
    assert f"made by {made_by} at leaky_functions.py:" in text
    assert f"kept by {kept_by}" in text
    assert "list_iterator" not in text
    assert "fix: return the value" in text


def test_several_are_counted(leaky):
    def f(x):
        leaky.seen.extend(x * i for i in range(8))
        return x

    with weft.checking_leaks(), pytest.raises(weft.errors.UnexpectedTracerError) as caught:
        weft.jit(f)(1.0)
    assert "8 traced values are kept" in str(caught.value)
    assert "and 3 more" in str(caught.value)


def test_an_argument_is_named(leaky):
    with weft.checking_leaks(), pytest.raises(weft.errors.UnexpectedTracerError) as caught:
        weft.jit(lambda params: leaky.seen.append(params["w"]) or params["w"])({"w": 1.0})
    assert "made as the argument params['w']" in str(caught.value)


# --- ordinary programs ---


def caught_inside(x):
    try:
        return x["no such key"]
    except (TypeError, IndexError, KeyError):
        return np.sum(x * 2.0)


def inner_functions(x):
    scale = x[0] * 2.0
    layers = [lambda y, i=i: np.sin(y * scale) + i for i in range(3)]
    for layer in layers:
        x = weft.jit(layer)(x)
    return np.sum(x)


def object_with_state(x):
    model = sys.modules["leaky_functions"].Model()
    return model(x) + np.sum(model.weights)


def loops(x):
    _, ys = lax.scan(lambda c, y: (c * x[0], np.sin(y) * c), 1.0, x)
    z = lax.while_loop(lambda z: z < 3, lambda z: z + 1, 0)
    return lax.fori_loop(0, 3, lambda i, v: v * x[1] + i, np.sum(ys) + z)


def custom(x):
    @weft.custom_jvp
    def f(y):
        return np.sin(y)

    f.defjvp(lambda p, t: (f(*p), np.cos(p[0]) * t[0]))

    @weft.custom_vjp
    def g(y, z):
        return y * z

    g.defvjp(lambda y, z: (y * z, (y, z)), lambda r, ct: (ct * r[1], ct * r[0]))
    return np.sum(f(g(x, x)))


def derivatives_inside(x):
    value, pull = weft.vjp(lambda y: np.sin(y) * x, x)
    _, tangent = weft.jvp(lambda y: y * x, (x,), (value,))
    return np.sum(pull(tangent)[0]) + weft.grad(lambda y: np.sum(y**3))(x)[0]


def checkpointed(x):
    block = weft.checkpoint(lambda y: np.sin(np.sin(y)) * x)
    return np.sum(block(block(x)))


def branches(x):
    return lax.cond(x[0] > 0, lambda y: np.sum(y * x), lambda y: np.sum(y), x)


ORDINARY = [caught_inside, inner_functions, object_with_state, loops, custom]
ORDINARY += [derivatives_inside, checkpointed, branches]
NESTS = {
    "jit": weft.jit,
    "grad": weft.grad,
    "vmap": lambda f: lambda x: weft.vmap(f)(np.stack([x, x])),
    "jit of grad": lambda f: weft.jit(weft.grad(f)),
    "grad of jit": lambda f: weft.grad(weft.jit(f)),
    "jit of vmap of grad": lambda f: lambda x: weft.jit(weft.vmap(weft.grad(f)))(x[None]),
    "aux": lambda f: weft.grad(lambda x: (f(x), {"aux": x * 2.0, "name": "text"}), has_aux=True),
    "scan": lambda f: lambda x: lax.scan(lambda c, y: (c, f(y)), 0.0, np.stack([x, x])),
}


@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("function", ORDINARY)
def test_ordinary_programs_have_none(function, nest):
    with weft.check_tracer_leaks(True):
        NESTS[nest](function)(X)


def test_after_an_error_nothing_is_left():
    @weft.jit
    def f(x):
        y = np.sin(x)
        raise ZeroDivisionError(f"{y.shape}")

    g = weft.jit(lambda x: np.cos(x))
    with weft.check_tracer_leaks(True):
        for _ in range(2):
            try:
                f(1.0)
            except ZeroDivisionError:
                assert float(g(0.0)) == 1.0  # while the error, and its frames, are alive


def with_forward_rule(x):
    @weft.custom_jvp
    def f(y):
        return y * 2.0

    f.defjvp(lambda p, t: (f(*p), t[0] * (2.0 + x)))
    return lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]


def with_backward_rule(x):
    @weft.custom_vjp
    def f(y):
        return y * 2.0

    f.defvjp(lambda y: (f(y), None), lambda _, ct: (ct * (2.0 + x),))
    return f(x * 1.0)


@pytest.mark.parametrize("transform", [weft.jit, weft.make_jaxpr], ids=["jit", "make_jaxpr"])
@pytest.mark.parametrize("function", [with_forward_rule, with_backward_rule])
def test_what_a_derivative_rule_in_a_program_closes_over_is_no_leak(function, transform):
    """It is kept with the program; a use of it is refused when it comes."""
    with weft.check_tracer_leaks(True):
        transform(function)(1.0)


# --- a leaked tracer as an argument ---


def leaked_by(transform):
    leak = []
    transform(lambda x: leak.append(x) or x)(weft.numpy.ones(()))
    return leak[0]


LEAKS = {
    "jit": weft.jit,
    "grad": weft.grad,
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x,)),
    "vmap": lambda f: lambda x: weft.vmap(f)(x[None]),
    "scan": lambda f: lambda x: weft.lax.scan(lambda c, _: (f(c), None), x, None, length=1),
    "checkpoint": lambda f: weft.grad(weft.checkpoint(f)),
}
tripled = weft.custom_jvp(lambda x: x)
tripled.defjvp(lambda p, t: (p[0], 3 * t[0]))
one = lambda x: x * 1.0  # noqa: E731
USES = {
    "jit": weft.jit(one),
    "jit that ran": weft.jit(lambda x: x),
    "jit of a tree": lambda x: weft.jit(lambda t: t["x"])({"x": x}),
    "grad": weft.grad(one),
    "value_and_grad": weft.value_and_grad(one),
    "jacrev": weft.jacrev(one),
    "jacfwd": weft.jacfwd(one),
    "vmap": weft.vmap(one, in_axes=None, axis_size=1),
    "pmap": weft.pmap(lambda y, x: x, in_axes=(0, None)),
    "jvp": lambda x: weft.jvp(one, (x,), (1.0,)),
    "vjp": lambda x: weft.vjp(one, x),
    "linearize": lambda x: weft.linearize(one, x),
    "checkpoint": weft.checkpoint(one),
    "custom_jvp": tripled,
    "scan": lambda x: weft.lax.scan(lambda c, _: (c, None), x, None, length=1),
    "while_loop": lambda x: weft.lax.while_loop(lambda x: False, lambda x: x, x),
    "fori_loop": lambda x: weft.lax.fori_loop(0, 2, lambda i, x: x, x),
    "cond": lambda x: weft.lax.cond(True, lambda x: x, lambda x: x, x),
    "switch": lambda x: weft.lax.switch(1, [lambda x: x, lambda x: x], x),
    "map": lambda x: weft.lax.map(lambda x: x, x),
}


@pytest.mark.parametrize("made", LEAKS)
def test_a_leaked_tracer_is_refused_by_every_transformed_function(made):
    leak = leaked_by(LEAKS[made])
    for name, use in USES.items():
        for _ in range(2):
            with pytest.raises(
                weft.errors.UnexpectedTracerError, match="after that trace has ended"
            ):
                use(np.ones(1, "f"), leak) if name == "pmap" else use(leak)
