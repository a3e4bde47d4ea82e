"""The intermediate representation: a list of equations over typed variables.

Knows primitives by name only; knows nothing of how a jaxpr is made or run.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from .aval import Aval
from .printing import jaxpr_text
from .source_location import at_location


class Var:
    """A variable: a name for one value. Compared by identity."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var<{self.aval}>"


class Equation:
    """`outvars = primitive[params] inputs`.

    `inputs` are variables or literals; a literal is an `Array` of no axes, standing for itself.
    `params` is a tuple of (name, value) pairs.
    """

    __slots__ = ("inputs", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Any,
        inputs: Sequence[Any],
        params: tuple[tuple[str, Any], ...],
        outvars: Sequence[Var],
        source: Any = None,
    ) -> None:
        self.primitive, self.inputs, self.params, self.outvars = primitive, inputs, params, outvars
        self.source = source

    def replace(self, inputs: Sequence[Any], outvars: Sequence[Var]) -> "Equation":
        """The same operation between other variables."""
        return Equation(self.primitive, inputs, self.params, outvars, self.source)


class Derived(dict[Any, Any]):
    """The results derived from a program. An entry that is there stays.

    Threads may derive the same at one time: then all go on with the first one's, so that it is
    compiled once. A lock would be held while users' rules are traced, which may wait for others.
    """

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setdefault(key, value)


class Jaxpr:
    """A traced program: from `invars` (after `constvars`, which have `consts`) to `outvars`.

    `outvars` may hold literals. `cache` keeps what has been derived from the program (its
    derivative, batched form, executable), so that it lives as long as the program.
    """

    __slots__ = (
        "__weakref__",
        "cache",
        "consts",
        "constvars",
        "equations",
        "invars",
        "name",
        "outvars",
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        consts: Sequence[Any],
        invars: Sequence[Var],
        equations: Sequence[Equation],
        outvars: Sequence[Any],
        name: str = "main",
    ) -> None:
        self.constvars, self.consts, self.invars = list(constvars), list(consts), list(invars)
        self.equations, self.outvars, self.name = list(equations), list(outvars), name
        self.cache = Derived()

    @property
    def in_avals(self) -> list[Aval]:
        """The avals of `invars`."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Aval]:
        """The avals of `outvars`."""
        return [v.aval for v in self.outvars]

    @property
    def eqns(self) -> list[Equation]:
        """The equations."""
        return self.equations

    @property
    def jaxpr(self) -> "Jaxpr":
        """The program itself: a jaxpr carries its constants."""
        return self

    def without_consts(self) -> "Jaxpr":
        """The same program with its constants as leading inputs."""
        if not self.constvars:
            return self
        if "open" not in self.cache:
            self.cache["open"] = Jaxpr(
                [], [], [*self.constvars, *self.invars], self.equations, self.outvars, self.name
            )
        return self.cache["open"]  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return jaxpr_text(self)

    def __repr__(self) -> str:
        return jaxpr_text(self)

    def pretty_print(self, typed: bool = True) -> str:
        """The program as text; with types, or in the notation without them."""
        return jaxpr_text(self, typed=typed)


def run(jaxpr: Jaxpr, args: Sequence[Any], trace: Any) -> list[Any]:
    """Interprets a jaxpr under `trace`, equation by equation."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    del args  # the caller's, perhaps: a value is to be freed after its last use
    if jaxpr.equations and jaxpr.equations[0].source is not None:  # looked at once a run
        return run_at_locations(jaxpr, env, trace)
    bind = trace.bind
    for equation, dead in zip(jaxpr.equations, last_uses(jaxpr), strict=True):
        outvars = equation.outvars
        inputs = [env[v] if type(v) is Var else v for v in equation.inputs]
        if equation.primitive.multiple:
            outs = bind(equation.primitive, inputs, equation.params, tuple(v.aval for v in outvars))
            env.update(zip(outvars, outs, strict=True))
            del outs
        else:
            env[outvars[0]] = bind(equation.primitive, inputs, equation.params, outvars[0].aval)
        for v in dead:
            del env[v]
        del inputs
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


def last_uses(jaxpr: Jaxpr) -> list[tuple[Var, ...]]:
    """For each equation, the variables that nothing after it uses; found once."""
    found: list[tuple[Var, ...]] | None = jaxpr.cache.get("last uses")
    if found is None:
        used = {v for v in jaxpr.outvars if type(v) is Var}
        found = []
        for e in reversed(jaxpr.equations):
            dead = {v for v in (*e.inputs, *e.outvars) if type(v) is Var} - used
            found.append(tuple(dead))
            used |= dead
        found.reverse()
        jaxpr.cache["last uses"] = found
    return found


def run_at_locations(jaxpr: Jaxpr, env: dict[Var, Any], trace: Any) -> list[Any]:
    """As `run`, where equations know which line of the user's they come from."""
    for e in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v for v in e.inputs]
        avals = [v.aval for v in e.outvars]
        with at_location(e.source):
            if e.primitive.multiple:
                outs = trace.bind(e.primitive, inputs, e.params, tuple(avals))
            else:
                outs = [trace.bind(e.primitive, inputs, e.params, avals[0])]
        env.update(zip(e.outvars, outs, strict=True))
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


def uses_axis(primitive: Any, params: tuple[tuple[str, Any], ...], name: Any) -> bool:
    """True if an operation refers to a named axis, itself or in a jaxpr inside."""
    if primitive.collective_rule is not None:
        return name in dict(params)["axes"]
    return primitive.takes_axis and name in axes_inside(params)


def axes_inside(params: tuple[tuple[str, Any], ...]) -> frozenset[Any]:
    """The named axes that the jaxprs inside an operation refer to, and rules of the user's."""
    found: frozenset[Any] = frozenset()
    for jaxpr in subjaxprs(params):
        found |= named_axes(jaxpr)
    for _, value in params:
        found = found.union(getattr(value, "named_axes", ()))
    return found


def named_axes(jaxpr: Jaxpr) -> frozenset[Any]:
    """The named axes that a program refers to; found once."""
    known = jaxpr.cache.get("named axes")
    if known is None:
        known = frozenset()
        for e in jaxpr.equations:
            if e.primitive.collective_rule is not None:
                known = known.union(dict(e.params)["axes"])
            elif e.primitive.takes_axis:
                known |= axes_inside(e.params)
        jaxpr.cache["named axes"] = known
    return known


def subjaxprs(params: tuple[tuple[str, Any], ...]) -> Iterator[Jaxpr]:
    """The jaxprs inside an equation's params."""
    for _, value in params:
        if isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Jaxpr))
