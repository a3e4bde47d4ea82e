"""Products of arrays against NumPy, and how many operations they are."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np

RNG = onp.random.default_rng(2)


def normal(*shape):
    return RNG.standard_normal(shape).astype(onp.float32)


M, N, V = normal(3, 4), normal(4, 5), normal(4)
COMPLEX = (normal(3, 4) + 1j * normal(3, 4)).astype(onp.complex64)
INTS = RNG.integers(-5, 6, (3, 4)).astype(onp.int32)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("dot", (M, N), {}),
        ("dot", (V, V), {}),
        ("dot", (M, V), {}),
        ("dot", (normal(2, 3, 4), normal(5, 4, 6)), {}),
        ("dot", (3.0, M), {}),
        ("dot", (INTS, INTS.T), {}),
        ("matmul", (M, N), {}),
        ("matmul", (V, N), {}),
        ("matmul", (M, V), {}),
        ("matmul", (V, V), {}),
        *[
            ("matmul", (normal(*a), normal(*b)), {})
            for a, b in [
                ((2, 3, 4), (4, 5)),
                ((3, 4), (2, 4, 5)),
                ((2, 3, 4), (2, 4, 5)),
                ((2, 1, 3, 4), (6, 4, 5)),
                ((1, 3, 4), (2, 4, 5)),
                ((4,), (2, 4, 5)),
                ((2, 3, 4), (4,)),
                ((7, 1, 2, 3, 4), (1, 5, 2, 4, 6)),
            ]
        ],
        ("vdot", (COMPLEX, COMPLEX), {}),
        ("inner", (M, normal(2, 4)), {}),
        ("inner", (M, 2.0), {}),
        ("outer", (M, V), {}),
        ("tensordot", (normal(2, 3, 4), normal(3, 4, 5)), {}),
        ("tensordot", (normal(2, 3, 4), normal(4, 5)), {"axes": 1}),
        ("tensordot", (M, N), {"axes": 0}),
        ("tensordot", (normal(2, 3, 4), normal(4, 3, 5)), {"axes": ((1, 2), (1, 0))}),
        ("kron", (M, normal(2, 2)), {}),
        ("kron", (V, normal(2, 2)), {}),
        ("cross", (normal(5, 3), normal(5, 3)), {}),
        ("cross", (normal(3, 5), normal(3)), {"axisa": 0}),
        ("cross", (normal(5, 3), normal(5, 3)), {"axisc": 0}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_products_agree_with_numpy(name, args, options):
    agree(name, *args, **options)


def test_products_of_vectors_and_matrices_in_stacks():
    assert_close(np.vecdot(M, M), (M * M).sum(-1))
    assert_close(np.vecdot(COMPLEX, COMPLEX, axis=0), (COMPLEX.conj() * COMPLEX).sum(0))
    assert_close(np.matvec(normal(2, 3, 4) * 0 + 1, V), onp.full((2, 3), V.sum()))
    assert_close(np.vecmat(V, N), V @ N)
    assert_close(np.cross(M[:, :2], M[:, 2:]), M[:, 0] * M[:, 3] - M[:, 1] * M[:, 2])


EINSUMS = [
    ("ij,jk", (3, 4), (4, 5)),
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij->ji", (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("ijk->k", (2, 3, 4)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("i,j->ij", (3,), (4,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...,...", (3, 4), (4,)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("ab,cd,bc->ad", (2, 3), (4, 5), (3, 4)),
    ("abc,cd,be,ae->d", (2, 3, 4), (4, 5), (3, 2), (2, 2)),
    ("a,b,c->cab", (2,), (3,), (4,)),
    ("ij,kj->", (3, 4), (2, 4)),
    ("bi,i->b", (3, 4), (4,)),
    ("ij,jk,k", (3, 4), (4, 5), (5,)),
    ("aij,ajk->ik", (2, 3, 4), (2, 4, 5)),
    ("xy,yz->zx", (3, 1), (4, 5)),  # a length of one broadcasts
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
@pytest.mark.parametrize("optimize", ["greedy", False])
def test_einsum(case, optimize):
    text, *shapes = case
    agree("einsum", text, *[normal(*s) for s in shapes], optimize=optimize)


def test_einsum_in_other_words():
    agree("einsum", M, [0, 1], N, [1, 2], [0, 2])
    assert_close(np.einsum(M, [0, Ellipsis], [Ellipsis, 0]), M.T)
    path, text = np.einsum_path("ab,bc,cd->ad", normal(2, 3), normal(3, 4), normal(4, 5))
    assert len(path) == 2
    assert "ab,bc" in text
    assert_close(np.einsum("ab,bc,cd->ad", M, N, N.T, optimize=path), M @ N @ N.T, 1e-4)
    assert np.einsum("ij,ij->", np.asarray(INTS), np.asarray(M)).dtype == onp.float32


def test_products_are_one_operation_each():
    def operations(f, *shapes):
        return [str(e.primitive) for e in weft.make_jaxpr(f)(*[np.ones(s) for s in shapes]).eqns]

    assert operations(np.dot, (3, 4), (4, 5)) == ["dot_general"]
    assert operations(np.matmul, (2, 3, 4), (2, 4, 5)) == ["dot_general"]
    assert operations(lambda x, y: np.einsum("ij,jk->ik", x, y), (3, 4), (4, 5)) == ["dot_general"]
    assert operations(np.tensordot, (2, 3, 4), (3, 4, 5)) == ["dot_general"]
    assert operations(lambda x: np.where(x > 0, x, 0), (3,)) == ["gt", "select_n"]
    assert operations(lambda x: x * 2.0 + 1, (3,)) == ["mul", "add"]
    assert operations(np.mean, (3,)) == ["reduce_sum", "div"]


def test_dtypes_of_products():
    assert np.dot(INTS, M.T).dtype == onp.float32
    half = M.astype(onp.float16)
    assert np.matmul(half, half.T).dtype == onp.float16
    assert np.matmul(half, half.T, preferred_element_type="float32").dtype == onp.float32


@pytest.mark.parametrize(
    "function",
    [
        np.dot,
        lambda x, y: np.einsum("ij,jk->k", x, y),
        lambda x, y: np.matmul(x[None], y),
        lambda x, y: np.tensordot(x, y, 1),
    ],
)
def test_gradients(function):
    assert_gradient(function, M, N)


def test_gradients_of_others():
    assert_gradient(np.kron, M, N[:2, :2])
    assert_gradient(np.cross, normal(2, 3), normal(2, 3))
    assert_gradient(lambda x: np.einsum("ii->i", x), normal(3, 3))
    assert_gradient(np.trace, M)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: np.dot(M, M), "dot: axis 1 of float32.3,4. and axis 0 of float32.3,4."),
        (lambda: np.dot(N, M), r"fix: did you mean dot\(b, a\)"),
        (lambda: np.asarray(M) @ np.asarray(M), "equal length"),
        (lambda: np.matmul(normal(2, 3, 4), normal(3, 4, 5)), "don't broadcast"),
        (lambda: np.einsum("ij,jk", M), "for 2 operands; got 1"),
        (lambda: np.einsum("ijk->i", M), "operand 0 has 2"),
        (lambda: np.einsum("ij,jk", M, M), "axis 'j' has length"),
        (lambda: np.einsum("ij->x", M), "must name letters of the operands"),
        (lambda: np.tensordot(M, N, axes=((0,), (0, 1))), "come in pairs"),
        (lambda: np.cross(normal(4), normal(4)), "length 2 or 3"),
        (lambda: np.matmul(2.0, M), r"use a \* b"),
    ],
)
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
