"""Reductions: any computation, errors, derivatives at ties and zeros."""

import operator

import numpy as np
import pytest

import weft
from weft import grad, jit, lax, make_jaxpr, vmap
from weft.config import eager_tier

X = np.float32([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def add(x, y):
    return lax.add(x, y)


def test_two_arrays_are_reduced_together_in_a_tree():
    def both(so_far, element):
        return {"s": so_far["s"] + element["s"], "p": so_far["p"] * element["p"]}

    out = lax.reduce({"s": X, "p": X}, {"s": 0.0, "p": 1.0}, both, (1,))
    np.testing.assert_allclose(out["s"], X.sum(1), rtol=1e-6)
    np.testing.assert_allclose(out["p"], X.prod(1), rtol=1e-6)


def test_place_of_maximum_as_a_computation_of_pairs():
    def larger(a, b):
        first = lax.ge(a[0], b[0])
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1])

    places = np.broadcast_to(np.arange(3, dtype=np.int32), X.shape)
    for run in (lambda f: f, jit):
        value, place = run(
            lambda x: lax.reduce((x, places), (-np.inf, np.int32(-1)), larger, (1,))
        )(X)
        assert value.tolist() == [3.0, 4.0]
        assert place.tolist() == [2, 1]


def test_an_initial_value_that_is_no_identity_counts_once():
    assert lax.reduce(X, 10.0, lax.add, (0, 1)).item() == X.sum() + 10
    assert lax.reduce(X, 3.5, lax.max, (1,)).tolist() == [3.5, 4.0]
    assert lax.reduce(np.int32([6, 5]), np.int32(12), lax.bitwise_and, (0,)).item() == 4


def test_derivative_in_the_initial_value():
    assert grad(lambda i: lax.reduce(X, i, lax.mul, (0, 1)))(0.0).item() == pytest.approx(X.prod())
    assert grad(lambda i: lax.reduce(X, i, lax.add, (0, 1)))(0.0).item() == 1.0


def test_derivative_of_any_computation():
    def odd(x, y):
        return x + y + x * y

    assert lax.reduce(X[0], 0.0, odd, (0,)).item() == pytest.approx((1 + X[0]).prod() - 1)
    others = (1 + X[0]).prod() / (1 + X[0])  # of each factor, all the others
    np.testing.assert_allclose(grad(lambda x: lax.reduce(x, 0.0, odd, (0,)))(X[0]), others, 1e-4)


def test_vmap_of_any_computation():
    def odd(x, y):
        return x + y + x * y

    out = vmap(lambda x: lax.reduce(x, 0.0, odd, (0,)))(X)
    np.testing.assert_allclose(out, (1 + X).prod(1) - 1, rtol=1e-5)
    out = vmap(lambda x, i: lax.reduce(x, i, lax.add, (0,)))(X, np.float32([1, 2]))
    np.testing.assert_allclose(out, X.sum(1) + np.float32([1, 2]), rtol=1e-5)


def test_numbers_in_a_computation_may_change_from_call_to_call():
    for k in np.arange(1.0, 7.0):
        out = lax.reduce(X[0], 0.0, lambda x, y, k=float(k): x + y + k * x * y, (0,)).item()
        assert out == pytest.approx(((1 + k * X[0]).prod() - 1) / k, rel=1e-4)


def test_equal_computations_are_one_program():
    made = []

    def reduce():
        text = make_jaxpr(lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (1,)))(X)
        (equation,) = [e for e in text.eqns if e.primitive.name == "reduce"]
        made.append(dict(equation.params)["jaxpr"])

    reduce()
    reduce()
    assert made[0] is made[1]


def test_a_computation_that_uses_traced_values_is_refused():
    with refused(TypeError, "reduce: the computation uses values from outside", "float32"):
        jit(lambda x, c: lax.reduce(x, 0.0, lambda a, b: a + b * c, (0, 1)))(X, 2.0)


def test_structures_and_types_that_do_not_fit_are_refused():
    with refused(TypeError, "reduce: operands and init_values must have one structure"):
        lax.reduce((X, X), 0.0, add, (0,))
    with refused(TypeError, "reduce: the computation must give scalars of float32; it gives bool"):
        lax.reduce(X, 0.0, lax.lt, (0,))
    with refused(TypeError, "reduce: each operand needs an initial value", "int32"):
        lax.reduce(X, np.int32(0), add, (0,))
    with refused(
        TypeError, "reduce: operands must have one shape", r"float32\[2,3\], float32\[3\]"
    ):
        lax.reduce((X, X[0]), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))


def test_axes_that_do_not_fit_are_refused():
    with refused(ValueError, r"reduce_max: axis 2 is out of range for float32\[2,3\]"):
        lax.reduce_max(X, (2,))
    with refused(ValueError, "reduce_sum: axes are repeated"):
        lax.reduce_sum(X, (0, -2))
    with refused(TypeError, "reduce_min: axes must be a sequence of ints; got 0"):
        lax.reduce_min(X, 0)
    with refused(ValueError, r"argmax: axis 0 of float32\[0\] is empty"):
        lax.argmax(np.zeros(0, np.float32), 0)
    with refused(TypeError, "argmin: index_dtype must be an integer dtype; got float32"):
        lax.argmin(X, 0, np.float32)


def test_dtypes_that_do_not_fit_are_refused():
    with refused(TypeError, "reduce_sum: .*number", "bool", "reduce_or"):
        lax.reduce_sum(X > 0, (0,))
    with refused(TypeError, "reduce_prod: .*number", "bool"):
        lax.reduce_prod(X > 0, (0,))
    with refused(TypeError, "reduce_and: .*integer or bool", "float32"):
        lax.reduce_and(X, (0,))
    with refused(TypeError, "argmax: .*real or bool", "complex64"):
        lax.argmax(X.astype(np.complex64), 0)


def test_an_error_names_the_users_line():
    with pytest.raises(ValueError, match="out of range") as caught:
        lax.reduce_max(X, (5,))
    assert any("test_reductions.py" in note for note in caught.value.__notes__)


def test_elements_that_share_an_extreme_share_its_derivative():
    x = np.float32([1.0, 3.0, 3.0, 2.0])
    for run in (lambda f: f, jit):
        g = run(grad(lambda x: lax.reduce_max(x, (0,))))(x)
        assert g.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_derivatives_of_a_product_are_exact_at_zeros(zeros):
    x = np.float32([2.0, 3.0, 5.0, 7.0])
    x[:zeros] = 0
    expected = [np.prod(np.delete(x, i)) for i in range(4)]
    second = [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    g = grad(lambda x: lax.reduce_prod(x, (0,)))
    assert g(x).tolist() == expected
    rows = [grad(lambda x, i=i: lax.index_in_dim(g(x), i, keepdims=False))(x) for i in range(4)]
    np.testing.assert_allclose(rows, second)


def test_complex_extremes_are_lexicographic():
    z = np.complex64([1 + 2j, 1 + 3j, -1 + 9j])
    for tier in ("host", "xla"):
        with eager_tier(tier):
            assert lax.reduce_max(z, (0,)).item() == 1 + 3j
            assert lax.reduce_min(z, (0,)).item() == -1 + 9j


@pytest.mark.parametrize("by", [operator.mul, lax.mul, operator.add, lax.add, lax.max])
def test_a_strong_initial_value_makes_a_strong_result_in_every_tier(by):
    weak = weft.numpy.full(3, 2)
    assert weak.weak_type
    reduced = lambda x: lax.reduce(x, np.int32(1), by, (0,))  # noqa: E731
    assert not any(f(weak).weak_type for f in (reduced, reduced, weft.jit(reduced)))


@pytest.mark.parametrize("shape", [(32_769,), (40_001, 2), (40_004,), (131_080,)])
def test_derivatives_of_long_products(shape):
    rng = np.random.default_rng(0)
    x, t = np.exp(0.001 * rng.standard_normal(shape)), rng.standard_normal(shape)
    with weft.config.temporarily(enable_x64=True):
        slopes = weft.jit(weft.grad(lambda x: weft.numpy.prod(x, 0).sum()))
        found, change = weft.jvp(slopes, (x,), (t,))
        whole, size = x.prod(0), abs(t / x).sum(0)
        np.testing.assert_allclose(found, whole / x, rtol=1e-12)
        wanted = whole / x * ((t / x).sum(0) - t / x)
        np.testing.assert_allclose(change, wanted, rtol=0, atol=1e-12 * size.max())
        x[7] = 0
        found = slopes(x)
        np.testing.assert_allclose(found[7], np.delete(x, 7, 0).prod(0), rtol=1e-12)
        assert np.count_nonzero(found) == found[7].size
