"""`--era 2024` or `--era today`: whose libraries are on the path. jax is weft there."""

import alias
import pytest
import stand_ins

import weft

JAX = {"2024": "0.4.30", "today": "0.10.2"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--era", choices=sorted(JAX), required=True)


def pytest_configure(config: pytest.Config) -> None:
    era = config.getoption("--era")
    alias.install(stand_ins.names(JAX[era]))
    weft.config.update("threefry_partitionable", era == "today")  # as jax has it since 0.5
