"""Examples as modules: they lie beside the package, not in it."""

import sys

import examples_folder
import pytest


@pytest.fixture(scope="session")
def two_axis():
    """examples/two_axis_transformer.py"""
    return examples_folder.load("two_axis_transformer")


@pytest.fixture
def arguments(monkeypatch):
    """Sets the command line of a script."""
    return lambda *args: monkeypatch.setattr(sys, "argv", ["example", *args])


@pytest.fixture(autouse=True)
def one_device(loops_on_one_device):
    """Programs run as on the CPU of a user; those about devices say how many they take."""
