"""Jaxpr to callable: dead code away, text, executable, arrays in and out.

Knows arrays and executables; knows nothing of transformations.
"""

import copy
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..config import thread
from ..core.array import Array, PlacedArray
from ..core.bounded import remember
from ..core.checking import check_jaxpr
from ..core.derived import derived
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.messages import tell
from ..core.sharded_array import ShardedArray
from ..primitives.callbacks import TOKEN
from ..runtime import buffer as buffers, client, transfers
from ..runtime.callback import Callback
from ..runtime.executable import Target
from ..runtime.group import Group, group_of
from . import disk_cache, spmd
from .dead_code import jaxpr_calls_host, without_dead_code
from .lower import lower
from .outline import outlined

# LLVM's effort. Measured on jaxlib 0.10 and 0.12: level 1 compiles 10 to 20 % faster than XLA's own
# choice, and what it compiles runs as fast (docs/design.md, “Compile options”).
OPTIONS: dict[str, dict[str, Any]] = {"cpu": {"xla_backend_optimization_level": 1}}


class Program:
    """A compiled jaxpr: `run(arrays)` gives the list of output arrays.

    Inputs that nothing needs are not passed to XLA. Outputs that are inputs, constants or literals
    are passed through without a copy.
    """

    __slots__ = (
        "_lock",
        "_lowered",
        "calls_host",
        "consts",
        "device",
        "donated",
        "executables",
        "jaxpr",
        "kept",
        "name",
        "options",
        "outputs",
        "plain",
        "stripped",
        "types",
    )

    def __init__(
        self, jaxpr: Jaxpr, donated: Sequence[int] = (), keep_unused: bool = False
    ) -> None:
        self.jaxpr, self.name = jaxpr, jaxpr.name
        self._lock = threading.Lock()
        self._lowered: dict[str, Any] = {}
        self.executables: dict[Any, Any] = {}
        self.options: dict[str, Any] = {}
        lean, used = without_dead_code(jaxpr)
        position = {v: i for i, v in enumerate(jaxpr.invars)}
        const_of = dict(zip(lean.constvars, lean.consts, strict=True))
        computed: list[Any] = []
        place: dict[Any, int] = {}
        # each output: ("input", i), ("value", array) or ("result", i)
        self.outputs: list[tuple[str, Any]] = []
        for v in lean.outvars:
            if type(v) is not Var:
                self.outputs.append(("value", v))
            elif v in position:
                self.outputs.append(("input", position[v]))
            elif v in const_of:
                self.outputs.append(("value", const_of[v]))
            else:
                if v not in place:
                    place[v] = len(computed)
                    computed.append(v)
                self.outputs.append(("result", place[v]))
        self.kept = [i for i, v in enumerate(jaxpr.invars) if keep_unused or v in used]
        consts = [(v, c) for v, c in const_of.items() if v in used]
        self.consts = [c for _, c in consts]
        invars = [jaxpr.invars[i] for i in self.kept] + [v for v, _ in consts]
        self.stripped = outlined(Jaxpr([], [], invars, lean.equations, computed, lean.name))
        if thread.enable_checks:
            check_jaxpr(jaxpr, "tracing and transforming")
            check_jaxpr(lean, "dead code elimination")
            check_jaxpr(self.stripped, "outlining")
        self.donated = [n for n, i in enumerate(self.kept) if i in set(donated)]
        self.types = [(v.aval.shape, v.aval.dtype) for v in computed]
        self.calls_host = jaxpr_calls_host(lean)
        if self.calls_host:
            self.types.append((TOKEN.shape, TOKEN.dtype))
        self.device = device_inside(jaxpr)  # where a function inside is to run, if one says so
        self.plain: Any = None  # how to run it on arrays that are committed nowhere

    def is_plain(self) -> bool:
        """Whether all inputs go to XLA and all outputs come from it, in order."""
        return (
            bool(self.types)
            and not self.consts
            and len(self.kept) == len(self.jaxpr.invars)
            and self.outputs == [("result", i) for i in range(len(self.types))]
        )

    def lowered(self, platform: str) -> tuple[str, Any]:
        """The StableHLO text for a platform, and its module."""
        if platform not in self._lowered:
            self._lowered[platform] = lower(self.stripped, donated=self.donated, platform=platform)
        return self._lowered[platform]  # type: ignore[no-any-return]

    def options_for(self, target: Target) -> dict[str, Any]:
        """XLA's options for this program."""
        return OPTIONS.get(target.platform, {}) | self.options

    def executable(self, device: Any) -> Any:
        """The executable for a device, compiled once."""
        found = self.executables.get(device)
        if found is None:
            with self._lock:
                found = self.executables.get(device)
                if found is None:
                    found = self.compiled(device)
                    self.executables[device] = found
        return found

    def with_options(self, options: Mapping[str, object]) -> "Program":
        """The same program, compiled with options of its own."""
        other = copy.copy(self)
        other.plain = None
        other.options = dict(options)
        other.executables = {}
        return other

    def compiled(self, device: Any) -> Any:
        """The executable, compiled or loaded; what it took is logged if a switch asks for that."""
        if "jaxpr" in thread.debug:
            tell(f"{self.name}:\n{self.stripped}")
        text, module = self.lowered(device.platform)
        if "hlo" in thread.debug:
            tell(f"{self.name}:\n{text}")
        begun = time.perf_counter()
        callbacks = [
            Callback(f.on(device), [(a.shape, a.dtype) for a in (TOKEN, *f.outs)])
            for f in module.callbacks
        ]
        executable = disk_cache.compile_or_load(
            text, self.types, device, self.options_for(device), callbacks
        )
        if thread.log_compiles:
            took = (time.perf_counter() - begun) * 1e3
            inputs, outs = [
                ", ".join(str(v.aval) for v in vs)
                for vs in (self.stripped.invars, self.stripped.outvars)
            ]
            count = len(self.stripped.equations)
            tell(
                f"compiled {self.name}: ({inputs}) -> ({outs}), {count} equations, for {device} in "
                f"{took:.1f} ms"
            )
        return executable

    def run(self, args: Sequence[Array], device: Any = None) -> list[Array]:
        """The outputs for arrays; where it runs is said by `device`, or by committed arguments.

        Constants that the function closes over don't decide: they are copied to where it runs.
        """
        device = explicit = device or self.device
        if self.plain is not None and device is None and thread.default_device is None:
            execute, avals = self.plain
            inputs = []
            for a in args:
                if a.__class__ is not Array:
                    break
                b = a._buffer
                inputs.append(buffer_on(a, client.default_device()) if b is None else b)
            else:
                return list(map(Array, [None] * len(avals), avals, execute(inputs)))
        if device is None:
            device = committed_device(self.name, args, self.kept) or self.group_of_consts()
        elif device.__class__ is not Group:
            with transfers.explicitly():
                args = [moved(a, device) for a in args]
        if device.__class__ is Group:
            return self.run_on(device, args)
        chosen = client.chosen_device() if device is None else None
        where = device or chosen or client.default_device()
        results: list[Any] = []
        if self.types:
            executable = self.executable(where)
            inputs = [buffer_on(args[i], where) for i in self.kept]
            inputs += [buffer_on(c, where) for c in self.consts]
            results = executable.execute(inputs)
            if self.calls_host:
                results.pop()  # the token
        avals = [v.aval for v in self.stripped.outvars]
        if device is None and chosen is None:
            if self.is_plain():
                self.plain = (executable.execute, avals)
            arrays = [Array(None, a, r) for a, r in zip(avals, results, strict=True)]
        else:
            arrays = [
                PlacedArray(None, a, r, where, chosen is None)
                for a, r in zip(avals, results, strict=True)
            ]
        outs = [
            arrays[what] if kind == "result" else args[what] if kind == "input" else what
            for kind, what in self.outputs
        ]
        return outs if explicit is None else [moved(x, explicit) for x in outs]

    # --- on several devices ---

    def placed(
        self, group: Group, inputs: Sequence[Any], wanted: Sequence[Any] = ()
    ) -> spmd.Placed:
        """The program compiled for a group.

        Args:
          inputs: the sharding of each argument that XLA gets, constants excepted.
          wanted: of each result of XLA's; `None` where the choice is XLA's.
        """
        key = group, tuple(inputs), tuple(wanted)
        found = self.executables.get(key)
        if found is None:
            with self._lock:
                found = self.executables.get(key)
                if found is None:
                    shardings = [*inputs, *self.const_shardings(group)]
                    results = wanted or self.wanted(None)
                    options = self.options_for(group)
                    found = spmd.compiled(self, group, shardings, results, options)
                    self.executables[key] = found
        return found

    def arranged(
        self, group: Group, args: Sequence[Array], inputs: Any = None, outs: Any = None
    ) -> tuple[spmd.Placed, list[Array]]:
        """The program compiled for a group and these arguments, and the arrays that it takes.

        Args:
          inputs: how each argument is to be divided; `None`, or `None` for one: as it is.
          outs: how each output is to be; `None`, or `None` for one: XLA decides.
        """
        there = [
            spmd.on_group(self.name, i, args[i], group, None if inputs is None else inputs[i])
            for i in self.kept
        ]
        placed = self.placed(group, [x._sharding for x in there], self.wanted(outs))
        return placed, [*there, *self.constants(group)]

    def wanted(self, outs: Any) -> list[Any]:
        """The sharding of each result of XLA's, from those of the outputs."""
        found: list[Any] = [None] * (len(self.types) - self.calls_host)
        for (kind, what), sharding in zip(self.outputs, outs or (), strict=False):
            if kind == "result" and found[what] is None:
                found[what] = sharding
        return found

    def text_on(self, group: Group, inputs: Sequence[Any], outs: Any) -> tuple[str, Any]:
        """The StableHLO text for a group, and its module.

        Args:
          inputs: of each argument.
        """
        shardings = [inputs[i] for i in self.kept] + self.const_shardings(group)
        return spmd.lowered(self, group, shardings, self.wanted(outs))

    def constants(self, group: Group) -> list[Any]:
        """The constants that the program closes over, on each device of a group."""
        key = "constants", group
        found = self.executables.get(key)
        if found is None:
            shardings = self.const_shardings(group)
            found = [spmd.put_on(c, s) for c, s in zip(self.consts, shardings, strict=True)]
            self.executables[key] = found
        return found

    def const_shardings(self, group: Group) -> list[Any]:
        """How the constants are divided: as they are, if they are on the group, else repeated."""
        return [
            c._sharding
            if c.__class__ is ShardedArray and c.layout.group is group
            else spmd.replicated(group)
            for c in self.consts
        ]

    def group_of_consts(self) -> Group | None:
        """The group that a constant is on: it decides if no argument does."""
        for c in self.consts:
            if c.__class__ is ShardedArray:
                return c.layout.group  # type: ignore[no-any-return]
        return None

    def run_on(
        self, group: Group, args: Sequence[Array], inputs: Any = None, outs: Any = None
    ) -> list[Array]:
        """The outputs for arrays, computed by a group of devices; see `arranged`."""
        results: list[Any] = []
        if self.types:
            placed, arrays = self.arranged(group, args, inputs, outs)
            results = placed.run(arrays)
        found: list[Array] = []
        for (kind, what), wanted in zip(
            self.outputs, outs or [None] * len(self.outputs), strict=True
        ):
            if kind == "input":
                there = wanted or (inputs[what] if inputs is not None else None)
                x = args[what]
                found.append(
                    x if there is None else spmd.on_group(self.name, what, x, group, there)
                )
                continue
            x = results[what] if kind == "result" else what
            found.append(x if wanted is None else spmd.put_on(x, wanted))
        return found


def committed_device(name: str, args: Sequence[Array], used: Sequence[int]) -> Any:
    """The device (or group) that committed arguments are on, or `None`; two are an error."""
    device, first = None, 0
    for i in used:
        a = args[i]
        if a.__class__ is ShardedArray:
            group = a.layout.group
            if device is None:
                device, first = group, i
            elif device is not group:
                on = device.devices if device.__class__ is Group else (device,)
                if set(on) != set(group.devices):
                    raise spmd.apart(name, first, args[first], i, a)
                if device.__class__ is not Group:
                    device = group  # of this one device
        elif a.__class__ is PlacedArray and a._committed:
            if device is None:
                device, first = a._device, i
            elif device.__class__ is Group:
                if device.devices != (a._device,):
                    raise spmd.apart(name, first, args[first], i, a)
            elif device is not a._device:
                raise ValueError(
                    f"{name}: arguments are committed to different devices: {args[first].aval} "
                    f"(argument {first}) to {device}, {a.aval} (argument {i}) to {a._device}\n"
                    "  fix: move them to one with device_put(x, device)"
                )
    return device


@derived
def device_inside(jaxpr: Jaxpr) -> Any:
    """The device that functions called inside were jitted for, or the group of the meshes that are
    named inside, or `None`; two are an error."""
    found: Any = None
    for mesh in spmd.meshes_inside(jaxpr):
        group = group_of(tuple(mesh.devices.flat))
        if found is None or set(found.devices) != set(group.devices):
            found = one_device(jaxpr.name, found, group)
    for e in jaxpr.equations:
        if e.primitive.may_act:
            wanted = [dict(e.params).get("device"), *map(device_inside, subjaxprs(e.params))]
            for device in wanted:
                found = one_device(jaxpr.name, found, device)
    return found


def one_device(name: str, outer: Any, inner: Any) -> Any:
    """The device that either names; an error if they name two."""
    if outer is not None and inner is not None and outer is not inner:
        raise ValueError(
            f"jit: {name} is compiled as one program, for one device; it is to run on {outer}, and "
            f"a function that it calls on {inner}\n  fix: jit the outermost function for a device, "
            "or call the functions one after the other, outside jit"
        )
    return outer if inner is None else inner


def moved(x: Array, device: Any) -> Array:
    """An array on the device that the caller of jit named."""
    if x.__class__ is PlacedArray and x._device is device and x._committed:
        return x
    return PlacedArray(x._host, x.aval, buffer_on(x, device), device)


def settled(x: Any) -> Any:
    """An array that is on the host, where the switch `default_device` wants such ones."""
    chosen = client.chosen_device()
    if chosen is None or x.__class__ is not Array:
        return x
    return PlacedArray(x._host, x.aval, buffer_on(x, chosen), chosen, committed=False)


def buffer_on(array: Array, device: Any) -> Any:
    """Its buffer on a device; an uncommitted array keeps what was put on the default one."""
    if array.__class__ is ShardedArray:
        transfers.copying(array.aval, array._sharding, device)
        return buffers.put(array.host(), device, alias=True)
    buffer = array._buffer
    if buffer is None:
        transfers.sending(array.aval, device)
        buffer = buffers.put(np.asarray(array.host()), device, alias=True)
        if array.__class__ is PlacedArray or device is client.default_device():
            array._buffer = buffer
        return buffer
    at = array._device if array.__class__ is PlacedArray else client.default_device()
    if at is device:
        return buffer
    if array._host is not None and not array.aval.ndim:  # a literal, which was once on a device
        transfers.sending(array.aval, device)
        return buffers.put(np.asarray(array._host), device, alias=True)
    transfers.copying(array.aval, at, device)
    return buffers.copy_to(buffer, device, array.aval.shape, array.aval.dtype)


@derived
def program_of(jaxpr: Jaxpr) -> Program:
    """The program of a jaxpr, made once; of threads that come at once, all get the first one's."""
    return Program(jaxpr)


_one_operation: dict[Any, Program] = {}


def one_operation(primitive: Any, params: Any, avals: Sequence[Any], out: Any) -> Program:
    """The program of one operation."""
    key = (primitive, params, *avals)
    found = _one_operation.get(key)
    if found is None:
        invars = [Var(a) for a in avals]
        outvars = [Var(o) for o in (out if primitive.multiple else (out,))]
        equation = Equation(primitive, invars, params, outvars)
        jaxpr = Jaxpr([], [], invars, [equation], outvars, primitive.name)
        found = remember(_one_operation, key, Program(jaxpr))
    return found
