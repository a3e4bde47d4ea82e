"""The `__init__` files of the large namespaces are the sum of their modules' `__all__`."""

import pytest
from exports import NAMESPACES, SOURCE, written


@pytest.mark.parametrize("package", NAMESPACES)
def test_an_init_exports_the_names_of_its_modules(package):
    assert (SOURCE / package / "__init__.py").read_text() == written(package), "run: make exports"
