"""einops finds weft's arrays, in eager code and while functions are traced."""

import subprocess
import sys

import einops
import numpy as onp
import pytest

import weft
import weft.interop.einops
import weft.numpy as np

X = onp.arange(24, dtype="float32").reshape(2, 3, 4)

CASES = {
    "rearrange": lambda x: einops.rearrange(x, "a b c -> c (a b)"),
    "split": lambda x: einops.rearrange(x, "a b (c d) -> a d b c", d=2),
    "new axis": lambda x: einops.rearrange(x, "a b c -> a 1 b c"),
    "mean": lambda x: einops.reduce(x, "a b c -> c", "mean"),
    "max": lambda x: einops.reduce(x, "a b (c d) -> b c", "max", d=2),
    "sum": lambda x: einops.reduce(x, "a b c ->", "sum"),
    "prod": lambda x: einops.reduce(x, "a b c -> a 1 1", "prod"),
    "repeat": lambda x: einops.repeat(x, "a b c -> a (b n) c", n=2),
    "einsum": lambda x: einops.einsum(x, x, "a b c, d b c -> a d"),
    "stack": lambda x: einops.rearrange([x, x], "n a b c -> a n b c"),
    "pack": lambda x: einops.pack([x, x[:, 0]], "a * c")[0],
}


@pytest.mark.parametrize("name", CASES)
def test_as_on_numpy(name):
    f = CASES[name]
    for g in (f, weft.jit(f)):
        found = g(np.asarray(X))
        assert isinstance(found, weft.Array)
        onp.testing.assert_allclose(found, f(X), rtol=1e-6)


def test_gradients_and_mapping():
    def f(x):
        return einops.reduce(x * x, "a b c ->", "sum")

    onp.testing.assert_allclose(weft.grad(f)(X), 2 * X)
    g = weft.vmap(lambda x: einops.rearrange(x, "b c -> (c b)"))
    onp.testing.assert_array_equal(g(X), X.transpose(0, 2, 1).reshape(2, -1))


def test_other_parts_of_the_interface():
    assert isinstance(einops.asnumpy(np.asarray(X)), onp.ndarray)
    assert einops.parse_shape(np.asarray(X), "a _ c") == {"a": 2, "c": 4}
    backend = weft.interop.einops.Backend()
    assert backend.arange(1, 3).tolist() == [1, 2]
    assert isinstance(backend.from_numpy(X), weft.Array)
    assert not backend.is_appropriate_type(X)
    with pytest.raises(NotImplementedError, match="non-floating"):
        einops.reduce(np.arange(3), "a ->", "mean")


@pytest.mark.parametrize(
    "first", ["import einops, weft.numpy as np", "import weft.numpy as np, einops"]
)
def test_it_is_found_by_itself_before_the_first_operation(first):
    program = f"{first}\nprint(einops.rearrange(np.arange(4), '(a b) -> b a', a=2).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[[0, 2], [1, 3]]", done.stderr
