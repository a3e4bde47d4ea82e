"""Examples as modules: they lie beside the package, not in it."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    """An example, imported."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def two_axis():
    """examples/two_axis_transformer.py"""
    return load("two_axis_transformer")


@pytest.fixture
def arguments(monkeypatch):
    """Sets the command line of a script."""
    return lambda *args: monkeypatch.setattr(sys, "argv", ["example", *args])
