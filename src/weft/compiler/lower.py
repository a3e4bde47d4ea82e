"""Lowers a jaxpr to StableHLO text by the lowering rules of its primitives."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..config import thread
from ..core.array import literal_key
from ..core.aval import aval_of
from ..core.caching import cached_on_program, remember
from ..core.checking import check_results
from ..core.jaxpr import Equation, Jaxpr, Var
from ..primitives.callbacks import TOKEN, token_of
from ..runtime import plugins
from ..stablehlo import Block, Module, Operand
from ..stablehlo.attributes import string
from ..stablehlo.block import NOT_INLINED
from ..stablehlo.shardy import Meshes
from .simplify import jaxpr_calls_host
from .transposes import separate_transposes


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
      jaxpr: a jaxpr without constants (`Jaxpr.without_consts`).
      name: the name of the module, if any.
      donated: the inputs that may be overwritten.
      axes: the named axes of its replicas, in row-major order: (name, size) pairs.
      meshes: the meshes of a program for several devices.
      argument_attributes, result_attributes: further attributes, as text.
    Returns: the text, and the module, which keeps alive the objects that the program refers to.
    """
    module = Module(name)
    module.platform, module.axes, module.meshes = platform, tuple(axes), meshes
    module.solvers = platform != "cpu" and plugins.has_kernels(platform)
    attributes: list[str] = []
    for i in range(len(jaxpr.invars) if donated or argument_attributes else 0):
        parts = [*["jax.buffer_donor = true"] * (i in donated), *argument_attributes[i : i + 1]]
        inside = ", ".join(filter(None, parts))
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


@cached_on_program
def operation_numbers(jaxpr: Jaxpr) -> list[int]:
    """A number for each equation; equal operations on equal types have equal numbers."""
    number_of: dict[Any, int] = {}
    numbers = []
    for e in jaxpr.equations:
        key = [e.primitive, e.params, len(e.outvars)]
        for v in e.inputs:
            key.append(v.aval if v.__class__ is Var else literal_key(v))
        numbers.append(number_of.setdefault(tuple(key), len(number_of)))
    return numbers


def lower_jaxpr(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """Writes a jaxpr's equations into a block; returns the operands of its outputs."""
    names, literal = names_of_inputs(block, jaxpr, args), block.literal

    def operands_of(atoms: Sequence[object]) -> list[Operand]:
        return [Operand(names[v], v.aval) if v.__class__ is Var else literal(v) for v in atoms]

    if thread.debug_lines and jaxpr.equations and jaxpr.equations[0].source is not None:
        return lower_at_locations(block, jaxpr, names, operands_of)
    apart = separate_transposes(jaxpr)
    here = (block.module.platform, block.module.axes)  # collectives' text depends on these
    constants = block.constant_names
    numbers = operation_numbers.known(jaxpr)  # if outlining finds them
    block_templates: dict[int, Template] = {}  # templates for this block
    seen: dict[int, int] = {}
    for n, equation in enumerate(jaxpr.equations):
        inputs = equation.inputs
        if apart and equation.outvars[0] in apart:
            names[equation.outvars[0]] = block.transpose_matrix(*operands_of(inputs)).name
            continue
        literals = by_rule = False
        for v in inputs:  # a comprehension would cost a Python frame for each equation
            if v.__class__ is not Var:
                literals = True
            elif names[v] in constants:  # results computed from it may be in the block already
                by_rule = True
        if numbers is not None and not by_rule:
            template = block_templates.get(numbers[n])
            if template is not None:
                names[equation.outvars[0]] = template.write(block, names, inputs)
                continue
        primitive, outvars = equation.primitive, equation.outvars
        if primitive.multiple:
            outs = by_its_rule(block, equation, operands_of(inputs), [v.aval for v in outvars])
            for v, o in zip(outvars, outs, strict=True):
                names[v] = o.name
            continue
        key = (here, equation.params, *map(aval_of, inputs))
        template = None if literals or by_rule else primitive.templates.get(key)
        if template is not None:
            names[outvars[0]] = template.write(block, names, inputs)
            if numbers is not None:
                block_templates[numbers[n]] = template
            continue
        operands = operands_of(inputs)
        start, count = len(block.lines), block.count
        block.has_looked_back = False
        result = by_its_rule(block, equation, operands, outvars[0].aval)
        names[outvars[0]] = result.name
        if by_rule or block.has_looked_back:
            continue
        if numbers is not None:
            times = seen[numbers[n]] = seen.get(numbers[n], 0) + 1
            if 2 <= times <= 3:
                template = template_of(block, start, count, inputs, operands, result.name, True)
                if template is not None:
                    block_templates[numbers[n]] = template
        if not literals and key not in primitive.templates:
            template = template_of(block, start, count, inputs, operands, result.name, False)
            remember(primitive.templates, key, template)
    return operands_of(jaxpr.outvars)


def lower_at_locations(
    block: Block,
    jaxpr: Jaxpr,
    names: dict[Any, str],
    operands_of: Callable[[Sequence[object]], list[Operand]],
) -> list[Operand]:
    """Writes equations that carry the user's lines; their operations carry them too.

    XLA keeps a line with an operation through its passes, in the metadata of the optimised program.
    """
    apart = separate_transposes(jaxpr)
    for e in jaxpr.equations:
        operands, outvars = operands_of(e.inputs), e.outvars
        start = len(block.lines)
        if apart and outvars[0] in apart:
            outs = [block.transpose_matrix(*operands)]
        else:
            avals = [v.aval for v in outvars]
            outs = by_its_rule(block, e, operands, avals if e.primitive.multiple else avals[0])
            outs = outs if e.primitive.multiple else [outs]
        names.update(zip(outvars, [o.name for o in outs], strict=True))
        location = location_text(e)
        for i in range(start, len(block.lines)):
            if " loc(" not in block.lines[i].rpartition("\n")[2]:  # named calls have their own
                block.lines[i] += location
    return operands_of(jaxpr.outvars)


def location_text(equation: Equation) -> str:
    """The location of an equation's operations: the file and line, or nothing if unknown."""
    place = equation.source.place if equation.source is not None else None
    return "" if place is None else f" loc({string(place[0])}:{place[1]}:0)"


def by_its_rule(block: Block, equation: Equation, operands: Sequence[Operand], out: Any) -> Any:
    """Writes an equation by the rule of its primitive; returns the operands of its outputs."""
    primitive = equation.primitive
    rule = primitive.lower_rule or no_rule(primitive)
    outs = rule(block, *operands, out=out, **dict(equation.params))
    if thread.enable_checks:
        results = outs if primitive.multiple else [outs]
        check_results(str(primitive), "lower", results, [v.aval for v in equation.outvars])
    return outs


def names_of_inputs(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> dict[Any, str]:
    """The names that a jaxpr's inputs and constants have in a block."""
    names = {v: a.name for v, a in zip(jaxpr.invars, args, strict=True)}
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        names[var] = block.constant(const.host(), const.aval).name
    return names


class Template:
    """The text of an equation's lowering, with slots for names.

    Filling in a template is several times faster than running a rule. It gives the same text, so a
    program does not depend on earlier lowerings. Templates are kept on the primitive by signature;
    a template that refers to constants of a block lasts as long as the block is written.
    """

    __slots__ = ("fresh", "places", "result", "slots", "template")

    def __init__(self, template: str, fresh: int, slots: tuple[int, ...], result: int) -> None:
        self.template, self.fresh, self.slots, self.result = template, fresh, slots, result
        # the first slot is the new name; `places` are the positions of the operands
        simple = fresh == 1 and slots[:1] == (0,) and 0 not in slots[1:] and len(slots) in (2, 3)
        self.places = tuple([i - 1 for i in slots[1:]]) if simple else ()

    def write(self, block: Block, names: dict[Any, str], inputs: Sequence[object]) -> str:
        """Writes the lines; returns the name of the result."""
        block.count = count = block.count + self.fresh
        places = self.places
        if places:
            name = f"{block.prefix}{count}"
            x = names[inputs[places[0]]]
            values = (name, x) if len(places) == 1 else (name, x, names[inputs[places[1]]])
            block.lines.append(self.template % values)
            return name
        fresh, first = self.fresh, count - self.fresh + 1
        operands = [
            f"{block.prefix}{first + i}" if i < fresh else names[inputs[i - fresh]]
            for i in self.slots
        ]
        block.lines.append(self.template % tuple(operands))
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
      inputs, operands: the equation's inputs, and their operands.
      constants: True if names of literals and constants may stay unchanged.
    """
    constant_names = set(block.constant_names)
    constant_names.update([o.name for (x, _), o in block.widened.items() if x in constant_names])
    places = {f"{block.prefix}{n}": n - count - 1 for n in range(count + 1, block.count + 1)}
    fresh = len(places)
    for i, (v, o) in enumerate(zip(inputs, operands, strict=True), fresh):
        if v.__class__ is Var:
            # the text does not distinguish equal operands, or an operand and a constant
            if o.name in places or o.name in constant_names:
                return None
            places[o.name] = i
    fixed = constant_names if constants else set()
    text = "\n".join(block.lines[start:])
    mentioned = _NAME.findall(text)
    if (
        result not in places
        or places[result] >= fresh
        or "{\n" in text
        or "stablehlo.constant" in text
        or "func.call" in text
        or "channel_handle" in text  # each has its own number
        or "sdy." in text  # meshes have other names in other modules
    ):
        return None
    if not all([name in places or name in fixed for name in mentioned]):
        return None
    parts = [part.replace("%", "%%") for part in _NAME.split(text)]
    template = parts[0]
    for name, part in zip(mentioned, parts[1:], strict=True):
        template += ("%s" if name in places else f"%{name}") + part
    slots = tuple([places[name] for name in mentioned if name in places])
    return Template(template, fresh, slots, places[result])


_NAME = re.compile(r"%[A-Za-z0-9_]+(?:#[0-9]+)?")


def no_rule(primitive: object) -> Any:
    """The error for a primitive without a lowering rule."""
    raise errors.MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")


def lower_call(
    block: Block,
    jaxpr: Jaxpr,
    args: Sequence[Operand],
    attributes: str = "",
    location: str = "",
) -> list[Operand]:
    """A call of a function for `jaxpr`, which is written once in the module."""
    module = block.module
    calls = jaxpr_calls_host(jaxpr)
    token = [TOKEN] if calls else []
    key = id(jaxpr), module.axes, None if module.region is None else module.region.key
    if key not in module.made:
        module.keep.append(jaxpr)
    build = lambda b, xs: lower_jaxpr(b, jaxpr, xs)  # noqa: E731
    avals = [*jaxpr.in_avals, *token]
    name = module.function(key, jaxpr.name, avals, with_token(build) if calls else build)
    if calls:
        args = [*args, token_of(block)]
    outs = block.call(name, args, [*jaxpr.out_avals, *token], attributes, location)
    if calls:
        block.token = outs.pop()
    return outs


# --- the order of callbacks ---


def with_token(build: Callable[[Block, Any], Sequence[Operand]]) -> Any:
    """A writer of a function or a region, with the token as one more argument and result.

    The token keeps callbacks in order: see `primitives/callbacks.py`.
    """

    def whole(block: Block, args: Sequence[Operand]) -> list[Operand]:
        *args, block.token = args
        return [*build(block, args), token_of(block)]

    return whole


# --- functions that are not inlined ---


def no_inlining(block: Block) -> str:
    """The attribute that prevents inlining of a call.

    Empty where the program is written for one device along some axes of a mesh. There the function
    may map over the other axes, and XLA could not determine the part that contains it.
    """
    region = block.module.region
    return "" if region is not None and region.rest else NOT_INLINED


def lower_isolated(block: Block, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
    """A call that XLA does not merge with the rest of the program, and does not start before all
    arguments are computed.

    On other platforms an optimization barrier is enough. XLA's CPU pipeline drops barriers before
    it eliminates common subexpressions, so it gets a function that is not inlined
    (benchmarks/checkpoint.py).
    """
    if block.module.platform == "cpu":
        return lower_call(block, jaxpr, args, no_inlining(block))
    if args:
        args = block.op("optimization_barrier", *args, out=[a.aval for a in args])
    return lower_call(block, jaxpr, args)
