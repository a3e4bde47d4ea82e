"""The page that says where public names are defined is up to date, and finds the definitions."""

from exports import SOURCE
from name_table import PAGE, definition, file_of, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: make exports"


def test_a_definition_is_found_through_imports():
    package = SOURCE / "numpy" / "linalg"
    assert definition(file_of(package, "products"), "matmul") == SOURCE / "numpy" / "products.py"
    assert definition(package / "__init__.py", "solve") == package / "solvers.py"
    assert file_of(package, ".fft") == SOURCE / "numpy" / "fft" / "__init__.py"
