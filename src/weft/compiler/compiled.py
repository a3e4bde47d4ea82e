"""Compiled programs: executables on the devices that run them, called with arrays.

A program for several devices is written for whole arrays. XLA's partitioner makes the executable
that each device runs, from the stated shardings; it chooses the other shardings.
"""

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..config import thread
from ..core.array import Array
from ..core.aval import Aval, type_of
from ..core.caching import remember
from ..core.events import Compilation, tell
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.placement import (
    ANYWHERE,
    ArrayType,
    Layout,
    Placement,
    joined_placement,
    on_device,
    same_parts,
    type_on,
)
from ..core.source import log_warning
from ..dtypes import float0
from ..primitives.callbacks import TOKEN
from ..primitives.sharding_constraint import constrain
from ..runtime import client, transfers
from ..runtime.callback import Callback
from ..runtime.client import Device
from ..runtime.executable import Executable, RawBuffer, Target
from ..runtime.failures import machine_memory, too_large
from ..runtime.group import Group, group_of
from ..sharding import NamedSharding, Sharding, SingleDeviceSharding
from ..stablehlo import Module
from ..stablehlo.shardy import Meshes
from ..user_lines import noted
from . import disk_cache
from .layout import layout_of, meshes_named, placement_inside, replicated, sharding_of
from .lowered import OPTIONS, LoweredProgram, PassedInput, Result, program_of
from .placing import argument_buffer, buffer_on, host_buffer, live_buffer, move, reorder, shard
from .segments import SegmentedExecutable, segments_of

Shardings = Sequence[Sharding | None]
"""A sharding for each argument or output; `None` where none is stated."""

Fill = Callable[[Sequence[Any], Sequence[Any]], list[RawBuffer]]
"""(the arguments' leaves, their buffers or `None`) -> the buffers to run on."""


# --- compiled programs ---


class CompiledProgram(ABC):
    """A program with XLA's executable, for arguments of one sharding.

    The lowered program keeps it (`compiled_for`), and it does not refer back. So everything that a
    program closes over is freed with it at once.

    Attributes:
      types: the types of XLA's results.
      donated: the positions of the donated arguments.
      only_results: True if all outputs are XLA's results and no callback runs.
      order: the number of the result for each output; `None` if they agree.
      executable: `None` if XLA does not have to compute anything.
    """

    __slots__ = (
        "consts",
        "donated",
        "executable",
        "live",
        "n_args",
        "name",
        "only_results",
        "order",
        "outputs",
        "types",
    )

    follows_data = False
    """True if the program runs on the devices of its arguments."""

    def __init__(
        self, program: LoweredProgram, executable: Executable | None, types: Sequence[ArrayType]
    ) -> None:
        self.name, self.live, self.consts = program.name, program.live, program.consts
        self.outputs, self.n_args = program.outputs, len(program.in_avals)
        self.donated = [program.live[n] for n in program.donated]
        self.executable, self.types = executable, list(types)
        results = [o.index for o in program.outputs if isinstance(o, Result)]
        self.only_results = 0 < len(results) == len(program.outputs) and not program.calls_host
        self.order = None if results == [*range(len(self.types))] else results

    @abstractmethod
    def run(self, args: Sequence[Array]) -> list[Array]:
        """The outputs for arrays on the host or on any devices."""

    @abstractmethod
    def fill(self, types: Sequence[ArrayType]) -> tuple[Fill, bool] | None:
        """For arguments of these types, the function that makes the input buffers, and whether
        these are the arguments' own buffers.

        `None` if arguments or results have to be moved; then `run` moves them.
        """

    @abstractmethod
    def input_shardings(self) -> list[Sharding]:
        """The sharding of each argument."""

    @abstractmethod
    def output_shardings(self) -> list[Sharding]:
        """The sharding of each output."""


class SingleDeviceProgram(CompiledProgram):
    """A program compiled for one device."""

    __slots__ = ("at_home", "device", "named", "result_bytes")

    follows_data = True

    def __init__(
        self, program: LoweredProgram, executable: Executable | None, target: "DeviceTarget"
    ) -> None:
        avals, where = program.body.out_avals, target.results
        types = avals if where is ANYWHERE else [type_on(a, where) for a in avals]
        super().__init__(program, executable, types)
        self.consts = program.consts + program.pool
        self.device, self.named = target.device, target.named
        # whether this is the device of uncommitted arrays
        self.at_home = target.device is client.process.device
        on_host = target.device.platform == "cpu"
        self.result_bytes = program.result_bytes if on_host else 0

    def run(self, args: Sequence[Array]) -> list[Array]:
        device = self.device
        if self.result_bytes > 2 * machine_memory() > 0:
            raise noted(too_large(self.name, self.result_bytes, self.types))
        if self.named:
            with transfers.explicitly():
                args = [move(a, device) for a in args]
        inputs = []
        for i in self.live:
            x = args[i]
            here = x._buffer if self.at_home and x.type is x.aval else None
            inputs.append(buffer_on(x, device) if here is None else here)
        if self.consts:
            inputs += self.constants()
        outs = []
        if self.executable is not None:
            types = self.types  # the token, the last result, has none
            outs = list(map(Array, [None] * len(types), types, self.executable.execute(inputs)))
        if self.order is not None or not self.only_results:
            results, outs = outs, []
            for o in self.outputs:
                outs.append(results[o.index] if type(o) is Result else o.take(args, results))
        if self.named:
            outs = [x if x.aval.dtype == float0 else move(x, device) for x in outs]
        return outs

    def constants(self) -> list[RawBuffer]:
        """The constants that the program closes over, and its pool, on the device."""
        return [buffer_on(c, self.device) for c in self.consts]

    def fill(self, types: Sequence[ArrayType]) -> tuple[Fill, bool] | None:
        device, live = self.device, self.live
        default = client.default_device()
        if any([(types[i].placement.device or default) is not device for i in live]):
            return None
        consts = self.constants()

        def fill(leaves: Sequence[Any], arguments: Sequence[Any]) -> list[RawBuffer]:
            inputs = []
            for i in live:
                b = arguments[i]
                inputs.append(argument_buffer(leaves[i], device) if b is None else b)
            return inputs + consts

        return fill, not consts and len(live) == len(types)

    def input_shardings(self) -> list[Sharding]:
        return [SingleDeviceSharding(self.device)] * self.n_args

    def output_shardings(self) -> list[Sharding]:
        return [SingleDeviceSharding(self.device)] * len(self.outputs)


class MultiDeviceProgram(CompiledProgram):
    """A program compiled for a group of devices, for one sharding of each argument."""

    __slots__ = ("group_consts", "target")

    def __init__(
        self,
        program: LoweredProgram,
        executable: Executable | None,
        types: Sequence[ArrayType],
        target: "GroupTarget",
    ) -> None:
        super().__init__(program, executable, types)
        self.target, self.group_consts = target, constants_on(program, target.group)

    def run(self, args: Sequence[Array]) -> list[Array]:
        name, (group, inputs, requested, outs) = self.name, self.target
        results: list[Array] = []
        if self.executable is not None:
            placed = [on_group(name, i, args[i], group, inputs[i]) for i in self.live]
            out_buffers = self.executable.execute(
                [live_buffer(x) for x in (*placed, *self.group_consts)]
            )
            results = list(map(Array, [None] * len(self.types), self.types, out_buffers))
        outputs = []
        for output, sharding in zip(self.outputs, outs, strict=True):
            x = output.take(args, results)
            if isinstance(output, PassedInput):
                out_sharding = sharding or requested[output.index]
                if out_sharding is not None:
                    x = on_group(name, output.index, x, group, out_sharding)
            elif sharding is not None:
                x = commit(x, sharding)
            outputs.append(x)
        return outputs

    def fill(self, types: Sequence[ArrayType]) -> tuple[Fill, bool] | None:
        group, live, outs = self.target.group, self.live, self.target.outs
        host: list[tuple[int, int, Layout]] = []  # (number among live ones, number, layout)
        for n, i in enumerate(live):
            to = layout_of(types[i].aval, self.target.inputs[i], group)
            if types[i].placement is ANYWHERE:
                if i in self.donated:
                    return None
                host.append((n, i, to))
            elif not same_parts(types[i], to):
                return None  # to be moved before the run
        for number, sharding in zip(self.order or range(len(outs)), outs, strict=True):
            form = self.types[number]
            if sharding is not None and not same_parts(form, layout_of(form.aval, sharding, group)):
                return None  # to be moved after the run
        consts = [live_buffer(c) for c in self.group_consts]
        on_host = {i for _, i, _ in host}  # their buffers are made below

        def fill(leaves: Sequence[Any], arguments: Sequence[Any]) -> list[RawBuffer]:
            inputs = []
            for i in live:
                b = arguments[i]
                inputs.append(live_buffer(leaves[i]) if b is None and i not in on_host else b)
            for n, i, layout in host:
                inputs[n] = host_buffer(leaves[i], layout)
            return inputs + consts

        return fill, not host and not consts and len(live) == len(types)

    def input_shardings(self) -> list[Sharding]:
        return list(self.target.inputs)

    def output_shardings(self) -> list[Sharding]:
        shardings = []
        for output, sharding in zip(self.outputs, self.target.outs, strict=True):
            if isinstance(output, Result):
                sharding = sharding or self.types[output.index].placement.sharding
            elif isinstance(output, PassedInput):
                sharding = sharding or self.target.inputs[output.index]
            shardings.append(sharding or replicated(self.target.group))
        return shardings


# --- targets ---


class DeviceTarget(NamedTuple):
    """One device, for which a program is lowered and compiled.

    Attributes:
      results: the placement of the results.
      named: True if the caller named the device. Then all arguments are moved there, and all
        outputs are there.
    """

    device: Device
    results: Placement
    named: bool

    def text(self, program: LoweredProgram) -> tuple[str, Module]:
        """The StableHLO text, and its module."""
        return program.text(self.device.platform)

    def compile(self, program: LoweredProgram) -> SingleDeviceProgram:
        """The program compiled for this device."""
        executables = program.executables  # they do not depend on the placement of the results
        if program.result_types and self.device not in executables:
            executables[self.device] = self.compile_anew(program)
        return SingleDeviceProgram(program, executables.get(self.device), self)

    def compile_anew(self, program: LoweredProgram) -> Executable:
        """XLA's executable, or those of the program's segments as one."""
        segments = segments_of(program, self.device) if program.segmentable else None
        if segments is None:
            return compile_program(program, self.device, functools.partial(self.text, program))
        programs = [segment.program for segment in segments.parts]
        compiled = {p: self.compile_anew(p) for p in dict.fromkeys(programs)}
        return SegmentedExecutable(program, segments, [compiled[p] for p in programs])


class GroupTarget(NamedTuple):
    """A group of devices, for which a program is lowered and compiled.

    Attributes:
      inputs: the sharding of each argument.
      requested: the shardings that a user set. An argument with one is moved even if the program
        only returns it.
      outs: the sharding of each output; `None` leaves it to XLA.
    """

    group: Group
    inputs: tuple[Sharding, ...]
    requested: tuple[Sharding | None, ...]
    outs: tuple[Sharding | None, ...]

    def text(self, program: LoweredProgram, results: Shardings | None = None) -> tuple[str, Module]:
        """The StableHLO text, and its module.

        Args:
          results: the shardings of XLA's results, if they differ from `outs`.
        """
        meshes = Meshes(self.group.devices)

        def attributes(shardings: Shardings, avals: Sequence[Aval]) -> list[str]:
            return [meshes.attribute(s, a.ndim) for s, a in zip(shardings, avals, strict=True)]

        return program.text_for(
            self.group.platform,
            meshes,
            attributes(self.input_list(program), program.body.in_avals),
            attributes(results or self.result_list(program), program.body.out_avals),
        )

    def input_list(self, program: LoweredProgram) -> list[Sharding]:
        """The shardings of XLA's inputs: live arguments and constants."""
        return [self.inputs[i] for i in program.live] + constant_shardings(program, self.group)

    def result_list(self, program: LoweredProgram) -> list[Sharding | None]:
        """The sharding of each result of XLA, from the shardings of the outputs."""
        shardings: list[Sharding | None] = [None] * len(program.body.outvars)
        for output, sharding in zip(program.outputs, self.outs, strict=True):
            if isinstance(output, Result) and shardings[output.index] is None:
                shardings[output.index] = sharding
        return shardings

    def compile(self, program: LoweredProgram) -> MultiDeviceProgram:
        """The program compiled for the group.

        XLA pads the parts of a result that do not divide evenly; such a result is replicated.
        """
        if not program.result_types:
            return MultiDeviceProgram(program, None, (), self)
        group, avals = self.group, program.body.out_avals
        inputs, shardings = self.input_list(program), self.result_list(program)
        tilings = [
            layout_of(v.aval, s, group).tiling
            for v, s in zip(program.body.invars, inputs, strict=True)
        ]
        key = group, tuple(tilings), tuple(shardings)
        executable: Executable
        if key in program.executables:
            executable, results = program.executables[key]
        else:
            executable, results = self.compile_anew(program, shardings), shardings
            uneven = [
                any(n % parts for n, parts in zip(a.shape, tiling.parts, strict=True))
                for a, tiling in zip(avals, executable.tilings, strict=False)
            ]
            if any(uneven):
                everywhere = replicated(group)
                results = [everywhere if u else s for u, s in zip(uneven, shardings, strict=True)]
                executable = self.compile_anew(program, results)
            program.executables[key] = executable, results
        meshes = meshes_named((*inputs, *results), program.body)
        types = [
            layout_of(a, sharding or sharding_of(tiling, group, meshes), group)
            for a, tiling, sharding in zip(avals, executable.tilings, results, strict=False)
        ]
        return MultiDeviceProgram(program, executable, types, self)

    def compile_anew(self, program: LoweredProgram, results: Shardings | None = None) -> Executable:
        """XLA's executable; for `results`, see `text`."""
        return compile_program(program, self.group, functools.partial(self.text, program, results))


ProgramTarget: TypeAlias = DeviceTarget | GroupTarget


def constant_shardings(program: LoweredProgram, group: Group) -> list[Sharding]:
    """The shardings of the constants: a constant's own if it is on this group; otherwise it is
    replicated."""
    return [
        c.sharding if c.type.placement.group is group else replicated(group) for c in program.consts
    ]


def constants_on(program: LoweredProgram, group: Group) -> list[Array]:
    """The constants of a program on the devices of a group."""
    constants = program.group_constants.get(group)
    if constants is None:
        pairs = zip(program.consts, constant_shardings(program, group), strict=True)
        constants = program.group_constants[group] = [commit(c, s) for c, s in pairs]
    return constants


def target_of(
    program: LoweredProgram,
    types: Sequence[ArrayType],
    named: Placement | None = None,
    inputs: Shardings | None = None,
    outs: Shardings | None = None,
) -> ProgramTarget:
    """The devices to run on: the named ones, or the ones to which arguments are committed.

    If no argument decides, the constants that the function closes over do.

    Args:
      named: the device of the program, independent of the arguments' devices.
      inputs, outs: the sharding of each argument and each output, on a group of devices.
    """
    where = named or ANYWHERE
    if named is None and any([t is not t.aval for t in types]):
        where = joined_placement(program.name, types, program.live)
    if program.consts and not where.committed:
        groups = [c.type.placement for c in program.consts if c.type.placement.group is not None]
        where = groups[0] if groups else ANYWHERE
    group = where.group
    if group is None:
        device = where.device
        if device is None:
            chosen = None if thread.default_device is None else client.chosen_device()
            device = chosen or client.process.device or client.default_device()
            where = ANYWHERE if chosen is None else on_device(chosen, committed=False)
        return DeviceTarget(device, where, named is not None)
    for i in program.live:
        check_on_group(program.name, i, types[i], group)
    shardings = tuple(inputs) if inputs is not None else (None,) * len(types)
    live = set(program.live)
    everywhere = replicated(group)
    full = tuple(
        s or (t.placement.group is not None and i in live and t.placement.sharding) or everywhere
        for i, (s, t) in enumerate(zip(shardings, types, strict=True))
    )
    return GroupTarget(
        group, full, shardings, tuple(outs) if outs is not None else (None,) * len(program.outputs)
    )


# --- compiling and running ---


def compiled_for(program: LoweredProgram, target: ProgramTarget) -> CompiledProgram:
    """The program compiled for a target; compiled once and kept with the program."""
    compiled: CompiledProgram | None = program.compiled.get(target)
    if compiled is None:
        with program.lock:
            compiled = program.compiled.get(target)
            if compiled is None:
                if not program.result_types and program.body.equations:
                    target.text(program)  # raises an error for an effect that XLA cannot express
                compiled = remember(program.compiled, target, target.compile(program))
    return compiled


def compile_program(
    program: LoweredProgram, target: Target, write: Callable[[], tuple[str, Module]]
) -> Executable:
    """XLA's executable, compiled or loaded from the disk cache.

    `write` returns the text and its module. The switch `log_compiles` logs the time.
    """
    if "jaxpr" in thread.debug:
        log_warning(f"{program.name}:\n{program.outlined}")
    text, module = write()
    if "hlo" in thread.debug:
        log_warning(f"{program.name}:\n{text}")
    begun = time.perf_counter()
    callbacks = [
        Callback(f.on(target), [(a.shape, a.dtype) for a in (TOKEN, *f.outs)])
        for f in module.callbacks
    ]
    options = OPTIONS.get(target.platform, {}) | program.options
    executable = disk_cache.compile_or_load(text, program.result_types, target, options, callbacks)
    if thread.log_compiles:
        took = (time.perf_counter() - begun) * 1e3
        inputs, outs = [
            ", ".join(str(v.aval) for v in vs) for vs in (program.body.invars, program.body.outvars)
        ]
        message = (
            f"compiled {program.name}: ({inputs}) -> ({outs}), {len(program.outlined.equations)} "
            f"equations, for {target} in {took:.1f} ms"
        )
        tell(Compilation(program, executable, took / 1e3, message))
    return executable


def run_program(
    program: LoweredProgram, args: Sequence[Array], device: Device | None = None
) -> list[Array]:
    """The outputs for arrays.

    Args:
      device: where it runs; by default the device for which a function inside was jitted, or the
        device of committed arguments.
    """
    types = tuple(map(type_of, args))
    free = device is None and thread.default_device is None  # the types decide then
    if free:
        compiled: CompiledProgram | None = program.by_types.get(types)
        if compiled is not None:
            return compiled.run(args)
    named: Placement | None = None
    if device is not None:
        named = on_device(device)
    elif not program.only_computes:
        named = placement_inside(program.body)
    compiled = compiled_for(program, target_of(program, types, named))
    if free:
        remember(program.by_types, types, compiled)
    return compiled.run(args)


def run_jaxpr(jaxpr: Jaxpr, args: Sequence[Array], device: Device | None = None) -> list[Array]:
    """The outputs of a jaxpr for arrays, compiled once; see `run_program`."""
    return run_program(program_of(jaxpr), args, device)


# --- resharding ---


def on_group(name: str, number: int, x: Array, group: Group, sharding: Sharding) -> Array:
    """An argument with a sharding on the group that runs a program."""
    placement = x.type.placement
    if placement.group is group and placement.sharding is sharding:
        return x
    check_on_group(name, number, x.type, group)
    if placement.group is None:
        return shard(x, layout_of(x.aval, sharding, group))
    if placement.group is not group:
        x = reorder(x, group)
    if not sharding.is_open and same_parts(x.type, layout_of(x.aval, sharding, group)):
        return x
    return reshard(x, sharding)


def check_on_group(name: str, number: int, type_: ArrayType, group: Group) -> None:
    """Raises an error for an argument that is committed to different devices."""
    placement = type_.placement
    if placement.committed and set(placement.devices) != set(group.devices):
        where = placement.device if placement.group is None else placement.group
        raise ValueError(
            f"{name}: runs on {group}; argument {number}, {type_.aval}, is committed to {where}\n"
            "  fix: move it with device_put(x, sharding)"
        )


def reshard(x: Array, sharding: Sharding) -> Array:
    """Changes the sharding of an array within a group; the devices exchange parts."""
    transfers.copying(x.aval, x.sharding, sharding)
    program = _constraining(x.aval, sharding)
    outs = [None if sharding.is_open else sharding]
    (result,) = compiled_for(program, target_of(program, [x.type], outs=outs)).run([x])
    return result


@functools.lru_cache(4096)
def _constraining(a: Aval, sharding: Sharding) -> LoweredProgram:
    """The program that constrains an array to a sharding."""
    before, after = Var(a), Var(a)
    equation = Equation(constrain, [before], (("sharding", sharding),), [after])
    return LoweredProgram(Jaxpr([], [], [before], [equation], [after], "device_put"))


def commit(x: Array, sharding: Sharding) -> Array:
    """Puts an array on the devices of a sharding, from any device."""
    placement = x.type.placement
    group = group_of(sharding.devices)
    to = layout_of(x.aval, sharding, group)
    if placement.group is not None and set(placement.devices) == set(group.devices):
        return Array(None, to, live_buffer(on_group("device_put", 0, x, group, sharding)))
    return shard(x, to)


def constrained(x: Array, sharding: NamedSharding) -> Array:
    """Applies a sharding constraint to an array: see `primitives/sharding_constraint.py`."""
    if not sharding.is_open:
        return commit(x, sharding)
    on_group_already = x.type.placement.group is group_of(sharding.devices)
    return reshard(x, sharding) if on_group_already else commit(x, sharding.closed())
