"""Sorting: order, stability, derivatives, errors."""

import numpy as np
import pytest

from weft import grad, jit, jvp, lax, make_jaxpr, vmap
from weft.config import eager_tier

RNG = np.random.default_rng(0)


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


@pytest.fixture(params=["host", "xla"], autouse=True)
def tier(request):
    with eager_tier(request.param):
        yield


def test_one_array_gives_one_and_a_sequence_a_tuple():
    assert lax.sort(np.int32([2, 1])).tolist() == [1, 2]
    (only,) = lax.sort([np.int32([2, 1])])
    assert only.tolist() == [1, 2]


def test_equal_keys_keep_their_order_also_by_the_default_of_many_elements():
    keys = RNG.integers(0, 5, 500).astype(np.int32)
    _, order = lax.sort_key_val(keys, np.arange(500, dtype=np.int32))
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


def test_rows_are_ordered_by_several_keys():
    a, b = RNG.integers(0, 3, (2, 50)).astype(np.int32)
    out = lax.sort([a, b], num_keys=2)
    np.testing.assert_array_equal(np.stack(out), np.stack([a, b])[:, np.lexsort((b, a))])


def test_zeros_of_both_signs_keep_their_order():
    x = np.float32([0.0, -0.0, 1.0, -0.0, 0.0, -1.0])
    assert np.signbit(np.asarray(lax.sort(x))).tolist() == [True, False, True, True, False, False]


def test_the_gradient_goes_back_to_where_elements_came_from():
    x = np.float32([3.0, 1.0, 2.0])
    weights = np.float32([10, 20, 30])
    for run in (lambda f: f, jit):
        g = run(grad(lambda x: lax.dot(lax.sort(x), weights)))(x)
        assert g.tolist() == [30.0, 10.0, 20.0]
    g = grad(lambda v: lax.dot(lax.sort_key_val(x, v)[1], weights))(x)
    assert g.tolist() == [30.0, 10.0, 20.0]


def test_values_and_derivatives_of_any_order_come_from_one_sort():
    def loss(x):
        return (lax.sort(x) ** 3).sum()

    x = np.float32([3.0, 1.0, 2.0])
    for f in (grad(loss), grad(lambda x: grad(loss)(x).sum()), lambda x: jvp(loss, (x,), (x,))):
        assert str(make_jaxpr(f)(x)).count(" sort[") == 1
    assert grad(loss)(x).tolist() == [27.0, 3.0, 12.0]
    assert grad(lambda x: grad(loss)(x).sum())(x).tolist() == [18.0, 6.0, 12.0]


def test_an_unstable_sort_pairs_values_with_their_tangents():
    keys = RNG.integers(0, 3, 40).astype(np.float32)
    values = RNG.standard_normal(40).astype(np.float32)
    (_, out), (_, tangent) = jvp(
        lambda k, v: lax.sort_key_val(k, v, is_stable=False),
        (keys, values),
        (np.zeros_like(keys), 2 * values),
    )
    np.testing.assert_allclose(tangent, 2 * np.asarray(out))


def test_the_largest_of_many_with_ties():
    x = RNG.integers(0, 50, (3, 2000)).astype(np.float32)
    values, places = lax.top_k(x, 7)
    order = np.argsort(-x, axis=-1, kind="stable")[:, :7]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))


def test_a_nan_of_either_sign_is_the_largest():
    values, places = lax.top_k(np.float32([1.0, -np.nan, np.inf, np.nan]), 3)
    assert places.tolist() == [1, 3, 2]
    assert np.isnan(np.asarray(values)[:2]).all()


def test_the_largest_along_another_axis():
    x = RNG.standard_normal((6, 3)).astype(np.float32)
    values, places = lax.top_k(x, 2, axis=0)
    np.testing.assert_array_equal(places, np.argsort(-x, axis=0)[:2])
    g = grad(lambda x: lax.reduce_sum(lax.top_k(x, 2, axis=0)[0], (0, 1)))(x)
    assert g.tolist() == (x >= np.asarray(values)[1]).astype(float).tolist()


def test_approximate_forms_are_exact():
    x = RNG.standard_normal(200).astype(np.float32)
    np.testing.assert_array_equal(lax.approx_max_k(x, 5)[1], np.argsort(-x)[:5])
    np.testing.assert_array_equal(lax.approx_min_k(x, 5)[0], np.sort(x)[:5])


def test_vmap_over_values_only():
    keys = np.float32([2.0, 1.0, 3.0])
    values = RNG.standard_normal((4, 3)).astype(np.float32)
    out = vmap(lambda v: lax.sort_key_val(keys, v)[1])(values)
    np.testing.assert_array_equal(out, values[:, [1, 0, 2]])


def test_what_does_not_fit_is_refused():
    x = np.float32([1, 2])
    with refused(TypeError, "sort: operands must have one shape", r"float32\[2\], float32\[1\]"):
        lax.sort([x, x[:1]])
    with refused(ValueError, "sort: num_keys must be from 1 to 2", "got 3"):
        lax.sort([x, x], num_keys=3)
    with refused(ValueError, "sort: axis 1 is out of range"):
        lax.sort(x, 1)
    with refused(ValueError, "top_k: k must be from 0 to the length of the last axis", "got 3"):
        lax.top_k(x, 3)
    with refused(TypeError, "top_k: .*complex64"):
        lax.top_k(x.astype(np.complex64), 1)
    with refused(TypeError, "top_k: .*at least one axis"):
        lax.top_k(np.float32(1), 1)
    with refused(TypeError, "approx_max_k: .*floating-point", "int32"):
        lax.approx_max_k(np.int32([1, 2]), 1)
    with refused(ValueError, "approx_max_k: recall_target"):
        lax.approx_max_k(x, 1, recall_target=0.0)
