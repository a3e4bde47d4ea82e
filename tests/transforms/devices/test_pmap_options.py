"""pmap's parameters, its trees of arguments and results, its errors.

What is expected is a Python loop over the mapped axis in NumPy.
"""

import functools

import numpy as np
import pytest
from row_names import row_name

import weft
import weft.numpy as wnp
from weft import lax, pmap, vmap
from weft.tree_util import tree_leaves, tree_map

pytestmark = pytest.mark.devices(8)
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def same(found, expected, tolerance=1e-5):
    """Fails unless two trees of arrays agree."""
    found, expected = tree_leaves(found), tree_leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(np.asarray(x), y, rtol=tolerance, atol=tolerance)


def spread(axes, tree):
    """`axes`, which may end where `tree` goes on, as one axis (-1 for none) for each leaf."""
    if axes is None or isinstance(axes, int):
        return tree_map(lambda _: -1 if axes is None else axes, tree)
    if isinstance(axes, dict):
        return {key: spread(axes[key], tree[key]) for key in axes}
    return type(axes)(spread(a, t) for a, t in zip(axes, tree, strict=True))


def looped(f, in_axes, out_axes, args):
    """`f` of each element of the mapped axes of `args`, stacked."""
    args = tree_map(np.asarray, args)
    in_axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    axes = tuple(spread(a, x) for a, x in zip(in_axes, args, strict=True))
    pairs = zip(tree_leaves(args), tree_leaves(axes), strict=True)
    (size,) = {x.shape[a] for x, a in pairs if a >= 0}
    element = lambda i: f(  # noqa: E731
        *tree_map(lambda x, a: x if a < 0 else np.take(x, i, a), args, axes)
    )
    results = [element(i) for i in range(size)]
    places = spread(out_axes, results[0])
    return tree_map(lambda a, *xs: xs[0] if a < 0 else np.stack(xs, a), places, *results)


# --- the law: pmap, vmap and a loop give the same ---

FUNCTIONS = {
    "identity": (lambda np, x: x, (3,)),
    "elementwise": (lambda np, x: np.sin(x) * x + 1, (4, 3)),
    "of a scalar": (lambda np, x: np.exp(x) / 2, ()),
    "product": (lambda np, x: np.matmul(x, x.T), (3, 4)),
    "sums": (lambda np, x: np.sum(x, axis=1) - np.max(x), (3, 4)),
    "to a scalar": (lambda np, x: np.mean(x), (3, 4)),
    "sorted": (lambda np, x: np.sort(x, axis=0)[::-1], (5, 2)),
    "integers": (lambda np, x: np.argmax(x, axis=0), (5, 2)),
    "booleans": (lambda np, x: (x > 0) & (x < 1), (5,)),
    "complex numbers": (lambda np, x: np.conj(x * 1j + 2), (3,)),
    "joined": (lambda np, x: np.concatenate([x[1:], x[:1] * 2]).reshape(2, 2), (4,)),
    "gathered": (lambda np, x: x[np.asarray([2, 0, 0])] + x[-1], (3, 2)),
    "empty": (lambda np, x: x * 2, (0, 3)),
    "an empty result": (lambda np, x: x[:0], (3,)),
    "a constant": (lambda np, x: np.asarray([1.0, 2.0], "float32"), (3,)),
    "several results": (lambda np, x: (x, {"twice": x * 2, "sum": np.sum(x)}), (3,)),
}


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pmap_is_vmap_is_a_loop(name, size):
    f, shape = FUNCTIONS[name]
    x = normal(size, *shape)
    found = pmap(functools.partial(f, wnp))(x)
    same(found, looped(functools.partial(f, np), 0, 0, (x,)))
    mapped = vmap(functools.partial(f, wnp))(x)
    assert [y.aval for y in tree_leaves(found)] == [y.aval for y in tree_leaves(mapped)]
    same(found, mapped)


# fmt: off
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn",
]
# fmt: on


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    with weft.enable_x64():
        x = np.arange(6).reshape(3, 2).astype(getattr(weft.dtypes, dtype, dtype))
        found = pmap(lambda x: (x, x[::-1], wnp.where(x == x[0], x, x)))(x)
        for y, expected in zip(found, (x, x[:, ::-1], x), strict=True):
            assert y.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(y), expected)


def test_python_scalars_have_weak_types_as_under_vmap():
    f = lambda x, n: (x + n, n * 2)  # noqa: E731
    x = np.arange(3, dtype=np.float16)
    found, expected = (over(f, in_axes=(0, None))(x, 1.5) for over in (pmap, vmap))
    same(found, (np.array([1.5, 2.5, 3.5]), np.full(3, 3.0)))
    assert [y.dtype for y in found] == [y.dtype for y in expected] == [np.float16, np.float32]
    assert [y.weak_type for y in found] == [y.weak_type for y in expected] == [False, True]


# --- in_axes, out_axes ---

A, B, C = normal(3, 3), normal(3, 4, 3), normal(3)
f_two = lambda x, y: (x[0] * y, y)  # noqa: E731
f_tree = lambda t, y: {"p": t["a"] * y, "q": [t["b"][0] - y, t["b"][1]]}  # noqa: E731
TREE = {"a": A, "b": (B, C)}

# fmt: off
AXES = [
    (lambda x: x * 2, 0, 0, (A,)),
    (lambda x: x * 2, 1, 0, (A,)),
    (lambda x: x * 2, (1,), 1, (A,)),
    (lambda x: x * 2, [2], 0, (B,)),
    (lambda x: x * 2, 2, 2, (B,)),
    (lambda x: x * 2, 2, 1, (B,)),
    (f_two, 0, 0, (A, A)),
    (f_two, (1, 0), 0, (A, A)),
    (f_two, (0, None), 0, (A, A)),
    (f_two, (None, 0), 0, (A, A)),
    (f_two, (0, None), (1, 0), (A, A)),
    (f_two, (0, None), (0, None), (A, A)),
    (f_two, [2, None], (0, 1), (B, normal(2, 4))),
    (f_tree, 0, 0, (TREE, A)),
    (f_tree, ({"a": 0, "b": 0}, 0), 0, (TREE, A)),
    (f_tree, ({"a": 1, "b": (2, 0)}, 0), 0, (TREE, C)),
    (f_tree, ({"a": None, "b": (None, 0)}, 0), 0, (TREE, C)),
    (f_tree, ({"a": None, "b": (1, None)}, None), {"p": None, "q": [1, 0]}, (TREE, C)),
    (f_tree, ({"a": None, "b": (0, None)}, None), {"p": 1, "q": [2, None]}, (TREE, C)),
    (f_tree, (0, 0), {"p": 1, "q": 0}, (TREE, A)),
]
# fmt: on


@pytest.mark.parametrize("case", AXES, ids=row_name)
def test_axes(case):
    f, in_axes, out_axes, args = case
    found = pmap(f, in_axes=in_axes, out_axes=out_axes)(*args)
    same(found, looped(f, tuple(in_axes) if type(in_axes) is list else in_axes, out_axes, args))
    same(found, vmap(f, in_axes=in_axes, out_axes=out_axes)(*args))


@pytest.mark.parametrize("axis", [-1, -2, -3])
def test_axes_from_the_end_are_those_of_vmap(axis):
    found = pmap(lambda x: x * 2, in_axes=axis, out_axes=axis)(B)
    same(found, 2 * B)


def test_keywords_are_mapped_over_axis_0_whatever_in_axes_say():
    f = lambda x, *, k, t: x * k + t["a"]  # noqa: E731
    x, k, t = normal(2, 3), normal(3), {"a": normal(3)}
    expected = x.T * k[:, None] + t["a"][:, None]
    same(pmap(f, in_axes=1)(x, k=k, t=t), expected)
    same(pmap(f, in_axes=(1,))(x, k=k, t=t), expected)
    same(pmap(f, in_axes=None)(x[:, 0], k=k, t=t), x[:, 0] * k[:, None] + t["a"][:, None])
    by_name = pmap(lambda x, y: x + y)
    same(by_name(x, y=x), 2 * x)
    same(by_name(y=x, x=x), 2 * x)


def test_a_result_that_is_the_same_for_all_needs_no_axis():
    f = lambda x, y: (lax.psum(x, "i"), y * 2, x, 3.0)  # noqa: E731
    g = pmap(f, axis_name="i", in_axes=(0, None), out_axes=(None, None, 0, None))
    x = normal(4, 2)
    same(g(x, C), (x.sum(0), 2 * C, x, 3.0))
    gathered = pmap(lambda x: lax.all_gather(x, "i"), axis_name="i", out_axes=None)
    same(gathered(x), x)


TREES = {
    "empty": {},
    "none": {"a": None, "b": A},
    "nested": [({"x": A}, [B]), (), C],
    "scalars in arrays": (np.float32([1, 2, 3]), np.int32([4, 5, 6])),
}


@pytest.mark.parametrize("name", ["none", "nested", "scalars in arrays"])
def test_trees_come_back_as_they_went(name):
    tree = TREES[name]
    found = pmap(lambda t: t)(tree)
    assert weft.tree_util.tree_structure(found) == weft.tree_util.tree_structure(tree)
    same(found, tree)
    both = pmap(lambda x, t: (t, x), axis_size=3)(C, tree)
    same(both, (tree, C))


def test_results_that_are_no_arrays():
    found = pmap(lambda x: (None, 3, 2.5, np.float32([1, 2]), True, x))(C)
    expected = (3, 2.5, np.float32([1, 2]), True)
    expected = (None, *[np.stack([x] * 3) for x in expected], C)
    same(found, expected)
    assert found[0] is None
    assert [y.dtype for y in found[1:]] == [np.int32, np.float32, np.float32, np.bool_, np.float32]
    assert pmap(lambda x: ())(C) == ()


# --- the other parameters ---


def test_static_arguments():
    seen = []

    def f(x, how, y, times=1):
        seen.append(how)
        return how(x, y) * times

    g = pmap(f, static_broadcasted_argnums=1)
    same(g(A, wnp.add, B[:, 0]), A + B[:, 0])
    same(g(A, wnp.add, A), 2 * A)
    same(g(A, wnp.multiply, A), A * A)
    assert seen == [wnp.add, wnp.multiply]
    g = pmap(f, static_broadcasted_argnums=(3, 1), in_axes=(0, None, None, None))
    same(g(A, wnp.add, C, 4), 4 * (A + C))
    g = pmap(f, static_broadcasted_argnums=[1, 3], in_axes=(1, 0, 0, 0))  # no axes for static ones
    same(g(A, wnp.add, A, 4), 4 * (A.T + A))
    g = pmap(lambda text, x: x * len(text), static_broadcasted_argnums=0)
    same(g("four", A), 4 * A)


def test_static_arguments_are_compared_by_equality():
    count = []
    f = pmap(lambda x, s: count.append(s) or x, static_broadcasted_argnums=(1,))
    for s in ("one", "".join(["o", "ne"]), ("a", 1), ("a", 1), "two"):
        same(f(C, s), C)
    assert count == ["one", ("a", 1), "two"]


def test_a_signature_is_traced_once():
    count = []
    f = pmap(lambda x: count.append(x.shape) or x + 1)
    for x in (A, 2 * A, wnp.asarray(A), f(A), f(f(A)), B, A[:2], A.astype(np.int32), A):
        same(f(x), x + 1)
    assert count == [(3,), (4, 3), (3,), (3,)]


def test_devices():
    all_of_them = weft.devices()[:8]
    for chosen in (all_of_them[2:5], all_of_them[:3][::-1], (all_of_them[7], *all_of_them[:2])):
        f = pmap(lambda x: (x + lax.psum(x, "i"), lax.axis_index("i")), "i", devices=chosen)
        out, number = f(A)
        same(out, A + A.sum(0))
        assert number.tolist() == [0, 1, 2]
        assert [shard.device for shard in out.addressable_shards] == list(chosen)
        assert out.devices() == set(chosen)


def test_arrays_go_where_they_are_needed():
    devices = weft.devices()[:8]
    on = lambda chosen: pmap(lambda x: x * 2, devices=chosen)  # noqa: E731
    x = on(devices[:4])(normal(4, 2))
    expected = 2 * np.asarray(x)
    for chosen in (devices[4:], devices[:4][::-1], devices[2:6], devices[:4]):
        y = on(chosen)(x)
        same(y, expected)
        assert y.devices() == set(chosen)
    same(pmap(lambda x: x + 1, in_axes=1)(x), np.asarray(x).T + 1)
    same(pmap(lambda x, y: x + y, in_axes=(0, None))(x, x), expected[:, None] / 2 + expected / 2)


def test_backend():
    same(pmap(lambda x: x + 1, backend=weft.default_backend())(A), A + 1)
    with pytest.raises(RuntimeError, match="no platform 'abacus'"):
        pmap(lambda x: x, backend="abacus")(A)


def test_axis_size():
    f = lambda x: (x * lax.axis_index("i"), lax.axis_size("i"), lax.psum(1, "i"))  # noqa: E731
    found = pmap(f, "i", in_axes=None, axis_size=5)(C)
    same(found, (np.arange(5)[:, None] * C, np.full(5, 5), np.full(5, 5)))
    same(pmap(f, "i", axis_size=3)(C)[0], np.arange(3) * C)
    assert pmap(lambda: lax.axis_index("i"), "i", axis_size=4)().tolist() == [0, 1, 2, 3]


def test_donated_arguments():
    def fresh():
        return pmap(lambda x: x + 0)(normal(4, 16))

    f = lambda x, y: (x + y, x - y)  # noqa: E731
    for numbers, gone in ((0, [True, False]), ((0, 1), [True, True]), ((), [False, False])):
        x, y = fresh(), fresh()
        expected = f(np.array(x), np.array(y))
        same(pmap(f, donate_argnums=numbers)(x, y), expected)
        assert [x.is_deleted(), y.is_deleted()] == gone
    x = fresh()
    g = pmap(lambda x: x * 2, donate_argnums=0)
    g(x)
    with pytest.raises(weft.errors.DeletedArrayError):
        x + 1
    with pytest.raises(weft.errors.DeletedArrayError):
        g(x)
    host = normal(4, 3)
    same(g(host), 2 * host)  # nothing of NumPy's is donated
    same(g(host), 2 * host)


def test_a_loop_that_donates_its_state():
    step = pmap(lambda x: x * 2 + lax.axis_index("i"), "i", donate_argnums=0)
    x, expected = wnp.zeros((8, 5)), np.zeros((8, 5))
    for _ in range(5):
        x = step(x)
        expected = expected * 2 + np.arange(8)[:, None]
    same(x, expected)


@pytest.mark.parametrize("shapes", [None, ((3,), None), ((3,), (3,))])
def test_global_arg_shapes_are_those_of_a_replica(shapes):
    same(pmap(lambda x, y: x + y, in_axes=(0, None), global_arg_shapes=shapes)(A, C), A + C)


def test_it_keeps_the_functions_name_and_text():
    def documented(x):
        """Says so."""

    mapped = pmap(documented)
    assert (mapped.__name__, mapped.__doc__) == ("documented", "Says so.")
    assert mapped.__wrapped__ is documented


def test_as_a_decorator_with_options():
    @functools.partial(pmap, axis_name="i", in_axes=1, out_axes=1)
    def centred(x):
        return x - lax.pmean(x, "i")

    same(centred(A), A - A.mean(1, keepdims=True))


# --- what comes out ---


def test_results_compute_as_arrays():
    x = pmap(lambda x: x * 2)(A)
    y = 2 * A
    same(x + 1, y + 1)
    same(x[1], y[1])
    same(x[:, ::2], y[:, ::2])
    same(x.sum(0), y.sum(0))
    same(wnp.dot(x, x), y @ y)
    same(weft.jit(lambda x: x.T - 1)(x), y.T - 1)
    same(vmap(wnp.sum)(x), y.sum(1))
    same(weft.device_get(x), y)
    assert str(x) == str(wnp.asarray(y))
    assert float(x[2, 1]) == pytest.approx(float(y[2, 1]))


def test_results_lie_a_part_on_each_device():
    devices = weft.local_devices()
    for size in (1, 5, 8):
        x = normal(size, 2)
        out = pmap(lambda x: x + 1)(x)
        assert out.devices() == set(devices[:size])
        assert len(out.addressable_shards) == size
        for shard in out.addressable_shards:
            same(shard.data, (x + 1)[shard.index])
    out = pmap(lambda x: x * 2, out_axes=1)(B)
    for shard in out.addressable_shards:
        same(shard.data, 2 * np.moveaxis(B, 0, 1)[shard.index])


def test_arguments_with_parts_on_the_devices_stay_there():
    devices = weft.local_devices()[:4]
    parts = [normal(2, 3) for _ in devices]
    x = weft.device_put_sharded(parts, devices)
    same(pmap(lambda x: x * 2)(x), 2 * np.stack(parts))
    y = weft.device_put_replicated(parts[0], devices)
    same(pmap(wnp.add)(x, y), np.stack(parts) + parts[0])


# --- errors: what was expected, what came, the argument's name ---

ones = np.ones
# fmt: off
ERRORS = {
    "no function": (lambda: pmap(3), TypeError, ["pmap", "function", "3"]),
    "lengths differ": (
        lambda: pmap(lambda weights, data: data)(ones((2, 3)), {"a": ones(3)}),
        ValueError,
        ["pmap", "weights", "float32[2,3]", "data['a']", "float32[3]", "length 2", "length 3"],
    ),
    "keyword lengths differ": (
        lambda: pmap(lambda x, *, scale: x)(ones(2), scale=ones(3)), ValueError, ["pmap", "scale"],
    ),
    "axis_size differs": (
        lambda: pmap(lambda x: x, axis_size=4)(ones(3)), ValueError, ["axis_size", "4", "3"],
    ),
    "more than devices": (
        lambda: pmap(lambda x: x)(ones(weft.local_device_count() + 1)), ValueError,
        [f"requires {weft.local_device_count() + 1} replicas",
         f"but only {weft.local_device_count()} XLA devices are available"],
    ),
    "a product that is more than devices": (
        lambda: pmap(pmap(lambda x: x))(ones((3, weft.local_device_count()))), ValueError,
        [f"requires {3 * weft.local_device_count()} replicas",
         f"only {weft.local_device_count()} XLA devices"],
    ),
    "not as long as devices": (
        lambda: pmap(lambda x: x, devices=weft.devices()[:3])(ones(2)), ValueError,
        ["devices", "3", "2"],
    ),
    "no devices": (lambda: pmap(lambda x: x, devices=[])(ones(2)), ValueError, ["devices"]),
    "one device twice": (
        lambda: pmap(lambda x: x, devices=weft.devices()[:1] * 2)(ones(2)), ValueError, ["twice"],
    ),
    "what is no device": (
        lambda: pmap(lambda x: x, devices=["cpu"])(ones(1)), TypeError, ["devices", "cpu"],
    ),
    "an unhashable name": (
        lambda: pmap(lambda x: x, axis_name=["i"])(ones(2)), TypeError,
        ["pmap: axis_name must be hashable", "['i']"],
    ),
    "nothing mapped": (
        lambda: pmap(lambda x: x, in_axes=None)(ones(2)), ValueError, ["mapped", "axis_size"],
    ),
    "no arguments": (lambda: pmap(lambda: 1)(), ValueError, ["mapped", "axis_size"]),
    "in_axes of a wrong kind": (
        lambda: pmap(lambda x: x, in_axes="first")(ones(2)), TypeError,
        ["pmap", "in_axes", "first"],
    ),
    "a leaf of in_axes of a wrong kind": (
        lambda: pmap(lambda x: x, in_axes=(1.5,))(ones(2)), TypeError, ["pmap", "1.5"],
    ),
    "too many in_axes": (
        lambda: pmap(lambda x: x, in_axes=(0, 0))(ones(2)), ValueError, ["pmap", "in_axes"],
    ),
    "in_axes of another tree": (
        lambda: pmap(lambda x: x, in_axes=({"b": 0},))({"a": ones(2)}), ValueError,
        ["pmap", "in_axes"],
    ),
    "an axis out of range": (
        lambda: pmap(lambda image: image, in_axes=2)(ones((2, 3))), ValueError,
        ["pmap", "axis 2", "image", "float32[2,3]"],
    ),
    "a scalar has no axis": (lambda: pmap(lambda x: x)(1.0), ValueError, ["pmap", "argument x"]),
    "out_axes None for a mapped result": (
        lambda: pmap(lambda x: x * 2, out_axes=None)(ones(2)), ValueError,
        ["pmap", "out_axes", "None"],
    ),
    "out_axes out of range": (
        lambda: pmap(lambda x: x, out_axes=1)(ones(2)), ValueError, ["pmap", "out_axes"],
    ),
    "out_axes of another tree": (
        lambda: pmap(lambda x: x, out_axes=(0, 0))(ones(2)), ValueError, ["pmap", "out_axes"],
    ),
    "a static argument that isn't hashable": (
        lambda: pmap(lambda x, s: x, static_broadcasted_argnums=1)(ones(2), [1]), ValueError,
        ["pmap", "hashable"],
    ),
    "a static argument that isn't there": (
        lambda: pmap(lambda x, s=1: x, static_broadcasted_argnums=1)(ones(2)), ValueError,
        ["pmap", "static_broadcasted_argnums"],
    ),
    "static and donated": (
        lambda: pmap(lambda x, s: x, static_broadcasted_argnums=1, donate_argnums=1)(ones(2), 1),
        ValueError, ["static", "donate"],
    ),
    "an argument that is no array": (
        lambda: pmap(lambda x, name: x)(ones(2), "text"), TypeError, ["pmap", "name", "str"],
    ),
    "a result that is no array": (
        lambda: pmap(lambda x: {"a": "text"})(ones(2)), TypeError, ["pmap", "str"],
    ),
    "an unbound name": (
        lambda: pmap(lambda x: lax.psum(x, "j"), axis_name="i")(ones(2)),
        weft.errors.UnboundAxisError, ["psum", "'j'", "'i'"],
    ),
    "a branch on a traced value": (
        lambda: pmap(lambda x: x if x > 0 else -x)(ones(2)), weft.errors.TracerBoolConversionError,
        [],
    ),
    "an array of a traced value": (
        lambda: pmap(lambda x: np.sin(np.asarray(x)))(ones(2)),
        weft.errors.TracerArrayConversionError, [],
    ),
    "global_arg_shapes of other shapes": (
        lambda: pmap(lambda x: x, global_arg_shapes=((2, 2),))(ones((2, 3))), ValueError,
        ["pmap", "global_arg_shapes", "(2, 2)", "(3,)"],
    ),
}
# fmt: on


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, words = ERRORS[name]
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, (missing, str(caught.value))


def test_an_error_of_the_function_comes_as_it_is_and_leaves_no_name_behind():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pmap(f, axis_name="i")(A)
    with pytest.raises(weft.errors.UnboundAxisError, match="in scope: none"):
        lax.axis_size("i")
    same(pmap(lambda x: x, axis_name="i")(A), A)


def test_a_tracer_that_escapes_is_named():
    kept = []
    pmap(lambda x: kept.append(x) or x)(A)
    with pytest.raises(weft.errors.UnexpectedTracerError):
        kept[0] + 1


# --- what is kept ---


def test_a_function_mapped_again_finds_what_was_compiled():
    traces = []

    def f(x, y):
        traces.append(1)
        return x + lax.psum(y, "i")

    x = np.arange(8.0, dtype=np.float32)
    mesh = weft.make_mesh((8,), "i")
    spec = weft.sharding.PartitionSpec("i")
    for _ in range(3):
        for axes in ([0, 0], (0, None), 0):
            out = pmap(f, axis_name="i", in_axes=axes)(x, x)
            assert out.shape == ((8, 8) if axes == (0, None) else (8,))
    assert len(traces) == 3
    traces.clear()
    for _ in range(3):
        mapped = weft.shard_map(f, mesh=mesh, in_specs=(spec, spec), out_specs=spec)
        np.testing.assert_array_equal(mapped(x, x), x + 28)
    assert len(traces) == 1
