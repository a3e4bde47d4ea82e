"""Files name no machine and leave nothing open."""

import re
import subprocess
from pathlib import Path

import pytest
from tree import ROOT

TEXT = (".py", ".md", ".toml", ".yml", ".yaml", ".cfg", ".txt", ".json", ".sh", "")

# What must not be in a file, and what is meant. Written so that they don't find themselves.
FORBIDDEN = {
    r"(?<![\w.~])/(?:root|home|Users|work)/\w": "a path of one machine",
    r"\.\./share[d]": "a path outside the project",
    r"--(?:extra-)?index-ur[l]|--find-link[s]|pypi\.or[g]": "a package registry's host",
    r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b(?!\s*\(#\d+\))": "something open, without (#issue)",
}


def project_files() -> list[Path]:
    """What git knows or would add; without git, everything that is text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        folders = ("src", "tests", "docs", "examples", "benchmarks")
        paths = [p for f in folders for p in (ROOT / f).rglob("*")]
    return [p for p in paths if p.is_file() and p.suffix in TEXT]


def found(text: str, pattern: str) -> list[tuple[int, str]]:
    """Lines of a text, by number, in which a pattern occurs."""
    lines = enumerate(text.splitlines(), 1)
    return [(number, line.strip()[:80]) for number, line in lines if re.search(pattern, line)]


@pytest.mark.parametrize("pattern", FORBIDDEN, ids=FORBIDDEN.get)
def test_no_file_contains(pattern):
    bad = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in project_files()
        for number, line in found(path.read_text(errors="ignore"), pattern)
    ]
    assert bad == []


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("open('/ho" + "me/me/x')", "a path of one machine"),
        ("see .." + "/shared/notes.md", "a path outside the project"),
        ("# TO" + "DO: later", "something open, without (#issue)"),
    ],
)
def test_the_patterns_find_what_they_are_for(line, meaning):
    (pattern,) = [p for p, m in FORBIDDEN.items() if m == meaning]
    assert found(line, pattern)


def test_an_open_end_with_its_issue_is_allowed():
    assert not any(found("# TO" + "DO(#12): faster", pattern) for pattern in FORBIDDEN)
