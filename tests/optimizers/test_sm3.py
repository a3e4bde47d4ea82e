"""SM3: the formula in float64, slots by rank, values by hand, kinds of momentum, options."""

import numpy as onp
import pytest
from optimizer_steps import after_steps, after_steps_of_formula, assert_close

from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend
from weft.optimizers.sm3 import MomentumType

EMA, HEAVY_BALL, NESTEROV = MomentumType


def formula(lr=0.01, momentum=0.9, b=1.0, decay=0.0, kind=EMA):
    """The update of one array, number by number."""

    def sums_of(vectors, squares, old, new):
        sums = onp.empty_like(squares)
        for place in onp.ndindex(squares.shape):
            least = min(vector[i] for vector, i in zip(vectors, place, strict=True))
            sums[place] = old * least + new * squares[place]
        maxima = [onp.zeros(n) for n in squares.shape]
        for place in onp.ndindex(squares.shape):
            for vector, i in zip(maxima, place, strict=True):
                vector[i] = max(vector[i], sums[place])
        return sums, maxima

    def preconditioned(g, sums):
        out = onp.zeros_like(g)
        for place in onp.ndindex(g.shape):
            if sums[place] > 0:
                out[place] = g[place] / (sums[place] ** 0.5 + 1e-16)
        return out

    def update(t, g, w, slot):
        m, v1, v2 = slot
        g = g.reshape(g.shape or (1,))
        sums, v1 = sums_of(v1, g**2, b, 1 if b == 1 else 1 - b)
        p = preconditioned(g, sums)
        if b != 1:
            adagrad, v2 = sums_of(v2, g**2, 1, 1)
            length = onp.linalg.norm(preconditioned(g, adagrad))
            p = p * length / (onp.linalg.norm(p) + 1e-16)
        p = p.reshape(w.shape) + decay * w
        u = p
        if momentum > 0:
            m = (1 - momentum) * p + momentum * m if kind is EMA else p + momentum * m
            u = p + momentum * m if kind is NESTEROV else m
        return w - lr * u, (m, v1, v2)

    def start(w):
        vectors = [onp.zeros(n) for n in w.shape or (1,)]
        m = onp.zeros_like(w) if momentum > 0 else []
        return m, vectors, vectors if b != 1 else []

    return update, start


CASES = {
    "defaults": ({}, {}),
    "heavy ball": ({"momentum_type": HEAVY_BALL}, {"kind": HEAVY_BALL}),
    "Nesterov": ({"momentum_type": NESTEROV}, {"kind": NESTEROV}),
    "a number for the kind": ({"momentum_type": 3}, {"kind": NESTEROV}),
    "no momentum": ({"momentum": 0.0, "learning_rate": 0.05}, {"momentum": 0.0, "lr": 0.05}),
    "averages": ({"second_moment_averaging": 0.9}, {"b": 0.9}),
    "decay": (
        {"weight_decay": 0.5, "second_moment_averaging": 0.5},
        {"decay": 0.5, "b": 0.5},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_fifty_steps_follow_the_formula(case, compiled):
    options, numbers = CASES[case]
    got = after_steps(optimizers.SM3(**options), compiled=compiled)
    assert_close(got, after_steps_of_formula(*formula(**numbers)))


@pytest.mark.parametrize("case", ["defaults", "averages"])
def test_fifty_steps_on_numpy(case):
    options, numbers = CASES[case]
    with use_backend("numpy"):
        got = after_steps(optimizers.SM3(**options))
    assert_close(got, after_steps_of_formula(*formula(**numbers)))


def test_two_steps_of_a_matrix_by_hand():
    optimizer = optimizers.SM3(learning_rate=1.0, momentum=0.0)
    w = jnp.zeros((2, 2))
    slot = optimizer.init(w)
    g = jnp.array([[3.0, 0.0], [1.0, 4.0]])
    w, slot = optimizer.update(0, g, w, slot, optimizer.opt_params)
    assert w.tolist() == [[-1.0, 0.0], [-1.0, -1.0]]  # sums are the squares; 0 where they are 0
    assert [v.tolist() for v in slot[1]] == [[9.0, 16.0], [9.0, 16.0]]
    w, slot = optimizer.update(
        1, jnp.array([[4.0, 0.0], [0.0, 3.0]]), w, slot, optimizer.opt_params
    )
    # sums: the least of row and column, plus squares: [[9 + 16, 9], [9, 16 + 9]]
    onp.testing.assert_allclose(w, [[-1.8, 0.0], [-1.0, -1.6]], rtol=1e-6)
    assert [v.tolist() for v in slot[1]] == [[25.0, 25.0], [25.0, 25.0]]


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [(EMA, 0.25, 0.4375), (HEAVY_BALL, 1.0, 1.75), (NESTEROV, 1.75, 2.3125)],
)
def test_kinds_of_momentum_by_hand(kind, first, second):
    optimizer = optimizers.SM3(1.0, 0.75, momentum_type=kind)
    w, g = jnp.zeros(1), jnp.ones(1)
    forgets = optimizer.init(w)[1]  # sums of squares begin at 0 again, so each step p is 1
    w, (m, _, _) = optimizer.update(0, g, w, (jnp.zeros(1), forgets, []), optimizer.opt_params)
    assert float(w[0]) == -first
    w, _ = optimizer.update(1, g, w, (m, forgets, []), optimizer.opt_params)
    assert float(w[0]) == -first - second


def test_grafting_gives_the_length_of_a_step_of_adagrad():
    optimizer = optimizers.SM3(1.0, momentum=0.0, second_moment_averaging=0.5)
    w, g = jnp.zeros(2), jnp.array([3.0, 4.0])
    w, (_, v1, v2) = optimizer.update(0, g, w, optimizer.init(w), optimizer.opt_params)
    onp.testing.assert_allclose(w, [-1.0, -1.0], rtol=1e-6)  # sqrt(2) long, in p's direction
    assert (v1[0].tolist(), v2[0].tolist()) == ([4.5, 8.0], [9.0, 16.0])


@pytest.mark.parametrize(
    ("shape", "lengths"), [((), [1]), ((5,), [5]), ((4, 3), [4, 3]), ((2, 3, 4), [2, 3, 4])]
)
def test_slots_by_rank(shape, lengths):
    m, v1, v2 = optimizers.SM3().init(jnp.ones(shape))
    assert (m.shape, [v.shape for v in v1], v2) == (shape, [(n,) for n in lengths], [])
    m, v1, v2 = optimizers.SM3(momentum=0, second_moment_averaging=0.9).init(jnp.ones(shape))
    assert (m, [v.shape for v in v1]) == ([], [(n,) for n in lengths])
    assert [v.shape for v in v2] == [(n,) for n in lengths]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("second_moment_averaging", 0.0),
        ("second_moment_averaging", 1.1),
        ("weight_decay", -1.0),
        ("momentum_type", 0),
        ("momentum_type", "EMA"),
        ("momentum_type", True),
    ],
)
def test_an_option_out_of_its_range_is_refused(option, value):
    with pytest.raises(ValueError, match=f"SM3: {option} must be"):
        optimizers.SM3(**{option: value})
