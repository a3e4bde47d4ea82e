"""Programs are never changed: nothing assigns to a part of a jaxpr or of an equation, and no
traced function hands a result out by `nonlocal`.

What is derived from a program is kept on it, so a change would leave what is kept wrong. A `Jaxpr`
refuses assignments itself (`tests/core/test_jaxpr.py`); equations, of which a trace makes
thousands, are held by this test.
"""

import ast
import re

import pytest
from tree import SOURCE, modules, parsed, statements

PARTS = {"constvars", "consts", "invars", "equations", "outvars", "inputs", "params", "primitive"}
CANDIDATE = re.compile(rf"(\.({'|'.join(PARTS)})\b.*=|\bdel\b)")
PASSES = ("core", "compiler", "interpreters", "programs", "higher_order", "transforms")


def targets(node):
    """What a statement assigns to or deletes, one by one."""
    match node:
        case ast.Assign(targets=found) | ast.Delete(targets=found):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case _:
            return
    for target in found:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def changes(tree):
    """The lines that change a part of an object other than `self`."""
    for node in statements(tree):
        for target in targets(node):
            match target:
                case ast.Attribute(value=owner, attr=attr) if attr in PARTS:
                    if not (isinstance(owner, ast.Name) and owner.id == "self"):
                        yield node.lineno


def test_nothing_assigns_to_a_part_of_a_program():
    found = [
        f"{path.relative_to(SOURCE)}:{line}: make another program, with replace"
        for path in modules()
        if CANDIDATE.search(path.read_text())  # most files need no parsing
        for line in changes(parsed(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "jaxpr.outvars = []",
        "whole.invars, n = invars, 2",
        "e.inputs += [x]",
        "del self.jaxpr.consts",
        "self.jaxpr.equations: list = []",
    ],
)
def test_a_change_is_seen(text):
    assert list(changes(ast.parse(text))) == [1]


def test_an_objects_own_attribute_is_none():
    assert list(changes(ast.parse("self.inputs = inputs\nequations = jaxpr.equations"))) == []


def test_nothing_is_handed_out_by_nonlocal():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: return it: stage_with_aux, batch_with_aux"
        for folder in PASSES
        for path in sorted((SOURCE / folder).rglob("*.py"))
        for node in statements(parsed(path))
        if isinstance(node, ast.Nonlocal)
    ]
    assert found == []
