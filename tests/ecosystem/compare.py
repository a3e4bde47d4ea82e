"""Programs of libraries that know jax only, with weft in its place: values as jax gave them.

`make test-ecosystem` runs them with the libraries of 2024 and with those of today, in an
environment that has no jax. `record.py` wrote down what jax gave.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from programs import LIBRARIES, gather
from recorded import ATOL, RTOL, digest, read

HERE = Path(__file__).parent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        metafunc.parametrize("program", sorted(gather()))


@pytest.fixture(scope="session")
def recorded(pytestconfig: pytest.Config) -> dict[str, list[Any]]:
    return read(HERE / f"recorded_{pytestconfig.getoption('--era')}.npz")


def test_values_are_those_of_jax(
    program: str,
    recorded: dict[str, list[Any]],
) -> None:
    found = [digest(leaf) for leaf in jax.tree_util.tree_leaves(gather()[program]())]
    expected = recorded[program]
    assert [d.type for d in found] == [d.type for d in expected]
    for n, (a, b) in enumerate(zip(found, expected, strict=True)):
        about = f"array {n}, {a.type}"
        np.testing.assert_allclose(a.elements, b.elements, RTOL, ATOL, err_msg=about)
        np.testing.assert_allclose(a.sums, b.sums, RTOL, ATOL * a.size, err_msg=about)


def test_all_that_was_recorded_is_compared(recorded: dict[str, list[Any]]) -> None:
    assert set(recorded) == set(gather())
    assert min(len(arrays) for arrays in recorded.values()) > 0


def test_the_libraries_are_those_of_the_era(pytestconfig: pytest.Config) -> None:
    era = pytestconfig.getoption("--era")
    for of_library in LIBRARIES:
        name = of_library.__name__.rpartition("_")[2]
        assert era in Path(getattr(of_library, NAMES.get(name, name)).__file__).parts


NAMES = {"equinox": "eqx", "haiku": "hk"}


@pytest.mark.parametrize("place", [0, 1, 500, 999])
def test_a_wrong_element_is_noticed(place: int) -> None:
    x = np.ones(1000, "float32")
    y = x.copy()
    y[place] = 2
    a, b = digest(x), digest(y)
    assert abs(a.sums - b.sums).max() > ATOL * a.size or (a.elements != b.elements).any()
