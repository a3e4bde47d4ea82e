"""No file is long: what a file is for fits in one sitting."""

from pathlib import Path

import pytest
from tree import ROOT, modules

LIMIT = 600

# Files above the limit: how long they may get, and why they are not cut.
LONG: dict[str, tuple[int, str]] = {}


def written() -> list[Path]:
    """Python files but those of tests, whose tables may be long, and lists of exported names."""
    return [
        *(path for path in modules() if path.name != "__init__.py"),
        *sorted((ROOT / "examples").glob("*.py")),
        *sorted((ROOT / "benchmarks").glob("*.py")),
    ]


def too_long(path: Path, limits: dict[str, tuple[int, str]]) -> bool:
    limit, _ = limits.get(path.relative_to(ROOT).as_posix(), (LIMIT, ""))
    return len(path.read_text().splitlines()) > limit


def test_no_file_is_long():
    assert [str(p.relative_to(ROOT)) for p in written() if too_long(p, LONG)] == []


def test_no_exception_is_out_of_date():
    assert [name for name in LONG if not too_long(ROOT / name, {})] == []


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_module_says_what_it_is_for(path):
    text = path.read_text()
    assert not text or text.startswith('"""')
