"""The `__init__` files of namespaces are what `make exports` makes of their modules' `__all__`."""

import ast

import pytest
from exports import SOURCE, all_namespaces, call_of, written


@pytest.mark.parametrize("package", all_namespaces())
def test_the_init_of_a_namespace_is_the_sum_of_its_modules(package):
    for name, text in written(package).items():
        assert (SOURCE / package / name).read_text() == text, "run: make exports"


def test_every_stub_belongs_to_a_namespace():
    stubs = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.pyi")}
    assert stubs == {package or "." for package in all_namespaces()}


def test_every_init_that_imports_is_a_namespace():
    """One form: a docstring and a table. The others are empty, or say what the folder is for."""
    for path in SOURCE.rglob("__init__.py"):
        tree = ast.parse(path.read_text())
        if call_of(tree) is None:
            assert len(tree.body) == bool(ast.get_docstring(tree)), path
