"""`optional` loads a package, or says how to install it."""

import sys

import pytest

from weft.option_checks import optional


def test_a_package_that_is_there():
    assert optional("math", "It", "math") is sys.modules["math"]
    assert optional("xml.dom", "It", "xml") is sys.modules["xml.dom"]


def test_a_package_that_is_missing():
    with pytest.raises(ImportError) as raised:
        optional("no_such_package", "Windows: 'x'", "such-a-package")
    text = "Windows: 'x' needs the package no_such_package\n  fix: pip install such-a-package"
    assert str(raised.value) == text
    assert "test_option_checks.py" in raised.value.__notes__[0]


def test_a_package_that_lacks_one_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "lacking.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        optional("lacking", "It", "lacking")
