"""from_optax: transformations written by hand, learning rates, refusals; and optax itself."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as onp
import pytest
from optimizer_steps import SHAPES, after_steps, gradients, on_backend, weights

import weft
from weft import fastmath, layers as tl, optimizers, shapes, tree_util
from weft.errors import ShapeError
from weft.fastmath import numpy as jnp
from weft.optimizers import Optimizer, from_optax

tree_map = tree_util.tree_map


class Transformation(NamedTuple):
    init: Any
    update: Any


class Trace(NamedTuple):
    count: Any
    velocity: Any


class Injected(NamedTuple):
    count: Any
    hyperparams: Any
    inner_state: Any


class InjectedWithSchedules(NamedTuple):
    hyperparams: Any
    hyperparams_states: Any


def momentum(rate, mass=0.9):
    """w ← w − rate · v with v ← mass · v + g, which counts its steps."""

    def init(params):
        return Trace(jnp.zeros((), dtype=jnp.int32), tree_map(jnp.zeros_like, params))

    def update(updates, state, params):
        velocity = tree_map(lambda v, g: mass * v + g, state.velocity, updates)
        return tree_map(lambda v: -rate * v, velocity), Trace(state.count + 1, velocity)

    return Transformation(init, update)


def injected(rate, name="learning_rate"):
    """w ← w − rate · g, with the rate in the state."""

    def init(params):
        return Injected(jnp.zeros((), dtype=jnp.int32), {name: jnp.array(rate)}, ())

    def update(updates, state, params):
        scaled = tree_map(lambda g: -state.hyperparams[name] * g, updates)
        return scaled, state._replace(count=state.count + 1)

    return Transformation(init, update)


def chain(*transformations):
    def init(params):
        return tuple(tx.init(params) for tx in transformations)

    def update(updates, state, params):
        new = []
        for tx, own in zip(transformations, state, strict=True):
            updates, own = tx.update(updates, own, params)
            new.append(own)
        return updates, tuple(new)

    return Transformation(init, update)


def decay(rate):
    def update(updates, state, params):
        return tree_map(lambda g, w: g + rate * w, updates, params), state

    return Transformation(lambda params: (), update)


def one_step(tx, rate=None, w=1.0, g=1.0):
    """The weight after a step, with a learning rate of the loop."""
    optimizer = from_optax(tx)
    tree = (jnp.array([w]),)
    slots, opt_params = optimizer.tree_init(tree)
    if rate is not None:
        opt_params = {**opt_params, "learning_rate": jnp.array(rate)}
    new, slots, _ = optimizer.tree_update(1, (jnp.array([g]),), tree, slots, opt_params)
    return float(new[0][0])


@pytest.mark.parametrize("compiled", [False, True])
def test_fifty_steps_of_a_transformation_are_those_of_its_formula(compiled):
    got, (state,) = after_steps(from_optax(momentum(0.01)), compiled=compiled)
    assert int(state.count) == 50
    for name in SHAPES:
        w, v = weights()[name][0].astype("float64"), 0.0
        for g in gradients():
            v = 0.9 * v + g[name][0].astype("float64")
            w = w - 0.01 * v
        bound = 1e-6 * max(1.0, onp.abs(w).max())
        onp.testing.assert_allclose(got[name][0], w, rtol=0, atol=bound)


def test_it_equals_the_optimizer_of_the_same_formula():
    options = {"mass": 0.9, "weight_decay_rate": 0.0, "nesterov": False, "clip_grad_norm": 1.0}
    expected, _ = after_steps(optimizers.Momentum(0.01, **options))
    got, _ = after_steps(from_optax(momentum(0.01), clip_grad_norm=1.0))
    for name in SHAPES:
        onp.testing.assert_allclose(got[name][0], expected[name][0], rtol=1e-5, atol=1e-6)


def test_a_model_of_layers_and_its_metrics():
    model = tl.Serial(tl.Dense(4), tl.Relu(), tl.Dense(2))
    model.init(shapes.ShapeDtype((2, 4)), rng=fastmath.random.get_prng(0))
    optimizer = from_optax(chain(decay(0.5), momentum(1.0)))
    assert isinstance(optimizer, Optimizer)
    slots, opt_params = optimizer.tree_init(model.weights)
    assert (len(slots), optimizer.slots) == (1, slots)
    zeros = fastmath.nested_map(jnp.zeros_like, model.weights)
    new, slots, metrics = optimizer.tree_update(1, zeros, model.weights, slots, opt_params)
    assert optimizer.slots is slots
    for a, b in zip(fastmath.tree_leaves(new), fastmath.tree_leaves(model.weights), strict=True):
        onp.testing.assert_allclose(a, b / 2, rtol=1e-6)
    assert set(metrics) == {"gradients_l2", "weights_l2"}
    assert float(metrics["gradients_l2"]) == 0
    model.weights = new


def test_a_model_without_weights():
    optimizer = from_optax(momentum(1.0))
    slots, opt_params = optimizer.tree_init(((), {}))
    new, slots, _ = optimizer.tree_update(1, ((), {}), ((), {}), slots, opt_params)
    assert (new, int(slots[0].count)) == (((), {}), 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits_have_a_state_of_32(dtype):
    tree = on_backend(weights(dtype=getattr(jnp, dtype)))
    optimizer = from_optax(momentum(0.1))
    slots, opt_params = optimizer.tree_init(tree)
    assert {str(x.dtype) for x in fastmath.tree_leaves(slots[0].velocity)} == {"float32"}
    new, slots, _ = optimizer.tree_update(1, tree, tree, slots, opt_params)
    assert {str(x.dtype) for x in fastmath.tree_leaves(new)} == {dtype}
    assert {str(x.dtype) for x in fastmath.tree_leaves(slots[0].velocity)} == {"float32"}


# --- learning rates ---


def test_without_a_rate_in_the_state_the_loops_rate_is_a_factor():
    assert float(from_optax(momentum(0.25)).opt_params["learning_rate"]) == 1.0
    assert one_step(momentum(0.25)) == 0.75
    assert one_step(momentum(1.0), rate=0.25) == 0.75
    assert one_step(momentum(0.25), rate=0.5) == 0.875


@pytest.mark.parametrize("wrapped", [lambda tx: tx, lambda tx: chain(decay(0.0), chain(tx))])
def test_a_rate_in_the_state_is_the_loops(wrapped):
    optimizer = from_optax(wrapped(injected(0.25)))
    _, opt_params = optimizer.tree_init((jnp.ones(1),))
    assert float(opt_params["learning_rate"]) == 0.25
    assert float(optimizer.opt_params["learning_rate"]) == 0.25
    assert one_step(wrapped(injected(0.25))) == 0.75
    assert one_step(wrapped(injected(0.25)), rate=0.5) == 0.5


def test_states_in_dicts_and_named_tuples_keep_their_form():
    class Pair(NamedTuple):
        left: Any
        right: Any

    inner = injected(0.25)

    def update(updates, state, params):
        assert isinstance(state, Pair)
        assert isinstance(state.left, dict)
        updates, own = inner.update(updates, state.left["of"], params)
        return updates, Pair({"of": own}, state.right)

    tx = Transformation(lambda params: Pair({"of": inner.init(params)}, [()]), update)
    assert one_step(tx, rate=0.5) == 0.5


def test_other_hyperparameters_are_no_rate():
    assert one_step(injected(0.25, name="scale"), rate=0.5) == 1 - 0.125


def test_of_two_rates_neither_is_the_loops():
    both = chain(injected(0.5), injected(0.5))  # 0.25 in the direction of the gradient
    assert one_step(both) == 1.25
    assert one_step(both, rate=2.0) == 1.5


def test_a_scheduled_rate_is_the_transformations():
    def update(updates, state, params):
        return tree_map(lambda g: -state.hyperparams["learning_rate"] * g, updates), state

    def init(params):
        rate = {"learning_rate": jnp.array(0.25)}
        return InjectedWithSchedules(rate, {"learning_rate": jnp.array(0)})

    tx = Transformation(init, update)
    assert one_step(tx) == 0.75
    assert one_step(tx, rate=0.5) == 1 - 0.125


def test_another_rate_does_not_trace_again():
    optimizer, traces = from_optax(injected(0.5)), []
    tree = (jnp.ones(2),)
    slots, opt_params = optimizer.tree_init(tree)

    @weft.jit
    def step(tree, slots, opt_params):
        traces.append(1)
        return optimizer.tree_update(1, tree, tree, slots, opt_params, store_slots=False)[:2]

    for rate in (0.5, 0.25, 0.125):
        new, slots = step(tree, slots, {**opt_params, "learning_rate": jnp.array(rate)})
        assert new[0].tolist() == [1 - rate] * 2
    assert (len(traces), int(slots[0].count)) == (1, 3)


# --- refusals ---


@pytest.mark.parametrize(
    "tx", [None, 1.0, momentum, optimizers.Adam, optimizers.Adam(), Transformation]
)
def test_what_is_no_transformation_is_refused(tx):
    with pytest.raises(TypeError, match="tx must be a gradient transformation") as error:
        from_optax(tx)
    assert ("fix: call it, as in optax.adam" in str(error.value)) == callable(tx)


def test_updates_of_another_form_are_refused():
    tx = Transformation(lambda params: (), lambda updates, state, params: ([1.0], state))
    with pytest.raises(ShapeError, match="must return updates nested as the weights are"):
        one_step(tx)


def test_updates_of_another_shape_are_refused():
    tx = Transformation(
        lambda params: (), lambda updates, state, params: ((jnp.ones((3, 1)),), state)
    )
    with pytest.raises(ValueError, match=r"weights\[0\] must have the shape of float32\[1\]"):
        one_step(tx)


def test_slots_and_weights_of_another_form_are_refused():
    optimizer = from_optax(momentum(1.0))
    tree = (jnp.ones(2), jnp.ones(3))
    with pytest.raises(ShapeError, match="expected 1 slots, the state of the transformation; got"):
        optimizer.tree_update(1, tree, tree, ((), ()), optimizer.opt_params)
    with pytest.raises(TypeError, match=r"weights\[0\] is bool\[2\]"):
        optimizer.tree_init((jnp.ones(2) > 0,))
    with pytest.raises(ValueError, match="from_optax: clip_grad_norm must be"):
        from_optax(momentum(1.0), clip_grad_norm=-1.0)


# --- optax ---

PROGRAM = """
import jax, jax.numpy as jnp, numpy as onp, optax
from weft import optimizers
from weft.supervised import lr_schedules

tree = {"w": jnp.arange(6.0).reshape(2, 3) / 5, "b": (jnp.ones(3), ())}
grads = [jax.tree.map(lambda w: jnp.cos(w * (t + 1)), tree) for t in range(50)]

def of_optax(tx, tree):
    state = tx.init(tree)
    for g in grads:
        updates, state = tx.update(g, state, tree)
        tree = optax.apply_updates(tree, updates)
    return tree

def of_weft(tx, tree, schedule=None):
    optimizer = optimizers.from_optax(tx)
    slots, opt_params = optimizer.tree_init(tree)
    step = jax.jit(lambda *args: optimizer.tree_update(*args, store_slots=False)[:2])
    for t, g in enumerate(grads):
        if schedule:
            opt_params = {**opt_params, "learning_rate": jnp.array(schedule(t))}
        tree, slots = step(t + 1, g, tree, slots, opt_params)
    return tree

def close(a, b):
    jax.tree.map(lambda x, y: onp.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), a, b)

for tx in (
    optax.adam(0.01), optax.adamw(0.01, weight_decay=0.1), optax.lion(0.01), optax.lamb(0.01),
    optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9)),
    optax.adam(optax.cosine_decay_schedule(0.1, 40)), optax.adafactor(0.01),
    optax.masked(optax.sgd(0.1), {"w": True, "b": False}),
):
    close(of_weft(tx, tree), of_optax(tx, tree))

rate = optax.linear_schedule(0.1, 0.0, 40)
expected = of_optax(optax.adam(rate), tree)
inject = optax.inject_hyperparams(optax.adam)
close(of_weft(inject(learning_rate=1.0), tree, schedule=rate), expected)
close(of_weft(optax.chain(optax.identity(), inject(learning_rate=1.0)), tree, rate), expected)
close(of_weft(optax.adam(1.0), tree, schedule=rate), expected)
close(of_weft(inject(learning_rate=rate), tree), expected)

# The formula without decay is that of optax, for steps that count from 0.
optimizer = optimizers.Adam(0.01, weight_decay_rate=0.0)
ours, (slots, opt_params) = tree, optimizer.tree_init(tree)
for t, g in enumerate(grads):
    ours, slots, _ = optimizer.tree_update(t, g, ours, slots, opt_params)
close(ours, of_optax(optax.adam(0.01, eps=1e-5), tree))

optimizer = optimizers.Momentum(0.01, weight_decay_rate=0.0)
ours, (slots, opt_params) = tree, optimizer.tree_init(tree)
for t, g in enumerate(grads):
    ours, slots, _ = optimizer.tree_update(t, g, ours, slots, opt_params)
close(ours, of_optax(optax.sgd(0.01, momentum=0.9, nesterov=True), tree))

for schedule, other in (
    (lr_schedules.warmup_and_cosine(0, 0.5, 40), optax.cosine_decay_schedule(0.5, 40)),
    (lr_schedules.warmup_and_polynomial_decay(0, 0.5, 40, 0.1, 2.0),
     optax.polynomial_schedule(0.5, 0.1, 2.0, 40)),
):
    for t in range(1, 60):
        onp.testing.assert_allclose(schedule(t), other(t - 1), rtol=1e-5, atol=1e-6)
exponential = lr_schedules.exponential_decay(0.5, 0.9, 10)
pieces = lr_schedules.piecewise_constant([10, 20], [1.0, 0.5, 0.25])
for t in range(60):
    onp.testing.assert_allclose(exponential(t), optax.exponential_decay(0.5, 10, 0.9)(t), rtol=1e-5)
    if t not in (10, 20):  # a value begins one step after its boundary there
        assert pieces(t) == optax.piecewise_constant_schedule(1.0, {10: 0.5, 20: 0.5})(t)
print("equal")
"""


ECOSYSTEM = Path(__file__).parents[2] / ".venv-ecosystem"  # made by `make test-ecosystem`
PLACES = [ECOSYSTEM / "today", *ECOSYSTEM.glob("lib/*/site-packages")]
HAS_OPTAX = importlib.util.find_spec("optax") or (PLACES[0] / "optax").exists()


@pytest.mark.oracle
@pytest.mark.skipif(not HAS_OPTAX, reason="optax is not installed")
def test_optax_itself_gives_what_it_gives_alone(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = [*filter(None, sys.path), *map(str, PLACES)]
    run = subprocess.run(
        [sys.executable, "-m", "weft.compat", "--quiet", str(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert run.stdout.splitlines()[-1:] == ["equal"], run.stderr[-3000:]
