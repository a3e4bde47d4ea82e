"""Makes `cases` importable, and weft ready."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).parent.parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))
