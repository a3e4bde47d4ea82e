"""`reduce_axes`: total gradients inside a named batch, against those of the whole batch at once.

Each case has a loss of one example, and the total loss of the batch: the sum of the examples', or
the loss itself where all examples have the same one.
"""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import grad, jit, lax, linear_transpose, pmap, value_and_grad, vjp, vmap

RNG = np.random.default_rng(0)
W = RNG.normal(size=3).astype(np.float32)
X = RNG.normal(size=(4, 3)).astype(np.float32)


def normalized(w, x):
    y = wnp.dot(x, w)
    return (y - lax.pmean(y, "batch")) ** 3


@weft.custom_jvp
def soft(x):
    return wnp.log(1 + wnp.exp(x))


@soft.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return soft(x), t / (1 + wnp.exp(-x))


def through_a_scan(w, x):
    step = lambda c, v: (wnp.tanh(c + lax.pmean(c * wnp.dot(v * w, x), "batch")), c)  # noqa: E731
    c, ys = lax.scan(step, wnp.sum(w), wnp.stack([x, x * 2]))
    return c * wnp.sum(ys)


def scanned(w, x):
    c, total = wnp.full(4, wnp.sum(w)), 0.0
    for scale in (1, 2):
        total = total + c
        c = wnp.tanh(c + wnp.mean(c * wnp.sum(x * scale * w * x, 1)))
    return wnp.sum(c * total)


LOSSES = {
    "of each": (lambda w, x: wnp.sin(wnp.dot(w, x)), lambda w, x: wnp.sum(wnp.sin(x @ w))),
    "of a sum with each": (lambda w, x: w[0] + x[0], lambda w, x: wnp.sum(w[0] + x[:, 0])),
    "of the argument alone": (lambda w, x: wnp.sin(w[0]), lambda w, x: wnp.sin(w[0]) + 0 * x[0, 0]),
    "with a custom derivative": (
        lambda w, x: (
            soft(lax.psum(soft(wnp.dot(w, x)) * soft(w[0]), "batch")) * soft(lax.psum(1.5, "batch"))
        ),
        lambda w, x: soft(wnp.sum(soft(x @ w) * soft(w[0]))) * soft(6.0),
    ),
    "summed": (
        lambda w, x: lax.psum(wnp.sin(wnp.dot(w, x)), "batch"),
        lambda w, x: wnp.sum(wnp.sin(x @ w)),
    ),
    "mean": (
        lambda w, x: lax.pmean(wnp.sin(wnp.dot(w, x)), "batch"),
        lambda w, x: wnp.mean(wnp.sin(x @ w)),
    ),
    "of a sum": (
        lambda w, x: wnp.sin(lax.psum(wnp.dot(w, x), "batch")) * w[0],
        lambda w, x: wnp.sin(wnp.sum(x @ w)) * w[0],
    ),
    "of a sum and of each": (
        lambda w, x: wnp.sin(lax.psum(wnp.dot(w, x), "batch")) * x[0],
        lambda w, x: wnp.sum(wnp.sin(wnp.sum(x @ w)) * x[:, 0]),
    ),
    "sum of sums": (
        lambda w, x: lax.psum(x[0] * lax.psum(wnp.tanh(wnp.dot(w, x)), "batch"), "batch"),
        lambda w, x: wnp.sum(x[:, 0] * wnp.sum(wnp.tanh(x @ w))),
    ),
    "normalized": (normalized, lambda w, x: wnp.sum((x @ w - wnp.mean(x @ w)) ** 3)),
    "maximum": (
        lambda w, x: lax.pmax(wnp.dot(w, x), "batch"),
        lambda w, x: wnp.max(x @ w),
    ),
    "gathered": (
        lambda w, x: wnp.sum(lax.all_gather(wnp.dot(w, x), "batch") ** 2),
        lambda w, x: wnp.sum((x @ w) ** 2),
    ),
    "gathered, with each": (
        lambda w, x: wnp.sum(lax.all_gather(wnp.dot(w, x), "batch") ** 2) * x[0],
        lambda w, x: wnp.sum(wnp.sum((x @ w) ** 2) * x[:, 0]),
    ),
    "moved": (
        lambda w, x: x[0] * lax.pshuffle(wnp.dot(w, x), "batch", [1, 2, 3, 0]),
        lambda w, x: wnp.sum(x[:, 0] * wnp.roll(x @ w, -1)),
    ),
    "scan": (through_a_scan, scanned),
}

AROUND = {
    "as it is": lambda f: f,
    "jit": jit,
    "checkpoint": weft.checkpoint,
    "checkpoint in jit": lambda f: jit(weft.checkpoint(f)),
    "cond": lambda f: lambda w, x: lax.cond(w[0] > -9, f, f, w, x),
}


@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", LOSSES)
def test_total_gradients(name, around):
    loss, whole = LOSSES[name]
    expected_w, expected_x = grad(whole, (0, 1))(W, X)
    total = grad(AROUND[around](loss), (0, 1), reduce_axes=("batch",))
    mapped = vmap(total, in_axes=(None, 0), out_axes=(None, 0), axis_name="batch")
    forms = [mapped, jit(mapped)]
    if around in ("as it is", "jit"):
        forms.append(pmap(total, in_axes=(None, 0), out_axes=(None, 0), axis_name="batch"))
    for f in forms:
        w_gradient, x_gradient = f(W, X)
        np.testing.assert_allclose(w_gradient, expected_w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(x_gradient, expected_x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["of each", "normalized", "sum of sums"])
def test_every_row_has_the_total_gradient_if_rows_are_asked_for(name):
    loss, whole = LOSSES[name]
    total = grad(loss, reduce_axes=("batch",))
    rows = vmap(total, in_axes=(None, 0), axis_name="batch")(W, X)
    np.testing.assert_allclose(rows, np.stack([grad(whole)(W, X)] * 4), rtol=1e-4, atol=1e-5)


def test_without_it_gradients_are_those_of_each_example():
    loss, _ = LOSSES["of each"]
    expected = np.stack([grad(loss)(W, x) for x in X])
    for options in ({}, {"reduce_axes": ()}, {"reduce_axes": ("other",)}):
        found = vmap(grad(loss, **options), in_axes=(None, 0), axis_name="batch")(W, X)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match=r"out_axes is None for an output .* that depends on"):
        vmap(grad(loss), in_axes=(None, 0), out_axes=None, axis_name="batch")(W, X)


def test_an_argument_that_is_one_for_each_example_keeps_its_gradients():
    loss, _ = LOSSES["of each"]
    each = np.stack([W * i for i in range(4)])
    found = vmap(grad(loss, reduce_axes=("batch",)), axis_name="batch")(each, X)
    expected = np.stack([grad(loss)(w, x) for w, x in zip(each, X, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_same_transposed_program_serves_both():
    # What is kept of the backward pass must not be taken for the other kind.
    f = jit(LOSSES["sum of sums"][0])
    kinds = [grad(f, reduce_axes=("batch",)), grad(f)] * 2
    reduced, each, again, each_again = (
        np.asarray(vmap(g, in_axes=(None, 0), axis_name="batch")(W, X)) for g in kinds
    )
    np.testing.assert_array_equal(reduced, again)
    np.testing.assert_array_equal(each, each_again)
    assert np.abs(each - reduced).max() > 0.1


@pytest.mark.parametrize("mapper", [vmap, pmap])
def test_two_axes_of_which_one_is_reduced(mapper):
    loss = lambda w, x: wnp.sin(wnp.dot(w, x))  # noqa: E731
    pairs = X.reshape(2, 2, 3)

    def gradients(axes):
        inner = mapper(grad(loss, reduce_axes=axes), in_axes=(None, 0), axis_name="j")
        return np.asarray(mapper(inner, in_axes=(None, 0), axis_name="i")(W, pairs))

    each = np.stack([grad(loss)(W, x) for x in X]).reshape(2, 2, 3)
    sums = lambda axis: np.broadcast_to(each.sum(axis, keepdims=True), each.shape)  # noqa: E731
    np.testing.assert_allclose(gradients(("j",)), sums(1), rtol=1e-5)
    np.testing.assert_allclose(gradients(("i",)), sums(0), rtol=1e-5)
    np.testing.assert_allclose(gradients(("i", "j")), sums((0, 1)), rtol=1e-5)


@pytest.mark.devices(8)
@pytest.mark.parametrize("axes", [("a",), ("b",), ("a", "b")])
def test_along_axes_of_a_mesh(axes):
    mesh, spec = weft.make_mesh((2, 4), ("a", "b")), weft.sharding.PartitionSpec
    x = RNG.normal(size=(2, 4)).astype(np.float32)
    total = grad(lambda w, x: wnp.sum(wnp.sin(w * x)), reduce_axes=axes)
    rest = spec(*[None if name in axes else name for name in ("a", "b")])
    rows = lambda w, x: wnp.reshape(total(w, x), (1, 1))  # noqa: E731
    found = weft.shard_map(rows, mesh=mesh, in_specs=(spec(), spec("a", "b")), out_specs=rest)
    over = tuple("ab".index(name) for name in axes)
    expected = np.sum(x * np.cos(W[0] * x), axis=over, keepdims=True)
    np.testing.assert_allclose(found(W[0], x), expected, rtol=1e-5)


def test_vjp_and_value_and_grad():
    f = lambda w, x: wnp.sin(x @ w)  # noqa: E731
    w, x = RNG.normal(size=(3, 5)), RNG.normal(size=(4, 3))
    ct = RNG.normal(size=(4, 5)).astype(np.float32)
    pull = lambda w, x, ct: vjp(f, w, x, reduce_axes=("batch",))[1](ct)  # noqa: E731
    found = vmap(pull, in_axes=(None, 0, 0), out_axes=(None, 0), axis_name="batch")(w, x, ct)
    for got, expected in zip(found, vjp(f, w, x)[1](ct), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)

    loss, whole = LOSSES["mean"]
    both = value_and_grad(loss, reduce_axes=("batch",))
    value, gradient = vmap(both, in_axes=(None, 0), out_axes=None, axis_name="batch")(W, X)
    np.testing.assert_allclose(value, whole(W, X), rtol=1e-5)
    np.testing.assert_allclose(gradient, grad(whole)(W, X), rtol=1e-5)


def test_linear_transpose():
    row = weft.ShapeDtypeStruct((3,), "float32")

    def transposed(x, ct, axes):
        return linear_transpose(lambda w: wnp.dot(w, x), row, reduce_axes=axes)(ct)[0]

    ct = np.float32([1, 2, 3, 4])
    run = lambda axes: vmap(lambda x, c: transposed(x, c, axes), axis_name="batch")(X, ct)  # noqa: E731
    np.testing.assert_allclose(run(()), X * ct[:, None], rtol=1e-6)
    np.testing.assert_allclose(run(("batch",)), np.stack([ct @ X] * 4), rtol=1e-5)

    def of_a_varying_argument(x, ct):
        f = lambda v: lax.psum(2.0 * v, "batch")  # noqa: E731
        return linear_transpose(f, x, reduce_axes=("batch",))(ct)[0]

    found = vmap(of_a_varying_argument, in_axes=(0, None), axis_name="batch")(X, np.ones(3))
    np.testing.assert_allclose(found, np.full_like(X, 2))


def test_derivatives_of_total_gradients():
    # A step of gradient descent on the total loss, then the derivative of what comes of it.
    loss, whole = LOSSES["normalized"]

    def after_a_step(rate, w, x, axes):
        return loss(w - rate * grad(loss, reduce_axes=("batch",))(w, x), x)

    expected = grad(lambda r: whole(W - r * grad(whole)(W, X), X))(0.1)
    outer = grad(after_a_step, reduce_axes=("batch",))
    for f in (outer, jit(outer, static_argnums=3)):
        total = lambda r, w, x, f=f: f(r, w, x, None)  # noqa: E731
        mapped = vmap(total, in_axes=(None, None, 0), out_axes=None, axis_name="batch")
        np.testing.assert_allclose(mapped(0.1, W, X), expected, rtol=1e-3)
    # from outside, no names are needed
    mapped = vmap(after_a_step, in_axes=(None, None, 0, None), axis_name="batch")
    found = grad(lambda r: wnp.sum(mapped(r, W, X, None)))(0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    # without reduce_axes, the derivatives in each example's copy of the rate: they add up
    found = vmap(grad(after_a_step), in_axes=(None, None, 0, None), axis_name="batch")
    np.testing.assert_allclose(np.asarray(found(0.1, W, X, None)).sum(), expected, rtol=1e-3)


def test_names_that_are_not_in_scope_reduce_nothing():
    f = lambda x: x**2  # noqa: E731
    assert grad(f, reduce_axes=("batch",))(3.0) == 6
    assert jit(grad(f, reduce_axes=["batch"]))(3.0) == 6


def test_errors():
    with pytest.raises(TypeError, match=r"(?s)grad: reduce_axes must be a tuple .*fix: .*\('i',\)"):
        grad(lambda x: x, reduce_axes="i")
    total = grad(lambda w, x: w * x, reduce_axes=("i",))
    with pytest.raises(TypeError, match=r"(?s)reduce_axes=\('i',\): expected an axis along which"):
        weft.xla_computation(total, axis_env=[("i", 2)])(1.0, 2.0)
