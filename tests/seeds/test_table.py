"""docs/seeds.md: every test here is in one of its tables, and every test that it names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path("tests/seeds")


def named_in(path: Path) -> set[str]:
    """`file::name` of each test in a file."""
    body = ast.parse((ROOT / path).read_text()).body
    names = [f.name for f in body if isinstance(f, ast.FunctionDef)]
    return {f"{path}::{name}" for name in names if name.startswith("test_")}


def test_the_page_and_the_tests_agree():
    named = re.findall(r"`(tests/\S+::\w+)`", (ROOT / "docs/seeds.md").read_text())
    files = {Path(name.partition("::")[0]) for name in named}
    here = {FOLDER / path.name for path in (ROOT / FOLDER).glob("test_*.py")} - {
        FOLDER / Path(__file__).name
    }
    there = set().union(*map(named_in, files | here))
    assert len(named) == len(set(named))
    assert set(named) - there == set()
    assert set().union(*map(named_in, here)) - set(named) == set()
