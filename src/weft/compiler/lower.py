"""Jaxpr to StableHLO text. Knows equations and their lowering rules; knows nothing of XLA."""

import re
from collections.abc import Sequence
from typing import Any

from .. import errors
from ..core.jaxpr import Jaxpr, Var
from ..core.primitive import remember
from ..stablehlo import Block, Module, Operand
from .outline import block_call


def lower(
    jaxpr: Jaxpr, *, donated: Sequence[int] = (), platform: str = "cpu"
) -> tuple[str, Module]:
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
    literal = block.literal
    lines, prefix, platform = block.lines, block.prefix, block.module.platform
    for equation in jaxpr.equations:
        primitive, outvars, params = equation.primitive, equation.outvars, equation.params
        inputs = [env[v] if v.__class__ is Var else literal(v) for v in equation.inputs]
        if primitive.multiple:
            rule = primitive.lower_rule or no_rule(primitive)
            outs = rule(block, *inputs, out=[v.aval for v in outvars], **dict(params))
            env.update(zip(outvars, outs, strict=True))
            continue
        var = outvars[0]
        count = len(inputs)
        if count == 2:  # written out: this loop is where lowering spends its time
            x, y = inputs
            key: Any = (platform, params, x.aval, y.aval)
        elif count == 1:
            x = y = inputs[0]
            key = (platform, params, x.aval)
        else:
            key = None
        template = primitive.templates.get(key)
        if template is None:
            env[var] = apply_rule(block, primitive, inputs, var.aval, params, key)
            continue
        block.count = number = block.count + 1
        name = f"{prefix}{number}"
        lines.append(template % ((name, x.name, y.name) if count == 2 else (name, x.name)))
        env[var] = Operand(name, var.aval)
    return [env[v] if v.__class__ is Var else literal(v) for v in jaxpr.outvars]


def apply_rule(
    block: Block, primitive: Any, inputs: Sequence[Operand], out: Any, params: Any, key: Any
) -> Operand:
    """Applies a lowering rule; keeps its line for the next equation of the same signature.

    A rule that wrote one line and shares nothing with other equations (constants, broadcasts)
    writes the same line again but for the names: formatting that costs 0.5 µs, the rule 3.
    """
    rule = primitive.lower_rule or no_rule(primitive)
    before, shared = len(block.lines), block.shared
    block.shared = False
    result: Operand = rule(block, *inputs, out=out, **dict(params))
    if key and len(block.lines) == before + 1 and not block.shared and "\n" not in block.lines[-1]:
        names = [result.name, *[o.name for o in inputs]]
        if len(set(names)) == len(names) and result.aval is out:
            template = as_template(block.lines[-1], names)
            if template is not None:
                remember(primitive.templates, key, template)
    block.shared = shared
    return result


def as_template(line: str, names: Sequence[str]) -> str | None:
    """A line with places for names, `  %s = stablehlo.add %s, %s : tensor<8xf32>`; `None` if the
    names don't appear in this order, once each."""
    if _NAME.findall(line) != list(names):
        return None
    return "%s".join(part.replace("%", "%%") for part in _NAME.split(line))


_NAME = re.compile(r"%[A-Za-z0-9_]+(?:#[0-9]+)?")


def no_rule(primitive: Any) -> Any:
    """The error for a primitive that can't be compiled."""
    raise errors.MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")


def lower_call(
    block: Block, jaxpr: Jaxpr, args: Sequence[Operand], attributes: str = ""
) -> list[Operand]:
    """A call of a function of its own for `jaxpr`, written once in the module."""
    module = block.module
    name = module.made.get(id(jaxpr))
    if name is None:
        name = module.made[id(jaxpr)] = module.fresh_name(jaxpr.name)
        module.keep.append(jaxpr)
        module.add_function(name, jaxpr.in_avals, lambda b, xs: lower_jaxpr(b, jaxpr, xs))
    return block.call(name, args, jaxpr.out_avals, attributes)


@block_call.lower
def _(block: Block, *operands: Operand, out: Any, jaxpr: Jaxpr) -> list[Operand]:
    keep = ' {mhlo.frontend_attributes = {inlineable = "false"}}'
    return lower_call(block, jaxpr, operands, keep)
