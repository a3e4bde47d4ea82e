"""explain runs a function and reports where its time and memory go; explain_program does so for a
Python file."""

import contextlib
import copy
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..compiler.memory import MemoryPlan
from ..compiler.optimized import OptimizedProgram
from ..config import config, thread
from ..core.array import Array
from ..core.events import audience
from ..core.source import function_line, located
from ..errors import WeftError
from ..runtime.transfers import unguarded
from ..transforms.arguments import check_callable
from ..transforms.jit.dispatch import forget_traces
from ..transforms.jit.function import jit
from ..tree_util import tree_map
from .recorder import Called, Recorder
from .report import Explanation
from .tables import Program

__all__ = ["explain", "explain_program"]

SWITCHES = {"debug_lines": True, "log_compiles": True}

REPEATED = 3
"""The number of calls of a jitted function after the first; all but one of them are profiled."""


@located
def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Runs a function, and reports where its time and memory go, with suggested changes.

    Jitted functions that it calls are traced again, with the user's lines, and all their calls are
    recorded: retraces, copies, transfers between host and devices, memory, kernels. If `f` is
    jitted, it is called four times, to measure its time; otherwise once. If it calls no jitted
    function, it is then jitted and called four times.

    Args:
      f: the function: one step of training, or a whole loop.
      args, kwargs: its arguments. Donated ones are copied first.
    Returns: an `Explanation`. `print` shows it as text, a notebook as a page, and `save(path)`
      writes the page.
    Raises: RuntimeError: another `explain` is running.
    Example:
      >>> import weft, weft.numpy as np
      >>> step = weft.jit(lambda w, x: w - 0.1 * (x @ w))
      >>> report = weft.explain(step, np.ones(8), np.ones((8, 8)))
      >>> report.findings, [p.called.name for p in report.programs]
      ([], ['<lambda>'])
    """
    check_callable(f, "explain")
    with watched() as record:
        if is_jitted(f):
            call_repeatedly(record, f, args, kwargs)
        else:
            f(*args, **kwargs)
            if not record.calls:
                # a function that needs the elements of its arguments can't be jitted
                with contextlib.suppress(WeftError, TypeError, ValueError):
                    call_repeatedly(record, jit(f), args, kwargs)
        programs = programs_of(record)
    return Explanation(function_line(f), record, programs)


def call_repeatedly(record: Recorder, jitted: Any, args: Any, kwargs: Any) -> None:
    """Calls a jitted function, and then again to measure its time."""
    jitted(*copied(args), **copied(kwargs))
    record.only_times = True
    for _ in range(REPEATED):
        jitted(*copied(args), **copied(kwargs))


@contextlib.contextmanager
def watched(all_threads: bool = False) -> Iterator[Recorder]:
    """A block in which jitted calls, operations and transfers are recorded.

    Args:
      all_threads: True to set the switches for the whole process.
    Raises: RuntimeError: another block is active.
    """
    if audience.listener is not None:
        raise RuntimeError("explain: another explain is running\n  fix: call one after the other")
    record = Recorder()
    before = {name: config.read(name) for name in SWITCHES}
    platforms = unguarded.platforms
    with contextlib.ExitStack() as stack:
        if all_threads:
            for name in SWITCHES:
                config.update(name, True)
                stack.callback(config.update, name, before[name])
        else:
            stack.enter_context(config.temporarily(**SWITCHES))
        forget_traces(thread.key)  # an earlier explain may have traced the same functions
        audience.listener, unguarded.platforms = record, ()
        try:
            yield record
        finally:
            audience.listener, unguarded.platforms = None, platforms
            forget_traces(thread.key)


def is_jitted(f: Any) -> bool:
    """True for the result of `jit`."""
    return "memory" in getattr(f, "weft_made", ())


def copied(tree: Any) -> Any:
    """The arguments with copies of arrays, which may be donated."""
    return tree_map(lambda x: copy.copy(x) if isinstance(x, Array) else x, tree)


def programs_of(record: Recorder) -> list[Program]:
    """The programs that were called, by their total time, longest first."""
    programs = [_program(record, called) for called in record.calls.values()]
    return sorted(programs, key=lambda p: -p.called.typical_seconds * p.called.count)


def _program(record: Recorder, called: Called) -> Program:
    program = called.traced.program()
    if not program.executables:
        return Program(called, 0.0, None, None)
    executable = [*program.executables.values()][-1]
    if isinstance(executable, tuple):  # of several devices, with the shardings of its results
        executable = executable[0]
    optimized = OptimizedProgram(executable.as_text())
    labels = called.traced.jaxpr.labels
    names = [labels.argument(i) or f"argument #{i}" for i in program.live]
    plan = MemoryPlan(called.name, executable.memory_analysis(), optimized, names)
    return Program(called, record.compile_seconds(called), optimized, plan)


def explain_program(path: str, arguments: Sequence[str] = ()) -> tuple[Explanation, int]:
    """Runs a program as `python path arguments` would, and explains it.

    Args:
      path: the file of the program.
      arguments: its command line.
    Returns: the explanation, and the exit status of the program. An error in it is printed.
    """
    argv, folder = sys.argv, sys.path[0]
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        with watched(all_threads=True) as record:
            status = _run(path)
            programs = programs_of(record)
    finally:
        sys.argv, sys.path[0] = argv, folder
    return Explanation(os.path.basename(path), record, programs), status


def _run(path: str) -> int:
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # the user's own: it is shown, and what ran before is explained
        traceback.print_exc()
        return 1
    return 0
