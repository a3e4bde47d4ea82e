"""pure_callback: Python functions that compute something, called by compiled programs."""

import functools
import gc
import math
import operator
import subprocess
import sys
import weakref

import numpy
import pytest
from letting_go import those_left

import weft
import weft.numpy as np
from weft import lax

F32 = weft.ShapeDtypeStruct((), "float32")


def host_sin(x):
    return numpy.sin(x)


def sin(x, **options):
    """The sine, by NumPy, with a derivative stated: what the tests compare is np.sin."""

    @weft.custom_jvp
    def f(x):
        return weft.pure_callback(host_sin, weft.ShapeDtypeStruct(x.shape, x.dtype), x, **options)

    f.defjvps(lambda t, out, x: t * cos(x, **options))
    return f(np.asarray(x))


def cos(x, **options):
    shape = weft.ShapeDtypeStruct(np.shape(x), "float32")
    return weft.pure_callback(lambda x: numpy.cos(x), shape, x, **options)


def loss(sine):
    def f(x):
        y = sine(x)
        carry, ys = lax.scan(lambda c, s: (c + sine(s), c * s), y, np.arange(3.0))
        z = lax.cond(y > 0, lambda c: sine(c), lambda c: c * 2, carry)
        return z + np.sum(ys) * y + lax.fori_loop(0, 3, lambda i, c: sine(c), y)

    return f


TRANSFORMED = {
    "f": lambda f: f(0.7),
    "jit": lambda f: weft.jit(f)(0.7),
    "nested jit": lambda f: weft.jit(lambda x: weft.jit(f)(x) * 2)(0.7),
    "grad": lambda f: weft.grad(f)(0.7),
    "jit grad": lambda f: weft.jit(weft.grad(f))(0.7),
    "grad jit": lambda f: weft.grad(weft.jit(f))(0.7),
    "jvp": lambda f: weft.jvp(f, (0.7,), (1.0,)),
    "checkpoint": lambda f: weft.grad(weft.checkpoint(f))(0.7),
    "vmap": lambda f: weft.vmap(f)(np.array([0.7, -0.7])),
    "jit vmap": lambda f: weft.jit(weft.vmap(f))(np.array([0.7, -0.7])),
    "vmap grad": lambda f: weft.vmap(weft.grad(f))(np.array([0.7, -0.7])),
    "grad vmap": lambda f: weft.grad(lambda x: np.sum(weft.vmap(f)(x)))(np.array([0.7, -0.7])),
    "jacfwd": lambda f: weft.jacfwd(f)(0.7),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_a_function_of_numpys_serves_as_one_of_wefts(name, method):
    transformed = TRANSFORMED[name]
    got = transformed(loss(functools.partial(sin, vmap_method=method)))
    expected = transformed(loss(np.sin))
    for g, e in zip(
        weft.tree_util.tree_leaves(got), weft.tree_util.tree_leaves(expected), strict=True
    ):
        numpy.testing.assert_allclose(g, e, rtol=2e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize(
    ("options", "shapes", "calls"),
    [
        ({"vmap_method": "sequential"}, ((), (2,)), 3),
        ({"vmap_method": "sequential_unrolled"}, ((), (2,)), 3),
        ({"vectorized": False}, ((), (2,)), 3),
        ({"vmap_method": "expand_dims"}, ((3,), (1, 2)), 1),
        ({"vmap_method": "broadcast_all"}, ((3,), (3, 2)), 1),
        ({"vmap_method": "legacy_vectorized"}, ((3,), (2,)), 1),
        ({"vectorized": True}, ((3,), (2,)), 1),
    ],
)
def test_vmap_methods(wrap, options, shapes, calls):
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return (x[..., None] * y).sum(-1)

    f = weft.vmap(lambda x, y: weft.pure_callback(host, F32, x, y, **options), (0, None))
    x, y = np.arange(3.0), np.array([1.0, 10.0])
    numpy.testing.assert_array_equal(wrap(f)(x, y), [0, 11, 22])
    assert seen == [shapes] * calls


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_of_vmap(method):
    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0])

    def f(x, y):
        return weft.pure_callback(lambda x, y: x * y, F32, x, y, vmap_method=method)

    got = weft.jit(weft.vmap(weft.vmap(f, (0, None)), (0, 0)))(x, y)
    numpy.testing.assert_array_equal(got, numpy.asarray(x) * [[1], [10]])


def test_vmap_over_nothing():
    f = weft.vmap(lambda x: weft.pure_callback(host_sin, F32, x, vmap_method="sequential"))
    assert f(np.zeros(0)).shape == (0,)
    assert weft.jit(f)(np.zeros(0)).shape == (0,)


def test_arguments_and_results_are_trees():
    def host(a, *, b):
        return {"sum": a[0] + b["x"], "parts": [a[1], 2]}

    def f(x):
        shapes = {"sum": x, "parts": [F32, weft.ShapeDtypeStruct((), "int32")]}
        return weft.pure_callback(host, shapes, (x, 3.5), b={"x": x * 10})

    for g in (f, weft.jit(f)):
        got = g(np.arange(2.0))
        numpy.testing.assert_array_equal(got["sum"], [0, 11])
        assert got["parts"] == [3.5, 2]
        assert all(isinstance(x, weft.Array) for x in weft.tree_util.tree_leaves(got))


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_the_callback_gets_arrays_and_may_give_what_becomes_one(wrap):
    kinds = []

    def host(x):
        kinds.append((isinstance(x, weft.core.Tracer), x.dtype, x.aval.weak_type))
        return math.sin(x)  # a Python float

    assert wrap(lambda x: weft.pure_callback(host, F32, x))(0.5) == numpy.float32(math.sin(0.5))
    assert kinds == [(False, numpy.dtype("float32"), False)]
    double = wrap(lambda x: weft.pure_callback(lambda x: numpy.float64(2), F32, x))
    assert double(0.5).dtype == "float32"  # as any float64 that comes in
    inside = wrap(lambda x: weft.pure_callback(lambda x: np.sin(x) * 2, F32, x))  # weft's own
    numpy.testing.assert_allclose(inside(0.5), 2 * math.sin(0.5), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
def test_dtypes(dtype):
    x = np.array([0, 1, 1], dtype)
    f = weft.jit(lambda x: weft.pure_callback(lambda x: numpy.asarray(x)[::-1], x, x))
    assert f(x).dtype == x.dtype
    numpy.testing.assert_array_equal(numpy.asarray(f(x)).astype("complex64"), [1, 1, 0])


def test_float64():
    with weft.enable_x64():
        x = np.array([1.0, 2.0])
        got = weft.jit(lambda x: weft.pure_callback(lambda x: x / 3, x, x))(x)
        assert got.dtype == "float64"
        numpy.testing.assert_array_equal(got, [1 / 3, 2 / 3])


def test_what_nothing_needs_is_not_called():
    seen = []

    @weft.jit
    def f(x):
        weft.pure_callback(lambda x: seen.append(1) or x, F32, x)
        return x

    f(1.0)
    assert seen == []


def test_equal_calls_are_one_program():
    jaxpr = weft.make_jaxpr(lambda x: [weft.pure_callback(host_sin, F32, x) for _ in range(2)])(1.0)
    a, b = (e.params for e in jaxpr.equations)
    assert a == b
    assert hash(a) == hash(b)
    traced = []

    def body(c, x):
        traced.append(1)
        return c + weft.pure_callback(host_sin, F32, x), None

    from weft.compiler import compiled

    made = []
    original = compiled.compile_program

    def counting(program, *args):
        made.append(program.name)
        return original(program, *args)

    compiled.compile_program = counting
    try:
        for _ in range(3):  # un-jitted: traced each time, and found to be the same
            lax.scan(body, 0.0, np.arange(3.0))
    finally:
        compiled.compile_program = original
    assert len(made) == 1


def test_the_jaxpr_names_the_function():
    text = str(weft.make_jaxpr(lambda x: weft.pure_callback(host_sin, F32, x))(1.0))
    assert "b:f32[] = pure_callback[function=host_sin] a" in text


def test_callbacks_are_let_go_with_the_function():
    class Table:
        def __call__(self, x):
            return x

    tables = [Table() for _ in range(5)]
    seen = [weakref.ref(t) for t in tables]
    for t in tables:
        weft.jit(lambda x, t=t: weft.pure_callback(t, F32, x) + 1)(1.0)
        weft.vmap(lambda x, t=t: weft.pure_callback(t, F32, x, vmap_method="sequential"))(
            np.ones(2)
        )
        weft.pure_callback(t, F32, 1.0)
    del t
    tables.clear()
    gc.collect()
    assert those_left(seen) == []


def test_an_exception_comes_out_at_the_call():
    def unlucky(x):
        raise LookupError("no such thing")

    f = weft.jit(lambda x: weft.pure_callback(unlucky, F32, x))
    for g in (
        f,
        lambda x: f(x) + 1,
        weft.vmap(lambda x: weft.pure_callback(unlucky, F32, x, vectorized=True)),
    ):
        with pytest.raises(LookupError, match="no such thing") as info:
            g(np.ones(2) if g is not f else 1.0)
        assert info.traceback[-1].name == "unlucky"


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize(
    ("host", "message"),
    [
        (lambda x: numpy.zeros(2, "f4"), r"expected float32\[\] as result 0 .* got float32\[2\]"),
        (lambda x: numpy.int32(1), r"expected float32\[\] .* got int32\[\]"),
        (lambda x: 1j, r"got complex64\[\]"),
        (lambda x: (x, x), r"the given structure, \*; it returned \(\*, \*\)"),
        (lambda x: None, "the given structure, .*; it returned None"),
        (lambda x: "text", r"expected float32\[\] as result 0 of the callback; got a str, 'text'"),
    ],
)
def test_what_was_announced_has_to_come(wrap, host, message):
    with pytest.raises(TypeError, match=message) as info:
        wrap(lambda x: weft.pure_callback(host, F32, x))(1.0)
    assert any("test_callbacks.py" in note for note in info.value.__notes__)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: weft.pure_callback(3, F32, 1.0), TypeError, "expected a function; got int 3"),
        (lambda: weft.pure_callback(abs, 3, 1.0), TypeError, "a shape and a dtype .* got int 3"),
        (lambda: weft.pure_callback(abs, F32, "a"), TypeError, "argument .* of abs .* str 'a'"),
        (
            lambda: weft.pure_callback(abs, F32, 1.0, sharding=1),
            ValueError,
            "sharding must be None",
        ),
        (
            lambda: weft.pure_callback(abs, F32, 1.0, vmap_method="x"),
            ValueError,
            "one of 'seq.*'x'",
        ),
        (
            lambda: weft.pure_callback(abs, F32, 1.0, vmap_method="sequential", vectorized=True),
            ValueError,
            "both vmap_method and vectorized",
        ),
        (
            lambda: weft.vmap(lambda x: weft.pure_callback(abs, F32, x))(np.ones(2)),
            weft.errors.MissingRuleError,
            "(?s)abs is under vmap.*vmap_method='sequential'.*'expand_dims'.*'broadcast_all'",
        ),
        (
            lambda: weft.grad(lambda x: weft.pure_callback(host_sin, F32, x))(1.0),
            weft.errors.MissingRuleError,
            "(?s)host_sin: .* can't be differentiated.*custom_jvp or custom_vjp.*stop_gradient",
        ),
        (
            lambda: weft.jit(weft.jacfwd(lambda x: weft.pure_callback(host_sin, F32, x)))(1.0),
            weft.errors.MissingRuleError,
            "host_sin: .* can't be differentiated",
        ),
        (
            lambda: lax.reduce(np.ones(3), 0.0, lambda a, b: a * b + sin(a), (0,)),
            TypeError,
            "reduce: the computation calls Python",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_derivative_that_is_zero_is_no_error():
    def f(x):
        step = weft.pure_callback(lambda x: numpy.int32(x), weft.ShapeDtypeStruct((), "int32"), x)
        fixed = weft.pure_callback(host_sin, F32, lax.stop_gradient(x))
        return x * step * fixed

    for g in (weft.grad(f), weft.jit(weft.grad(f))):
        numpy.testing.assert_allclose(g(2.5), 2 * math.sin(2.5), rtol=1e-6)


def test_a_callback_may_compute_with_weft_and_call_back():
    inner = weft.jit(lambda x: np.sum(np.dot(x, x)) + weft.pure_callback(host_sin, F32, x[0, 0]))

    def host(x):
        return float(inner(x)) + float(weft.grad(lambda y: y * y)(3.0))

    f = weft.jit(lambda x: weft.pure_callback(host, F32, np.dot(x, x)))
    x = np.full((200, 200), 0.01)
    y = numpy.full((200, 200), 0.02)
    numpy.testing.assert_allclose(f(x), (y @ y).sum() + math.sin(0.02) + 6, rtol=1e-5)
    # and under transformations that are going on outside
    g = weft.grad(lambda a: a * weft.pure_callback(host, F32, np.dot(x, x)))
    numpy.testing.assert_allclose(g(1.0), f(x), rtol=1e-6)


def test_ahead_of_time():
    lowered = weft.jit(lambda x: weft.pure_callback(host_sin, F32, x)).lower(1.0)
    assert "custom_call" in lowered.as_text()
    for compiled in (lowered.compile(), lowered.compile({"xla_backend_optimization_level": 0})):
        numpy.testing.assert_allclose(compiled(1.0), math.sin(1.0), rtol=1e-6)


def test_another_process_calls_its_own_function(tmp_path):
    program = (
        "import sys, weft, weft.numpy as np\n"
        "from weft.compiler import disk_cache\n"
        "a, b = (lambda x: x + 1), (lambda x: x * 10)\n"
        "if sys.argv[1] == 'second': a, b = b, a\n"
        "f = weft.jit(lambda x: weft.pure_callback(a, x, x) - weft.pure_callback(b, x, x))\n"
        "print(f(np.ones(3)).tolist(), disk_cache.info()['hits'])\n"
    )
    said = []
    for which in ("first", "second"):
        done = subprocess.run(
            [sys.executable, "-c", program, which],
            capture_output=True,
            text=True,
            timeout=120,
            env={**__import__("os").environ, "WEFT_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == "[-8.0, -8.0, -8.0] 0\n"
    assert said[1].startswith("[8.0, 8.0, 8.0]")
    assert int(said[1].split()[-1]) > 0  # the program was found, and called its own functions


def test_operator_functions_will_do():
    f = weft.jit(lambda x, y: weft.pure_callback(operator.add, x, x, y))
    numpy.testing.assert_array_equal(f(np.arange(3.0), np.ones(3)), [1, 2, 3])
