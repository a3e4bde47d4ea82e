"""Tracebacks show the user's frames; weft's own are folded away.

weft calls the traced function of a user, who has called weft, so most frames are weft's. When an
error leaves a public function of weft (`user_lines.py: noted`, `located`), these frames are removed
from its traceback. The full traceback is `error.unfiltered_traceback`;
`weft.config.update("traceback_filtering", "off")` leaves tracebacks as they are.

Frames between that function and the user are not in the traceback yet, and can't be removed. They
are marked, so that pytest and IPython do not show them (`__tracebackhide__`), and an error that
ends the program is folded once more when it is printed.
"""

import sys
from types import FrameType, TracebackType
from typing import Any

from .config import thread

_REMOVED = "  weft removed its own frames; config.update('traceback_filtering', 'off') keeps them"


class _Files:
    """The folders of weft and of libraries that it calls; set by `user_lines.py`."""

    inside: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


files = _Files()


class FullTraceback:
    """A traceback before it was folded. `traceback.print_tb` and `pdb` accept it.

    A traceback can't be pickled, so an error with one as an attribute could not return from another
    process. In a pickle, and in a deep copy, this is None.
    """

    __slots__ = ("folded", "traceback")

    def __init__(self, folded: TracebackType | None, full: TracebackType) -> None:
        self.folded = folded  # the folded traceback
        self.traceback = full

    def __getattr__(self, name: str) -> Any:
        return getattr(self.traceback, name)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def fold(error: Any) -> None:
    """Removes weft's frames from an error's traceback, if the switch says so.

    A bare `raise` afterwards adds no entry for its own frame, unlike `raise error`.
    """
    mode = thread.traceback_filtering
    if mode == "off":
        return
    hide_callers()
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = show
    if error.__context__ is not None and stayed_inside(error.__context__):
        error.__suppress_context__ = True  # an internal error: "during handling of" would not help
    if error.__traceback__ is None:
        error._weft_folds = True
        return
    entries = []
    trace = error.__traceback__
    inner = getattr(error, "unfiltered_traceback", None)
    done, full = (inner.folded, inner.traceback) if inner is not None else (None, None)
    while trace is not None and trace is not done:
        entries.append(trace)
        trace = trace.tb_next
    if mode == "tracebackhide":
        for entry in entries:
            if is_inside(entry.tb_frame):
                hide(entry.tb_frame)
        return
    remaining, inside = [], False
    for entry in entries:
        file = entry.tb_frame.f_code.co_filename
        inside = is_inside(entry.tb_frame) or (inside and file.startswith(files.libraries))
        if not inside:
            remaining.append(entry)
    folded = chain(remaining, trace)
    error.__traceback__ = folded
    error.unfiltered_traceback = FullTraceback(folded, chain(entries, full))
    error._weft_folds = True
    if mode == "remove_frames" and _REMOVED not in getattr(error, "__notes__", ()):
        error.add_note(_REMOVED)


def stayed_inside(error: BaseException) -> bool:
    """True if weft raised and caught the error: its traceback has no frame of the user's."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace is not None and is_inside(trace.tb_frame):
        trace = trace.tb_next
    return trace is None


def chain(entries: list[TracebackType], last: Any) -> Any:
    """A traceback of copies of these entries, followed by `last`."""
    for entry in reversed(entries):
        last = TracebackType(last, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return last


def is_inside(frame: FrameType) -> bool:
    """True if a frame is weft's."""
    return frame.f_code.co_filename.startswith(files.inside)


def hide_callers() -> None:
    """Hides the frames of weft from here up to the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_inside(frame):
        hide(frame)
        frame = frame.f_back


def hide(frame: FrameType) -> None:
    """Marks a frame, so that pytest and IPython do not show it."""
    frame.f_locals["__tracebackhide__"] = True


def show(kind: Any, error: Any, trace: Any) -> None:
    """Prints an error that ends the program, without weft's frames."""
    if hasattr(error, "_weft_folds"):
        fold(error)
        trace = error.__traceback__
    sys.__excepthook__(kind, error, trace)
