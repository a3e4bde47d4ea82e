"""jit: which arguments are static, what may come in and go out, when a function is traced again."""

import collections
import dataclasses
import functools
import logging
import threading

import numpy as np
import pytest

import weft
from weft.core.array import Array
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function, self.calls = function, 0
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


# --- static arguments ---


def power(x, n, scale=1.0):
    for _ in range(n):
        x = x * scale
    return x


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": -2},
        {"static_argnames": "n"},
        {"static_argnames": ["n"]},
        {"static_argnums": 1, "static_argnames": "n"},
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_static_argument_by_position_or_name(options, by_name):
    f = weft.jit(power, **options)
    x = f32([1.0, 2.0])
    same(f(x, n=3, scale=2.0) if by_name else f(x, 3, 2.0), [8.0, 16.0])


def test_names_are_not_inferred_if_both_are_given():
    # only what is listed is static: JAX documentation, `jax.jit`
    f = weft.jit(power, static_argnums=1, static_argnames="scale")
    same(f(f32(1.0), 2, scale=3.0), 9.0)
    with pytest.raises(TypeError, match="index"):
        f(f32(1.0), n=2, scale=3.0)


def test_static_argument_is_what_python_sees_and_another_value_is_another_program():
    seen = []

    @functools.partial(weft.jit, static_argnums=1)
    def f(x, mode):
        seen.append(mode)
        return x + 1 if mode == "up" else x - 1

    for mode, expected in [("up", 2.0), ("down", 0.0), ("up", 2.0), ("down", 0.0)]:
        same(f(1.0, mode), expected)
    assert seen == ["up", "down"]


def test_equal_static_arguments_of_different_types_are_different():
    f = weft.jit(lambda x, n: x * (2 if isinstance(n, bool) else 3), static_argnums=1)
    same(f(1.0, True), 2.0)
    same(f(1.0, 1), 3.0)
    same(f(1.0, 1.0), 3.0)


def test_static_function_argument():
    f = weft.jit(lambda g, x: g(x), static_argnums=0)
    same(f(sin, 1.0), np.sin(1.0))
    same(f(cos, 1.0), np.cos(1.0))


def test_static_default_and_static_keyword_only():
    @functools.partial(weft.jit, static_argnames=("times", "sign"))
    def f(x, times=2, *, sign=1):
        for _ in range(times):
            x = x * 2
        return x * sign

    same(f(1.0), 4.0)
    same(f(1.0, 3), 8.0)
    same(f(1.0, times=1, sign=-1), -2.0)


def test_static_out_of_range_and_unknown_names():
    with pytest.raises(ValueError, match=r"static_argnums=3 is out of range.*power.*3 positional"):
        weft.jit(power, static_argnums=3)
    with pytest.raises(ValueError, match=r"static_argnames='m' is not a parameter.*n, scale, x"):
        weft.jit(power, static_argnames="m")
    with pytest.raises(TypeError, match="static_argnums"):
        weft.jit(power, static_argnums="n")
    weft.jit(lambda *args: args[0], static_argnums=5)  # can't be known before the call
    weft.jit(lambda **kw: kw["x"], static_argnames="anything")


def test_unhashable_static_argument_names_it():
    f = weft.jit(lambda x, shape: x, static_argnames="shape")
    with pytest.raises(
        ValueError, match=r"static argument 'shape' of <lambda>.*hashable; got list"
    ):
        f(1.0, shape=[2, 3])
    with pytest.raises(
        ValueError, match=r"static argument 'shape' of <lambda>.*hashable; got list"
    ):
        f(1.0, [2, 3])


def test_static_argument_with_variadic_function():
    f = weft.jit(lambda *args: args[0] * args[1], static_argnums=1)
    same(f(2.0, 3), 6.0)


# --- calling conventions ---


def test_keywords_defaults_and_positions_are_one_function():
    f = weft.jit(lambda x, y=2.0, *, z=3.0: x * y + z)
    same(f(1.0), 5.0)
    same(f(1.0, 4.0), 7.0)
    same(f(1.0, y=4.0, z=1.0), 5.0)
    same(f(z=1.0, y=4.0, x=2.0), 9.0)


def test_decorator_forms():
    @weft.jit
    def f(x):
        return x * 2

    @weft.jit()
    def g(x):
        return x * 2

    @weft.jit(static_argnums=1)
    def h(x, n):
        return x * n

    same(f(1.0), 2.0)
    same(g(1.0), 2.0)
    same(h(1.0, 2), 2.0)
    assert f.__name__ == "f"
    assert f.__wrapped__(3) == 6


class Scaler:
    def __init__(self, k):
        self.k = k

    @functools.partial(weft.jit, static_argnums=0)
    def scale(self, x):
        return x * self.k

    @weft.jit
    def with_self_as_tree(self, x):
        return x

    @staticmethod
    @weft.jit
    def double(x):
        return x * 2

    def __call__(self, x):
        return x * self.k


def test_methods_bound_methods_callables_and_partials():
    two, three = Scaler(2.0), Scaler(3.0)
    same(two.scale(1.0), 2.0)
    same(three.scale(1.0), 3.0)
    same(Scaler.double(4.0), 8.0)
    same(weft.jit(two.__call__)(1.0), 2.0)
    same(weft.jit(two)(5.0), 10.0)
    same(weft.jit(functools.partial(power, n=2))(f32(1.0), scale=3.0), 9.0)
    same(weft.jit(functools.partial(power, 2.0), static_argnums=0)(2), 2.0)
    with pytest.raises(TypeError, match=r"argument self of with_self_as_tree.*must be an array"):
        two.with_self_as_tree(1.0)


def test_missing_or_unknown_arguments_are_pythons_own_errors():
    f = weft.jit(lambda x, y: x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        f(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        f(1.0, 2.0, q=3.0)


def test_zero_arguments_and_empty_results():
    same(weft.jit(lambda: 3.0)(), 3.0)
    assert weft.jit(lambda: None)() is None
    assert weft.jit(lambda x: ())(1.0) == ()
    assert weft.jit(lambda x: {})(1.0) == {}


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="jit: expected a function; got int"):
        weft.jit(3)

    def generator(x):
        yield x

    async def coroutine(x):
        return x

    async def asynchronous_generator(x):
        yield x

    for f in (generator, coroutine, asynchronous_generator):
        with pytest.raises(TypeError, match=rf"jit: expected a function; got the .*{f.__name__}"):
            weft.jit(f)


# --- trees in and out ---

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Box:
    low: object
    high: object
    name: str = dataclasses.field(default="box", metadata={"static": True})


weft.tree_util.register_dataclass(Box, ["low", "high"], ["name"])


@pytest.mark.parametrize(
    "tree",
    [
        {"a": f32([1.0]), "b": {"c": f32(2.0)}},
        [f32(1.0), (f32(2.0), [f32(3.0)])],
        Point(f32(1.0), f32([2.0])),
        collections.OrderedDict([("z", f32(1.0)), ("a", f32(2.0))]),
        {"a": None, "b": f32(1.0)},
        (f32(1.0), None, ()),
    ],
    ids=["dict", "list", "namedtuple", "OrderedDict", "None", "empty"],
)
def test_trees_come_back_as_they_went_in(tree):
    f = weft.jit(lambda t: weft.tree_util.tree_map(lambda x: x * 2, t))
    for _ in range(3):  # the third call is the fast one
        got = f(tree)
    assert type(got) is type(tree)
    assert weft.tree_util.tree_structure(got) == weft.tree_util.tree_structure(tree)
    for a, b in zip(weft.tree_util.tree_leaves(got), weft.tree_util.tree_leaves(tree), strict=True):
        same(a, 2 * np.asarray(b))


def test_dataclasses_with_static_fields():
    f = Counted(lambda b: Box(b.low * 2, b.high + 1, b.name + "!"))
    g = weft.jit(f)
    got = g(Box(f32(1.0), f32(2.0)))
    same(got.low, 2.0)
    same(got.high, 3.0)
    assert got.name == "box!"
    g(Box(f32(3.0), f32(4.0)))
    assert f.calls == 1
    g(Box(f32(3.0), f32(4.0), "another"))
    assert f.calls == 2


def test_dict_order_does_not_matter():
    f = Counted(lambda d: d["a"] - d["b"])
    g = weft.jit(f)
    same(g({"a": 3.0, "b": 1.0}), 2.0)
    same(g({"b": 1.0, "a": 3.0}), 2.0)
    assert f.calls == 1


# --- outputs ---


def test_outputs_that_are_inputs_constants_and_scalars():
    constant = f32([7.0, 8.0])

    @weft.jit
    def f(x, y):
        return x, constant, 3, 2.5, True, x, x + y, None, np.arange(2)

    for _ in range(3):
        x, y = f32([1.0, 2.0]), f32([3.0, 4.0])
        a, b, c, d, e, g, h, i, j = f(x, y)
        same(a, [1, 2])
        same(b, [7, 8])
        assert (int(c), float(d), bool(e), i) == (3, 2.5, True, None)
        same(g, [1, 2])
        same(h, [4, 6])
        same(j, [0, 1])
        assert all(isinstance(v, weft.Array) for v in (a, b, c, d, e, g, h, j))


def test_an_output_that_is_an_input_is_not_the_callers_numpy_memory():
    x = np.ones(3, np.float32)
    y = weft.jit(lambda x: x)(x)
    z = weft.jit(lambda x: x + 0)(x)
    x[:] = 9
    same(y, [1, 1, 1])
    same(z, [1, 1, 1])


def test_numpy_arguments_may_change_after_the_call():
    x = np.ones(1000, np.float32)
    f = weft.jit(lambda x: x * 2)
    results = []
    for i in range(5):
        x[:] = i
        results.append(f(x))
    for i, y in enumerate(results):
        same(y, np.full(1000, 2.0 * i))


def test_same_value_twice_in_the_output():
    @weft.jit
    def f(x):
        y = x * 2
        return y, y, [y]

    for _ in range(3):
        a, b, (c,) = f(f32(2.0))
        same(a, 4.0)
        same(b, 4.0)
        same(c, 4.0)


def test_a_function_that_returns_no_array_is_refused():
    @weft.jit
    def f(x):
        return "text"

    with pytest.raises(TypeError, match=r"jit: f .*must return arrays.*leaf 0.*a str: 'text'"):
        f(1.0)


# --- types ---


def test_weak_types_go_in_and_out():
    f = weft.jit(lambda x: x * 2)
    assert f(1.0).weak_type
    assert not f(f32(1.0)).weak_type
    assert f(1.0).dtype == np.float32
    assert f(1).dtype == np.int32
    half = weft.device_put(np.ones(2, np.float16))
    assert weft.jit(lambda h, s: h * s)(half, 2.0).dtype == np.float16
    assert weft.jit(lambda h, s: h * s)(half, np.float32(2.0)).dtype == np.float32


def test_scalars_of_python_do_not_cause_another_trace():
    f = Counted(lambda x: x * 2)
    g = weft.jit(f)
    for x in (1.0, 2.0, 3.5):
        same(g(x), 2 * x)
    assert f.calls == 1
    g(1)
    assert f.calls == 2
    g(f32(1.0))  # strong
    assert f.calls == 3


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "float32", "complex64"])
def test_dtypes_in_and_out(dtype):
    x = weft.device_put(np.array([0, 1, 1], dtype))
    f = weft.jit(lambda x: (x, x + x))
    for _ in range(2):
        a, b = f(x)
        assert a.dtype == b.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(np.asarray(b), np.asarray(x) + np.asarray(x))


def test_empty_arrays():
    f = weft.jit(lambda x: (x * 2, x))
    for _ in range(2):
        a, b = f(f32(np.zeros((0, 3))))
        assert a.shape == b.shape == (0, 3)


def test_shapes_cause_another_trace_and_come_back():
    f = Counted(lambda x: x * x.shape[0])
    g = weft.jit(f)
    for n in (1, 2, 3, 2, 1, 3):
        same(g(f32(np.ones(n))), np.full(n, n))
    assert f.calls == 3


# --- switches ---


def test_enable_x64_is_part_of_the_signature():
    f = weft.jit(lambda x: x * 1.0)
    assert f(1.0).dtype == np.float32
    with weft.enable_x64():
        assert f(1.0).dtype == np.float64
        assert f(np.float64(2.0)).dtype == np.float64
    assert f(1.0).dtype == np.float32
    assert f(np.float64(2.0)).dtype == np.float32


def test_disable_jit_runs_python_on_arrays():
    seen = []

    @weft.jit
    def f(x):
        seen.append(x)
        return x * 2 if x > 0 else x  # fine without tracing

    with weft.config.temporarily(disable_jit=True):
        same(f(f32(3.0)), 6.0)
    assert isinstance(seen[0], weft.Array)
    with pytest.raises(weft.errors.TracerBoolConversionError):
        f(f32(3.0))


def test_disable_jit_with_the_call_cached_before():
    calls = []

    @weft.jit
    def f(x):
        calls.append(1)
        return x * 2

    for _ in range(3):
        f(f32(1.0))
    with weft.config.temporarily(disable_jit=True):
        f(f32(1.0))
    assert len(calls) == 2


def test_log_compiles_explains_a_retrace(caplog):
    @weft.jit
    def step(params, x, rate=0.1):
        return x * rate

    with weft.config.temporarily(log_compiles=True), caplog.at_level(logging.WARNING, "weft"):
        step({"w": 1.0}, f32([1.0]))
        step({"w": 1.0}, f32([1.0, 2.0]))
        step({"w": f32(1.0)}, f32([1.0, 2.0]))
        step({"v": 1.0}, f32([1.0, 2.0]))
        step({"w": 1.0}, f32([1.0]))
    texts = [r.getMessage() for r in caplog.records if "tracing" in r.getMessage()]
    assert len(texts) == 4
    assert "step (test_function.py:" in texts[0]
    assert "first time" in texts[0]
    assert "argument x was float32[1], is float32[2]" in texts[1]
    assert "argument params['w'] was float32[], is float32[] (weak type" in texts[2]
    assert "params['v'] is new" in texts[3]


def test_retrace_of_static_arguments_and_switches_is_explained(caplog):
    f = weft.jit(lambda x, n: x * n, static_argnames="n")
    with weft.config.temporarily(debug="retrace"), caplog.at_level(logging.WARNING, "weft"):
        f(1.0, n=2)
        f(1.0, n=3)
        f(1.0, 3)
        with weft.config.temporarily(default_matmul_precision="highest"):
            f(1.0, n=2)
    texts = [r.getMessage() for r in caplog.records if "tracing" in r.getMessage()]
    assert "static argument n was 2, is 3" in texts[1]
    assert "switch" in texts[3]


def test_retrace_for_a_named_axis_is_explained(caplog):
    f = weft.jit(lambda x: x * 2)
    with weft.config.temporarily(debug="retrace"), caplog.at_level(logging.WARNING, "weft"):
        f(np.float32(1))
        weft.vmap(f, axis_name="i")(np.ones(3, np.float32))
    texts = [r.getMessage() for r in caplog.records if "tracing" in r.getMessage()]
    assert "the named axes in scope were {}, are {'i': 3}" in texts[1]
    assert "switch" not in texts[1]


# --- cache ---


def test_clear_cache_traces_again():
    f = Counted(lambda x: x * 2)
    g = weft.jit(f)
    for _ in range(3):
        same(g(f32(1.0)), 2.0)
    g.clear_cache()
    for _ in range(3):
        same(g(f32(1.0)), 2.0)
    assert f.calls == 2


def test_many_threads_share_the_programs_that_they_trace():
    """Threads that begin at once may trace a signature several times; later calls never do."""
    f = Counted(lambda x: sin(x) * 2)
    g = weft.jit(f)
    failures = []

    def work(n, barrier):
        try:
            barrier.wait()
            for i in range(20):
                size = 1 + (n + i) % 4
                same(g(f32(np.ones(size))), np.full(size, 2 * np.sin(1.0)))
        except Exception as error:
            failures.append(error)

    def run_in_threads():
        barrier = threading.Barrier(8)
        threads = [threading.Thread(target=work, args=(n, barrier)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures

    run_in_threads()
    calls = f.calls
    assert 4 <= calls <= 4 * 8
    run_in_threads()
    assert f.calls == calls


def test_threads_trace_independently():
    """One thread is in the middle of a trace while another evaluates."""
    inside, go = threading.Event(), threading.Event()
    results = []

    def slow(x):
        inside.set()
        assert go.wait(10)
        return x * 2

    t = threading.Thread(target=lambda: results.append(weft.jit(slow)(f32(3.0))))
    t.start()
    assert inside.wait(10)
    y = f32(1.0) + 1.0
    assert isinstance(y, weft.Array)
    same(weft.jit(lambda x: x + 1)(f32(1.0)), 2.0)
    go.set()
    t.join()
    same(results[0], 6.0)


def test_an_exception_inside_leaves_everything_as_it_was():
    class Bang(Exception):
        pass

    fail = [True]

    @weft.jit
    def f(x):
        if fail[0]:
            raise Bang
        return x * 2

    for transform in (lambda g: g, weft.grad, weft.vmap, lambda g: weft.vmap(weft.grad(g))):
        x = f32([1.0]) if transform is not weft.grad else f32(1.0)
        if transform is not weft.vmap and transform is not weft.grad:
            x = f32([1.0, 2.0])
        fail[0] = True
        with pytest.raises(Bang):
            transform(f)(x)
        assert type(f32(1.0) + 1.0) is Array  # evaluated at once
    fail[0] = False
    same(f(f32(1.0)), 2.0)


def test_recursion_of_jitted_functions():
    @functools.partial(weft.jit, static_argnums=1)
    def f(x, n):
        return x if n == 0 else f(x, n - 1) * 2

    same(f(1.0, 4), 16.0)


# --- devices, donation, inlining ---


def test_where_to_run_must_be_a_device_or_a_platform():
    device = weft.devices()[0]
    with pytest.raises(TypeError, match=r"jit: device must be one of devices\(\); got str 'cpu'"):
        weft.jit(sin, device="cpu")
    with pytest.raises(TypeError, match="jit: backend must be 'cpu', 'gpu' or 'tpu'; got int 0"):
        weft.jit(sin, backend=0)
    with pytest.raises(ValueError, match=r"jit: got both device=.* and backend='cpu'"):
        weft.jit(sin, device=device, backend="cpu")
    assert weft.jit(sin, device=device)(1.0).committed


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donated_arguments_by_position_and_name():
    f = lambda x, y, *, z: x + y * z  # noqa: E731
    for options, gone in [
        ({"donate_argnums": -1}, "y"),
        ({"donate_argnums": (0, 1)}, "xy"),
        ({"donate_argnames": "z"}, "z"),
        ({"donate_argnums": 0, "donate_argnames": ("z",)}, "xz"),
        ({}, ""),
    ]:
        args = {name: f32([1.0, 2.0]) for name in "xyz"}
        same(weft.jit(f, **options)(args["x"], args["y"], z=args["z"]), [2.0, 6.0])
        assert "".join(n for n, x in args.items() if x.is_deleted()) == gone
    with pytest.raises(ValueError, match=r"donate_argnums=2 is out of range.*2 positional"):
        weft.jit(f, donate_argnums=2)


def test_using_a_donated_argument_again_names_it():
    f = weft.jit(lambda p, x: p["w"] * x, donate_argnums=1)
    g = weft.jit(lambda x, y: x + y)
    for _ in range(3):  # the third call is the fast one
        gone, there = f32([1.0]), f32([2.0])
        f({"w": there}, gone)
        for call, name in [
            (lambda: f({"w": there}, gone), "x"),  # noqa: B023
            (lambda: f({"w": gone}, f32([1.0])), r"p\['w'\]"),  # noqa: B023
            (lambda: g(there, gone), "y"),  # noqa: B023
            (lambda: g(gone, 1.0), "x"),  # noqa: B023
        ]:
            with pytest.raises(
                weft.errors.DeletedArrayError,
                match=rf"jit: argument {name} of <lambda> .*float32\[1\], has been .* donated",
            ):
                call()
        same(g(there, 1.0), [3.0])
        same(g(there, there), [4.0])


def test_inlining_inside_every_transformation():
    f = lambda x: sin(x) * x  # noqa: E731
    g = weft.jit(f, inline=True)
    names = lambda f: [e.primitive.name for e in weft.make_jaxpr(f)(1.0).equations]  # noqa: E731
    for transform in (
        lambda f: f,
        weft.grad,
        lambda f: weft.grad(weft.grad(f)),
        lambda f: lambda x: weft.jvp(f, (x,), (x,))[1],
        lambda f: lambda x: weft.vmap(f)(x[None]),
        lambda f: weft.jit(f, inline=True),
    ):
        assert names(transform(g)) == names(transform(f))
        same(transform(g)(f32(2.0)), transform(f)(f32(2.0)))
    assert names(weft.jit(g)) == ["call"]
