"""Programs that repeat, for tests of the compiler: `PROGRAMS`, name -> (function, args)."""

import numpy as onp

import weft
import weft.numpy as np
from weft import lax

N = 22  # repetitions
PROGRAMS = {}


def draw(*shape):
    """Small numbers, the same for a shape."""
    return (onp.random.RandomState(sum(shape)).randn(*shape) * 0.3).astype("float32")


def program(*args, **options):
    """Adds a function to the table, with its arguments."""

    def add(function):
        name = function.__name__.replace("_", " ")
        PROGRAMS[name] = weft.jit(function, **options) if options else function, args
        return function

    return add


def gradient(function, *args, name=None):
    """Adds the gradient of a function by its first argument."""
    name = f"gradient: {name or function.__name__.replace('_', ' ')}"
    PROGRAMS[name] = weft.grad(lambda *xs: np.sum(function(*xs) ** 2)), args
    return function


X, W, XS, WS = draw(6, 8), draw(8, 8), draw(N, 6, 8), draw(N, 8, 8)


@program(X, W, XS)
def recurrent_network(h, w, xs):
    for i in range(N):
        h = np.tanh(xs[i] + h @ w)
    return h


gradient(recurrent_network, X, W, XS)
gradient(lambda xs, h, w: recurrent_network(h, w, xs), XS, X, W, name="by the sequence")


@program(X, W, XS)
def backwards_in_time(h, w, xs):
    for i in reversed(range(N)):
        h = np.sin(xs[i] - h @ w)
    return h


@program(X, W, draw(6, N, 8))
def second_axis(h, w, xs):
    for i in range(N):
        h = np.tanh(xs[:, i] + h @ w) * 0.9
    return h


gradient(lambda xs, h, w: second_axis(h, w, xs), draw(6, N, 8), X, W, name="by the second axis")


@program(draw(2 * N + 4, 8))
def windows(xs):
    total = np.zeros(8)
    for i in range(2 * N):
        total = total * 0.5 + np.sum(np.cos(xs[i : i + 5]) * xs[i : i + 5], axis=0)
    return total


gradient(windows, draw(2 * N + 4, 8))


@program(X, WS)
def scales_of_layers(x, ws):
    for i in range(N):
        x = np.tanh(x @ ws[i]) * (1 + 0.01 * i)
    return x


gradient(scales_of_layers, X, WS)
gradient(lambda ws, x: scales_of_layers(x, ws), WS, X, name="by weights")


@program(X)
def sums_of_a_chain(x):
    for i in range(24):
        x = np.sin(x) * (i % 7) * 0.3 + x.sum() * 0.01
    return x


gradient(sums_of_a_chain, X)


@program(X)
def power_iteration(x):
    for _ in range(30):
        x = x @ x.T @ x
        x = x / np.sqrt(np.sum(x * x))
    return x


@program(np.exp(draw(6, 6)))
def sinkhorn(x):
    for _ in range(20):
        x = x / np.sum(x, axis=0)
        x = x / np.sum(x, axis=1, keepdims=True)
    return x


gradient(sinkhorn, np.exp(draw(6, 6)))


@program(X)
def softmax_again_and_again(x):
    for i in range(20):
        x = weft.nn.softmax(x * (0.5 + i), axis=-1) - 0.1
    return x


@program(X, WS)
def alternating_activations(x, ws):
    for i in range(N):
        x = x @ ws[i]
        x = np.tanh(x) if i % 2 else np.maximum(x, 0.01 * i) - 0.1
    return x


@program(X, WS)
def masks_of_layers(x, ws):
    for i in range(N):
        x = np.where(np.arange(8) < i, np.sin(x @ ws[i]), x)
    return x


@program(X, W)
def shared_weights(x, w):
    for i in range(2 * N):
        x = x + np.tanh(x @ w) / (i + 1)
    return x


gradient(shared_weights, X, W)


def adam(weights, gradients, means, squares, step):
    results = []
    for w, g, m, v in zip(weights, gradients, means, squares, strict=True):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        results.append((w - rate * m / (np.sqrt(v) + 1e-8), m, v))
    return results


MANY = [draw(3, 4) + i for i in range(120)]
PROGRAMS["Adam over 120 arrays"] = adam, (MANY, MANY, MANY, [m * m for m in MANY], 3.0)


@program(X, XS)
def scans_inside(x, xs):
    for i in range(N):
        x, _ = lax.scan(lambda c, y, i=i: (np.sin(c) * (1 + i), None), x, xs[i])
    return x


@program(X, W)
def conditions_inside(x, w):
    for i in range(N):
        x = lax.cond(x[0, 0] > 0.1, lambda x: np.tanh(x @ w), lambda x: x * 1.1, x) + 0.01 * i
        x = np.sin(x) * np.cos(x) - x / (2.0 + i)
    return x


gradient(conditions_inside, X, W)


@program(X)
def loops_inside(x):
    for i in range(N):
        x = lax.fori_loop(0, 3, lambda _, x: np.sin(x) * 1.1, x) * (1 + 0.1 * i) + x
        x = x - np.mean(x) / (1 + i)
    return x


@weft.custom_vjp
def clipped(x, low):
    return np.maximum(x, low)


clipped.defvjp(lambda x, low: (np.maximum(x, low), None), lambda _, g: (g * 0.5, None))


@program(X, W)
def custom_rules(x, w):
    for i in range(N):
        x = clipped(x @ w, -0.01 * i) * 1.2 - 0.05
    return x


gradient(custom_rules, X, W)


@program(X)
def callbacks(x):
    for i in range(N):
        y = weft.pure_callback(lambda a: onp.sin(a), weft.ShapeDtypeStruct((6, 8), "float32"), x)
        x = y * (1 + 0.1 * i) + np.cos(x) * np.sum(x) * 0.01 - x / 3
    return x


@program(X, W)
def calls_of_jitted_functions(x, w):
    layer = weft.jit(lambda x, scale: np.tanh(x @ w) * scale + x)
    for i in range(2 * N):
        x = layer(x, 0.1 * i)
    return x


gradient(calls_of_jitted_functions, X, W)


@program(X, W)
def calls_within_calls(x, w):
    @weft.jit
    def outer(x, w):
        for i in range(N):
            x = np.sin(x @ w) * (1 + 0.1 * i) - np.cos(x) / 2
        return x

    return weft.jit(lambda x, w: outer(x * 2, w))(x, w) + 1


@program(X, W)
def checkpoints(x, w):
    layer = weft.checkpoint(lambda x, i: np.tanh(x @ w) * (1 + 0.1 * i) + np.sin(x))
    for i in range(N):
        x = layer(x, i)
    return x


gradient(checkpoints, X, W)
PROGRAMS["donated arguments"] = (
    lambda x, w: weft.jit(recurrent_network, donate_argnums=0)(np.array(x), w, XS),
    (X, W),
)


@program(X)
def updates_of_rows(x):
    for i in range(N):
        x = x.at[i % 6].set(np.sin(x[(i + 1) % 6]) * (1 + i) + x[i % 6].sum() * 0.1)
    return x


@program(X, weft.random.PRNGKey(3))
def random_numbers(x, key):
    keys = weft.random.split(key, N)
    for i in range(N):
        x = np.sin(x) * (1 + 0.1 * i) + weft.random.normal(keys[i], (6, 8)) * 0.1
    return x


@program(onp.arange(48).reshape(6, 8))
def integers(x):
    for i in range(30):
        x = (x * (i + 3) + 7) % 1013 + x // (i + 1) - np.where(x > i, i, x)
    return x


@program(X + 1j)
def complex_numbers(x):
    for i in range(30):
        x = x * (0.1 + 0.01j * i) + np.conj(x) / (i + 2)
    return x


@program(X)
def numbers_that_repeat(x):
    for i in range(45):
        x = np.sin(x) * (i % 3 - 1) + (i % 2) * 0.5 - x * (i % 5 == 0)
    return x


@program(X)
def polynomial(x):
    total = np.zeros_like(x)
    for i in range(60):
        total = total * x + 1 / (1 + i)
    return total


@program(XS)
def several_results(xs):
    x, results = np.zeros((6, 8)), []
    for i in range(N):
        x = np.tanh(x * (1 + 0.1 * i) + xs[i])
        results.append((x, x.sum()))
    return results


@program(X)
def half_precision(x):
    x = x.astype("bfloat16")
    for i in range(30):
        x = np.tanh(x * (1 + i / 8)) - np.mean(x)
    return x
