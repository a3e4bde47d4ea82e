"""The steps of a compilation as values: traced, lowered, compiled. Each can be looked at.

Knows programs; knows nothing of caching.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import dtypes
from ...compiler.loaded import Loaded
from ...compiler.program import Program
from ...core.array import Array
from ...core.aval import Aval, aval
from ...core.placement import ArrayType
from ...core.source import located
from ...core.trace import current, looked_at
from ...errors import ShapeError
from ...runtime import client, executable as runtime
from ...tree_util import PyTreeDef, tree_flatten
from ..arguments import argument_values
from .entry import Entry


class ShapeDtypeStruct:
    """A shape and a dtype: what is known of an array that isn't computed.

    Args:
      sharding: how such an array lies on devices, for `lower`.
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
        known = aval(tuple(shape), dtypes.canonicalize_dtype(dtype), weak_type)
        self.shape, self.dtype, self.weak_type = known.shape, known.dtype, weak_type
        self.named_shape = dict(named_shape or {})
        self.sharding = sharding

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for length in self.shape:
            n *= length
        return n

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len: expected a struct with at least one axis; got {self}")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # it has no elements that could be asked for, however many it is of

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
    """An argument's leaf: what a function was traced for.

    Attributes:
      shape, dtype: of the leaf.
      donated: whether its memory may be used for results.
    Source: JAX documentation, `jax.stages.ArgInfo`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    donated: bool


class Traced:
    """A function traced on a signature. `.jaxpr` is the program; `.lower()` goes on.

    Args:
      types: of the arguments' leaves: what they are, and where.
    """

    def __init__(
        self,
        entry: Entry,
        in_tree: PyTreeDef,
        name: str,
        types: Sequence[ArrayType],
        donated: tuple[int, ...],
    ) -> None:
        self.entry, self.in_tree, self.fun_name, self.types = entry, in_tree, name, types
        self.jaxpr, self.out_tree, self.donate_argnums = entry.jaxpr, entry.out_tree, donated

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return self.out_tree.unflatten([struct_of(a) for a in self.jaxpr.out_avals])

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each leaf of the arguments: a pair (positional ones, keywords)."""
        donated = self.entry.donated
        return self.in_tree.unflatten(
            [ArgInfo(a.shape, a.dtype, i in donated) for i, a in enumerate(self.jaxpr.in_avals)]
        )

    @located
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """The program as StableHLO.

        Args:
          lowering_platforms: the platform that is used here, by one of its names; or None for it.
        Raises: ValueError: others are named.
        """
        here = client.default_device().platform
        if lowering_platforms is not None and {*map(client.platform_of, lowering_platforms)} != {
            here
        }:
            raise ValueError(
                f"lower: lowering_platforms must be [{here!r}], which is used here; got "
                f"{lowering_platforms!r}\n  fix: weft.export.export(f, platforms=…)"
            )
        return Lowered(self)


class Lowered:
    """A program as StableHLO text: `as_text()`, `compile()`, `cost_analysis()`."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        self.loaded = traced.entry.load(traced.types)
        self.text, self.module = self.loaded.text()
        self.donate_argnums = traced.donate_argnums

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return self.traced.out_info

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each leaf of the arguments: a pair (positional ones, keywords)."""
        return self.traced.args_info

    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The program as text: in 'stablehlo', or in XLA's 'hlo' before optimisation.

        Args:
          debug_info: without effect: there are no source lines in programs.
        """
        if dialect == "stablehlo":
            return str(self.text)
        if dialect == "hlo":
            return runtime.HloComputation(self.text).as_hlo_text()
        raise ValueError(f"as_text: dialect must be 'stablehlo' or 'hlo'; got {dialect!r}")

    def compiler_ir(self, dialect: str = "stablehlo") -> "str | runtime.HloComputation":
        """The program: in 'stablehlo' its text; in 'hlo' an object with `as_hlo_text()`."""
        return runtime.HloComputation(self.text) if dialect == "hlo" else self.as_text(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work of the program."""
        return self.compile().cost_analysis()

    @located
    def compile(
        self, compiler_options: dict[str, Any] | None = None, *, device_assignment: None = None
    ) -> "Compiled":
        """The executable.

        Args:
          compiler_options: XLA's debug options by name, e.g. `xla_backend_optimization_level`, in
            the place of those of `jit`.
          device_assignment: must be None.
        Raises: ValueError: a device assignment.
        """
        if device_assignment is not None:
            raise ValueError(
                f"compile: device_assignment must be None; got {device_assignment!r:.60}\n"
                "  fix: jit(…, in_shardings=…) says which devices take part"
            )
        loaded, program = self.loaded, self.traced.entry.program
        if compiler_options:
            program = program.with_options(compiler_options)
            loaded = self.traced.entry.load(self.traced.types, program)
        return Compiled(self.traced, loaded, program)


class Compiled:
    """An executable for one signature. Calling it runs it; another signature is an error."""

    def __init__(self, traced: Traced, loaded: Loaded, program: Program) -> None:
        self.traced, self.loaded, self.program = traced, loaded, program
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        self.in_avals, self.donate_argnums = traced.jaxpr.in_avals, traced.donate_argnums
        self.executable = loaded.executable
        self.input_shardings = traced.in_tree.unflatten(loaded.input_shardings())
        self.output_shardings = traced.out_tree.unflatten(loaded.output_shardings())

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each leaf of the arguments: a pair (positional ones, keywords)."""
        return self.traced.args_info

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return self.traced.out_info

    def as_text(self) -> str:
        """The program as XLA optimised it, as HLO text."""
        return str(self.executable.as_text())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', …"""
        return dict(self.executable.cost_analysis())

    def memory_analysis(self) -> Any:
        """The bytes that a run needs: arguments, outputs, temporary ones, the peak."""
        return self.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """The runtime's own object."""
        return self.executable

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
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
        if looked_at():  # by a switch: then it is an operation of the trace that looks
            return self.traced.entry.apply(values, current.trace)
        loaded = self.loaded
        if loaded.follows_data:
            loaded = self.traced.entry.load([v.type for v in values], self.program)
        return self.traced.entry.run(values, loaded)
