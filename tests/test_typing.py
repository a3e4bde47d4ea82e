"""Users' programs under mypy: what is known of arrays and functions, and which calls are errors.

The programs are in `tests/typing/`: `assert_type` says what a type checker is to find, and a
comment `# error: …` which lines it is to refuse. They hold for pyright too, but for
`partial_classes.py`.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "typing"


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """The lines that mypy refuses, with what it says, by program and number."""
    # one run for all: most of it goes into reading weft
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--no-error-summary", "--config-file=", *map(str, sorted(PROGRAMS.glob("*.py")))]
    folder = tmp_path_factory.mktemp("types")
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if match := re.match(r".*?(\w+\.py):(\d+): error: (.*)", line):
            found[match[1], int(match[2])] = match[3]
        else:
            assert ": note: " in line, line
    return found


@pytest.mark.parametrize("program", sorted(p.name for p in PROGRAMS.glob("*.py")))
def test_a_type_checker_knows_what_users_write(program, refused):
    lines = (PROGRAMS / program).read_text().splitlines()
    expected = {n for n, line in enumerate(lines, 1) if "# error:" in line}
    found = {n: message for (name, n), message in refused.items() if name == program}
    assert {n: m for n, m in found.items() if n not in expected} == {}
    assert expected - found.keys() == set()
