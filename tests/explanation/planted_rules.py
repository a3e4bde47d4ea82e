"""Derivative rules with one mistake each, and right ones. A row: a function, and its arguments.

`with_jvp` and `with_vjp` give a function a rule; the rows differentiate it in all arguments that
have a derivative.
"""

import numpy as onp

import weft
import weft.numpy as np
from weft import extend, lax, nn, random

X = onp.array([-1.3, 0.4, 2.1], onp.float32)
POSITIVE = onp.array([0.6, 1.4, 2.1], onp.float32)
Y = onp.array([0.7, -1.9, 1.2], onp.float32)
SQUARE = onp.array([[1.5, 0.3, -0.4], [0.2, 2.0, 0.6], [-0.7, 0.1, 1.8]], onp.float32)
OTHER = onp.array([[0.3, -1.1, 0.8], [0.5, 0.9, -0.2], [1.3, -0.6, 0.4]], onp.float32)
Z = onp.array([0.5 + 1.2j, -0.8 + 0.3j], onp.complex64)


def with_jvp(function, *rules, **options):
    """A `custom_jvp` function; each rule is called as `(tangent, output, *primals)`."""
    f = weft.custom_jvp(function, **options)
    f.defjvps(*rules)
    return f


def with_rule(function, rule, **options):
    """A `custom_jvp` function with one rule `(primals, tangents)`."""
    f = weft.custom_jvp(function, **options)
    f.defjvp(rule)
    return f


def with_vjp(function, forward, backward, **options):
    """A `custom_vjp` function; `forward` gives the residuals only, unless it gives a pair."""
    f = weft.custom_vjp(function, **options)
    f.defvjp(lambda *args: (function(*args), forward(*args)), backward)
    return f


def norm(x):
    return np.sqrt(np.sum(x * x))


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def normalized(x):
    centered = x - np.mean(x)
    return centered / np.sqrt(np.mean(centered**2))


def both(x):
    return np.sin(x), x * x


def power(n, x):
    return x**n


def affine(params, x):
    return params["w"] * x + params["b"]


def picked(x, i):
    return x[i] ** 2


def primitive(name, evaluate, jvp, transpose=None, type=lambda *x: x[0]):
    """A primitive with rules of the user's."""
    p = extend.Primitive(name)
    p.type(type)
    p.evaluate(evaluate)
    if jvp is not None:
        p.jvp(jvp)
    if transpose is not None:
        p.transpose(transpose)
    return p


def linear_primitive(name, evaluate, transpose, **options):
    """A primitive that is its own derivative."""
    p = primitive(name, evaluate, None, transpose, **options)
    p.jvp(lambda primals, tangents, out: p(*tangents))
    return p


wrong_flip = linear_primitive("wrong_flip", lambda x: x[::-1], lambda ct, x: (ct,))
wrong_shift = linear_primitive(
    "wrong_shift", lambda x: onp.roll(x, 1), lambda ct, x: (np.roll(ct, 1),)
)
wrong_scale = linear_primitive("wrong_scale", lambda x: 3 * x, lambda ct, x: (2 * ct,))
wrong_cube = primitive("wrong_cube", lambda x: x**3, lambda p, t, out: t[0] * 2 * p[0] * p[0])
wrong_bend = primitive("wrong_bend", lambda x: onp.abs(x), lambda p, t, out: t[0])
right_flip = linear_primitive("right_flip", lambda x: x[::-1], lambda ct, x: (right_flip(ct),))
right_cube = primitive("right_cube", lambda x: x**3, lambda p, t, out: t[0] * 3 * p[0] * p[0])
right_bend = primitive("right_bend", lambda x: onp.abs(x), lambda p, t, out: t[0] * np.sign(p[0]))
right_floor = primitive("right_floor", onp.floor, lambda p, t, out: None)

wrong_sine = with_jvp(lambda x: np.sin(x), lambda t, out, x: -t * np.cos(x))
right_sine = with_jvp(lambda x: np.sin(x), lambda t, out, x: t * np.cos(x))


def in_scan(f):
    """A function that applies another one in each round of a loop."""
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]


@weft.custom_gradient
def wrong_pullback(x):
    return x**3, lambda g: (g * x**2,)


@weft.custom_gradient
def right_pullback(x):
    return x**3, lambda g: (g * 3 * x**2,)


def only_even(x):
    f = weft.custom_vjp(lambda x, y: x * y)

    def forward(x, y):
        return x.value * y.value, (x.value, y.value)

    def backward(kept, g):
        x, y = kept
        return g * x, g * y

    f.defvjp(forward, backward, symbolic_zeros=True)
    return f(x, Y)


def rows(*cases):
    """The cases by name."""
    return {name: (function, args) for name, function, *args in cases}


PLANTED = rows(
    # jvp rules
    ("a sign", with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x)), X),
    ("a factor", with_jvp(lambda x: x**2, lambda t, out, x: t * x), X),
    (
        "a chain that is forgotten",
        with_jvp(lambda x: np.sin(3 * x), lambda t, out, x: t * np.cos(3 * x)),
        X,
    ),
    (
        "a term of a product",
        with_rule(lambda x, y: x * y, lambda p, t: (p[0] * p[1], t[0] * p[1])),
        X,
        Y,
    ),
    (
        "arguments that are swapped",
        with_jvp(lambda x, y: x * y, lambda t, out, x, y: t * x, lambda t, out, x, y: t * y),
        X,
        Y,
    ),
    ("a constant tangent", with_jvp(lambda x: x**2, lambda t, out, x: t), X),
    (
        "a rule that is affine",
        with_jvp(lambda x: np.sin(x), lambda t, out, x: t * np.cos(x) + 1),
        X,
    ),
    ("wrong where negative", with_jvp(lambda x: np.abs(x), lambda t, out, x: t), X),
    (
        "a square that is forgotten",
        with_jvp(lambda x: np.tanh(x), lambda t, out, x: t * (1 - out)),
        X,
    ),
    (
        "the argument in place of the output",
        with_jvp(lambda x: np.exp(x), lambda t, out, x: t * x),
        X,
    ),
    (
        "a product in place of a quotient",
        with_jvp(lambda x: np.log(x), lambda t, out, x: t * x),
        POSITIVE,
    ),
    ("half of a root", with_jvp(lambda x: np.sqrt(x), lambda t, out, x: t / out), POSITIVE),
    ("a sigmoid without 1 - y", with_jvp(lambda x: nn.sigmoid(x), lambda t, out, x: t * out), X),
    (
        "the other sigmoid",
        with_jvp(lambda x: nn.softplus(x), lambda t, out, x: t * nn.sigmoid(-x)),
        X,
    ),
    (
        "a quotient's denominator",
        with_jvp(lambda x, y: x / y, lambda t, out, x, y: t / y, lambda t, out, x, y: -t * x / y),
        X,
        Y,
    ),
    (
        "the logarithm of the exponent",
        with_jvp(
            lambda x, y: x**y,
            lambda t, out, x, y: t * y * x ** (y - 1),
            lambda t, out, x, y: t * out * np.log(np.abs(y)),
        ),
        POSITIVE,
        Y,
    ),
    (
        "signs of an angle",
        with_jvp(
            lambda y, x: np.arctan2(y, x),
            lambda t, out, y, x: t * x / (x * x + y * y),
            lambda t, out, y, x: t * y / (x * x + y * y),
        ),
        X,
        Y,
    ),
    (
        "weights that are not normalised",
        with_jvp(lambda x: np.log(np.sum(np.exp(x))), lambda t, out, x: np.sum(t * np.exp(x))),
        X,
    ),
    ("a norm squared", with_jvp(norm, lambda t, out, x: np.sum(t * x) / out**2), X),
    (
        "a mean in place of a sum",
        with_jvp(lambda x: np.sum(x**2), lambda t, out, x: np.mean(2 * t * x)),
        X,
    ),
    (
        "factors in the wrong order",
        with_jvp(lambda a, b: a @ b, lambda t, out, a, b: t @ b, lambda t, out, a, b: t @ a),
        SQUARE,
        OTHER,
    ),
    (
        "a determinant's factor",
        with_jvp(lambda a: np.linalg.det(a), lambda t, out, a: np.trace(np.linalg.inv(a) @ t)),
        SQUARE,
    ),
    (
        "an inverse's sign",
        with_jvp(lambda a: np.linalg.inv(a), lambda t, out, a: out @ t @ out),
        SQUARE,
    ),
    (
        "a cumulative sum from the end",
        with_jvp(lambda x: np.cumsum(x), lambda t, out, x: np.cumsum(t[::-1])[::-1]),
        X,
    ),
    ("only the diagonal of a softmax", with_jvp(softmax, lambda t, out, x: t * out), X),
    (
        "a mean that is taken for constant",
        with_jvp(
            normalized, lambda t, out, x: (t - np.mean(t)) / np.sqrt(np.mean((x - np.mean(x)) ** 2))
        ),
        X,
    ),
    (
        "a clip that is forgotten",
        with_jvp(lambda x: np.clip(2 * x, -1, 1), lambda t, out, x: 2 * t),
        X,
    ),
    (
        "the smaller one",
        with_jvp(
            lambda x, y: np.maximum(x, y),
            lambda t, out, x, y: np.where(x < y, t, 0),
            lambda t, out, x, y: np.where(y < x, t, 0),
        ),
        X,
        Y,
    ),
    (
        "a conjugate in forward mode",
        with_jvp(lambda z: z * z, lambda t, out, z: 2 * np.conj(z) * t),
        Z,
    ),
    (
        "the sign of bfloat16",
        with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x)),
        X.astype(np.bfloat16),
    ),
    (
        "the factor of float16",
        with_jvp(lambda x: x**2, lambda t, out, x: t * x),
        X.astype(onp.float16),
    ),
    (
        "an argument rounded to integers",
        with_jvp(lambda x: np.sin(x), lambda t, out, x: t * np.cos(x.astype(int))),
        X,
    ),
    (
        "tangents of two outputs",
        with_rule(both, lambda p, t: (both(*p), (2 * p[0] * t[0], np.cos(p[0]) * t[0]))),
        X,
    ),
    (
        "leaves of a dict",
        with_rule(
            affine, lambda p, t: (affine(*p), t[0]["w"] + t[0]["b"] * p[1] + p[0]["w"] * t[1])
        ),
        {"w": X, "b": Y},
        POSITIVE,
    ),
    (
        "an exponent in nondiff_argnums",
        lambda x: with_rule(
            power, lambda n, p, t: (p[0] ** n, t[0] * p[0] ** (n - 1)), nondiff_argnums=(0,)
        )(3, x),
        X,
    ),
    (
        "an index that is ignored",
        with_rule(picked, lambda p, t: (picked(*p), 2 * p[0][0] * t[0][0])),
        X,
        onp.int32(2),
    ),
    # vjp rules
    (
        "a matrix that is not transposed",
        with_vjp(
            lambda a, b: a @ b, lambda a, b: (a, b), lambda kept, g: (g @ kept[1], kept[0].T @ g)
        ),
        SQUARE,
        OTHER,
    ),
    (
        "cotangents in the wrong order",
        with_vjp(
            lambda x, y: x * y, lambda x, y: (x, y), lambda kept, g: (g * kept[0], g * kept[1])
        ),
        X,
        Y,
    ),
    (
        "the argument as residual",
        with_vjp(lambda x: np.tanh(x), lambda x: x, lambda y, g: (g * (1 - y * y),)),
        X,
    ),
    (
        "a mean over a broadcast axis",
        with_vjp(
            lambda a, b: np.sin(a + b),
            lambda a, b: a + b,
            lambda s, g: (g * np.cos(s), np.mean(g * np.cos(s), 0)),
        ),
        SQUARE,
        X,
    ),
    (
        "one row of a broadcast axis",
        with_vjp(
            lambda a, b: a * b, lambda a, b: (a, b), lambda kept, g: (g * kept[1], (g * kept[0])[0])
        ),
        SQUARE,
        X,
    ),
    (
        "a cotangent that is ignored",
        with_vjp(lambda x: np.sin(x), lambda x: x, lambda x, g: (np.cos(x),)),
        X,
    ),
    (
        "a cotangent squared",
        with_vjp(lambda x: np.sin(x), lambda x: x, lambda x, g: (g * g * np.cos(x),)),
        X,
    ),
    (
        "a clipped cotangent",
        with_vjp(
            lambda x: np.sin(x), lambda x: x, lambda x, g: (np.clip(g, -0.1, 0.1) * np.cos(x),)
        ),
        X,
    ),
    (
        "a conjugate in reverse mode",
        with_vjp(lambda z: np.exp(z), lambda z: np.exp(z), lambda y, g: (np.conj(g) * y,)),
        Z,
    ),
    ("symbolic zeros", only_even, X),
    ("a pullback", wrong_pullback, X),
    # rules that are used inside other transformations
    ("under vmap", weft.vmap(wrong_sine), X),
    ("under jit", weft.jit(wrong_sine), X),
    ("in scan", in_scan(wrong_sine), X),
    ("in a checkpoint", weft.checkpoint(wrong_sine), X),
    # primitives
    ("a primitive's factor", wrong_cube, X),
    ("a primitive that bends", wrong_bend, X),
    ("a transpose that does not flip back", wrong_flip, X),
    ("a transpose that shifts on", wrong_shift, X),
    ("a transpose with another factor", wrong_scale, X),
)


def identity(backward):
    """A function that returns its argument, for a backward rule that changes gradients."""
    return with_vjp(lambda x: x, lambda x: None, lambda kept, g: (backward(g),))


def marked(f):
    """The function with a rule that differs on purpose, and says so."""
    f.check_derivatives = False
    return f


def reads_values(x):
    return -x * x if float(x) < 0 else x**3


def needs_float32(x):
    assert x.dtype == np.float32, x.dtype
    return np.sin(x)


def sampled(key, x):
    return x * random.normal(key, x.shape)


def fixed_point(a):
    return lax.while_loop(lambda s: s[1] < 60, lambda s: (np.cos(a * s[0]), s[1] + 1), (a * 0, 0))[
        0
    ]


SOUND = rows(
    ("cos", with_jvp(lambda x: np.cos(x), lambda t, out, x: -t * np.sin(x)), X),
    (
        "a product",
        with_jvp(lambda x, y: x * y, lambda t, out, x, y: t * y, lambda t, out, x, y: t * x),
        X,
        Y,
    ),
    (
        "zeros",
        with_jvp(lambda x, y: x * y, lambda t, out, x, y: t * y, lambda t, out, x, y: t * x),
        0 * X,
        0 * Y,
    ),
    (
        "relu at its kink",
        with_jvp(lambda x: np.maximum(x, 0), lambda t, out, x: np.where(x > 0, t, 0)),
        onp.array([-1.0, 0.0, 2.0], onp.float32),
    ),
    (
        "relu at zero",
        with_jvp(lambda x: np.maximum(x, 0), lambda t, out, x: np.where(x > 0, t, 0)),
        0 * X,
    ),
    (
        "abs near its kink",
        with_jvp(lambda x: np.abs(x), lambda t, out, x: t * np.sign(x)),
        onp.array([1e-4, -3e-4, 1.0], onp.float32),
    ),
    (
        "a norm at zero",
        with_jvp(norm, lambda t, out, x: np.sum(t * x) / np.maximum(out, 1e-30)),
        0 * X,
    ),
    (
        "clip at its bounds",
        with_jvp(lambda x: np.clip(x, -1, 1), lambda t, out, x: np.where((x > -1) & (x < 1), t, 0)),
        onp.array([-1.0, 1.0, 0.3], onp.float32),
    ),
    (
        "a root at zero",
        with_jvp(lambda x: np.sqrt(x), lambda t, out, x: 0.5 * t / out),
        onp.array([0.0, 1.0], onp.float32),
    ),
    (
        "a sorted array",
        with_vjp(
            lambda x: np.sort(x),
            lambda x: np.argsort(x),
            lambda order, g: (np.zeros_like(g).at[order].set(g),),
        ),
        X,
    ),
    (
        "a sorted array with equal elements",
        with_vjp(
            lambda x: np.sort(x),
            lambda x: np.argsort(x),
            lambda order, g: (np.zeros_like(g).at[order].set(g),),
        ),
        0 * X,
    ),
    (
        "a maximum",
        with_vjp(
            lambda x: np.max(x), lambda x: np.argmax(x), lambda i, g: (np.zeros(3).at[i].set(g),)
        ),
        X,
    ),
    ("softmax", with_jvp(softmax, lambda t, out, x: out * (t - np.sum(out * t))), X),
    (
        "softmax of large numbers",
        with_jvp(softmax, lambda t, out, x: out * (t - np.sum(out * t))),
        100 * X,
    ),
    ("small numbers", with_jvp(lambda x: np.log(x), lambda t, out, x: t / x), 1e-6 * POSITIVE),
    ("large numbers", with_jvp(lambda x: np.sin(x), lambda t, out, x: t * np.cos(x)), 1e4 * X),
    (
        "many elements",
        with_jvp(lambda x: np.tanh(x), lambda t, out, x: t * (1 - out * out)),
        onp.linspace(-3, 3, 100_000, dtype=onp.float32),
    ),
    ("no elements", with_jvp(lambda x: np.tanh(x), lambda t, out, x: t * (1 - out * out)), X[:0]),
    (
        "a step with a surrogate",
        with_jvp(lambda x: np.where(x > 0, 1.0, 0.0), lambda t, out, x: t / (1 + x * x)),
        X,
    ),
    ("straight through rounding", with_jvp(lambda x: np.round(x), lambda t, out, x: t), X),
    ("straight through a grid", with_jvp(lambda x: np.floor(x * 8) / 8, lambda t, out, x: t), X),
    (
        "straight through a fine grid",
        with_jvp(lambda x: np.round(x * 40) / 40, lambda t, out, x: t),
        onp.linspace(-3, 3, 5_000, dtype=onp.float32),
    ),
    (
        "straight through bfloat16",
        with_jvp(lambda x: x.astype(np.bfloat16).astype(x.dtype), lambda t, out, x: 2 * t),
        onp.linspace(-3, 3, 5_000, dtype=onp.float32),
    ),
    (
        "straight through reduce_precision",
        with_jvp(lambda x: lax.reduce_precision(x, 5, 2), lambda t, out, x: t),
        onp.linspace(-3, 3, 5_000, dtype=onp.float32),
    ),
    ("clipped gradients", identity(lambda g: np.clip(g, -0.1, 0.1)), X),
    ("reversed gradients", identity(lambda g: -g), X),
    ("stopped gradients", identity(lambda g: np.zeros_like(g)), X),
    (
        "cotangents that are None",
        with_vjp(lambda x, y: x * y, lambda x, y: y, lambda y, g: (g * y, None)),
        X,
        Y,
    ),
    (
        "tangents that are None",
        with_jvp(lambda x, y: x * y, lambda t, out, x, y: t * y, None),
        X,
        Y,
    ),
    (
        "a rule that says that it differs",
        marked(with_jvp(lambda x: np.sin(x), lambda t, out, x: t)),
        X,
    ),
    (
        "integers",
        with_rule(picked, lambda p, t: (picked(*p), 2 * p[0][p[1]] * t[0][p[1]])),
        X,
        onp.int32(2),
    ),
    (
        "an exponent in nondiff_argnums",
        lambda x: with_rule(
            power, lambda n, p, t: (p[0] ** n, n * t[0] * p[0] ** (n - 1)), nondiff_argnums=(0,)
        )(3, x),
        X,
    ),
    (
        "a dict",
        with_rule(
            affine, lambda p, t: (affine(*p), t[0]["w"] * p[1] + t[0]["b"] + p[0]["w"] * t[1])
        ),
        {"w": X, "b": Y},
        POSITIVE,
    ),
    (
        "two outputs",
        with_rule(both, lambda p, t: (both(*p), (np.cos(p[0]) * t[0], 2 * p[0] * t[0]))),
        X,
    ),
    ("complex numbers forwards", with_jvp(lambda z: z * z, lambda t, out, z: 2 * z * t), Z),
    (
        "complex numbers backwards",
        with_vjp(lambda z: np.exp(z), lambda z: np.exp(z), lambda y, g: (g * y,)),
        Z,
    ),
    (
        "an absolute value",
        with_jvp(lambda z: np.abs(z), lambda t, out, z: (np.conj(z) * t).real / out),
        Z,
    ),
    (
        "bfloat16",
        with_jvp(lambda x: np.cos(x), lambda t, out, x: -t * np.sin(x)),
        X.astype(np.bfloat16),
    ),
    ("float16", with_jvp(lambda x: x**2, lambda t, out, x: 2 * t * x), X.astype(onp.float16)),
    (
        "products in bfloat16",
        with_jvp(
            lambda x: (x.astype(np.bfloat16) * 1.7).astype(x.dtype), lambda t, out, x: 1.7 * t
        ),
        X,
    ),
    (
        "many products in bfloat16",
        with_jvp(
            lambda x: (x.astype(np.bfloat16) * 1.7).astype(x.dtype), lambda t, out, x: 1.7 * t
        ),
        onp.linspace(-3, 3, 10_000, dtype=onp.float32),
    ),
    (
        "sums in float32",
        with_jvp(lambda x: 1000 + x.astype(np.float32), lambda t, out, x: t.astype(np.float32)),
        onp.linspace(-3, 3, 10_000, dtype=onp.float32),
    ),
    (
        "a rule in bfloat16",
        with_vjp(
            lambda x: x * x,
            lambda x: x,
            lambda x, g: ((2 * x * g).astype(np.bfloat16).astype(g.dtype),),
        ),
        X,
    ),
    ("float32 only", with_jvp(needs_float32, lambda t, out, x: t * np.cos(x)), X),
    (
        "a matrix product",
        with_vjp(
            lambda a, b: a @ b, lambda a, b: (a, b), lambda kept, g: (g @ kept[1].T, kept[0].T @ g)
        ),
        SQUARE,
        OTHER,
    ),
    (
        "a broadcast axis",
        with_vjp(
            lambda a, b: a * b,
            lambda a, b: (a, b),
            lambda kept, g: (g * kept[1], np.sum(g * kept[0], 0)),
        ),
        SQUARE,
        X,
    ),
    (
        "a determinant",
        with_jvp(
            lambda a: np.linalg.det(a), lambda t, out, a: out * np.trace(np.linalg.inv(a) @ t)
        ),
        SQUARE,
    ),
    (
        "Python's if",
        lambda x: with_jvp(reads_values, lambda t, out, x: np.where(x < 0, -2 * x, 3 * x * x) * t)(
            x
        ),
        X[0],
    ),
    (
        "a random key",
        with_jvp(sampled, None, lambda t, out, key, x: t * random.normal(key, x.shape)),
        random.key(0),
        X,
    ),
    (
        "a fixed point",
        with_jvp(fixed_point, lambda t, y, a: -t * y * np.sin(a * y) / (1 + a * np.sin(a * y))),
        onp.float32(0.7),
    ),
    (
        "a rule inside of a rule",
        with_jvp(lambda x: right_sine(x) ** 2, lambda t, out, x: 2 * t * right_sine(x) * np.cos(x)),
        X,
    ),
    ("a pullback", right_pullback, X),
    ("under vmap", weft.vmap(right_sine), X),
    ("under jit", weft.jit(right_sine), X),
    ("in scan", in_scan(right_sine), X),
    ("in a checkpoint", weft.checkpoint(right_sine), X),
    ("a rule of second order", weft.grad(lambda x: np.sum(right_sine(x) ** 2)), X),
    ("a primitive", right_cube, X),
    ("a primitive that bends", right_bend, X),
    ("a primitive without a derivative", lambda x: right_floor(x) * x, X),
    ("a linear primitive", right_flip, X),
)
