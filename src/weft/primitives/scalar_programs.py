"""Small programs of scalars inside an operation: written as a region, or recognized as a monoid."""

from collections.abc import Sequence
from typing import Any

from .. import errors
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var
from ..stablehlo import Block, Operand

# Primitives that are monoids, by name: reductions with them have their own primitives.
MONOIDS = ("add", "mul", "max", "min", "and", "or", "xor")


def monoid(jaxpr: Jaxpr) -> str | None:
    """The name of the monoid if a program of two scalars consists of that one primitive."""
    if len(jaxpr.equations) != 1 or len(jaxpr.outvars) != 1 or len(jaxpr.invars) != 2:
        return None
    (e,) = jaxpr.equations
    name = e.primitive.name
    applies = (
        set(map(id, e.inputs)) == set(map(id, jaxpr.invars)) and jaxpr.outvars[0] is e.outvars[0]
    )
    return name if applies and name in MONOIDS else None


def region(block: Block, jaxpr: Jaxpr) -> str:
    """The text of a region that computes the program."""
    return block.region(
        [a.strong() for a in jaxpr.in_avals], lambda inner, args: write(inner, jaxpr, args)
    )


def write(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """Writes the program's equations into a block; returns the operands of its outputs."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))

    def operand(v: Var | Array) -> Operand:
        return env[v] if isinstance(v, Var) else block.constant(v.host(), v.aval)

    for e in jaxpr.equations:
        if e.primitive.lower_rule is None:
            raise errors.MissingRuleError(f"{e.primitive}: can't be compiled: it has no lower rule")
        inputs = [operand(v) for v in e.inputs]
        avals = [v.aval for v in e.outvars]
        out = avals if e.primitive.multiple else avals[0]
        results = e.primitive.lower_rule(block, *inputs, out=out, **dict(e.params))
        env.update(zip(e.outvars, results if e.primitive.multiple else [results], strict=True))
    return [operand(v) for v in jaxpr.outvars]


def check_computation(
    name: str, jaxpr: Jaxpr, operands: Sequence[Aval], inits: Sequence[Aval]
) -> None:
    """Raises an error unless a program combines two elements of each operand into one."""
    dtypes = [x.dtype for x in operands]
    if [i.dtype for i in inits] != dtypes or any(i.shape for i in inits):
        raise errors.ShapeError(
            f"{name}: each operand needs an initial value that is a scalar of its dtype; got "
            f"{', '.join(map(str, operands))} and initial values {', '.join(map(str, inits))}"
        )
    outs = jaxpr.out_avals
    if [o.dtype for o in outs] != dtypes or any(o.shape for o in outs):
        raise errors.ShapeError(
            f"{name}: the computation must give scalars of {', '.join(d.name for d in dtypes)}; it "
            f"gives {', '.join(map(str, outs))}"
        )
