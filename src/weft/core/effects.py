"""Effects: the things that an operation does besides computing its results."""

from typing import NamedTuple


class Effects(NamedTuple):
    """`primitive.effects` of an operation that may do more than compute; `None` of all others.

    Of an operation with programs in its parameters it is `OF_PROGRAMS_INSIDE`: what those do. So
    the passes over programs look inside an operation only if it has this.

    Attributes:
      acts: it does something, and is kept though nothing needs its results: a print, a check.
      calls_host: it runs Python code on the host when a compiled program reaches it.
    """

    acts: bool = False
    calls_host: bool = False


OF_PROGRAMS_INSIDE = Effects()
