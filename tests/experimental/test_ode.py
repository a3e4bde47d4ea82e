"""The solver of differential equations: against SciPy, closed forms and finite differences."""

import math

import numpy as onp
import pytest
from scipy.integrate import solve_ivp

import weft
import weft.numpy as np
from weft.errors import DerivativeError, ShapeError
from weft.experimental import enable_x64
from weft.experimental.ode import odeint


def van_der_pol(y, t, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] + np.sin(t)])


def scipy_van_der_pol(t, y, mu):
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] + onp.sin(t)]


def decay(y, t, rate):
    return -rate * y


def test_values():
    def system(y, t, p):
        a, b = y["pendulum"]
        return {
            "pendulum": np.stack([b, -np.sin(a)]),
            "growth": p["rate"] * y["growth"],
            "wave": [1j * p["rate"] * y["wave"][0]],
            "forced": van_der_pol(y["forced"], t, 1.5),
            "clock": 2 * t,
        }

    with enable_x64():
        t = np.array([1.0, 1.1, 2.0, 2.0, 4.5, 9.0])
        y0 = {
            "pendulum": np.array([1.0, 0.5]),
            "growth": np.eye(2),
            "wave": [np.array(1 + 0j)],
            "forced": np.array([1.0, 0.0]),
            "clock": np.array(1.0),
        }
        y = odeint(system, y0, t, {"rate": 0.5})
        t = onp.asarray(t)
        assert [x.shape for x in weft.tree_util.tree_leaves(y)] == [
            (6,), (6, 2), (6, 2, 2), (6, 2), (6,)
        ]  # fmt: skip
        angle, speed = y["pendulum"].T
        energy = speed**2 / 2 - np.cos(angle)
        onp.testing.assert_allclose(energy, energy[0], atol=1e-6)
        growth = onp.exp(0.5 * (t - 1))[:, None, None] * onp.eye(2)
        onp.testing.assert_allclose(y["growth"], growth, rtol=1e-6)
        onp.testing.assert_allclose(y["wave"][0], onp.exp(0.5j * (t - 1)), atol=1e-6)
        onp.testing.assert_allclose(y["clock"], t**2, rtol=1e-10)
        reference = solve_ivp(
            scipy_van_der_pol, (1, 9), [1.0, 0.0], "DOP853", onp.unique(t),
            args=(1.5,), rtol=1e-11, atol=1e-11,
        )  # fmt: skip
        onp.testing.assert_allclose(
            onp.delete(y["forced"], 3, 0), reference.y.T, rtol=1e-5, atol=1e-6
        )
        onp.testing.assert_array_equal(y["forced"][2], y["forced"][3])


def test_gradients_are_those_of_finite_differences():
    weights = onp.arange(1.0, 9.0).reshape(4, 2)

    def loss(y0, t, args, closed, steps):
        def slope(y, t, p, n):
            return closed * van_der_pol(y, t, p["mu"]) + n

        return np.sum(odeint(slope, y0, t, args, steps, rtol=1e-10, atol=1e-10) * weights)

    with enable_x64():
        both = weft.jit(weft.value_and_grad(loss, (0, 1, 2, 3)))
        point = (onp.array([1.0, 0.2]), onp.array([0.1, 0.5, 1.3, 2.0]), {"mu": 1.5}, 0.9)
        vector, unravel = weft.flatten_util.ravel_pytree(point)
        g = both(*point, 1)[1]
        found = weft.flatten_util.ravel_pytree(g)[0]
        h = 1e-4
        for i, one in enumerate(h * onp.eye(vector.size)):
            up, down = (both(*unravel(vector + d), 1)[0] for d in (one, -one))
            onp.testing.assert_allclose(found[i], (up - down) / (2 * h), rtol=1e-5, atol=1e-5)


def test_second_derivatives_and_batches_of_gradients():
    def last(rate):
        return odeint(decay, np.array(2.0), np.array([0.0, 1.0]), rate, rtol=1e-6, atol=1e-6)[-1]

    rates = np.array([0.0, 0.5, 2.0])
    first, second = weft.vmap(weft.value_and_grad(weft.grad(last)))(rates)
    onp.testing.assert_allclose(first, -2 * onp.exp(-rates), rtol=1e-4)
    onp.testing.assert_allclose(second, 2 * onp.exp(-rates), rtol=1e-4)


def test_gradients_with_complex_values():
    def end(w):
        y = odeint(lambda y, t: 1j * w * y, np.array(1 + 0j), np.array([0.0, 2.0]))[-1]
        return y.real

    onp.testing.assert_allclose(weft.grad(end)(1.5), -2 * math.sin(3.0), rtol=1e-4)


def test_directions_of_time():
    solve = weft.jit(lambda t: odeint(lambda y, t: y, np.array(2.0), t))
    for times in ([0.0, 1.0, 2.0], [1.0, 0.0, -1.0], [1.0, 1.0, 1.5]):
        t = onp.array(times)
        onp.testing.assert_allclose(solve(t), 2 * onp.exp(t - t[0]), rtol=1e-5)
    assert np.isnan(solve(onp.array([0.0, 2.0, 1.0]))).tolist() == [False, False, True]
    assert np.isnan(solve(onp.array([0.0, np.inf, np.inf]))).tolist() == [False, True, True]
    assert np.isnan(solve(onp.array([0.0, np.nan, 1.0]))).tolist() == [False, True, True]
    assert odeint(decay, np.array(2.0), [3], 1.0).tolist() == [2.0]
    assert odeint(lambda y, t: y, [], np.array([0.0, 1.0])) == []


def test_half_precision():
    y = odeint(decay, np.ones(2, "float16"), np.array([0, 1]), 1.0)
    assert y.dtype == "float16"
    onp.testing.assert_allclose(y[1], math.exp(-1), rtol=1e-3)


def test_what_cannot_be_solved_is_nan():
    def slopes(y, t, kind):
        return np.select(
            [kind == 0, kind == 1, kind == 2], [y * np.nan, y * y, np.sqrt(0.7 - t)], -y
        )

    t = np.array([0.0, 0.5, 0.9, 1.5, 3.0])
    y = weft.vmap(lambda kind: odeint(slopes, np.array(1.0), t, kind))(np.arange(4))
    assert np.isnan(y).sum(1).tolist() == [4, 2, 3, 0]
    onp.testing.assert_allclose(y[1, :3], 1 / (1 - t[:3]), rtol=1e-5)
    onp.testing.assert_allclose(y[3], onp.exp(-t), rtol=1e-5)
    stiff = odeint(lambda y, t: -1e6 * y, np.array(1.0), t[:3], mxstep=40)
    assert np.isnan(stiff).tolist() == [False, True, True]


def test_the_length_of_steps():
    steps = []

    def pulse(y, t):
        weft.debug.callback(lambda t: steps.append(float(t)), t)
        return 0 * y

    odeint(pulse, np.array(0.0), np.array([0.0, 1.0]), hmax=0.05)
    weft.effects_barrier()
    assert len({round(t, 2) for t in steps}) > 20
    assert max(steps) <= 1.0


def test_forward_mode_is_refused():
    with pytest.raises(DerivativeError, match=r"odeint.*forward-mode"):
        weft.jvp(lambda r: odeint(decay, np.array(1.0), np.array([0.0, 1.0]), r), (1.0,), (1.0,))


@pytest.mark.parametrize("y0", [onp.array([1.0, 0.0]), [1.0, 0.0], (1.0, 0.0)], ids=str)
@pytest.mark.parametrize("made", [np.stack, list, tuple])
def test_the_slope_may_come_in_another_structure(y0, made):
    """Of u'' = -k² u: cos(k t) and its derivative."""

    def solution(k):
        func = lambda y, t: made([y[1], -k * k * y[0]])  # noqa: E731
        ys = odeint(func, weft.tree_util.tree_map(np.float32, y0), times)
        return np.stack([ys[:, 0], ys[:, 1]] if isinstance(y0, onp.ndarray) else list(ys))

    times = onp.float32([0.0, 0.5, 1.0])
    expected = [onp.cos(2 * times), -2 * onp.sin(2 * times)]
    onp.testing.assert_allclose(solution(2.0), expected, atol=1e-4)
    slope = weft.grad(lambda k: solution(k)[0, -1])(2.0)
    onp.testing.assert_allclose(slope, -onp.sin(2.0), atol=1e-3)


T = onp.array([0.0, 1.0])
Y = onp.ones(2, onp.float32)

BAD = {
    "func": (lambda: odeint(3, Y, T), TypeError, "expected a function"),
    "integers": (lambda: odeint(decay, onp.arange(2), T, 1.0), ShapeError, "pass a float"),
    "times": (lambda: odeint(decay, Y, 1.0, 1.0), ShapeError, "t must be a vector"),
    "no times": (lambda: odeint(decay, Y, T[:0], 1.0), ShapeError, "t must be a vector"),
    "complex times": (lambda: odeint(decay, Y, T * 1j, 1.0), ShapeError, "t must be real"),
    "order": (lambda: odeint(decay, Y, [0.0, 2.0, 1.0], 1.0), ValueError,
              "increasing or decreasing"),
    "structure": (lambda: odeint(lambda y, t: (y, y), Y, T), ShapeError, "structure of y0"),
    "complex list": (lambda: odeint(lambda y, t: [y * 1j], Y, T), ShapeError, "a complex y0"),
    "shape": (lambda: odeint(lambda y, t: y[0], Y, T), ShapeError, "like y0"),
    "complex": (lambda: odeint(lambda y, t: y * 1j, Y, T), ShapeError, "a complex y0"),
    "rtol": (lambda: odeint(decay, Y, T, 1.0, rtol=-1.0), ValueError, "rtol must be at least 0"),
    "both": (lambda: odeint(decay, Y, T, 1.0, rtol=0, atol=0), ValueError, "both 0"),
    "hmax": (lambda: odeint(decay, Y, T, 1.0, hmax=0), ValueError, "hmax must be positive"),
    "mxstep": (lambda: odeint(decay, Y, T, 1.0, mxstep="1"), TypeError, "mxstep must be a number"),
    "traced": (
        lambda: weft.jit(lambda a: odeint(decay, Y, T, 1.0, atol=a))(0.1), TypeError, "not traced"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    call, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        call()
