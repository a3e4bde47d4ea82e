"""Optimizers against NumPy loops of the published rules; schedules; gradients; wrong uses."""

import pickle

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import grad, jit, lax, vmap
from weft.errors import ShapeError
from weft.experimental import optimizers
from weft.tree_util import tree_leaves, tree_map, tree_structure

STEPS = 5
RATE = 0.1
"""The step sizes of all tests of rules are RATE / (i + 1)."""


def step_size(i):
    return RATE / (i + 1)


# --- the rules, as loops over elements, in float64 ---


def sgd(x, gs):
    for i, g in enumerate(gs):
        x = x - step_size(i) * g
    return x


def momentum(x, gs, nesterov=False):
    v = 0 * x
    for i, g in enumerate(gs):
        v = 0.8 * v + g
        x = x - step_size(i) * (0.8 * v + g if nesterov else v)
    return x


def nesterov(x, gs):
    return momentum(x, gs, nesterov=True)


def over_root(g, s):
    return onp.divide(g, onp.sqrt(s), out=onp.zeros_like(g), where=s > 0)


def adagrad(x, gs):
    s, m = 0 * x, 0 * x
    for i, g in enumerate(gs):
        s = s + g**2
        m = 0.3 * m + 0.7 * over_root(g, s)
        x = x - step_size(i) * m
    return x


def rmsprop(x, gs, kept=0.0):
    s, v = 0 * x, 0 * x
    for i, g in enumerate(gs):
        s = 0.7 * s + 0.3 * g**2
        v = kept * v + step_size(i) * g / onp.sqrt(s + 1e-3)
        x = x - v
    return x


def rmsprop_momentum(x, gs):
    return rmsprop(x, gs, 0.6)


def adam(x, gs):
    m, v = 0 * x, 0 * x
    for t, g in enumerate(gs, 1):  # arXiv:1412.6980, algorithm 1
        m = 0.6 * m + 0.4 * g
        v = 0.9 * v + 0.1 * g**2
        x = x - step_size(t - 1) * (m / (1 - 0.6**t)) / (onp.sqrt(v / (1 - 0.9**t)) + 1e-3)
    return x


def adamax(x, gs):
    m, u = 0 * x, 0 * x
    for t, g in enumerate(gs, 1):  # arXiv:1412.6980, algorithm 2
        m = 0.6 * m + 0.4 * g
        u = onp.maximum(0.9 * u, abs(g))
        x = x - step_size(t - 1) / (1 - 0.6**t) * m / (u + 1e-3)
    return x


def sm3(x, gs):
    """arXiv:1901.11150, SM3-II: the cover is that of all slices; one of all for a scalar."""
    cover = [(a, k) for a, n in enumerate(x.shape) for k in range(n)] or [None]
    mu, m = dict.fromkeys(cover, 0.0), 0 * x
    for i, g in enumerate(gs):
        nu = onp.zeros(x.shape)
        for j in onp.ndindex(x.shape):
            nu[j] = min(mu[r] for r in list(enumerate(j)) or [None]) + g[j] ** 2
        mu = {r: max(nu[j] for j in onp.ndindex(x.shape) if r is None or j[r[0]] == r[1])
              for r in cover}  # fmt: skip
        m = 0.3 * m + 0.7 * over_root(g, nu)
        x = x - step_size(i) * m
    return x


RULES = {
    "sgd": (sgd, {}),
    "momentum": (momentum, {"mass": 0.8}),
    "nesterov": (nesterov, {"mass": 0.8}),
    "adagrad": (adagrad, {"momentum": 0.3}),
    "rmsprop": (rmsprop, {"gamma": 0.7, "eps": 1e-3}),
    "rmsprop_momentum": (rmsprop_momentum, {"gamma": 0.7, "eps": 1e-3, "momentum": 0.6}),
    "adam": (adam, {"b1": 0.6, "b2": 0.9, "eps": 1e-3}),
    "adamax": (adamax, {"b1": 0.6, "b2": 0.9, "eps": 1e-3}),
    "sm3": (sm3, {"momentum": 0.3}),
}


def made(name, size=step_size):
    return getattr(optimizers, name)(size, **RULES[name][1])


def trees():
    """Parameters in nested containers, and a gradient for each step, some elements always 0."""
    rng = onp.random.default_rng(0)

    def draw():
        w = rng.normal(size=(2, 3))
        w[1, 2] = 0
        return {"w": w, "b": [rng.normal(size=()), (rng.normal(size=(2, 1, 2)), None)]}

    return draw(), [draw() for _ in range(STEPS)]


def single(tree):
    return tree_map(lambda x: x.astype("float32"), tree)


def expected(name):
    x0, gs = trees()
    return tree_map(lambda x, *gs: RULES[name][0](x, gs), x0, *gs)


def near(tree, other, **tolerances):
    assert tree_structure(tree) == tree_structure(other)
    for x, y in zip(tree_leaves(tree), tree_leaves(other), strict=True):
        onp.testing.assert_allclose(x, y, **{"rtol": 1e-5, "atol": 1e-6} | tolerances)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_the_published_one(name):
    init, update, get_params = made(name)
    x0, gs = trees()
    state = init(single(x0))
    near(get_params(state), x0)
    for i, g in enumerate(gs):
        state = update(i, single(g), state)
    near(get_params(state), expected(name))


@pytest.mark.parametrize("name", RULES)
def test_a_loop_in_a_program_carries_the_state(name):
    init, update, get_params = made(name)
    x0, gs = trees()
    stacked = tree_map(lambda *gs: np.asarray(onp.stack(gs), "float32"), *gs)

    @jit
    def train(params):
        def step(i, state):
            return update(i, tree_map(lambda g: g[i], stacked), state)

        return get_params(lax.fori_loop(0, STEPS, step, init(params)))

    near(train(single(x0)), expected(name))


@pytest.mark.parametrize("name", RULES)
def test_through_the_steps_of_many_rates_and_their_derivatives(name):
    """vmap and grad through an optimizer: of the loss after training, by the step size."""
    target = np.array([1.0, -2.0, 0.0])

    def loss(x):
        return np.sum((x - target) ** 2 * np.array([1.0, 2.0, 3.0]))

    def trained(rate):
        init, update, get_params = made(name, rate)
        state = init(np.zeros(3))
        for i in range(3):
            state = update(i, grad(loss)(get_params(state)), state)
        return loss(get_params(state))

    with weft.enable_x64(True):
        rates = onp.array([0.01, 0.02])
        got = vmap(trained)(rates)
        near(list(got), [trained(r) for r in rates])
        assert (got < loss(np.zeros(3))).all()
        h = 1e-6
        slopes = [(trained(r + h) - trained(r - h)) / (2 * h) for r in rates]
        near(list(jit(vmap(grad(trained)))(rates)), slopes, rtol=1e-5)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_dtypes_stay(name, dtype):
    for size in (step_size, optimizers.piecewise_constant([1], [0.1, 0.2])):
        init, update, get_params = made(name, size)
        state = init({"x": np.ones((2, 2), dtype), "y": 1.0})
        types = [x.aval for x in tree_leaves(state)]
        assert not any(t.weak_type for t in types)
        state = update(0, {"x": np.ones((2, 2), "float32"), "y": np.ones(())}, state)
        assert [x.aval for x in tree_leaves(state)] == types
        assert get_params(state)["x"].dtype == dtype
        assert (get_params(state)["x"] < 1).all()


@pytest.mark.parametrize("name", RULES)
def test_empty_trees_and_arrays(name):
    init, update, get_params = made(name)
    assert get_params(update(0, {}, init({}))) == {}
    x = onp.zeros((0, 3), "float32")
    assert get_params(update(0, [x], init([x])))[0].shape == (0, 3)


@pytest.mark.parametrize("name", RULES)
def test_packed_and_unpacked(name):
    init, update, get_params = made(name)
    x0, (g, *_) = trees()
    state = update(0, single(g), init(single(x0)))
    unpacked = pickle.loads(pickle.dumps(optimizers.unpack_optimizer_state(state)))
    assert tree_structure(unpacked) == tree_structure(x0)
    point = unpacked["b"][0]
    assert isinstance(point, optimizers.JoinPoint)
    assert [*point] == [point.subtree]
    near(point.subtree[0], get_params(state)["b"][0])
    again = optimizers.pack_optimizer_state(unpacked)
    assert isinstance(again, optimizers.OptimizerState)
    assert tree_structure(again) == tree_structure(state)
    near(again, state)
    assert pickle.loads(pickle.dumps(state)).tree_def == state.tree_def


def test_names_of_triples_and_states():
    opt = optimizers.sgd(0.5)
    assert opt == (opt.init_fn, opt.update_fn, opt.params_fn)
    state = opt.init_fn([1.0, {"a": 2.0}])
    assert state.tree_def == tree_structure([0, {"a": 0}])
    assert [[float(x) for x in xs] for xs in state.packed_state] == [[1.0], [2.0]]
    assert len(state.subtree_defs) == 2
    assert opt.update_fn.__name__ == "update_fun"


def test_an_optimizer_of_ones_own():
    @optimizers.optimizer
    def averaged(rate):
        """Its text."""

        def update(i, g, state):
            x = state["x"] - rate * g
            return {"x": x, "mean": (i * state["mean"] + x) / (i + 1)}

        return lambda x: {"x": x, "mean": x}, update, lambda state: state["mean"]

    assert (averaged.__name__, averaged.__doc__) == ("averaged", "Its text.")
    init, update, get_params = averaged(0.5)
    state = init(({"a": 4.0},))
    for i in range(2):
        state = jit(update)(i, ({"a": 2.0},), state)
    assert get_params(state)[0]["a"] == 2.5  # of 3 and 2


def test_a_network_is_trained():
    rng = onp.random.default_rng(1)
    x = rng.normal(size=(64, 3)).astype("float32")
    y = onp.tanh(x @ onp.float32([[1], [-2], [0.5]]))
    init, update, get_params = optimizers.adam(optimizers.exponential_decay(0.1, 20, 0.5))

    def loss(params):
        return np.mean((np.tanh(x @ params["W"] + params["b"]) - y) ** 2)

    @jit
    def step(i, state):
        return update(i, optimizers.clip_grads(grad(loss)(get_params(state)), 1.0), state)

    state = init({"W": onp.zeros((3, 1), "float32"), "b": onp.zeros(1, "float32")})
    for i in range(40):
        state = step(i, state)
    assert loss(get_params(state)) < 0.02 * np.mean(y**2)


# --- schedules ---

SCHEDULES = {
    "constant": (optimizers.constant(0.5), lambda i: 0.5),
    "a number": (optimizers.make_schedule(0.5), lambda i: 0.5),
    "an array": (optimizers.make_schedule(onp.float32(0.5)), lambda i: 0.5),
    "a function": (optimizers.make_schedule(lambda i: i * 2.0), lambda i: 2.0 * i),
    "exponential": (optimizers.exponential_decay(0.5, 10, 0.3), lambda i: 0.5 * 0.3 ** (i / 10)),
    "inverse": (optimizers.inverse_time_decay(0.5, 4, 0.3), lambda i: 0.5 / (1 + 0.3 * i / 4)),
    "staircase": (
        optimizers.inverse_time_decay(0.5, 4, 0.3, staircase=True),
        lambda i: 0.5 / (1 + 0.3 * (i // 4)),
    ),
    "line": (
        optimizers.polynomial_decay(0.5, 10, 0.1),
        lambda i: 0.1 + 0.4 * (1 - min(i, 10) / 10),
    ),
    "square": (
        optimizers.polynomial_decay(0.5, 10, 0.1, power=2),
        lambda i: 0.1 + 0.4 * (1 - min(i, 10) / 10) ** 2,
    ),
    "pieces": (
        optimizers.piecewise_constant([3, 8], onp.array([1.0, 0.5, 0.25])),
        lambda i: 1.0 if i <= 3 else 0.5 if i <= 8 else 0.25,
    ),
    "one piece": (optimizers.piecewise_constant([], [0.5]), lambda i: 0.5),
}


def test_schedules():
    steps = (0, 1, 3, 4, 8, 9, 10, 25)
    traced = jit(lambda i: {name: schedule(i) for name, (schedule, _) in SCHEDULES.items()})
    for i in steps:
        inside = traced(i)
        for name, (schedule, formula) in SCHEDULES.items():
            onp.testing.assert_allclose(schedule(i), formula(i), rtol=1e-6, err_msg=name)
            onp.testing.assert_allclose(inside[name], formula(i), rtol=1e-6, err_msg=name)


# --- gradients ---


def test_norms_and_clipping():
    g = {"a": onp.float32([[3, 0], [0, 4]]), "b": [onp.float32(12), np.array([], "bfloat16")]}
    assert optimizers.l2_norm(g) == 13
    assert optimizers.l2_norm({}) == 0
    assert optimizers.l2_norm([3 + 4j]) == 5
    near(optimizers.clip_grads(g, 26), g, rtol=0, atol=0)
    near(optimizers.clip_grads(g, 13), g, rtol=0, atol=0)
    short = optimizers.clip_grads(g, 6.5)
    near(short, tree_map(lambda x: x / 2, g))
    near(jit(optimizers.clip_grads)(g, 6.5), short)
    assert short["b"][1].dtype == "bfloat16"
    near(optimizers.clip_grads([0.0], 0.0), [0.0])
    assert onp.isnan(optimizers.clip_grads([onp.float32(onp.nan), onp.float32(1)], 1.0)).all()


def test_the_norm_of_narrow_floats_is_wide():
    g = [np.full(4, 300.0, "float16")]  # the squares are beyond float16
    assert optimizers.l2_norm(g) == 600
    (clipped,) = optimizers.clip_grads(g, 1.0)
    assert clipped.dtype == "float16"
    onp.testing.assert_array_equal(clipped, onp.float16(0.5))


# --- wrong uses ---

PARAMS = {"w": onp.ones((2, 3), "float32"), "b": onp.ones(3, "float32")}


def updated(grads, params=PARAMS):
    init, update, _ = optimizers.momentum(0.1, 0.9)
    return update(0, grads, init(params))


WRONG = {
    "negative step": (lambda: optimizers.sgd(-0.1), ValueError, "step size.*at least 0.*-0.1"),
    "step NaN": (lambda: optimizers.adam(float("nan")), ValueError, "step size.*got nan"),
    "step inf": (lambda: optimizers.sgd(onp.inf), ValueError, "step size.*finite.*got inf"),
    "step a list": (lambda: optimizers.sgd([0.1]), TypeError, "step_size; got a list"),
    "step a text": (lambda: optimizers.sgd("0.1"), TypeError, "step_size; got a str"),
    "step a vector": (lambda: optimizers.sgd(np.ones(2)), ShapeError, r"step size.*float32\[2\]"),
    "step complex": (lambda: optimizers.sgd(1j), ShapeError, "step size must be a real number"),
    "mass": (lambda: optimizers.momentum(0.1, 1.5), ValueError, "momentum: mass.*at most 1; got"),
    "nesterov's mass": (lambda: optimizers.nesterov(0.1, -1), ValueError, "nesterov: mass"),
    "b1": (lambda: optimizers.adam(0.1, b1=1), ValueError, "adam: b1 .*below 1; got 1"),
    "b2": (lambda: optimizers.adam(0.1, b2=1), ValueError, "adam: b2 .*below 1; got 1"),
    "b1 of adamax": (lambda: optimizers.adamax(0.1, b1=1), ValueError, "adamax: b1"),
    "b2 of adamax": (lambda: optimizers.adamax(0.1, b2=1), ValueError, "adamax: b2"),
    "eps": (lambda: optimizers.adam(0.1, eps=0), ValueError, "adam: eps .*above 0; got 0"),
    "gamma": (lambda: optimizers.rmsprop(0.1, gamma=-1), ValueError, "rmsprop: gamma"),
    "momentum": (lambda: optimizers.sm3(0.1, momentum=1), ValueError, "sm3: momentum"),
    "adagrad": (lambda: optimizers.adagrad(0.1, momentum=2), ValueError, "adagrad: momentum"),
    "schedule": (lambda: optimizers.exponential_decay(-1, 1, 1), ValueError, "decay: step_size"),
    "decay_steps": (
        lambda: optimizers.exponential_decay(1, 0, 1), ValueError, "decay_steps .*above 0"),
    "decay_rate": (lambda: optimizers.inverse_time_decay(1, 1, -1), ValueError, "decay_rate"),
    "final": (lambda: optimizers.polynomial_decay(1, 1, -1), ValueError, "final_step_size"),
    "power": (lambda: optimizers.polynomial_decay(1, 1, 1, 0), ValueError, "power"),
    "pieces": (
        lambda: optimizers.piecewise_constant([1, 2], [1.0, 2.0]), ShapeError, "one element more"),
    "order": (
        lambda: optimizers.piecewise_constant([2, 1], [1.0, 2.0, 3.0]), ValueError,
        r"must increase; got \[2, 1\]"),
    "value": (lambda: optimizers.piecewise_constant([2], [1, -1]), ValueError, "each of values"),
    "max_norm": (lambda: optimizers.clip_grads([1.0], -1.0), ValueError, "clip_grads: max_norm"),
    "norm of text": (lambda: optimizers.l2_norm({"a": "b"}), TypeError, r"l2_norm.*tree\['a'\]"),
    "another tree": (lambda: updated({"w": PARAMS["w"]}), ShapeError,
        "momentum: the gradient.*differ at the root: expected a dict with keys 'b', 'w'"),
    "tuple for list": (lambda: updated((1.0,), [1.0]), ShapeError, "tuples and lists are diff"),
    "another shape": (lambda: updated({"w": onp.ones((3,), "f"), "b": PARAMS["b"]}), ShapeError,
        r"grads\['w'\] is float32\[3\], the parameter float32\[2,3\]"),
    "integer gradient": (lambda: updated([1], [1.0]), ShapeError, "gradients must be real floats"),
    "integers": (lambda: updated([1.0], [1]), ShapeError, "momentum: parameters must be real"),
    "complex": (lambda: updated([1.0], [1j]), ShapeError, "its real and imaginary parts"),
    "no array": (lambda: updated(["a"], ["a"]), TypeError, r"params\[0\]; got a str"),
    "no state": (lambda: optimizers.sgd(0.1)[1](0, PARAMS, PARAMS), TypeError,
        r"sgd: expected the state of an optimizer.*got a dict\n  fix: opt_state = opt_init"),
    "params of params": (
        lambda: optimizers.sgd(0.1)[2](PARAMS), TypeError, "sgd: expected the state"),
    "unpack": (lambda: optimizers.unpack_optimizer_state(PARAMS), TypeError, "unpack_optimizer"),
    "pack": (lambda: optimizers.pack_optimizer_state({"a": 1.0}), TypeError,
        r"JoinPoints.*the leaf \['a'\] is a float"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_uses(case):
    use, kind, message = WRONG[case]
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        use()
    assert any("test_optimizers.py" in note for note in caught.value.__notes__)


def test_a_rule_that_changes_its_state():
    @optimizers.optimizer
    def growing():
        return lambda x: (x,), lambda i, g, state: (*state, g), lambda state: state[0]

    init, update, _ = growing()
    with pytest.raises(ShapeError, match=r"growing: update must return.*grads\['a'\].*tuple of 2"):
        update(0, {"a": 1.0}, init({"a": 1.0}))
