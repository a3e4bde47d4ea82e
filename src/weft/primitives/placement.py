"""The operation that says where the parts of a value are to be, within a compiled program."""

from collections.abc import Sequence
from typing import Any

from ..core.array import Array
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.trace import current

constrain = Primitive(
    "sharding_constraint", "The same array, divided among devices as said.", host_limit=0
)
constrain.communicates = True
"""`sharding` is a `weft.sharding.NamedSharding`."""


@constrain.type
def _(x: Aval, *, sharding: Any) -> Aval:
    return x


@constrain.execute
def _(args: Sequence[Array], *, sharding: Any) -> Array:
    return current.base.constrained(args[0], sharding)  # type: ignore[no-any-return]


@constrain.lower
def _(block: Any, x: Any, out: Aval, sharding: Any) -> Any:
    module = block.module
    if module.meshes is None:  # one device has all there is
        return x
    if module.region is not None:
        module.region.refuse("with_sharding_constraint", sharding.mesh, sharding.spec)
        if sharding.mesh != module.region.mesh:  # it names no axis
            return x
    where = module.meshes.sharding(sharding.mesh, sharding.spec, x.aval.ndim)
    return block.constraint(x, where)


@constrain.jvp
def _(primals: Any, tangents: Any, out: Any, *, sharding: Any) -> Any:
    return constrain(tangents[0], sharding=sharding)


@constrain.transpose
def _(ct: Any, x: Any, *, sharding: Any) -> Any:
    return (constrain(ct, sharding=sharding),)


@constrain.batch
def _(args: Any, batched: Any, size: Any, *, sharding: Any) -> Any:
    return constrain(args[0], sharding=sharding.of_batch())
