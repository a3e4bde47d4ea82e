"""`shard_map` under its older name and with its older options."""

from collections.abc import Callable
from typing import Any

from ..sharding import Mesh
from ..transforms.devices.shard_map import shard_map as map_over_mesh

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Any] = frozenset(),
) -> Callable[..., Any]:
    """`weft.shard_map`, with the parameters of JAX's older function.

    Args:
      check_rep: `check_vma` of `weft.shard_map`.
      auto: the mesh axes that are not mapped; the others are `axis_names`.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, PartitionSpec as P
      >>> double = shard_map(lambda x: 2 * x, Mesh(weft.devices()[:1], "x"), P("x"), P("x"))
      >>> double(weft.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    Source: the public documentation of `jax.experimental.shard_map`.
    """
    names = tuple(n for n in mesh.axis_names if n not in auto)
    return map_over_mesh(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=names, check_vma=check_rep
    )
