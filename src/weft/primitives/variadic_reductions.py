"""reduce and reduce_window on several arrays, with any program of scalars.

XLA runs the program, one element at a time. The derivative combines elements pairwise, in log n
steps that apply the program elementwise to whole arrays."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes, errors
from ..core.aval import Aval, aval
from ..core.jaxpr import Jaxpr, Var
from ..core.primitive import Primitive
from ..core.value import Value
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .creation import full, zeros
from .rule_types import Avals, Batched, DType, Integers, Tangents, Values
from .scalar_programs import check_computation, region
from .selection import where
from .slicing import Padding, concatenate, pad, slice_
from .structural import broadcast_in_dim, check_axes, others, reshape, transpose, with_batch_axis
from .windows import Geometry, check_geometry, lower_reduce_window, slide

# --- a program applied to whole arrays ---

Pair = tuple[Any, Any]  # a value and its tangent, which may be None


def apply_elementwise(jaxpr: Jaxpr, args: Sequence[Pair]) -> list[Pair]:
    """A program of scalars, applied elementwise to arrays of one shape, and its derivative."""
    shape = args[0][0].shape
    env: dict[Var, Pair] = dict(zip(jaxpr.invars, args, strict=True))

    def pair(v: Value) -> Pair:
        return env[v] if type(v) is Var else (v, None)

    for e in jaxpr.equations:
        values, tangents = map(list, zip(*[pair(v) for v in e.inputs], strict=True))
        params = dict(e.params)
        if "jaxpr" in params or e.primitive.multiple:
            raise errors.MissingRuleError(
                f"reduce: the derivative of a computation with {e.primitive} isn't known\n"
                "  fix: write it as elementwise operations"
            )
        if any("shape" in name for name in params):  # a scalar stays a scalar
            env[e.outvars[0]] = values[0], tangents[0]
            continue
        out = e.primitive(*values, **params)
        t = None
        if any(t is not None for t in tangents) and dtypes.is_inexact(out.dtype):
            if e.primitive.jvp_rule is None:
                raise errors.MissingRuleError(f"{e.primitive}: is not differentiable")
            t = e.primitive.jvp_rule(values, tangents, out, **params)
        env[e.outvars[0]] = out, t

    def broadcast_value(x: Value) -> Value:
        return x if x is None or x.shape == shape else broadcast_in_dim(x, shape=shape, dims=())

    return [(broadcast_value(x), broadcast_value(t)) for x, t in map(pair, jaxpr.outvars)]


def map_pairs(function: Callable[[Any], Any], pairs: Sequence[Pair]) -> list[Pair]:
    """A linear function of an array, applied to values and tangents."""
    return [(function(x), None if t is None else function(t)) for x, t in pairs]


def instantiate_tangents(pairs: Sequence[Pair], others: Sequence[Pair]) -> list[Pair]:
    """The pairs, with zeros for missing tangents if other pairs have one."""
    return [
        (x, zeros(x.aval.strong()) if t is None and other_tangent is not None else t)
        for (x, t), (_, other_tangent) in zip(pairs, others, strict=True)
    ]


def concatenate_pairs(a: Sequence[Pair], b: Sequence[Pair]) -> list[Pair]:
    """Pairs concatenated along axis 0."""
    a, b = instantiate_tangents(a, b), instantiate_tangents(b, a)
    return [
        (concatenate(x, y, dimension=0), None if t is None else concatenate(t, u, dimension=0))
        for (x, t), (y, u) in zip(a, b, strict=True)
    ]


def row_slices(start: int, stop: int, step: int) -> Callable[[Any], Any]:
    """Every `step`-th slice along axis 0."""

    def take_slice(x: Value) -> Any:
        row_shape = x.shape[1:]
        return slice_(
            x,
            start=(start, *[0] * len(row_shape)),
            limit=(stop, *row_shape),
            strides=(step, *[1] * len(row_shape)),
        )

    return take_slice


def pairwise_reduction(
    jaxpr: Jaxpr, xs: Sequence[Pair], inits: Sequence[Pair], axes: Sequence[int]
) -> list[Pair]:
    """Values and tangents of a reduction. Neighbours are combined until one element is left."""
    shape = xs[0][0].shape
    remaining_axes = others(axes, len(shape))
    remaining_shape = tuple(shape[a] for a in remaining_axes)
    n = 1
    for a in axes:
        n *= shape[a]
    xs = map_pairs(
        lambda x: reshape(
            transpose(x, permutation=(*axes, *remaining_axes)), shape=(n, *remaining_shape)
        ),
        xs,
    )
    while n > 1:
        even_rows = map_pairs(row_slices(0, n - n % 2, 2), xs)
        odd_rows = map_pairs(row_slices(1, n, 2), xs)
        combinations = apply_elementwise(jaxpr, [*even_rows, *odd_rows])
        xs = (
            concatenate_pairs(combinations, map_pairs(row_slices(n - 1, n, 1), xs))
            if n % 2
            else combinations
        )
        n = n // 2 + n % 2
    start = map_pairs(lambda i: broadcast_init(i, remaining_shape), inits)
    if not n:
        return start
    return apply_elementwise(
        jaxpr, [*start, *map_pairs(lambda x: reshape(x, shape=remaining_shape), xs)]
    )


def pairwise_windows(
    jaxpr: Jaxpr, xs: Sequence[Pair], inits: Sequence[Pair], geometry: Geometry
) -> list[Pair]:
    """Values and tangents of the reductions of windows."""
    shape = geometry.out_shape(xs[0][0].shape)
    start = map_pairs(lambda i: broadcast_init(i, shape), inits)
    if 0 in shape or 0 in xs[0][0].shape:
        return start
    padding = tuple(
        (low, high, d - 1)
        for (low, high), d in zip(geometry.padding, geometry.base_dilation, strict=True)
    )
    padded = [
        (
            pad_with(x, i, padding),
            None
            if t is u is None
            else pad_with(zeros_written_out(x, t), zeros_written_out(i, u), padding),
        )
        for (x, t), (i, u) in zip(xs, inits, strict=True)
    ]

    def cut_pairs(pairs: Sequence[Pair], axis: int, start: int, length: int, step: int) -> Any:
        def cut_value(x: Value) -> Value:
            start_indices, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
            start_indices[axis], limit[axis] = start, start + (length - 1) * step + 1
            strides[axis] = step
            return slice_(x, start=tuple(start_indices), limit=tuple(limit), strides=tuple(strides))

        return map_pairs(cut_value, pairs)

    result = slide(
        padded, geometry, shape, cut_pairs, lambda a, b: apply_elementwise(jaxpr, [*a, *b])
    )
    return apply_elementwise(jaxpr, [*start, *result])


def zeros_written_out(x: Value, t: Value) -> Value:
    """A tangent with zeros written out."""
    return zeros(x.aval.strong()) if t is None else t


def broadcast_init(init: Value, shape: Sequence[int]) -> Value:
    """An initial value for every result, or along axis 0 for every element of a batch."""
    return broadcast_in_dim(init, shape=tuple(shape), dims=(0,) if init.ndim else ())


def pad_with(x: Value, init: Value, padding: Padding) -> Value:
    """An array padded with an initial value."""
    if not init.ndim:
        return pad(x, init, padding=padding)
    is_inside = pad(
        full(x.aval.update(dtype=dtypes.bool_), True), scalar_zero(dtypes.bool_), padding=padding
    )
    padded = pad(x, scalar_zero(x.dtype), padding=padding)
    return where(is_inside, padded, broadcast_init(init, padded.shape))


def scalar_zero(dtype: DType) -> Value:
    """A zero without axes."""
    return zeros(aval((), dtype))


def pairs_of(primals: Values, tangents: Tangents) -> tuple[list[Pair], list[Pair]]:
    """The operands and the initial values, each with its tangent."""
    pairs = list(zip(primals, tangents, strict=True))
    return pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]


def operands_of(
    args: Values, batched: Sequence[bool], batch_size: int
) -> tuple[list[Value], Values]:
    """The operands, all of them batched, and the initial values."""
    n = len(args) // 2
    return with_batch_axis(args[:n], batched[:n], batch_size), args[n:]


# --- of axes ---

reduce = Primitive(
    "reduce",
    "Reduces `axes` of several arrays together by a program of scalars, from initial values.",
    multiple=True,
)


@reduce.type
def _(*args: Aval, jaxpr: Jaxpr, axes: tuple[int, ...]) -> list[Aval]:
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    if any(x.shape != operands[0].shape for x in operands):
        raise errors.ShapeError(
            f"reduce: operands must have one shape; got {', '.join(map(str, operands))}"
        )
    check_axes("reduce", operands[0], axes)
    check_computation("reduce", jaxpr, operands, inits)
    remaining_axes = others(axes, operands[0].ndim)
    return [x.update(shape=[x.shape[a] for a in remaining_axes], weak_type=False) for x in operands]


@reduce.lower
def _(block: Block, *args: Operand, out: Avals, jaxpr: Jaxpr, axes: Integers) -> Sequence[Operand]:
    return block.op(
        "reduce",
        *args,
        out=list(out),
        attributes=f"dimensions = {ints(axes)}",
        regions=[region(block, jaxpr)],
    )


@reduce.jvp
def _(
    primals: Values, tangents: Tangents, out: Values, *, jaxpr: Jaxpr, axes: Integers
) -> Tangents:
    return [t for _, t in pairwise_reduction(jaxpr, *pairs_of(primals, tangents), axes)]


@reduce.batch
def _(args: Values, batched: Batched, batch_size: int, *, jaxpr: Jaxpr, axes: Integers) -> Values:
    operands, inits = operands_of(args, batched, batch_size)
    axes = tuple(a + 1 for a in axes)
    if any(batched[len(operands) :]):  # XLA accepts one initial value for the batch
        no_tangents = [None] * len(operands)
        return [
            x
            for x, _ in pairwise_reduction(
                jaxpr, *pairs_of([*operands, *inits], no_tangents * 2), axes
            )
        ]
    return reduce(*operands, *inits, jaxpr=jaxpr, axes=axes)


# --- of windows ---

reduce_window = Primitive(
    "reduce_window",
    "Reduces windows of several arrays together by a program of scalars, from initial values.",
    multiple=True,
)


@reduce_window.type
def _(*args: Aval, jaxpr: Jaxpr, geometry: Geometry) -> list[Aval]:
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    if any(x.shape != operands[0].shape for x in operands):
        raise errors.ShapeError(
            f"reduce_window: operands must have one shape; got {', '.join(map(str, operands))}"
        )
    check_geometry("reduce_window", operands[0], geometry)
    check_computation("reduce_window", jaxpr, operands, inits)
    shape = geometry.out_shape(operands[0].shape)
    return [x.update(shape=shape, weak_type=False) for x in operands]


@reduce_window.lower
def _(
    block: Block, *args: Operand, out: Avals, jaxpr: Jaxpr, geometry: Geometry
) -> Sequence[Operand]:
    n = len(args) // 2
    return lower_reduce_window(block, args[:n], args[n:], out, geometry, region(block, jaxpr))


@reduce_window.jvp
def _(
    primals: Values, tangents: Tangents, out: Values, *, jaxpr: Jaxpr, geometry: Geometry
) -> Tangents:
    return [t for _, t in pairwise_windows(jaxpr, *pairs_of(primals, tangents), geometry)]


@reduce_window.batch
def _(
    args: Values, batched: Batched, batch_size: int, *, jaxpr: Jaxpr, geometry: Geometry
) -> Values:
    operands, inits = operands_of(args, batched, batch_size)
    batched_geometry = geometry.batched()
    if any(batched[len(operands) :]):  # XLA accepts one initial value for the batch
        no_tangents = [None] * len(operands)
        return [
            x
            for x, _ in pairwise_windows(
                jaxpr, *pairs_of([*operands, *inits], no_tangents * 2), batched_geometry
            )
        ]
    return reduce_window(*operands, *inits, jaxpr=jaxpr, geometry=batched_geometry)
