"""The API reference: which names it has, under which words they are found (docs/site)."""

import importlib
import inspect
import re
from types import GenericAlias, ModuleType

import public_names
import pytest
import stated_differences

import weft
from weft.core.primitive import Primitive


@pytest.fixture(scope="module")
def entries():
    return {entry.path: entry for entry in public_names.entries()}


@pytest.fixture(scope="module")
def covered(entries):
    return {path for e in entries.values() for path in (e.path, *e.aliases)}


def test_every_public_name_has_an_entry_or_is_an_alias_of_one(covered):
    for namespace in public_names.namespaces():
        module = importlib.import_module(namespace)
        for name in public_names.public_names(module):
            if not isinstance(getattr(module, name), ModuleType):
                assert f"{namespace}.{name}" in covered


def needs_example(value):
    """Whether an entry is a function, a class, a switch or a dtype of weft.

    A primitive is applied by the function of its name, which has the example; types for
    annotations, and classes that are NumPy's own, are not called.
    """
    if isinstance(value, Primitive | GenericAlias):
        return False
    module = getattr(value, "__module__", "") or ""
    return callable(value) and module.partition(".")[0] not in ("numpy", "ml_dtypes", "typing")


def test_every_function_and_class_has_an_example(entries):
    """`>>>` in a docstring is run by test_docstrings.py; `Example::` is code that needs a file."""
    documented = {
        e.path: inspect.getdoc(e.value) or "" for e in entries.values() if needs_example(e.value)
    }
    missing = [p for p, text in documented.items() if not re.search(r">>> |Example::", text)]
    assert len(documented) > 1900
    assert missing == []


def test_namespaces_in_namespaces_are_listed():
    wanted = {"weft.experimental.checkify", "weft.extend.ffi", "weft.tree", "weft.typing"}
    assert wanted <= set(public_names.namespaces())


def test_an_object_with_two_names_is_documented_under_its_own(entries):
    assert "weft.numpy.amax" not in entries
    assert "weft.numpy.amax" in entries["weft.numpy.max"].aliases
    assert entries["weft.numpy.max"].value is weft.numpy.max


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("weft.numpy.where", "jnp.where"),
        ("weft.numpy.linalg.solve", "linalg.solve"),
        ("weft.layers.Dense", "tl.Dense"),
        ("weft.layers.Dense", "trax.layers.Dense"),
        ("weft.numpy.max", "np.amax"),
        ("weft.grad", "jax.grad"),
        ("weft.random.normal", "normal"),
    ],
)
def test_a_name_is_found_as_users_type_it(entries, path, typed):
    assert typed in entries[path].search_terms


def test_topics_name_files_that_exist():
    source = public_names.DOCS.parent / "src" / "weft"
    listed = {m for topics in public_names.TOPICS.values() for ms in topics.values() for m in ms}
    missing = {m for m in listed if not source.joinpath(m).exists()}
    missing = {m for m in missing if not source.joinpath(f"{m}.py").exists()}
    assert missing == set(), "docs/site/topics.toml names the files of the reference's topics"


def test_each_name_stands_in_one_topic():
    names = public_names.public_names(weft.numpy)
    where = public_names.files()
    topics = dict(public_names.topics("weft.numpy", names, where))
    assert sorted(n for chosen in topics.values() for n in chosen) == sorted(names)
    assert "where" in topics["Indexing and selection"]


def test_lines_of_the_page_of_differences_stand_at_the_names_they_begin_with():
    stated = stated_differences.STATED
    assert any("NotImplementedError" in line for line in stated["weft.numpy.round"])
    assert any("*JAX:*" in line for line in stated["weft.numpy.log2"])
    assert any("(../export.md)" in line for line in stated["weft.export"])


def test_options_that_numpy_has_more_are_named():
    missing = stated_differences.missing_parameters("weft.numpy", "add", weft.numpy.add)
    assert missing
    assert missing[0].startswith("NumPy's parameters that weft does not have: ")


def test_what_markdown_would_read_is_escaped_outside_code():
    assert public_names.escaped("Takes x*y, a_b and [n] by `x_y`.") == (
        "Takes x\\*y, a\\_b and \\[n\\] by `x_y`."
    )


def test_code_below_example_becomes_a_block_and_starred_lines_a_list():
    docstrings = pytest.importorskip("docstrings", reason="needs griffe: pip install '.[docs]'")
    text = "First.\n\nCures:\n  * This.\n  * That.\n\nExample::\n\n    x * y\n\nSource: a paper."
    assert docstrings.normal_form(text) == (
        "First.\n\n\n**Cures:** \n\n- This.\n- That.\n\n\n**Example:**\n\n"
        "```python\nx * y\n```\n\n\n**Source:** a paper."
    )
