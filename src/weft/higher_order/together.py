"""Keeps the devices of a map together where they compute something between them.

Each device goes its own way through branches and loops. Where a collective is inside one, or a map
over further devices, all of them have to come to it: those that do would wait for the others for
ever. So where the index of a branch may differ among devices that meet in it, all branches are
computed and one is selected; and such a loop goes on until it has ended on all of them, as under
`vmap`.

A program is changed when it is lowered. What may differ among devices is followed through it: as
sets of the mesh's axes along which a value varies.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..compiler.dead_code import jaxpr_calls_host
from ..core.jaxpr import Equation, Jaxpr, Var, run, subjaxprs
from ..core.trace import current
from ..dtypes import bool_, int32
from ..interpreters.stage import stage
from ..primitives.collectives import all_gather, axis_index, pmax, pmin, psum
from ..primitives.placement import constrain
from ..primitives.selection import select_n
from ..primitives.structural import convert_element_type
from .call import call
from .cond import all_branches, cond
from .jaxprs import divided
from .scan import scan
from .while_loop import apply_while, while_loop

Along = frozenset[Any]  # axes of the mesh
NOWHERE: Along = frozenset()

ALIKE = (psum, pmax, pmin, all_gather)  # their results are the same for all that take part


class Hidden:
    """The name of an axis that can't be referred to by the one it was given."""

    __slots__ = ("axis",)

    def __init__(self, axis: Any) -> None:
        """
        Args:
          axis: its name in the mesh.
        """
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self.axis == other.axis

    def __hash__(self) -> int:
        return hash((Hidden, self.axis))

    def __repr__(self) -> str:
        return f"{self.axis!r} (outside)"


class Inside(NamedTuple):
    """Where in a program something is.

    Attributes:
      names: the mesh's axis that each name stands for.
      entered: the axes along which the program is written for one device.
    """

    names: tuple[tuple[Any, Any], ...]
    entered: Along

    def enter(self, axes: Sequence[tuple[Any, Any, int]]) -> "Inside":
        """Inside a map over `axes`: (the mesh's axis, the name that it has inside, size)."""
        own = {name: axis for axis, name, _ in axes}
        names = {**dict(self.names), **own}
        return Inside(tuple(names.items()), self.entered.union(own.values()))

    def axes(self, names: Sequence[Any]) -> Along:
        """The mesh's axes that these names stand for."""
        known = dict(self.names)
        return frozenset(known[name] for name in names)

    def name(self, axis: Any) -> Any:
        """What collectives call an axis of the mesh."""
        for name, meant in self.names:
            if meant == axis:
                return name
        return Hidden(axis)


class Together:
    """One program for the devices of a mesh.

    Args:
      sizes: of the mesh's axes.
      maps: the primitive that maps over devices.
    """

    def __init__(self, sizes: dict[Any, int], maps: Any) -> None:
        self.sizes, self.maps = sizes, maps
        self.everywhere: Along = frozenset(sizes)
        self.flows: dict[Any, tuple[Along, ...]] = {}
        self.meetings: dict[Any, Along] = {}

    # --- what varies ---

    def flow(self, jaxpr: Jaxpr, ins: Sequence[Along], at: Inside) -> tuple[Along, ...]:
        """Along which axes the outputs vary."""
        key = jaxpr, tuple(ins), at
        if key not in self.flows:
            env = Env(jaxpr, ins)
            for e in jaxpr.equations:
                env.update(zip(e.outvars, self.results(e, env.of(e.inputs), at), strict=True))
            self.flows[key] = tuple(env.of(jaxpr.outvars))
        return self.flows[key]

    def results(self, e: Equation, ins: Sequence[Along], at: Inside) -> Sequence[Along]:
        """Along which axes the results of an equation vary."""
        primitive, params = e.primitive, dict(e.params)
        every = NOWHERE.union(*ins)
        if primitive.collective_rule is not None:
            own = at.axes(params["axes"])
            return [every - own if primitive in ALIKE and params["groups"] is None else every | own]
        if primitive is cond:
            outs = [self.flow(b, ins[1:], at) for b in params["branches"]]
            return [ins[0].union(*each) for each in zip(*outs, strict=True)]
        if primitive is while_loop:
            return self.loop(params, ins, at)[1]
        if primitive is scan:
            ins = self.scanned(params, ins, at)
        if primitive is self.maps:
            inner, ins = self.mapped(params, ins, at)
            own = inner.entered - at.entered
            return [out - own for out in self.flow(params["jaxpr"], ins, inner)]
        if applies(params, len(ins)):
            return self.flow(params["jaxpr"], ins, at)
        return [every | at.entered if primitive.effects else every] * len(e.outvars)

    def loop(
        self, params: dict[str, Any], ins: Sequence[Along], at: Inside
    ) -> tuple[Along, list[Along]]:
        """Along which axes the condition of a while loop varies, and its carry."""
        before, own, carry = divided(ins, params["cond_nconsts"], params["body_nconsts"])
        while True:
            (going,) = self.flow(params["cond_jaxpr"], [*before, *carry], at)
            outs = self.flow(params["body_jaxpr"], [*own, *carry], at)
            wider = [c | o | going for c, o in zip(carry, outs, strict=True)]
            if wider == list(carry):
                return going, wider
            carry = wider

    def scanned(self, params: dict[str, Any], ins: Sequence[Along], at: Inside) -> list[Along]:
        """Along which axes the inputs of a scan's body vary."""
        consts, carry, xs = divided(ins, params["num_consts"], params["num_carry"])
        while True:
            outs = self.flow(params["jaxpr"], [*consts, *carry, *xs], at)
            wider = [c | o for c, o in zip(carry, outs, strict=False)]
            if wider == list(carry):
                return [*consts, *carry, *xs]
            carry = wider

    def mapped(
        self, params: dict[str, Any], ins: Sequence[Along], at: Inside
    ) -> tuple[Inside, list[Along]]:
        """Inside a map over further axes: where that is, and along which axes its inputs vary."""
        specs = params["in_specs"]
        return at.enter(params["axes"]), [
            i.union(*spec) for i, spec in zip(ins, specs, strict=True)
        ]

    # --- where devices meet ---

    def meeting(self, jaxpr: Jaxpr, at: Inside) -> Along:
        """Along which axes devices compute something together in a program."""
        key = jaxpr, at
        found = self.meetings.get(key)
        if found is None:
            found = NOWHERE
            for e in jaxpr.equations:
                if e.primitive.collective_rule is not None:
                    if e.primitive is not axis_index:
                        found |= at.axes(dict(e.params)["axes"])
                elif e.primitive is self.maps or e.primitive is constrain:
                    found = self.everywhere  # XLA moves parts between any devices
                else:
                    found = found.union(*[self.meeting(j, at) for j in subjaxprs(e.params)])
            self.meetings[key] = found
        return found

    def must_meet(self, e: Equation, varies: Along, jaxprs: Sequence[Jaxpr], at: Inside) -> Along:
        """Along which axes devices would part that meet in `jaxprs`."""
        if not varies:
            return NOWHERE
        meeting = NOWHERE.union(*[self.meeting(j, at) for j in jaxprs])
        calls = any(map(jaxpr_calls_host, jaxprs))
        if varies & meeting and calls:
            raise ValueError(
                f"{e.primitive}: where devices may go different ways, its functions may call the "
                "host or use collectives, not both\n  fix: do one of the two outside of it"
            )
        if at.entered != self.everywhere and not calls:
            meeting = self.everywhere  # arrays may be divided along the other axes
        return varies & meeting

    # --- the program ---

    def kept(self, jaxpr: Jaxpr, ins: Sequence[Along], at: Inside) -> Jaxpr:
        """A program that computes the same, and in which devices that meet don't part."""
        env = Env(jaxpr, ins)
        equations = []
        for e in jaxpr.equations:
            varies = env.of(e.inputs)
            inside = any(True for _ in subjaxprs(e.params))
            equations.append(self.changed(e, varies, at) if inside else e)
            env.update(zip(e.outvars, self.results(e, varies, at), strict=True))
        if all(new is e for new, e in zip(equations, jaxpr.equations, strict=True)):
            return jaxpr
        return Jaxpr(
            jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, jaxpr.outvars, jaxpr.name
        )

    def changed(self, e: Equation, ins: Sequence[Along], at: Inside) -> Equation:
        """An equation with programs inside, in which devices that meet don't part."""
        primitive, params = e.primitive, dict(e.params)
        new: dict[str, Any]
        if primitive is cond:
            branches = params["branches"]
            new = {"branches": tuple(self.kept(b, ins[1:], at) for b in branches)}
            if self.must_meet(e, ins[0], branches, at):
                return as_call(e, lambda index, *xs: all_branches(new["branches"], index, xs))
            if all(b is c for b, c in zip(branches, new["branches"], strict=True)):
                return e
        elif primitive is while_loop:
            before, own, _ = divided(ins, params["cond_nconsts"], params["body_nconsts"])
            going, carry = self.loop(params, ins, at)
            new = {
                "cond_jaxpr": self.kept(params["cond_jaxpr"], [*before, *carry], at),
                "body_jaxpr": self.kept(params["body_jaxpr"], [*own, *carry], at),
            }
            jaxprs = params["cond_jaxpr"], params["body_jaxpr"]
            if over := self.must_meet(e, going, jaxprs, at):
                names = [(at.name(axis), self.sizes[axis]) for axis in sorted(over, key=str)]
                return as_call(e, lambda *xs: until_all_end({**params, **new}, names, xs))
        elif applies(params, len(ins)):
            if primitive is scan:
                ins = self.scanned(params, ins, at)
            elif primitive is self.maps:
                at, ins = self.mapped(params, ins, at)
            new = {"jaxpr": self.kept(params["jaxpr"], ins, at)}
        else:
            return e
        if all(new[k] is params[k] for k in new):
            return e
        return Equation(primitive, e.inputs, tuple({**params, **new}.items()), e.outvars, e.source)


def applies(params: dict[str, Any], count: int) -> bool:
    """Whether an operation applies its `jaxpr` to its operands, of which there are so many."""
    jaxpr = params.get("jaxpr")
    return isinstance(jaxpr, Jaxpr) and len(jaxpr.invars) == count


class Env(dict[Var, Along]):
    """Along which axes variables vary; constants don't."""

    def __init__(self, jaxpr: Jaxpr, ins: Sequence[Along]) -> None:
        super().__init__(zip(jaxpr.invars, ins, strict=True))
        self.update((v, NOWHERE) for v in jaxpr.constvars)

    def of(self, atoms: Sequence[Any]) -> list[Along]:
        return [self[v] if v.__class__ is Var else NOWHERE for v in atoms]


def as_call(e: Equation, function: Callable[..., Any]) -> Equation:
    """A call of `function` in the place of an equation."""
    jaxpr = stage(function, [v.aval for v in e.inputs], name=e.primitive.name)
    return Equation(call, e.inputs, (("jaxpr", jaxpr),), e.outvars, e.source)


def until_all_end(params: dict[str, Any], axes: Sequence[Any], operands: Sequence[Any]) -> Any:
    """A while loop that goes on until its condition holds on none of the devices along `axes`.

    Those whose condition doesn't hold keep what they have.
    """
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    before, own, carry = divided(operands, n_cond, n_body)
    where = {"axes": tuple(n for n, _ in axes), "sizes": tuple(s for _, s in axes), "groups": None}

    def asked(before: Any, carry: Any) -> list[Any]:
        (going,) = run(condition, [*before, *carry], current.trace)
        number = pmax(convert_element_type(going, dtype=int32), **where)
        return [convert_element_type(number, dtype=bool_), going]

    def step(*args: Any) -> list[Any]:
        before, own, (_, going, *carry) = divided(args, n_cond, n_body)
        new = run(body, [*own, *carry], current.trace)
        carry = [select_n(going, old, x) for old, x in zip(carry, new, strict=True)]
        return [*asked(before, carry), *carry]

    state = [*asked(before, carry), *carry]
    avals = [x.aval.strong() for x in state]
    test = stage(lambda anyone, *_: [anyone], avals, name=condition.name)
    consts = [*before, *own]
    loop = stage(step, [*[c.aval for c in consts], *avals], name=body.name)
    return apply_while(test, loop, [], consts, state)[2:]
