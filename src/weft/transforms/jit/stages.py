"""Traced, Lowered, Compiled: the stages of a compilation. ShapeDtypeStruct, ArgInfo.

`jit` and `pmap` keep a `Traced` for each signature (`dispatch.py`) and run it. Users get the same
objects from `trace`, `lower` and `compile`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...compiler.compiled import CompiledProgram, ProgramTarget, compiled_for
from ...compiler.lowered import LoweredProgram
from ...compiler.segments import SegmentedExecutable
from ...core.array import Array, Tracer
from ...core.aval import Aval, aval
from ...core.caching import remember
from ...core.jaxpr import Jaxpr
from ...core.placement import ArrayType
from ...core.source import located
from ...core.trace import Trace, current, looked_at
from ...core.value import Value
from ...dtypes import float0
from ...errors import ShapeError
from ...lazy import Deferred
from ...option_checks import shape_of
from ...runtime import client, executable as runtime
from ...tree_util import PyTreeDef, tree_flatten
from ...user_lines import noted
from ..arguments import argument_values
from ..ref_use import WeakRefUse
from .dispatch import Programs, fast_entry
from .donation import owned, release

if TYPE_CHECKING:
    from ...compiler.compile_report import CompileReport
    from ...compiler.memory import MemoryPlan

_optimized, _memory = Deferred("weft.compiler.optimized"), Deferred("weft.compiler.memory")
_report = Deferred("weft.compiler.compile_report")


class ShapeDtypeStruct:
    """A shape and a dtype, standing for an array that is not computed.

    Args:
      shape: a sequence of lengths.
      dtype: the dtype.
      sharding: the sharding of the array, for `lower`.
    Raises: TypeError: the shape is not a sequence of ints, or the dtype is missing. ShapeError: a
      length is negative.
    Example:
      >>> ShapeDtypeStruct((3,), "float32")
      ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ("dtype", "named_shape", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        named_shape: Any = None,
        weak_type: bool = False,
        sharding: Any = None,
    ) -> None:
        if dtype is None:
            raise noted(TypeError("ShapeDtypeStruct: dtype must be given, such as 'float32'"))
        lengths = shape_of("ShapeDtypeStruct", shape)
        a = aval(lengths, dtypes.canonicalize_dtype(dtype), weak_type)
        self.shape, self.dtype, self.weak_type = a.shape, a.dtype, weak_type
        self.named_shape = dict(named_shape or {})
        self.sharding = sharding

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len: expected a struct with at least one axis; got {self}")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # instead of `len`, which would make an empty shape false

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ShapeDtypeStruct)
            and (self.shape, self.dtype) == (other.shape, other.dtype)
            and self.named_shape == other.named_shape
            and self.sharding == other.sharding
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def struct_of(a: Aval) -> ShapeDtypeStruct:
    """The public form of an aval."""
    return ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)


@dataclass(frozen=True)
class ArgInfo:
    """A leaf of the arguments for which a function was traced.

    Attributes:
      shape, dtype: the shape and the dtype of the leaf.
      donated: whether its memory may be used for results.
    Example:
      >>> traced = jit(lambda x: 2 * x, donate_argnums=0).trace(np.ones(3))
      >>> traced.args_info[0][0]
      ArgInfo(shape=(3,), dtype=dtype('float32'), donated=True)
    Source: JAX documentation, `jax.stages.ArgInfo`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    donated: bool


class Traced(ABC):
    """A function traced on a signature. `.jaxpr` is the program; `.lower()` is the next stage.

    Attributes:
      in_tree, out_tree: the structures of (positional arguments, keywords) and of the result.
      types: the types of the argument leaves: their avals and placements.
      donated: the numbers of the donated argument leaves; `donate_argnums`: the positions of the
        donated arguments.
      holds_tracers: True if it closes over tracers.
      refs: the refs that it uses, or `None`. Refs from outside are additional arguments, and the
        results are a pair: the function's result, and the new values of the refs that it writes.
      is_open: True if it closes over tracers or refs, which may have ended.
    Example:
      >>> traced = jit(lambda x: 2 * x).trace(np.ones(3))
      >>> traced.jaxpr
      { lambda ; a:f32[3]. let
          b:f32[3] = mul 2.0:f32[]* a
        in (b,) }
    """

    donated: tuple[int, ...]

    def __init__(
        self,
        jaxpr: Jaxpr,
        trees: tuple[PyTreeDef, PyTreeDef],
        name: str,
        types: Sequence[ArrayType],
        donate_argnums: tuple[int, ...],
        refs: WeakRefUse | None = None,
    ) -> None:
        self.jaxpr, self.fun_name, self.donate_argnums = jaxpr, name, donate_argnums
        (self.in_tree, self.out_tree), self.types = trees, types
        self.holds_tracers = any(isinstance(c, Tracer) for c in jaxpr.consts)
        self.refs = refs
        self.is_open = self.holds_tracers or (refs is not None and refs.closes_over_refs)
        self.float0_outs = [i for i, a in enumerate(jaxpr.out_avals) if a.dtype == float0]
        self._fast: dict[tuple[ArrayType, ...], Any] = {}  # entries of the fast path

    def alive(self) -> bool:
        """True if no trace of a value that it closes over has ended."""
        if self.refs is not None and not self.refs.alive():
            return False
        return all([not c._trace.closed for c in self.jaxpr.consts if isinstance(c, Tracer)])

    # --- inspection, and the next stage ---

    @property
    def avals(self) -> tuple[list[Aval], list[Aval]]:
        """The avals of the argument leaves and of the results."""
        return self.jaxpr.in_avals, self.jaxpr.out_avals

    @property
    def whole_jaxpr(self) -> Jaxpr:
        """The program of whole arguments. For a map, `jaxpr` is the program of one device."""
        return self.jaxpr

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return self.out_tree.unflatten([struct_of(a) for a in self.avals[1]])

    @property
    def args_info(self) -> Any:
        """A pair (positional arguments, keyword arguments), with an `ArgInfo` for each leaf."""
        return self.in_tree.unflatten(
            [ArgInfo(a.shape, a.dtype, i in self.donated) for i, a in enumerate(self.avals[0])]
        )

    @located
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """The program as StableHLO.

        Args:
          lowering_platforms: the current platform, by one of its names; or None.
        Raises: ValueError: another platform is named.
        """
        here = client.default_device().platform
        if lowering_platforms is not None and {*map(client.platform_of, lowering_platforms)} != {
            here
        }:
            raise ValueError(
                f"lower: lowering_platforms must be [{here!r}], which is used here; got "
                f"{lowering_platforms!r}\n  fix: weft.export.export(f, platforms=…)"
            )
        return Lowered(self, self.program())

    @abstractmethod
    def program(self, options: dict[str, Any] | None = None) -> LoweredProgram:
        """The program that XLA compiles; it is made at the first use.

        Args:
          options: XLA's options; they replace those passed to `jit`.
        """

    @abstractmethod
    def target(self, types: Sequence[ArrayType], program: LoweredProgram) -> ProgramTarget:
        """The devices on which the program runs for arguments of these types."""

    # --- running ---

    @abstractmethod
    def apply(self, values: Sequence[Value], trace: Trace) -> Any:
        """The result for values inside another transformation."""

    def run(self, values: Sequence[Array], compiled: CompiledProgram | None = None) -> Any:
        """The result for arrays.

        Args:
          compiled: the program, if it was compiled ahead of time.
        """
        compiled = compiled or self.compiled_for([v.type for v in values])
        if compiled.donated:
            values = owned(compiled, values)
        outs = self.run_compiled(compiled, values)
        for i in compiled.donated:
            release(values[i])
        return self.unflatten(outs)

    def compiled_for(
        self, types: Sequence[ArrayType], program: LoweredProgram | None = None
    ) -> CompiledProgram:
        """The program compiled for arguments of these types."""
        program = program or self.program()
        return compiled_for(program, self.target(types, program))

    def run_compiled(self, compiled: CompiledProgram, values: Sequence[Array]) -> list[Array]:
        """The outputs of the program for arrays."""
        return compiled.run(values)

    def unflatten(self, outs: Sequence[Any]) -> Any:
        """The result from these outputs, with NumPy arrays for zero tangents of integers
        (float0)."""
        outs = [*outs]
        for i in self.float0_outs:
            outs[i] = np.zeros(outs[i].shape, float0)
        return self.out_tree.unflatten(outs)

    def put_on_fast_path(
        self, programs: Programs, args: tuple[Any, ...], tree: PyTreeDef, values: Sequence[Array]
    ) -> None:
        """Makes calls with arguments of these types take the fast path, if it supports them.

        Args:
          args, tree: the positional arguments and their structure.
        """
        types = tuple([v.type for v in values])
        if types not in self._fast:
            entry = fast_entry(self.compiled_for(types), types, self.out_tree)
            remember(self._fast, types, entry)
        if (entry := self._fast.get(types)) is not None:
            programs.put_on_fast_path(args, tree, types, entry)


class LaterStage:
    """A stage after `Traced`: the program of a traced function."""

    def __init__(self, traced: Traced, program: LoweredProgram) -> None:
        self.traced, self.program = traced, program
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        self.donate_argnums = traced.donate_argnums

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return self.traced.out_info

    @property
    def args_info(self) -> Any:
        """A pair (positional arguments, keyword arguments), with an `ArgInfo` for each leaf."""
        return self.traced.args_info


class Lowered(LaterStage):
    """A program as StableHLO text: `as_text()`, `compile()`, `cost_analysis()`.

    Example:
      >>> lowered = jit(lambda x: 2 * x).lower(np.ones(3))
      >>> print(lowered.as_text().splitlines()[2].strip())
      %1 = stablehlo.constant dense<2.0> : tensor<f32>
    """

    def __init__(self, traced: Traced, program: LoweredProgram) -> None:
        super().__init__(traced, program)
        self.target = traced.target(traced.types, program)
        self.text, self.module = self.target.text(program)

    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The program as text: 'stablehlo', or XLA's 'hlo' before optimisation.

        Args:
          debug_info: has no effect; programs have source lines only under the switch `debug_lines`.
        """
        if dialect == "stablehlo":
            return str(self.text)
        if dialect == "hlo":
            return runtime.HloComputation(self.text).as_hlo_text()
        raise ValueError(f"as_text: dialect must be 'stablehlo' or 'hlo'; got {dialect!r}")

    def compiler_ir(self, dialect: str = "stablehlo") -> "str | runtime.HloComputation":
        """The program: for 'stablehlo' its text, for 'hlo' an object with `as_hlo_text()`."""
        return runtime.HloComputation(self.text) if dialect == "hlo" else self.as_text(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work of the program."""
        return self.compile().cost_analysis()

    def compile_report(self) -> "CompileReport":
        """Compiles the program again, and reports what the compiler's passes did and how long they
        took.

        Example:
          >>> def f(x, xs):
          ...     for i in range(100):
          ...         x = np.sin(x) * (1 + i) + xs[i].sum()
          ...     return x
          >>> report = jit(f).lower(np.ones(3), np.ones((100, 3))).compile_report()
          >>> report.equations, report.blocks[0].equations, report.numbers
          (600, 30, 200)
        """
        report: CompileReport = _report.compile_report(self.program, self.target)
        return report

    @located
    def compile(
        self, compiler_options: dict[str, Any] | None = None, *, device_assignment: None = None
    ) -> "Compiled":
        """Compiles the program.

        Args:
          compiler_options: XLA's debug options by name, e.g. `xla_backend_optimization_level`; they
            replace those passed to `jit`.
          device_assignment: must be None.
        Raises: ValueError: a device assignment is passed.
        """
        if device_assignment is not None:
            raise ValueError(
                f"compile: device_assignment must be None; got {device_assignment!r:.60}\n"
                "  fix: jit(…, in_shardings=…) chooses the devices"
            )
        program = self.traced.program(compiler_options) if compiler_options else self.program
        compiled = compiled_for(program, self.target)
        executable = compiled.executable or self.target.compile_anew(program)
        return Compiled(self.traced, program, compiled, executable)


class Compiled(LaterStage):
    """An executable for one signature. Calling it runs the program; another signature raises an
    error.

    Example:
      >>> compiled = jit(lambda x: 2 * x).lower(np.ones(3)).compile()
      >>> compiled(np.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
    """

    def __init__(
        self,
        traced: Traced,
        program: LoweredProgram,
        compiled: CompiledProgram,
        executable: runtime.Executable,
    ) -> None:
        super().__init__(traced, program)
        self.compiled, self.executable, self.in_avals = compiled, executable, traced.avals[0]
        self.input_shardings = traced.in_tree.unflatten(compiled.input_shardings())
        self.output_shardings = traced.out_tree.unflatten(compiled.output_shardings())

    def as_text(self) -> str:
        """The program as XLA optimised it, as HLO text."""
        return str(self.executable.as_text())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', …"""
        return dict(self.executable.cost_analysis())

    def memory_analysis(self) -> Any:
        """The memory of a run in bytes: arguments, outputs, temporary buffers, the peak."""
        return self.executable.memory_analysis()

    def memory(self) -> "MemoryPlan":
        """The memory of a run: its peak, and the largest buffers. `jit(f).memory(x)` also has their
        lines. A program that runs as several executables is compiled again, as one."""
        if isinstance(self.executable, SegmentedExecutable):
            options = {**self.program.options, "weft_segments": False}
            return self.traced.lower().compile(options).memory()
        labels = self.traced.jaxpr.labels
        names = [labels.argument(i) or f"argument #{i}" for i in self.program.live]
        optimized = _optimized.OptimizedProgram(self.as_text())
        plan: MemoryPlan = _memory.MemoryPlan(
            self.program.name, self.memory_analysis(), optimized, names
        )
        return plan

    def runtime_executable(self) -> Any:
        """The executable object of the runtime."""
        return self.executable

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.traced.refs is not None:
            raise TypeError(
                f"{self.traced.fun_name}: a function that reads or writes refs can't be called by "
                "its compiled program\n  fix: call the jitted function itself"
            )
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ShapeError(
                f"{self.traced.fun_name}: compiled for arguments of structure {self.in_tree}; got "
                f"{tree}"
            )
        values = argument_values(
            "compiled function",
            self.traced.fun_name,
            leaves,
            lambda: [f"#{i}" for i in range(len(leaves))],
        )
        for i, (v, a) in enumerate(zip(values, self.in_avals, strict=True)):
            if v.aval.shape != a.shape or v.aval.dtype != a.dtype:
                raise ShapeError(
                    f"{self.traced.fun_name}: compiled for {a} as argument leaf {i}; got {v.aval}\n"
                    "  fix: call the jitted function itself, which compiles for each signature"
                )
            if not isinstance(v, Array):
                raise TypeError(
                    f"{self.traced.fun_name}: a compiled function can't be traced again (argument "
                    f"leaf {i} is {v})\n  fix: use the jitted function inside transformations"
                )
        if looked_at():  # if a debugging switch inspects operations, the call is one of them
            return self.traced.apply(values, current.trace)
        compiled = self.compiled
        if compiled.follows_data:
            compiled = self.traced.compiled_for([v.type for v in values], self.program)
        return self.traced.run(values, compiled)
