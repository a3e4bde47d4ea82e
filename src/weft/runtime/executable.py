"""Compiles StableHLO text and runs it. Knows devices and text; knows nothing of tracing.

`Executable.execute` is the hot path of all compiled code: one Python frame around two C++ calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import custom_calls, plugins, versions
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


class Executable:
    """A compiled program, bound to its device.

    XLA checks the byte size of arguments and nothing else: the caller sees to shapes and dtypes.
    """

    __slots__ = ("__weakref__", "_loaded", "device", "execute", "handlers", "outputs", "run")

    execute: Callable[[Sequence[RawBuffer]], list[RawBuffer]]
    """Runs the program: buffers in, buffers out, without waiting for the result."""

    def __init__(self, loaded: Any, outputs: Sequence[Output], device: Device) -> None:
        self._loaded = loaded
        self.device = device
        self.outputs = tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in outputs)
        handlers = [
            device.lib.result_handler(BufferType(shape, dtype), device.sharding)
            for shape, dtype in self.outputs
        ]
        # the two C++ calls themselves, for the hot path of jit (transforms/dispatch.py)
        self.run, self.handlers = loaded.execute_sharded, handlers
        self.execute = executor(self.run, handlers)

    def serialize(self) -> bytes:
        """The machine code, for `load_executable` with the same jaxlib on the same machine."""
        try:
            return bytes(self._loaded.serialize())
        except RuntimeError as error:
            raise XlaRuntimeError(f"serialize: {text_of(error)}", code_of(error)) from None

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', 'transcendentals', …"""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> MemoryAnalysis:
        """How much memory a run takes."""
        stats = self._loaded.get_compiled_memory_stats()
        return MemoryAnalysis(
            argument_bytes=stats.argument_size_in_bytes,
            output_bytes=stats.output_size_in_bytes,
            temp_bytes=stats.temp_size_in_bytes,
            alias_bytes=stats.alias_size_in_bytes,
            peak_bytes=stats.peak_memory_in_bytes,
            generated_code_bytes=stats.generated_code_size_in_bytes,
        )

    def as_text(self) -> str:
        """The optimised program, as HLO text."""
        return str(self._loaded.get_hlo_text())

    def __repr__(self) -> str:
        return f"Executable({len(self.outputs)} outputs, {self.device})"


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


def explain(error: RuntimeError, buffers: Sequence[RawBuffer]) -> RuntimeError:
    """weft's exception for one of XLA's that a run raised."""
    for index, buffer in enumerate(buffers):
        if buffer.is_deleted():
            return DeletedArrayError(f"argument {index} of {len(buffers)}: {DELETED}")
    return XlaRuntimeError(text_of(error), code_of(error))


def compile_text(
    text: str,
    outputs: Sequence[Output],
    device: Device,
    options: Mapping[str, object] = {},
) -> Executable:
    """Compiles a StableHLO module with a public function `main` for one device.

    Args:
      outputs: shape and dtype of each result of `main`; not checked against the text.
      options: fields of XLA's DebugOptions by name, for this program only.
    Raises: XlaCompileError: XLA refuses the text or an option.
    """
    if process.forked:
        raise fork_error()
    custom_calls.register_mentioned(text)
    try:
        loaded = device.client.raw.compile_and_load(
            text, device.device_list, _compile_options([device], options)
        )
    except RuntimeError as error:
        raise _compile_error(error, text) from None
    return Executable(loaded, outputs, device)


def load_executable(
    blob: bytes,
    outputs: Sequence[Output],
    device: Device,
    options: Mapping[str, object] = {},
) -> Executable:
    """What `Executable.serialize` gave, ready to run on `device`.

    A blob is machine code, and XLA checks neither its origin nor the CPU it was made for:
    give it nothing but what this user's `serialize` made, with this jaxlib, for this machine.
    """
    if process.forked:
        raise fork_error()
    custom_calls.register_mentioned(blob)
    try:
        loaded = device.client.raw.deserialize_executable(
            blob, device.device_list, _compile_options([device], options)
        )
    except RuntimeError as error:
        raise XlaRuntimeError(f"load_executable: {text_of(error)}", code_of(error)) from None
    return Executable(loaded, outputs, device)


def _compile_options(devices: Sequence[Device], overrides: Mapping[str, object]) -> Any:
    xla = devices[0].lib.xla
    options = xla.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = len(devices)
    ids = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = xla.DeviceAssignment.create(ids)
    overrides = plugins.compile_options(devices[0].client.name) | dict(overrides)
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


def hlo_text(stablehlo_text: str) -> str:
    """The program before XLA's optimisations, as HLO text."""
    return str(_computation(stablehlo_text).as_hlo_text())


def hlo_proto(stablehlo_text: str) -> bytes:
    """The program before XLA's optimisations, as a serialized HloModuleProto."""
    return bytes(_computation(stablehlo_text).as_serialized_hlo_module_proto())


def hlo_dot(stablehlo_text: str) -> str:
    """The program before XLA's optimisations, as a graph for Graphviz."""
    return str(_computation(stablehlo_text).as_hlo_dot_graph())


def _computation(text: str) -> Any:
    try:
        return versions.load().xla.mlir.mlir_module_to_xla_computation(text)
    except RuntimeError as error:
        raise _compile_error(error, text) from None
