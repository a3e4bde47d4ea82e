"""A docstring says what a thing is or returns: it doesn't open as a question."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tree import SOURCE, modules, parsed, statements

QUESTION = re.compile(r"(What|Whether|Where|Which|How|When|Who)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of modules, classes and functions, and the strings below assignments."""
    for node in statements(tree):
        if isinstance(node, DOCUMENTED):
            yield ast.get_docstring(node) or ""
        body = getattr(node, "body", ())
        for before, after in pairwise(body if isinstance(body, list) else ()):
            match before, after:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str(about))):
                    yield about


def questions(tree: ast.Module) -> list[str]:
    """The first lines of docstrings that open as questions."""
    return [d.splitlines()[0] for d in docstrings(tree) if QUESTION.match(d)]


def test_no_docstring_opens_as_a_question():
    asked = {p.relative_to(SOURCE).as_posix(): questions(parsed(p)) for p in modules()}
    assert {path: found for path, found in asked.items() if found} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"""What a module is for."""',
        'class A:\n    """How many there are."""',
        'class A:\n    @property\n    def n(self):\n        """Whether it is."""',
        'def f():\n    """Where they begin.\n\n    More.\n    """',
        'async def f():\n    """Who waits."""',
        'N = 3\n"""How many there are."""',
        'class A:\n    n: int\n    """What it holds."""',
    ],
)
def test_the_reader_finds_questions_everywhere(text):
    assert len(questions(ast.parse(text))) == 1


def test_statements_are_none():
    text = 'def f():\n    """However it is, whatever: true if it is what was asked."""'
    assert questions(ast.parse(text)) == []
