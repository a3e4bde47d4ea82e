"""What all optimizers share: trees, norms, clipping, dtypes, purity, refusals; and SGD."""

import json
import math

import numpy as onp
import pytest
from optimizer_steps import SHAPES, after_steps, gradients, on_backend, on_host, weights

import weft
from weft import fastmath, layers as tl, optimizers, shapes
from weft.errors import ShapeError
from weft.fastmath import numpy as jnp, use_backend
from weft.optimizers import SGD, Optimizer, clip_grads, l2_norm
from weft.optimizers.sm3 import MomentumType

MAKERS = {
    "SGD": optimizers.SGD,
    "Momentum": optimizers.Momentum,
    "RMSProp": optimizers.RMSProp,
    "Adam": optimizers.Adam,
    "Adafactor": optimizers.Adafactor,
    "SM3": optimizers.SM3,
}
VARIANTS = {
    **MAKERS,
    "Adafactor with m": lambda **o: optimizers.Adafactor(do_momentum=True, beta1=0.9, **o),
    "SM3 grafted": lambda **o: optimizers.SM3(
        second_moment_averaging=0.9, momentum_type=MomentumType.NESTEROV, **o
    ),
}
every_optimizer = pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
every_backend = pytest.mark.parametrize("backend", ["jax", "numpy"])


def leaves(tree):
    return [onp.asarray(x) for x in fastmath.tree_leaves(tree)]


def one_step(optimizer, tree, grads, step=1):
    slots, opt_params = optimizer.tree_init(tree)
    return optimizer.tree_update(step, grads, tree, slots, opt_params)


# --- SGD ---


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rate", [0.01, 0.25])
def test_fifty_steps_of_sgd(compiled, rate):
    tree, slots = after_steps(SGD(rate), compiled=compiled)
    for name in SHAPES:
        exact = weights()[name][0].astype("float64")
        for g in gradients():
            exact = exact - rate * g[name][0].astype("float64")
        bound = 1e-6 * max(1.0, onp.abs(exact).max())
        onp.testing.assert_allclose(tree[name][0], exact, rtol=0, atol=bound)
    assert slots == (None,) * len(SHAPES)


def test_defaults_of_sgd_and_of_the_base_class():
    for optimizer in (SGD(), Optimizer()):
        assert list(optimizer.opt_params) == ["learning_rate"]
        assert float(optimizer.opt_params["learning_rate"]) == pytest.approx(0.01)
    (w,), _, _ = one_step(SGD(), (jnp.array([1.0]),), (jnp.array([300.0]),))  # not clipped
    assert float(w[0]) == pytest.approx(-2.0)


# --- norms and clipping ---


@every_backend
def test_norms_are_of_all_arrays_before_clipping_and_before_the_step(backend):
    with use_backend(backend):
        tree = on_backend({"a": [onp.float32([3.0, 0.0])], "b": onp.float32([[4.0]])})
        grads = on_backend({"a": [onp.float32([6.0, 0.0])], "b": onp.float32([[8.0]])})
        new, _, metrics = one_step(SGD(1.0, clip_grad_norm=5.0), tree, grads)
        assert {name: float(x) for name, x in metrics.items()} == {
            "gradients_l2": 10.0,
            "weights_l2": 5.0,
        }
        assert [x.tolist() for x in leaves(new)] == [[0.0, 0.0], [[0.0]]]


@every_optimizer
@pytest.mark.parametrize(("norm", "factor"), [(4.0, 1.0), (5.0, 1.0), (20.0, 0.25)])
def test_every_optimizer_clips_below_at_and_above_the_limit(make, norm, factor):
    tree = on_backend(weights())
    direction = gradients(1)[0]
    length = math.sqrt(sum(float((g**2).sum()) for g in leaves(direction)))
    grads = fastmath.nested_map(lambda g: jnp.asarray(g * onp.float32(norm / length)), direction)
    shorter = fastmath.nested_map(lambda g: g * factor, grads)
    clipped, slots, metrics = one_step(make(clip_grad_norm=5.0), tree, grads)
    expected, expected_slots, _ = one_step(make(), tree, shorter)
    assert float(metrics["gradients_l2"]) == pytest.approx(norm)
    for a, b in zip(leaves((clipped, slots)), leaves((expected, expected_slots)), strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)


@every_backend
def test_clip_grads_keeps_structure_dtypes_and_short_gradients(backend):
    with use_backend(backend):
        grads = (jnp.array([3.0]), {"b": [jnp.array([4.0]).astype(jnp.bfloat16)]}, ())
        same = clip_grads(grads, 5.1)
        assert [x.tolist() for x in leaves(same)] == [[3.0], [4.0]]
        clipped = clip_grads(grads, 1.0)
        assert [x.dtype for x in leaves(clipped)] == [x.dtype for x in leaves(grads)]
        onp.testing.assert_allclose(clipped[0], [0.6], rtol=1e-6)
        onp.testing.assert_allclose(clipped[1]["b"][0].astype(jnp.float32), [0.8], rtol=1e-2)
        assert clipped[2] == ()


@every_backend
def test_gradients_of_zero_are_not_divided_by_zero(backend):
    with use_backend(backend):
        assert clip_grads((jnp.zeros(2),), 1.0)[0].tolist() == [0.0, 0.0]


def test_a_gradient_that_is_not_finite_shows_in_the_norm():
    _, _, metrics = one_step(SGD(), (jnp.ones(2),), (jnp.array([1.0, math.nan]),))
    assert math.isnan(float(metrics["gradients_l2"]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_l2_norm_against_float64(dtype):
    x = onp.random.default_rng(0).normal(size=(300, 7)).astype("float32") * 30
    x = jnp.asarray(x).astype(dtype)
    exact = onp.linalg.norm(onp.asarray(x).astype("float64"))
    norm = l2_norm([x, {"a": (x,)}])
    assert norm.dtype == "float32"
    assert float(norm) == pytest.approx(math.sqrt(2) * exact, rel=1e-6)
    assert float(l2_norm(())) == 0.0


# --- trees ---


@every_optimizer
@pytest.mark.parametrize("tree", [(), [], {}, ((), [{}])])
def test_a_model_without_weights(make, tree):
    optimizer = make(clip_grad_norm=1.0)
    slots, opt_params = optimizer.tree_init(tree)
    new, slots, metrics = optimizer.tree_update(1, tree, tree, slots, opt_params)
    assert (new, slots) == (tree, ())
    assert [float(x) for x in metrics.values()] == [0.0, 0.0]


@every_optimizer
def test_weights_of_layers_keep_their_nesting(make):
    shared = tl.Dense(4)
    model = tl.Serial(shared, tl.Relu(), shared, tl.LayerNorm())
    model.init(shapes.ShapeDtype((2, 4)), rng=fastmath.random.get_prng(0))
    new, slots, _ = one_step(make(), model.weights, model.weights)
    assert len(slots) == len(fastmath.tree_leaves(model.weights)) == 4
    model.weights = new
    assert model(jnp.ones((2, 4))).shape == (2, 4)


@every_optimizer
def test_an_array_without_elements(make):
    new, _, _ = one_step(make(), (jnp.ones((0, 3)), jnp.ones(2)), (jnp.ones((0, 3)), jnp.ones(2)))
    assert new[0].shape == (0, 3)
    assert (new[1] != 1).all()


@every_optimizer
def test_the_order_of_keys_does_not_matter(make):
    """`jit` and `grad` return dicts in the order of the sorted keys."""
    tree = {"b": jnp.full((3,), 3.0), "a": jnp.full((3,), 5.0)}
    grads = {"b": jnp.full((3,), 1.0), "a": jnp.full((3,), -7.0)}

    def turned(tree):
        return dict(reversed(tree.items()))

    new, slots, _ = one_step(make(), tree, grads)
    optimizer = make()
    first_slots, opt_params = optimizer.tree_init(tree)
    other, other_slots, _ = optimizer.tree_update(
        1, turned(grads), turned(tree), first_slots, opt_params
    )
    for a, b in zip(
        leaves((new["a"], new["b"], slots)),
        leaves((other["a"], other["b"], other_slots)),
        strict=True,
    ):
        assert (a == b).all()


# --- purity ---


@every_optimizer
def test_a_compiled_step_equals_an_eager_one(make):
    tree = {"matrix": weights()["matrix"], "scalar": weights()["scalar"]}
    grads = [{name: g[name] for name in tree} for g in gradients(5)]
    eager, compiled = (
        after_steps(make(), compiled=c, tree=tree, grads=grads) for c in (False, True)
    )
    for a, b in zip(leaves(eager), leaves(compiled), strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@every_optimizer
def test_a_step_repeats_its_bits_and_changes_none_of_its_arguments(make):
    optimizer = make()
    tree, grads = on_backend(weights()), on_backend(gradients(1)[0])
    slots, opt_params = optimizer.tree_init(tree)
    _, slots, _ = optimizer.tree_update(1, grads, tree, slots, opt_params)
    before = repr(slots)
    first = optimizer.tree_update(2, grads, tree, slots, opt_params, store_slots=False)
    assert repr(slots) == before
    assert optimizer.slots is slots
    again = optimizer.tree_update(2, grads, tree, slots, opt_params)
    assert repr(first) == repr(again)
    assert optimizer.slots is again[1]


@every_optimizer
def test_other_numbers_do_not_trace_again(make):
    optimizer, traces = make(), []
    tree = on_backend(weights()["matrix"])
    slots, opt_params = optimizer.tree_init(tree)

    @weft.jit
    def step(t, tree, slots, opt_params):
        traces.append(t)
        return optimizer.tree_update(t, tree, tree, slots, opt_params, store_slots=False)

    rates = [0.1, 0.001, 0.0]
    lengths = []
    for t, rate in enumerate(rates):
        new, slots, _ = step(t, tree, slots, {**opt_params, "learning_rate": jnp.array(rate)})
        lengths.append(float(l2_norm(fastmath.nested_map_multiarg(jnp.subtract, new, tree))))
    assert len(traces) == 1
    assert lengths[0] > lengths[1] > lengths[2]


@every_optimizer
def test_slots_are_kept_and_can_be_set(make):
    optimizer = make()
    assert optimizer.slots is None
    slots, opt_params = optimizer.tree_init((jnp.ones(3),))
    assert optimizer.slots is slots
    assert optimizer.opt_params is opt_params
    optimizer.slots = None
    optimizer.opt_params = {}
    assert (optimizer.slots, optimizer.opt_params) == (None, {})


# --- dtypes and backends ---


@every_optimizer
@every_backend
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits_have_a_state_of_32(make, backend, dtype):
    """The new weights are those of a step in float32, rounded once."""
    with use_backend(backend):
        tree = on_backend(weights(dtype=getattr(jnp, dtype)))
        grads = on_backend(gradients(1, dtype=getattr(jnp, dtype))[0])
        new, slots, metrics = one_step(make(learning_rate=0.1, clip_grad_norm=3.0), tree, grads)
        wide = [fastmath.nested_map(lambda x: x.astype(jnp.float32), t) for t in (tree, grads)]
        exact, exact_slots, _ = one_step(make(learning_rate=0.1, clip_grad_norm=3.0), *wide)
        assert {str(x.dtype) for x in leaves(new)} == {dtype}
        assert {str(x.dtype) for x in leaves((slots, metrics))} == {"float32"}
        for a, b in zip(leaves(new), leaves(exact), strict=True):
            assert (a == b.astype(a.dtype)).all()
        for a, b in zip(leaves(slots), leaves(exact_slots), strict=True):
            assert (a == b).all()


@every_optimizer
def test_numpy_gives_numpy(make):
    with use_backend("numpy"):
        tree, slots = weights(), None
        new, slots, metrics = one_step(make(), tree, gradients(1)[0])
        arrays = fastmath.tree_leaves((new, slots, list(metrics.values())))
        assert all(isinstance(x, onp.ndarray | onp.generic) for x in arrays)
        assert all(isinstance(x, onp.ndarray) for x in fastmath.tree_leaves(new))
        assert {str(x.dtype) for x in arrays} == {"float32"}


@every_optimizer
def test_float64_on_numpy(make):
    with use_backend("numpy"):
        new, _, _ = one_step(make(), weights(dtype="float64"), gradients(1, dtype="float64")[0])
    exact = on_host(one_step(make(), on_backend(weights()), on_backend(gradients(1)[0]))[0])
    for a, b in zip(leaves(new), leaves(exact), strict=True):
        assert a.dtype == "float64"
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@every_optimizer
def test_an_optimizer_made_for_one_backend_works_on_another(make):
    optimizer = make()
    with use_backend("numpy"):
        new, _, _ = one_step(optimizer, weights(), gradients(1)[0])
        assert all(isinstance(x, onp.ndarray) for x in fastmath.tree_leaves(new))


# --- an optimizer of one's own ---


class Own(Optimizer):
    """Returns what it is told."""

    def __init__(self, new, **numbers):
        super().__init__(0.5, **numbers)
        self.new = new

    def init(self, weights):
        return {"sum": jnp.zeros_like(weights)}

    def update(self, step, grads, weights, slots, opt_params):
        return self.new(weights, grads, opt_params), {"sum": slots["sum"] + grads}


def test_an_optimizer_of_ones_own():
    optimizer = Own(lambda w, g, p: w - p["learning_rate"] * p["factor"] * g, factor=3)
    new, slots, metrics = one_step(optimizer, [jnp.ones(2)], [jnp.array([1.0, 2.0])])
    assert new[0].tolist() == [-0.5, -2.0]
    assert slots[0]["sum"].tolist() == [1.0, 2.0]
    assert float(metrics["gradients_l2"]) == pytest.approx(5**0.5)
    assert {k: float(v) for k, v in optimizer.opt_params.items()} == {
        "learning_rate": 0.5,
        "factor": 3.0,
    }


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (lambda w, g, p: w.astype(jnp.float16), "dtype that they had, float32; got float16"),
        (lambda w, g, p: w.astype(jnp.int32), "dtype that they had, float32; got int32"),
        (lambda w, g, p: onp.ones(2, "float32"), "an array of the backend, as before; got ndarray"),
        (lambda w, g, p: 1.0, "an array of the backend, as before; got float"),
        (lambda w, g, p: w[:1], r"the shape of float32\[2\]; got float32\[1\]"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_new_weights_of_another_type_are_refused(new, message, compiled):
    optimizer = Own(new)
    tree = {"w": (jnp.ones(2),)}
    slots, opt_params = optimizer.tree_init(tree)

    def step(tree):
        return optimizer.tree_update(1, tree, tree, slots, opt_params, store_slots=False)[0]

    with pytest.raises(ValueError, match=message) as error:
        (weft.jit(step) if compiled else step)(tree)
    assert "Own.update: the new weights['w'][0] must" in str(error.value)
    assert any("test_base.py" in note for note in error.value.__notes__)


def test_the_base_class_has_no_formula():
    with pytest.raises(NotImplementedError, match="a subclass of Optimizer needs init"):
        Optimizer().tree_init((jnp.ones(1),))
    with pytest.raises(NotImplementedError, match="a subclass of Optimizer needs update"):
        Optimizer().update(1, None, None, None, {})


# --- refusals ---


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ((jnp.ones(2), 1.0), r"weights\[1\] is float"),
        ([jnp.ones(2) > 0], r"weights\[0\] is bool\[2\]"),
        ("weights", "weights is str"),
    ],
)
@every_optimizer
def test_weights_that_are_no_arrays_of_numbers_are_refused(make, tree, message):
    with pytest.raises(TypeError, match=message):
        make().tree_init(tree)


@every_optimizer
def test_integers_have_slots_and_are_not_trained(make):
    optimizer, tree = make(), {"a": jnp.ones(2, dtype=jnp.int32)}
    slots, params = optimizer.tree_init(tree)
    grads = {"a": jnp.ones(2)}
    with pytest.raises(TypeError, match=r"integers are not trained; weights\['a'\] is int32"):
        optimizer.tree_update(1, grads, tree, slots, params)


@pytest.mark.parametrize(
    ("grads", "message"),
    [
        (((jnp.ones(2),)), "a gradient for each of 2 arrays of weights; got 1"),
        (
            (jnp.ones(2), jnp.ones(2)),
            r"weights\[1\] must have the shape of float32\[3\]; got float",
        ),
        ((jnp.ones(2), 0.0), r"gradient of weights\[1\] .* got float"),
    ],
)
@every_optimizer
def test_gradients_that_do_not_fit_are_refused(make, grads, message):
    with pytest.raises(ShapeError, match=message):
        one_step(make(), (jnp.ones(2), jnp.ones(3)), grads)


@pytest.mark.parametrize(
    ("slots", "got"), [(None, "NoneType"), ((), "0"), (((),) * 3, "3"), (5, "int")]
)
@every_optimizer
def test_slots_that_do_not_fit_are_refused(make, slots, got):
    optimizer = make()
    tree = (jnp.ones(2), jnp.ones(3))
    with pytest.raises(ShapeError, match=f"expected 2 slots, .* got {got}\n  fix: slots, opt_par"):
        optimizer.tree_update(1, tree, tree, slots, optimizer.opt_params)


@every_optimizer
def test_numbers_that_are_missing_are_refused(make):
    optimizer = make()
    slots, _ = optimizer.tree_init((jnp.ones(2),))
    with pytest.raises(ValueError, match="opt_params must have 'learning_rate'; got 'rate'"):
        optimizer.tree_update(1, (jnp.ones(2),), (jnp.ones(2),), slots, {"rate": 1.0})


@pytest.mark.parametrize("option", ["learning_rate", "clip_grad_norm"])
@pytest.mark.parametrize("value", [-1.0, math.nan, "0.1", True, [0.1]])
@every_optimizer
def test_numbers_that_every_optimizer_refuses(make, option, value):
    with pytest.raises((TypeError, ValueError), match=f"{option} must be"):
        make(**{option: value})


def test_a_learning_rate_may_be_a_scalar_array():
    assert float(SGD(jnp.array(0.5)).opt_params["learning_rate"]) == 0.5
    assert float(SGD(onp.float32(0.5)).opt_params["learning_rate"]) == 0.5


# --- names ---


def test_the_exported_names():
    assert set(MAKERS) | {"Optimizer", "from_optax", "l2_norm", "clip_grads"} <= set(
        dir(optimizers)
    )


def test_opt_params_are_scalars_that_can_be_stored():
    for make in MAKERS.values():
        numbers = {name: float(x) for name, x in make().opt_params.items()}
        assert json.loads(json.dumps(numbers)) == numbers
        assert all(x.shape == () for x in make().opt_params.values())
