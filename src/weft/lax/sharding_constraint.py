"""with_sharding_constraint: the sharding of values within a program."""

from typing import Any

from ..compiler.layout import layout_of
from ..core.array import as_value
from ..core.source import located
from ..primitives.sharding_constraint import constrain
from ..sharding import NamedSharding
from ..transforms.jit.shardings import is_entry, named
from ..tree_util import flatten_axes, keystr, tree_flatten_with_path

__all__ = ["with_sharding_constraint"]


@located
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Sets the sharding of values inside a program.

    Inside a compiled program, it tells the compiler how to divide an array over devices; otherwise
    it moves the arrays.

    Args:
      x: an array or a container of them.
      shardings: a `weft.sharding.NamedSharding`, or, in a block `with mesh:`, a `PartitionSpec`;
        or a tree of them that is a prefix of `x`. `PartitionSpec.UNCONSTRAINED` as an entry leaves
        an axis to XLA.
    Returns: the same values. Cotangents have the same sharding.
    Raises: ValueError: a sharding cannot divide a value.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, NamedSharding, PartitionSpec
      >>> s = NamedSharding(Mesh(weft.devices()[:1], "x"), PartitionSpec("x"))
      >>> weft.jit(lambda x: weft.lax.with_sharding_constraint(x * 2, s))(weft.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    Source: the public documentation of `jax.lax.with_sharding_constraint`.
    """
    leaves, tree = tree_flatten_with_path(x)
    outs = []
    entries = flatten_axes("with_sharding_constraint: shardings", tree, shardings, is_entry)
    for (path, leaf), entry in zip(leaves, entries, strict=True):
        value = as_value(leaf)
        sharding = named("with_sharding_constraint", entry)
        if sharding is None:
            outs.append(value)
            continue
        label = f"with_sharding_constraint: x{keystr(path)}, {value.aval}"
        if not isinstance(sharding, NamedSharding):
            raise TypeError(f"{label}: expected a NamedSharding; got {sharding!r:.80}")
        try:
            layout_of(value.aval, sharding.closed())
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None
        outs.append(constrain(value, sharding=sharding))
    return tree.unflatten(outs)


def constrained(x: Any, sharding: Any) -> Any:
    """The value with a sharding, or the value itself for `None`: for parameters `out_sharding`."""
    return x if sharding is None else with_sharding_constraint(x, sharding)
