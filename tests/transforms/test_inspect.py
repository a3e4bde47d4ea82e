"""make_jaxpr and eval_shape; and the two notations of a jaxpr."""

import numpy as np
import pytest

import weft
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def test_make_jaxpr_in_both_notations():
    jaxpr = weft.make_jaxpr(lambda x, y: (sin(x) * y, x))(f32([1.0, 2.0]), 3.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[2] b:f32[]*. let\n"
        "    c:f32[2] = sin a\n"
        "    d:f32[2] = mul c b\n"
        "  in (d, a) }"
    )
    assert jaxpr.pretty_print(typed=False) == (
        "{ lambda ; a b. let\n    c = sin a\n    d = mul c b\n  in (d, a) }"
    )


def test_literals_params_constants_and_unused_results():
    w = f32([1.0, 2.0])

    def f(x):
        cos(x)
        return reduce_sum(x * w * 2.0, axes=(0,))

    assert str(weft.make_jaxpr(f)(f32([1.0, 2.0]))) == (
        "{ lambda a:f32[2]; b:f32[2]. let\n"
        "    _:f32[2] = cos b\n"
        "    c:f32[2] = mul b a\n"
        "    d:f32[2] = mul c 2.0:f32[]*\n"
        "    e:f32[] = reduce_sum[axes=(0,)] d\n"
        "  in (e,) }"
    )


def test_jaxprs_inside_params_are_printed_too():
    inner = weft.jit(sin)
    text = str(weft.make_jaxpr(lambda x: inner(x))(f32(1.0)))
    assert text == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = call[\n"
        "      name=sin\n"
        "      jaxpr={ lambda ; a:f32[]. let\n"
        "          b:f32[] = sin a\n"
        "        in (b,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_many_names():
    def f(x):
        for _ in range(60):
            x = sin(x)
        return x

    text = weft.make_jaxpr(f)(1.0).pretty_print(typed=False)
    assert " z = sin y" in text
    assert " ba = sin z" in text


def test_return_shape():
    jaxpr, shape = weft.make_jaxpr(lambda x: {"y": x * 2}, return_shape=True)(f32([1.0]))
    assert shape == {"y": weft.ShapeDtypeStruct((1,), np.float32)}
    assert len(jaxpr.eqns) == 1
    assert jaxpr.jaxpr.eqns[0].primitive is jaxpr.equations[0].primitive


def test_static_arguments_keywords_and_structs():
    f = lambda x, n, scale=1.0: x * n * scale  # noqa: E731
    jaxpr = weft.make_jaxpr(f, static_argnums=1)(2.0, 3, scale=4.0)
    assert [v.aval.dtype for v in jaxpr.invars] == [np.float32, np.float32]
    jaxpr = weft.make_jaxpr(sin)(weft.ShapeDtypeStruct((2, 3), "float32"))
    assert str(jaxpr.out_avals[0]) == "float32[2,3]"
    jaxpr = weft.make_jaxpr(sin)(np.ones((2, 3)))  # float64 becomes float32
    assert str(jaxpr.out_avals[0]) == "float32[2,3]"
    with pytest.raises(ValueError, match="static argument 'n'"):
        weft.make_jaxpr(f, static_argnums=1)(2.0, [3])
    with pytest.raises(TypeError, match=r"make_jaxpr: argument x of <lambda>.*got str 'text'"):
        weft.make_jaxpr(f)("text", 1)
    with pytest.raises(TypeError, match="make_jaxpr: expected a function"):
        weft.make_jaxpr(3)


def test_of_derivatives():
    jaxpr = weft.make_jaxpr(weft.grad(lambda x: sin(x) * x))(1.0)
    names = [e.primitive.name for e in jaxpr.equations]
    assert names.count("sin") == 1
    assert names.count("cos") == 1
    pushed = weft.make_jaxpr(lambda x, t: weft.jvp(sin, (x,), (t,)))(f32(1.0), f32(1.0))
    assert [e.primitive.name for e in pushed.equations] == ["sin", "cos", "mul"]


def test_the_function_is_not_run_on_values():
    def f(x):
        assert isinstance(x, weft.core.Tracer)
        return x

    weft.make_jaxpr(f)(f32(1.0))
    weft.eval_shape(f, f32(1.0))


def test_eval_shape():
    big = weft.ShapeDtypeStruct((10**6, 10**6), "float32")
    out = weft.eval_shape(lambda x, y: {"s": reduce_sum(x, axes=(0,)), "y": y}, big, y=3)
    assert out["s"] == weft.ShapeDtypeStruct((10**6,), np.float32)
    assert out["y"] == weft.ShapeDtypeStruct((), np.int32)
    with pytest.raises(TypeError, match="don't broadcast"):
        weft.eval_shape(lambda x, y: x + y, f32([1, 2]), f32([1, 2, 3]))
    assert weft.eval_shape(lambda: None) is None


def test_eval_shape_inside_a_trace():
    def f(x):
        assert weft.eval_shape(sin, x).shape == (2,)
        return x

    weft.jit(f)(f32([1.0, 2.0]))
    weft.grad(lambda x: reduce_sum(f(x), axes=(0,)))(f32([1.0, 2.0]))
