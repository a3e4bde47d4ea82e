"""The examples in the docstrings of `weft.numpy`: `np` is `weft.numpy` in them."""

import doctest

import pytest

import weft
import weft.numpy as np
from weft import lax, random

RUNNER = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
NAMES = {"np": np, "weft": weft, "lax": lax, "random": random}
for alone in ("bfloat16", "complex64", "finfo", "iinfo", "int4", "issubdtype", "promote_types", "result_type"):
    NAMES[alone] = getattr(np, alone)
FUNCTIONS = sorted(n for n in np.__all__ if getattr(getattr(np, n), "__doc__", None))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example_of_docstring(name: str) -> None:
    function = getattr(np, name)
    if isinstance(function, type) or not callable(function):
        pytest.skip("not a function of ours")
    if not (getattr(function, "__module__", "") or "").startswith("weft"):
        pytest.skip("NumPy's own")
    test = doctest.DocTestParser().get_doctest(function.__doc__, dict(NAMES), name, None, 0)
    output: list[str] = []
    RUNNER.run(test, out=output.append)
    assert not output, "".join(output)
