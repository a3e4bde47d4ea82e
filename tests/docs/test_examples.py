"""Runs every block of Python in README.md, CONTRIBUTING.md and docs/.

Blocks of one page share their names, top to bottom. A block with `>>>` is an interactive session
whose printed values must come out, floats to five digits; any other must run without an error. What
is fenced as another language (`text`, `sh`) is not run, nor is a block fenced as `python no-run`.
"""

import doctest
import math
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: pathlib.Path) -> list[tuple[int, str]]:
    """The page's blocks of Python, each with the line that it begins at."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start(2)), m.group(2)) for m in BLOCK.finditer(text)]


class CloseNumbers(doctest.OutputChecker):
    """Takes floats for equal that differ in the last digits, as those of NumPy and XLA do."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        expected, found = FLOAT.findall(want), FLOAT.findall(got)
        if len(expected) == len(found):
            pairs = zip(expected, found, strict=True)
            close = (e if math.isclose(float(e), float(f), rel_tol=1e-5) else f for e, f in pairs)
            got = FLOAT.sub(lambda _: next(close), got)
        want, got = (re.sub(r"(?<=\[) +| +(?=\])", "", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def run_session(code: str, names: dict[str, object], page: pathlib.Path, line: int) -> str:
    """Runs a block with `>>>`; gives what doctest has to say against it."""
    test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
    test.globs = names  # get_doctest made a copy: later blocks need what this one defines
    said: list[str] = []
    runner = doctest.DocTestRunner(CloseNumbers(), optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
    return "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page):
        if ">>> " in code:
            said = run_session(code, names, page, line)
            assert not said, said
        else:
            # Blank lines before it, so that a traceback names the page's own lines.
            exec(compile("\n" * line + code, str(page), "exec"), names)


def test_a_wrong_value_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\n>>> x = 1 + 1\n```\n\n```python\n>>> x\n3\n```\n")
    names: dict[str, object] = {}
    said = [run_session(code, names, page, line) for line, code in blocks(page)]
    assert said[0] == ""
    assert "page.md" in said[1]
    assert "line 8" in said[1]


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("[ 1.8160859 -0.4]", "[ 1.8160866 -0.4]", True),
        ("[ 0.84147096]", "[0.841471  ]", True),
        ("1.25", "1.26", False),
        ("12.0", "12", False),
        ("(3, 2.0)", "(4, 2.0)", False),
    ],
)
def test_floats_are_compared_to_five_digits(want, got, same):
    assert CloseNumbers().check_output(want + "\n", got + "\n", OPTIONS) == same


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    inside = [t for t in targets if "://" not in t and not t.startswith("mailto:")]
    assert [t for t in inside if not (page.parent / t).exists()] == []
