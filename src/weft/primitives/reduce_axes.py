"""psum_shared and share, for gradients with `reduce_axes`.

Their effect along a named axis depends on which values vary along it (`programs/replication.py`),
so the map over the axis decides it.
"""

from collections.abc import Callable, Sequence

from ..core.array import literal
from ..core.aval import Aval
from ..core.primitive import Axis, Collective, Primitive, Shared, is_linear
from ..core.value import Value
from ..stablehlo import Block, Operand
from .arithmetic import div
from .collectives import psum, remove_at, times_count
from .rule_types import Argument, Batched, BatchedResult, Integers, Names, Tangent, Tangents, Values
from .structural import reduce_sum


def by_variation(
    name: str,
    doc: str,
    change: Callable[[Value, bool, int], tuple[Value, bool]],
    resolve_axis: Callable[[Value, bool, Axis], Value],
) -> Primitive:
    """A linear map of the first operand. The other operands, the references, matter only in whether
    they vary along an axis; their values are not used.

    Args:
      change: (operand, varies, size) -> (result, varies), applied where no reference varies.
      resolve_axis: the same for a program of one element: (operand, varies, axis) -> result.
    """
    primitive = Primitive(name, doc)

    @primitive.type
    def _(x: Aval, *references: Aval, axes: Names, sizes: Integers) -> Aval:
        return x

    @primitive.lower
    def _(block: Block, *operands: Operand, out: Aval, axes: Names, sizes: Integers) -> Operand:
        raise TypeError(
            f"reduce_axes={axes}: expected an axis along which it is known which values vary; it "
            "isn't in a loop or a branch on many devices\n"
            "  fix: leave the axis out of reduce_axes, and apply psum to the gradient"
        )

    @primitive.jvp
    def _(primals: Values, tangents: Tangents, out: Value, **params: object) -> Tangent:
        return None if tangents[0] is None else primitive(tangents[0], *primals[1:], **params)

    @primitive.transpose
    def _(ct: Value, x: Argument, *references: Argument, **params: object) -> Tangents:
        if any(map(is_linear, references)):
            raise TypeError(
                "linear_transpose: expected a linear function; got one that takes a gradient with "
                f"reduce_axes={params['axes']}, which needs to know how its argument varies\n"
                "  fix: vjp"
            )
        return (primitive(ct, *references, **params), *[None] * len(references))

    @primitive.batch
    def _(args: Values, batched: Batched, batch_size: int, **params: object) -> BatchedResult:
        x = primitive(*args, **params)
        return x if batched[0] else Shared(x)

    def resolve(
        args: Values, variations: Sequence[bool], axis: Axis, *, axes: Names, sizes: Integers
    ) -> Values:
        (x, *references), (varies, *references_vary) = args, variations
        if axis.name not in axes:
            return [primitive(*args, axes=axes, sizes=sizes)]
        position = axes.index(axis.name)
        if not any(references_vary):
            x = resolve_axis(x, varies, axis)
        if len(axes) > 1:  # the other axes are resolved later
            x = primitive(
                x, *references, axes=remove_at(axes, position), sizes=remove_at(sizes, position)
            )
        return [x]

    def on_axis(
        args: Values, batched: Batched, axis: Axis, *, axes: Names, sizes: Integers
    ) -> BatchedResult:
        (x, *references), (varies, *references_vary) = args, batched
        position = axes.index(axis.name)
        if not any(references_vary):
            x, varies = change(x, varies, axis.size)
        if len(axes) > 1:
            x = primitive(
                x, *references, axes=remove_at(axes, position), sizes=remove_at(sizes, position)
            )
        return x if varies else Shared(x)

    primitive.collective = Collective(on_axis, resolve=resolve)
    return primitive


def _sum_of_copies(x: Value, varies: bool, length: int) -> tuple[Value, bool]:
    return reduce_sum(x, axes=(0,)) if varies else times_count(x, length), False


def _share_of_copy(x: Value, varies: bool, length: int) -> tuple[Value, bool]:
    return div(x, literal(length, x.dtype)), varies


def _sum_across(x: Value, varies: bool, axis: Axis) -> Value:
    if not varies:
        return times_count(x, axis.size)
    return psum(x, axes=(axis.name,), sizes=(axis.size,), groups=None)


def _part_across(x: Value, varies: bool, axis: Axis) -> Value:
    return div(x, literal(axis.size, x.dtype))


psum_shared = by_variation(
    "psum_shared", "Sum over axes along which no reference varies.", _sum_of_copies, _sum_across
)
share = by_variation(
    "share",
    "An equal share of a sum: divides by the lengths of the axes along which no reference varies.",
    _share_of_copy,
    _part_across,
)
