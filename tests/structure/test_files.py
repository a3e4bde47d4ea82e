"""Files are short, say what they are for, and name nothing of a machine."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600

# Files above the limit, each with its reason.
LONG: dict[str, str] = {}


def sources() -> list[Path]:
    return sorted((ROOT / "src" / "weft").rglob("*.py"))


def project_files() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    names = done.stdout.split("\n") if done.returncode == 0 else []
    return [ROOT / n for n in names if n and (ROOT / n).is_file()]


def test_no_file_is_long():
    long = {
        str(p.relative_to(ROOT / "src" / "weft")): n
        for p in sources()
        if (n := len(p.read_text().splitlines())) > LIMIT
    }
    assert set(long) == set(LONG), f"too long, or no longer so: {long}, listed: {sorted(LONG)}"


def test_every_file_says_what_it_is_for():
    silent = [str(p) for p in sources() if not p.read_text().startswith('"""')]
    assert not silent, silent


def test_no_file_names_a_machine():
    pattern = re.compile(r"(?<![\w.])/(?:work|root|home)/\w|(?<![\w.])/opt/envs|\.\./shared")
    bad = []
    for path in project_files():
        if path.suffix in (".py", ".md", ".toml", ".yml", "") and path.name != "test_files.py":
            text = path.read_text(errors="ignore")
            bad += [f"{path.relative_to(ROOT)}: {m.group()}" for m in pattern.finditer(text)]
    assert not bad, bad


def test_nothing_is_left_to_do_without_an_issue():
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!.*#\d)")
    bad = [str(p) for p in sources() if pattern.search(p.read_text())]
    assert not bad, bad
