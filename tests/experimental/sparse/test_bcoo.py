"""Sparse arrays against dense NumPy and scipy.sparse: laws × layouts."""

import operator

import numpy as onp
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import weft
import weft.numpy as np
from weft import errors, jit, lax, random, vmap
from weft.experimental import sparse
from weft.experimental.sparse import BCOO


def dense(shape, seed=0, dtype="float32"):
    """Whole numbers and zeros: sums are exact, in any order."""
    draw = onp.random.RandomState(seed)
    x = draw.randint(1, 5, shape) * (draw.rand(*shape) < 0.4)
    return x.astype(dtype)


def spread(x, n_batch=0, n_dense=0):
    """A sparse form that is hard to read: unsorted, with duplicates and padding between."""
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    at = mat.n_batch
    beyond = np.full_like(mat.indices, 99)
    padding = mat.data + 7 if mat.n_sparse else np.zeros_like(mat.data)
    data = np.concatenate([mat.data - 1, padding, np.ones_like(mat.data)], at)
    indices = np.concatenate([mat.indices, beyond, mat.indices], at)
    # padding of `mat` itself is beyond the shape in all three
    return BCOO((np.flip(data, at), np.flip(indices, at)), shape=mat.shape)


LAYOUTS = [(0, 0), (1, 0), (0, 1), (1, 1), (3, 0), (0, 3)]
X = dense((3, 4, 2))


@pytest.fixture(params=LAYOUTS, ids=str, scope="module")
def mat(request):
    """X in a layout."""
    return spread(X, *request.param)


# --- storing ---


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_dense_to_sparse_and_back(layout, dtype):
    x = dense((3, 4, 2), 1, dtype)
    mat = BCOO.fromdense(x, n_batch=layout[0], n_dense=layout[1])
    assert (mat.n_batch, mat.n_sparse, mat.n_dense) == (layout[0], 3 - sum(layout), layout[1])
    assert (mat.shape, mat.dtype, mat.ndim, mat.size, len(mat)) == (x.shape, x.dtype, 3, 24, 3)
    assert_array_equal(mat.todense(), x)
    assert_array_equal(sparse.bcoo_fromdense(x, nse=27).todense(), x)


def test_nse_is_what_is_needed_and_few_elements_are_the_first():
    x = np.array([[0.0, 1, 0, 2], [3, 0, 0, 0]])
    assert BCOO.fromdense(x).nse == 3
    assert BCOO.fromdense(x, n_batch=1).nse == 2
    assert BCOO.fromdense(x, n_dense=1).nse == 2
    assert_array_equal(BCOO.fromdense(x, nse=1).todense(), [[0, 1, 0, 0], [0] * 4])
    assert_array_equal(jit(lambda x: BCOO.fromdense(x, nse=5))(x).todense(), x)
    with pytest.raises(errors.ConcretizationTypeError, match=r"fromdense: .*\n  fix: .*nse=n"):
        jit(BCOO.fromdense)(x)


def test_duplicates_add_up_and_padding_does_not_count(mat):
    assert_array_equal(mat.todense(), X)
    for form in (mat.sort_indices(), mat.sum_duplicates(), jit(sparse.bcoo_sort_indices)(mat)):
        assert_array_equal(form.todense(), X)
        assert form.indices_sorted
        for places in onp.asarray(form.indices).reshape(onp.prod(form.batch_shape, dtype=int), -1):
            rows = places.reshape(form.nse, form.n_sparse).tolist()
            assert rows == sorted(rows)
    summed = mat.sum_duplicates()
    assert summed.nse == BCOO.fromdense(X, n_batch=mat.n_batch, n_dense=mat.n_dense).nse
    assert summed.unique_indices
    more = jit(lambda m: m.sum_duplicates(nse=30))(mat)
    assert_array_equal(more.todense(), X)
    assert more.nse == 30


def test_zeros_that_are_stored():
    mat = BCOO((np.array([1.0, -1, 0, 2]), np.array([[0], [0], [2], [3]])), shape=(5,))
    assert mat.sum_duplicates().indices.tolist() == [[0], [3]]
    assert mat.sum_duplicates(remove_zeros=False).indices.tolist() == [[0], [2], [3]]
    assert sparse.bcoo_sum_duplicates(mat).indices.tolist() == [[0], [3]]
    with pytest.raises(errors.ConcretizationTypeError, match="nse=n"):
        jit(lambda m: m.sum_duplicates())(mat)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
def test_from_scipy(kind):
    ours = BCOO.from_scipy_sparse(scipy.sparse.csr_matrix(X[0]).asformat(kind))
    assert_array_equal(ours.todense(), X[0])
    assert_array_equal(BCOO.from_scipy_sparse(scipy.sparse.coo_array(X[0])).todense(), X[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_update_layout(mat, layout):
    new = mat.update_layout(n_batch=layout[0], n_dense=layout[1], on_inefficient=None)
    assert (new.n_batch, new.n_dense) == layout
    assert_array_equal(new.todense(), X)


def test_infinite_elements_stay_alone():
    x = onp.array([[0, onp.inf], [onp.nan, 1]], "float32")
    for layout in ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2)):
        new = BCOO.fromdense(x).update_layout(
            n_batch=layout[0], n_dense=layout[1], on_inefficient=None
        )
        assert_array_equal(new.todense(), x)
        assert_array_equal(new[:, 1].todense(), x[:, 1])
    padded = BCOO((np.array([onp.inf, 2.0]), np.array([[9, 9], [0, 0]])), shape=(2, 2))
    assert_array_equal(padded @ np.ones(2), [2, 0])
    assert_array_equal(padded.sum(0).todense(), [2, 0])


def test_wasteful_layouts_are_told_of():
    mat = sparse.eye(20)
    with pytest.raises(sparse.SparseEfficiencyError, match="stores 400 numbers"):
        mat.update_layout(n_dense=2)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        mat.update_layout(n_dense=1, on_inefficient="warn")
    assert mat.update_layout(n_batch=1).nse == 1


def test_empty_eye_and_random():
    assert_array_equal(sparse.empty((2, 3), "int32").todense(), onp.zeros((2, 3)))
    for n, m, k in [(3, None, 0), (3, 5, 1), (4, 2, -1), (2, 2, 5)]:
        assert_array_equal(sparse.eye(n, m, k).todense(), onp.eye(n, m, k))
    key = random.PRNGKey(0)
    for options in ({}, {"n_batch": 1}, {"n_dense": 1}, {"nse": 7}):
        mat = sparse.random_bcoo(key, (3, 5, 4), sorted_indices=True, **options)
        assert mat.indices_sorted
        assert onp.count_nonzero(mat.todense()) == mat.data.size
    assert mat.nse == 7


@pytest.mark.parametrize(("wide", "width"), [(False, 32), (True, 64)])
def test_a_random_array_has_a_fifth_of_the_places_in_default_dtypes(wide, width):
    with weft.enable_x64(wide):
        mat = sparse.random_bcoo(random.PRNGKey(0), (5, 4))
        assert (mat.n_batch, mat.n_sparse, mat.n_dense, mat.nse) == (0, 2, 0, 4)
        assert (mat.data.dtype, mat.indices.dtype) == (f"float{width}", f"int{width}")
        assert len({*map(tuple, mat.indices.tolist())}) == 4


# --- shapes ---

UNARY = {
    "transpose": (lambda m: m.transpose((1, 0, 2)), lambda x: x.transpose((1, 0, 2))),
    "sum 0": (lambda m: m.sum(0), lambda x: x.sum(0)),
    "sum 1, 2": (lambda m: m.sum((1, -1)), lambda x: x.sum((1, -1))),
    "sum keepdims": (lambda m: m.sum(1, keepdims=True), lambda x: x.sum(1, keepdims=True)),
    "sum": (lambda m: m.sum(), lambda x: x.sum()),
    "x[1]": (lambda m: m[1], lambda x: x[1]),
    "x[1, 2, 0]": (lambda m: m[1, 2, 0], lambda x: x[1, 2, 0]),
    "slices": (lambda m: m[1:, ::2, None, -1], lambda x: x[1:, ::2, None, -1]),
    "backwards": (lambda m: m[::-1, 3:0:-2], lambda x: x[::-1, 3:0:-2]),
    "nothing": (lambda m: m[2:1], lambda x: x[2:1]),
    "..., i": (lambda m: m[..., 0], lambda x: x[..., 0]),
    "array": (lambda m: m[np.array([2, 0, 2])], lambda x: x[onp.array([2, 0, 2])]),
    "traced": (lambda m: m[np.int32(-2), :, np.int32(1)], lambda x: x[-2, :, 1]),
    "rev": (lambda m: sparse.bcoo_rev(m, dimensions=(0, 2)), lambda x: x[::-1, :, ::-1]),
    "neg": (operator.neg, operator.neg),
    "abs": (lambda m: abs(-m), abs),
    "power": (lambda m: m**2, lambda x: x**2),
    "times": (lambda m: 3 * m, lambda x: 3 * x),
    "over": (lambda m: m / 4, lambda x: x / 4),
    "astype": (lambda m: m.astype("int32"), lambda x: x.astype("int32")),
}


@pytest.mark.parametrize("name", UNARY)
def test_of_one_array(mat, name):
    ours, theirs = UNARY[name]
    kinds_mix = name == "transpose" and ((mat.n_batch, mat.n_dense) in [(1, 0), (1, 1)])
    if kinds_mix:
        with pytest.raises(errors.ShapeError):
            ours(mat)
        return
    result = ours(mat)
    assert_array_equal(sparse.todense(result), theirs(X))
    if (mat.n_batch, mat.n_dense) == (0, 1):
        assert_array_equal(sparse.todense(jit(ours)(mat)), theirs(X))
    assert isinstance(result, BCOO) or name == "sum"


RESHAPES = {
    (0, 0): [(6, 4), (-1,), (1, 24)],
    (1, 0): [(3, 8), (3, 2, 4)],
    (0, 1): [(12, 2), (2, 6, 2)],
    (1, 1): [(3, 2, 2, 2)],
    (3, 0): [(6, 4)],
    (0, 3): [(6, 4)],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reshape(layout):
    for shape in RESHAPES[layout]:
        new = spread(X, *layout).reshape(shape)
        assert_array_equal(new.todense(), X.reshape(shape))


def test_reshape_that_mixes_kinds_is_refused():
    with pytest.raises(errors.ShapeError, match=r"mixes batch.*\n.*update_layout"):
        spread(X, 1).reshape(12, 2)


WIDER = [((5, 3, 4, 2), (1, 2, 3)), ((3, 5, 4, 6, 2), (0, 2, 4)), ((3, 4, 2, 2), (0, 1, 2))]


@pytest.mark.parametrize(("shape", "dims"), WIDER)
def test_broadcast_in_dim(mat, shape, dims):
    new = sparse.bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=dims)
    assert_array_equal(new.todense(), lax.broadcast_in_dim(X, shape, dims))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_of_length_one_are_repeated_and_left_out(layout):
    x = dense((1, 4, 1), 3)
    mat = spread(x, *layout)
    new = sparse.bcoo_broadcast_in_dim(mat, shape=(3, 4, 2), broadcast_dimensions=(0, 1, 2))
    assert_array_equal(new.todense(), onp.broadcast_to(x, (3, 4, 2)))
    assert_array_equal(sparse.bcoo_squeeze(mat, dimensions=(0, 2)).todense(), x[0, :, 0])


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_concatenate(mat, dimension):
    joined = sparse.bcoo_concatenate([mat, mat.sum_duplicates()], dimension=dimension)
    assert_array_equal(joined.todense(), onp.concatenate([X, X], dimension))


def test_dynamic_slice_is_moved_inside(mat):
    found = jit(lambda m, i: sparse.bcoo_dynamic_slice(m, (i, 1, 0), (2, 2, 1)))(mat, 5)
    assert_array_equal(found.todense(), X[1:3, 1:3, :1])


# --- two arrays ---

Y = dense((3, 4, 2), 7)
BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [(3, 4, 2), (4, 1), (1, 1, 2)])
def test_elementwise_with_sparse_and_dense(mat, name, other):
    y = dense(other, 8)
    f = BINARY[name]
    for kind in [(0, 0), (0, 1)]:
        assert_array_equal(f(mat, spread(y, *kind)).todense(), f(X, y))
        assert_array_equal(f(spread(y, *kind), mat).todense(), f(y, X))
    if name == "mul" or other == X.shape:
        assert_array_equal(sparse.todense(f(mat, y)), f(X, y))
        assert_array_equal(sparse.todense(f(y, mat)), f(y, X))
    else:
        with pytest.raises(TypeError, match=r"would have elements everywhere\n  fix: x.todense"):
            f(mat, y)


def test_division(mat):
    assert_allclose((mat / (Y + 1)).todense(), X / (Y + 1), rtol=1e-6)


def test_division_leaves_what_is_not_stored():
    assert_array_equal((BCOO.fromdense(X) / np.where(X, 2, 0)).todense(), X / 2)


PRODUCTS = [  # (shape of the sparse one, of the other, dimension numbers)
    ((3, 4), (4,), (((1,), (0,)), ((), ()))),
    ((3, 4), (3, 2), (((0,), (0,)), ((), ()))),
    ((3, 4), (4, 3), (((1, 0), (0, 1)), ((), ()))),
    ((3, 4), (3, 4), (((1,), (1,)), ((0,), (0,)))),
    ((3, 4, 2), (2, 4, 5), (((1, 2), (1, 0)), ((), ()))),
    ((3, 4, 2), (5, 3, 2), (((2,), (2,)), ((0,), (1,)))),
    ((3, 4, 2), (2, 3, 5), (((), ()), ((2, 0), (0, 1)))),
    ((3, 4), (2,), (((), ()), ((), ()))),
]


@pytest.mark.parametrize(("shape", "other", "numbers"), PRODUCTS)
def test_dot_general(shape, other, numbers):
    x, y = dense(shape, 4), dense(other, 5)
    (cx, cy), (bx, by) = numbers
    expected = onp.asarray(lax.dot_general(x, y, numbers))
    turned = onp.asarray(lax.dot_general(y, x, ((cy, cx), (by, bx))))
    dot = sparse.bcoo_dot_general
    for layout in LAYOUTS:
        if sum(layout) > len(shape):
            continue
        mat = spread(x, *layout)
        assert_array_equal(dot(mat, y, dimension_numbers=numbers), expected)
        assert_array_equal(dot(y, mat, dimension_numbers=((cy, cx), (by, bx))), turned)
    both = dot(mat, spread(y), dimension_numbers=numbers)
    assert_array_equal(both.todense(), expected)
    compiled = jit(lambda a, b: dot(a, b, dimension_numbers=numbers))
    assert_array_equal(compiled(mat, spread(y)).todense(), expected)


@pytest.mark.parametrize("other", [(4,), (4, 5)])
def test_matmul_is_that_of_scipy(other):
    x, y = dense((3, 4), 4), dense(other, 5)
    theirs = scipy.sparse.csr_matrix(x)
    for kind in (BCOO, sparse.COO, sparse.CSR, sparse.CSC, sparse.BCSR):
        mat = kind.from_scipy_sparse(theirs)
        assert_array_equal(mat @ y, theirs @ y)
        assert_array_equal(mat @ np.array(y), theirs @ y)
        assert_array_equal(y.T[..., :3] @ mat, y.T[..., :3] @ x)
        assert_array_equal(np.array(y.T[..., :3]) @ mat, y.T[..., :3] @ x)
    mat = BCOO.from_scipy_sparse(theirs)
    square = mat @ mat.T
    assert square.nse == (theirs @ theirs.T).nnz
    assert_array_equal(square.todense(), (theirs @ theirs.T).toarray())


def test_large_products_do_not_make_all_pairs():
    theirs = scipy.sparse.random(3000, 3000, 0.001, random_state=0, dtype="float32").tocsr()
    mat = BCOO.from_scipy_sparse(theirs)
    ours, expected = mat @ mat, (theirs @ theirs).tocoo()
    assert ours.nse == expected.nnz
    found = scipy.sparse.coo_matrix((ours.data, onp.asarray(ours.indices).T), theirs.shape)
    assert abs(found - expected).max() < 1e-6
    assert_allclose((mat * mat).data.sum(), (theirs.data**2).sum(), rtol=1e-5)


def test_places_beyond_the_range_of_a_product_of_lengths():
    indices = np.array([[0, 70_000, 3], [99_999, 5, 70_000]])
    mat = BCOO((np.array([2.0, 3.0]), indices), shape=(100_000, 100_000, 100_000))
    assert (mat * mat).data.tolist() == [4.0, 9.0]
    assert mat.T.sum_duplicates().indices.tolist() == [[3, 70_000, 0], [70_000, 5, 99_999]]
    assert mat.sum((0, 1)).sum_duplicates().data.tolist() == [2.0, 3.0]
    with pytest.raises(errors.ShapeError, match="don't fit the indices' dtype int32"):
        mat.reshape(-1)


def test_extract_and_samples_of_a_product():
    a, b = dense((3, 4), 1), dense((4, 5), 2)
    mat = spread(dense((3, 5), 3))
    numbers = (((1,), (0,)), ((), ()))
    chosen = sparse.bcoo_extract(mat, a @ b)
    assert_array_equal(chosen.todense(), onp.where(dense((3, 5), 3), a @ b, 0))
    found = sparse.bcoo_dot_general_sampled(a, b, chosen.indices, dimension_numbers=numbers)
    padding = (onp.asarray(chosen.indices) == 99).any(-1)
    rows, columns = onp.asarray(chosen.indices)[~padding].T
    assert_array_equal(onp.asarray(found)[~padding], (a @ b)[rows, columns])
    assert_array_equal(onp.asarray(found)[padding], 0)


# --- transformations ---


def test_pytree():
    mat = spread(X, 1)
    leaves, tree = weft.tree_util.tree_flatten(mat)
    assert [x.shape for x in leaves] == [mat.data.shape, mat.indices.shape]
    again = weft.tree_util.tree_unflatten(tree, leaves)
    assert_array_equal(again.todense(), X)
    paths = weft.tree_util.tree_flatten_with_path(mat)[0]
    assert [str(p[0]) for p, _ in paths] == [".data", ".indices"]


def test_vmap_maps_the_batch_and_makes_one():
    v = dense((2,), 3)
    products = vmap(lambda m: m @ v)(spread(X, 1))
    assert_array_equal(products, X @ v)
    doubled = jit(vmap(vmap(lambda m: 2 * m)))(spread(X, 2))
    assert (doubled.n_batch, doubled.shape) == (2, X.shape)
    assert_array_equal(doubled.todense(), 2 * X)
    made = vmap(lambda x: BCOO.fromdense(x, nse=8))(X)
    assert (made.n_batch, made.shape) == (1, X.shape)
    assert_array_equal(made.todense(), X)
    assert_array_equal(vmap(lambda i: spread(X)[i])(np.array([2, 0])).todense(), X[[2, 0]])


def test_derivatives_in_both_modes():
    x, v = dense((3, 4), 4) + 0.0, dense((4,), 5) + 1.0
    mat = BCOO.fromdense(x)

    def f(m, v):
        return np.sum(np.tanh(0.1 * (m @ v)) ** 2)

    value, (dm, dv) = sparse.value_and_grad(f, (0, 1))(mat, v)
    expected, (dx, dy) = weft.value_and_grad(f, (0, 1))(np.array(x), v)
    assert_allclose(value, expected, rtol=1e-6)
    assert isinstance(dm, BCOO)
    assert_allclose(dm.todense(), onp.where(x, dx, 0), rtol=1e-5)
    assert_allclose(dv, dy, rtol=1e-5)
    grads, aux = jit(sparse.grad(lambda m, v: (f(m, v), 1.0), has_aux=True))(mat, v)
    assert_allclose(grads.data, dm.data, rtol=1e-5)
    assert aux == 1.0
    # a tangent of a pytree: data move, places don't
    still = onp.zeros(mat.indices.shape, weft.dtypes.float0)
    tangent = mat.tree_unflatten(mat.tree_flatten()[1], (np.ones_like(mat.data), still))
    _, pushed = weft.jvp(lambda m: f(m, v), (mat,), (tangent,))
    assert_allclose(pushed, dm.data.sum(), rtol=1e-5)
    second = weft.jvp(lambda d: sparse.grad(f)(mat.with_data(d), v).data, (mat.data,),
                      (np.ones_like(mat.data),))[1]  # fmt: skip
    h = 1e-2
    moved = [sparse.grad(f)(mat.with_data(mat.data + s * h), v).data for s in (1, -1)]
    assert_allclose(second, (moved[0] - moved[1]) / (2 * h), atol=2e-3)


@pytest.mark.parametrize("transform", [sparse.jacfwd, sparse.jacrev, sparse.jacobian])
def test_jacobians(transform):
    x, v = dense((3, 4), 4), np.array(dense((4,), 5))
    mat = BCOO.fromdense(x)
    found = transform(lambda m, v: {"a": m @ v})(mat, v)["a"]
    expected = onp.einsum("ai,j->aij", onp.eye(3), v) * (x != 0)
    assert (found.n_batch, found.shape) == (1, (3, 3, 4))
    assert_array_equal(found.todense(), expected)
    of_v = transform(lambda m, v: m @ v, argnums=1)(mat, v)
    assert_array_equal(of_v, x)


def test_gradients_of_other_formats_and_of_trees():
    x, v = dense((3, 4), 4), dense((4,), 5)
    for kind in (sparse.COO, sparse.CSR, sparse.CSC, sparse.BCSR):
        mat = kind.fromdense(x)
        g = sparse.grad(lambda p: (p["w"] @ v).sum() * p["scale"])({"w": mat, "scale": 2.0})
        assert type(g["w"]) is kind
        assert_array_equal(g["w"].todense(), 2 * (x != 0) * v)
        assert g["scale"] == (x @ v).sum()


# --- errors ---

ERRORS = {
    "parts": (lambda m: BCOO((np.ones(3), np.zeros((4, 2), int)), shape=(2, 2)),
              ["data [batch…, nse, dense…]", "float32[3]"]),
    "indices": (lambda m: BCOO((np.ones(3), np.zeros((3, 1))), shape=(2,)), ["integer indices"]),
    "asarray": (onp.asarray, ["is sparse", "todense"]),
    "sin": (lambda m: np.sin(m), ["is sparse"]),
    "compare": (lambda m: m > 0, ["comparison", "everywhere"]),
    "plus one": (lambda m: m + 1, ["add", "everywhere"]),
    "shapes": (lambda m: m + dense((5,)), ["add", "(3, 4)", "(5,)"]),
    "product": (lambda m: m @ np.ones(5), ["axes", "(3, 4)", "(5,)"]),
    "index": (lambda m: m[7], ["index 7", "axis 0"]),
    "indices too many": (lambda m: m[0, 0, 0], ["too many"]),
    "mask": (lambda m: m[np.array([True, False, True])], ["whole numbers"]),
    "power": (lambda m: m**0, ["everywhere"]),
    "over sparse": (lambda m: 1 / m, ["everywhere"]),
    "permutation": (lambda m: m.transpose((0, 0)), ["transpose"]),
    "layout": (lambda m: m.update_layout(n_batch=3), ["n_batch=3"]),
    "format": (lambda m: sparse.eye(2, sparse_format="dia"), ["dia", "bcoo"]),
    "joined": (lambda m: sparse.bcoo_concatenate([m, sparse.eye(2)], dimension=0), ["don't join"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, words = ERRORS[name]
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        function(BCOO.fromdense(dense((3, 4))))
    assert all(w in str(caught.value) for w in words), caught.value
