"""The cost of a collective: the bytes that each device sends, and an estimate of the time.

The bytes are the minimum of known algorithms, independent of the library. With n devices in a
group, and B bytes on each (before a reduce-scatter, after an all-gather):

| collective | each device sends | in rounds |
|---|---|---|
| all-reduce | 2 (n-1)/n · B | 2 ⌈log₂ n⌉ (in a ring: 2 (n-1)) |
| all-gather, reduce-scatter | (n-1)/n · B | ⌈log₂ n⌉ (in a ring: n-1) |
| all-to-all | (n-1)/n · B | n-1 |
| collective-permute, collective-broadcast | B | 1 |

Sources: the lower bound for an all-reduce, and the ring that reaches it: P. Patarasuk, X. Yuan,
Bandwidth optimal all-reduce algorithms for clusters of workstations, J. Parallel Distrib. Comput.
69(2), 2009. The rounds: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective
communication operations in MPICH, Int. J. High Perform. Comput. Appl. 19(1), 2005: recursive
halving and doubling sends as many bytes as the ring, in fewer rounds. The same factors are what
NVIDIA's nccl-tests call bus bandwidth.

Collective, Link, Network, bytes_sent, seconds and table are public.
"""

import math
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from .device_groups import Groups

__all__ = ["Collective", "Link", "Network", "bytes_sent", "seconds", "table"]

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
)


def bytes_sent(kind: str, size: float, devices: int) -> float:
    """The number of bytes that each device sends in one collective.

    Args:
      kind: "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute" or
        "collective-broadcast". For "ragged-all-to-all" this is the maximum.
      size: bytes of the whole array on a device: before a reduce-scatter, after an all-gather.
      devices: the number of devices that take part together.
    Raises: ValueError: an unknown `kind`.
    Example:
      >>> bytes_sent("all-reduce", 1000, 4), bytes_sent("all-gather", 1000, 4)
      (1500.0, 750.0)
    Source: Patarasuk and Yuan, 2009; see the module's text.
    """
    if kind not in KINDS:
        raise ValueError(f"bytes_sent: kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if devices < 2:
        return 0.0
    if kind.startswith("collective-"):
        return float(size)
    passes = 2 if kind == "all-reduce" else 1
    return passes * size * (devices - 1) / devices


def rounds(kind: str, devices: int) -> int:
    """The least number of messages that each device sends one after the other."""
    if devices < 2:
        return 0
    if kind.startswith("collective-"):
        return 1
    if kind.endswith("all-to-all"):
        return devices - 1
    return (2 if kind == "all-reduce" else 1) * math.ceil(math.log2(devices))


def element_bytes(dtype: str) -> float:
    """The bytes of an element, from HLO's name of its type: `f32`, `bf16`, `s4`, `pred`, `c64`."""
    if dtype in ("token", "opaque"):
        return 0.0
    bits = 8 if dtype == "pred" else int(re.findall(r"\d+", dtype)[0])  # f8e4m3fn has 8
    return bits / 8


@dataclass(frozen=True)
class Collective:
    """An exchange between devices, from `collectives` or `predicted`.

    `str()` returns a line of text.

    Example:
      >>> exchange = Collective("all-reduce", (("f32", (1024, 8)),), groups=((0, 1, 2, 3),))
      >>> print(exchange)
      all-reduce of f32[1024,8] among 4 devices: 49.2 kB sent
    """

    kind: str
    """`all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `collective-permute`, …"""
    arrays: tuple[tuple[str, tuple[int, ...]], ...]
    """HLO's dtype name and the shape of each array that a device has afterwards. There are several
    if XLA combined several collectives."""
    groups: Groups = ()
    """The groups of devices that communicate, by device number in the program."""
    pairs: tuple[tuple[int, int], ...] = ()
    """For a collective-permute: (sender, receiver) pairs."""
    axes: tuple[Hashable, ...] | None = None
    """The axes of the mesh along which the devices communicate; `None` if they follow no axes, or
    no mesh was passed."""
    times: int = 1
    """The number of executions in one run of the program, including the steps of loops."""
    counted: bool = field(default=True, compare=False)
    """True if `times` is exact. It is False in a loop whose length is known only at run time; such
    a loop counts as one step."""
    name: str = field(default="", compare=False)
    """The name of the operation in the program."""
    origin: str = field(default="", compare=False)
    """The operations of the traced program from which it comes."""

    @property
    def devices(self) -> int:
        """The number of devices that communicate with each other."""
        if self.pairs:
            return 2 if any(source != target for source, target in self.pairs) else 1
        return max((len(group) for group in self.groups), default=1)

    @property
    def bytes(self) -> float:
        """B in the formulas: the size of the whole array on each device."""
        total = sum(element_bytes(dtype) * math.prod(shape) for dtype, shape in self.arrays)
        return total * (self.devices if self.kind == "reduce-scatter" else 1)

    @property
    def sent(self) -> float:
        """The number of bytes that each device sends when the program runs once."""
        return self.times * bytes_sent(self.kind, self.bytes, self.devices)

    def spans(self, devices_per_host: int) -> bool:
        """True if it crosses hosts. Assumes that devices are numbered host by host."""
        return any(
            len({device // devices_per_host for device in group}) > 1
            for group in (*self.groups, *self.pairs)
        )

    def __str__(self) -> str:
        arrays = ", ".join(f"{t}[{','.join(map(str, shape))}]" for t, shape in self.arrays[:3])
        more = f", … ({len(self.arrays)} arrays)" if len(self.arrays) > 3 else ""
        where = f" along {','.join(map(str, self.axes))}" if self.axes else ""
        times = f", {self.times} times" if self.times > 1 else ""
        unknown = "" if self.counted else ", in a loop of unknown length"
        return (
            f"{self.kind} of {arrays}{more} among {self.devices} devices{where}{times}{unknown}: "
            f"{size_text(self.sent)} sent"
        )


# --- time ---


@dataclass(frozen=True)
class Link:
    """The speed of a link: bytes per second, and the latency in seconds.

    Example:
      >>> Link(bandwidth=50e9, latency=5e-6)
      Link(bandwidth=50000000000.0, latency=5e-06)
    """

    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Network:
    """An assumption about the hardware: the devices of each host, and their links.

    The default is NVIDIA's DGX H100: eight devices per host, NVLink with 450 GB/s in each direction
    within a host, and 400 Gb/s per device between hosts. The latencies are guesses.

    Example:
      >>> Network().devices_per_host, Network().within.bandwidth
      (8, 450000000000.0)
    """

    devices_per_host: int = 8
    within: Link = Link(450e9, 3e-6)
    between: Link = Link(50e9, 10e-6)


def seconds(collective: Collective, network: Network = Network()) -> float:
    """An estimate of the total time of a collective.

    It is rounds · latency + bytes / bandwidth of the slowest link: without overlap, contention or
    hierarchical algorithms. Use it to compare layouts, not to predict times.

    Args:
      collective: an element of the result of `collectives` or `predicted`.
      network: assumptions about the hardware.
    Example:
      >>> gradient = Collective("all-reduce", (("f32", (250_000_000,)),), (tuple(range(16)),))
      >>> round(seconds(gradient), 4)
      0.0376
    Source: the latency-bandwidth model of Thakur, Rabenseifner and Gropp, 2005.
    """
    link = network.between if collective.spans(network.devices_per_host) else network.within
    waiting = collective.times * rounds(collective.kind, collective.devices) * link.latency
    return waiting + collective.sent / link.bandwidth


def size_text(size: float) -> str:
    """A number of bytes as readable text."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


def table(collectives: Iterable[Collective], network: Network | None = None) -> str:
    """A table with one line for each kind of collective and mesh axes, and a total.

    Args:
      collectives: the result of `collectives` or `predicted`.
      network: if given, the table has a column with the estimated times.
    Example:
      >>> sum_of = lambda n: Collective("all-reduce", (("f32", (n,)),), ((0, 1),), axes=("x",))
      >>> print(table([sum_of(5), sum_of(20)]))
      collective  along  devices  times  sent by each
      all-reduce  x            2      2         100 B
      all                             2         100 B
    """
    kinds: dict[tuple[str, str, int], list[Collective]] = {}
    for c in collectives:
        along = "?" if c.axes is None else ",".join(map(str, c.axes))
        kinds.setdefault((c.kind, along, c.devices), []).append(c)
    rows = [["collective", "along", "devices", "times", "sent by each"]]
    if network is not None:
        rows[0].append("time")
    parts = [(*key, group) for key, group in sorted(kinds.items(), key=lambda item: item[0])]
    everything = [c for group in kinds.values() for c in group]
    for kind, along, devices, group in [*parts, ("all", "", "", everything)]:
        times = sum(c.times for c in group)
        open_end = "" if all(c.counted for c in group) else "+"
        sent = size_text(sum(c.sent for c in group))
        rows.append([kind, along, str(devices), f"{times}{open_end}", f"{sent}{open_end}"])
        if network is not None:
            rows[-1].append(f"{sum(seconds(c, network) for c in group) * 1e3:.3g} ms")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    aligned = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(aligned)
