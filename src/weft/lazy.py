"""Namespaces that load a module when one of its names is first asked for.

weft has hundreds of functions in dozens of modules; a program uses few. So `import weft` loads the
core and NumPy's operators, and `weft.numpy.fft` or `weft.random.normal` load themselves: a third of
the import time (benchmarks/cold_start.py). Once loaded, a name is an ordinary attribute.

Knows names only: editors and type checkers read the imports that stand beside, for them alone.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def exports(
    package: str,
    where: Mapping[str, Sequence[str]],
    modules: Sequence[str] = (),
    into: str | None = None,
    together: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package's `__init__` (or another module of it).

    Args:
      package: its name.
      where: the names that each of its modules adds to the package.
      modules: modules that are names of the package themselves.
      into: the module that gets the names, if it isn't the package.
      together: modules that are loaded with the first name: what nearly every program uses, so that
        the time it takes isn't scattered over first calls.
    """
    owner = into or package
    home = {name: module for module, names in where.items() for name in names}

    waiting = [*together]

    def find(name: str) -> Any:
        if name in home:
            while waiting:
                importlib.import_module(f"{package}.{waiting.pop()}")
            value = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[owner], name, value)
            return value
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {owner!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[owner]), *home, *modules})

    return find, names


class Deferred:
    """Stands for a module until one of its names is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)
