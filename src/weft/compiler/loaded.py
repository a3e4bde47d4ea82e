"""Programs on the devices that run them: compiled at first use, arrays in, arrays out.

A program for several devices is about whole arrays. XLA's partitioner makes the executable that
each device runs, from the divisions of arrays that are stated; it chooses the others. Knows arrays
and executables; knows nothing of transformations.
"""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..config import thread
from ..core.array import Array
from ..core.aval import Aval, aval_of, type_of
from ..core.caching import remember
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.messages import tell
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
from ..core.source import noted
from ..dtypes import float0
from ..primitives.callbacks import TOKEN
from ..primitives.placement import constrain
from ..runtime import client, transfers
from ..runtime.callback import Callback
from ..runtime.client import Device
from ..runtime.executable import Executable, RawBuffer, Target
from ..runtime.failures import machine_memory, too_large
from ..runtime.group import Group, group_of
from ..sharding import NamedSharding, Sharding, SingleDeviceSharding
from ..stablehlo import Module
from ..stablehlo.shardy import Meshes
from . import disk_cache
from .layout import layout_of, meshes_named, placement_inside, replicated, sharding_of
from .placing import argument_buffer, buffer_on, host_buffer, live_buffer, move, reorder, shard
from .program import OPTIONS, PassedInput, Program, Result, program_of

Shardings = Sequence[Sharding | None]
"""Of each argument or output; `None` where nothing is said."""


class Ready(NamedTuple):
    """A loaded program as the hot path of a call takes it (`transforms/jit/dispatch.py`)."""

    run: Callable[[list[RawBuffer]], Any]
    handlers: list[Any] | None
    """The functions that make buffers of XLA's results; `None` if `run` returns buffers."""
    prepare: Callable[[Sequence[Any], list[Any]], list[RawBuffer]] | None
    """Makes the buffers to run on from the arguments' leaves and their buffers; `None` if these are
    what it runs on."""
    fill: Callable[[Sequence[Any]], list[RawBuffer]]
    """The same for leaves that may be on the host, NumPy arrays and scalars among them."""
    donated: list[int]
    """The numbers of the leaves whose memory is given away."""
    types: list[ArrayType]
    """Of the results."""
    order: list[int] | None
    """The results that the outputs are; `None` if they are these, in order."""


class Loaded:
    """A program for the devices that run it. Its executable is made when it is first needed."""

    __slots__ = ("_executable", "program", "target", "types")

    follows_data = False
    """True if arguments on other devices have the program run there."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.types: list[ArrayType] = []  # of the results
        self._executable: Executable | None = None

    @property
    def executable(self) -> Executable:
        """The executable, compiled once."""
        found = self._executable
        if found is None:
            with self.program.lock:
                found = self._executable
                if found is None:
                    found = self._executable = self.load()
        return found

    def load(self) -> Executable:
        """Finds or compiles the executable, and derives the types of its results."""
        raise NotImplementedError(f"{type(self).__name__}.load")

    def text(self) -> tuple[str, Module]:
        """The StableHLO text, and its module."""
        raise NotImplementedError(f"{type(self).__name__}.text")

    def run(self, args: Sequence[Array]) -> list[Array]:
        """The outputs for arrays in any places."""
        raise NotImplementedError(f"{type(self).__name__}.run")

    def ready(self, types: Sequence[ArrayType]) -> Ready | None:
        """The state of the hot path for arguments of these types; `None` if they have to be moved,
        or an output isn't XLA's."""
        raise NotImplementedError(f"{type(self).__name__}.ready")

    def input_shardings(self) -> list[Sharding]:
        """The sharding of each argument."""
        raise NotImplementedError(f"{type(self).__name__}.input_shardings")

    def output_shardings(self) -> list[Sharding]:
        """The sharding of each output."""
        raise NotImplementedError(f"{type(self).__name__}.output_shardings")

    def results(self, inputs: Sequence[RawBuffer]) -> list[Array]:
        """The results of XLA for these buffers, as arrays."""
        if not self.program.result_types:
            if self.program.stripped.equations:  # an effect that XLA has no words for: it says so
                self.load()
            return []
        made = self.executable.execute(inputs)
        types = self.types  # a token, which ends the results, has none
        return list(map(Array, [None] * len(types), types, made))

    def order(self) -> list[int] | None:
        """See `Ready.order`."""
        order = self.program.order()
        return None if order == list(range(len(self.types))) else order


def compile_program(
    program: Program, target: Target, write: Callable[[], tuple[str, Module]]
) -> Executable:
    """The executable, compiled or loaded, of the text and the module that `write` returns.

    The time is logged if a switch asks for that.
    """
    if "jaxpr" in thread.debug:
        tell(f"{program.name}:\n{program.stripped}")
    text, module = write()
    if "hlo" in thread.debug:
        tell(f"{program.name}:\n{text}")
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
            ", ".join(str(v.aval) for v in vs)
            for vs in (program.stripped.invars, program.stripped.outvars)
        ]
        tell(
            f"compiled {program.name}: ({inputs}) -> ({outs}), {len(program.stripped.equations)} "
            f"equations, for {target} in {took:.1f} ms"
        )
    return executable


# --- one device ---


class OneDevice(Loaded):
    """A program on one device.

    Args:
      placement: of the results.
      named: the device was named: all arguments are moved there, and all outputs are there.
    """

    __slots__ = ("device", "named")
    target: Device
    follows_data = True

    def __init__(self, program: Program, device: Device, placement: Placement, named: bool) -> None:
        super().__init__(program, device)
        self.device, self.named = device, named
        avals = program.stripped.out_avals
        anywhere = placement is ANYWHERE
        self.types = [*avals] if anywhere else [type_on(a, placement) for a in avals]

    def load(self) -> Executable:
        program, device = self.program, self.device
        found = program.executables.get(device)
        if found is None:
            found = compile_program(program, device, self.text)
            program.executables[device] = found
        return found

    def text(self) -> tuple[str, Module]:
        return self.program.text(self.device.platform)

    def run(self, args: Sequence[Array]) -> list[Array]:
        program, device = self.program, self.device
        if device.platform == "cpu" and program.result_bytes > 2 * machine_memory() > 0:
            raise noted(too_large(program.name, program.result_bytes, self.types))
        if self.named:
            with transfers.explicitly():
                args = [move(a, device) for a in args]
        elif program.is_plain and self.types[0].placement is ANYWHERE:
            launch = program.launch = program.launch or self.launcher()
            launched = launch(args)
            if launched is not None:
                return launched
        inputs = [buffer_on(args[i], device) for i in program.live] + self.constants()
        results = self.results(inputs)
        outs = [o.take(args, results) for o in program.outputs]
        if self.named:
            outs = [x if x.aval.dtype == float0 else move(x, device) for x in outs]
        return outs

    def launcher(self) -> Callable[[Sequence[Any]], list[Array] | None]:
        """The function that runs a plain program on arrays that may be anywhere; `None` for others,
        or if a switch says where it is to run."""
        device, execute = self.device, self.executable.execute
        live, outputs, types = self.program.live, self.program.outputs, self.types
        nones = [None] * len(types)
        in_order = self.program.order() == [*range(len(types))]

        def launch(args: Sequence[Any]) -> list[Array] | None:
            if thread.default_device is not None:
                return None
            for a in args:
                if a.type is not a.aval:
                    return None
            inputs = []
            for i in live:
                b = args[i]._buffer
                inputs.append(buffer_on(args[i], device) if b is None else b)
            results = list(map(Array, nones, types, execute(inputs)))
            return results if in_order else [o.take(args, results) for o in outputs]

        return launch

    def constants(self) -> list[RawBuffer]:
        """The constants that the program closes over, on the device."""
        return [buffer_on(c, self.device) for c in self.program.consts]

    def ready(self, types: Sequence[ArrayType]) -> Ready | None:
        program, device = self.program, self.device
        live, order = program.live, program.order()
        default = client.default_device()
        if (
            order is None
            or not program.result_types
            or program.calls_host
            or any((types[i].placement.device or default) is not device for i in live)
        ):
            return None
        executable, consts = self.executable, self.constants()

        def fill(leaves: Sequence[Any]) -> list[RawBuffer]:
            return [argument_buffer(leaves[i], device) for i in live] + consts

        prepare = None
        if consts or len(live) < len(types):
            prepare = lambda leaves, given: [given[i] for i in live] + consts  # noqa: E731
        return Ready(
            executable.run,
            executable.handlers,
            prepare,
            fill,
            [live[n] for n in program.donated],
            self.types,
            self.order(),
        )

    def input_shardings(self) -> list[Sharding]:
        return [SingleDeviceSharding(self.device)] * len(self.program.in_avals)

    def output_shardings(self) -> list[Sharding]:
        return [SingleDeviceSharding(self.device)] * len(self.program.outputs)


# --- several devices ---


class Several(Loaded):
    """A program on a group of devices, for one division of each argument.

    Args:
      inputs: the sharding of each argument.
      said: the same where it was asked for: such an argument is moved even if it isn't computed
        with, and is an output.
      outs: the sharding of each output; `None` leaves it to XLA.
    """

    __slots__ = ("group", "inputs", "outs", "said")
    target: Group

    def __init__(
        self,
        program: Program,
        group: Group,
        inputs: Sequence[Sharding],
        said: Shardings,
        outs: Shardings,
    ) -> None:
        super().__init__(program, group)
        self.group, self.inputs, self.said, self.outs = group, inputs, said, outs

    def load(self) -> Executable:
        program, group = self.program, self.group
        avals, inputs = program.stripped.out_avals, self.input_list()
        tilings = [
            layout_of(v.aval, s, group).tiling
            for v, s in zip(program.stripped.invars, inputs, strict=True)
        ]
        key = group, tuple(tilings), tuple(self.wanted())
        executable: Executable | None
        executable, wanted = program.executables.get(key) or (None, self.wanted())
        while executable is None:
            write = functools.partial(self.text, wanted)
            executable = compile_program(program, group, write)
            uneven = [
                any(n % parts for n, parts in zip(a.shape, tiling.parts, strict=True))
                for a, tiling in zip(avals, executable.tilings, strict=False)
            ]
            if any(uneven) and wanted == self.wanted():
                # XLA pads parts that don't come out even; such arrays are replicated instead
                everywhere = replicated(group)
                wanted = [everywhere if u else w for u, w in zip(uneven, wanted, strict=True)]
                executable = None
        program.executables[key] = executable, wanted
        meshes = meshes_named((*inputs, *wanted), program.stripped)
        self.types = [
            layout_of(a, sharding or sharding_of(tiling, group, meshes), group)
            for a, tiling, sharding in zip(avals, executable.tilings, wanted, strict=False)
        ]
        return executable

    def text(self, wanted: Shardings | None = None) -> tuple[str, Module]:
        program, meshes = self.program, Meshes(self.group.devices)

        def attributes(shardings: Shardings, avals: Sequence[Aval]) -> list[str]:
            return [meshes.attribute(s, a.ndim) for s, a in zip(shardings, avals, strict=True)]

        return program.text_for(
            self.group.platform,
            meshes,
            attributes(self.input_list(), program.stripped.in_avals),
            attributes(wanted or self.wanted(), program.stripped.out_avals),
        )

    def input_list(self) -> list[Sharding]:
        """The shardings of XLA's inputs: live arguments and constants."""
        return [self.inputs[i] for i in self.program.live] + self.constant_shardings()

    def wanted(self) -> list[Sharding | None]:
        """The sharding of each result of XLA's, from those of the outputs."""
        found: list[Sharding | None] = [None] * len(self.program.stripped.outvars)
        for output, sharding in zip(self.program.outputs, self.outs, strict=True):
            if isinstance(output, Result) and found[output.index] is None:
                found[output.index] = sharding
        return found

    def constant_shardings(self) -> list[Sharding]:
        """The shardings of the constants: their own if they are on the group, else replicated."""
        return [
            c.sharding if c.type.placement.group is self.group else replicated(self.group)
            for c in self.program.consts
        ]

    def constants(self) -> list[RawBuffer]:
        """The constants that the program closes over, on the devices."""
        found = self.program.group_constants.get(self.group)
        if found is None:
            pairs = zip(self.program.consts, self.constant_shardings(), strict=True)
            found = self.program.group_constants[self.group] = [commit(c, s) for c, s in pairs]
        return [live_buffer(c) for c in found]

    def run(self, args: Sequence[Array]) -> list[Array]:
        program, name = self.program, self.program.name
        results: list[Array] = []
        if program.result_types or program.stripped.equations:
            there = [on_group(name, i, args[i], self.group, self.inputs[i]) for i in program.live]
            results = self.results([live_buffer(x) for x in there] + self.constants())
        outs = []
        for output, sharding in zip(program.outputs, self.outs, strict=True):
            x = output.take(args, results)
            if isinstance(output, PassedInput):
                wanted = sharding or self.said[output.index]
                if wanted is not None:
                    x = on_group(name, output.index, x, self.group, wanted)
            elif sharding is not None:
                x = commit(x, sharding)
            outs.append(x)
        return outs

    def ready(self, types: Sequence[ArrayType]) -> Ready | None:
        program, group, live = self.program, self.group, self.program.live
        order = program.order()
        if order is None or not program.result_types:
            return None
        host: list[tuple[int, int, Layout]] = []  # (number among live ones, number, layout)
        for n, i in enumerate(live):
            to = layout_of(types[i].aval, self.inputs[i], group)
            if types[i].placement is ANYWHERE:
                if n in program.donated:
                    return None
                host.append((n, i, to))
            elif not same_parts(types[i], to):
                return None  # it has to be moved first
        execute = self.executable.execute
        for number, said in zip(order, self.outs, strict=True):
            made = self.types[number]
            if said is not None and not same_parts(made, layout_of(made.aval, said, group)):
                return None  # it has to be moved afterwards
        consts = self.constants()

        def prepare(leaves: Sequence[Any], given: list[Any]) -> list[RawBuffer]:
            found = [given[i] for i in live]
            for n, i, layout in host:
                found[n] = host_buffer(leaves[i], layout)
            return found + consts

        def fill(leaves: Sequence[Any]) -> list[RawBuffer]:
            return prepare(leaves, [getattr(x, "_buffer", None) for x in leaves])

        direct = not host and not consts and len(live) == len(types)
        return Ready(
            execute,
            None,
            None if direct else prepare,
            fill,
            [live[n] for n in program.donated],
            self.types,
            self.order(),
        )

    def input_shardings(self) -> list[Sharding]:
        return list(self.inputs)

    def output_shardings(self) -> list[Sharding]:
        types = self.types if self.executable else []  # known once it is compiled
        shardings = []
        for output, sharding in zip(self.program.outputs, self.outs, strict=True):
            if isinstance(output, Result):
                sharding = sharding or types[output.index].placement.sharding
            elif isinstance(output, PassedInput):
                sharding = sharding or self.inputs[output.index]
            shardings.append(sharding or replicated(self.group))
        return shardings


# --- where a program runs ---


def load_program(
    program: Program,
    types: Sequence[ArrayType],
    named: Placement | None = None,
    inputs: Shardings | None = None,
    outs: Shardings | None = None,
) -> Loaded:
    """The program on the devices that its arguments are committed to, or that are named.

    Constants that the function closes over decide if no argument does.

    Args:
      named: where the program is to run, whatever the arguments are committed to.
      inputs, outs: the sharding of each argument and each output, on a group of devices.
    """
    where = named or ANYWHERE
    if named is None and types != [*map(aval_of, types)]:
        where = joined_placement(program.name, types, program.live)
    if program.consts and not where.committed:
        groups = [c.type.placement for c in program.consts if c.type.placement.group is not None]
        where = groups[0] if groups else ANYWHERE
    group = where.group
    found: Loaded | None
    if group is None:
        device = where.device
        if device is None:
            chosen = None if thread.default_device is None else client.chosen_device()
            device = chosen or client.process.device or client.default_device()
            where = ANYWHERE if chosen is None else on_device(chosen, committed=False)
        key: Any = device, where, named is not None
        found = program.loaded.get(key)
        if found is None:
            made = OneDevice(program.content, device, where, named is not None)
            found = remember(program.loaded, key, made)
    else:
        said = tuple(inputs) if inputs is not None else (None,) * len(types)
        live = set(program.live)
        everywhere = replicated(group)
        full = tuple(
            s
            or (t.placement.group is not None and i in live and t.placement.sharding)
            or everywhere
            for i, (s, t) in enumerate(zip(said, types, strict=True))
        )
        wanted = tuple(outs) if outs is not None else (None,) * len(program.outputs)
        key = group, full, said, wanted
        found = program.loaded.get(key)
        if found is None:
            several = Several(program.content, group, full, said, wanted)
            found = remember(program.loaded, key, several)
    return found


def run_program(
    program: Program, args: Sequence[Array], device: Device | None = None
) -> list[Array]:
    """The outputs for arrays.

    Args:
      device: where it runs; by default where a function inside was jitted for, or where arguments
        are committed to.
    """
    launch = program.content.launch
    if launch is not None and device is None:
        outs = launch(args)
        if outs is not None:
            return outs
    named: Placement | None = None
    if device is not None:
        named = on_device(device)
    elif not program.only_computes:
        named = placement_inside(program.body)
    return load_program(program, [*map(type_of, args)], named).run(args)


def run_jaxpr(jaxpr: Jaxpr, args: Sequence[Array], device: Device | None = None) -> list[Array]:
    """The outputs of a jaxpr for arrays, compiled once; see `run_program`."""
    return run_program(program_of(jaxpr, (), False), args, device)


# --- arrays from one division to another ---


def on_group(name: str, number: int, x: Array, group: Group, sharding: Sharding) -> Array:
    """An argument on the group that runs a program, with a sharding."""
    placement = x.type.placement
    if placement.group is group and placement.sharding is sharding:
        return x
    if placement.committed and set(placement.devices) != set(group.devices):
        where = placement.device if placement.group is None else placement.group
        raise ValueError(
            f"{name}: runs on {group}; argument {number}, {x.aval}, is committed to {where}\n"
            "  fix: move it with device_put(x, sharding)"
        )
    if placement.group is None:
        return shard(x, layout_of(x.aval, sharding, group))
    if placement.group is not group:
        x = reorder(x, group)
    if not sharding.is_open and same_parts(x.type, layout_of(x.aval, sharding, group)):
        return x
    return reshard(x, sharding)


def reshard(x: Array, sharding: Sharding) -> Array:
    """An array that is on a group, with another sharding: the devices send each other parts."""
    transfers.copying(x.aval, x.sharding, sharding)
    program = _constraining(x.aval, sharding)
    outs = [None if sharding.is_open else sharding]
    (result,) = load_program(program, [x.type], None, None, outs).run([x])
    return result


@functools.lru_cache(4096)
def _constraining(a: Aval, sharding: Sharding) -> Program:
    """The program that constrains an array to a sharding."""
    before, after = Var(a), Var(a)
    equation = Equation(constrain, [before], (("sharding", sharding),), [after])
    return Program(Jaxpr([], [], [before], [equation], [after], "device_put"))


def commit(x: Array, sharding: Sharding) -> Array:
    """An array on the devices of a sharding, wherever it is now."""
    placement = x.type.placement
    group = group_of(sharding.devices)
    to = layout_of(x.aval, sharding, group)
    if placement.group is not None and set(placement.devices) == set(group.devices):
        return Array(None, to, live_buffer(on_group("device_put", 0, x, group, sharding)))
    return shard(x, to)


def constrained(x: Array, sharding: NamedSharding) -> Array:
    """An array as a sharding constraint says: see `primitives/placement.py`."""
    if not sharding.is_open:
        return commit(x, sharding)
    there = x.type.placement.group is group_of(sharding.devices)
    return reshard(x, sharding) if there else commit(x, sharding.closed())
