"""Runs every block of Python in README.md, CONTRIBUTING.md and docs/.

Blocks of one page share their names, top to bottom. A block with `>>>` is an interactive session
whose printed values must come out; any other must run without an error. What is fenced as another
language (`text`, `sh`) is not run, nor is a block fenced as `python no-run`.
"""

import pathlib
import re

import pytest
from sessions import run_session

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def blocks(page: pathlib.Path) -> list[tuple[int, str]]:
    """The page's blocks of Python, each with the number of lines before it."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]


def own(page: pathlib.Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=own)
def test_examples_of_a_page_run_and_print_what_it_says(
    page, tmp_path, monkeypatch, loops_on_one_device
):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page):
        if ">>> " in code:
            said = run_session(code, names, own(page), line)
            assert not said, said
        else:
            # Blank lines before it, so that a traceback names the page's own lines.
            exec(compile("\n" * line + code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=own)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    inside = [t for t in targets if "://" not in t and not t.startswith("mailto:")]
    made_later = {"results.md", "reference/index.md"}  # by `make bench`, `make docs`
    assert [t for t in inside if t not in made_later and not (page.parent / t).exists()] == []


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of a page: its headings, as the site writes them, and the HTML ids."""
    text = FENCED.sub("", page.read_text())
    out, counts = set(re.findall(r'id="([^"]+)"', text)), dict[str, int]()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]*>", r"\1", heading)
        name = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())
        out.add(f"{name}_{counts[name]}" if name in counts else name)
        counts[name] = counts.get(name, 0) + 1
    return out


@pytest.mark.parametrize("page", PAGES, ids=own)
def test_links_to_a_heading_name_one_of_the_page(page):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", FENCED.sub("", page.read_text()))
    targets = [(page.parent / file if file else page, name) for file, name in links]
    pages = [(target, name) for target, name in targets if target.suffix == ".md"]
    assert [(own(p.resolve()), name) for p, name in pages if name not in anchors(p)] == []


def test_a_wrong_value_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\n>>> x = 1 + 1\n```\n\n```python\n>>> x\n3\n```\n")
    names: dict[str, object] = {}
    said = [run_session(code, names, "page.md", line) for line, code in blocks(page)]
    assert said[0] == ""
    assert 'File "page.md", line 8' in said[1]
