"""A plug-in for pytest that checks derivative rules, traces, programs and memory.

`pytest -p weft.pytest_plugin` loads it, or `pytest_plugins = ["weft.pytest_plugin"]` in the
`conftest.py` of the root folder.

It turns on the switch `check_derivatives`, unless the ini file has
`weft_check_derivatives = false`.
Its fixtures are `max_traces`, `max_equations`, `max_bytes` and `same_program_as`. It is inactive
unless it is loaded by name, so it costs other tests nothing.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from .config import config as switches
from .core.events import Event, Tracing, audience
from .core.source import function_line, unwrapped
from .explanation.difference import aligned, changes_text, traced_with_lines
from .explanation.explain import is_jitted
from .explanation.program_rows import Row, program_rows, rows_of_text
from .runtime.failures import size_of
from .transforms.jit.function import jit

UPDATE = "--update-programs"
INI = "weft_check_derivatives"
HEAD = "# The program of {}, for the types of its inputs. Written by pytest " + UPDATE + "."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the option and the setting of the ini file."""
    group = parser.getgroup("weft")
    group.addoption(
        UPDATE, action="store_true", help="write the programs that same_program_as compares with"
    )
    text = "compare derivative rules with differences at their first use (true by default)"
    parser.addini(INI, text, type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    """Turns on `check_derivatives`, until pytest ends."""
    if config.getini(INI):
        before = switches.read("check_derivatives")
        switches.update("check_derivatives", True)
        config.add_cleanup(lambda: switches.update("check_derivatives", before))


# --- traces ---


@pytest.fixture
def max_traces() -> Callable[..., contextlib.AbstractContextManager[None]]:
    """`with max_traces(1, step):` fails if `step` is traced more than once in the block.

    Without a function, the limit applies to every jitted function. A function that is defined again
    counts as the same function. The failure lists the reason for each trace.
    """
    return trace_limit


@contextlib.contextmanager
def trace_limit(limit: int, f: Callable[..., Any] | None = None) -> Iterator[None]:
    """A block that fails if a function is traced more than `limit` times in this thread."""
    if audience.listener is not None:
        raise RuntimeError(
            "max_traces: another max_traces, or weft.explain, is running\n"
            "  fix: use one after the other"
        )
    tracings: list[Tracing] = []

    def listen(event: Event) -> None:
        if isinstance(event, Tracing):
            tracings.append(event)

    with switches.temporarily(log_compiles=True):
        audience.listener = listen
        try:
            yield
        finally:
            audience.listener = None
    limited = None if f is None else identity(f)
    counts = Counter(identity(t.function) for t in tracings)
    for function, count in counts.items():
        if count > limit and limited in (None, function):
            mine = [t for t in tracings if identity(t.function) == function]
            pytest.fail(
                f"max_traces: {function_line(mine[0].function)} was traced {times(count)}; "
                f"expected at most {times(limit)}\n" + "\n".join(t.text for t in mine),
                pytrace=False,
            )


def identity(f: Any) -> Any:
    """A function's code object, which stays the same if its `def` or `lambda` runs again."""
    inner = unwrapped(f)
    code = getattr(inner, "__code__", None)
    return code if isinstance(code, CodeType) else inner


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


# --- programs ---


@pytest.fixture
def max_equations() -> Callable[..., None]:
    """`max_equations(20, f, x)` fails if the program of `f(x)` has more than 20 equations.

    Calls are inlined, and the bodies of loops count once. The failure lists the operations.
    """
    return check_equations


def check_equations(limit: int, f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Fails if a program has too many equations."""
    rows = [row for row in rows_of(f, args, kwargs) if row.is_equation]
    if len(rows) > limit:
        counts = Counter(row.operation for row in rows).most_common()
        operations = ", ".join(f"{n} {name}" for name, n in counts)
        pytest.fail(
            f"max_equations: {function_line(f)} has {len(rows)} equations; expected at most "
            f"{limit}\n  {operations}",
            pytrace=False,
        )


@pytest.fixture
def max_bytes() -> Callable[..., None]:
    """`max_bytes(4_000_000, f, x)` fails if the peak memory of a call `f(x)` exceeds 4,000,000
    bytes.

    The function is compiled, but not run. Arguments may be shapes. The failure lists the largest
    arrays at the peak.
    """
    return check_bytes


def check_bytes(limit: int, f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Fails if a call needs too much memory."""
    jitted: Any = f if is_jitted(f) else jit(f)
    plan = jitted.memory(*args, **kwargs)
    if plan.peak_bytes > limit:
        pytest.fail(
            f"max_bytes: {function_line(f)} needs {plan.peak_bytes:,} bytes at the peak; expected "
            f"at most {limit:,} ({size_of(limit)})\n{plan}",
            pytrace=False,
        )


@pytest.fixture
def same_program_as(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`same_program_as("step.txt", f, x)` fails if the program of `f(x)` differs from the file.

    The path of the file is relative to the test's file. `pytest --update-programs` writes it; a
    missing file is written too, unless the environment variable CI is set. The failure shows the
    equations that differ.
    """
    folder, update = request.path.parent, request.config.getoption(UPDATE)

    def check(
        path: str | os.PathLike[str], f: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        check_program(folder / path, update, f, args, kwargs)

    return check


def check_program(path: Path, update: bool, f: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Compares a program with a file, or writes the file."""
    rows = rows_of(f, args, kwargs)
    missing = not path.exists()
    if missing and not update and os.environ.get("CI"):
        pytest.fail(
            f"same_program_as: {path} is missing\n  fix: run pytest {UPDATE}, and commit the file",
            pytrace=False,
        )
    if update or missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [HEAD.format(getattr(unwrapped(f), "__name__", "a function")), *map(str, rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    stored, problem = stored_rows(path)
    difference = changes_text(aligned(stored, rows))
    if problem:
        pytest.fail(
            f"same_program_as: {path}: {problem}\n  fix: run pytest {UPDATE}", pytrace=False
        )
    if difference:
        pytest.fail(
            f"same_program_as: the program of {function_line(f)} is not the one in {path}; - is "
            f"the file's, + the function's\n{difference}\n"
            f"  fix: run pytest {UPDATE} if the change is intended",
            pytrace=False,
        )


def stored_rows(path: Path) -> tuple[list[Row], str]:
    """The rows in a file, and the problem with it; empty if there is none."""
    try:
        return rows_of_text(path.read_text(encoding="utf-8").splitlines()), ""
    except ValueError as error:
        return [], str(error)


def rows_of(f: Callable[..., Any], args: Any, kwargs: Any) -> list[Row]:
    """The program of a function, with the user's lines."""
    with switches.temporarily(debug_lines=True):
        return program_rows(traced_with_lines(f, args, kwargs).jaxpr)
