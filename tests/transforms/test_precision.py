"""default_matmul_precision: in the jaxpr and StableHLO of products and convolutions."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

SPELLINGS = {
    "default": "DEFAULT", "fastest": "DEFAULT", "bfloat16": "DEFAULT",
    "high": "HIGH", "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH",
    "highest": "HIGHEST", "float32": "HIGHEST",
}  # fmt: skip
X, Y = np.ones((2, 3)), np.ones((3, 4))
IMAGE, KERNEL = np.ones((1, 3, 8, 8)), np.ones((2, 3, 3, 3))
PRODUCTS = {
    "@": (lambda x, y: x @ y, X, Y),
    "matmul": (np.matmul, X, Y),
    "dot": (np.dot, X, Y),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), X, Y),
    "einsum": (lambda x, y: np.einsum("ij,jk", x, y), X, Y),
    "lax.dot": (lax.dot, X, Y),
    "conv": (lambda x, k: lax.conv(x, k, (1, 1), "SAME"), IMAGE, KERNEL),
    "gradient": (weft.grad(lambda x, y: np.sum(x @ y)), X, Y),
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_is_seen_in_the_programs(product, spelling):
    f, x, y = PRODUCTS[product]
    word = SPELLINGS[spelling]
    with weft.default_matmul_precision(spelling):
        assert f"precision=({word}, {word})" in str(weft.make_jaxpr(f)(x, y))
        text = weft.jit(f).lower(x, y).as_text()
    assert f"#stablehlo<precision {word}>" in text


@pytest.mark.parametrize("product", PRODUCTS)
def test_none_states_nothing(product):
    f, x, y = PRODUCTS[product]
    assert "#stablehlo<precision" not in weft.jit(f).lower(x, y).as_text()


def test_what_is_stated_wins():
    f = lambda x, y: np.matmul(x, y, precision="highest")  # noqa: E731
    with weft.default_matmul_precision("bfloat16"):
        text = weft.jit(f).lower(X, Y).as_text()
    assert "HIGHEST" in text
    assert "DEFAULT" not in text


def test_it_is_a_part_of_the_key():
    count = []
    f = weft.jit(lambda x, y: count.append(1) or x @ y)
    for _ in range(2):
        f(X, Y)
        with weft.default_matmul_precision("highest"):
            onp.testing.assert_allclose(f(X, Y), onp.full((2, 4), 3.0))
    assert len(count) == 2
