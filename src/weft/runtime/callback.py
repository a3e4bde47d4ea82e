"""Python functions that compiled programs call, on CPUs and GPUs.

A program calls jaxlib's target for this, with the number of a function in the list that its
executable was loaded with. The list lives as long as the executable:

    %1 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) {api_version = 4 : i32,
           has_side_effect = true, backend_config = {index = 0 : ui64}}
           : (tensor<3xf32>) -> tensor<3xf32>

(on a GPU `xla_ffi_python_gpu_callback`, which copies the arguments to the host and the results
back.)

The target passes the arguments as copies, which the function may keep and must not write to. The
target does not check the results; `guarded` does.
"""

import collections
import ctypes
import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..dtypes import is_inexact
from ..errors import ShapeError
from ..stablehlo.block import CALLBACKS as CALLBACKS
from .failures import text_of

BufferSpec: TypeAlias = tuple[Sequence[int], np.dtype[Any]]
"""Shape and dtype."""


class Callback(NamedTuple):
    """A function of NumPy arrays that returns a sequence of arrays of these types."""

    function: Callable[..., Sequence[Any]]
    outputs: Sequence[BufferSpec]


class CallbackFailure(RuntimeError):
    """The exception that XLA sees in place of a callback's own exception: only its number."""


def guarded(callback: Callback) -> Callable[..., tuple[Any, ...]]:
    """The function that XLA calls. It checks the results and keeps exceptions for `take_error`."""
    function, specs = callback.function, [(tuple(s), np.dtype(d)) for s, d in callback.outputs]

    def call(*args: object) -> tuple[Any, ...]:
        before = _python_floats()
        try:
            results = tuple(np.asarray(r) for r in function(*args))
            # XLA copies as many bytes as there are
            if [(r.shape, r.dtype) for r in results] != specs:
                result_types = ", ".join(f"{r.dtype}{list(r.shape)}" for r in results)
                declared = ", ".join(f"{d}{list(s)}" for s, d in specs)
                raise ShapeError(f"callback: expected results ({declared}); got ({result_types})")
        except BaseException as error:
            number = _keep(error)
        else:
            return results
        finally:
            if before is not None:
                _libm.fesetenv(before)
        raise CallbackFailure(f"{_MARK}{number};")

    return call


# --- programs on several devices ---


class _InGroupCallback(threading.local):
    now = False


in_group_callback = _InGroupCallback()
"""Its `now` is True while this thread is in a callback of a program for several devices."""


class CallbackGroup:
    """The state that the callbacks of one program on several devices share: the first failure.

    XLA must not see their exceptions: it would stop the device, and the others would wait for it in
    the next collective, until XLA ends the process. So the program runs to its end, without calling
    Python again, on values that are NaN where they can be; its results are dropped, and the
    exception is raised instead (executors.py).
    """

    __slots__ = ("failure",)

    def __init__(self) -> None:
        self.failure: BaseException | None = None

    def guarded(self, callback: Callback) -> Callable[..., tuple[Any, ...]]:
        """The function that XLA calls, on any of the devices."""
        call = guarded(callback)
        blanks = tuple(
            np.full(shape, np.nan if is_inexact(dtype) else 0, dtype)
            for shape, dtype in callback.outputs
        )

        def call_on_device(*args: object) -> tuple[Any, ...]:
            if self.failure is not None:
                return blanks
            in_group_callback.now = True
            try:
                return call(*args)
            except CallbackFailure as failure:
                self.failure = self.failure or take_error(failure)
                return blanks
            finally:
                in_group_callback.now = False

        return call_on_device


# --- floating point ---

# XLA lets the processor flush subnormal numbers to zero while a program runs. NumPy does not expect
# that, and would keep what it computes meanwhile (numpy.finfo).
try:
    _libm: Any = ctypes.PyDLL("libm.so.6")
    _libm.fegetenv.argtypes = _libm.fesetenv.argtypes = (ctypes.c_void_p,)
except (OSError, AttributeError):  # another C library: subnormal numbers are zero in callbacks
    _libm = None
_DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV
_Environment = ctypes.c_char * 64  # at least as large as fenv_t


def _python_floats() -> Any:
    """Makes this thread compute as Python does; returns the state to restore."""
    if _libm is None:
        return None
    before = _Environment()
    _libm.fegetenv(before)
    _libm.fesetenv(_DEFAULT)
    return before


# --- errors ---

_failures: collections.OrderedDict[int, BaseException] = collections.OrderedDict()
_failures_lock = threading.RLock()
_failure_numbers = itertools.count(1)
_MARK = "weft callback failure "
_MAX_FAILURES = 64


def _keep(error: BaseException) -> int:
    number = next(_failure_numbers)
    with _failures_lock:
        _failures[number] = error
        if len(_failures) > _MAX_FAILURES:
            _failures.popitem(last=False)
    return number


def take_error(failure: BaseException) -> BaseException | None:
    """The exception in a callback that made a program fail, or `None`. Each exception is returned
    once.

    Args:
      failure: XLA's error.
    """
    text = text_of(failure)
    _, marker, tail = text.partition(_MARK)
    number, _, _ = tail.partition(";")
    if marker and number.isdigit():
        with _failures_lock:
            return _failures.pop(int(number), None)
    # Ctrl-C that came between XLA and the first line of `call`
    interrupted = text.rpartition("\n")[2].startswith("KeyboardInterrupt")
    return KeyboardInterrupt() if interrupted else None


def flush() -> None:
    """Flushes the output of callbacks, so that it is printed even if the process crashes next."""
    if sys.stdout is not None:
        sys.stdout.flush()
