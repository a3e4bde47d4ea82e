"""Programs on several devices: each runs the same executable on its parts of the arrays.

XLA's partitioner makes the executable, from a program about whole arrays and what is known of how
they are divided; what nobody said is its choice. Knows programs and layouts.
"""

import functools
import time
from collections.abc import Sequence
from typing import Any

from ..config import thread
from ..core.array import Array, PlacedArray
from ..core.bounded import remember
from ..core.derived import derived
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.messages import tell
from ..core.sharded_array import ShardedArray
from ..primitives.callbacks import TOKEN
from ..primitives.placement import constrain
from ..runtime import transfers
from ..runtime.callback import Callback
from ..runtime.group import Group, group_of
from ..sharding import Mesh, NamedSharding, PartitionSpec, Sharding
from ..stablehlo.shardy import Meshes
from . import disk_cache
from .layout import Layout, layout, layout_of, live_buffer, reordered, sharding_of, spread_array
from .lower import lower


class Placed:
    """A program compiled for a group of devices, and for one division of each argument."""

    __slots__ = ("executable", "execute", "inputs", "outs")

    def __init__(
        self, executable: Any, inputs: Sequence[Sharding], outs: Sequence[tuple[Any, Any, Layout]]
    ) -> None:
        self.executable, self.execute = executable, executable.execute
        self.inputs = tuple(inputs)
        self.outs = tuple(outs)  # of each result: aval, sharding, layout

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for arrays that lie as `inputs` say."""
        results = self.execute([live_buffer(a) for a in arrays])  # type: ignore[arg-type]
        return [ShardedArray(*out, r) for out, r in zip(self.outs, results, strict=False)]


def compiled(
    program: Any,
    group: Group,
    inputs: Sequence[Sharding],
    wanted: Sequence[Sharding | None],
    options: Any,
) -> Placed:
    """A program (`compiler/program.py`) compiled for a group.

    Args:
      inputs: how each argument is divided.
      wanted: how each result is to be; `None` leaves it to XLA.
    """
    avals = program.stripped.out_avals
    for _ in range(2):
        executable = _compiled(program, group, inputs, wanted, options)
        uneven = [
            any(n % parts for n, parts in zip(a.shape, tiling.parts, strict=True))
            for a, tiling in zip(avals, executable.tilings, strict=False)
        ]
        if not any(uneven):
            break
        # XLA pads parts that don't come out even; there are no such arrays: repeated instead
        everywhere = replicated(group)
        wanted = [everywhere if u else w for u, w in zip(uneven, wanted, strict=True)]
    named = [s.mesh for s in (*inputs, *wanted) if isinstance(s, NamedSharding)]
    meshes = [*[m for m in named if m.axis_names != _COPIES], *meshes_inside(program.stripped)]
    outs = []
    for a, tiling, sharding in zip(avals, executable.tilings, wanted, strict=False):
        known = layout(a, group, tiling) if sharding is None else layout_of(a, sharding, group)
        outs.append((a, sharding or sharding_of(tiling, group, meshes), known))
    return Placed(executable, inputs, outs)


def _compiled(program: Any, group: Group, inputs: Any, wanted: Any, options: Any) -> Any:
    if "jaxpr" in thread.debug:
        tell(f"{program.name}:\n{program.stripped}")
    text, module = lowered(program, group, inputs, wanted)
    if "hlo" in thread.debug:
        tell(f"{program.name}:\n{text}")
    begun = time.perf_counter()
    callbacks = [
        Callback(f.on(group), [(a.shape, a.dtype) for a in (TOKEN, *f.outs)])
        for f in module.callbacks
    ]
    executable = disk_cache.compile_or_load(text, program.types, group, options, callbacks)
    if thread.log_compiles:
        took = (time.perf_counter() - begun) * 1e3
        tell(f"compiled {program.name} for {group} in {took:.1f} ms")
    return executable


def lowered(program: Any, group: Group, inputs: Any, wanted: Any) -> tuple[str, Any]:
    """The StableHLO text of a program for a group, and its module; see `compiled`."""
    jaxpr, meshes = program.stripped, Meshes(group.devices)
    return lower(
        jaxpr,
        donated=program.donated,
        platform=group.platform,
        meshes=meshes,
        marks=[mark(meshes, s, a.ndim) for s, a in zip(inputs, jaxpr.in_avals, strict=True)],
        result_marks=[
            mark(meshes, s, a.ndim) for s, a in zip(wanted, jaxpr.out_avals, strict=True)
        ],
    )


def mark(meshes: Meshes, sharding: Sharding | None, ndim: int) -> str:
    """The attribute that says how an argument or a result is divided."""
    if sharding is None:
        return ""
    if not isinstance(sharding, NamedSharding):  # one device
        return ""
    return f"sdy.sharding = #sdy.sharding{meshes.sharding(sharding.mesh, sharding.spec, ndim)}"


# --- where a program runs ---


@derived
def meshes_inside(jaxpr: Jaxpr) -> tuple[Mesh, ...]:
    """The meshes that a program's operations name."""
    found: dict[Mesh, None] = {}
    for e in jaxpr.equations:
        for name, value in e.params:
            if name == "mesh" and isinstance(value, Mesh):
                found[value] = None
            elif isinstance(value, NamedSharding):
                found[value.mesh] = None
        if e.primitive.may_act:
            for inner in subjaxprs(e.params):
                found.update(dict.fromkeys(meshes_inside(inner)))
    return tuple(found)


@functools.cache  # groups are kept for ever
def replicated(group: Group) -> NamedSharding:
    """All of an array on each device of a group."""
    return NamedSharding(Mesh(group.devices, _COPIES), PartitionSpec())


_COPIES = ("copies",)  # the axis of a mesh along which nothing is divided


def on_group(
    name: str, number: int, x: Array, group: Group, sharding: Sharding | None
) -> ShardedArray:
    """An argument on the group that runs a program: as a sharding says, or as it is there already,
    or repeated."""
    if x.__class__ is ShardedArray:
        if x.layout.group is not group:
            if set(x.layout.group.devices) != set(group.devices):
                raise ValueError(
                    f"{name}: runs on {group}; argument {number}, {x.aval}, is on "
                    f"{x.layout.group}\n  fix: move it with device_put(x, sharding)"
                )
            x = reordered(x, group)
        if sharding is None:
            return x
        return x if layout_of(x.aval, sharding, group) is x.layout else relaid(x, sharding)
    if x.__class__ is PlacedArray and x.committed and (x._device,) != group.devices:
        raise ValueError(
            f"{name}: runs on {group}; argument {number}, {x.aval}, is committed to {x._device}\n"
            "  fix: move it with device_put(x, sharding)"
        )
    return spread_array(x, sharding or replicated(group), group)


def apart(name: str, first: int, a: Array, second: int, b: Array) -> ValueError:
    """The error for two arguments that are committed to different devices."""
    return ValueError(
        f"{name}: arguments are committed to different devices: {a.aval} (argument {first}) to "
        f"{a.sharding}, {b.aval} (argument {second}) to {b.sharding}\n"
        "  fix: move them to one sharding with device_put(x, sharding)"
    )


def relaid(x: ShardedArray, sharding: Sharding) -> ShardedArray:
    """An array that lies on a group, divided otherwise: the devices exchange their parts."""
    key = x.layout, sharding
    placed = _relaying.get(key)
    if placed is None:
        before, after = Var(x.aval), Var(x.aval)
        equation = Equation(constrain, [before], (("sharding", sharding),), [after])
        program = _Mover(Jaxpr([], [], [before], [equation], [after], "device_put"))
        wanted = None if sharding.is_open else sharding
        made = compiled(program, x.layout.group, [x._sharding], [wanted], {})
        placed = remember(_relaying, key, made)
    transfers.copying(x.aval, x._sharding, sharding)
    (result,) = placed.run([x])
    return result  # type: ignore[return-value]


_relaying: dict[Any, Placed] = {}


class _Mover:
    """The least of a program that can be compiled."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.stripped, self.name, self.donated = jaxpr, jaxpr.name, ()
        self.types = [(a.shape, a.dtype) for a in jaxpr.out_avals]


def constrained(x: Array, sharding: NamedSharding) -> Array:
    """An array as a sharding constraint says: see `primitives/placement.py`."""
    if not sharding.is_open:
        return put_on(x, sharding)
    if x.__class__ is ShardedArray and x.layout.group is group_of(sharding.devices):
        return relaid(x, sharding)
    return put_on(x, sharding.closed())


def put_on(x: Array, sharding: Sharding) -> Array:
    """An array on the devices of a sharding, wherever it is now."""
    group = group_of(sharding.devices)
    if x.__class__ is ShardedArray and set(x.layout.group.devices) == set(group.devices):
        there = on_group("device_put", 0, x, group, sharding)
        return ShardedArray(x.aval, sharding, there.layout, live_buffer(there))
    return spread_array(x, sharding)
