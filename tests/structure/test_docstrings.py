"""A docstring says what a thing is or returns: it doesn't open as a question."""

import ast
import re

import pytest
from tree import SOURCE, modules

QUESTION = re.compile(r"(What|Whether|Where|Which|How|When|Who)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def questions(text: str) -> list[str]:
    """The first lines of docstrings that open as questions: of modules, classes and functions."""
    docstrings = (
        ast.get_docstring(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, DOCUMENTED)
    )
    return [d.splitlines()[0] for d in docstrings if d and QUESTION.match(d)]


def test_no_docstring_opens_as_a_question():
    asked = {p.relative_to(SOURCE).as_posix(): questions(p.read_text()) for p in modules()}
    assert {path: found for path, found in asked.items() if found} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"""What a module is for."""',
        'class A:\n    """How many there are."""',
        'class A:\n    @property\n    def n(self):\n        """Whether it is."""',
        'def f():\n    """Where they begin.\n\n    More.\n    """',
        'async def f():\n    """Who waits."""',
    ],
)
def test_the_reader_finds_questions_everywhere(text):
    assert len(questions(text)) == 1


def test_statements_are_none():
    assert (
        questions('def f():\n    """However it is, whatever: true if it is what was asked."""')
        == []
    )
