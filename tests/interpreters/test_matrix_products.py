"""Products outside `jit`, whose axes are permuted before XLA multiplies matrices."""

import numpy as np
import pytest

import weft
from weft import lax
from weft.compiler.compiled import run_program
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.interpreters.matrix_products import matrix_product
from weft.interpreters.plans import OperationPlan
from weft.numpy.plans import plan_of
from weft.primitives.arithmetic import mul
from weft.primitives.products import dot_general
from weft.primitives.structural import transpose

CASES = {
    "attention scores": "bqhd,bkhd->bhqk",
    "attention values": "bhqk,bkhd->bhqd",
    "projection": "btd,dhe->bthe",
    "output of heads": "bthd,hde->bte",
    "weight gradient": "btd,bte->de",
    "contracted axes in another order": "abc,cba->",
    "contracted axes in the order of y": "bac,abd->cd",
    "batch axes at the end": "icab,cjab->abij",
    "batch axes in another order": "abic,bajc->abij",
    "rows": "abc,abc->ab",
    "matrix and cube": "ij,kjl->ikl",
    "outer": "ab,cd->abcd",
}
MATRICES = [
    "ij,jk->ik",
    "ji,jk->ik",
    "ij,kj->ik",
    "ij,j->i",
    "i,i->",
    "bij,bjk->bik",
    "bij,bkj->bik",
]
SIZES = dict(zip("abcdehijklqt", (3, 4, 5, 6, 7, 2, 3, 4, 5, 2, 6, 3), strict=True))


@pytest.fixture(autouse=True)
def no_accelerator(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)


def dims_of(formula):
    """The axes of a `dot_general` whose result has the axes of the formula."""
    x, y, out = formula.replace("->", ",").split(",")
    batch = [c for c in out if c in x and c in y]
    contracted = [c for c in x if c in y and c not in out]
    axes = [tuple(s.index(c) for c in names) for names in (contracted, batch) for s in (x, y)]
    return (axes[0], axes[1]), (axes[2], axes[3])


def operands(formula, scale=1, dtype="float32"):
    rng = np.random.default_rng(3)
    terms = formula.split("->")[0].split(",")
    return [
        rng.integers(-4, 5, [scale * SIZES[c] for c in s]).astype(dtype) for s in terms
    ]  # small integers: sums are exact


def params_of(formula):
    return (("dims", dims_of(formula)), ("dtype", None), ("precision", None))


def product_of(formula, *arrays):
    return matrix_product(dot_general, params_of(formula), [a.aval for a in arrays])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex64"])
@pytest.mark.parametrize("formula", CASES.values(), ids=CASES)
def test_values_are_those_of_einsum(formula, dtype):
    x, y = operands(formula, dtype=dtype)
    arrays = [weft.device_put(a) for a in (x, y)]
    product = product_of(formula, *arrays)
    (out,) = run_program(product.program, product.operands(arrays))
    assert out.aval == lax.dot_general(*arrays, dims_of(formula)).aval
    np.testing.assert_array_equal(np.asarray(out), np.einsum(formula, x, y))


@pytest.mark.parametrize("formula", CASES.values(), ids=CASES)
def test_the_program_has_no_transposition(formula):
    product = product_of(formula, *map(weft.device_put, operands(formula)))
    names = [e.primitive.name for e in product.program.body.equations]
    assert names == ["reshape", "reshape", "dot_general", "reshape"]
    (_, _, e, _) = product.program.body.equations
    (contracting, batch) = dict(e.params)["dims"]
    assert all(len(axes) <= 1 for axes in (*contracting, *batch))


@pytest.mark.parametrize("formula", MATRICES)
def test_matrices_stay_as_they_are(formula):
    assert product_of(formula, *map(weft.device_put, operands(formula))) is None


def test_an_operand_in_order_is_not_moved():
    arrays = [*map(weft.device_put, operands("btd,bte->de"))]
    product = product_of("btd,bte->de", *arrays)
    assert product.operands(arrays) == arrays
    arrays = [*map(weft.device_put, operands("bhqk,bkhd->bhqd"))]
    product = product_of("bhqk,bkhd->bhqd", *arrays)
    x, y = product.operands(arrays)
    assert x is arrays[0]
    assert y.shape == tuple(SIZES[c] for c in "bhkd")


@pytest.mark.parametrize("formula", ["bqhd,bkhd->bhqk", "btd,bte->de", "ij,kj->ik"])
def test_large_products_and_their_gradients(formula):
    x, y = operands(formula, scale=80 if formula in MATRICES else 9)
    dims = dims_of(formula)
    ct = np.einsum(formula, x, y) % 5 - 2.0

    def loss(x, y):
        return (lax.dot_general(x, y, dims) * ct).sum()

    out = lax.dot_general(x, y, dims)
    np.testing.assert_array_equal(np.asarray(out), np.einsum(formula, x, y))
    terms, z = formula.split("->")
    left, right = terms.split(",")
    dx, dy = weft.grad(loss, (0, 1))(x, y)
    np.testing.assert_array_equal(np.asarray(dx), np.einsum(f"{z},{right}->{left}", ct, y))
    np.testing.assert_array_equal(np.asarray(dy), np.einsum(f"{z},{left}->{right}", ct, x))


def test_programs_of_products_share_their_plans():
    """Products with transpositions run one by one; with other large operations they are one
    program."""
    shape = aval((300, 20, 30), np.dtype(np.float32))

    def products(x):
        y = dot_general(x, x, dims=(((1, 2), (1, 2)), ((), ())), dtype=None, precision=None)
        return transpose(y, permutation=(1, 0))

    def squares(x):
        return products(mul(mul(mul(x, x), x), mul(mul(x, x), x)))

    assert plan_of(products, [shape], {}, "f").program is None
    assert (
        plan_of(squares, [aval((900, 30, 30), np.dtype(np.float32))], {}, "f").program is not None
    )
    with weft.config.temporarily(eager_tier="xla"):
        assert plan_of(products, [shape], {}, "f").program is not None

    def of_matrices(x):
        y = dot_general(x, x, dims=(((1,), (1,)), ((), ())), dtype=None, precision=None)
        return transpose(y, permutation=(1, 0))

    assert (
        plan_of(of_matrices, [aval((300, 600), np.dtype(np.float32))], {}, "f").program is not None
    )


def test_an_array_that_is_committed_to_a_device():
    x, y = operands("bqhd,bkhd->bhqk", scale=9)
    dims = dims_of("bqhd,bkhd->bhqk")
    on_device = weft.device_put(x, weft.devices()[0])
    out = lax.dot_general(on_device, y, dims)
    assert out.committed
    np.testing.assert_array_equal(np.asarray(out), np.asarray(lax.dot_general(x, y, dims)))


def test_a_deleted_operand():
    x, y = map(weft.jit(lambda x: x + 0), operands("bqhd,bkhd->bhqk", scale=9))
    x.delete()
    with pytest.raises(weft.errors.DeletedArrayError, match="deleted"):
        lax.dot_general(x, y, dims_of("bqhd,bkhd->bhqk"))


def test_large_products_are_compiled_without_transpositions():
    plan = OperationPlan(
        dot_general,
        params_of("bqhd,bkhd->bhqk"),
        [aval((20, 100, 4, 32), np.dtype(np.float32))] * 2,
        aval((20, 4, 100, 100), np.dtype(np.float32)),
    )
    assert plan.kernel is None
    assert plan.product.orders == [(0, 2, 1, 3), (0, 2, 3, 1)]
