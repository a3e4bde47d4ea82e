"""Namespaces that load a module when one of its names is first used.

weft has hundreds of functions in dozens of modules; a program uses few. So `import weft` loads the
core and NumPy's operators, and `weft.numpy.fft` or `weft.random.normal` load themselves: a third of
the import time (benchmarks/cold_start.py). Once loaded, a name is an ordinary attribute.

The `__init__.py` of a namespace is a docstring and one call of `exports`. Editors and type checkers
read the `__init__.pyi` beside it. `make exports` writes both.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def exports(
    package: str,
    names: Mapping[str, str],
    modules: str = "",
    together: str = "",
    into: str | None = None,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` for a package's `__init__` (or another module of it).

    Args:
      package: its name.
      names: the names that each module adds to the package, with spaces between them; `add:add_p`
        is the module's `add` under the name `add_p`. A module is written as after `from .`: `"at"`
        is in the package, `".core.aval"` is beside it.
      modules: modules of the package that are names of it themselves.
      together: modules that are loaded with the first name, since nearly every program uses them.
      into: the module that gets the names, if it is not the package.
    """
    owner = into or package
    home = {}
    for module, exported in names.items():
        for item in exported.split():
            name, _, renamed = item.partition(":")
            home[renamed or name] = module, name
    loadable = {*modules.split()} - home.keys()
    public = sorted({*home, *loadable})

    def find(name: str) -> Any:
        if name in home:
            for first in together.split():
                importlib.import_module(f".{first}", package)
            module, own_name = home[name]
            value = getattr(importlib.import_module(f".{module}", package), own_name)
            setattr(sys.modules[owner], name, value)
            return value
        if name in loadable:
            return importlib.import_module(f".{name}", package)
        raise absent(owner, name)

    def listed() -> list[str]:
        return sorted({*(n for n in vars(sys.modules[owner]) if n.startswith("__")), *public})

    if not into and any(home.get(module, ("",))[0] == module for module in names):
        sys.modules[package].__class__ = Namespace
    return public, find, listed


class Namespace(ModuleType):
    """A package in which a module and its function share a name: `random.gamma` is the function.

    Python sets the attribute of a package when it has loaded one of its modules, which would hide
    the function after the module; here the attribute becomes the function at once.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if is_own and name in self.__all__:
            value = vars(value).get(name, value)
        super().__setattr__(name, value)


NEIGHBOURS = ("", ".numpy", ".lax", ".random", ".tree_util", ".sharding")
"""The namespaces of weft that are searched for a missing name."""


def absent(owner: str, name: str) -> AttributeError:
    """The error for a name that a namespace does not have, with its namespace or a replacement.

    For a misspelt name, Python suggests a similar one from `__dir__` when it prints the error.
    """
    message = f"module {owner!r} has no attribute {name!r}"
    hint = "" if name.startswith("_") else _way_out(owner, name)
    if hint:
        return AttributeError(message + hint, name=name)
    return AttributeError(message, name=name, obj=sys.modules.get(owner))


def _way_out(owner: str, name: str) -> str:
    """The rest of the message for a name of another library, or of another namespace of weft's."""
    root = owner.partition(".")[0]
    jax_names = importlib.import_module(f"{root}.jax_names")
    full = f"{owner}.{name}"
    if name in jax_names.TRAX_NOT_YET.get(owner, "").split():
        return f"\n  {full.replace(root, 'trax', 1)} is not in weft yet"
    if owner == f"{root}.optimizers" and name in jax_names.OPTIMIZERS:
        return f"\n  fix: optimizers.from_optax(optax.{jax_names.OPTIMIZERS[name]}(…))"
    in_jax = name in jax_names.NOT_YET.get(owner, "").split()
    instead = jax_names.INSTEAD.get(full, "")
    if owner == f"{root}.lax" and name.endswith("_p"):
        in_jax, instead = True, jax_names.PRIMITIVE
    if not instead:
        places = [root + place for place in NEIGHBOURS]
        matches = [place for place in places if place != owner and _has(place, name)]
        instead = " or ".join(f"{place}.{name}" for place in matches)
    if not in_jax:
        return f"\n  fix: did you mean {instead}?" if instead else ""
    jax_name = full.replace(root, "jax", 1)
    if full in jax_names.LEFT_OUT:
        return f"\n  {jax_name} is left out of weft: {jax_names.LEFT_OUT[full]}"
    return f"\n  {jax_name} is not in weft yet" + (f"\n  fix: {instead}" if instead else "")


def _has(place: str, name: str) -> bool:
    """True if a namespace has a public name; loads no further modules."""
    module = importlib.import_module(place)
    return name in getattr(module, "__all__", ())


class Deferred:
    """A placeholder for a module, which is loaded when one of its names is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)
