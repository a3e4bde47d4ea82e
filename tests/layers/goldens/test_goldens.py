"""Layers compute what Trax's do: outputs, gradients, states, and what predict mode keeps."""

import importlib

import pytest
from golden import CASES, HERE, differences

for path in sorted(HERE.glob("golden_cases_*.py")):
    importlib.import_module(path.stem)


@pytest.mark.filterwarnings("ignore:BatchNorm in mode 'eval'")  # it is evaluated after two batches
@pytest.mark.parametrize(("group", "name"), CASES, ids=lambda part: part)
def test_results_are_those_of_trax(group, name):
    assert differences(group, name) == []


def test_a_difference_is_found():
    assert differences("core", "Dense", tolerance=1e-12)
