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
    with_modules: bool = False,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package's `__init__` (or another module of it).

    Args:
      package: its name.
      where: the names that each of its modules adds to the package.
      modules: modules that are names of the package themselves.
      into: the module that gets the names, if it isn't the package.
      together: modules that are loaded with the first name: what nearly every program uses, so that
        the time it takes isn't scattered over first calls.
      with_modules: whether the modules in `where` are names of the package as well.
    """
    owner = into or package
    home = {name: module for module, names in where.items() for name in names}
    loadable = {*modules, *(where if with_modules else ())}
    waiting = [*together]

    def find(name: str) -> Any:
        if name in home:
            while waiting:
                importlib.import_module(f"{package}.{waiting.pop()}")
            value = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[owner], name, value)
            return value
        if name in loadable:
            return importlib.import_module(f"{package}.{name}")
        raise absent(owner, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[owner]), *home, *loadable})

    return find, names


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
