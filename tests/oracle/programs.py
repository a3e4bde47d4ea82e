"""Whole programs, written once for both libraries: `f(api, np, lax, random)` gives arrays.

`api`, `np`, `lax` and `random` are the library and its modules of these names.
"""

import numpy as onp


def wave(shape, phase=0.0, dtype="float32"):
    """A fixed array of numbers in [-1, 1], without repeats."""
    n = int(onp.prod(shape))
    return onp.cos(onp.arange(n) * 1.7 + phase).reshape(shape).astype(dtype)


def trained(api, np, loss, params, steps=4, rate=0.1):
    """Gradient descent: the parameters, and the loss before each step."""

    @api.jit
    def step(params):
        value, grads = api.value_and_grad(loss)(params)
        return api.tree_util.tree_map(lambda p, g: p - rate * g, params, grads), value

    values = []
    for _ in range(steps):
        params, value = step(params)
        values.append(value)
    return api.tree_util.tree_leaves(params), np.stack(values)


def multilayer_perceptron(api, np, lax, random):
    x, y = np.asarray(wave((8, 5))), np.asarray(onp.arange(8) % 3)
    params = [
        {"w": np.asarray(wave(s, i)), "b": np.zeros(s[1])} for i, s in enumerate([(5, 7), (7, 3)])
    ]

    def loss(params):
        hidden = np.tanh(x @ params[0]["w"] + params[0]["b"])
        logits = hidden @ params[1]["w"] + params[1]["b"]
        logs = log_softmax(np, logits)
        return -np.mean(np.take_along_axis(logs, y[:, None], axis=1))

    return trained(api, np, loss, params)


def log_softmax(np, x):
    shifted = x - np.max(x, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def convolutional_net(api, np, lax, random):
    images, labels = np.asarray(wave((4, 8, 8, 2))), np.asarray([0, 2, 1, 2])
    params = {"k": np.asarray(wave((3, 3, 2, 4), 1)), "w": np.asarray(wave((16, 3), 2))}

    def loss(params):
        x = lax.conv_general_dilated(
            images, params["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = np.maximum(x, 0.0)
        top = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        mean = lax.reduce_window(top, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / 9
        logs = log_softmax(np, mean.reshape(4, -1) @ params["w"])
        return -np.mean(np.sum(logs * (labels[:, None] == np.arange(3)), axis=1))

    return trained(api, np, loss, params)


def attention(api, np, lax, random):
    x = np.asarray(wave((2, 6, 8)))
    params = {n: np.asarray(wave((8, 2, 4), i)) for i, n in enumerate("qkv")}
    params["o"] = np.asarray(wave((2, 4, 8), 3))
    params["scale"] = np.ones(8)

    def loss(params):
        mean = np.mean(x, axis=-1, keepdims=True)
        norm = (x - mean) * lax.rsqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * params["scale"]
        q, k, v = (np.einsum("btd,dhe->bhte", norm, params[n]) for n in "qkv")
        scores = np.einsum("bhte,bhse->bhts", q, k) / 2.0
        mask = np.tril(np.ones((6, 6), bool))
        weights = np.exp(log_softmax(np, np.where(mask, scores, -1e9)))
        out = np.einsum("bhts,bhse,hed->btd", weights, v, params["o"])
        return np.mean((x + out) ** 2)

    return trained(api, np, loss, params)


def recurrent_net(api, np, lax, random):
    xs, ys = np.asarray(wave((7, 3, 4))), np.asarray(wave((7, 3, 5), 2))
    params = {"w": np.asarray(wave((9, 20), 1)) * 0.5, "b": np.zeros(20)}

    def loss(params):
        def cell(carry, x):
            h, c = carry
            gates = np.concatenate([x, h], axis=1) @ params["w"] + params["b"]
            i, f, o, g = np.split(gates, 4, axis=1)
            c = lax.logistic(f) * c + lax.logistic(i) * np.tanh(g)
            h = lax.logistic(o) * np.tanh(c)
            return (h, c), h

        zero = np.zeros((3, 5))
        _, hs = lax.scan(api.checkpoint(cell), (zero, zero), xs)
        return np.mean((hs - ys) ** 2)

    return trained(api, np, loss, params, rate=1.0)


def newton(api, np, lax, random):
    """Square roots by Newton's method, differentiated by the implicit function theorem."""

    @api.custom_vjp
    def root(a):
        def going(state):
            x, last = state
            return np.abs(x - last) > 1e-5

        def step(state):
            x, _ = state
            return 0.5 * (x + a / x), x

        return lax.while_loop(going, step, (a, np.zeros_like(a)))[0]

    root.defvjp(lambda a: (root(a),) * 2, lambda r, ct: (ct / (2 * r),))
    a = np.asarray([0.5, 2.0, 9.0, 1e4])
    return (
        api.vmap(root)(a),
        api.jit(api.vmap(api.grad(root)))(a),
        api.vmap(api.grad(lambda a: root(a) ** 3))(a),
    )


def newton_system(api, np, lax, random):
    """A nonlinear system, by Newton's method with a Jacobian and a hand-written elimination."""

    def f(v):
        x, y, z = v
        return np.stack([x * x + y - 3.0, np.sin(y) + z - 1.0, x * z - 0.2])

    def solve(a, b):
        def eliminate(k, ab):
            row = ab[k] / ab[k, k]
            ab = ab - np.where(np.arange(3) == k, 0.0, ab[:, k])[:, None] * row
            return ab.at[k].set(row)

        return lax.fori_loop(0, 3, eliminate, np.concatenate([a, b[:, None]], axis=1))[:, 3]

    def step(v, _):
        v = v - solve(api.jacfwd(f)(v), f(v))
        return v, f(v)

    return lax.scan(step, np.asarray([1.5, 0.8, 0.4]), None, length=5)


def differential_equation(api, np, lax, random):
    """Runge-Kutta steps of two oscillators, and the gradient in frequency and initial state."""

    def end(state, w):
        def slope(s):
            return np.stack([s[1], -w * np.sin(s[0]) - 0.1 * s[1]])

        def step(s, _):
            a = slope(s)
            b = slope(s + 0.05 * a)
            c = slope(s + 0.05 * b)
            d = slope(s + 0.1 * c)
            s = s + (a + 2 * b + 2 * c + d) * (0.1 / 6)
            return s, s[0]

        return lax.scan(step, state, None, length=20)

    state, w = np.asarray([[1.0, 0.5], [0.0, 2.0]]), np.float32(2.0)
    grads = api.grad(lambda s, w: np.sum(end(s, w)[0] ** 2), argnums=(0, 1))
    return end(state, w), grads(state, w), api.vmap(grads, (1, None))(state, w)


def sorting_network(api, np, lax, random):
    """Odd-even transposition, as a loop of minima and maxima; and which elements went where."""

    def sort(x):
        def round_(i, x):
            place = np.arange(x.size)
            first = (place % 2 == i % 2) & (place < x.size - 1)
            high = np.where(np.roll(first, 1), np.maximum(x, np.roll(x, 1)), x)
            return np.where(first, np.minimum(x, np.roll(x, -1)), high)

        return lax.fori_loop(0, x.size, round_, x)

    x = np.asarray(wave((3, 7)))
    return api.vmap(sort)(x), api.vmap(api.jacfwd(sort))(x), api.jacrev(sort)(x[0])


def einsums(api, np, lax, random):
    a, b, c = (np.asarray(wave(s, i)) for i, s in enumerate([(3, 4), (4, 5), (5, 3)]))

    def f(a, b, c):
        trace = np.einsum("ij,jk,ki->", a, b, c)
        outer = np.einsum("ij,kl->jl", a, b)
        return trace + np.sum(np.sin(outer)) + np.einsum("ij,ij->", a, a)

    return api.value_and_grad(f, (0, 1, 2))(a, b, c), api.hessian(f)(a, b, c)


def nested_maps(api, np, lax, random):
    x, y = np.asarray(wave((3, 4))), np.asarray(wave((5, 4), 1))

    def distance(p, q):
        return np.sqrt(np.sum((p - q) ** 2) + 0.1)

    pairwise = api.vmap(api.vmap(distance, (None, 0)), (0, None))
    slopes = api.jit(api.vmap(api.vmap(api.grad(distance), (None, 0)), (0, None)))
    bent = api.vmap(lambda p: api.hessian(distance)(p, y[0]))
    return pairwise(x, y), slopes(x, y), bent(x)


def branches(api, np, lax, random):
    def f(x, i):
        powers = [lambda v: v, lambda v: v * v, lambda v: np.exp(-v), lambda v: v[::-1] * 2]
        y = lax.switch(i, powers, x)
        return lax.cond(np.sum(y) > 0, np.sin, lambda v: v**3, y)

    x = np.asarray(wave((4, 3)))
    i = np.asarray([0, 1, 2, 3])
    loss = lambda x, i: np.sum(f(x, i))  # noqa: E731
    return api.vmap(f)(x, i), api.vmap(api.grad(loss))(x, i), api.jit(f)(x[0], 7)


def mixture(api, np, lax, random):
    """Expectation maximisation for a mixture of normal distributions."""
    x = np.asarray(wave((40,)) * 2 + (onp.arange(40) % 2) * 3)

    def step(state, _):
        mean, variance, weight = state
        logs = -0.5 * ((x[:, None] - mean) ** 2 / variance + np.log(variance)) + np.log(weight)
        share = np.exp(log_softmax(np, logs))
        total = np.sum(share, axis=0)
        mean = np.sum(share * x[:, None], axis=0) / total
        variance = np.sum(share * (x[:, None] - mean) ** 2, axis=0) / total
        return (mean, variance, total / x.size), np.sum(lax.reduce_max(logs, (1,)))

    start = np.asarray([-1.0, 4.0]), np.ones(2), np.full(2, 0.5)
    return lax.scan(step, start, None, length=6)


def prefix_sums(api, np, lax, random):
    """A linear recurrence by an associative scan, and by a loop."""
    a, b = np.asarray(wave((9, 2))), np.asarray(wave((9, 2), 1))

    def joined(p, q):
        return p[0] * q[0], p[1] * q[0] + q[1]

    def last(a, b):
        return lax.associative_scan(joined, (a, b))[1]

    loop = lax.scan(lambda c, ab: (c * ab[0] + ab[1],) * 2, np.zeros(2), (a, b))[1]
    return last(a, b), loop, api.grad(lambda a: np.sum(last(a, b) ** 2))(a)


def random_walk(api, np, lax, random):
    """A Metropolis walk: keys, acceptances and states."""

    def step(state, key):
        move, accept = random.split(key)
        new = state + 0.5 * random.normal(move, (3,))
        ratio = np.sum(state**2 - new**2) / 2
        taken = np.log(random.uniform(accept)) < ratio
        state = np.where(taken, new, state)
        return state, (state, taken)

    keys = random.split(random.key(3), 20)
    return lax.scan(step, np.zeros(3), keys)


def half_precision(api, np, lax, random):
    """Mixed precision: products in bfloat16, sums and parameters in float32."""
    x = np.asarray(wave((6, 8))).astype(np.bfloat16)
    params = [np.asarray(wave((8, 8), i)) * 0.3 for i in range(3)]

    def loss(params):
        h = x
        for w in params:
            h = lax.dot(h, w.astype(np.bfloat16), preferred_element_type=np.float32)
            h = np.tanh(h).astype(np.bfloat16)
        return np.mean(h.astype(np.float32) ** 2)

    return trained(api, np, loss, params)


def fourier(api, np, lax, random):
    """A discrete Fourier transform as a complex product, and gradients through its power."""
    n = 8
    angle = -2 * np.pi * np.outer(np.arange(n), np.arange(n)) / n
    f = lax.complex(np.cos(angle), np.sin(angle))
    x = np.asarray(wave((n,)))

    def power(x):
        return np.abs(f @ x) ** 2

    return f @ x, power(x), api.jacrev(power)(x), api.grad(lambda x: np.sum(np.angle(f @ x)))(x)
