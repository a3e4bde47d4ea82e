"""NumPy's functions run without its warnings of overflow and NaN: XLA gives none either."""

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .trace import current

T = TypeVar("T")

BUFFER = 1024
"""The elements of NumPy's buffers. NumPy copies an operand that is repeated into a buffer, so that
short rows become long ones; for rows longer than the buffer it reads them where they are. With its
own 8,192 elements x - column of 1000 x 1000 takes 0.22 ms, with these 0.13 (benchmarks/company.py).
"""


def quietly() -> Callable[..., Any]:
    """A runner of NumPy kernels without warnings of overflow or NaN, like XLA.

    NumPy's error state is a context variable: a context of our own costs 50 ns a call; entering
    `numpy.errstate` for every operation would cost 800.
    """
    run = current.quiet
    if run is None:
        run = current.quiet = quiet_runner()
    return run


def quiet_runner() -> Callable[..., Any]:
    """A new runner of NumPy kernels."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    context.run(np.setbufsize, BUFFER)
    return context.run


def run_quietly(function: Callable[..., T], *args: object) -> T:
    """The result of a function, which may be called in the midst of another one."""
    try:
        result: T = (current.quiet or quietly())(function, *args)
    except RuntimeError as error:
        result = interrupting(error, function, *args)
    return result


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


def quietly_cast(host: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A NumPy array in another dtype, as XLA would convert it; complex numbers lose what is
    imaginary where the dtype is real."""
    if host.dtype.kind == "c" and dtype.kind != "c":
        host = host.real
    return run_quietly(host.astype, dtype)
