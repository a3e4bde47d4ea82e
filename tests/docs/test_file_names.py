"""Pages and docstrings name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "|".join(sorted(p.name for p in (ROOT / "src" / "weft").iterdir() if p.is_dir()))
IN_PAGES = re.compile(r"[`(]([\w./]+\.py)\b")
IN_SOURCE = re.compile(rf"[`(]((?:{FOLDERS}|tests|benchmarks)/[\w/]+\.py)\b")


def files() -> list[Path]:
    """The files of the project, as paths from its root."""
    places = [
        p
        for name in ("src", "tests", "benchmarks", "examples", "docs")
        for p in (ROOT / name).rglob("*.*")
    ]
    return [p.relative_to(ROOT) for p in [*places, *ROOT.glob("*.md")]]


def missing(text: str, pattern: re.Pattern[str], there: set[str]) -> set[str]:
    """The files that a text names and that are not there."""
    return {
        name
        for name in pattern.findall(text)
        if not any(f"/{p}".endswith(f"/{name}") for p in there)
    }


@pytest.mark.parametrize(("suffix", "pattern"), [(".md", IN_PAGES), (".py", IN_SOURCE)])
def test_named_files_exist(suffix, pattern):
    there = {p.as_posix() for p in files() if p.suffix == ".py"}
    read = [p for p in files() if p.suffix == suffix and p.name != "CHANGELOG.md"]
    assert len(read) > 20
    bad = {p.as_posix(): missing((ROOT / p).read_text(), pattern, there) for p in read}
    assert {name: names for name, names in bad.items() if names} == {}


def test_a_missing_file_is_noticed():
    there, other = {"src/weft/core/trace.py"}, "core/" + "other.py"
    assert missing(f"see `core/trace.py` and `{other}`", IN_SOURCE, there) == {other}
    assert missing("`trace.py`, `race.py`", IN_PAGES, there) == {"race.py"}
