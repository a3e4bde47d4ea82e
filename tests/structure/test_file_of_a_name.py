"""Each public name is defined in a file whose docstring has it: a search for the name finds it."""

import ast
import re

import pytest
from exports import public_names
from tree import SOURCE

FOLDERS = sorted({path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")})


def definitions(tree: ast.Module) -> list[set[str]]:
    """The functions and classes that a module makes: for each its name, or names."""
    made = []
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                made.append({name})
            case ast.Assign(targets=targets, value=ast.Call()):
                made.append({t.id for t in targets if isinstance(t, ast.Name)})
    return made


def unnamed(text: str, public: list[str]) -> list[str]:
    """The public functions and classes of a module that its docstring does not have."""
    tree = ast.parse(text)
    words = set(re.findall(r"\w+", ast.get_docstring(tree) or ""))
    found = (sorted(names & {*public}) for names in definitions(tree) if not names & words)
    return sorted({names[0] for names in found if names})


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_docstring_of_a_file_has_the_public_names_that_it_defines(folder):
    files = [path for path in (SOURCE / folder).glob("*.py") if path.name != "__init__.py"]
    missing = {path.name: unnamed(path.read_text(), public_names(path)) for path in files}
    assert {name: names for name, names in missing.items() if names} == {}


def test_a_name_that_the_docstring_does_not_have_is_found():
    text = '"""Sums: add, asin."""\ndef add(): ...\ndef sub(): ...\nasin = arcsin = make()\n'
    assert unnamed(text, ["add", "sub", "asin", "arcsin"]) == ["sub"]
    assert unnamed(text, ["add", "asin"]) == []
