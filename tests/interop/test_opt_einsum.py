"""opt_einsum contracts weft's arrays by weft's functions."""

import numpy as onp
import opt_einsum
import pytest

import weft
import weft.numpy as np

A, B, C = (
    onp.random.default_rng(i).random(s, "float32") for i, s in enumerate([(2, 3), (3, 4), (4, 2)])
)

CASES = {
    "two": ("ab,bc->ac", (A, B)),
    "chain": ("ab,bc,cd->ad", (A, B, C)),
    "trace": ("ab,bc,ca->", (A, B, C)),
    "batch": ("ab,ab->ab", (A, A)),
    "one": ("ab->ba", (A,)),
}


@pytest.mark.parametrize("name", CASES)
def test_contract(name):
    text, operands = CASES[name]
    expected = opt_einsum.contract(text, *operands)

    def f(*xs):
        return opt_einsum.contract(text, *xs)

    for g in (f, weft.jit(f)):
        found = g(*map(np.asarray, operands))
        assert isinstance(found, weft.Array)
        onp.testing.assert_allclose(found, expected, rtol=1e-5)


def test_gradients_and_expressions():
    product = opt_einsum.contract_expression("ab,bc,ca->", A.shape, B.shape, C.shape)
    found = weft.grad(lambda a: product(a, np.asarray(B), np.asarray(C)))(np.asarray(A))
    onp.testing.assert_allclose(found, (B @ C).T, rtol=1e-5)


def test_the_functions_that_it_looks_for_are_those_of_numpy():
    assert [weft.einsum, weft.tensordot, weft.transpose] == [np.einsum, np.tensordot, np.transpose]
