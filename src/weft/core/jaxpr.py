"""The intermediate representation, `Jaxpr`: a list of equations over typed variables."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from .array import Array
from .aval import Aval, aval_of
from .caching import cached_on_program
from .open_jaxpr import JaxprEqn, OpenJaxpr
from .printing import jaxpr_text
from .source_location import SourceLocation, at_location
from .trace import Params, Trace
from .value import Value

if TYPE_CHECKING:
    from .primitive import Primitive


class Var:
    """A variable: a name for one value. Compared by identity.

    Example:
      >>> program = make_jaxpr(lambda x: 2.0 * x)(1.0)
      >>> program.jaxpr.invars[0].aval
      float32[]
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var<{self.aval}>"


class Equation:
    """`outvars = primitive[params] inputs`; immutable (`tests/structure/test_immutability.py`).

    `inputs` are variables or literals. A literal is an `Array` without axes. `params` is a tuple of
    (name, value) pairs.

    Example:
      >>> program = make_jaxpr(lambda x: np.sum(x, axis=0))(np.ones((2, 3)))
      >>> equation = program.jaxpr.equations[0]
      >>> equation.primitive, dict(equation.params)
      (reduce_sum, {'axes': (0,)})
    """

    __slots__ = ("inputs", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: "Primitive",
        inputs: Sequence[Any],
        params: Params,
        outvars: Sequence[Var],
        source: SourceLocation | None = None,
    ) -> None:
        self.primitive, self.inputs, self.params, self.outvars = primitive, inputs, params, outvars
        self.source = source

    @property
    def source_info(self) -> SourceLocation:
        """The user's line; recorded only under switches that check results (`debug_nans`, …)."""
        return self.source or SourceLocation("", self.primitive.name)

    def replace(
        self, inputs: Sequence["Atom"], outvars: Sequence[Var], **changes: Any
    ) -> "Equation":
        """The equation with other variables, and with some of its parameters changed."""
        params = tuple((dict(self.params) | changes).items()) if changes else self.params
        return Equation(self.primitive, inputs, params, outvars, self.source)


Atom: TypeAlias = Var | Array  # an input of an equation, or an output of a program: a literal


class Labels(NamedTuple):
    """The names that messages use for a program's inputs and results."""

    inputs: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def argument(self, i: int) -> str:
        """The path of an input, such as `params['w']`; empty if it is unknown."""
        return self.inputs[i].removeprefix("its argument ") if i < len(self.inputs) else ""


NO_LABELS = Labels()
_set = object.__setattr__  # sets an attribute of a new object that refuses assignments
_numbers = itertools.count()


class Jaxpr:
    """A traced program: from `invars` (after `constvars`, whose values are `consts`) to `outvars`.

    A program is immutable: `replace` makes another one. So results derived from it (its derivative,
    batched form, executable: see `core/caching.py`) hold as long as it lives, and are kept on it,
    in `cached_results`. `outvars` may hold literals. `labels` are for messages. `number` counts
    programs in the order in which they were made.

    Example:
      >>> program = make_jaxpr(lambda x: 2.0 * x)(1.0)
      >>> program
      { lambda ; a:f32[]*. let
          b:f32[]* = mul 2.0:f32[]* a
        in (b,) }
    """

    __slots__ = (
        "__weakref__",
        "cached_results",
        "consts",
        "constvars",
        "equations",
        "invars",
        "labels",
        "name",
        "number",
        "outvars",
    )

    constvars: tuple[Var, ...]
    consts: tuple[Any, ...]
    invars: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outvars: tuple[Any, ...]
    name: str
    labels: Labels
    cached_results: dict[Any, dict[Any, Any]]
    number: int

    def __init__(
        self,
        constvars: Sequence[Var],
        consts: Sequence[Any],
        invars: Sequence[Var],
        equations: Sequence[Equation],
        outvars: Sequence[Any],
        name: str = "main",
        labels: Labels = NO_LABELS,
    ) -> None:
        _set(self, "constvars", tuple(constvars))
        _set(self, "consts", tuple(consts))
        _set(self, "invars", tuple(invars))
        _set(self, "equations", tuple(equations))
        _set(self, "outvars", tuple(outvars))
        _set(self, "name", name)
        _set(self, "labels", labels)
        _set(self, "cached_results", {})
        _set(self, "number", next(_numbers))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"Jaxpr.{name}: a program is never changed\n  fix: jaxpr.replace({name}=...)"
        )

    @property
    def in_avals(self) -> list[Aval]:
        """The avals of `invars`."""
        return [*map(aval_of, self.invars)]

    @property
    def out_avals(self) -> list[Aval]:
        """The avals of `outvars`."""
        return [*map(aval_of, self.outvars)]

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations as JAX's interpreters read them."""
        return [JaxprEqn(e) for e in self.equations]

    @property
    def jaxpr(self) -> OpenJaxpr:
        """The program without the values of its constants."""
        return OpenJaxpr(self)

    @property
    def literals(self) -> Sequence[Any]:
        """The values of the constants."""
        return self.consts

    def without_consts(self) -> "Jaxpr":
        """The same program with its constants as leading inputs."""
        if not self.constvars:
            return self
        return consts_as_inputs(self)

    def replace(self, **changes: Any) -> "Jaxpr":
        """A program with some arguments of the constructor changed. Labels are dropped unless
        given.
        """
        unchanged = {name: getattr(self, name) for name in _PARTS if name not in changes}
        return Jaxpr(**unchanged, **changes)

    def __str__(self) -> str:
        return jaxpr_text(self)

    def __repr__(self) -> str:
        return jaxpr_text(self)

    def pretty_print(self, typed: bool = True) -> str:
        """The program as text; with types, or in the notation without them."""
        return jaxpr_text(self, typed=typed)


_PARTS = ("constvars", "consts", "invars", "equations", "outvars", "name")


@cached_on_program
def consts_as_inputs(jaxpr: Jaxpr) -> Jaxpr:
    """See `Jaxpr.without_consts`."""
    inputs, results = jaxpr.labels
    if inputs:
        inputs = ("a constant that it closes over",) * len(jaxpr.consts) + inputs
    return jaxpr.replace(
        constvars=(),
        consts=(),
        invars=(*jaxpr.constvars, *jaxpr.invars),
        labels=Labels(inputs, results),
    )


def run(jaxpr: Jaxpr, args: Sequence[Value], trace: Trace) -> list[Any]:
    """Interprets a jaxpr under `trace`, equation by equation.

    Example:
      >>> from weft.core.trace import current
      >>> program = make_jaxpr(lambda x, y: x * y + 1.0)(2.0, 3.0)
      >>> run(program, [np.array(2.0), np.array(3.0)], current.trace)
      [Array(7., dtype=float32, weak_type=True)]
    """
    env: dict[Var, Value] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    del args  # so that a value is freed after its last use
    if jaxpr.equations and jaxpr.equations[0].source is not None:  # tested once a run
        return run_at_locations(jaxpr, env, trace)
    bind = trace.bind
    uses = last_uses(jaxpr) if len(jaxpr.equations) > 1 else ((),)  # all go at the end
    for equation, dead in zip(jaxpr.equations, uses, strict=False):
        outvars = equation.outvars
        inputs = [env[v] if type(v) is Var else v for v in equation.inputs]
        if equation.primitive.multiple:
            avals = tuple(map(aval_of, outvars))
            outs = bind(equation.primitive, inputs, equation.params, avals)
            env.update(zip(outvars, outs, strict=True))
            del outs
        else:
            env[outvars[0]] = bind(equation.primitive, inputs, equation.params, outvars[0].aval)
        for v in dead:
            del env[v]
        del inputs
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


@cached_on_program
def last_uses(jaxpr: Jaxpr) -> list[tuple[Var, ...]]:
    """For each equation, the variables that no later equation uses."""
    used: set[Var] = set()
    for v in jaxpr.outvars:
        if type(v) is Var:
            used.add(v)
    dead_after = []
    for e in reversed(jaxpr.equations):
        dead = []
        for v in (*e.inputs, *e.outvars):
            if type(v) is Var and v not in used:
                used.add(v)
                dead.append(v)
        dead_after.append(tuple(dead))
    dead_after.reverse()
    return dead_after


def run_at_locations(jaxpr: Jaxpr, env: dict[Var, Value], trace: Trace) -> list[Any]:
    """Like `run`, for equations that carry the user's lines."""
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


def only_computes(jaxpr: Jaxpr) -> bool:
    """True if no operation has effects, programs inside, or communication. Most programs are so."""
    for e in jaxpr.equations:
        collective = e.primitive.collective
        if e.primitive.effects is not None or (collective is not None and collective.communicates):
            return False
    return True


def names_axes(primitive: "Primitive") -> bool:
    """True for a collective over the axes that its parameter `axes` names."""
    return primitive.collective is not None and primitive.collective.rule is not None


def uses_axis(primitive: "Primitive", params: Params, name: Any) -> bool:
    """True if an operation refers to a named axis, itself or in a jaxpr inside."""
    if names_axes(primitive):
        return name in dict(params)["axes"]
    return primitive.takes_axis and name in axes_inside(params)


def axes_inside(params: Params) -> frozenset[Any]:
    """The named axes that the jaxprs inside an operation use, and the user's rules in its
    parameters.
    """
    names: frozenset[Any] = frozenset()
    for jaxpr in subjaxprs(params):
        names |= named_axes(jaxpr)
    for _, value in params:
        names = names.union(getattr(value, "named_axes", ()))
    return names


@cached_on_program
def named_axes(jaxpr: Jaxpr) -> frozenset[Any]:
    """The named axes that a program uses."""
    names: frozenset[Any] = frozenset()
    for e in jaxpr.equations:
        if names_axes(e.primitive):
            names = names.union(dict(e.params)["axes"])
        elif e.primitive.takes_axis:
            names |= axes_inside(e.params)
    return names


def subjaxprs(params: Params) -> Iterator[Jaxpr]:
    """The jaxprs inside an equation's params."""
    for _, value in params:
        if isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Jaxpr))


def executed_programs(params: Params) -> list[Jaxpr]:
    """The jaxprs that an equation runs. Other jaxprs in its params only describe it, such as the
    matrix of a linear solve."""
    body = dict(params).get("jaxpr")
    return [*subjaxprs(params)] if body is None else [body]
