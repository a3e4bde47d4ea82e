"""A plug-in of pytest: it takes one in ONE_IN tests, and writes the outcome of each into OUTCOMES.

The sample has the tests whose names have a checksum that ONE_IN divides.
"""

import json
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

ONE_IN = int(os.environ["ONE_IN"])

if os.environ["X64"]:
    jax.config.update("jax_enable_x64", True)


def name_of(test: str) -> str:
    """A test's id, without addresses, which differ from run to run."""
    return re.sub("0x[0-9a-f]+", "0x", test)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of the sample."""
    checksums = [zlib.crc32(name_of(item.nodeid).encode()) for item in items]
    others = [item for item, n in zip(items, checksums, strict=True) if n % ONE_IN]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item, n in zip(items, checksums, strict=True) if not n % ONE_IN]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes a line: the name of the test, and the outcome."""
    if report.when != "call" and report.outcome == "passed":
        return  # it was set up, or torn down
    with Path(os.environ["OUTCOMES"]).open("a") as file:
        file.write(json.dumps([name_of(report.nodeid), report.outcome]) + "\n")


@pytest.fixture
def getkey() -> Callable[[], Any]:
    """A function that gives another key at each call: a fixture of diffrax's tests."""
    seeds = np.random.default_rng(0)
    return lambda: jax.random.PRNGKey(seeds.integers(2**31))
