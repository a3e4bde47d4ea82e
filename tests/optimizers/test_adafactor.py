"""Adafactor: the formula in float64, slots by rank, values by hand, options."""

import numpy as onp
import pytest
from optimizer_steps import SHAPES, after_steps, after_steps_of_formula, assert_close

from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend

DEFAULTS = {
    "learning_rate": 0.05,
    "factored": True,
    "multiply_by_parameter_scale": True,
    "do_clipping": True,
    "do_momentum": False,
    "momentum_in_bfloat16": False,
    "beta1": 0.0,
    "decay_rate": 0.8,
    "clipping_threshold": 1.0,
    "weight_decay_rate": 1e-5,
    "weight_decay_n_steps": 0,
    "epsilon1": 1e-16,
    "epsilon2": 1e-3,
}


def rms(x):
    return onp.sqrt(onp.mean(x**2))


def formula(**options):
    """The update of one array, matrix by matrix and row by row."""
    o = DEFAULTS | options

    def factored(g, v_row, v_col, d):
        y = onp.empty_like(g)
        new_row, new_col = onp.empty_like(v_row), onp.empty_like(v_col)
        for stack in onp.ndindex(g.shape[:-2]):
            squares = g[stack] ** 2
            for i, row in enumerate(squares):
                new_row[(*stack, i)] = d * v_row[(*stack, i)] + (1 - d) * row.mean()
            for j, column in enumerate(squares.T):
                new_col[(*stack, j)] = d * v_col[(*stack, j)] + (1 - d) * column.mean()
            rows, columns = new_row[stack], new_col[stack]
            for i in range(len(rows)):
                for j in range(len(columns)):
                    r = (rows.mean() / (rows[i] + o["epsilon1"])) ** 0.5
                    c = (columns[j] + o["epsilon1"]) ** -0.5
                    y[(*stack, i, j)] = g[(*stack, i, j)] * r * c
        return y, [new_row, new_col]

    def update(t, g, w, slot):
        d = 1 - (t + 1) ** -o["decay_rate"]
        n = o["weight_decay_n_steps"]
        decay = o["weight_decay_rate"] * (1 if n < 1 else max(n - t, 0) / n)
        if o["factored"] and g.ndim >= 2:
            y, new_slot = factored(g, slot[0], slot[1], d)
        else:
            v = d * slot[0] + (1 - d) * g**2
            y, new_slot = g * (v + o["epsilon1"]) ** -0.5, [v]
        if o["do_clipping"]:
            y = y / max(1, rms(y) / o["clipping_threshold"])
        scale = o["learning_rate"]
        if o["multiply_by_parameter_scale"]:
            scale = scale * max(rms(w), o["epsilon2"])
        u = scale * y
        if o["do_momentum"]:
            u = o["beta1"] * slot[-1] + (1 - o["beta1"]) * u
            new_slot.append(u)
        return (1 - decay) * w - u, new_slot

    def start(w):
        if o["factored"] and w.ndim >= 2:
            slot = [onp.zeros(w.shape[:-1]), onp.zeros(w.shape[:-2] + w.shape[-1:])]
        else:
            slot = [onp.zeros_like(w)]
        return slot + [onp.zeros_like(w)] * o["do_momentum"]

    return update, start


CASES = {
    "defaults": {},
    "whole": {"factored": False},
    "momentum": {"do_momentum": True, "beta1": 0.9},
    "plain": {"multiply_by_parameter_scale": False, "do_clipping": False, "learning_rate": 0.01},
    "decay ends": {"weight_decay_rate": 0.1, "weight_decay_n_steps": 20, "decay_rate": 0.5},
    "limits": {"clipping_threshold": 0.3, "epsilon1": 0.01, "epsilon2": 2.0},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("first", "compiled"), [(0, False), (1, True)])
def test_fifty_steps_follow_the_formula(case, first, compiled):
    got = after_steps(optimizers.Adafactor(**CASES[case]), first, compiled)
    assert_close(got, after_steps_of_formula(*formula(**CASES[case]), first))


def test_fifty_steps_on_numpy():
    with use_backend("numpy"):
        got = after_steps(optimizers.Adafactor())
    assert_close(got, after_steps_of_formula(*formula()))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), [()]), ((5,), [(5,)]), ((4, 3), [(4,), (3,)]), ((2, 3, 4), [(2, 3), (2, 4)])],
)
def test_slots_by_rank(shape, expected):
    w = jnp.ones(shape)
    assert [x.shape for x in optimizers.Adafactor().init(w)] == expected
    assert [x.shape for x in optimizers.Adafactor(do_momentum=True).init(w)] == [*expected, shape]
    assert [x.shape for x in optimizers.Adafactor(factored=False).init(w)] == [shape]


def test_a_first_step_by_hand():
    """At t = 0 the means are the squares: y is 1 or -1, of root mean square 1, and w moves by lr
    times its own root mean square."""
    optimizer = optimizers.Adafactor(learning_rate=0.5, weight_decay_rate=0.0)
    w, g = jnp.array([3.0, -4.0]), jnp.array([0.1, -20.0])
    new, (v,) = optimizer.update(0, g, w, optimizer.init(w), optimizer.opt_params)
    onp.testing.assert_allclose(v, [0.01, 400.0], rtol=1e-6)
    step = 0.5 * (25 / 2) ** 0.5
    onp.testing.assert_allclose(new, [3 - step, -4 + step], rtol=1e-6)


def test_a_second_step_by_hand():
    """At t = 1 of a training loop, d = 1 - 2 ** -0.8: y = 1 / sqrt(0.574) is clipped to 1."""
    optimizer = optimizers.Adafactor(
        learning_rate=0.5, weight_decay_rate=0.0, multiply_by_parameter_scale=False
    )
    w = jnp.zeros(2)
    new, (v,) = optimizer.update(1, jnp.ones(2), w, optimizer.init(w), optimizer.opt_params)
    onp.testing.assert_allclose(v, [2**-0.8] * 2, rtol=1e-6)
    onp.testing.assert_allclose(new, [-0.5, -0.5], rtol=1e-6)


def test_a_matrix_of_one_row_by_hand():
    optimizer = optimizers.Adafactor(
        learning_rate=1.0,
        weight_decay_rate=0.0,
        multiply_by_parameter_scale=False,
        do_clipping=False,
    )
    w, g = jnp.zeros((1, 2)), jnp.array([[3.0, 4.0]])
    new, (v_row, v_col) = optimizer.update(0, g, w, optimizer.init(w), optimizer.opt_params)
    assert (v_row.tolist(), v_col.tolist()) == ([12.5], [9.0, 16.0])
    onp.testing.assert_allclose(new, [[-1.0, -1.0]], rtol=1e-6)


def test_momentum_in_bfloat16():
    options = {"do_momentum": True, "beta1": 0.9}
    optimizer = optimizers.Adafactor(momentum_in_bfloat16=True, **options)
    tree, slots = after_steps(optimizer)
    exact = after_steps(optimizers.Adafactor(**options))
    assert {str(slot[-1].dtype) for slot in slots} == {"bfloat16"}
    assert {str(x.dtype) for slot in slots for x in slot[:-1]} == {"float32"}
    for name in SHAPES:
        onp.testing.assert_allclose(tree[name][0], exact[0][name][0], rtol=0.1, atol=0.1)
        assert tree[name][0].dtype == "float32"


def test_the_advertised_nones():
    got = after_steps(optimizers.Adafactor(clipping_threshold=None, weight_decay_n_steps=None))
    assert_close(got, after_steps_of_formula(*formula(do_clipping=False)))


@pytest.mark.parametrize("option", [name for name, value in DEFAULTS.items() if value in (0, 1)])
def test_flags_take_no_numbers_and_numbers_no_flags(option):
    value = 1 if isinstance(DEFAULTS[option], bool) else True
    with pytest.raises(TypeError, match=f"Adafactor: {option} must be"):
        optimizers.Adafactor(**{option: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("beta1", 1.1),
        ("decay_rate", -0.1),
        ("clipping_threshold", 0.0),
        ("weight_decay_rate", 2),
        ("weight_decay_n_steps", -1),
        ("epsilon1", -1.0),
        ("epsilon2", -1.0),
    ],
)
def test_a_number_out_of_its_range_is_refused(option, value):
    with pytest.raises(ValueError, match=f"Adafactor: {option} must be"):
        optimizers.Adafactor(**{option: value})
