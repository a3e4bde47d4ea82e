"""`install` and `uninstall`: make `import jax` import weft, in this process."""

import sys

from ..config import config
from ..user_lines import noted
from .importer import Finder, views
from .names import names_of

__all__ = ["VERSIONS", "install", "uninstall"]

VERSIONS = {"2024": "0.4.30", "today": "0.10.2"}
"""The supported versions of JAX's names, by year."""

PACKAGES = ("jax", "trax")


def install(year: str = "today", quiet: bool = False) -> None:
    """Makes `import jax` and `import trax` import weft, from now on, in this process.

    Args:
      year: "today" for the names of today's JAX, "2024" for those of JAX 0.4.30, for older
        libraries. It also selects the random numbers: `threefry_partitionable` is on for "today".
      quiet: if False, prints one line to standard error.
    Raises: RuntimeError: the real jax or trax is loaded already. ValueError: an unknown year.
    Example:
      >>> import weft.compat
      >>> weft.compat.install(quiet=True)
      >>> import jax.numpy as jnp
      >>> jnp.arange(3).sum()
      Array(3, dtype=int32)
      >>> weft.compat.uninstall()
    """
    if year not in VERSIONS:
        raise noted(ValueError(f"install: year must be one of {', '.join(VERSIONS)}; got {year!r}"))
    uninstall()
    loaded = [name for name in PACKAGES if name in sys.modules]
    if loaded:
        raise noted(
            RuntimeError(
                f"install: {' and '.join(loaded)} is imported already\n"
                "  fix: call weft.compat.install() before anything imports it, or run "
                "python -m weft.compat program.py"
            )
        )
    version = VERSIONS[year]
    finder = Finder({"jax": version, "trax": "1.4.1"}, names_of(version))
    finder.partitionable_before = config.threefry_partitionable
    config.update("threefry_partitionable", year == "today")
    sys.meta_path.insert(0, finder)
    if not quiet:
        print(f"weft.compat: `import jax` gives weft, as jax {version}", file=sys.stderr)


def uninstall() -> None:
    """Undoes `install`: later imports of jax find the installed package, if there is one.

    Libraries that were imported meanwhile keep weft's modules. The setting of random numbers is
    restored.

    Example:
      >>> import sys
      >>> import weft.compat
      >>> weft.compat.install(quiet=True)
      >>> import jax
      >>> weft.compat.uninstall()
      >>> "jax" in sys.modules
      False
    """
    for finder in [finder for finder in sys.meta_path if isinstance(finder, Finder)]:
        sys.meta_path.remove(finder)
        config.update("threefry_partitionable", finder.partitionable_before)
    for name in views():
        del sys.modules[name]
