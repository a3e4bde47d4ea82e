"""`import jax` leads to weft, in this process: for libraries that know jax's names only.

Each module `jax.…` is a view of `weft.…`, with stand-ins in front for what isn't public in jax and
what libraries import all the same (`stand_ins.py`). weft itself is not touched.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any


class View(ModuleType):
    """A module `jax.…`: a stand-in's name, or else weft's."""

    def __init__(
        self, name: str, real: ModuleType | None, extra: Mapping[str, Mapping[str, Any]]
    ) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._real, self._extra = real, extra
        vars(self).update(extra.get(name, {}))

    def __getattr__(self, name: str) -> Any:
        value = None if name.startswith("__") else getattr(self._real, name, None)
        below = f"{self.__name__}.{name}"
        if isinstance(value, ModuleType) or below in self._extra:
            return importlib.import_module(below)
        if value is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self._real)})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax` and its modules: those of weft, and those that only stand in."""

    def __init__(self, extra: Mapping[str, Mapping[str, Any]]) -> None:
        self.extra = extra

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.extra and self.real(name) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def real(self, name: str) -> ModuleType | None:
        """weft's module for one of jax, if there is one."""
        if name.partition(".")[0] != "jax":
            return None
        own = "weft" + name.removeprefix("jax")
        try:
            return importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name is None or not own.startswith(error.name):
                raise
            return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return View(spec.name, self.real(spec.name), self.extra)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: a view has its names from weft."""


def install(extra: Mapping[str, Mapping[str, Any]]) -> None:
    """From now on `import jax` gives weft."""
    if "jax" in sys.modules or importlib.util.find_spec("jax") is not None:
        raise RuntimeError("jax can be imported here: this environment isn't the tests' own")
    sys.meta_path.insert(0, Finder(extra))
