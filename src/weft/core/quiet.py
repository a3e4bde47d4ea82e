"""NumPy's functions run without its warnings of overflow and NaN: XLA gives none either."""

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .trace import current

T = TypeVar("T")

LEAST_BUFFER = 16
"""The elements of the smallest buffer that NumPy takes."""


def quietly() -> Callable[..., Any]:
    """A runner of NumPy kernels without warnings of overflow or NaN, like XLA.

    NumPy's error state is a context variable: a context of our own costs 50 ns a call; entering
    `numpy.errstate` for every operation would cost 800.
    """
    run = current.quiet
    if run is None:
        run = current.quiet = quiet_runner()
    return run


def quiet_runner(buffer: int | None = None) -> Callable[..., Any]:
    """A new runner of NumPy kernels, with buffers of so many elements."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    if buffer is not None:
        context.run(np.setbufsize, buffer)
    return context.run


def unbuffered(kernel: Callable[..., T]) -> Callable[..., T]:
    """The kernel, which reads operands where they are: for arithmetic on long rows, in which an
    operand stays the same or is repeated.

    NumPy's iterator copies such an operand into buffers of 8,192 elements, so that short rows
    become long ones. For long rows that takes as long as the work: x - column of 1000 x 1000 takes
    0.19 ms, and 0.1 where the buffers are too small to be used.
    """

    def run(*hosts: object) -> T:
        runner = current.unbuffered
        if runner is None:
            runner = current.unbuffered = quiet_runner(buffer=LEAST_BUFFER)
        try:
            result: T = runner(kernel, *hosts)
        except RuntimeError as error:
            result = interrupting(error, kernel, *hosts)
        return result

    return run


def interrupting(error: RuntimeError, kernel: Callable[..., T], *args: object) -> T:
    """The result of a kernel that `quietly` could not begin, since this thread is in the midst of
    another one: this is a signal handler, a finalizer, or Python code that a kernel called.

    A context can be entered once at a time. To ask before each kernel would cost more than many of
    them take; this costs nothing until it happens. Errors of the kernel's own are raised again.
    """
    if not str(error).startswith("cannot enter context"):
        raise error
    result: T = quiet_runner()(kernel, *args)
    return result


def run_quietly(function: Callable[..., T], *args: object) -> T:
    """The result of a function, which may be called in the midst of another one."""
    run = quietly()
    try:
        result: T = run(function, *args)
    except RuntimeError as error:
        result = interrupting(error, function, *args)
    return result


def quietly_cast(host: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A NumPy array in another dtype, as XLA would convert it; complex numbers lose what is
    imaginary where the dtype is real."""
    if host.dtype.kind == "c" and dtype.kind != "c":
        host = host.real
    return run_quietly(host.astype, dtype)
