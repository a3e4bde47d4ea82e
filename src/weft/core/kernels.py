"""Runs NumPy kernels without warnings of overflow and NaN, since XLA gives none either."""

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .trace import current

T = TypeVar("T")


BUFFER_ELEMENTS = 1024
"""The size of NumPy's iterator buffers. NumPy copies a broadcast operand into a buffer unless the
rows are longer than the buffer. Its default of 8,192 elements makes `x - column` of 1000 x 1000
slower (benchmarks/company.py).
"""


def kernel_runner() -> Callable[..., Any]:
    """This thread's `run(kernel, *args)`: calls a NumPy kernel without warnings.

    NumPy's error state is a context variable. Running in a context of our own is much cheaper than
    entering `numpy.errstate` for every operation.
    """
    run = current.run_kernel
    if run is None:
        run = current.run_kernel = new_kernel_runner()
    return run


def new_kernel_runner() -> Callable[..., Any]:
    """A new context in which NumPy does not warn, as a function `run(kernel, *args)`."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    context.run(np.setbufsize, BUFFER_ELEMENTS)
    return context.run


def run_kernel(function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)`, called without NumPy's warnings; calls may be nested."""
    try:
        result: T = (current.run_kernel or kernel_runner())(function, *args)
    except RuntimeError as error:
        result = run_reentrant(error, function, *args)
    return result


def run_reentrant(error: RuntimeError, kernel: Callable[..., T], *args: object) -> T:
    """Runs a kernel in a new context, after this thread's context raised `error`.

    A context cannot be entered twice. A signal handler, a finalizer, or Python code that a kernel
    calls would do that. A check before each kernel would cost more than many kernels take, so the
    error is handled here. Errors of the kernel itself are raised again.
    """
    if not str(error).startswith("cannot enter context"):
        raise error
    result: T = new_kernel_runner()(kernel, *args)
    return result


def cast_on_host(host: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A NumPy array converted to another dtype as XLA converts it: without warnings, and to a
    real dtype by dropping the imaginary part."""
    if host.dtype.kind == "c" and dtype.kind != "c":
        host = host.real
    return run_kernel(host.astype, dtype)
