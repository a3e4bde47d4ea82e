"""Runs programs and libraries written for JAX or Trax, unchanged.

    python -m weft.compat program.py …        a program
    python -m weft.compat -m pytest …         a module

    import weft.compat                        or in the program, before anything imports jax
    weft.compat.install()

Afterwards `import jax` imports weft's modules under JAX's names, and `import trax` imports them
under Trax's names, even if the packages are installed. Names that weft lacks raise an error when
they are used.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "installation": "VERSIONS install uninstall",
    },
)
