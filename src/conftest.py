"""The names that examples in docstrings may use without importing them."""

import importlib
from collections.abc import Iterator

import pytest

import weft

NAMES = {
    "np": "weft.numpy",
    "lax": "weft.lax",
    "random": "weft.random",
    "tree_util": "weft.tree_util",
}


@pytest.fixture(autouse=True)
def names_for_examples(doctest_namespace: dict[str, object]) -> Iterator[None]:
    doctest_namespace["weft"] = weft
    for name in ("jit", "grad", "value_and_grad", "vmap", "jvp", "vjp", "make_jaxpr"):
        doctest_namespace[name] = getattr(weft, name)
    for name, module in NAMES.items():
        doctest_namespace[name] = importlib.import_module(module)
    yield
    doctest_namespace.clear()
