"""Transformations nested in one another: all pairs, and some two hundred triples.

A wrapper is a pair: what weft makes of a function, and what that comes to in NumPy. There jit is
nothing, vmap and pmap a loop, a derivative a finite difference; so what is expected of a nest is
found without weft. Functions take an array (or a scalar), a scalar and an integer, all of which
wrappers map over, differentiate in, or close over.

`--whole` runs every function on every pair, and all triples.
"""

import itertools

import numpy as onp
import pytest
import sampling

import weft
import weft.numpy as wnp
from weft import lax

A = onp.array([[0.2, -0.4, 0.1], [0.3, 0.5, -0.2], [-0.6, 0.1, 0.7]])
WEIGHTS = onp.array([0.4, 1.5, -1.0])
DIRECTION, Y_DIRECTION = onp.array([1.0, -0.8, 0.5]), -0.4
MIX = onp.array([0.3, -0.2, 0.5])
PERMUTATION = onp.array([2, 0, 1])


@pytest.fixture(scope="module", autouse=True)
def in_double_precision():
    with weft.enable_x64():
        yield


# --- functions, on either NumPy ---

ARRAYS = {
    "product": lambda np, x, y, n: np.sin(x) * y + 0.1 * n * x,
    "layer": lambda np, x, y, n: np.tanh(np.matmul(A, x) + y),
    "coupled": lambda np, x, y, n: x * np.sum(np.cos(x) * y),
    "where": lambda np, x, y, n: np.where(x > y, np.sin(x), y * x),
    "gather": lambda np, x, y, n: x[PERMUTATION] * y + x[n % 3] * x,
    "sorted": lambda np, x, y, n: np.sort(x) * WEIGHTS + y * x,
    "cumulative": lambda np, x, y, n: np.cumsum(np.sin(x) * y),
    "joined": lambda np, x, y, n: np.concatenate([x[1:] * x[:-1], np.sin(x[:1]) * y]),
    "outer": lambda np, x, y, n: np.sum(np.outer(x, np.tanh(x + y)) * A, axis=1),
    "normalised": lambda np, x, y, n: x / np.sqrt(1.0 + y * y + np.sum(x * x)),
    "softmax": lambda np, x, y, n: np.exp(x) / np.sum(np.exp(x)) * y,
    "power": lambda np, x, y, n: 0.3 * n * x**2 - y**3,
    "largest": lambda np, x, y, n: np.sin(x) * np.max(x) - y * np.min(x),
    "identity": lambda np, x, y, n: x,
    "constant": lambda np, x, y, n: np.asarray(WEIGHTS),
}
SCALARS = {
    "scalar product": lambda np, x, y, n: np.sin(x) * y + 0.1 * n * x,
    "scalar ratio": lambda np, x, y, n: np.tanh(n * x) / (1.5 + y * y),
    "scalar bell": lambda np, x, y, n: np.exp(-(x**2)) * np.cos(y),
    "scalar branch": lambda np, x, y, n: np.where(x > 0.0, x * y, np.sin(x)),
}
FUNCTIONS = {**ARRAYS, **SCALARS}
NAMES = list(FUNCTIONS)


def like(x, vector):
    """The constant for an argument: the vector, or a number."""
    return vector if x.ndim else vector[1]


# --- what weft does ---


def total(value):
    return wnp.sum(value * like(value, WEIGHTS))


def mixed(x, gx, gy):
    return gx + gy * like(x, MIX)


def jit_of_closure(f):
    return lambda x, y, n: weft.jit(lambda z: f(z, y, n) * y)(x)


def custom_jvp(f):
    g = weft.custom_jvp(lambda x, y, n: f(x, y, n))
    g.defjvp(lambda primals, tangents: weft.jvp(f, primals, tangents))
    return g


def custom_vjp(f):
    g = weft.custom_vjp(lambda x, y, n: f(x, y, n))

    def backward(args, ct):
        gx, gy, _ = weft.vjp(f, *args)[1](ct)
        return gx, gy, None

    g.defvjp(lambda *args: (f(*args), args), backward)
    return g


def grad(f):
    def g(x, y, n):
        return mixed(x, *weft.grad(lambda x, y, n: total(f(x, y, n)), (0, 1))(x, y, n))

    return g


def vjp(f):
    def g(x, y, n):
        value, pull = weft.vjp(lambda x, y: f(x, y, n), x, y)
        return mixed(x, *pull(wnp.asarray(like(value, WEIGHTS))))

    return g


def transposed(f):
    def g(x, y, n):
        value, push = weft.linearize(lambda x, y: f(x, y, n), x, y)
        pull = weft.linear_transpose(push, x, y)
        return mixed(x, *pull(wnp.asarray(like(value, WEIGHTS))))

    return g


def jvp(f):
    def g(x, y, n):
        directions = (wnp.asarray(like(x, DIRECTION)), wnp.asarray(Y_DIRECTION))
        value, slope = weft.jvp(lambda x, y: f(x, y, n), (x, y), directions)
        return slope + 0.3 * value

    return g


def linearize(f):
    def g(x, y, n):
        value, push = weft.linearize(lambda x, y: f(x, y, n), x, y)
        return push(wnp.asarray(like(x, DIRECTION)), wnp.asarray(Y_DIRECTION)) + 0.3 * value

    return g


def vmap(f):
    def g(x, y, n):
        rows = weft.vmap(f, (0, None, 0))(wnp.stack([x, 0.5 * x + 0.1]), y, wnp.stack([n, n + 1]))
        return rows[0] + 0.5 * rows[1]

    return g


def vmap_named(f):
    """Over another axis, by name, with collectives inside."""

    def along(x, y, n):
        value = f(x, y, n)
        return value - 0.25 * lax.psum(value, "i") + 0.1 * lax.axis_index("i")

    def g(x, y, n):
        columns = weft.vmap(along, (-1, 0, None), -1, axis_name="i")(
            wnp.stack([x, 0.5 * x + 0.1], axis=-1), wnp.stack([y, 0.8 * y]), n
        )
        return columns[..., 0] + 0.5 * columns[..., 1]

    return g


def pmap(f):
    """On two devices, with a collective; their programs differ in how often they loop."""

    def on_each(x, y, n):
        value = f(x, y, n)
        return value - 0.3 * lax.pmean(value, "d") + 0.2 * lax.axis_index("d")

    def g(x, y, n):
        rows = weft.pmap(on_each, "d", in_axes=(0, None, 0))(
            wnp.stack([x, 0.6 * x - 0.1]), y, wnp.stack([n, n + 1])
        )
        return rows[0] + 0.5 * rows[1]

    return g


STEPS = onp.array([1.0, 0.8])


def scan(f):
    def g(x, y, n):
        def body(c, step):
            k, i = step
            return 0.5 * c + 0.5 * f(c, y * k, n + i), c * k

        last, kept = lax.scan(body, x, (STEPS, onp.arange(2, dtype=onp.int32)))
        return last + wnp.sum(kept, axis=0)

    return g


def cond(f):
    return lambda x, y, n: lax.cond(n > 2, f, lambda x, y, n: f(x, 0.5 * y, n) * 0.7, x, y, n)


def while_loop(f):
    def g(x, y, n):
        def body(state):
            i, c = state
            return i + 1, 0.5 * c + 0.5 * f(c, y, n)

        return lax.while_loop(lambda state: state[0] < n, body, (0, x))[1]

    return g


def fori_loop(f):
    return lambda x, y, n: lax.fori_loop(0, 2, lambda i, c: 0.5 * c + 0.5 * f(c, y, n), x)


# --- what it comes to ---


def slope_of(f, step):
    """The derivative of a function of a number at 0, to the sixth order of the step."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    parts = [w * (f(k * step) - f(-k * step)) for k, w in weights.items()]
    return sum(parts) / (60 * step)


def plain_push(f, step):
    def g(x, y, n):
        slope = slope_of(lambda t: f(x + t * like(x, DIRECTION), y + t * Y_DIRECTION, n), step)
        return slope + 0.3 * f(x, y, n)

    return g


def plain_pull(f, step):
    def g(x, y, n):
        def partial(dx, dy):
            slope = slope_of(lambda t: f(x + t * dx, y + t * dy, n), step)
            return onp.sum(slope * like(x, WEIGHTS))

        units = onp.eye(3) if x.ndim else [1.0]
        gx = onp.reshape([partial(unit, 0.0) for unit in units], x.shape)
        return gx + partial(0.0, 1.0) * like(x, MIX)

    return g


def plain_vmap(f, step):
    return lambda x, y, n: f(x, y, n) + 0.5 * f(0.5 * x + 0.1, y, n + 1)


def plain_vmap_named(f, step):
    def g(x, y, n):
        rows = [f(x, y, n), f(0.5 * x + 0.1, 0.8 * y, n)]
        rows = [row - 0.25 * (rows[0] + rows[1]) + 0.1 * k for k, row in enumerate(rows)]
        return rows[0] + 0.5 * rows[1]

    return g


def plain_pmap(f, step):
    def g(x, y, n):
        rows = [f(x, y, n), f(0.6 * x - 0.1, y, n + 1)]
        rows = [row - 0.15 * (rows[0] + rows[1]) + 0.2 * k for k, row in enumerate(rows)]
        return rows[0] + 0.5 * rows[1]

    return g


def plain_scan(f, step):
    def g(x, y, n):
        kept = onp.zeros_like(x)
        for i, k in enumerate(STEPS):
            kept = kept + x * k
            x = 0.5 * x + 0.5 * f(x, y * k, n + i)
        return x + kept

    return g


def plain_cond(f, step):
    return lambda x, y, n: f(x, y, n) if n > 2 else f(x, 0.5 * y, n) * 0.7


def plain_loop(count):
    def plain(f, step):
        def g(x, y, n):
            for _ in range(n if count is None else count):
                x = 0.5 * x + 0.5 * f(x, y, n)
            return x

        return g

    return plain


def same(f, step):
    return f


ALL = {
    "jit": (weft.jit, same),
    "jit of closure": (jit_of_closure, lambda f, step: lambda x, y, n: f(x, y, n) * y),
    "checkpoint": (weft.checkpoint, same),
    "custom_jvp": (custom_jvp, same),
    "custom_vjp": (custom_vjp, same),
    "grad": (grad, plain_pull),
    "vjp": (vjp, plain_pull),
    "transpose": (transposed, plain_pull),
    "jvp": (jvp, plain_push),
    "linearize": (linearize, plain_push),
    "vmap": (vmap, plain_vmap),
    "vmap named": (vmap_named, plain_vmap_named),
    "pmap": (pmap, plain_pmap),
    "scan": (scan, plain_scan),
    "cond": (cond, plain_cond),
    "while": (while_loop, plain_loop(None)),
    "fori": (fori_loop, plain_loop(2)),
}
PULLS = {"grad", "vjp", "transpose"}
PUSHES = {"jvp", "linearize", "transpose", "custom_jvp"}
DERIVATIVES = PULLS | PUSHES


def exists(nest):
    """Whether the derivatives that a nest (outermost first) asks for exist."""
    for i, name in enumerate(nest):
        around = [n for n in nest[:i] if n in DERIVATIVES]
        while around and around[0] == "custom_jvp":
            del around[0]  # the rule isn't asked for
        if name == "while" and PULLS.intersection(around):
            return False
        if name == "custom_vjp" and around and around[-1] in PUSHES:
            return False
    return True


# --- the comparison ---

POINTS = [
    (onp.array(x), y)
    for x, y in [
        ([0.3, -0.7, 1.1], 0.6),
        ([0.9, 0.2, -0.5], -0.3),
        ([-1.2, 0.4, 1.7], 0.8),
        ([1.6, -0.4, 0.5], 1.1),
        ([0.1, 2.1, -1.1], -0.8),
        ([-0.9, -2.0, 0.3], 0.45),
    ]
]
N = 2


def expected(nest, function, x, y):
    """The value by NumPy, or `None` where the function isn't smooth within the steps taken."""
    values = []
    for step in (0.02, 0.014):
        f = lambda x, y, n: onp.asarray(function(onp, x, y, n))  # noqa: E731
        for name in reversed(nest):
            f = ALL[name][1](f, step)
        values.append(f(x, y, N))
        if not DERIVATIVES.intersection(nest):
            break
    first, second = values[0], values[-1]
    smooth = onp.allclose(first, second, rtol=1e-7, atol=1e-7)
    return onp.asarray(second) if smooth else None


def nested(nest, function):
    f = lambda x, y, n: wnp.asarray(function(wnp, x, y, n))  # noqa: E731
    for name in reversed(nest):
        f = ALL[name][0](f)
    return f


def check(nest, name):
    for x, y in POINTS:
        x = x if name in ARRAYS else x[0]
        value = expected(nest, FUNCTIONS[name], x, y)
        if value is not None:
            break
    else:
        pytest.fail("the function isn't smooth at any of the points")
    got = nested(nest, FUNCTIONS[name])(wnp.asarray(x), wnp.asarray(y), wnp.asarray(N, wnp.int32))
    assert got.dtype == onp.float64
    assert got.shape == value.shape
    onp.testing.assert_allclose(onp.asarray(got), value, rtol=2e-6, atol=2e-6)


PAIRS = [p for p in itertools.product(ALL, repeat=2) if exists(p)]
TRIPLES = [t for t in itertools.product(ALL, repeat=3) if exists(t)]
# all of these: what is between decides whether devices meet
DEVICES_IN_DEVICES = [t for t in TRIPLES if t[0] == t[2] == "pmap"]


def cases():
    for i, nest in enumerate(PAIRS):
        for k in range(len(FUNCTIONS) if sampling.whole else 1):
            yield nest, NAMES[(i + k) % len(NAMES)]
    sample = sampling.some(TRIPLES, 170, "triples") + DEVICES_IN_DEVICES
    for i, nest in enumerate(dict.fromkeys(sample)):
        yield nest, NAMES[i % len(NAMES)]


def label(nest, name):
    return "-".join((*nest, name)).replace(" ", "_")


def needs(nest):
    """The devices that a nest takes: each pmap in it twice as many."""
    return [pytest.mark.devices(2 ** nest.count("pmap"))] if "pmap" in nest else []


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs((n,))) for n in ALL])
def test_each_alone(name):
    for function in NAMES:
        check((name,), function)


@pytest.mark.parametrize(
    ("nest", "function"),
    [pytest.param(n, f, id=label(n, f), marks=needs(n)) for n, f in cases()],
)
def test_nest(nest, function):
    check(nest, function)


@pytest.mark.parametrize(
    "nest", [n for n in itertools.product(ALL, repeat=2) if not exists(n)], ids="-".join
)
def test_derivatives_that_do_not_exist_are_refused(nest):
    f = nested(nest, FUNCTIONS["product"])
    x, y = POINTS[0]
    with pytest.raises(TypeError, match="mode"):
        f(wnp.asarray(x), wnp.asarray(y), wnp.asarray(N, wnp.int32))


def test_many_levels():
    order = ("grad", "jit", "vmap", "checkpoint", "scan", "custom_jvp", "cond", "jit", "vmap named")
    check(order, "product")
    check(("jvp", *order[1:]), "coupled")
    check(("jit", "vmap", *order), "gather")


@pytest.mark.devices(4)
def test_many_levels_with_devices_among_them():
    order = ("jit", "pmap", "vmap", "checkpoint", "scan", "custom_jvp", "cond", "jit", "pmap")
    check(("grad", *order), "product")
    check(("jvp", *order[1:]), "coupled")


def test_how_much_is_checked():
    """Every pair that exists, for several functions; every transformation inside every other."""
    checked = list(cases())
    assert {n for n, _ in checked if len(n) == 2} == set(PAIRS)
    triples = [n for n, _ in checked if len(n) == 3]
    assert len(triples) >= 180
    for place in range(3):
        assert {t[place] for t in triples} == set(ALL)
    assert {f for _, f in checked} == set(FUNCTIONS)
