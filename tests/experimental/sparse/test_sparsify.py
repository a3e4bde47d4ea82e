"""sparsify: a function of sparse arrays gives what it gives of the dense ones."""

import numpy as onp
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import weft
import weft.numpy as np
from weft import errors, jit, lax
from weft.experimental import sparse
from weft.experimental.sparse import BCOO, sparsify

X = onp.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 4]], "float32")
V = onp.array([1, 2, 3, 4], "float32")


def power_iteration(x, v):
    def step(v, _):
        v = x.T @ (x @ v)
        return v / np.max(v), np.sum(v)

    return lax.scan(step, v, None, length=3)


def halved(x, v):
    """The matrix is in the carry."""
    return lax.while_loop(lambda c: np.sum(c @ v) > 3, lambda c: c * 0.5, x)


FUNCTIONS = {
    "matvec": lambda x, v: x @ v,
    "vecmat": lambda x, v: v[:3] @ x,
    "square": lambda x, v: x @ x.T,
    "elementwise": lambda x, v: np.sin(x) * 2 - np.tanh(x) / v + np.sqrt(x) * np.expm1(x),
    "by vector": lambda x, v: x * v + x.T.T,
    "sums": lambda x, v: (x.sum(0), x.sum(1), np.sum(x)),
    "mean": lambda x, v: np.mean(x, 0),
    "shapes": lambda x, v: x.reshape(4, 3).T[1:, ::2][None],
    "indexing": lambda x, v: (x[1], x[:, 3], x[::-1]),
    "einsum": lambda x, v: np.einsum("ij,j,ik->k", x, v, x),
    "joined": lambda x, v: np.concatenate([x, 2 * x]),
    "stacked with dense": lambda x, v: np.concatenate([x, v[None]]),
    "plus dense": lambda x, v: x + np.ones((3, 4)) - np.eye(3, 4),
    "power": lambda x, v: x**3,
    "relu": lambda x, v: weft.nn.relu(x - 2 * x),
    "astype": lambda x, v: x.astype(int).astype(float),
    "jit": lambda x, v: jit(lambda x: (2 * x) @ v)(x),
    "scan": power_iteration,
    "while": halved,
    "cond": lambda x, v: lax.cond(v[0] > 0, lambda x: x * 2, lambda x: -x, x),
    "cond, one of them dense": lambda x, v: lax.cond(
        v[0] > 0, lambda x: x + np.ones((3, 4)), lambda x: -x, x
    ),
    "cond, of other sizes": lambda x, v: lax.cond(v[0] > 0, lambda x: x + x, lambda x: -x, x),
    "carry that shrinks": lambda x, v: lax.fori_loop(0, 2, lambda i, c: np.sin(c)[:, ::-1], x),
    "fori": lambda x, v: lax.fori_loop(0, 3, lambda i, v: x.T @ (x @ v), v),
    "scan over rows": lambda x, v: lax.scan(lambda c, row: (c + row @ v, row * 2), 0.0, x),
    "todense": lambda x, v: np.exp(sparse.todense(x)),
    "no sparse operand": lambda x, v: np.exp(v),
    "the argument": lambda x, v: {"x": x, "v": (v, None)},
    "gradient": lambda x, v: weft.grad(lambda v: np.sum((x @ v) ** 2))(v),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_gives_what_the_dense_function_gives(name):
    f = FUNCTIONS[name]
    found = sparsify(f)(BCOO.fromdense(X), V)
    expected = f(np.array(X), np.array(V))
    weft.tree_util.tree_map(
        lambda a, b: assert_allclose(a, b, rtol=1e-5), sparse.todense(found), expected
    )


@pytest.mark.parametrize("name", ["matvec", "elementwise", "shapes", "joined", "cond", "while"])
def test_what_is_sparse_stays_sparse_and_it_compiles(name):
    f = sparsify(FUNCTIONS[name])
    found, compiled = f(BCOO.fromdense(X), V), jit(f)(BCOO.fromdense(X), V)
    assert isinstance(found, BCOO) or name == "matvec"
    assert_allclose(sparse.todense(compiled), sparse.todense(found), rtol=1e-6)


def test_other_formats_batches_and_duplicates():
    f = sparsify(lambda x, v: np.sin(x) @ v)
    expected = onp.sin(X) @ V
    for kind in (sparse.COO, sparse.CSR, sparse.CSC, sparse.BCSR):
        assert_allclose(f(kind.fromdense(X), V), expected, rtol=1e-6)
    assert_allclose(f(BCOO.fromdense(X, n_batch=1), V), expected, rtol=1e-6)
    assert_allclose(f(BCOO.fromdense(X, n_dense=1), V), expected, rtol=1e-6)
    twice = BCOO((np.ones(2), np.zeros((2, 1), int)), shape=(2,))
    assert_allclose(f(twice, V[:2]), onp.sin(2.0), rtol=1e-6)
    rows = weft.vmap(f, (0, None))(BCOO.fromdense(X, n_batch=1), V)
    assert_allclose(rows, expected, rtol=1e-6)


def test_derivatives_of_a_sparsified_function():
    f = sparsify(lambda x, v: np.sum(np.tanh(x) @ v))
    g = sparse.grad(f)(BCOO.fromdense(X), V)
    assert_allclose(g.todense(), onp.where(X, (1 - onp.tanh(X) ** 2) * V, 0), atol=1e-6)


ERRORS = {
    "exp": (lambda x: np.exp(x), TypeError, ["exp", "everywhere", "sparse.todense"]),
    "plus one": (lambda x: x + 1, TypeError, ["add", "everywhere"]),
    "sort": (lambda x: np.sort(x), errors.MissingRuleError, ["sort", "sparse.todense"]),
    "bool": (lambda x: bool(x[:1, :1]), errors.ConcretizationTypeError, ["sparse matrix"]),
    "numpy": (lambda x: onp.asarray(x), TypeError, ["sparse matrix", "sparse.todense"]),
    "carry": (
        lambda x: lax.fori_loop(0, 2, lambda i, c: c + np.ones((3, 4)), x),
        TypeError,
        ["carry", "sparse.todense"],
    ),
    "growing carry": (
        lambda x: lax.fori_loop(0, 2, lambda i, c: c + c, x),
        TypeError,
        ["carry", "nse=8", "room"],
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, kind, words = ERRORS[name]
    with pytest.raises(kind) as caught:
        sparsify(function)(BCOO.fromdense(X))
    assert all(w in str(caught.value) for w in words), caught.value


def test_a_tracer_that_is_kept_is_told_of():
    kept = []
    sparsify(lambda x: kept.append(x))(BCOO.fromdense(X))
    with pytest.raises(errors.UnexpectedTracerError):
        kept[0] * 2
    assert "SparseTracer" in repr(kept[0])
    assert_array_equal(kept[0].matrix.todense(), X)
