"""JAX documentation, vectorization: vmap and numpy.vectorize."""

from functools import partial

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp
from weft import vmap

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def test_matrix_products_from_a_vector_product():
    vv = lambda x, y: jnp.vdot(x, y)  # noqa: E731  ([a], [a]) -> []
    mv = vmap(vv, (0, None), 0)  # ([b,a], [a]) -> [b]      (b is the mapped axis)
    mm = vmap(mv, (None, 1), 1)  # ([b,a], [a,c]) -> [b,c]  (c is the mapped axis)
    x, y = normal(2, 3), normal(3, 4)
    np.testing.assert_allclose(mv(x, y[:, 0]), x @ y[:, 0], rtol=1e-5)
    np.testing.assert_allclose(mm(x, y), x @ y, rtol=1e-5)

    mv1 = vmap(vv, (0, 0), 0)  # ([b,a], [b,a]) -> [b]
    mv2 = vmap(vv, (0, 1), 0)  # ([b,a], [a,b]) -> [b]
    mm2 = vmap(mv2, (1, 1), 0)  # ([b,c,a], [a,c,b]) -> [c,b]
    u, v = normal(2, 3), normal(2, 3)
    np.testing.assert_allclose(mv1(u, v), (u * v).sum(1), rtol=1e-5)
    np.testing.assert_allclose(mv2(u, v.T), (u * v).sum(1), rtol=1e-5)
    p, q = normal(2, 4, 3), normal(3, 4, 2)
    np.testing.assert_allclose(mm2(p, q), np.einsum("bca,acb->cb", p, q), rtol=1e-5)


A, B, C, D = 2, 3, 4, 5


def foo(tree_arg):
    x, (y, z) = tree_arg
    return jnp.dot(x, jnp.dot(y, z))


def test_containers_in_in_axes():
    x = jnp.ones((A, B))
    y = jnp.ones((B, C))
    z = jnp.ones((C, D))
    tree = (x, (y, z))
    prints(foo(tree), "[[12. 12. 12. 12. 12.] [12. 12. 12. 12. 12.]]")

    K = 6  # batch size
    x = jnp.ones((K, A, B))  # batch axis in different locations
    y = jnp.ones((B, K, C))
    z = jnp.ones((C, D, K))
    tree = (x, (y, z))
    vfoo = vmap(foo, in_axes=((0, (1, 2)),))
    assert vfoo(tree).shape == (6, 2, 5)


def test_dictionaries_in_in_axes():
    dct = {"a": 0.0, "b": jnp.arange(5.0)}
    x = 1.0

    def foo(dct, x):
        return dct["a"] + dct["b"] + x

    out = vmap(foo, in_axes=({"a": None, "b": 0}, None))(dct, x)
    prints(out, "[1. 2. 3. 4. 5.]")


def test_mapped_and_unmapped_results():
    f = lambda x, y: (x + y, y * 2.0)  # noqa: E731
    out = vmap(f, in_axes=(0, None), out_axes=(0, None))(jnp.arange(2.0), 4.0)
    prints(out[0], "[4., 5.]")
    assert out[1].shape == ()
    assert out[1] == 8.0
    out = vmap(f, in_axes=(0, None), out_axes=0)(jnp.arange(2.0), 4.0)
    prints(out[0], "[4., 5.]")
    prints(out[1], "[8., 8.]")
    assert out[1].weak_type
    with pytest.raises(ValueError, match="out_axes is None"):
        vmap(f, in_axes=(0, None), out_axes=None)(jnp.arange(2.0), 4.0)


def test_mapped_results_are_transposed():
    out = vmap(lambda x: x, out_axes=1)(jnp.arange(6.0).reshape(2, 3))
    assert out.shape == (3, 2)


def test_arguments_that_dont_fit_are_refused():
    with pytest.raises(ValueError, match=r"size|length"):
        vmap(jnp.add)(jnp.ones(2), jnp.ones(3))
    with pytest.raises(ValueError, match="mapped"):
        vmap(lambda x: x, in_axes=None)(jnp.ones(2))
    assert vmap(lambda x, *, k: x + k, in_axes=0)(jnp.ones(2), k=jnp.arange(2.0)).tolist() == [1, 2]


@partial(jnp.vectorize, signature="(k),(k)->(k)")
def cross_product(a, b):
    assert a.shape == b.shape
    assert a.ndim == b.ndim == 1
    return jnp.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@partial(jnp.vectorize, signature="(n,m),(m)->(n)")
def matrix_vector_product(matrix, vector):
    assert matrix.ndim == 2
    assert matrix.shape[1:] == vector.shape
    return matrix @ vector


def test_vectorize():
    assert cross_product(jnp.ones(3), jnp.ones(3)).shape == (3,)
    assert cross_product(jnp.ones((2, 3)), jnp.ones(3)).shape == (2, 3)
    assert cross_product(jnp.ones((1, 2, 3)), jnp.ones((2, 1, 3))).shape == (2, 2, 3)
    x, y = normal(2, 3), normal(3)
    np.testing.assert_allclose(cross_product(x, y), np.cross(x, y), rtol=1e-5, atol=1e-6)
    assert matrix_vector_product(jnp.ones((2, 3)), jnp.ones(3)).shape == (2,)
    assert matrix_vector_product(jnp.ones((2, 3)), jnp.ones((4, 3))).shape == (4, 2)


def test_vectorize_needs_enough_axes():
    with pytest.raises(ValueError, match="vectorize") as caught:
        matrix_vector_product(jnp.ones(3), jnp.ones(3))
    for fact in (
        "with shape (3,)",
        "not have enough dimensions for all its core dimensions ('n', 'm')",
        "excluded=frozenset()",
        "signature='(n,m),(m)->(n)'",
        "matrix_vector_product",
    ):
        assert fact in str(caught.value)


def test_vectorize_takes_scalars_by_default():
    shapes = []

    @jnp.vectorize
    def f(x, y):
        shapes.append((x.shape, y.shape))
        return x * y

    x, y = normal(3, 1), normal(2)
    np.testing.assert_allclose(f(x, y), x * y)
    assert set(shapes) == {((), ())}


def test_vectorize_passes_excluded_arguments_on():
    table, seen = object(), []

    @partial(jnp.vectorize, excluded={1, "how"}, signature="(n)->()")
    def f(x, table, *, how="sum"):
        seen.append((table, how))
        return jnp.sum(x)

    assert f(jnp.ones((4, 3)), table, how="any").tolist() == [3] * 4
    assert seen == [(table, "any")]
    with pytest.raises(ValueError, match="keyword arguments must be excluded; got y"):
        jnp.vectorize(lambda x, y: x)(1.0, y=2.0)
    with pytest.raises(ValueError, match="count from the first argument"):
        jnp.vectorize(lambda x, y: x, excluded={-1})


def test_matmul_has_other_semantics():
    with pytest.raises(TypeError, match=r"matmul: .*\[2,3\].*\[4,3\].*equal length"):
        jnp.matmul(jnp.ones((2, 3)), jnp.ones((4, 3)))


@pytest.mark.parametrize("axis", [-2, -1, 0, 1])
def test_axes_count_from_either_end(axis):
    x = normal(2, 3)
    twice = vmap(lambda x: 2 * x, in_axes=axis, out_axes=axis)(x)
    np.testing.assert_allclose(twice, 2 * x)
    moved = vmap(lambda x: x, in_axes=0, out_axes=axis)(x)
    np.testing.assert_allclose(moved, np.moveaxis(x, 0, axis))


@pytest.mark.parametrize("axis", [-3, 2])
def test_axes_out_of_range_are_refused(axis):
    with pytest.raises(ValueError, match=rf"axis {axis} is out of range for argument x"):
        vmap(lambda x: x, in_axes=axis)(normal(2, 3))
    with pytest.raises(ValueError, match=rf"out_axes={axis} is out of range"):
        vmap(lambda x: x, out_axes=axis)(normal(2, 3))


def test_in_axes_are_a_prefix_of_the_arguments():
    x, y = normal(4, 2), {"b": normal(4, 3), "c": [normal(4), normal(4)]}
    f = lambda x, y: jnp.sum(x) + jnp.sum(y["b"]) * y["c"][0] - y["c"][1]  # noqa: E731
    expected = x.sum(1) + y["b"].sum(1) * y["c"][0] - y["c"][1]
    for in_axes in (0, (0, 0), (0, {"b": 0, "c": 0}), (0, {"b": 0, "c": [0, 0]})):
        np.testing.assert_allclose(vmap(f, in_axes)(x, y), expected, rtol=1e-5)
    for wrong in ((0, {"b": 0}), (0, {"b": 0, "c": (0, 0)}), (0, [0, 0]), (0, 0, 0)):
        with pytest.raises(ValueError, match="in_axes"):
            vmap(f, wrong)(x, y)


def test_vmap_composes():
    f = weft.jit(vmap(weft.grad(lambda x: jnp.sum(x**3))))
    np.testing.assert_allclose(
        f(np.arange(6.0, dtype="f").reshape(2, 3)), 3 * np.arange(6.0).reshape(2, 3) ** 2
    )
