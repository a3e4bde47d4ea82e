"""The record of a bug that can be planted."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A small bug: where it is, and which tests are to notice it.

    Attributes:
      id: a letter for the part of weft, and a number.
      what: the bug in a few words.
      file: below `src/weft`.
      before: exact source text, which occurs once in the file.
      after: what replaces it.
      tests: arguments of pytest: files, node ids, `-k` with an expression.
      equivalent: why no test can notice it, if so.
    """

    id: str
    what: str
    file: str
    before: str
    after: str
    tests: str
    equivalent: str = ""
