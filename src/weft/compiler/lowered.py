"""Lowered programs: jaxprs without dead code, and their live inputs, outputs and text.

`compiled.py` compiles them for devices.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..config import thread
from ..core.array import Array, unshared
from ..core.aval import Aval
from ..core.caching import cached_on_program, remember
from ..core.checking import check_jaxpr
from ..core.jaxpr import Equation, Jaxpr, Var, only_computes
from ..core.primitive import Primitive
from ..primitives.callbacks import TOKEN
from ..primitives.structural import reshape
from ..runtime.group import Group
from ..stablehlo import Module
from ..stablehlo.shardy import Meshes
from .lower import lower
from .outline import MIN_EQUATIONS, outlined, outlined_with_pool
from .placing import duplicate, live_buffer
from .simplify import jaxpr_calls_host, without_dead_code, without_single_calls

# XLA's own choice, in particular of LLVM's effort (docs/how_it_works/3_compiler.md).
OPTIONS: dict[str, dict[str, Any]] = {"cpu": {}}


@dataclass(frozen=True, slots=True)
class Result:
    """An output that XLA computes."""

    index: int

    def take(self, args: Sequence[Array], results: Sequence[Array]) -> Array:
        """The output, from a call's arguments and XLA's results."""
        return results[self.index]


@dataclass(frozen=True, slots=True)
class PassedInput:
    """An output that is an input, passed through without a copy."""

    index: int

    def take(self, args: Sequence[Array], results: Sequence[Array]) -> Array:
        """The output, from a call's arguments and XLA's results."""
        x = args[self.index]
        if x._host is None:
            live_buffer(x)  # raises an error if it was deleted
        return unshared(x)


@dataclass(frozen=True, slots=True)
class Constant:
    """An output that is a constant or a literal."""

    value: Array

    def take(self, args: Sequence[Array], results: Sequence[Array]) -> Array:
        """The output, from a call's arguments and XLA's results."""
        return duplicate(self.value)


Output: TypeAlias = Result | PassedInput | Constant


def outputs_of(jaxpr: Jaxpr, const_of: Mapping[Var, Array]) -> tuple[list[Output], dict[Var, int]]:
    """The outputs of a program, and a number for each variable that XLA computes for them."""
    position = {v: i for i, v in enumerate(jaxpr.invars)}
    number: dict[Var, int] = {}
    outputs: list[Output] = []
    for v in jaxpr.outvars:
        if type(v) is not Var:
            outputs.append(Constant(v))
        elif v in position:
            outputs.append(PassedInput(position[v]))
        elif v in const_of:
            outputs.append(Constant(const_of[v]))
        else:
            outputs.append(Result(number.setdefault(v, len(number))))
    return outputs, number


class LoweredProgram:
    """A jaxpr prepared for XLA: without dead code, with its StableHLO text for each platform.

    XLA gets only the inputs that are needed; `live` has their numbers. Outputs that are inputs,
    constants or literals do not come from XLA.

    A lowered program does not refer to its jaxpr, and compiled programs do not refer to the lowered
    one. So it is freed, with everything that it closes over, when it is no longer needed.

    Attributes:
      body: the jaxpr without dead code.
      outlined: the same for one device, with repeated blocks as calls, and with the values in
        `pool` as additional inputs.
      segmentable: True if it may run as segments (`segments.py`).
      compiled: the compiled programs by target; `by_types`: by the types of the arguments that
        decide where it runs (`compiled.py: run_program`).
      executables: XLA's, by device, or by group and shardings.
    """

    __slots__ = (
        "_texts",
        "body",
        "by_types",
        "calls_host",
        "compiled",
        "consts",
        "donated",
        "executables",
        "group_constants",
        "in_avals",
        "live",
        "lock",
        "name",
        "only_computes",
        "options",
        "outlined",
        "outlines",
        "outputs",
        "pool",
        "result_bytes",
        "result_types",
        "segmentable",
        "warned",
    )

    def __init__(
        self,
        jaxpr: Jaxpr,
        donated: Sequence[int] = (),
        keep_unused: bool = False,
        options: Mapping[str, object] = {},
    ) -> None:
        self.in_avals, self.name = jaxpr.in_avals, jaxpr.name
        # reentrant: a signal handler may call the function that is being compiled
        self.lock = threading.RLock()
        self._texts: dict[str, tuple[str, Module]] = {}
        # filled by `compiled.py`
        self.executables: dict[Any, Any] = {}
        self.compiled: dict[Any, Any] = {}
        self.by_types: dict[Any, Any] = {}
        self.group_constants: dict[Group, list[Array]] = {}
        self.options = dict(options)
        self.warned = False  # donated arguments whose memory cannot hold a result
        outlines = self.options.pop("weft_outline", True)
        in_segments = self.options.pop("weft_segments", True)
        lean, used = without_dead_code(jaxpr)
        if outlines:
            flat = without_single_calls(lean, MIN_EQUATIONS)
            if flat is not lean:
                lean, used = without_dead_code(flat)
        const_of = dict(zip(lean.constvars, lean.consts, strict=True))
        self.outputs, number = outputs_of(lean, const_of)
        self.live = [i for i, v in enumerate(jaxpr.invars) if keep_unused or v in used]
        consts = [(v, c) for v, c in const_of.items() if v in used]
        self.consts: list[Array] = [c for _, c in consts]
        invars = [jaxpr.invars[i] for i in self.live] + [v for v, _ in consts]
        self.body = Jaxpr([], [], invars, lean.equations, [*number], lean.name)
        self.outlines = bool(outlines) and len(lean.equations) >= MIN_EQUATIONS
        self.pool: list[Array] = []
        self.outlined = self.body
        if self.outlines:
            self.outlined, self.pool = outlined_with_pool(self.body)
        if thread.enable_checks:
            check_jaxpr(jaxpr, "tracing and transforming")
            check_jaxpr(lean, "dead code elimination")
            check_jaxpr(self.outlined, "outlining")
        self.donated = [n for n, i in enumerate(self.live) if i in set(donated)]
        self.result_types: list[tuple[tuple[int, ...], np.dtype[Any]]]
        self.result_types, self.result_bytes = [], 0
        for v in number:
            self.result_types.append((v.aval.shape, v.aval.stored))
            self.result_bytes += v.aval.size * v.aval.stored.itemsize
        self.only_computes = only_computes(lean)
        self.segmentable = bool(in_segments and self.outlines and self.only_computes)
        self.calls_host = not self.only_computes and jaxpr_calls_host(lean)
        if self.calls_host:
            self.result_types.append((TOKEN.shape, TOKEN.dtype))

    @property
    def module_name(self) -> str:
        """The name of the program in StableHLO, profiles and XLA's logs."""
        return f"jit_{self.name}"

    def text(self, platform: str) -> tuple[str, Module]:
        """The StableHLO text for one device of a platform, and its module."""
        if platform not in self._texts:
            self._texts[platform] = lower(
                flattened(self.outlined),
                name=self.module_name,
                donated=self.donated,
                platform=platform,
            )
        return self._texts[platform]

    def text_for(
        self, platform: str, meshes: Meshes, inputs: Sequence[str], results: Sequence[str]
    ) -> tuple[str, Module]:
        """The StableHLO text for several devices, and its module.

        Args:
          inputs, results: the attributes that state the shardings of arguments and results.
        """
        return lower(
            outlined(self.body) if self.outlines else self.body,
            name=self.module_name,
            donated=self.donated,
            platform=platform,
            meshes=meshes,
            argument_attributes=inputs,
            result_attributes=results,
        )


@cached_on_program
def lowered_with(
    jaxpr: Jaxpr,
    donated: tuple[int, ...],
    keep_unused: bool,
    options: tuple[tuple[str, object], ...],
) -> LoweredProgram:
    """The lowered form of a jaxpr. It is lowered once, even if several threads need it at the same
    time."""
    return LoweredProgram(jaxpr, donated, keep_unused, dict(options))


def program_of(jaxpr: Jaxpr) -> LoweredProgram:
    """Lowers a jaxpr without donated arguments."""
    return lowered_with(jaxpr, (), False, ())


def flattened(jaxpr: Jaxpr) -> Jaxpr:
    """Rewrites a single elementwise operation on arrays of several axes to act on vectors. Other
    programs are unchanged.

    XLA's loop over one axis is faster than one over two axes (benchmarks/company.py).
    """
    if len(jaxpr.equations) != 1 or not jaxpr.equations[0].primitive.elementwise:
        return jaxpr
    (equation,) = jaxpr.equations
    (out,) = equation.outvars
    shape, size = out.aval.shape, out.aval.size
    if len(shape) < 2 or any(
        [type(v) is not Var or v.aval.shape not in (shape, ()) for v in equation.inputs]
    ):
        return jaxpr
    equations, inputs = [], []
    for v in equation.inputs:
        if v.aval.shape:
            vector = Var(v.aval.update(shape=(size,)))
            equations.append(Equation(reshape, [v], (("shape", (size,)),), [vector]))
            v = vector
        inputs.append(v)
    result = Var(out.aval.update(shape=(size,)))
    equations.append(Equation(equation.primitive, inputs, equation.params, [result]))
    equations.append(Equation(reshape, [result], (("shape", shape),), [out]))
    return Jaxpr([], [], jaxpr.invars, equations, jaxpr.outvars, jaxpr.name)


_one_operation: dict[Any, LoweredProgram] = {}


def one_operation(
    primitive: Primitive, params: Any, avals: Sequence[Aval], out: Any
) -> LoweredProgram:
    """The program of one operation."""
    key = (primitive, params, *avals)
    program = _one_operation.get(key)
    if program is None:
        invars = [Var(a) for a in avals]
        outvars = [Var(o) for o in (out if primitive.multiple else (out,))]
        equation = Equation(primitive, invars, params, outvars)
        jaxpr = Jaxpr([], [], invars, [equation], outvars, primitive.name)
        program = remember(_one_operation, key, LoweredProgram(jaxpr))
    return program
