"""vmap: where the mapped axis is in arguments and results, and what is refused."""

import functools

import numpy as np
import pytest

import weft
from weft import lax
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum, transpose
from weft.primitives.trigonometric import sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance)


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_axes_of_arguments_and_results():
    f = lambda x: x * 2 + total(x)  # noqa: E731
    for axis in (0, 1, 2, -1, -2, -3):
        rows = [np.take(A, i, axis) for i in range(A.shape[axis])]
        expected = [r * 2 + r.sum() for r in rows]
        same(weft.vmap(f, axis)(A), np.stack(expected))
        for out in (0, 1, 2, -1, -3):
            same(weft.vmap(f, (axis,), out)(A), np.stack(expected, out))


def test_several_arguments():
    x, y = np.ones((3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    f = lambda x, y: x + y  # noqa: E731
    same(weft.vmap(f, (0, 1))(x, y), x + y.T)
    same(weft.vmap(f, (0, None))(x, 5.0), x + 5)
    same(weft.vmap(f, (None, 1), 1)(f32([10.0, 20.0]), y), np.array([[10.0], [20.0]]) + y)
    same(weft.vmap(f, [0, 1])(x, y), x + y.T)
    same(weft.vmap(weft.vmap(f, (None, 0)), (0, None))(f32([1, 2]), f32([10, 20, 30])),
         [[11, 21, 31], [12, 22, 32]])  # fmt: skip


def test_trees_of_axes():
    f = lambda p, x: {"y": p["w"] * x + p["b"], "b": p["b"]}  # noqa: E731
    p = {"w": f32([1.0, 2.0, 3.0]), "b": f32(10.0)}
    x = f32([1.0, 1.0, 2.0])
    out = weft.vmap(f, ({"w": 0, "b": None}, 0), {"y": 0, "b": None})(p, x)
    same(out["y"], [11, 12, 16])
    same(out["b"], 10.0)
    out = weft.vmap(f, ({"w": 0, "b": None}, None))(p, 1.0)
    same(out["y"], [11, 12, 13])
    same(out["b"], [10, 10, 10])
    # a prefix: one axis for a whole subtree
    out = weft.vmap(lambda p: p["a"] + p["b"][0], ({"a": 0, "b": 1},))(
        {"a": np.ones((2,), np.float32), "b": [np.ones((3, 2), np.float32)]}
    )
    same(out, np.full((2, 3), 2.0))


def test_keyword_arguments_are_mapped_over_axis_0():
    f = lambda x, scale=1.0: x * scale  # noqa: E731
    same(weft.vmap(f)(f32([1.0, 2.0]), scale=f32([3.0, 4.0])), [3.0, 8.0])
    same(weft.vmap(f, in_axes=(None,))(2.0, scale=f32([3.0, 4.0])), [6.0, 8.0])


def test_axis_size():
    same(weft.vmap(lambda: 3.0, axis_size=4)(), [3.0] * 4)
    same(weft.vmap(lambda x: x, in_axes=None, axis_size=2)(5.0), [5.0, 5.0])
    same(weft.vmap(lambda x: x, axis_size=2)(f32([1.0, 2.0])), [1.0, 2.0])
    with pytest.raises(ValueError, match="axis_size: 3"):
        weft.vmap(lambda x: x, axis_size=3)(f32([1.0, 2.0]))
    for mapper in (weft.vmap, weft.pmap):
        with pytest.raises(TypeError, match=r"axis_size must be an int; got '2'"):
            mapper(lambda x: x, axis_size="2")(f32([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"at least one argument.*axis_size"):
        weft.vmap(lambda x: x, in_axes=None)(5.0)


def test_length_zero_and_one():
    assert weft.vmap(lambda x: x * 2)(f32(np.zeros((0, 3)))).shape == (0, 3)
    assert weft.vmap(total)(f32(np.zeros((1, 3)))).shape == (1,)


def test_results_that_do_not_depend_on_the_batch():
    _, z = weft.vmap(lambda x: (x, 7.0))(f32([1.0, 2.0]))
    same(z, [7.0, 7.0])
    _y, z = weft.vmap(lambda x: (x, 7.0), out_axes=(0, None))(f32([1.0, 2.0]))
    assert np.shape(z) == ()
    with pytest.raises(
        ValueError, match=r"(?s)out_axes is None for an output of <lambda>.*depends"
    ):
        weft.vmap(lambda x: x, out_axes=None)(f32([1.0, 2.0]))
    assert weft.vmap(lambda x: None)(f32([1.0])) is None


def test_results_that_custom_rules_give_do_not_depend_on_the_batch_if_their_arguments_do_not():
    pushed, pulled = weft.custom_jvp(lambda x: x * 3), weft.custom_vjp(lambda x: x * 3)
    pushed.defjvp(lambda primals, tangents: (pushed(*primals), tangents[0] * 3))
    pulled.defvjp(lambda x: (x * 3, None), lambda _, ct: (ct * 3,))
    for f in (pushed, pulled, weft.jit(pushed), weft.checkpoint(pulled)):
        of_sum = weft.vmap(lambda x, f=f: f(weft.lax.psum(x, "i")), axis_name="i", out_axes=None)
        assert float(of_sum(f32([1.0, 2.0, 4.0]))) == 21.0
        of_other = weft.vmap(lambda x, y, f=f: f(y), (0, None), out_axes=None, axis_name="i")
        assert float(of_other(f32([1.0, 2.0]), 5.0)) == 15.0
        both = weft.vmap(lambda x, y, f=f: (f(x), f(y)), (0, None), axis_name="i")
        same(both(f32([1.0, 2.0]), 5.0), ([3.0, 6.0], [15.0, 15.0]))


def test_results_of_custom_rules_that_depend_on_the_batch_have_an_axis():
    pushed, pulled = weft.custom_jvp(lambda x: x * 3), weft.custom_vjp(lambda x: x * 3)
    pushed.defjvp(lambda primals, tangents: (pushed(*primals), tangents[0] * 3))
    pulled.defvjp(lambda x: (x * 3, None), lambda _, ct: (ct * 3,))
    for f in (pushed, pulled, weft.jit(pushed), weft.jit(pulled)):
        for g in (f, lambda x, f=f: f(x + weft.lax.psum(x, "i"))):
            with pytest.raises(ValueError, match="out_axes is None for an output"):
                weft.vmap(g, axis_name="i", out_axes=None)(f32([1.0, 2.0]))


def test_scalars_of_python_and_weak_types():
    y = weft.vmap(lambda x, s: x * s, (0, None))(np.ones(2, np.float16), 2.0)
    assert y.dtype == np.float16


def test_refused_axes():
    x, y = np.ones((3, 2), np.float32), np.ones((4,), np.float32)
    with pytest.raises(ValueError, match="one length") as error:
        weft.vmap(lambda a, b: a)(x, y)
    text = str(error.value)
    assert "argument a: float32[3,2], axis 0: length 3" in text
    assert "argument b: float32[4], axis 0: length 4" in text
    with pytest.raises(ValueError, match=r"axis 2 is out of range for argument a.*float32\[3,2\]"):
        weft.vmap(lambda a: a, 2)(x)
    with pytest.raises(ValueError, match=r"axis 0 is out of range for argument a.*float32\[\]"):
        weft.vmap(lambda a: a)(1.0)
    with pytest.raises(ValueError, match=r"one entry for each positional argument.*got 1 entries"):
        weft.vmap(lambda a, b: a, (0,))(x, x)
    with pytest.raises(TypeError, match=r"in_axes must be an int.*got str"):
        weft.vmap(lambda a: a, "0")
    with pytest.raises((TypeError, ValueError), match=r"in_axes"):
        weft.vmap(lambda a: a["x"], ({"y": 0},))({"x": x})
    with pytest.raises(ValueError, match=r"out_axes=3 is out of range.*float32\[3,2\], of 2 axes"):
        weft.vmap(lambda a: a, 0, 3)(x)
    with pytest.raises((TypeError, ValueError), match="out_axes"):
        weft.vmap(lambda a: a, 0, (0, 0))(x)
    with pytest.raises(TypeError, match=r"vmap: axes must be ints or None; got 'a' for a"):
        weft.vmap(lambda a: a, ("a",))(x)


def test_branching_on_a_batch_is_refused():
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(weft.errors.TracerBoolConversionError, match="represents 2 values at once"):
        weft.vmap(f)(f32([1.0, -1.0]))
    with pytest.raises(weft.errors.TracerArrayConversionError):
        weft.vmap(lambda x: np.sin(np.asarray(x)))(f32([1.0]))


def test_nested_with_every_combination_of_axes():
    f = lambda x, y: x * y + total(x * 2)  # noqa: E731
    x, y = A, A + 1
    expected = np.stack([[x[i, :, j] * y[i, :, j] + 2 * x[i, :, j].sum() for j in range(4)]
                         for i in range(2)])  # fmt: skip
    same(weft.vmap(weft.vmap(f, (1, 1)))(x, y), expected)
    same(weft.vmap(weft.vmap(f, (0, 0)), (2, 2), 1)(x, y), expected)
    same(weft.jit(weft.vmap(weft.vmap(f, (1, 1))))(x, y), expected)


def test_per_example_gradients():
    loss = lambda w, x, y: (total(w * x) - y) * (total(w * x) - y)  # noqa: E731
    w, x, y = f32([1.0, 2.0]), f32([[1, 0], [0, 1], [1, 1]]), f32([0.0, 0.0, 1.0])
    g = weft.vmap(weft.grad(loss), (None, 0, 0))(w, x, y)
    same(g, [[2.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
    g = weft.grad(lambda w: total(weft.vmap(loss, (None, 0, 0))(w, x, y)))(w)
    same(g, [6.0, 8.0])


def test_gradient_through_vmap_over_another_axis():
    f = lambda x: total(exp(weft.vmap(sin, 1, 1)(x)))  # noqa: E731
    x = A[0] / 10
    same(weft.grad(f)(x), np.exp(np.sin(x)) * np.cos(x), 1e-5)


def test_vmap_of_jit_is_one_program():
    inner = weft.jit(lambda x: sin(x) * 2)
    jaxpr = weft.make_jaxpr(weft.vmap(inner))(f32([1.0, 2.0]))
    assert [e.primitive.name for e in jaxpr.equations] == ["call"]
    same(weft.vmap(inner)(f32([1.0, 2.0])), 2 * np.sin([1.0, 2.0]))


def test_closure_over_outer_batches():
    f = lambda x: weft.vmap(lambda y: x * y + total(A[0]))(f32([1.0, 2.0]))  # noqa: E731
    s = A[0].sum()
    same(weft.vmap(f)(f32([1.0, 10.0])), [[1 + s, 2 + s], [10 + s, 20 + s]])


def test_batched_integer_and_boolean_outputs():
    y = weft.vmap(lambda x: (x > 1, x + 1))(np.arange(3, dtype=np.int32))
    assert y[0].dtype == np.bool_
    same(y[1], [1, 2, 3])


def test_decorator_and_methods():
    class Model:
        def __init__(self, k):
            self.k = k

        @functools.partial(weft.vmap, in_axes=(None, 0))
        def __call__(self, x):
            return x * self.k

    same(Model(2.0)(f32([1.0])), [2.0])  # it isn't mapped: it may be anything
    same(weft.vmap(functools.partial(lambda k, x: k * x, 2.0))(f32([1.0, 2.0])), [2, 4])


def test_moving_axes_does_not_disturb_layout():
    f = lambda x: transpose(x, permutation=(1, 0))  # noqa: E731
    same(weft.vmap(f, 2, 0)(A), np.stack([A[:, :, i].T for i in range(4)]))


# --- what isn't mapped may be anything ---


class Named:
    scale = 3.0


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_arguments_that_are_not_mapped_arrive_untouched(wrap):
    seen = []

    def f(x, thing, pair, *, key=None):
        seen.append((thing, pair[0]))
        return x * pair[1]

    x = f32([1.0, 2.0])
    for thing in (Named(), "text", np.sin, object, {1, 2}):
        got = wrap(lambda x: weft.vmap(f, (0, None, None))(x, thing, (thing, 2.0)))(x)  # noqa: B023
        same(got, 2 * x)
        assert seen.pop() == (thing, thing)
    same(weft.vmap(lambda m, x: m.scale * x, (None, 0))(Named(), x), 3 * x)
    same(
        weft.vmap(lambda x, f: f(x), (0, None))(np.ones((2, 3), np.float32), sin)[0],
        [np.sin(1)] * 3,
    )
    axes = ({"w": 0, "name": None},)
    same(weft.vmap(lambda p: p["w"] * len(p["name"]), axes)({"w": x, "name": "abc"}), 3 * x)
    same(weft.grad(lambda w: weft.vmap(f, (0, None, None))(x * w, "s", (0, 1.0)).sum())(2.0), 3.0)


def test_numbers_that_are_not_mapped_stay_numbers():
    x = f32([1.0, 2.0, 3.0])
    steps = weft.jit(lambda x, n: x * lax.iota("float32", n), static_argnums=1)
    same(weft.vmap(steps, (0, None))(x, 4), np.outer(x, np.arange(4)))
    same(
        weft.vmap(lambda x, o: x * o["n"] if o["on"] else x, (0, None))(x, {"n": 2, "on": True}),
        x * 2,
    )
    branch = weft.vmap(lambda x, limit: x if limit > 0.0 else -x, in_axes=(0, None))
    same(weft.jit(lambda x: branch(x, 1.0) + branch(x, -1.0))(x), x * 0)
    out = weft.vmap(lambda x, n: n, (0, None))(x, 2)
    assert (out.shape, out.dtype, out.weak_type) == ((3,), np.int32, True)
    with pytest.raises(ValueError, match=r"axis 0 is out of range for argument n"):
        weft.vmap(lambda x, n: x)(x, 2)


def test_what_is_mapped_must_be_an_array():
    with pytest.raises(TypeError, match=r"argument thing of .*must be an array"):
        weft.vmap(lambda x, thing: x)(f32([1.0]), "text")
    with pytest.raises(TypeError, match=r"argument thing of .*must be an array"):
        weft.vmap(lambda x, other, thing: x, (0, None, 0))(f32([1.0]), "text", Named())


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("transform", [weft.vmap, weft.pmap])
def test_a_bool_is_no_axis(transform, flag):
    x = f32([[1.0]])
    with pytest.raises(TypeError, match=f"in_axes must be .*got bool {flag}"):
        transform(lambda x: x, in_axes=flag)
    with pytest.raises(TypeError, match=f"axes must be ints or None; got {flag}"):
        transform(lambda x: x, in_axes=(flag,))(x)
    with pytest.raises(TypeError, match=f"out_axes must be ints or None; got {flag}"):
        transform(lambda x: x, out_axes=flag)(x)


AXIS_OR_MATRIX = {  # what one element refuses, though the batch would do
    "concatenate": (lambda x: lax.concatenate([x, x], -1), "dimension -1"),
    "concatenate of a scalar": (lambda x: lax.concatenate([x[0], x[0]], -1), "dimension -1"),
    "rev": (lambda x: lax.rev(x, (-1,)), "axis -1"),
    "lu": (lax.linalg.lu, "matrices"),
    "qr": (lax.linalg.qr, "matrices"),
    "svd": (lax.linalg.svd, "matrices"),
    "cholesky": (lax.linalg.cholesky, "matrices"),
    "hessenberg": (lax.linalg.hessenberg, "matrices"),
    "schur": (lax.linalg.schur, "matrices"),
    "eig": (lax.linalg.eig, "matrices"),
}


@pytest.mark.parametrize("name", AXIS_OR_MATRIX)
def test_what_one_element_refuses_a_batch_refuses(name):
    f, says = AXIS_OR_MATRIX[name]
    one = weft.vmap(f)
    for rank, call in ((1, f), (2, one), (2, weft.jit(one)), (3, weft.vmap(one))):
        with pytest.raises(ValueError, match=says):
            call(np.ones((3,) * rank, np.float32))
