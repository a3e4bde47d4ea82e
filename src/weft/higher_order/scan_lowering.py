"""A scan in StableHLO: a while loop over slices, unrolled by the option `unroll`."""

from collections.abc import Callable, Sequence

from ..compiler.lower import lower_call, lower_jaxpr, with_token
from ..compiler.simplify import jaxpr_calls_host
from ..core.aval import aval
from ..core.jaxpr import Jaxpr
from ..core.masks import groups_of
from ..dtypes import int32
from ..primitives.callbacks import token_of
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints

Operands = Sequence[Operand]
Carried = tuple[Operands, Operands]

_INDEX = aval((), int32)


def lower_scan(
    block: Block,
    operands: Sequence[Operand],
    jaxpr: Jaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> list[Operand]:
    """Writes the loop; returns the last carry and the stacks."""
    carry: Operands
    consts, carry, xs = groups_of(operands, num_consts, num_carry)
    avals = jaxpr.out_avals[num_carry:]
    stacks: Operands = [
        block.full(0, a.update(shape=(length, *a.shape), weak_type=False)) for a in avals
    ]
    unroll = max(1, min(unroll, length))
    iterations, remaining = divmod(length, unroll)
    write = lower_jaxpr if unroll == 1 or length <= 1 else lower_call
    if length and unroll == length:
        iterations, remaining = 0, length

    def step(inner: Block, at: Operand, carry: Operands, stacks: Operands) -> Carried:
        if reverse:
            last = inner.constant(int32.type(length - 1), _INDEX)
            at = inner.elementwise("subtract", (last, at), _INDEX)
        outs = write(inner, jaxpr, [*consts, *carry, *[slice_at(inner, x, at) for x in xs]])
        ys = outs[num_carry:]
        return outs[:num_carry], [put_at(inner, s, y, at) for s, y in zip(stacks, ys, strict=True)]

    def steps(
        inner: Block, at: Operand, count: int, carry: Operands, stacks: Operands
    ) -> tuple[Operand, Operands, Operands]:
        for _ in range(count):
            one = inner.constant(int32.type(1), _INDEX)
            carry, stacks = step(inner, at, carry, stacks)
            at = inner.elementwise("add", (at, one), _INDEX)
        return at, carry, stacks

    def body(inner: Block, args: Operands) -> Operands:
        at, carry, stacks = steps(inner, args[0], unroll, *groups_of(args[1:], num_carry))
        return [at, *carry, *stacks]

    at = block.constant(int32.type(0), _INDEX)
    if iterations:
        state = [at, *carry, *stacks]
        at, *state = _counted(block, state, iterations * unroll, body, jaxpr_calls_host(jaxpr))
        carry, stacks = state[:num_carry], state[num_carry:]
    _, carry, stacks = steps(block, at, remaining, carry, stacks)
    return [*carry, *stacks]


def _counted(
    block: Block,
    state: Operands,
    end: int,
    body: Callable[[Block, Operands], Operands],
    calls_host: bool,
) -> list[Operand]:
    """Writes a while loop that ends when the first value of its state is `end`."""

    def condition(inner: Block, args: Operands) -> Operands:
        limit = inner.constant(int32.type(end), _INDEX)
        return [inner.compare("LT", args[0], limit, aval((), bool))]

    if calls_host:
        state = [*state, token_of(block)]
        body = with_token(body)
    avals = [o.aval for o in state]
    regions = [block.region(avals, condition), block.region(avals, body)]
    outs = list(block.op("while", *state, out=avals, regions=regions))
    if calls_host:
        block.token = outs.pop()
    return outs


def starts(block: Block, at: Operand, ndim: int) -> list[Operand]:
    """The start indices of slice `at` along axis 0."""
    if ndim == 1:
        return [at]
    return [at, *[block.constant(int32.type(0), _INDEX)] * (ndim - 1)]


def slice_at(block: Block, x: Operand, at: Operand) -> Operand:
    """One slice along axis 0."""
    shape = x.aval.shape[1:]
    window = block.op(
        "dynamic_slice",
        x,
        *starts(block, at, x.aval.ndim),
        out=x.aval.update(shape=(1, *shape), weak_type=False),
        attributes=f"slice_sizes = {ints((1, *shape))}",
    )
    return block.reshape(window, shape)


def put_at(block: Block, stack: Operand, y: Operand, at: Operand) -> Operand:
    """The stack with one slice replaced."""
    window = block.reshape(y, (1, *y.aval.shape))
    indices = starts(block, at, stack.aval.ndim)
    return block.op("dynamic_update_slice", stack, window, *indices, out=stack.aval)
