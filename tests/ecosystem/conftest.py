"""`--era 2024` or `--era today`: whose libraries are on the path. jax is weft there."""

import pytest

import weft.compat


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--era", choices=sorted(weft.compat.VERSIONS), required=True)


def pytest_configure(config: pytest.Config) -> None:
    weft.compat.install(config.getoption("--era"))
