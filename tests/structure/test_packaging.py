"""What pyproject.toml says of the package: its dependencies are what it imports, and its source
archive is whole."""

import re
import sys
import tomllib

from test_hygiene import project_files
from tree import ROOT, imports, modules

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OPTIONAL = {"tensorstore", "einops", "tensorflow", "pytest"}
"""Imported by modules that are loaded when the user has chosen them, and have an extra."""

HASHES = {"_sha2", "_sha256"}
"""Of the standard library, each from or to a version of Python."""

ALWAYS = {"pyproject.toml", "README.md", "LICENSE"}
"""What the build puts into every source archive."""


def packages(requirements):
    return {re.split(r"[^\w.-]", r)[0].replace("-", "_").lower() for r in requirements}


def test_what_is_imported_is_a_dependency():
    imported = {i.target.split(".")[0] for path in modules() for i in imports(path)}
    outside = imported - sys.stdlib_module_names - HASHES - {"weft"}
    assert outside - OPTIONAL == packages(PROJECT["project"]["dependencies"])


def test_the_source_archive_has_all_that_the_project_has():
    given = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    tops = {path.relative_to(ROOT).parts[0] for path in project_files()}
    shown = {name for name in tops if not name.startswith(".")}
    assert shown - ALWAYS - {name.removeprefix("/") for name in given} == set()
