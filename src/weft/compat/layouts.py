"""`jax.experimental.layout`: the order of the axes of arrays in memory, as plain values.

weft's arrays are in row-major order on the host, and XLA chooses the order inside programs. So
layouts can be stored and read, but only the row-major one can be requested.
"""

import dataclasses
from typing import Any

from ..transforms.devices.device_put import device_put as weft_device_put
from ..tree_util import tree_map
from ..user_lines import noted
from .stand_ins import RefusedError


class Layout:
    """The order of axes in memory.

    Args:
      major_to_minor: the axes, from the longest to the shortest stride.
      tiling: the tiles of accelerators' layouts.
    """

    AUTO: "Layout"

    def __init__(
        self, major_to_minor: Any = None, tiling: Any = None, sub_byte_element_size_in_bits: int = 0
    ) -> None:
        self.major_to_minor = None if major_to_minor is None else tuple(major_to_minor)
        self.tiling = tiling
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling or None, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling})"


Layout.AUTO = Layout()


@dataclasses.dataclass(frozen=True)
class Format:
    """A layout and a sharding. `None` leaves either unspecified."""

    layout: Layout | None = None
    sharding: Any = None

    @property
    def device_local_layout(self) -> Layout | None:
        """The layout, under its name of 2024."""
        return self.layout


def device_put(x: Any, device: Any = None, *args: Any, **options: Any) -> Any:
    """`weft.device_put` that also accepts formats; it uses their shardings."""

    def sharding_of(target: Any) -> Any:
        return target.sharding if isinstance(target, Format) else target

    shardings = tree_map(sharding_of, device, is_leaf=lambda target: target is None)
    return weft_device_put(x, shardings, *args, **options)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Returns the value if the layout is row-major or left to XLA; raises an error otherwise."""
    axes = None if layouts is None else layouts.major_to_minor
    if axes is not None and axes != tuple(range(len(axes))):
        raise noted(
            RefusedError(f"with_layout_constraint: XLA chooses the order of axes; got {layouts}")
        )
    return x
