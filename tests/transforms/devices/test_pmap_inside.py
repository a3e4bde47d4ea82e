"""pmap around and inside other transformations, control flow, callbacks, and random numbers.

Expected values are NumPy's, on the stack of all devices' values.
"""

import functools
import threading

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import grad, jit, jvp, lax, pmap, vjp, vmap
from weft.experimental import io_callback

pytestmark = pytest.mark.devices(8)
RNG = np.random.default_rng(1)
X = RNG.normal(size=(4, 3)).astype(np.float32)
W = RNG.normal(size=(3,)).astype(np.float32)
T = RNG.normal(size=(4, 3)).astype(np.float32)


def same(found, expected, tolerance=1e-5):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)


over_i = functools.partial(pmap, axis_name="i")


# --- with the mapped function's derivatives known ---


def f(x):
    """Of one device's x; they are coupled by their mean."""
    return wnp.sin(x) * lax.pmean(x, "i")


def model(x):
    return np.sin(x) * x.mean(0)


def model_jvp(x, t):
    return np.cos(x) * x.mean(0) * t + np.sin(x) * t.mean(0)


def model_vjp(x, ct):
    return np.cos(x) * x.mean(0) * ct + (np.sin(x) * ct).mean(0)


def test_the_models_derivatives():
    eps = 1e-6
    x, t, ct = (a.astype(float) for a in (X, T, X[::-1]))
    slope = (model(x + eps * t) - model(x - eps * t)) / (2 * eps)
    np.testing.assert_allclose(model_jvp(x, t), slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(np.vdot(model_vjp(x, ct), t), np.vdot(ct, slope), rtol=1e-7)


PULLED = model_vjp(X, T)
PUSHED = model_jvp(X, T)

# fmt: off
AROUND = {  # a function of X with pmap in it -> what it gives
    "pmap": (lambda: over_i(f)(X), model(X)),
    "jit of pmap": (lambda: jit(over_i(f))(X), model(X)),
    "jit of more than pmap": (lambda: jit(lambda x: 2 * over_i(f)(x + 0) - x)(X), 2 * model(X) - X),
    "pmap of jit": (lambda: over_i(jit(f))(X), model(X)),
    "pmap twice in jit": (lambda: jit(lambda x: over_i(f)(over_i(f)(x)))(X), model(model(X))),
    "checkpoint of pmap": (lambda: weft.checkpoint(over_i(f))(X), model(X)),
    "pmap of checkpoint": (lambda: over_i(weft.checkpoint(f))(X), model(X)),
    "jvp of pmap": (lambda: jvp(over_i(f), (X,), (T,))[1], PUSHED),
    "pmap of jvp": (lambda: over_i(lambda x, t: jvp(f, (x,), (t,))[1])(X, T), PUSHED),
    "linearize of pmap": (lambda: weft.linearize(over_i(f), X)[1](T), PUSHED),
    "jit of jvp of pmap": (lambda: jit(lambda x, t: jvp(over_i(f), (x,), (t,))[1])(X, T), PUSHED),
    "vjp of pmap": (lambda: vjp(over_i(f), X)[1](T)[0], PULLED),
    "pmap of vjp": (lambda: over_i(lambda x, t: vjp(f, x)[1](t)[0])(X, T), PULLED),
    "vjp of jit of pmap": (lambda: vjp(jit(over_i(f)), X)[1](T)[0], PULLED),
    "jit of vjp of pmap": (lambda: jit(lambda x, t: vjp(over_i(f), x)[1](t)[0])(X, T), PULLED),
    "vjp of pmap of jit": (lambda: vjp(over_i(jit(f)), X)[1](T)[0], PULLED),
    "vjp of pmap of checkpoint": (lambda: vjp(over_i(weft.checkpoint(f)), X)[1](T)[0], PULLED),
    "vjp of checkpoint of pmap": (lambda: vjp(weft.checkpoint(over_i(f)), X)[1](T)[0], PULLED),
    "transpose of linearize of pmap": (
        lambda: weft.linear_transpose(weft.linearize(over_i(f), X)[1], X)(T)[0], PULLED
    ),
    "grad of pmap": (lambda: grad(lambda x: (over_i(f)(x) * T).sum())(X), PULLED),
    "pmap of grad": (
        lambda: over_i(grad(lambda x, t: wnp.sum(f(x) * t)))(X, T), PULLED
    ),
    "vmap of pmap": (
        lambda: vmap(over_i(f))(np.stack([X, T])), np.stack([model(X), model(T)])
    ),
    "vmap of pmap, another axis": (
        lambda: vmap(over_i(f), 1, 1)(np.stack([X, T], 1)), np.stack([model(X), model(T)], 1)
    ),
    "pmap of vmap": (
        lambda: over_i(vmap(f), in_axes=1, out_axes=1)(np.stack([X, T])),
        np.stack([model(X), model(T)]),
    ),
    "vmap of grad of pmap": (
        lambda: vmap(grad(lambda x: over_i(f)(x).sum()))(np.stack([X, T])),
        np.stack([model_vjp(X, np.ones_like(X)), model_vjp(T, np.ones_like(T))]),
    ),
    "eval_shape": (lambda: np.zeros(weft.eval_shape(over_i(f), X).shape), np.zeros((4, 3))),
    "pmap of an eager loop": (
        lambda: over_i(lambda x: sum(f(x * k) for k in range(3)))(X), model(X) + model(2 * X)
    ),
    "pmap in scan": (
        lambda: lax.scan(lambda c, _: (over_i(f)(c), c), X, None, length=3)[0],
        model(model(model(X))),
    ),
    "scan in pmap": (
        lambda: over_i(lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0])(X),
        model(model(model(X))),
    ),
    "what scan in pmap keeps": (
        lambda: over_i(lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[1])(X),
        np.stack([X, model(X), model(model(X))], 1),
    ),
    "pmap in fori_loop": (
        lambda: lax.fori_loop(0, 2, lambda i, c: over_i(f)(c), X), model(model(X))
    ),
    "fori_loop in pmap": (
        lambda: over_i(lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x))(X), model(model(X))
    ),
    "pmap in while_loop": (
        lambda: lax.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, over_i(f)(s[1])), (0, X))[1],
        model(model(X)),
    ),
    "while_loop in pmap": (
        lambda: over_i(lambda x: lax.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1])(X),
        model(model(X)),
    ),
    "pmap in cond": (
        lambda: jit(lambda p, x: lax.cond(p, over_i(f), lambda x: x, x))(True, X), model(X)
    ),
    "cond in pmap": (
        lambda: over_i(lambda p, x: lax.cond(p, f, lambda x: x, x), in_axes=(None, 0))(True, X),
        model(X),
    ),
    "pmap in both branches": (
        lambda: jit(lambda p, x: lax.cond(p, over_i(f), over_i(lambda x: x * 2), x))(False, X),
        2 * X,
    ),
    "switch in pmap": (
        lambda: over_i(
            lambda k, x: lax.switch(k, [f, lambda x: x, lambda x: 2 * f(x)], x), in_axes=(None, 0)
        )(2, X),
        2 * model(X),
    ),
    "gradient through a scan in pmap": (
        lambda: grad(lambda x: over_i(
            lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0])(x).sum())(X),
        model_vjp(X, model_vjp(model(X), np.ones_like(X))),
    ),
    "gradient through a pmap in scan": (
        lambda: grad(
            lambda x: lax.scan(lambda c, _: (over_i(f)(c), c), x, None, length=2)[0].sum())(X),
        model_vjp(X, model_vjp(model(X), np.ones_like(X))),
    ),
    "gradient through a cond in pmap": (
        lambda: vjp(over_i(
            lambda x: lax.cond(lax.psum(x[0] ** 2, "i") > 0, f, lambda x: x, x)), X)[1](T)[0],
        PULLED,
    ),
}
# fmt: on


@pytest.mark.parametrize("name", AROUND)
def test_around_and_inside(name):
    call, expected = AROUND[name]
    same(call(), expected)


def test_second_derivatives():
    x = X[:, 0]
    pull = lambda x: grad(lambda x: over_i(f)(x).sum())(x)  # noqa: E731
    hessian = np.asarray(weft.jacfwd(pull)(x))
    eps = 1e-6
    ones, wide = np.ones(4), x.astype(float)
    expected = np.stack(
        [
            (model_vjp(wide + eps * e, ones) - model_vjp(wide - eps * e, ones)) / (2 * eps)
            for e in np.eye(4)
        ],
        1,
    )
    same(hessian, expected, 1e-4)
    same(weft.jacrev(pull)(x), expected, 1e-4)
    inside = over_i(lambda x, t: jvp(grad(f), (x,), (t,))[1])(x, np.ones(4, np.float32))
    same(inside, expected.sum(1), 1e-4)


def test_gradients_of_what_all_devices_share():
    def loss(w, x):
        return wnp.tanh(wnp.dot(x, w))

    slopes = (1 - np.tanh(X @ W) ** 2)[:, None] * X
    outside = grad(lambda w: over_i(loss, in_axes=(None, 0))(w, X).sum())
    same(outside(W), slopes.sum(0))
    same(jit(outside)(W), slopes.sum(0))
    same(over_i(grad(loss), in_axes=(None, 0))(W, X), slopes)
    averaged = over_i(lambda w, x: lax.pmean(grad(loss)(w, x), "i"), in_axes=(None, 0))
    same(averaged(W, X), np.stack([slopes.mean(0)] * 4))
    closed_over = grad(lambda w: over_i(lambda x: loss(w, x))(X).sum())
    same(closed_over(W), slopes.sum(0))
    same(vmap(closed_over)(np.stack([W, W])), np.stack([slopes.sum(0)] * 2))


def test_values_closed_over():
    same(over_i(lambda x: x * W)(X), X * W)
    same(jit(lambda w: over_i(lambda x: x * w)(X))(W), X * W)
    same(vmap(lambda w: over_i(lambda x: x * w)(X))(np.stack([W, 2 * W])), [X * W, 2 * X * W])
    on_devices = over_i(lambda x: x)(X)
    same(over_i(lambda x: x * on_devices.sum(0))(X), X * X.sum(0))


def test_auxiliary_results_and_values_with_gradients():
    g = over_i(weft.value_and_grad(lambda x: ((x * x).sum(), x[0]), has_aux=True))
    (value, aux), slope = g(X)
    same(value, (X * X).sum(1))
    same(aux, X[:, 0])
    same(slope, 2 * X)


# --- rules of the user's ---


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_custom_derivatives(kind):
    """The rule is asked for, not the derivative: around, inside, and with collectives in it."""
    if kind == "custom_jvp":
        g = weft.custom_jvp(lambda x: x * lax.psum(x, "i"))
        g.defjvp(lambda p, t: (g(*p), 3 * lax.psum(t[0], "i")))
        whole = weft.custom_jvp(lambda x: over_i(f)(x))
        whole.defjvp(lambda p, t: (whole(*p), 5 * t[0]))
    else:
        g = weft.custom_vjp(lambda x: x * lax.psum(x, "i"))
        g.defvjp(lambda x: (g(x), None), lambda _, ct: (3 * lax.psum(ct, "i"),))
        whole = weft.custom_vjp(lambda x: over_i(f)(x))
        whole.defvjp(lambda x: (whole(x), None), lambda _, ct: (5 * ct,))
    total = np.broadcast_to(3 * T.sum(0), T.shape)
    same(over_i(g)(X), X * X.sum(0))
    same(vjp(over_i(g), X)[1](T)[0], total)
    same(over_i(lambda x, t: vjp(g, x)[1](t)[0])(X, T), total)
    same(vjp(jit(over_i(jit(g))), X)[1](T)[0], total)
    if kind == "custom_jvp":
        same(jvp(over_i(g), (X,), (T,))[1], total)
    same(vjp(whole, X)[1](T)[0], 5 * T)
    same(jit(lambda x, t: vjp(whole, x)[1](t)[0])(X, T), 5 * T)


# --- pmap in pmap, four by two ---

GRID = RNG.normal(size=(4, 2, 3)).astype(np.float32)
# fmt: off
NESTED = {
    "rows": (lambda x: x - lax.pmean(x, "rows"), GRID - GRID.mean(0)),
    "columns": (lambda x: x - lax.pmean(x, "cols"), GRID - GRID.mean(1, keepdims=True)),
    "both": (lambda x: x - lax.pmean(x, ("rows", "cols")), GRID - GRID.mean((0, 1))),
    "both, the other way round": (
        lambda x: x - lax.pmax(x, ("cols", "rows")), GRID - GRID.max((0, 1))
    ),
    "one after the other": (
        lambda x: lax.psum(lax.pmax(x, "cols"), "rows") + 0 * x,
        np.broadcast_to(GRID.max(1).sum(0), GRID.shape),
    ),
    "numbers": (
        lambda x: x * 0 + 10 * lax.axis_index("rows") + lax.axis_index("cols"),
        GRID * 0 + np.array([[0, 1], [10, 11], [20, 21], [30, 31]])[..., None],
    ),
    "numbers of both": (
        lambda x: x * 0 + lax.axis_index(("rows", "cols")),
        GRID * 0 + np.arange(8).reshape(4, 2, 1),
    ),
    "shifted rows": (
        lambda x: lax.ppermute(x, "rows", [(i, (i + 1) % 4) for i in range(4)]),
        np.roll(GRID, 1, 0),
    ),
    "shifted columns": (lambda x: lax.ppermute(x, "cols", [(0, 1)]),
                        np.stack([0 * GRID[:, 0], GRID[:, 0]], 1)),
    "gathered": (
        lambda x: lax.all_gather(x, "rows"),
        np.broadcast_to(np.moveaxis(GRID, 1, 0), (4, 2, 4, 3)),
    ),
    "gathered from both": (
        lambda x: lax.all_gather(x, ("rows", "cols")).sum(0) + 0 * x,
        np.broadcast_to(GRID.sum((0, 1)), GRID.shape),
    ),
    "sizes": (
        lambda x: x * lax.psum(1, "rows") + lax.axis_size("cols") * lax.psum(1, ("rows", "cols")),
        GRID * 4 + 16,
    ),
    "no name": (lambda x: x * 2, GRID * 2),
}
# fmt: on


@pytest.mark.parametrize("name", NESTED)
def test_pmap_in_pmap(name):
    g, expected = NESTED[name]
    rows = functools.partial(pmap, axis_name="rows")
    columns = functools.partial(pmap, axis_name="cols")
    same(rows(columns(g))(GRID), expected)
    swapped = np.moveaxis(GRID, 1, 0)
    same(columns(rows(g))(swapped), np.moveaxis(expected, 1, 0))
    same(jit(rows(jit(columns(g))))(GRID), expected)


def test_pmap_in_pmap_with_axes_and_gradients():
    inner = pmap(lambda x, y: x * lax.psum(y, "c") + lax.pmean(x, "r"), "c", in_axes=(1, None))
    outer = pmap(inner, "r", in_axes=(2, 0), out_axes=1)
    x, y = RNG.normal(size=(3, 2, 4)), RNG.normal(size=4)
    mean = x.mean(2)
    expected = np.moveaxis(x * 2 * y + mean[..., None], (0, 1, 2), (2, 0, 1))
    same(outer(x.astype(np.float32), y.astype(np.float32)), expected)
    slope = grad(lambda y: (outer(x.astype(np.float32), y) ** 2).sum())(y.astype(np.float32))
    same(slope, (2 * (x * 2 * y + mean[..., None]) * 2 * x).sum((0, 1)), 1e-4)


def test_a_pmap_inside_another_is_not_lowered_alone():
    inner = pmap(lambda y: y * 2, axis_name="j")
    for program in (
        lambda x: (inner.lower(x), x)[1],
        lambda x: (pmap(lambda y: y * x[0]).lower(x), x)[1],
    ):
        with pytest.raises(ValueError, match=r"pmap: lower: <lambda> .* in another map"):
            pmap(program, axis_name="i")(np.ones((2, 2), np.float32))
    assert "stablehlo.multiply" in inner.lower(np.ones((2, 2), np.float32)).as_text()


def test_pmap_in_pmap_around_and_inside_vmap():
    g = lambda x: x / lax.psum(x, ("a", "b", "c"))  # noqa: E731
    x = RNG.uniform(1, 2, size=(2, 3, 2)).astype(np.float32)
    maps = {"p": pmap, "v": vmap}
    for kinds in ("ppp", "pvp", "vpp", "ppv", "vpv", "pvv"):
        h = g
        for kind, name in zip(reversed(kinds), "cba", strict=True):
            h = maps[kind](h, axis_name=name)
        if kinds == "ppp":
            with pytest.raises(ValueError, match="requires 12 replicas"):
                h(x)
            same(h(x[:, :2]), x[:, :2] / x[:, :2].sum())
        else:
            same(h(x), x / x.sum())


# --- Python called by the devices ---


def test_pure_callback():
    def host(x, i):
        assert x.shape == (3,)
        return np.sinh(x) + i

    def g(x):
        return weft.pure_callback(host, x, x, lax.axis_index("i").astype(np.float32)) * 2

    expected = 2 * (np.sinh(X) + np.arange(4)[:, None])
    same(over_i(g)(X), expected)
    same(jit(over_i(g))(X), expected)
    gathered = over_i(lambda x: lax.psum(weft.pure_callback(np.cosh, x, x), "i"))
    same(gathered(X), np.stack([np.cosh(X).sum(0)] * 4))


def test_callbacks_happen_once_for_each_device():
    seen, lock = [], threading.Lock()

    def note(i, x):
        with lock:
            seen.append((int(i), float(x)))

    def g(x):
        weft.debug.callback(note, lax.axis_index("i"), x)
        return x * 2

    x = np.float32([1, 2, 3, 4])
    expected = [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)]
    for h in (over_i(g), jit(over_i(g))):
        seen.clear()
        same(h(x), 2 * x)
        assert sorted(seen) == expected


def test_callbacks_in_loops():
    seen, lock = [], threading.Lock()

    def note(k, i):
        with lock:
            seen.append((int(k), int(i)))

    def body(k, x):
        weft.debug.callback(note, k, lax.axis_index("i"))
        return x + lax.psum(x, "i")

    same(over_i(lambda x: lax.fori_loop(0, 2, body, x))(np.float32([1, 2])), [13, 14])
    assert sorted(seen) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_printing(capfd):
    def g(x):
        weft.debug.print("device {} has {}", lax.axis_index("i"), x)
        return x

    over_i(g)(np.float32([1.5, 2.5])).block_until_ready()
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == ["device 0 has 1.5", "device 1 has 2.5"]


def test_io_callback():
    stored, lock = {}, threading.Lock()

    def store(i, x):
        with lock:
            stored[int(i)] = np.array(x)
        return np.float32(x.sum())

    def g(x):
        kind = weft.ShapeDtypeStruct((), np.float32)
        return io_callback(store, kind, lax.axis_index("i"), x)

    same(over_i(g)(X), X.sum(1))
    assert sorted(stored) == [0, 1, 2, 3]
    same(np.stack([stored[i] for i in range(4)]), X)


def test_an_exception_in_a_callback_is_raised():
    def host(x):
        raise ArithmeticError("no value for this")

    g = over_i(lambda x: weft.pure_callback(host, x, x))
    with pytest.raises(Exception, match="no value for this"):
        g(X).block_until_ready()
    same(over_i(f)(X), model(X))  # and the devices go on


# --- random numbers ---


def test_random_numbers_by_key():
    draw = lambda key: weft.random.normal(key, (3,))  # noqa: E731
    keys = weft.random.split(weft.random.PRNGKey(0), 8)
    expected = np.stack([draw(key) for key in keys])
    same(pmap(draw)(keys), expected)
    same(jit(pmap(draw))(keys), expected)


def test_random_numbers_by_the_number_of_the_device():
    key = weft.random.PRNGKey(1)
    draw = lambda key: weft.random.uniform(  # noqa: E731
        weft.random.fold_in(key, lax.axis_index("i")), (2,)
    )
    expected = np.stack([weft.random.uniform(weft.random.fold_in(key, i), (2,)) for i in range(4)])
    same(over_i(draw, in_axes=None, axis_size=4)(key), expected)
    same(over_i(lambda x: draw(key) + x)(np.zeros(4, np.float32)), expected)


# --- training ---


def test_a_data_parallel_step_equals_that_of_one_device():
    def loss(w, x, y):
        return wnp.mean((wnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

    def step(w, x, y, average):
        slopes = average(grad(loss)(w, x, y))
        return weft.tree_util.tree_map(lambda p, g: p - 0.1 * g, w, slopes)

    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    w, x, y = {"a": draw(3, 5), "b": draw(5, 2)}, draw(16, 3), draw(16, 2)
    alone = together = w
    for devices in (1, 2, 4, 8):
        parallel = pmap(
            lambda w, x, y: step(w, x, y, lambda g: lax.pmean(g, "data")),
            axis_name="data",
            in_axes=(None, 0, 0),
            out_axes=None,
        )
        alone = together = w
        for _ in range(3):
            alone = step(alone, x, y, lambda g: g)
            together = parallel(together, x.reshape(devices, -1, 3), y.reshape(devices, -1, 2))
        for name in w:
            same(together[name], alone[name], 1e-6)
