"""StableHLO texts: compiled, as executables that run, and as portable artifacts.

`Executable.run` is the fast path of all compiled code. A portable artifact is bytes that other
versions of XLA read. The format is StableHLO's own, which keeps old versions readable (the
StableHLO compatibility guarantee: five years back, two years ahead). Reading one runs nothing.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import compilation, custom_calls, executors, plugins, versions
from .callback import CALLBACKS, Callback, CallbackGroup, guarded
from .client import Device, elsewhere, process
from .executors import RawBuffer as RawBuffer
from .failures import XlaCompileError, XlaRuntimeError, code_of, fork_error, text_of
from .group import Group, Tiling, tiling, tiling_of

Output: TypeAlias = tuple[Sequence[int], np.dtype[Any]]

# Artifacts are written in StableHLO's version of three months ago, for readers that are so old.
_READERS = "WEEK_12"
_MAGIC = b"ML\xefR"  # the first bytes of MLIR bytecode


class BufferType:
    """The attributes of a buffer's type that XLA's C++ reads."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak_type = False


class _Memory(NamedTuple):
    argument_bytes: int
    output_bytes: int
    temp_bytes: int
    alias_bytes: int
    peak_bytes: int
    generated_code_bytes: int


class MemoryAnalysis(_Memory):
    """The memory that an executable needs, in bytes (0 where the platform does not report it).

    Each number is also available under the name in XLA's own record, as in JAX.
    """

    __slots__ = ()

    argument_size_in_bytes = property(operator.attrgetter("argument_bytes"))
    output_size_in_bytes = property(operator.attrgetter("output_bytes"))
    temp_size_in_bytes = property(operator.attrgetter("temp_bytes"))
    alias_size_in_bytes = property(operator.attrgetter("alias_bytes"))
    peak_memory_in_bytes = property(operator.attrgetter("peak_bytes"))
    generated_code_size_in_bytes = property(operator.attrgetter("generated_code_bytes"))


Target: TypeAlias = Device | Group
"""One device, or several that run a program together."""


class Executable:
    """A compiled program, bound to its device or to the devices of a group.

    XLA checks nothing but the byte sizes of arguments: the caller must check shapes and dtypes.

    Attributes:
      execute: runs the program: buffers in, buffers out, without waiting for the results.
      run, handlers: the two C++ calls of `execute` on one device, for the fast path of jit
        (`transforms/jit/dispatch.py`): the results of `run` make buffers by
        `consume_with_handlers(handlers)`. Without handlers, `run` is `execute`.
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

    run: Callable[[Sequence[RawBuffer]], Any]
    handlers: list[Any] | None

    def __init__(
        self,
        loaded: Any,
        outputs: Sequence[Output],
        device: Target,
        calls_python: bool | CallbackGroup = False,
        compiled: bool = True,
    ) -> None:
        self._loaded = loaded
        self._compiled = compiled  # here, not read from what was serialized
        self.device = device
        self.outputs = tuple([(tuple(shape), np.dtype(dtype)) for shape, dtype in outputs])
        self.tilings = output_tilings(loaded, self.outputs, len(device.devices))
        lib, handlers = device.lib, []
        for (shape, dtype), division in zip(self.outputs, self.tilings, strict=True):
            kind = BufferType(shape, dtype)
            if isinstance(device, Device):
                sharding = device.sharding
            else:
                sharding = device.sharding_of(division)
            handlers.append(lib.xla.array_result_handler(kind, sharding, *lib.handler_options))
        run = loaded.execute_sharded
        self.execute: executors.Execute
        if len(device.devices) == 1 and not calls_python:
            self.execute, self.run, self.handlers = executor(run, handlers), run, handlers
        else:
            self.execute = self.run = self._executor(run, handlers, calls_python)
            self.handlers = None

    def _executor(
        self, run: Callable[..., Any], handlers: list[Any], calls_python: bool | CallbackGroup
    ) -> executors.Execute:
        device = self.device
        if len(device.devices) == 1:
            return executors.waiting_executor(run, handlers)
        together = calls_python if isinstance(calls_python, CallbackGroup) else None
        # callbacks of two programs could occupy all threads, and wait for a third program
        alone = (
            device.platform == "cpu"
            and device.lib.block_after_collectives
            and (together is not None or executors.waits_across_devices(self.as_text()))
        )
        if together is not None:
            return executors.waiting_group_executor(run, handlers, together, alone)
        kind = executors.turn_taking_executor if alone else executors.group_executor
        return kind(run, handlers)

    def serialize(self) -> bytes:
        """The machine code, for `load_executable` with the same jaxlib on the same machine."""
        if not self._compiled:  # XLA's code would lack functions
            raise XlaRuntimeError("serialize: the executable was loaded, not compiled here")
        return serialized(self._loaded)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', 'transcendentals', …"""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> MemoryAnalysis:
        """The memory that one run needs."""
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
            # XLA's own figure omits temporary memory on the CPU, where all of it is allocated
            # when a run begins.
            peak_bytes=at_once if self.device.platform == "cpu" else stats.peak_memory_in_bytes,
            generated_code_bytes=stats.generated_code_size_in_bytes,
        )

    def as_text(self) -> str:
        """The optimised program, as HLO text."""
        return str(self._loaded.get_hlo_text())

    def __repr__(self) -> str:
        return f"Executable({len(self.outputs)} outputs, {self.device})"


def executor(run: Callable[[Any], Any], handlers: list[Any]) -> executors.Execute:
    """The function that runs a program on one device, without waiting for the results.

    It is a closure around two C++ calls, because attribute look-ups would cost more.
    """
    state = process

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        if state.forked:
            raise fork_error()
        try:
            return run(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            raise executors.explain(error, buffers) from None

    return execute


def is_several(target: Target) -> bool:
    """True if a target is several devices, which run a program together."""
    return len(target.devices) > 1


def serialized(loaded: Any) -> bytes:
    """The machine code of XLA's executable."""
    try:
        return bytes(loaded.serialize())
    except RuntimeError as error:
        raise XlaRuntimeError(f"serialize: {text_of(error)}", code_of(error)) from None


def output_tilings(loaded: Any, outputs: Sequence[Output], count: int) -> list[Tiling]:
    """The tiling of each output of a program for `count` devices."""
    if count == 1:
        return [Tiling((1,) * len(shape), (0,)) for shape, _ in outputs]
    raw = loaded.get_output_shardings()
    if raw is None:
        return [tiling((1,) * len(shape), range(count)) for shape, _ in outputs]
    return [tiling_of(r, len(s), count) for r, (s, _) in zip(raw, outputs, strict=True)]


def compile_text(
    text: str,
    outputs: Sequence[Output],
    device: Target,
    options: Mapping[str, object] = {},
    callbacks: Sequence[Callback] = (),
) -> Executable:
    """Compiles a StableHLO module with a public function `main` for one device, or for several.

    For several devices its types are those of whole arrays, and Shardy's attributes
    (`sdy.sharding`) divide them.

    Args:
      outputs: shape and dtype of each result of `main`; not checked against the text.
      options: fields of XLA's DebugOptions by name, for this program only.
      callbacks: the Python functions that the program calls, by number.
    Raises: XlaCompileError: XLA refuses the text or an option.
    """
    if callbacks:  # they are given when an executable is loaded, which takes a millisecond
        code = compile_code(text, device, options)
        return load_executable(code, outputs, device, options, callbacks)
    if any([name in text for name in CALLBACKS.values()]):  # running it would crash the process
        raise ValueError("compile_text: the program calls Python functions; got none of them")
    return Executable(_compiled(text, device, options), outputs, device)


def compile_code(text: str, device: Target, options: Mapping[str, object] = {}) -> bytes:
    """The machine code of a program, for `load_executable`."""
    return serialized(_compiled(text, device, options))


def _compiled(text: str, device: Target, options: Mapping[str, object]) -> Any:
    require_devices(device)
    if custom_calls.LAPACK in text:
        custom_calls.register_mentioned(text)
    try:
        return compilation.compiled(
            device.client.raw, text, device.device_list, _compile_options(device, options)
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
    """Loads the result of `Executable.serialize`, ready to run on `device`.

    A blob is machine code, and XLA checks neither its origin nor its CPU. Pass only blobs that this
    user's `serialize` made, with this jaxlib, for this machine.
    """
    require_devices(device)
    if not callbacks and any([name.encode() in blob for name in CALLBACKS.values()]):
        raise ValueError("load_executable: the program calls Python functions; got none of them")
    if custom_calls.LAPACK.encode() in blob:
        custom_calls.register_mentioned(blob)
    together = CallbackGroup() if callbacks and is_several(device) else None
    functions = [guarded(c) if together is None else together.guarded(c) for c in callbacks]
    try:
        loaded = device.client.raw.deserialize_executable(
            blob, device.device_list, _compile_options(device, options), functions
        )
    except RuntimeError as error:
        raise XlaRuntimeError(f"load_executable: {text_of(error)}", code_of(error)) from None
    return Executable(loaded, outputs, device, together or bool(callbacks), compiled=False)


def require_devices(target: Target) -> None:
    """Raises an error if this process has none of the devices: XLA would crash."""
    if process.forked:
        raise fork_error()
    if all([d.process_index != d.client.process_index for d in target.devices]):
        raise elsewhere(", ".join(map(str, target.devices)))


def _compile_options(target: Target, overrides: Mapping[str, object]) -> Any:
    devices = target.devices
    xla = target.lib.xla
    options = xla.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = len(devices)
    ids = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = xla.DeviceAssignment.create(ids)
    if target.is_partitioned:
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = True
    overrides = plugins.compile_options(target.client.name) | dict(overrides)
    if overrides:
        options.env_option_overrides = list(overrides.items())
    return options


def _compile_error(error: RuntimeError, text: str) -> XlaCompileError:
    """XLA's message, with the line of the program that it points at."""
    message = text_of(error)
    _, marker, place = message.partition("-:")
    line_number, _, _ = place.partition(":")
    lines = text.splitlines()
    if marker and line_number.isdigit() and 0 < int(line_number) <= len(lines):
        message += f"\n  in line {line_number}: {lines[int(line_number) - 1].strip()[:500]}"
    return XlaCompileError(message, code_of(error))


# --- programs that are not run ---


class HloComputation:
    """A program before XLA's optimisations, in HLO.

    Args:
      text: a StableHLO module.
      tuple_args: True to take all arguments as one tuple.
      return_tuple: True to return a tuple even for a single result.
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


def _dialects() -> tuple[Any, Any]:
    """A context that knows StableHLO and CHLO, and StableHLO's functions."""
    ir, stablehlo, chlo = versions.mlir()
    context = ir.Context()
    for dialect in (stablehlo, chlo):
        dialect.register_dialect(context)
    return context, stablehlo


def portable_artifact(text: str) -> bytes:
    """A module of StableHLO text as a portable artifact."""
    context, stablehlo = _dialects()
    readers = getattr(stablehlo.StablehloCompatibilityRequirement, _READERS)
    version = stablehlo.get_version_from_compatibility_requirement(readers)
    with context:
        return bytes(versions.load().xla.mlir.serialize_portable_artifact(text, version, True))


def text_of_artifact(artifact: bytes) -> str:
    """The StableHLO text of a portable artifact.

    Raises: ValueError: not an artifact, or one of a version that this jaxlib doesn't know.
    """
    context, stablehlo = _dialects()
    try:
        if not artifact.startswith(_MAGIC):
            raise ValueError("not MLIR's bytecode")
        with context:
            module = stablehlo.deserialize_portable_artifact(context, artifact)
            # no aliases, which would stand outside of the module
            return str(module.operation.get_asm(use_local_scope=True))
    except (RuntimeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"deserialize: jaxlib {versions.load().version} can't read the StableHLO inside: "
            f"{str(error) or type(error).__name__}\n"
            "  fix: a newer jaxlib, or export again with an older one"
        ) from None
