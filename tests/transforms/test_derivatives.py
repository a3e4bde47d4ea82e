"""grad, value_and_grad: every option, and what is refused."""

import collections
import math

import numpy as np
import pytest

import weft
from weft import errors, lax
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import sin, tanh


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


def matvec(a, x):
    return reduce_sum(a * x, axes=(1,))


# --- grad ---


def test_grad_of_elementary_functions():
    same(weft.grad(sin)(0.3), np.cos(0.3))
    same(weft.grad(lambda x: x * x * x)(2.0), 12.0)
    same(weft.grad(lambda x: exp(x) / x)(2.0), np.exp(2) / 2 - np.exp(2) / 4)


def test_higher_orders():
    f = lambda x: x * x * x * x  # noqa: E731
    for expected in (32.0, 48.0, 48.0, 24.0, 0.0, 0.0):
        f = weft.grad(f)
        same(f(2.0), expected)


def test_python_control_flow_on_values_works_under_grad():
    def f(x):
        if x.item() > 1:
            return x * x
        y = x
        while y < 3:
            y = y * 2
        return y

    same(weft.grad(f)(2.0), 4.0)
    same(weft.grad(f)(0.5), 8.0)
    same(weft.grad(weft.grad(f))(2.0), 2.0)
    same(weft.jvp(f, (0.5,), (1.0,))[1], 8.0)


NUMBERS = {
    "float": float,
    "complex": lambda x: complex(x).real,
    "math": math.sin,
    "fsum": lambda x: math.fsum([x, 1.0]),
    "tolist": lambda x: x.tolist(),
}
FORWARD = lambda f: lambda x: weft.jvp(f, (x,), (1.0,))[1]  # noqa: E731


@pytest.mark.parametrize("transform", [weft.grad, FORWARD, lambda f: weft.grad(weft.grad(f))])
@pytest.mark.parametrize("way", NUMBERS)
def test_a_number_that_would_lose_its_derivative_is_refused(way, transform):
    f = lambda x: x * NUMBERS[way](x)  # noqa: E731
    with pytest.raises(
        errors.ConcretizationTypeError, match=r"its derivative would be lost\n  fix"
    ):
        transform(f)(2.0)
    number = NUMBERS[way](np.float32(2.0))
    stopped = transform(lambda x: x * x * NUMBERS[way](lax.stop_gradient(x)))(2.0)
    same(stopped, transform(lambda x: x * x * number)(2.0))


def test_numbers_without_a_derivative_may_be_taken():
    def f(x, i):
        return x * int(x) * x.item() * float(i) * float(f"{x:.1f}")

    same(weft.grad(f)(2.0, 3), 24.0)
    same(weft.jvp(lambda x: f(x, 3), (2.0,), (1.0,))[1], 24.0)


def test_argnums():
    f = lambda x, y, z=1.0: x * x * y + z * y  # noqa: E731
    same(weft.grad(f)(2.0, 3.0), 12.0)
    same(weft.grad(f, 1)(2.0, 3.0), 5.0)
    same(weft.grad(f, argnums=-1)(2.0, 3.0), 5.0)
    same(weft.grad(f, 1)(2.0, 3.0, z=4.0), 8.0)
    pair = weft.grad(f, (1, 0))(2.0, 3.0)
    assert isinstance(pair, tuple)
    same(pair[0], 5.0)
    same(pair[1], 12.0)
    (single,) = weft.grad(f, (0,))(2.0, 3.0)
    same(single, 12.0)
    listed = weft.grad(f, [0, -1])(2.0, 3.0)
    same(listed[1], 5.0)
    same(weft.grad(f, np.int64(1))(2.0, 3.0), 5.0)


def test_argnums_out_of_range_or_by_keyword():
    f = lambda x, y: x * y  # noqa: E731
    with pytest.raises(TypeError, match=r"grad: argnums=2 .*argument 2 .*\(x, y\).*2 positional"):
        weft.grad(f, 2)(1.0, 2.0)
    with pytest.raises(TypeError, match=r"argnums=1 .*the call has 1 positional"):
        weft.grad(f, 1)(1.0, y=2.0)
    same(weft.grad(f)(1.0, y=2.0), 2.0)


def test_trees():
    Weights = collections.namedtuple("Weights", "w b")

    def loss(weights, x):
        return total(tanh(matvec(weights.w, x["in"]) + weights.b))

    w = Weights(f32([[0.1, 0.2], [0.3, 0.4]]), f32([0.5, 0.6]))
    x = {"in": f32([1.0, 2.0]), "unused": None}
    g = weft.grad(loss)(w, x)
    assert isinstance(g, Weights)
    slope = 1 - np.tanh(np.asarray(w.w) @ [1.0, 2.0] + np.asarray(w.b)) ** 2
    same(g.b, slope)
    same(g.w, np.outer(slope, [1.0, 2.0]))
    gx = weft.grad(loss, 1)(w, x)
    assert gx["unused"] is None
    same(gx["in"], np.asarray(w.w).T @ slope)


def test_value_and_grad():
    value, g = weft.value_and_grad(lambda x, y: x * y)(2.0, 3.0)
    same(value, 6.0)
    same(g, 3.0)
    value, (gx, gy) = weft.value_and_grad(lambda x, y: x * y, (0, 1))(2.0, 3.0)
    same(gx, 3.0)
    same(gy, 2.0)


def test_has_aux():
    aux_seen = {}

    def f(x):
        aux_seen["y"] = x * 3
        return x * x, {"y": aux_seen["y"], "text": "kept", "n": 3, "none": None}

    g, aux = weft.grad(f, has_aux=True)(2.0)
    same(g, 4.0)
    assert aux["text"] == "kept"
    assert aux["n"] == 3
    assert aux["none"] is None
    assert isinstance(aux["y"], weft.Array)  # not the tracer
    same(aux["y"], 6.0)
    (value, aux), g = weft.value_and_grad(f, has_aux=True)(2.0)
    same(value, 4.0)
    same(aux["y"], 6.0)
    same(g, 4.0)


def test_aux_is_a_value_of_the_enclosing_transformation():
    def outer(x):
        g, aux = weft.grad(lambda y: (x * y * y, x * y), has_aux=True)(3.0)
        return g * aux  # 6x * 3x

    same(outer(2.0), 72.0)
    same(weft.grad(outer)(2.0), 72.0)
    same(weft.jit(weft.grad(outer))(2.0), 72.0)


def test_has_aux_needs_a_pair():
    expected = r"grad: with has_aux=True <lambda> .*a pair \(output, auxiliary data\); got "
    for bad, got in (
        (lambda x: x, "float32"),
        (lambda x: (x, 1, 2), "a tuple of 3"),
        (lambda x: [x, 1], "a list of 2"),
    ):
        with pytest.raises(TypeError, match=expected + got):
            weft.grad(bad, has_aux=True)(1.0)


def test_holomorphic():
    z = weft.device_put(np.complex64(0.3 + 0.4j))
    same(weft.grad(lambda z: z * z * z, holomorphic=True)(z), 3 * (0.3 + 0.4j) ** 2)
    same(weft.grad(sin, holomorphic=True)(z), np.cos(0.3 + 0.4j))
    with pytest.raises(TypeError, match=r"holomorphic=True arguments must be complex; got float32"):
        weft.grad(sin, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match=r"real floating-point scalar; got complex64"):
        weft.grad(sin)(z)


def test_complex_argument_with_real_output():
    from weft.primitives.complex_numbers import imag, real

    z = weft.device_put(np.complex64(3 + 4j))
    # |z|²: jax's convention gives the conjugate of the direction of steepest ascent
    g = weft.grad(lambda z: real(z) * real(z) + imag(z) * imag(z))(z)
    same(g, 6 - 8j)


def test_integers():
    with pytest.raises(TypeError, match=r"grad: .*floating-point.*got int32\[\] for x of <lambda>"):
        weft.grad(lambda x: x * 1.0)(3)
    g = weft.grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    same(g[0], 3.0)
    assert g[1].dtype == weft.dtypes.float0
    assert g[1].shape == ()
    g = weft.grad(lambda t: t["x"] * t["n"], allow_int=True)({"x": 2.0, "n": np.arange(3)[1]})
    same(g["x"], 1.0)
    assert g["n"].dtype == weft.dtypes.float0


def test_output_must_be_a_real_scalar():
    x = f32([1.0, 2.0])
    with pytest.raises(TypeError, match=r"grad: <lambda> .*must return a scalar.*got float32\[2\]"):
        weft.grad(lambda x: x * 2)(x)
    with pytest.raises(
        TypeError, match=r"(?s)must return one scalar; got a structure.*has_aux=True"
    ):
        weft.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match=r"real floating-point scalar; got int32\[\]"):
        weft.grad(lambda x: 3)(1.0)


def test_gradient_that_does_not_depend_on_the_argument():
    same(weft.grad(lambda x: 3.0)(f32([1.0, 2.0])), [0.0, 0.0])
    same(weft.grad(lambda x, y: y)(f32([1.0, 2.0]), 2.0), [0.0, 0.0])
    same(weft.grad(lambda x: x)(2.0), 1.0)


def test_dtypes_of_gradients():
    for dtype in (np.float16, weft.dtypes.bfloat16, np.float32):
        x = weft.device_put(np.ones(3, np.float32).astype(dtype))
        assert weft.grad(lambda x: total(x * x))(x).dtype == dtype
    assert weft.grad(lambda x: x * x)(1.0).weak_type
    assert not weft.grad(lambda x: x * x)(np.float32(1.0)).weak_type
    with weft.enable_x64():
        assert weft.grad(lambda x: x * x)(1.0).dtype == np.float64


def test_gradient_of_a_value_used_many_times():
    def f(x):
        y = x
        for _ in range(20):
            y = y + y * 0.5
        return y

    same(weft.grad(f)(1.0), 1.5**20)


def test_the_function_runs_once():
    calls = []

    def f(x):
        calls.append(1)
        return x * x

    weft.value_and_grad(f)(1.0)
    assert len(calls) == 1


def test_name_and_doc_are_kept():
    def loss(x):
        """The loss."""
        return x

    for transform in (
        weft.grad,
        weft.value_and_grad,
        weft.jacfwd,
        weft.jacrev,
        weft.vmap,
        weft.jit,
    ):
        assert transform(loss).__name__ == "loss"
        assert transform(loss).__doc__ == "The loss."


def test_an_option_that_has_nothing_to_do_is_refused():
    f = weft.custom_vjp(lambda x: x)
    with pytest.raises(
        NotImplementedError, match=r"optimize_remat(.|\n)*fix: leave it out"
    ) as info:
        f.defvjp(lambda x: (x, ()), lambda _, ct: (ct,), optimize_remat=True)
    assert "test_derivatives.py" in info.value.__notes__[0]


@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [
        ((0, 0), ValueError, "names an argument twice"),
        ((0, -2), ValueError, "names an argument twice"),
        (1.5, TypeError, "an integer or a sequence of integers; got 1.5"),
        ((0, 1.0), TypeError, "an integer or a sequence of integers"),
        ("x", TypeError, "an integer or a sequence of integers; got 'x'"),
    ],
)
@pytest.mark.parametrize("transform", [weft.grad, weft.jacfwd, weft.jacrev])
def test_wrong_argnums_are_refused(transform, argnums, error, message):
    with pytest.raises(error, match=message):
        transform(lambda x, y: x * y, argnums)(1.0, 2.0)
