"""`python -m weft.compat program.py …`: runs a program that imports jax, with weft in its place."""

import argparse
import os
import runpy
import sys

from .installation import VERSIONS, install


def main(arguments: list[str]) -> None:
    """Runs a program or a module after `install`.

    Args:
      arguments: the command line after `python -m weft.compat`.
    """
    parser = argparse.ArgumentParser(
        prog="python -m weft.compat",
        description="Runs a program that imports jax or trax, with weft in their place.",
    )
    parser.add_argument("--year", choices=sorted(VERSIONS), default="today", help="whose names")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE …", help="a module to run"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, help="program.py and its arguments")
    options = parser.parse_args(arguments)
    if not options.module and not options.program:
        parser.error("expected a program, or -m and a module")
    install(options.year, options.quiet)
    sys.argv = options.module or options.program
    if options.module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
