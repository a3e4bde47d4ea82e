"""recorded runs a call under the switch `replay_dir`, and keeps a file of it if it fails.

The file is written before the call, so that it exists if a signal ends the process, and removed
after a successful call. A call fails if it raises an error, if its results have a NaN or an
infinity and its arguments have none, or if a check of `checkify` in it failed. Ctrl-C is not a
failure. The watching trace (`interpreters/debugging/watch.py`) loads this module by name.
"""

import contextlib
import itertools
import json
import linecache
import os
import re
import shlex
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..config import config, thread
from ..core.array import Array
from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.primitive import Primitive
from ..core.source import log_warning
from ..core.source_location import SourceLocation, location_of
from ..core.trace import Params
from ..experimental.checkify.values import Error
from ..interpreters.debugging.nonfinite import float_of
from ..tree_util import tree_leaves
from ..user_lines import user_place
from .program_file import FailedCall, failed_call, written_program
from .replay_file import AROUND, SUFFIX, SWITCHES, installed, note_outcome, read_call, write_call
from .source_lines import Sources

T = TypeVar("T")

KEPT = 5
"""The number of files of failed calls that a process keeps: the newest ones."""

_numbers = itertools.count(1)
_kept: deque[str] = deque()
_lock = threading.RLock()

# The kinds already reported for each program, so a program that returns infinities by design
# leaves one file, not one for each call.
_told: weakref.WeakKeyDictionary[Jaxpr, set[str]] = weakref.WeakKeyDictionary()


def recorded(jaxpr: Jaxpr, args: Sequence[Any], run: Callable[[], T]) -> T:
    """Runs a program's call, `run()`, and keeps a file of it if it fails; returns its result."""
    path = written(jaxpr, args)
    if path is None:
        return run()
    try:
        result = run()
        arrays = [x for x in tree_leaves(result) if isinstance(x, Array)]
        for x in arrays:
            x.block_until_ready()  # errors of the computation appear here
    except Exception as error:  # raised again
        keep(path, "error", f"{type(error).__name__}: {error}", failed_call(error))
        error.add_note(f"  replay: {command(path)}")
        raise
    except BaseException:
        remove(path)
        raise
    kind, text = fault(jaxpr, path, result, arrays)
    if not kind:
        remove(path)
        return result
    keep(path, kind, text)
    log_warning(f"{jaxpr.name}: {text}; replay: {command(path)}")
    return result


def command(path: str) -> str:
    """The command that replays a file."""
    return f"weft replay {shlex.quote(path)}"


def fault(jaxpr: Jaxpr, path: str, result: Any, arrays: Sequence[Array]) -> tuple[str, str]:
    """The kind of the fault in results, and a sentence about it; empty if there is none."""
    checks = tree_leaves(result, is_leaf=lambda x: isinstance(x, Error))
    with config.temporarily(transfer_guard_device_to_host="allow"):
        for check in checks:
            if isinstance(check, Error) and (text := check.get()):
                return "check", f"a check failed: {text}"
        kinds = nonfinite_kinds(arrays) - _told.get(jaxpr, set())
        if kinds:
            arguments = read_call(path).arguments  # donated ones are in the file only
            kinds -= nonfinite_kinds([*arguments, *jaxpr.consts])
    if not kinds:
        return "", ""
    _told.setdefault(jaxpr, set()).update(kinds)
    kind = "NaN" if "NaN" in kinds else "infinity"
    return kind, f"{'a' if kind == 'NaN' else 'an'} {kind} in its results, none in its arguments"


def nonfinite_kinds(arrays: Iterable[Array]) -> set[str]:
    """The kinds of non-finite elements in arrays: "NaN", "infinity"."""
    kinds = set()
    for x in arrays:
        if x.aval.inexact and x.size:
            host = float_of(x)
            if np.isnan(host).any():
                kinds.add("NaN")
            if np.isinf(host).any():
                kinds.add("infinity")
    return kinds


# --- the file ---


def written(jaxpr: Jaxpr, args: Sequence[Any]) -> str | None:
    """Writes the file of a call that is about to run; returns its path.

    Returns None, with a warning, if the file cannot be written, or if arrays are partly in other
    processes.
    """
    place = user_place()
    folder = os.path.abspath(os.path.expanduser(thread.replay_dir))
    name = re.sub(r"\W+", "_", jaxpr.name).strip("_")[:60]
    started = time.strftime("%Y%m%d-%H%M%S")
    path = os.path.join(folder, f"{name}-{started}-{os.getpid()}-{next(_numbers)}{SUFFIX}")
    if not all(x.is_fully_addressable for x in (*args, *jaxpr.consts)):
        log_warning(f"{jaxpr.name}: replay_dir cannot save arrays of several processes")
        return None
    program, constants, lines = program_parts(jaxpr, place.file)
    about = {
        "function": jaxpr.name,
        "place": list(place),
        "time": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "process": os.getpid(),
        "versions": installed(),
        "switches": {name: config.read(name) for name in SWITCHES},
        "lines": lines,
        "outcome": None,
    }
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with config.temporarily(transfer_guard_device_to_host="allow"):
            write_call(path, program, constants, named(jaxpr, args), about)
    except OSError as error:
        log_warning(f"{jaxpr.name}: replay_dir: the call could not be saved: {error}")
        return None
    return path


def named(jaxpr: Jaxpr, args: Sequence[Any]) -> dict[str, Any]:
    """The arguments by their names, such as `params['w']`."""
    names = [jaxpr.labels.argument(i) or f"argument {i}" for i in range(len(args))]
    is_clear = len({*names, "sha256", "__metadata__"}) == len(args) + 2
    if not is_clear or any(name.startswith("constant ") for name in names):
        names = [f"argument {i}: {name}" for i, name in enumerate(names)]
    return dict(zip(names, args, strict=True))


@cached_on_program
def program_parts(jaxpr: Jaxpr, file: str) -> tuple[str, list[Array], dict[str, dict[str, str]]]:
    """The JSON of a program, its constants, and the user's lines by file and number.

    Args:
      file: the path of the file that calls it.
    """
    content, arrays = written_program(jaxpr)
    lines: dict[str, dict[str, str]] = {}
    sources = Sources()
    sources.add(file)
    cells = {os.path.basename(path): path for path in linecache.cache}  # of notebooks
    for line, operation, *_ in content["sources"]:
        place = SourceLocation(line, operation).place
        if place is not None:
            name, number = place
            text = linecache.getlines(sources.path(name)) or linecache.getlines(cells.get(name, ""))
            first, last = max(1, number - AROUND), min(len(text), number + AROUND)
            near = {str(n): text[n - 1].rstrip("\n") for n in range(first, last + 1)}
            lines.setdefault(name, {}).update(near)
    return json.dumps(content), arrays, lines


def keep(path: str, kind: str, text: str, failed: FailedCall | None = None) -> None:
    """Writes the outcome of a call into its file; removes the oldest file if there are too many."""
    try:
        note_outcome(path, kind, text, failed)
    except OSError as error:  # the file stays as it was
        log_warning(f"replay_dir: the outcome of a call could not be saved: {error}")
    with _lock:
        _kept.append(path)
        oldest = _kept.popleft() if len(_kept) > KEPT else None
    if oldest is not None:
        remove(oldest)


def remove(path: str) -> None:
    """Removes a file, if it is there."""
    with contextlib.suppress(OSError):
        os.unlink(path)


# --- operations with programs inside, outside of jitted functions ---


def program_of(primitive: Primitive, args: Sequence[Any], params: Params) -> Jaxpr:
    """The program of an operation that has programs inside; for a call, the called program."""
    first: Any = params[0][1]
    if primitive.inside is not None and primitive.inside.inlinable and isinstance(first, Jaxpr):
        return first
    owner: Any = primitive.owner(params)
    return one_equation(owner, primitive, params, tuple(x.aval for x in args))


@cached_on_program
def one_equation(
    owner: Any, primitive: Primitive, params: Params, avals: tuple[Aval, ...]
) -> Jaxpr:
    """The program of one operation."""
    inputs = [*map(Var, avals)]
    outs = [*map(Var, primitive.out(inputs, params))]
    name = next((j.name for j in subjaxprs(params)), primitive.name)
    equation = Equation(primitive, inputs, params, outs, location_of(primitive.name))
    return Jaxpr([], [], inputs, [equation], outs, name)
