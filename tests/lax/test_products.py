"""Products of arrays: precision, preferred dtypes, tiers, errors."""

import ml_dtypes
import numpy as np
import pytest

from weft import grad, jit, lax, make_jaxpr, numpy as wnp, vmap
from weft.config import default_matmul_precision, eager_tier
from weft.interpreters.eager_tiers import host_share
from weft.primitives.products import dot_general

RNG = np.random.default_rng(0)


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("tier", ["host", "xla"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bit_products_are_rounded_once(tier, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, y = np.ones((1, 3000), dtype), np.ones((3000, 1), dtype)
    with eager_tier(tier):
        assert float(lax.dot(x, y).item()) == float(dtype.type(3000))


@pytest.mark.parametrize("tier", ["host", "xla"])
def test_preferred_dtype_of_narrow_integers(tier):
    x = np.full((2, 3), 100, np.int8)
    with eager_tier(tier):
        out = lax.dot(x, x.T, preferred_element_type=np.int32)
        assert out.dtype == np.int32
        assert out.tolist() == [[30000] * 2] * 2
        four = np.full((2, 3), 7, ml_dtypes.int4)
        assert lax.dot(four, four.T, preferred_element_type=np.int32).tolist() == [[147] * 2] * 2


def test_derivatives_have_the_operands_dtype_whatever_the_preferred_one():
    x, y = normal(3, 4, dtype=ml_dtypes.bfloat16), normal(4, 2, dtype=ml_dtypes.bfloat16)

    def f(x, y):
        out = lax.dot(x, y, preferred_element_type=np.float32)
        assert out.dtype == np.float32
        return lax.reduce_sum(out, (0, 1))

    for run in (lambda f: f, jit):
        gx, gy = run(grad(f, (0, 1)))(x, y)
        assert gx.dtype == gy.dtype == ml_dtypes.bfloat16
        np.testing.assert_allclose(
            np.float32(gx), np.broadcast_to(y.astype(np.float32).sum(1), (3, 4)), rtol=1e-2
        )
        np.testing.assert_allclose(
            np.float32(gy), np.broadcast_to(x.astype(np.float32).sum(0)[:, None], (4, 2)), rtol=1e-2
        )


def test_a_complex_product_of_real_operands():
    x, y = normal(2, 3), normal(3, 2)
    for tier in ("host", "xla"):
        with eager_tier(tier):
            out = lax.dot(x, y, preferred_element_type=np.complex64)
            np.testing.assert_allclose(out, (x @ y).astype(np.complex64), rtol=1e-5)
    g = grad(
        lambda x: lax.reduce_sum(
            lax.real(lax.dot(x, y, preferred_element_type="complex64")), (0, 1)
        )
    )(x)
    np.testing.assert_allclose(g, np.broadcast_to(y.sum(1), (2, 3)), rtol=1e-5)


def test_precision_is_named_and_carried_into_the_program():
    x = normal(2, 2)
    text = jit(lambda x: lax.dot(x, x, precision=lax.Precision.HIGH)).lower(x).as_text()
    assert "precision HIGH" in text
    with default_matmul_precision("highest"):
        assert "HIGHEST" in str(make_jaxpr(lambda x: lax.dot(x, x))(x))
    for pair, written in (
        (("high", "default"), "[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]"),
        ((None, "highest"), "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]"),
        ([lax.Precision.HIGH, None], "[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]"),
    ):
        text = jit(lambda x, pair=pair: lax.dot(x, x, precision=pair)).lower(x).as_text()
        assert f"precision_config = {written}" in text


def test_precisions_of_operands_follow_them_into_derivatives():
    x, y = normal(2, 3), normal(3, 4)
    f = make_jaxpr(grad(lambda x, y: lax.reduce_sum(lax.dot(x, y, ("high", "default")), (0, 1)), 1))
    assert str(f(x, y)).count("HIGH") >= 1


def test_the_tier_is_chosen_by_the_work_not_by_the_elements():
    def on_host(x, y):
        dims = (((1,), (0,)), ((), ()))
        params = (("dims", dims),)
        avals = [lax.full_like(v, 0).aval for v in (x, y)]
        out = dot_general.type_rule(*avals, dims=dims)
        return host_share(dot_general, params, avals, [out]) <= 1

    assert on_host(normal(1, 20_000), normal(20_000, 1))
    assert on_host(normal(64, 64), normal(64, 64))
    assert not on_host(normal(300, 300), normal(300, 300))
    assert not on_host(np.ones((100, 100), np.int32), np.ones((100, 100), np.int32))


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("int8", "bfloat16", "bfloat16"),
        ("int32", "float32", "float32"),
        ("bool", "int8", "int8"),
        ("float16", "complex64", "complex64"),
        ("float16", "float32", "float32"),
    ],
)
def test_operands_of_two_dtypes(one, other, result):
    x = np.array([[1, 0], [1, 1]]).astype(np.dtype(getattr(ml_dtypes, one, one)))
    y = np.array([[2, 3], [0, 1]]).astype(np.dtype(getattr(ml_dtypes, other, other)))
    for out in (lax.dot(x, y), lax.batch_matmul(x[None], y[None])[0]):
        assert out.dtype == result
        np.testing.assert_array_equal(out.astype("complex64"), [[2, 3], [2, 4]])
    assert lax.dot(y, x).dtype == result


def test_a_preferred_dtype_that_is_narrower_is_that_of_the_result():
    x = np.float32([[1.5, 1.5], [300.25, 1.0]])
    for dtype in ("float16", "int32"):
        for out in (
            lax.dot(x, x, preferred_element_type=dtype),
            wnp.dot(x, x, preferred_element_type=dtype),
            wnp.einsum("ij,jk->ik", x, x, preferred_element_type=dtype),
        ):
            assert out.dtype == dtype
            np.testing.assert_array_equal(out, (x @ x).astype(dtype))


def test_products_of_many_operands_in_a_preferred_dtype():
    x = np.full((2, 2), 100, np.int8)
    out = wnp.einsum("ij,jk,kl->il", x, x, x, preferred_element_type="float32")
    np.testing.assert_array_equal(out, np.full((2, 2), 4e6, np.float32))


def test_dot_with_dimension_numbers():
    x, y = normal(2, 3, 4), normal(4, 2, 5)
    out = lax.dot(x, y, dimension_numbers=(([2], [0]), ([0], [1])))
    np.testing.assert_allclose(out, np.einsum("bik,kbj->bij", x, y), rtol=1e-5)
    out = lax.dot_general(x, y, (((-1,), (0,)), ((0,), (-2,))))
    np.testing.assert_allclose(out, np.einsum("bik,kbj->bij", x, y), rtol=1e-5)


def test_nested_vmap_of_a_product():
    x, y = normal(2, 3, 4), normal(5, 4)
    out = vmap(lambda row: vmap(lambda v: lax.dot(row, v))(y))(x)
    np.testing.assert_allclose(out, np.einsum("bik,jk->bji", x, y), rtol=1e-5)


def test_what_does_not_fit_is_refused():
    x, y = normal(2, 3), normal(4, 3)
    with refused(TypeError, r"dot: expected .* float32\[2,3\] and float32\[4,3\]"):
        lax.dot(x, y)
    with refused(TypeError, r"dot: ", "did you mean dot"):
        lax.dot(normal(3, 4), normal(2, 3))
    with refused(TypeError, "dot_general: contracting axes must have equal lengths"):
        lax.dot_general(x, y, (((1,), (0,)), ((), ())))
    with refused(ValueError, "dot_general: axes .* of lhs"):
        lax.dot_general(x, y, (((1, 1), (0, 1)), ((), ())))
    with refused(ValueError, "dot_general: dimension_numbers must be"):
        lax.dot_general(x, y, ((1, 0), (0, 0)))
    with refused(ValueError, "dot: precision must be", "'best'"):
        lax.dot(x, y.T, precision="best")
    with refused(ValueError, "batch_matmul: expected"):
        lax.batch_matmul(x, normal(1, 3, 2))
