"""`python -m weft.cli` is the command `weft`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
