"""Solutions and inverses by the factors of `lu`, compiled, against NumPy's."""

import numpy as onp
import pytest

from weft import config, jit
from weft.primitives.linalg.lu import lu
from weft.primitives.linalg.lu_solve import factored_inverse, factored_solve


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_compiled_solutions_and_inverses(batch, dtype):
    rng = onp.random.default_rng(0)
    parts = rng.standard_normal((4, *batch, 5, 5))
    is_complex = onp.dtype(dtype).kind == "c"
    a, b = (x + 1j * y if is_complex else x for x, y in zip(parts[:2], parts[2:], strict=True))
    b = b[..., :2]

    def results(a, b):
        factors, _, order = lu(a)
        solutions = [factored_solve(factors, order, a, b, transposed=t) for t in (False, True)]
        return [*solutions, factored_inverse(factors, order, a)]

    with config.temporarily(enable_x64=True):
        found = jit(results)(a.astype(dtype), b.astype(dtype))
    turned = a.swapaxes(-1, -2)
    wanted = [onp.linalg.solve(a, b), onp.linalg.solve(turned, b), onp.linalg.inv(a)]
    for x, y in zip(found, wanted, strict=True):
        assert x.dtype == dtype
        near = 1000 * onp.finfo(dtype).eps
        onp.testing.assert_allclose(x, y, rtol=near, atol=near)
