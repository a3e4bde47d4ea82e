"""The API reference: what its pages say of a name (docs/site/reference.py)."""

import importlib.util
import pathlib
import sys

import pytest

import weft

SITE = pathlib.Path(__file__).parents[2] / "docs" / "site"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", SITE / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference):
    return reference.pages()


def told(pages, namespace, name):
    """What the reference says of a name."""
    text = pages[f"reference/{namespace}.md"]
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("namespace", ["weft", "weft.numpy", "weft.lax", "weft.random"])
def test_every_public_name_is_told_with_more_than_its_name(pages, namespace):
    names = sys.modules[namespace].__all__ if namespace in sys.modules else weft.__all__
    short = [name for name in names if len(told(pages, namespace, name).strip()) < 20]
    assert short == []


def test_namespaces_in_namespaces_have_pages_and_are_listed(pages):
    for name in ("weft.experimental.checkify", "weft.extend.ffi", "weft.tree", "weft.typing"):
        assert f"({name}.md)" in pages["reference/index.md"]
        assert f"reference/{name}.md" in pages


def test_a_function_has_its_signature_text_arguments_example_and_source(pages):
    text = told(pages, "weft", "jit")
    assert "weft.jit(\n    fun=None," in text
    assert "Compiles a function with XLA" in text
    assert "- `device`: where to run" in text
    assert "**Example:**\n\n```text\n>>> import weft" in text
    assert "**Source:** JAX documentation, `jax.jit`." in text


def test_lines_of_the_page_of_differences_stand_at_the_names_they_begin_with(pages):
    assert "NotImplementedError" in told(pages, "weft.numpy", "round").partition("Differs")[2]
    assert "*JAX:*" in told(pages, "weft.numpy", "log2").partition("Differs")[2]
    assert "(../export.md)" in told(pages, "weft", "export")


def test_parameters_that_numpy_has_more_are_said(pages):
    assert "NumPy's parameters that aren't there: " in told(
        pages, "weft.numpy", "histogram2d"
    ) + told(pages, "weft.numpy", "add")


def test_what_markdown_would_read_is_escaped_outside_code(reference):
    assert reference.rendered("Takes x*y, a_b and [n] by `x_y`.") == (
        "Takes x\\*y, a\\_b and \\[n\\] by `x_y`."
    )


def test_a_class_lists_its_methods(pages):
    assert "- `block_until_ready()`: Waits until" in told(pages, "weft", "Array")
