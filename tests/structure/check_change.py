"""Checks a change in a minute: all that differs from the branch `main`, committed or not. On `main`
itself that is all that differs from `origin/main`.

    make check-change        (or: python tests/structure/check_change.py [BRANCH])

Ruff and mypy run on the changed files. Of the tests these run: the structure tests, the tests that
mirror a changed module, the examples in its docstrings, the rows of the laws that name what was
changed, and the tests of messages if a line that raises an error was changed. They run in two
processes. `make check` runs everything.
"""

import ast
import functools
import inspect
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from tree import ROOT

TOOL = [sys.executable, "-m"]
PYTEST = [
    "-q",
    "--tb=short",
    "-p",
    "no:cacheprovider",
    "--durations=0",
    "--durations-min=3",
    "--no-header",
]

ROWS = ("tests/laws", "tests/layers/laws", "tests/errors", "tests/numpy/test_wrong_calls.py")
"""Tests that run one row of a table each: those rows are taken that name a changed function."""

COMPLETE = (
    "tests/laws/test_same_bits.py::test_every_public_function_has_a_call",
    "tests/names/test_names.py",
    "tests/test_public_names.py",
)
"""Tests of the lists of public names."""


def git(*args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


class Change:
    """What differs from a commit: `files`, the `names` of their functions, and `messages`."""

    def __init__(self, base: str):
        new = git("ls-files", "--others", "--exclude-standard").split()
        self.files = [*git("diff", "--name-only", "--diff-filter=d", base).split(), *new]
        self.python = [name for name in self.files if name.endswith((".py", ".pyi"))]
        self.source = [Path(f) for f in self.files if re.fullmatch(r"src/weft/.*\.py", f)]
        diffs = {  # git shows no difference of a file that it does not know yet
            name: re.sub(r"^", "+", (ROOT / name).read_text(), flags=re.M)
            if name in new
            else git("diff", "-U0", base, "--", name)
            for name in self.python
        }
        self.names: set[str] = set()
        self.names_beside = defaultdict[str, set[str]](set)  # of modules without a mirror
        for name in self.python:
            text = (ROOT / name).read_text()
            lines = set(range(len(text.splitlines()) + 1)) if name in new else numbers(diffs[name])
            if Path(name) in self.source:
                names = defined(text, lines)
                test = mirror(Path(name))
                if names and not test.exists():
                    self.names_beside[str(test.parent.relative_to(ROOT))] |= names
                self.names |= names
            elif name.startswith("tests/") and "case" in name:
                self.names |= called(text, lines)
        self.messages = any(
            re.search(r"^[-+].*(Error\(|fix|Raises:)", diffs[name], re.M)
            for name in map(str, self.source)
        )
        self.lists = any(path.name == "__init__.py" for path in self.source)

    @functools.cached_property
    def mirrors(self) -> list[str]:
        """The tests of the changed modules, and the changed tests."""
        changed = filter(re.compile(r"tests/(?!structure/).*test_\w+\.py").fullmatch, self.files)
        tests = {*map(mirror, self.source), *(ROOT / name for name in changed)}
        return sorted(str(test.relative_to(ROOT)) for test in tests if test.exists())

    def places(self) -> list[str]:
        """The files and folders whose tests may be concerned."""
        rows = [place for place in ROWS if self.names or (self.messages and "errors" in place)]
        examples = ["tests/docs/test_docstrings.py"] if self.source else []
        beside = [
            str(test) for folder in self.names_beside for test in ROOT.glob(f"{folder}/test_*")
        ]
        lists = COMPLETE if self.lists else ()
        return [*self.mirrors, *beside, *rows, *examples, *lists]

    def concerns(self, item: pytest.Item) -> bool:
        """True for a test to run, which is named file::function[row]."""
        file, _, row = item.nodeid.partition("[")
        path = file.split("::")[0]
        if path in self.mirrors or file.startswith(COMPLETE):
            return True
        if file.startswith("tests/docs/test_docstrings.py"):
            return row.removesuffix("]") in {module(path) for path in self.source}
        if file.startswith("tests/errors") and self.messages and "pickling" not in file:
            return True
        if names := self.names_beside.get(str(Path(path).parent)):
            return not names.isdisjoint(words(row + inspect.getsource(item.function)))
        return file.startswith(ROWS) and not self.names.isdisjoint(words(row))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.concerns(item)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def mirror(path: Path) -> Path:
    """tests/numpy/test_sets.py for src/weft/numpy/sets.py."""
    return ROOT.joinpath("tests", *path.parts[2:-1], f"test_{path.stem}.py")


def module(path: Path) -> str:
    """`weft.numpy.sets` for src/weft/numpy/sets.py."""
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")


def numbers(diff: str) -> set[int]:
    """The numbers of the lines that a diff without context adds, or after which it takes away."""
    hunks = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.M)
    return {line for start, n in hunks for line in range(int(start), int(start) + int(n or 1) + 1)}


def defined(text: str, lines: set[int]) -> set[str]:
    """The names at a module's top level whose definitions have some of these lines; the name of the
    primitive for a rule, which is `@name.jvp` over a function without a name."""
    names = set()
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        if lines.isdisjoint(range(first, node.end_lineno + 1)):
            continue
        match node:
            case ast.FunctionDef(name="_", decorator_list=[ast.Attribute(ast.Name(name)), *_]):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {t.id for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(name)):
                names.add(name)
    return names - {"__all__"}


def called(text: str, lines: set[int]) -> set[str]:
    """The functions and layers of changed rows: `Case(np.tile, …)`, `LayerCase("Dense", …)`."""
    rows = (line for n, line in enumerate(text.splitlines(), 1) if n in lines)
    return {name for row in rows for name in re.findall(r"\(\s*\"?(?:\w+\.)*([a-zA-Z]\w+)", row)}


def base_of(branch: str) -> str:
    """The last commit that HEAD shares with a branch; HEAD if there is no such branch."""
    known = subprocess.run(
        ["git", "rev-parse", "-q", "--verify", branch], cwd=ROOT, capture_output=True
    )
    return git("merge-base", branch, "HEAD").strip() if known.returncode == 0 else "HEAD"


def main(branch: str = "main") -> int:
    start = time.perf_counter()
    if branch == git("branch", "--show-current").strip():
        branch = f"origin/{branch}"
    change = Change(base_of(branch))
    print(f"{len(change.files)} files differ from {branch}:", *sorted(change.names), flush=True)
    failed = []
    for name, command in {
        "lint": ["check", "--quiet"],
        "make format": ["format", "--check"],
    }.items():
        command = [*TOOL, "ruff", *command, *change.python]
        if change.python and subprocess.run(command, cwd=ROOT).returncode:
            failed.append(name)
    commands = {"structure tests": ["pytest", *PYTEST, "tests/structure"]}
    if change.source:
        commands["types"] = ["mypy", *map(str, change.source)]
    runs = {
        name: subprocess.Popen(TOOL + command, cwd=ROOT, stdout=-1, stderr=-2, text=True)
        for name, command in commands.items()
    }
    places = [str(ROOT / place) for place in change.places()]
    if places and pytest.main([*PYTEST, *places], plugins=[change]) not in (0, 5):
        failed.append("tests of what was changed")
    for name, run in runs.items():
        output, _ = run.communicate()
        if run.returncode:
            failed.append(name)
            print(output)
    verdict = "Failed: " + "; ".join(failed) if failed else "All passed."
    print(f"{time.perf_counter() - start:.0f} s. {verdict}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
