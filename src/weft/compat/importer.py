"""The importer: `import jax` and `import trax` return modules with weft's names. It is the first
finder on `sys.meta_path`, so installed packages with these names are not found. A module `jax.X`
has the names of the table (`names.py`), and otherwise those of `weft.X`.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

Names = Mapping[str, Mapping[str, Any]]
"""The names of each module that differ from weft's names of the same module."""


ELSEWHERE = {
    "jax.ffi": "weft.extend.ffi",
    "jax.example_libraries": "weft.experimental",
    "jax.api": "weft",
    "jax._src.checkify": "weft.experimental.checkify",
    "jax._src": "weft",
    "trax.lr": "weft.supervised.lr_schedules",
}
"""Modules that have another name in weft."""

_ABSENT = object()


class ModuleView(ModuleType):
    """A module `jax.X`: the names of the table, and the names of `weft.X`.

    Names of weft are looked up when they are used; `vars` of the module has all of them. A table's
    entry `__shown__` is an object whose attributes the module has instead of those of
    `weft.X`.
    """

    def __init__(self, name: str, weft_module: ModuleType | None, names: Names) -> None:
        super().__init__(name, getattr(weft_module, "__doc__", None))
        self.__path__: list[str] = []
        contents = dict(names.get(name, {}))
        self._shown, self._tables = contents.pop("__shown__", weft_module), names
        self._others = contents.pop("__getattr__", None)
        _contents(self).update(contents)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names of the module, for libraries that copy them and for `from jax.X import *`."""
        contents = _contents(self)
        for name in dir(self._shown):
            if not name.startswith("_") and name not in contents:
                with contextlib.suppress(AttributeError, ImportError):
                    contents[name] = getattr(self, name)
        return contents

    def __getattr__(self, name: str) -> Any:
        value = _ABSENT if name.startswith("__") else getattr(self._shown, name, _ABSENT)
        full_name = f"{self.__name__}.{name}"
        if isinstance(value, ModuleType) or full_name in self._tables or full_name in ELSEWHERE:
            return importlib.import_module(full_name)
        if value is _ABSENT and self._others is not None:
            return self._others(name)
        if value is _ABSENT:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        if isinstance(value, FunctionType):
            _contents(self)[name] = value  # the next access finds it directly
        return value

    def __dir__(self) -> list[str]:
        shown = [name for name in dir(self._shown) if not name.startswith("__")]
        return sorted({*_contents(self), *shown})


_contents: Any = vars(ModuleType)["__dict__"].__get__
"""The names that a module has by itself."""


class Distribution(importlib.metadata.Distribution):
    """The metadata of a package that weft replaces."""

    def __init__(self, package: str, version: str) -> None:
        self.package, self.number = package, version

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {self.package}\nVersion: {self.number}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{self.package} is shown by weft.compat and has no files")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of packages that weft replaces.

    Args:
      versions: the version of each package, such as {"jax": "0.10.2"}.
      names: the table of names by module.
    """

    def __init__(self, versions: Mapping[str, str], names: Names) -> None:
        self.versions, self.names = versions, names
        self.partitionable_before = False
        """The value of `threefry_partitionable` before `install`, which `uninstall` restores."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module `jax.X` if the table or weft has it."""
        package = name.partition(".")[0]
        if package not in self.versions and name not in self.names:
            return None
        if name not in self.names and self.shown(name) is None:
            if package in self.versions:
                raise ModuleNotFoundError(
                    f"No module named {name!r}: weft.compat has none for it", name=name
                )
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def shown(self, name: str) -> ModuleType | None:
        """The module `weft.X` for `jax.X`; `None` if weft has none."""
        package, _, submodule = name.partition(".")
        if package not in self.versions:
            return None
        weft_name = f"weft.{submodule}" if submodule else "weft"
        for prefix, prefix_in_weft in ELSEWHERE.items():
            if name == prefix or name.startswith(f"{prefix}."):
                weft_name = prefix_in_weft + name.removeprefix(prefix)
                break
        if weft_name.startswith("weft.compat"):
            return None
        try:
            return importlib.import_module(weft_name)
        except ModuleNotFoundError as error:
            if error.name is None or not weft_name.startswith(error.name):
                raise
            return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The view for a spec."""
        return ModuleView(spec.name, self.shown(spec.name), self.names)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: a view already has its names."""

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterable[importlib.metadata.Distribution]:
        """The metadata of the packages, for `importlib.metadata.version("jax")`."""
        for package, version in self.versions.items():
            if context.name is None or context.name.lower() == package:
                yield Distribution(package, version)


def views() -> list[str]:
    """The names of the loaded modules that are views."""
    return [name for name, module in sys.modules.items() if isinstance(module, ModuleView)]
