"""Jaxpr to StableHLO text. Knows equations and their lowering rules; knows nothing of XLA."""

from collections.abc import Sequence
from typing import Any

from .. import errors
from ..core.jaxpr import Jaxpr, Var
from ..stablehlo import Block, Module, Operand


def lower(jaxpr: Jaxpr, *, donated: Sequence[int] = (), platform: str = "cpu") -> tuple[str, Module]:
    """The program as StableHLO text, with a public function `main`.

    Args:
      jaxpr: without constants (`Jaxpr.without_consts`).
      donated: which inputs may be overwritten.
    Returns: the text, and the module (which keeps alive what the program refers to).
    """
    module = Module()
    module.platform = platform
    marks = ["{jax.buffer_donor = true}" if i in donated else "" for i in range(len(jaxpr.invars))]
    module.add_function(
        "main",
        jaxpr.in_avals,
        lambda block, args: lower_jaxpr(block, jaxpr, args),
        public=True,
        argument_attributes=marks,
    )
    return str(module), module


def lower_jaxpr(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """Writes a jaxpr's equations into a block; gives the operands of its outputs."""
    env: dict[Any, Operand] = dict(zip(jaxpr.invars, args, strict=True))
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        env[var] = block.constant(const.host(), const.aval)
    constant = block.constant
    for equation in jaxpr.equations:
        primitive, outvars = equation.primitive, equation.outvars
        rule = primitive.lower_rule
        if rule is None:
            raise errors.MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")
        inputs = [
            env[v] if type(v) is Var else constant(v.host(), v.aval) for v in equation.inputs
        ]
        if primitive.multiple:
            outs = rule(
                block, *inputs, out=[v.aval for v in outvars], **dict(equation.params)
            )
            env.update(zip(outvars, outs, strict=True))
        elif equation.params:
            env[outvars[0]] = rule(block, *inputs, out=outvars[0].aval, **dict(equation.params))
        else:
            env[outvars[0]] = rule(block, *inputs, out=outvars[0].aval)
    return [
        env[v] if type(v) is Var else constant(v.host(), v.aval) for v in jaxpr.outvars
    ]


def lower_call(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """A call of a function of its own for `jaxpr`, written once in the module."""
    module = block.module
    name = module.made.get(id(jaxpr))
    if name is None:
        name = module.made[id(jaxpr)] = module.fresh_name(jaxpr.name)
        module.keep.append(jaxpr)
        module.add_function(name, jaxpr.in_avals, lambda b, xs: lower_jaxpr(b, jaxpr, xs))
    return block.call(name, args, jaxpr.out_avals)
