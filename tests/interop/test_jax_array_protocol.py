"""Objects of other libraries that give an array by `__jax_array__`, also a traced one."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax


class Boxed:
    """As `flax.nnx.Variable` and `equinox`'s wrappers are; NumPy would see other elements."""

    def __init__(self, x):
        self.x = x

    def __jax_array__(self):
        return self.x

    def __array__(self, *args, **kwargs):
        return onp.zeros(3, "float32")


X = onp.array([1, 2, 3], "float32")

CASES = {
    "add": (lambda x, v: x + v, X + X),
    "radd": (lambda x, v: np.add(v, x), X + X),
    "power": (lambda x, v: x**v, X**X),
    "matmul": (lambda x, v: x @ v, X @ X),
    "less": (lambda x, v: x < v, X < X),
    "einsum": (lambda x, v: np.einsum("i,i->", v, x), X @ X),
    "concatenate": (lambda x, v: np.concatenate([v, x]), onp.concatenate([X, X])),
    "asarray": (lambda x, v: np.asarray(v), X),
    "sin": (lambda x, v: np.sin(v), onp.sin(X)),
    "where": (lambda x, v: np.where(x > 1, v, 0), onp.where(X > 1, X, 0)),
    "lax": (lambda x, v: lax.mul(x, v), X * X),
    "set": (lambda x, v: np.zeros((2, 3)).at[0].set(v), onp.stack([X, 0 * X])),
    "shape": (lambda x, v: np.reshape(v, (3, 1)), X[:, None]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_the_array_inside_is_used(case, way):
    function, expected = CASES[case]
    result = way(lambda x: function(x, Boxed(x)))(np.asarray(X))
    onp.testing.assert_allclose(result, expected, rtol=1e-6)


def test_derivatives_go_through():
    x = np.asarray(X)
    onp.testing.assert_allclose(weft.grad(lambda x: np.sum(x * Boxed(x)))(x), 2 * X)


class Delegating(Boxed):
    """As `flax.nnx.Param` is: it shows the attributes of its array."""

    def __getattr__(self, name):
        return getattr(self.x, name)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("around", [lambda f: f, weft.jit, weft.vmap], ids=["", "jit", "vmap"])
def test_an_object_that_shows_the_attributes_of_its_array(name, around):
    f, expected = CASES[name]
    stacked = [onp.stack([a, a]) if around is weft.vmap else a for a in (X, expected)]
    x = np.asarray(stacked[0])
    for v in (Boxed, Delegating, Delegating):  # plans are kept after the first
        out = around(lambda x, v=v: f(x, v(np.asarray(X))))(x)
        onp.testing.assert_allclose(out, stacked[1], rtol=1e-6)
        out = around(lambda x, v=v: f(np.asarray(X), v(x)))(x)
        onp.testing.assert_allclose(out, stacked[1], rtol=1e-6)
