"""Tracebacks show the user's frames; weft's own are folded away.

A traced function is called by weft, which is called by the user: ten of weft's frames for one of
theirs. Where an error passes a public function of weft (`user_lines.py: noted`, `located`),
the frames of weft are taken out of its traceback. That is done on the way of an error only. The
whole traceback stays, as `error.unfiltered_traceback`; `weft.config.update("traceback_filtering",
"off")` leaves tracebacks alone. Knows frames and files; knows nothing of what went wrong.

Frames between the last such place and the user can't be taken out, since they aren't in the
traceback yet. They are marked, so that pytest and IPython don't show them (`__tracebackhide__`),
and an error that ends the program is folded once more when it is printed.
"""

import sys
from types import FrameType, TracebackType
from typing import Any

from .config import thread

_REMOVED = "  weft removed its own frames; config.update('traceback_filtering', 'off') keeps them"


class _Files:
    """Beginnings of the names of weft's files, and of libraries' that it calls: set by
    `user_lines.py`."""

    inside: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


files = _Files()


class WholeTraceback:
    """A traceback as it was before it was folded: `traceback.print_tb` and `pdb` take it for one.

    A traceback itself can't be pickled, so an error with one as an attribute could not come back
    from another process. In a pickle, and in a deep copy, this is None.
    """

    __slots__ = ("folded", "traceback")

    def __init__(self, folded: TracebackType | None, whole: TracebackType) -> None:
        self.folded = folded  # what folding left of it
        self.traceback = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self.traceback, name)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def fold(error: Any) -> None:
    """Takes weft's frames out of an error's traceback, as the switch says.

    The bare `raise` that follows adds no entry for its own frame (as `raise error` would).
    """
    mode = thread.traceback_filtering
    if mode == "off":
        return
    hide_callers()
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = show
    if error.__context__ is not None and stayed_inside(error.__context__):
        error.__suppress_context__ = (
            True  # a look-up that missed: "during handling of" says nothing
        )
    if error.__traceback__ is None:
        error._weft_folds = True
        return
    entries = []
    trace = error.__traceback__
    inner = getattr(error, "unfiltered_traceback", None)
    done, whole = (inner.folded, inner.traceback) if inner is not None else (None, None)
    while trace is not None and trace is not done:
        entries.append(trace)
        trace = trace.tb_next
    if mode == "tracebackhide":
        for entry in entries:
            if is_inside(entry.tb_frame):
                hide(entry.tb_frame)
        return
    kept, own = [], False
    for entry in entries:
        file = entry.tb_frame.f_code.co_filename
        own = is_inside(entry.tb_frame) or (own and file.startswith(files.libraries))
        if not own:
            kept.append(entry)
    left = chain(kept, trace)
    error.__traceback__ = left
    error.unfiltered_traceback = WholeTraceback(left, chain(entries, whole))
    error._weft_folds = True
    if mode == "remove_frames" and _REMOVED not in getattr(error, "__notes__", ()):
        error.add_note(_REMOVED)


def stayed_inside(error: BaseException) -> bool:
    """True if an error was raised and caught by weft: its traceback has no frame of the user's."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace is not None and is_inside(trace.tb_frame):
        trace = trace.tb_next
    return trace is None


def chain(entries: list[TracebackType], last: Any) -> Any:
    """A traceback of copies of these entries, with `last` behind them."""
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
    """Has pytest and IPython not show a frame. No variable of its function changes by that."""
    frame.f_locals["__tracebackhide__"] = True


def show(kind: Any, error: Any, trace: Any) -> None:
    """Prints an error that ends the program, without weft's frames."""
    if hasattr(error, "_weft_folds"):
        fold(error)
        trace = error.__traceback__
    sys.__excepthook__(kind, error, trace)
