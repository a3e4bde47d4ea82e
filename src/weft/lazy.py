"""Namespaces that load a module when one of its names is first asked for.

weft has hundreds of functions in dozens of modules; a program uses few. So `import weft` loads the
core and NumPy's operators, and `weft.numpy.fft` or `weft.random.normal` load themselves: a third of
the import time (benchmarks/cold_start.py). Once loaded, a name is an ordinary attribute.

The `__init__.py` of a namespace is a docstring and one call of `exports`. Editors and type checkers
read the `__init__.pyi` beside it. `make exports` writes both.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
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
        is the module's `add` under the name `add_p`. A module is written as behind `from .`: `"at"`
        is in the package, `".core.aval"` is beside it.
      modules: modules of the package that are names of it themselves.
      together: modules that are loaded with the first name: what nearly every program uses, so that
        the time it takes is not scattered over first calls.
      into: the module that gets the names, if it is not the package.
    """
    owner = into or package
    home = {}
    for module, found in names.items():
        for item in found.split():
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

    for module in () if into else names:
        if (
            module in home and home[module][0] == module
        ):  # loading it later would hide the name behind the module
            find(module)
    return public, find, listed


NEIGHBOURS = ("", ".numpy", ".lax", ".random", ".tree_util", ".sharding")
"""The namespaces of weft in which a name is looked for that isn't where it was asked for."""


def absent(owner: str, name: str) -> AttributeError:
    """The error for a name that a namespace hasn't: where it is, or what JAX's name of it came to.

    For a name that is just misspelt, Python itself says what is near, from `__dir__`, when it
    prints the error.
    """
    message = f"module {owner!r} has no attribute {name!r}"
    hint = "" if name.startswith("_") else _way_out(owner, name)
    if hint:
        return AttributeError(message + hint, name=name)
    return AttributeError(message, name=name, obj=sys.modules.get(owner))


def _way_out(owner: str, name: str) -> str:
    """The rest of the message for a name of JAX's, or of another namespace of weft's."""
    root = owner.partition(".")[0]
    known = importlib.import_module(f"{root}.jax_names")
    full = f"{owner}.{name}"
    in_jax = name in known.NOT_YET.get(owner, "").split()
    instead = known.INSTEAD.get(full, "")
    if owner == f"{root}.lax" and name.endswith("_p"):
        in_jax, instead = True, known.PRIMITIVE
    if not instead:
        places = [root + place for place in NEIGHBOURS]
        found = [place for place in places if place != owner and _has(place, name)]
        instead = " or ".join(f"{place}.{name}" for place in found)
    if not in_jax:
        return f"\n  fix: did you mean {instead}?" if instead else ""
    own = full.replace(root, "jax", 1)
    if full in known.LEFT_OUT:
        return f"\n  {own} is left out of weft: {known.LEFT_OUT[full]}"
    return f"\n  {own} is not in weft yet" + (f"\n  fix: {instead}" if instead else "")


def _has(place: str, name: str) -> bool:
    """True if a namespace has a public name; no module of it is loaded for that."""
    module = importlib.import_module(place)
    return name in getattr(module, "__all__", ())


class Deferred:
    """Stands for a module until one of its names is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)
