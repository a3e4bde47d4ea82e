"""The examples as modules: they lie beside the package, not in it, and import each other."""

import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples"


def load(name):
    """An example, imported."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
