"""Jaxpr to StableHLO text. Knows equations and their lowering rules; knows nothing of XLA."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..config import thread
from ..core.aval import aval_of
from ..core.caching import derived, remember
from ..core.checking import check_results
from ..core.jaxpr import Jaxpr, Var
from ..primitives.callbacks import TOKEN, token_of
from ..runtime import plugins
from ..stablehlo import Block, Module, Operand
from ..stablehlo.block import NOT_INLINED
from ..stablehlo.shardy import Meshes
from .simplify import jaxpr_calls_host
from .turning import turned_apart


def lower(
    jaxpr: Jaxpr,
    *,
    name: str = "",
    donated: Sequence[int] = (),
    platform: str = "cpu",
    axes: Sequence[tuple[Any, int]] = (),
    meshes: Meshes | None = None,
    argument_attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
) -> tuple[str, Module]:
    """The program as StableHLO text, with a public function `main`.

    Args:
      jaxpr: without constants (`Jaxpr.without_consts`).
      name: of the module, if it is to have one.
      donated: which inputs may be overwritten.
      axes: the named axes that its replicas are counted over, row by row: (name, size) pairs.
      meshes: of a program for several devices.
      argument_attributes, result_attributes: further ones of arguments and results, as text.
    Returns: the text, and the module (which keeps alive what the program refers to).
    """
    module = Module(name)
    module.platform, module.axes, module.meshes = platform, tuple(axes), meshes
    module.solvers = platform != "cpu" and plugins.has_kernels(platform)
    attributes: list[str] = []
    for i in range(len(jaxpr.invars) if donated or argument_attributes else 0):
        own = [*["jax.buffer_donor = true"] * (i in donated), *argument_attributes[i : i + 1]]
        inside = ", ".join(filter(None, own))
        attributes.append(f"{{{inside}}}" if inside else "")
    calls = jaxpr_calls_host(jaxpr)
    ends = [*result_attributes, *[""] * calls] if result_attributes else []

    def main(block: Block, args: Sequence[Operand]) -> list[Operand]:
        outs = lower_jaxpr(block, jaxpr, args)
        return [*outs, token_of(block)] if calls else outs

    module.add_function(
        "main",
        jaxpr.in_avals,
        main,
        public=True,
        argument_attributes=attributes,
        result_attributes=[f"{{{m}}}" if m else "" for m in ends],
    )
    return str(module), module


@derived
def operation_numbers(jaxpr: Jaxpr) -> list[int]:
    """A number for each equation; equal for equal operations on equal types."""
    numbers: dict[Any, int] = {}
    found = []
    for e in jaxpr.equations:
        key = [e.primitive, e.params, len(e.outvars)]
        for v in e.inputs:
            key.append(v.aval if v.__class__ is Var else id(v))
        found.append(numbers.setdefault(tuple(key), len(numbers)))
    return found


def lower_jaxpr(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """Writes a jaxpr's equations into a block; returns the operands of its outputs."""
    names, literal = names_of_inputs(block, jaxpr, args), block.literal

    def operands_of(atoms: Sequence[object]) -> list[Operand]:
        return [Operand(names[v], v.aval) if v.__class__ is Var else literal(v) for v in atoms]

    checking, apart = thread.enable_checks, turned_apart(jaxpr)
    here = (block.module.platform, block.module.axes)  # what collectives' forms depend on
    numbers = operation_numbers.known(jaxpr)  # if outlining has found them
    own: dict[int, Template] = {}  # templates that are for this block
    seen: dict[int, int] = {}
    for n, equation in enumerate(jaxpr.equations):
        inputs = equation.inputs
        if apart and equation.outvars[0] in apart:
            names[equation.outvars[0]] = block.turn(*operands_of(inputs)).name
            continue
        if numbers is not None:
            template = own.get(numbers[n])
            if template is not None:
                names[equation.outvars[0]] = template.write(block, names, inputs)
                continue
        primitive, outvars = equation.primitive, equation.outvars
        if primitive.multiple:
            rule = primitive.lower_rule or no_rule(primitive)
            outs = rule(
                block, *operands_of(inputs), out=[v.aval for v in outvars], **dict(equation.params)
            )
            if checking:
                check_results(str(primitive), "lower", outs, [v.aval for v in outvars])
            for v, o in zip(outvars, outs, strict=True):
                names[v] = o.name
            continue
        literals = False
        for v in inputs:  # a comprehension would cost a frame an equation
            if v.__class__ is not Var:
                literals = True
        key = (here, equation.params, *map(aval_of, inputs))
        template = None if literals else primitive.templates.get(key)
        if template is not None:
            names[outvars[0]] = template.write(block, names, inputs)
            if numbers is not None:
                own[numbers[n]] = template
            continue
        operands = operands_of(inputs)
        start, count = len(block.lines), block.count
        rule = primitive.lower_rule or no_rule(primitive)
        result = rule(block, *operands, out=outvars[0].aval, **dict(equation.params))
        if checking:
            check_results(str(primitive), "lower", [result], [outvars[0].aval])
        names[outvars[0]] = result.name
        if numbers is not None:
            times = seen[numbers[n]] = seen.get(numbers[n], 0) + 1
            if 2 <= times <= 3:
                template = template_of(block, start, count, inputs, operands, result.name, True)
                if template is not None:
                    own[numbers[n]] = template
        if not literals and key not in primitive.templates:
            template = template_of(block, start, count, inputs, operands, result.name, False)
            remember(primitive.templates, key, template)
    return operands_of(jaxpr.outvars)


def names_of_inputs(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> dict[Any, str]:
    """The names that a jaxpr's inputs and constants have in a block."""
    names = {v: a.name for v, a in zip(jaxpr.invars, args, strict=True)}
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        names[var] = block.constant(const.host(), const.aval).name
    return names


class Template:
    """The text of an equation's lowering, with slots for names.

    A rule takes 3 µs and more, filling in a template 0.5 to 1. Templates are kept on the primitive
    for each signature; those that refer to constants of a block, for as long as that is written.
    """

    __slots__ = ("fresh", "places", "result", "slots", "template")

    def __init__(self, template: str, fresh: int, slots: tuple[int, ...], result: int) -> None:
        self.template, self.fresh, self.slots, self.result = template, fresh, slots, result
        # one new name, the first one in the text, and then one or two operands: their places
        simple = fresh == 1 and slots[:1] == (0,) and 0 not in slots[1:] and len(slots) in (2, 3)
        self.places = tuple([i - 1 for i in slots[1:]]) if simple else ()

    def write(self, block: Block, names: dict[Any, str], inputs: Sequence[object]) -> str:
        """Writes the lines; returns the name of the result."""
        block.count = count = block.count + self.fresh
        places = self.places
        if places:
            name = f"{block.prefix}{count}"
            x = names[inputs[places[0]]]
            given = (name, x) if len(places) == 1 else (name, x, names[inputs[places[1]]])
            block.lines.append(self.template % given)
            return name
        fresh, first = self.fresh, count - self.fresh + 1
        found = [
            f"{block.prefix}{first + i}" if i < fresh else names[inputs[i - fresh]]
            for i in self.slots
        ]
        block.lines.append(self.template % tuple(found))
        return f"{block.prefix}{first + self.result}"


def template_of(
    block: Block,
    start: int,
    count: int,
    inputs: Sequence[object],
    operands: Sequence[Operand],
    result: str,
    constants: bool,
) -> Template | None:
    """The text that a rule has written, as a template; `None` if it refers to more than operands.

    Args:
      start, count: the numbers of lines and names before.
      inputs, operands: of the equation.
      constants: whether names of literals and constants may stay in it as they are.
    """
    known = {c.name for c in block.constants.values()}
    known.update([o.name for (x, _), o in block.widened.items() if x in known])
    places = {f"{block.prefix}{n}": n - count - 1 for n in range(count + 1, block.count + 1)}
    fresh = len(places)
    for i, (v, o) in enumerate(zip(inputs, operands, strict=True), fresh):
        if v.__class__ is Var:
            # the same operand twice, or one that is a constant: which is meant isn't seen
            if o.name in places or o.name in known:
                return None
            places[o.name] = i
    fixed = known if constants else set()
    text = "\n".join(block.lines[start:])
    found = _NAME.findall(text)
    if (
        result not in places
        or places[result] >= fresh
        or "{\n" in text
        or "stablehlo.constant" in text
        or "func.call" in text
        or "channel_handle" in text  # each has a number of its own
        or "sdy." in text  # meshes have other names in other modules
    ):
        return None
    if not all([name in places or name in fixed for name in found]):
        return None
    parts = [part.replace("%", "%%") for part in _NAME.split(text)]
    template = parts[0]
    for name, part in zip(found, parts[1:], strict=True):
        template += ("%s" if name in places else f"%{name}") + part
    slots = tuple([places[name] for name in found if name in places])
    return Template(template, fresh, slots, places[result])


_NAME = re.compile(r"%[A-Za-z0-9_]+(?:#[0-9]+)?")


def no_rule(primitive: object) -> Any:
    """The error for a primitive that can't be compiled."""
    raise errors.MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")


def lower_call(
    block: Block,
    jaxpr: Jaxpr,
    args: Sequence[Operand],
    attributes: str = "",
    location: str = "",
) -> list[Operand]:
    """A call of a function of its own for `jaxpr`, written once in the module."""
    module = block.module
    calls = jaxpr_calls_host(jaxpr)
    token = [TOKEN] if calls else []
    key = id(jaxpr), module.axes, None if module.region is None else module.region.key
    name = module.made.get(key)
    if name is None:
        name = module.made[key] = module.fresh_name(jaxpr.name)
        module.keep.append(jaxpr)
        build = lambda b, xs: lower_jaxpr(b, jaxpr, xs)  # noqa: E731
        avals = [*jaxpr.in_avals, *token]
        module.add_function(name, avals, with_token(build) if calls else build)
    if calls:
        args = [*args, token_of(block)]
    outs = block.call(name, args, [*jaxpr.out_avals, *token], attributes, location)
    if calls:
        block.token = outs.pop()
    return outs


# --- the order of calls of the host ---


def with_token(build: Callable[[Block, Any], Sequence[Operand]]) -> Any:
    """A writer of a function or a region, with the token as one more argument and result.

    See `primitives/callbacks.py`: it is what keeps calls of the host in order.
    """

    def whole(block: Block, args: Sequence[Operand]) -> list[Operand]:
        *args, block.token = args
        return [*build(block, args), token_of(block)]

    return whole


# --- functions that stay apart ---


def no_inlining(block: Block) -> str:
    """The attribute of a call that is not to be inlined.

    None where the program is written for one device along some axes of a mesh: the function may map
    over the others, and XLA doesn't know then in which part of the program it is.
    """
    region = block.module.region
    return "" if region is not None and region.rest else NOT_INLINED


def lower_isolated(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """A call that XLA neither merges with the rest of the program nor begins before it has all
    arguments.

    A barrier says so; but the CPU's pipeline drops barriers early, and looks for what is computed
    twice after that. There a function that isn't inlined does it (benchmarks/checkpoint.py).
    """
    if block.module.platform == "cpu":
        return lower_call(block, jaxpr, args, no_inlining(block))
    if args:
        args = block.op("optimization_barrier", *args, out=[a.aval for a in args])
    return lower_call(block, jaxpr, args)
