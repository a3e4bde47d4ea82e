"""sharding_constraint: the sharding of a value within a compiled program."""

import math
from collections.abc import Sequence

from ..core.array import Array
from ..core.aval import Aval
from ..core.primitive import Axis, Collective, Primitive
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..sharding import NamedSharding
from ..stablehlo import Block, Operand
from .rule_types import Argument, Batched, Tangents, Values
from .structural import linear_jvp

constrain = Primitive("sharding_constraint", "Returns the array with the sharding `sharding`.")
constrain.takes_keys = constrain.takes_axis = True
constrain.collective = Collective()
"""`sharding` is a `weft.sharding.NamedSharding`."""


@constrain.type
def _(x: Aval, *, sharding: NamedSharding) -> Aval:
    return x


@constrain.host.execute
def _(args: Sequence[Array], *, sharding: NamedSharding) -> Array:
    return current.base.constrained(args[0], sharding)


@constrain.lower
def _(block: Block, x: Operand, out: Aval, sharding: NamedSharding) -> Operand:
    module = block.module
    if module.meshes is None:  # one device has the whole array
        return x
    if module.region is not None:
        module.region.refuse("with_sharding_constraint", sharding.mesh, sharding.spec)
        if sharding.mesh != module.region.mesh:  # the spec does not name an axis
            return x
    where = module.meshes.sharding(sharding.mesh, sharding.spec, x.aval.ndim)
    return block.constraint(x, where)


constrain.jvp(linear_jvp(constrain))


@constrain.transpose
def _(ct: Value, x: Argument, *, sharding: NamedSharding) -> Tangents:
    return (constrain(ct, sharding=sharding),)


@constrain.batch
def _(args: Values, batched: Batched, axis: Axis, *, sharding: NamedSharding) -> Value:
    names = axis.mesh_axes
    try:
        divided = sharding.of_batch(names)
    except ValueError as error:
        raise ShapeError(f"vmap: spmd_axis_name={names} can't divide {sharding}: {error}") from None
    count = math.prod(sharding.mesh.shape[name] for name in names)
    if axis.size % count:
        raise ShapeError(
            f"vmap: spmd_axis_name={names} divides the mapped axis, of length {axis.size}, into "
            f"{count} parts: it must be a multiple"
        )
    return constrain(args[0], sharding=divided)
