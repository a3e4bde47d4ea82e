"""Compiles StableHLO text and runs it. Knows devices and text; knows nothing of tracing.

`Executable.execute` is the hot path of all compiled code: one Python frame around two C++ calls.
"""

import contextlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import custom_calls, plugins, versions
from .callback import CALLBACK, Callback, flush, guarded, take_error
from .client import Device, process
from .failures import (
    DELETED,
    DeletedArrayError,
    XlaCompileError,
    XlaRuntimeError,
    code_of,
    fork_error,
    text_of,
)
from .group import Group, Tiling, tiling, tiling_of

RawBuffer: TypeAlias = Any
"""What XLA calls an array. Opaque: the functions of `buffer` work on it."""

Output: TypeAlias = tuple[Sequence[int], np.dtype[Any]]


class BufferType:
    """What XLA's C++ reads of a buffer's type."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak_type = False


class MemoryAnalysis(NamedTuple):
    """How much memory an executable needs, in bytes (0 where the platform does not say)."""

    argument_bytes: int
    output_bytes: int
    temp_bytes: int
    alias_bytes: int
    peak_bytes: int
    generated_code_bytes: int


Target: TypeAlias = Device | Group
"""Where a program runs: on one device, or on several together."""


class Executable:
    """A compiled program, bound to its device, or to the devices of a group.

    XLA checks the byte size of arguments and nothing else: the caller sees to shapes and dtypes.
    """

    __slots__ = (
        "__weakref__",
        "_compiled",
        "_loaded",
        "device",
        "execute",
        "handlers",
        "outputs",
        "run",
        "tilings",
    )

    execute: Callable[[Sequence[RawBuffer]], list[RawBuffer]]
    """Runs the program: buffers in, buffers out, without waiting for the result."""

    def __init__(
        self,
        loaded: Any,
        outputs: Sequence[Output],
        device: Target,
        calls_python: bool = False,
        compiled: bool = True,
    ) -> None:
        self._loaded = loaded
        self._compiled = compiled  # here, not read from what was serialized
        self.device = device
        self.outputs = tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in outputs)
        self.tilings: list[Tiling] = []  # how each output is divided among the devices of a group
        shardings = [device.sharding] * len(outputs) if isinstance(device, Device) else []
        if isinstance(device, Group):
            self.tilings = output_tilings(loaded, [len(s) for s, _ in outputs], device)
            shardings = [device.sharding(t) for t in self.tilings]
        handlers = [
            device.lib.result_handler(BufferType(shape, dtype), sharding)
            for (shape, dtype), sharding in zip(self.outputs, shardings, strict=True)
        ]
        # the two C++ calls themselves, for the hot path of jit (transforms/dispatch.py)
        self.run, self.handlers = loaded.execute_sharded, handlers
        if calls_python:
            self.execute = waiting_executor(self.run, handlers)
        elif must_take_turns(loaded, device):
            self.execute = turn_taking_executor(self.run, handlers)
        else:
            self.execute = executor(self.run, handlers)

    def serialize(self) -> bytes:
        """The machine code, for `load_executable` with the same jaxlib on the same machine."""
        if not self._compiled:  # XLA would give code in which functions are missing
            raise XlaRuntimeError("serialize: the executable was loaded, not compiled here")
        return serialized(self._loaded)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', 'transcendentals', …"""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> MemoryAnalysis:
        """How much memory a run takes."""
        stats = self._loaded.get_compiled_memory_stats()
        at_once = (
            stats.argument_size_in_bytes
            + stats.output_size_in_bytes
            + stats.temp_size_in_bytes
            - stats.alias_size_in_bytes
        )
        return MemoryAnalysis(
            argument_bytes=stats.argument_size_in_bytes,
            output_bytes=stats.output_size_in_bytes,
            temp_bytes=stats.temp_size_in_bytes,
            alias_bytes=stats.alias_size_in_bytes,
            # XLA's own figure leaves temporary memory out on the CPU, where all of it is allocated
            # when a run begins.
            peak_bytes=at_once if self.device.platform == "cpu" else stats.peak_memory_in_bytes,
            generated_code_bytes=stats.generated_code_size_in_bytes,
        )

    def as_text(self) -> str:
        """The optimised program, as HLO text."""
        return str(self._loaded.get_hlo_text())

    def __repr__(self) -> str:
        return f"Executable({len(self.outputs)} outputs, {self.device})"


def serialized(loaded: Any) -> bytes:
    """The machine code of XLA's executable."""
    try:
        return bytes(loaded.serialize())
    except RuntimeError as error:
        raise XlaRuntimeError(f"serialize: {text_of(error)}", code_of(error)) from None


def output_tilings(loaded: Any, ndims: Sequence[int], group: Group) -> list[Tiling]:
    """How the outputs of a program for a group are divided."""
    count = len(group.devices)
    raw = loaded.get_output_shardings()
    if raw is None or count == 1:
        return [tiling((1,) * n, range(count)) for n in ndims]
    return [tiling_of(r, n, count) for r, n in zip(raw, ndims, strict=True)]


def executor(run: Callable[[Any], Any], handlers: list[Any]) -> Callable[[Any], Any]:
    """The function that `Executable.execute` is. A closure: attributes would cost 0.1 us."""
    state = process

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        if state.forked:
            raise fork_error()
        try:
            return run(buffers).consume_with_handlers(handlers)  # type: ignore[no-any-return]
        except RuntimeError as error:
            raise explain(error, buffers) from None

    return execute


# --- programs in which devices wait for each other ---

_COLLECTIVES = re.compile(r"= [^=]*\b(all-|reduce-scatter|collective-|ragged-)")


class _Turn:
    """The last program with collectives that was begun in this process."""

    __slots__ = ("lock", "token")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.token: Any = None


_turn = _Turn()


def must_take_turns(loaded: Any, device: Target) -> bool:
    """Whether such a program may not run at the same time as another.

    On the CPU, devices are threads of one pool. Before jaxlib 0.12, two programs whose devices wait
    for each other may each get some of them, and wait for ever.
    """
    return (
        isinstance(device, Group)
        and len(device.devices) > 1
        and device.platform == "cpu"
        and device.lib.block_after_collectives
        and _COLLECTIVES.search(loaded.get_hlo_text()) is not None
    )


def turn_taking_executor(run: Callable[..., Any], handlers: list[Any]) -> Callable[[Any], Any]:
    """`Executable.execute` of a program that begins when the last one of its kind has ended.

    The wait is before a program, not after it: what the caller does in between goes on at the same
    time.
    """
    state, turn = process, _turn

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        if state.forked:
            raise fork_error()
        with turn.lock:
            if turn.token is not None:
                with contextlib.suppress(RuntimeError):  # its own results say so when asked for
                    turn.token.block_until_ready()
            try:
                results = run(buffers, with_tokens=True)
                turn.token = results.consume_token()
                return results.consume_with_handlers(handlers)  # type: ignore[no-any-return]
            except RuntimeError as error:
                raise explain(error, buffers) from None

    return execute


def waiting_executor(run: Callable[[Any], Any], handlers: list[Any]) -> Callable[[Any], Any]:
    """`Executable.execute` of a program that calls Python: when it returns, all has been done.

    An exception in a callback comes out as it is.
    """
    state = process

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        if state.forked:
            raise fork_error()
        try:
            # With its arguments there, XLA runs such a program in this thread. It would run it in
            # one of its own otherwise, of which there are as many as cores: a callback that waits
            # for a program in turn would take away the thread that is to run that.
            for buffer in buffers:
                buffer.block_until_ready()
            results: list[RawBuffer] = run(buffers).consume_with_handlers(handlers)
            for result in results:
                result.block_until_ready()
            return results
        except RuntimeError as error:
            failure = take_error(error) or explain(error, buffers)
        finally:
            flush()
        try:
            raise failure  # not while XLA's error is being handled: it would be its context
        finally:
            del failure  # it refers to this frame

    return execute


def explain(error: RuntimeError, buffers: Sequence[RawBuffer]) -> RuntimeError:
    """weft's exception for one of XLA's that a run raised."""
    for index, buffer in enumerate(buffers):
        if buffer.is_deleted():
            return DeletedArrayError(f"argument {index} of {len(buffers)}: {DELETED}")
    return XlaRuntimeError(text_of(error), code_of(error))


def compile_text(
    text: str,
    outputs: Sequence[Output],
    device: Target,
    options: Mapping[str, object] = {},
    callbacks: Sequence[Callback] = (),
) -> Executable:
    """Compiles a StableHLO module with a public function `main` for one device, or for several.

    For several, its types are those of whole arrays; Shardy's attributes (`sdy.sharding`) say how
    they are divided.

    Args:
      outputs: shape and dtype of each result of `main`; not checked against the text.
      options: fields of XLA's DebugOptions by name, for this program only.
      callbacks: the Python functions that the program calls, by number.
    Raises: XlaCompileError: XLA refuses the text or an option.
    """
    if callbacks:  # they are given when an executable is loaded, which takes a millisecond
        code = compile_code(text, device, options)
        return load_executable(code, outputs, device, options, callbacks)
    if CALLBACK in text:  # running it would crash the process
        raise ValueError("compile_text: the program calls Python functions; got none of them")
    return Executable(_compiled(text, device, options), outputs, device)


def compile_code(text: str, device: Target, options: Mapping[str, object] = {}) -> bytes:
    """The machine code of a program, for `load_executable`."""
    return serialized(_compiled(text, device, options))


def _compiled(text: str, device: Target, options: Mapping[str, object]) -> Any:
    if process.forked:
        raise fork_error()
    custom_calls.register_mentioned(text)
    try:
        return device.client.raw.compile_and_load(
            text, device.device_list, _compile_options(device, options)
        )
    except RuntimeError as error:
        raise _compile_error(error, text) from None


def load_executable(
    blob: bytes,
    outputs: Sequence[Output],
    device: Target,
    options: Mapping[str, object] = {},
    callbacks: Sequence[Callback] = (),
) -> Executable:
    """What `Executable.serialize` gave, ready to run on `device`.

    A blob is machine code, and XLA checks neither its origin nor the CPU it was made for:
    give it nothing but what this user's `serialize` made, with this jaxlib, for this machine.
    """
    if process.forked:
        raise fork_error()
    if CALLBACK.encode() in blob and not callbacks:
        raise ValueError("load_executable: the program calls Python functions; got none of them")
    custom_calls.register_mentioned(blob)
    functions = [guarded(c) for c in callbacks]
    try:
        loaded = device.client.raw.deserialize_executable(
            blob, device.device_list, _compile_options(device, options), functions
        )
    except RuntimeError as error:
        raise XlaRuntimeError(f"load_executable: {text_of(error)}", code_of(error)) from None
    return Executable(loaded, outputs, device, bool(callbacks), compiled=False)


def _compile_options(target: Target, overrides: Mapping[str, object]) -> Any:
    devices = [target] if isinstance(target, Device) else target.devices
    xla = target.lib.xla
    options = xla.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = len(devices)
    ids = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = xla.DeviceAssignment.create(ids)
    if isinstance(target, Group):
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = True
    overrides = plugins.compile_options(target.client.name) | dict(overrides)
    if overrides:
        options.env_option_overrides = list(overrides.items())
    return options


def _compile_error(error: RuntimeError, text: str) -> XlaCompileError:
    """XLA's message, with the line of the program that it points at."""
    message = text_of(error)
    _, found, place = message.partition("-:")
    line_number, _, _ = place.partition(":")
    lines = text.splitlines()
    if found and line_number.isdigit() and 0 < int(line_number) <= len(lines):
        message += f"\n  in line {line_number}: {lines[int(line_number) - 1].strip()[:500]}"
    return XlaCompileError(message, code_of(error))


# --- programs that are not run ---


class HloComputation:
    """A program before XLA's optimisations, in XLA's own language.

    Args:
      text: a StableHLO module.
      tuple_args: whether it takes one tuple of all arguments.
      return_tuple: whether it gives a tuple, though there be one result only.
    """

    __slots__ = ("_raw",)

    def __init__(self, text: str, *, tuple_args: bool = False, return_tuple: bool = False) -> None:
        convert = versions.load().xla.mlir.mlir_module_to_xla_computation
        try:
            self._raw = convert(text, use_tuple_args=tuple_args, return_tuple=return_tuple)
        except RuntimeError as error:
            raise _compile_error(error, text) from None

    def name(self) -> str:
        """The program's name."""
        return str(self._raw.name())

    def as_hlo_text(self) -> str:
        """The program as HLO text."""
        return str(self._raw.as_hlo_text())

    def as_serialized_hlo_module_proto(self) -> bytes:
        """The program as a serialized HloModuleProto."""
        return bytes(self._raw.as_serialized_hlo_module_proto())

    def as_hlo_dot_graph(self) -> str:
        """The program as a graph for Graphviz."""
        return str(self._raw.as_hlo_dot_graph())

    def __repr__(self) -> str:
        return f"HloComputation({self.name()})"
