"""Steps of optimizers on weights and gradients of several ranks, and of formulas in NumPy."""

import numpy as onp

from weft import fastmath
from weft.fastmath import numpy as jnp

SHAPES = {"scalar": (), "vector": (5,), "matrix": (4, 3), "tensor": (2, 3, 4)}
STEPS = 50


def weights(seed=0, dtype="float32"):
    """Arrays of each rank in a tree, in NumPy."""
    rng = onp.random.default_rng(seed)
    return {name: (rng.normal(size=shape).astype(dtype),) for name, shape in SHAPES.items()}


def gradients(steps=STEPS, seed=1, dtype="float32"):
    """A tree of gradients for each step; every fifth number is 0."""
    rng = onp.random.default_rng(seed)
    of_steps = []
    for _ in range(steps):
        tree = {}
        for name, shape in SHAPES.items():
            g = onp.array(rng.normal(size=shape) * 10 ** rng.uniform(-2, 1))
            g[onp.array(rng.uniform(size=shape) < 0.2)] = 0
            tree[name] = (g.astype(dtype),)
        of_steps.append(tree)
    return of_steps


def on_backend(tree):
    return fastmath.nested_map(jnp.asarray, tree)


def on_host(tree):
    return fastmath.nested_map(onp.asarray, tree)


def after_steps(optimizer, first=0, compiled=False, rates=None, tree=None, grads=None):
    """Weights and slots after steps of an optimizer, in NumPy.

    Args:
      first: the number of the first step.
      compiled: whether a step is compiled as a whole.
      rates: a learning rate for each step; the optimizer's own without.
    """
    tree = on_backend(weights() if tree is None else tree)
    slots, opt_params = optimizer.tree_init(tree)

    def step(t, g, tree, slots, opt_params):
        return optimizer.tree_update(t, g, tree, slots, opt_params, store_slots=False)[:2]

    step = fastmath.jit(step) if compiled else step
    for t, g in enumerate(gradients() if grads is None else grads, first):
        if rates is not None:
            opt_params = {**opt_params, "learning_rate": jnp.array(rates[t - first])}
        tree, slots = step(t, on_backend(g), tree, slots, opt_params)
    return on_host(tree), on_host(slots)


def after_steps_of_formula(formula, start, first=0):
    """Weights and slots after steps of a formula of one array, in float64.

    Args:
      formula: function of (t, g, w, slot), that returns (new w, new slot).
      start: function of w that returns the first slot.
      first: the number of the first step.
    """
    result, slots = {}, []
    for name in sorted(SHAPES):  # the order of slots
        w = weights()[name][0].astype("float64")
        slot = start(w)
        for t, g in enumerate(gradients(), first):
            w, slot = formula(t, g[name][0].astype("float64"), w, slot)
        result[name] = (w,)
        slots.append(slot)
    return result, tuple(slots)


def assert_close(got, expected, tolerance=1e-6):
    """Weights and slots as expected: differences are small beside the largest number of an array.

    Weights are of the order of 1, and a sum of steps may cancel: they are compared with at least 1.
    """
    for place, least in ((0, 1.0), (1, 1e-30)):
        leaves = [fastmath.tree_flatten(tree[place]) for tree in (got, expected)]
        for a, b in zip(*leaves, strict=True):
            if a is None or b is None:
                assert a is b
                continue
            b = onp.asarray(b, "float64")
            assert a.shape == b.shape
            bound = tolerance * onp.max(onp.abs(b), initial=least)
            onp.testing.assert_allclose(a.astype("float64"), b, rtol=0, atol=bound)
