"""Loops and locks in which signal handlers run.

On Python 3.13 the jump back of `while condition:` lies outside of the `try` or `with` around it, so
that what a handler raises there passes it by. A handler or a finalizer that computes with weft may
need a lock that its thread has: the lock must be reentrant.
"""

import ast

from tree import SOURCE, modules, parsed, statements_in

# No signal comes there. The lock of the second is held until the process ends.
ONLY_THREADS = {"distributed/coordinator.py", "distributed/watch.py"}
IN_THREADS = {"experimental/prefetch.py", "distributed/connection.py"}  # no signal comes there


def loops(node, guarded=False):
    """The lines of `while` loops with a condition inside a `try` or `with` of their function."""
    for child in statements_in(node):
        if isinstance(child, ast.While) and guarded and not isinstance(child.test, ast.Constant):
            yield child.lineno
        if isinstance(child, ast.FunctionDef):
            yield from loops(child)
        else:
            yield from loops(child, guarded or isinstance(child, (ast.Try, ast.With)))


def test_no_while_loop_in_a_block_that_must_end():
    found = [
        f"{name}:{line}: move the loop into a function that the block calls"
        for path in modules()
        if (name := str(path.relative_to(SOURCE))) not in IN_THREADS
        for line in loops(parsed(path))
    ]
    assert found == []


def test_such_a_loop_is_seen():
    text = """
def f():
    with lock:
        if busy:
            while waiting:
                step()
"""
    assert list(loops(ast.parse(text))) == [5]
    assert list(loops(ast.parse("try:\n    while True:\n        pass\nfinally:\n    pass"))) == []


def plain_locks(tree):
    """The lines that make locks which a thread may not take twice."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "threading.Lock"
    ]


def test_locks_are_reentrant():
    found = [
        f"{name}:{line}: use threading.RLock"
        for path in modules()
        if (name := str(path.relative_to(SOURCE))) not in ONLY_THREADS
        for line in plain_locks(parsed(path))
    ]
    assert found == []
    assert plain_locks(ast.parse("a = threading.Lock()\nb = threading.RLock()")) == [1]
