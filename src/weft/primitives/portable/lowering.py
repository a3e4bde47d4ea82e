"""Lowering of a Python function of values: `lowered_algorithm`, `write_values`, `repeated_while`.

An algorithm that a platform's library lacks is a function of values, made of first-order
primitives, operators and `repeated_while`. It runs on stand-ins for operands, and each operation
writes itself into the block with its own lowering rule. Outside a block the same function computes
at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array, Tracer, as_value
from ...core.aval import Aval, aval
from ...core.primitive import Primitive, Rule
from ...core.trace import Params, Trace, current, under
from ...core.value import Value
from ...errors import MissingRuleError
from ...stablehlo import Block, Operand

Algorithm = Callable[..., Sequence[Value]]


class WrittenValue(Tracer):
    """Stands for an operand of a block."""

    __slots__ = ("operand",)

    def __init__(self, trace: "WritingTrace", operand: Operand, aval: Aval) -> None:
        self._trace, self.operand, self.aval = trace, operand, aval


class WritingTrace(Trace):
    """Writes each operation into a block, by its lowering rule."""

    __slots__ = ("block", "outside")

    transform = "lowering"

    def __init__(self, block: Block) -> None:
        self.block = block
        self.outside = None

    def value(self, operand: Operand) -> WrittenValue:
        """The stand-in for an operand."""
        return WrittenValue(self, operand, operand.aval)

    def operand(self, x: Any) -> Operand:
        """The operand of a value; a constant for an array."""
        if isinstance(x, WrittenValue):
            return x.operand
        assert isinstance(x, Array)
        return self.block.constant(x.host(), x.aval)

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: Any = None
    ) -> Any:
        rule = primitive.lower_rule
        if rule is None:
            raise MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")
        if out is None:
            out = primitive.out(args, params)
        operands = [self.operand(x) for x in args]
        outs = rule(self.block, *operands, out=out, **dict(params))
        if primitive.multiple:
            return [WrittenValue(self, o, a) for o, a in zip(outs, out, strict=True)]
        return WrittenValue(self, outs, out)


def write_values(block: Block, algorithm: Algorithm, operands: Sequence[Operand]) -> list[Operand]:
    """Writes what an algorithm does to values; returns the operands of its results."""
    trace = WritingTrace(block)
    results = under(trace, algorithm, *[trace.value(o) for o in operands])
    return [trace.operand(as_value(r)) for r in results]


def lowered_algorithm(algorithm: Algorithm) -> Rule:
    """A lowering rule for a primitive with several outputs; it calls an algorithm's function.

    The function is written once in a module for each signature.
    """

    def rule(
        block: Block, *operands: Operand, out: Sequence[Aval], **params: Any
    ) -> Sequence[Operand]:
        avals = [o.aval.strong() for o in operands]
        module = block.module
        region = None if module.region is None else module.region.key
        key = (algorithm, region, tuple(params.items()), *avals)

        def call_algorithm(*xs: Value) -> Sequence[Value]:
            return algorithm(*xs, **params)

        write = lambda b, xs: write_values(b, call_algorithm, xs)  # noqa: E731
        name = module.function(key, algorithm.__name__, avals, write)
        return block.call(name, operands, list(out))

    return rule


def repeated_while(
    limit: int,
    cond_fun: Callable[..., Any] | None,
    step: Callable[..., Sequence[Any]],
    state: Sequence[Value],
) -> Sequence[Any]:
    """Repeats `state = step(n, *state)` for n = 0, 1, … while `cond_fun(*state)` holds, at most
    `limit` times. The functions may use only `n`, the state and arrays.

    Args:
      cond_fun: returns a boolean scalar; `None` is always true.
      step: returns values with the same avals as the state; n is an int32 scalar.
    """
    trace = current.trace
    if not isinstance(trace, WritingTrace):
        for n in range(limit):
            if cond_fun is not None and not cond_fun(*state):
                break
            state = step(as_value(np.int32(n)), *state)
        return state
    counter, flag = aval((), dtypes.int32), aval((), dtypes.bool_)
    block = trace.block
    start = [trace.operand(x) for x in state]
    avals = [counter, *(o.aval.strong() for o in start)]

    def condition(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        in_limit = inner.compare("LT", args[0], inner.full(limit, counter), flag)
        if cond_fun is None:
            return [in_limit]
        (is_active,) = write_values(inner, lambda *xs: [cond_fun(*xs)], args[1:])
        return [inner.elementwise("and", (in_limit, is_active), flag)]

    def body(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        next_state = write_values(inner, step, args)
        next_count = inner.elementwise("add", (args[0], inner.full(1, counter)), counter)
        return [next_count, *next_state]

    regions = [block.region(avals, condition), block.region(avals, body)]
    outs = block.op("while", block.full(0, counter), *start, out=avals, regions=regions)
    return [trace.value(o) for o in outs[1:]]
