"""The sharding of arrays in Shardy's notation: `sdy.mesh`, `sdy.sharding`.

Meshes and specs come from `weft.sharding`. Axis names are written as a0, a1, …, since a mesh may
have any value as a name.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from ..sharding import UNCONSTRAINED, Mesh, NamedSharding, Sharding


class Meshes:
    """The meshes that a module refers to.

    Args:
      devices: those that run the program, in its device order.
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = tuple(devices)
        self.names: dict[Any, str] = {}
        self.has_first = False

    def name(self, mesh: Mesh) -> str:
        """The name of a mesh in the module."""
        name = self.names.get(mesh)
        if name is None:
            name = self.names[mesh] = f"mesh{len(self.names)}"
        return name

    def everywhere(self, ndim: int) -> str:
        """The sharding of an array that is replicated on every device."""
        return self.sharding(next(iter(self.names)), (), ndim)

    def on_first(self, count: int) -> str:
        """The attribute of an operation with `count` results that only the first device runs."""
        self.has_first = True
        each = ", ".join(["<@first, []>"] * count)
        return f"sdy.sharding = #sdy.sharding_per_value<[{each}]>"

    def __str__(self) -> str:
        """The declarations."""
        lines = ["sdy.mesh @first = <[], device_ids=[0]>\n"] if self.has_first else []
        for mesh, name in self.names.items():
            sizes = ", ".join(f'"a{i}"={n}' for i, n in enumerate(mesh.devices.shape))
            devices = tuple(mesh.devices.flat)
            ids = ""
            if devices != self.devices:
                ids = f", device_ids={[self.devices.index(d) for d in devices]}"
            lines.append(f"sdy.mesh @{name} = <[{sizes}]{ids}>\n")
        return "".join(lines)

    def attribute(self, sharding: Sharding | None, ndim: int) -> str:
        """The attribute that states how an argument or a result is divided; empty if it leaves that
        to XLA, or is for one device."""
        if not isinstance(sharding, NamedSharding):
            return ""
        return f"sdy.sharding = #sdy.sharding{self.sharding(sharding.mesh, sharding.spec, ndim)}"

    def sharding(
        self, mesh: Mesh, spec: Sequence[object], ndim: int, open_end: bool = False
    ) -> str:
        """A sharding of an array with `ndim` axes, as `<@mesh0, [{"a0"}, {}]>`.

        Args:
          spec: for each axis of the array a name, a tuple of names, `None` or `UNCONSTRAINED`; the
            axes that it doesn't mention are not divided.
        """
        parts = [*spec, *[None] * (ndim - len(spec))]
        texts = []
        for part in parts:
            if part is UNCONSTRAINED:
                texts.append("{?}")
                continue
            names = () if part is None else part if isinstance(part, tuple) else (part,)
            texts.append("{" + ", ".join(axis_text(mesh, n) for n in names) + "}")
        return f"<@{self.name(mesh)}, [{', '.join(texts)}]>"


class Region:
    """A part of a module that is written for one device and its shards of the arrays.

    Args:
      mesh: the devices.
      entered: the manual axes of the mesh; along the others arrays are whole.
    """

    def __init__(self, mesh: Mesh, entered: frozenset[Hashable]) -> None:
        self.mesh, self.entered = mesh, entered
        self.key = mesh, entered

    @property
    def rest(self) -> list[Hashable]:
        """The axes of the mesh that have not been entered."""
        return [name for name in self.mesh.axis_names if name not in self.entered]

    def refuse(self, operation: str, mesh: Mesh, spec: Sequence[object]) -> None:
        """Refuses a spec that shards along a manual axis, or over another mesh."""
        named = [n for part in spec for n in (part if isinstance(part, tuple) else (part,))]
        named = [n for n in named if n is not None and n is not UNCONSTRAINED]
        inside = [name for name in named if mesh != self.mesh or name in self.entered]
        if inside:
            over = "that is mapped over here" if mesh == self.mesh else f"inside of {self.mesh}"
            raise ValueError(
                f"{operation}: {spec} names {inside[0]!r}, an axis of {mesh} {over}: each device "
                "has its own part\n  fix: name axes that aren't mapped, or do it outside of pmap "
                "or shard_map"
            )


def axis_text(mesh: Mesh, name: Hashable) -> str:
    """The name of a mesh's axis in the text."""
    return f'"a{mesh.axis_names.index(name)}"'
