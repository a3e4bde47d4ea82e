"""Loads jaxlib at first use, and adapts to the behaviour of each of its versions.

This is the only module that imports jaxlib. Nothing here, and nothing it loads, imports `jax`.
"""

import functools
import importlib
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import ml_dtypes
import numpy

OLDEST = (0, 10, 2)


class Jaxlib(NamedTuple):
    """The parts of jaxlib that weft uses, and how this version behaves."""

    version: str
    version_info: tuple[int, ...]
    xla: Any
    """`jaxlib._jax`: clients, buffers, executables."""
    hlo: Any
    """`jaxlib._hlo`: shapes, shardings, HLO modules."""
    block_after_collectives: bool
    """Two programs with collectives in flight at once would deadlock: wait after each launch."""
    compiling_raises: bool
    """While XLA compiles in the main thread, it checks for signals and raises handlers' errors."""
    has_to_np_array: bool
    """Buffers of every dtype can be read with `_to_np_array_did_copy`."""

    handler_options: tuple[bool, ...]
    """The last arguments of `xla.array_result_handler`: committed, and before jaxlib 0.11.2, where
    the checks are Python code of jax's, no checks."""

    def register_handler(self, target: str, handlers: object, platform: str = "Host") -> None:
        """Makes a typed FFI handler known to XLA under the name `target`."""
        self.xla.register_custom_call_target(target, handlers, platform, 1, 0)


@functools.cache
def load() -> Jaxlib:
    """jaxlib, loaded at the first call."""
    try:
        xla = importlib.import_module("jaxlib._jax")
        hlo = importlib.import_module("jaxlib._hlo")
        version = importlib.import_module("jaxlib.version").__version__
        utils = importlib.import_module("jaxlib.utils")
    except ImportError as error:
        raise ImportError(
            f"weft compiles with XLA, from the package jaxlib, which can't be imported: {error}\n"
            f"  fix: pip install 'jaxlib>={'.'.join(map(str, OLDEST))}'"
        ) from error
    info = parse(version)
    if info < OLDEST:
        raise ImportError(
            f"weft needs jaxlib {'.'.join(map(str, OLDEST))} or newer; found {version}\n"
            f"  fix: pip install --upgrade jaxlib"
        )
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        # Fatal messages only: XLA also logs every error that it raises, and raising is enough.
        utils.absl_set_min_log_level(3)
    if "jax" not in sys.modules:
        # For the whole process, so not if jax needs them. Without them a call takes 0.2-0.5 us
        # less, and its time does not grow with the depth of the stack (5 us at 200 frames).
        xla.set_tracebacks_enabled(False)
    return Jaxlib(
        version=version,
        version_info=info,
        handler_options=(True, True) if info < (0, 11, 2) else (True,),
        xla=xla,
        hlo=hlo,
        block_after_collectives=info < (0, 12),
        compiling_raises=info < (0, 11),
        has_to_np_array=info >= (0, 11, 2),
    )


def cuda_options() -> dict[str, Any]:
    """The options of a CUDA client, from the environment variables that jaxlib documents."""
    load()
    options = importlib.import_module("jaxlib.xla_client").generate_pjrt_gpu_plugin_options()
    return dict(options)


def lapack_kernels() -> dict[str, Any]:
    """LAPACK's functions as handlers, by the names that programs call."""
    load()
    lapack = importlib.import_module("jaxlib.cpu._lapack")
    lapack.initialize()
    return dict(lapack.registrations())


@functools.cache
def profiler() -> Any:
    """XLA's profiler."""
    load()
    return importlib.import_module("jaxlib._profiler")


@functools.cache
def profile_data() -> Any:
    """The class that reads the profiler's files."""
    load()
    return importlib.import_module("jaxlib._profile_data").ProfileData


def mlir() -> tuple[Any, Any, Any]:
    """MLIR's bindings: contexts and modules, and the dialects StableHLO and CHLO."""
    load()
    ir = importlib.import_module("jaxlib.mlir.ir")
    stablehlo = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    return ir, stablehlo, importlib.import_module("jaxlib.mlir.dialects.chlo")


def parse(version: str) -> tuple[int, ...]:
    """(0, 10, 2) for '0.10.2' and for '0.10.2.dev20260101'."""
    numbers = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


class _Refusal(threading.local):
    """Refuses to import jax, in the thread that is in a block `without_jax`."""

    active = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Called by Python for a module that has not been imported."""
        if self.active and name == "jax":
            raise ModuleNotFoundError("jaxlib imports jax, which weft does not use", name=name)


_refusal = _Refusal()


def jaxlib_is_refused() -> bool:
    """True in a block `without_jax` of this thread: who imports jax now is jaxlib."""
    return _refusal.active


@contextmanager
def without_jax() -> Iterator[None]:
    """A block for the few calls of jaxlib 0.10 that import `jax`: that import fails at once.

    In this thread only: others may import it meanwhile.
    """
    if _refusal not in sys.meta_path:
        sys.meta_path.insert(0, _refusal)
    before, _refusal.active = _refusal.active, True
    try:
        yield
    finally:
        _refusal.active = before


def installed() -> dict[str, str]:
    """The versions of weft, its libraries and Python, and the system."""
    package = __name__.partition(".")[0]
    return {
        package: sys.modules[package].__version__,
        "jaxlib": load().version,
        "numpy": numpy.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
