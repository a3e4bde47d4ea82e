"""JAX documentation, just-in-time compilation: jit, make_jaxpr, eval_shape, devices and others."""

import collections
import functools
import types

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp


def test_selu():
    @weft.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * weft.numpy.where(x > 0, x, alpha * weft.numpy.exp(x) - alpha)

    key = weft.random.PRNGKey(0)
    x = weft.random.normal(key, (10,))
    prints(
        selu(x),
        "[-0.54485 0.27744 -0.29255 -0.91421 -0.62452 -0.24748 -0.85743 -0.78232 0.76827 0.59566 ]",
        cut=True,
    )


def test_static_arguments():
    calls = []

    def f(x, n, flag=False):
        calls.append((n, flag))
        return x * n if flag else x + n  # a Python branch on a static argument

    for options in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "flag")}):
        weft.jit(f, **options).clear_cache()  # both say the same of f, and would share programs
        g = weft.jit(f, **options)
        calls.clear()
        assert g(2.0, 3) == 5.0
        assert g(7.0, 3) == 10.0
        assert len(calls) == 1
        assert g(2.0, 4) == 6.0
        assert len(calls) == 2  # another value: traced again
    assert (
        weft.jit(f, static_argnums=(1, 2), static_argnames=("n", "flag"))(2.0, 3, flag=True) == 6.0
    )
    with pytest.raises(ValueError, match="hashable"):
        weft.jit(f, static_argnums=1)(2.0, [3])


def test_no_arguments_are_static_if_none_are_said_to_be():
    with pytest.raises(weft.errors.TracerBoolConversionError, match="the argument n"):
        weft.jit(lambda x, n: x if n > 1 else -x)(2.0, 3)


def test_static_arguments_and_the_signature():
    static = []

    def f(x, n, m):
        static[:] = [name for name, a in (("n", n), ("m", m)) if isinstance(a, int)]
        return x

    def of(**options):
        """Which arguments are static in calls by position, by name, and mixed."""
        g = weft.jit(f, **options)
        found = []
        for call in (lambda: g(1.0, 2, 3), lambda: g(1.0, n=2, m=3), lambda: g(1.0, 2, m=3)):
            g.clear_cache()
            call()
            found.append("".join(static))
        return found

    # the ones that are not given are inferred from those that are, by inspect.signature
    assert of(static_argnums=1) == of(static_argnames="n") == ["n", "n", "n"]
    assert of(static_argnums=(1, 2)) == of(static_argnames=["n", "m"]) == ["nm", "nm", "nm"]
    assert of(static_argnums=-1) == ["m", "m", "m"]
    # both are given: only what they list is static
    assert of(static_argnums=1, static_argnames="m") == ["n", "m", "nm"]
    assert of(static_argnums=(), static_argnames="m") == ["", "m", "m"]


def test_static_arguments_are_part_of_the_cache_key():
    class Mode:  # anything that is hashable and has an equality
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return hash(self.name)

        def __eq__(self, other):
            return self.name == other.name

    traced = []

    @functools.partial(weft.jit, static_argnums=(1,))
    def f(x, mode):
        traced.append(mode.name)
        return x + len(mode.name) * 10  # computed in Python, while tracing

    assert [f(1.0, Mode(name)) for name in ("a", "a", "bb", "a", "bb")] == [11, 11, 21, 11, 21]
    assert traced == ["a", "bb"]
    text = f.lower(1.0, Mode("bb")).as_text()
    assert "dense<20.0>" in text  # folded: the program has a constant, and no product
    assert "multiply" not in text
    with pytest.raises(TypeError, match=r"(?s)argument mode of .*static_argnums"):
        weft.jit(lambda x, mode: x)(1.0, Mode("a"))


def test_donated_arguments_are_gone():
    x = jnp.ones(4)
    y = weft.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert y.tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="donated"):
        x + 1
    with pytest.raises(RuntimeError, match=r"jit: argument p\['w'\] of .*float32\[4\].*donated"):
        weft.jit(lambda p: p["w"] * 2)({"b": y, "w": x})
    z = jnp.ones(4)
    weft.jit(lambda x: x + 1)(z)  # by default none is donated
    assert z.tolist() == [1, 1, 1, 1]


def test_donated_memory_is_used_for_a_result():
    x = weft.jit(lambda: jnp.ones(1000))()
    address = x.unsafe_buffer_pointer()
    y = weft.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert y.unsafe_buffer_pointer() == address
    memory = weft.jit(lambda x: x + 1, donate_argnums=0).lower(y).compile().memory_analysis()
    assert memory.alias_bytes == 4000


def test_device_backend_and_inline():
    device = weft.devices()[0]
    assert weft.jit(lambda x: x * 2, device=device)(3.0) == 6.0
    assert weft.jit(lambda x: x * 2, backend="cpu")(3.0) == 6.0
    assert weft.jit(lambda x: x * 2, inline=True)(3.0) == 6.0
    with pytest.raises(RuntimeError, match="no platform 'abacus'"):
        weft.jit(lambda x: x, backend="abacus")(1.0)


def test_inlined_functions_are_part_of_the_enclosing_jaxpr():
    names = lambda f: [e.primitive.name for e in weft.make_jaxpr(f)(1.0).equations]  # noqa: E731
    f = lambda x: jnp.sin(x) * 2  # noqa: E731
    assert names(weft.jit(f)) == ["call"]
    assert names(weft.jit(f, inline=True)) == ["sin", "mul"]
    assert names(weft.grad(weft.jit(f, inline=True))) == names(weft.grad(f))
    assert weft.grad(weft.jit(f, inline=True))(0.0) == 2.0


def test_print_in_a_compiled_function_shows_a_tracer(capsys):
    @weft.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    print(f(weft.numpy.array([1, 2, 3])))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Value of y is Traced<")
    assert "int32[3]" in first
    assert second == "[5 7 9]"


def test_disable_jit(capsys):
    @weft.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    with weft.disable_jit():
        print(f(weft.numpy.array([1, 2, 3])))
    assert capsys.readouterr().out == "Value of y is [2 4 6]\n[5 7 9]\n"


def test_make_jaxpr():
    def f(x):
        return weft.numpy.sin(weft.numpy.cos(x))

    prints(f(3.0), "-0.83602")
    shown = lambda jaxpr: " ".join(jaxpr.pretty_print(typed=False).split())  # noqa: E731
    assert shown(weft.make_jaxpr(f)(3.0)) == "{ lambda ; a. let b = cos a c = sin b in (c,) }"
    assert shown(weft.make_jaxpr(weft.grad(f))(3.0)) == (
        "{ lambda ; a. let b = cos a c = sin a _ = sin b d = cos b e = mul 1.0 d f = neg e "
        "g = mul f c in (g,) }"
    )


def test_make_jaxpr_return_shape():
    jaxpr, shape = weft.make_jaxpr(lambda x: {"y": x[None]}, return_shape=True)(np.ones(3, "f"))
    assert jaxpr.in_avals[0].shape == (3,)
    assert (shape["y"].shape, shape["y"].dtype) == ((1, 3), np.float32)
    assert shape["y"].named_shape == {}
    jaxpr = weft.make_jaxpr(lambda x, n: x * n if n > 2 else x, static_argnums=1)(2.0, 3)
    assert (len(jaxpr.in_avals), len(jaxpr.eqns)) == (1, 1)


def test_eval_shape():
    f = lambda A, x: jnp.tanh(jnp.dot(A, x))  # noqa: E731

    class MyArgArray:
        def __init__(self, shape, dtype):
            self.shape = shape
            self.dtype = jnp.dtype(dtype)

    A = MyArgArray((2000, 3000), jnp.float32)
    x = MyArgArray((3000, 1000), jnp.float32)
    out = weft.eval_shape(f, A, x)  # no FLOPs performed
    assert out.shape == (2000, 1000)
    assert out.dtype == np.float32
    with pytest.raises(TypeError):
        weft.eval_shape(f, x, A.__class__((7,), "float32"))


FUNCTIONS = {
    "containers": lambda x, *, y: {"sum": x + y["b"], "both": (x, [y["b"], None])},
    "scalars": lambda x, *, y: (3, 2.5, True, x > 1),
    "reduction": lambda x, *, y: jnp.mean(x, axis=0) @ y["b"],
    "indices": lambda x, *, y: jnp.argsort(x, axis=1)[:, :2],
    "random": lambda x, *, y: weft.random.normal(weft.random.PRNGKey(0), x.shape),
    "jitted": weft.jit(lambda x, *, y: jnp.exp(x) * y["b"]),
    "gradient": lambda x, *, y: weft.grad(lambda x: jnp.sum(x**2))(x),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_eval_shape_says_what_evaluating_gives(f):
    shape_dtype_struct = lambda x: weft.ShapeDtypeStruct(jnp.shape(x), jnp.asarray(x).dtype)  # noqa: E731
    x, y = jnp.ones((4, 3)), {"b": jnp.ones(3)}
    expected = weft.tree_util.tree_map(shape_dtype_struct, f(x, y=y))
    assert weft.eval_shape(f, x, y=y) == expected
    duck = lambda *shape: types.SimpleNamespace(shape=shape, dtype=np.dtype("float32"))  # noqa: E731
    assert weft.eval_shape(f, duck(4, 3), y={"b": duck(3)}) == expected


@pytest.mark.parametrize("shapes", [((2, 3), (4, 3)), ((2, 3), (4,)), ((), ())])
def test_eval_shape_raises_the_errors_that_evaluating_raises(shapes):
    with pytest.raises((TypeError, ValueError)) as evaluating:
        jnp.matmul(*map(jnp.ones, shapes))
    structs = [weft.ShapeDtypeStruct(s, "float32") for s in shapes]
    with pytest.raises(evaluating.type) as inferring:
        weft.eval_shape(jnp.matmul, *structs)
    assert str(inferring.value) == str(evaluating.value)


class OnlyShapeAndDtype:
    """What raises an error if anything but its shape and its dtype is looked at."""

    __slots__ = ()

    def __getattr__(self, name):
        if name == "shape":
            return (2,)
        if name == "dtype":
            return np.dtype(np.float32)
        raise AttributeError(name)


def test_only_shape_and_dtype_are_needed():
    duck = OnlyShapeAndDtype()
    assert weft.eval_shape(jnp.sin, duck).shape == (2,)
    assert weft.make_jaxpr(jnp.sin)(duck).in_avals[0].shape == (2,)
    (out,) = weft.linear_transpose(lambda x: 2 * x, duck)(np.ones(2, "f"))
    assert out.tolist() == [2, 2]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: weft.eval_shape(jnp.sin, x),
        lambda x: weft.make_jaxpr(jnp.sin)(x),
        lambda x: weft.linear_transpose(jnp.negative, x),
    ],
)
def test_namedtuples_are_containers_and_no_stand_ins_for_arrays(use):
    Struct = collections.namedtuple("Struct", ["shape", "dtype"])
    with pytest.raises(TypeError, match=r"argument .*\.dtype"):
        use(Struct((2, 3), np.dtype(np.float32)))
    leaves = Struct(np.ones(2, "f"), np.ones(3, "f"))
    assert weft.eval_shape(lambda t: t.dtype * 2, leaves).shape == (3,)


def test_eval_shape_of_duck_typed_arguments_in_containers():
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    out = weft.eval_shape(lambda d: [d["a"] + 1, d["a"] > 0], {"a": scalar})
    assert [(o.shape, o.dtype.name) for o in out] == [((), "float32"), ((), "bool")]


def test_device_get():
    x = weft.numpy.array([1.0, 2.0, 3.0])
    host = weft.device_get(x)
    assert type(host) is np.ndarray
    assert repr(host) == "array([1., 2., 3.], dtype=float32)"
    assert repr(weft.device_get(1)) == "1"  # a scalar: no effect
    nested = weft.device_get({"a": (x, 2.0)})
    assert type(nested["a"][0]) is np.ndarray
    assert nested["a"][1] == 2.0


def test_device_put():
    x = weft.device_put({"a": np.arange(3), "b": 2.0})
    assert x["a"].tolist() == [0, 1, 2]
    device = weft.devices()[0]
    y = weft.device_put(x["a"], device)
    assert y.device == device
    assert weft.device_put(y).tolist() == [0, 1, 2]


def test_device_put_replicated():
    devices = weft.local_devices()
    x = weft.numpy.array([1.0, 2.0, 3.0])
    y = weft.device_put_replicated(x, devices)
    assert np.allclose(y, weft.numpy.stack([x for _ in devices]))
    assert y.devices() == set(devices)


def test_device_put_sharded():
    devices = weft.local_devices()
    x = [weft.numpy.ones(5) for device in devices]
    y = weft.device_put_sharded(x, devices)
    assert np.allclose(y, weft.numpy.stack(x))

    x = [(i, weft.numpy.arange(i, i + 4)) for i in range(len(devices))]
    y = weft.device_put_sharded(x, devices)
    assert str(type(y)) == "<class 'tuple'>"
    y0 = weft.device_put_sharded([a for a, b in x], devices)
    y1 = weft.device_put_sharded([b for a, b in x], devices)
    assert np.allclose(y[0], y0)
    assert np.allclose(y[1], y1)
    with pytest.raises(ValueError, match="shards"):  # one for each device
        weft.device_put_sharded([x[0], x[0]], devices[:1])


def test_devices():
    assert weft.devices() == weft.devices(None)
    assert weft.device_count() == len(weft.devices())
    assert weft.local_device_count() == len(weft.local_devices()) >= 1
    assert weft.process_index() == 0
    assert weft.process_count() == 1
    assert weft.default_backend() == weft.devices()[0].platform
    assert all(d.process_index == weft.process_index() for d in weft.local_devices())
    assert all(len(weft.devices(b)) == weft.device_count(b) for b in (None, "cpu"))


def test_named_call():
    @functools.partial(weft.named_call, name="attention")
    def attention(x):
        return jnp.tanh(x) * 2

    f = weft.jit(lambda x: attention(x) + 1)
    assert f(0.0) == attention(0.0) + 1 == 1.0
    assert "name=attention" in str(weft.make_jaxpr(f)(1.0))  # staged out as a subcomputation
    assert "@attention" in f.lower(1.0).as_text()
    assert 'op_name="attention"' in f.lower(1.0).compile().as_text()  # what profilers show
