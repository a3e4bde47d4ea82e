"""A primitive: a name and six rules, side by side. Calling it applies it under the current trace.

    rule        called as                                   returns
    type        (*avals, **params)                          the output's aval
    evaluate    (*ndarrays, **params)                       the output as an ndarray
    lower       (block, *operands, out, **params)           the output's operand in the block
    jvp         (primals, tangents, out, **params)          the output's tangent
    transpose   (ct, *args, **params)                       a cotangent for each argument
    batch       (args, batched, batch_size, **params)       the output, batched along axis 0

What they agree on:

- A primitive with `multiple=True` has several outputs: `type`, `evaluate`, `lower`, `jvp` and
  `batch` return a sequence of them, and `out` and `ct` are sequences.
- A zero tangent or cotangent is `None`, coming in and going out.
- `jvp` is linear in the tangents; a tangent has the dtype of its primal, and the tangent that it
  returns has the aval of `out`. A result of `None` says: the derivative is zero everywhere.
- In `transpose` a linear argument comes as its aval (`is_linear(arg)` tells); its cotangent has
  that aval. For the other arguments the rule returns `None`.
- In `batch`, a batched argument carries the batch along its axis 0 (`batched` says which do); the
  output carries it along axis 0 too. One that is `Shared(value)` is the same for all of the batch.
- `evaluate` gets NumPy arrays or NumPy scalars and must return exactly the dtype and shape that
  `type` says. It must agree with `lower`: bit for bit on integers and booleans.
  `evaluate_in[dtype]` is used in its place if the first operand has that dtype.
- A missing rule is a statement: no `jvp`, not differentiable; no `transpose`, not linear.
- Operators on values, and calls of primitives, are allowed in jvp, transpose and batch rules.
- No parameter may be named: primals tangents out ct args batched batch_size block.

Every primitive has a `host`, a `HostPolicy` (`core/host_policy.py`): up to which size NumPy carries
it out at once. What only some operations have to say is in objects that a primitive has or lacks:

- `collective`, of an operation between the elements of a mapped axis, or between devices
  (`core/collective.py`);
- `effects`, of one that does more than compute its results (`core/effects.py`);
- `inside`, of a higher-order primitive (`weft.higher_order`): how transformations and passes go
  through the programs in its parameters (`core/program_inside.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from .. import errors
from ..config import caches, thread
from ..extended_dtypes import no_numbers
from .array import as_value
from .aval import Aval, aval_of
from .caching import Owner, latest, remember_under
from .collective import Collective
from .effects import OF_PROGRAMS_INSIDE, Effects
from .host_policy import HostPolicy
from .program_inside import ProgramInside
from .source import NOTED, note_user_line
from .trace import Params, current
from .value import Value

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)

RULES = ("type", "evaluate", "lower", "jvp", "transpose", "batch")

registry: dict[str, "Primitive"] = {}


class Axis(NamedTuple):
    """A mapped axis.

    Attributes:
      size: its length.
      name: by which collectives refer to it; `None` if they can't.
      mesh_axes: the axes of a mesh that it is divided over, where arrays have shardings.
    """

    size: int
    name: Any = None
    mesh_axes: tuple[Any, ...] = ()

    def unnamed(self) -> "Axis":
        """The same axis, to which no collective refers."""
        return self._replace(name=None)


class Shared:
    """An output of a batch rule that is the same for all of the batch."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Primitive:
    """A named operation on arrays.

    Args:
      name: what jaxprs print.
      doc: one line that says what it does.
      multiple: whether it has several outputs.
      host: the class of its cost for NumPy, one of `host_policy.LIMITS`.
    """

    type_rule: Rule | None = None
    evaluate_rule: Rule | None = None
    lower_rule: Rule | None = None
    jvp_rule: Rule | None = None
    transpose_rule: Rule | None = None
    batch_rule: Rule | None = None

    collective: Collective | None = None
    effects: Effects | None = None
    inside: ProgramInside | None = None

    elementwise = False  # each element of the output is of those at its place in the operands
    takes_axis = False  # its batch rule gets an `Axis` in the place of the size
    takes_keys = False  # it moves or compares elements, whatever they are: extended dtypes too

    def __init__(
        self,
        name: str,
        doc: str = "",
        *,
        multiple: bool = False,
        host: str = "arithmetic",
        **rules: Rule | None,
    ) -> None:
        self.name, self.__doc__ = name, doc
        self.multiple, self.host = multiple, HostPolicy(host)
        self.evaluate_in: dict[Any, Rule] = {}  # dtype of the first operand -> its evaluate rule
        self.templates: dict[Any, Any] = {}  # signature -> its StableHLO (compiler/lower.py)
        # the numbers of caches that depend on switches: `caches.now[primitive.kernels][signature]`
        self.kernels = caches.add()  # signature -> what the evaluating trace runs
        self.types = caches.add()  # signature -> output aval(s)
        self.derivatives = caches.add()  # signature and active arguments -> Derivative
        if name in registry:
            raise ValueError(f"Primitive: the name {name!r} is taken by {registry[name].__doc__!r}")
        registry[name] = self
        for rule, function in rules.items():
            if function is not None:
                getattr(self, rule)(function)

    def __call__(self, *args: object, **params: object) -> Any:
        """Applies the primitive to values (or what can be made one) under the current trace."""
        try:
            for a in args:
                if not isinstance(a, Value):
                    args = tuple([as_value(x) for x in args])
                    break
            return current.trace.bind(self, args, tuple(params.items()) if params else ())
        except NOTED as error:
            note_user_line(error)
            raise

    def bind(self, *args: object, **params: object) -> Any:
        """The same as a call."""
        return self(*args, **params)

    @property
    def multiple_results(self) -> bool:
        """True if the primitive has several outputs."""
        return self.multiple

    def __repr__(self) -> str:
        return self.name

    def out(self, args: Any, params: Params) -> Any:
        """The output's aval, or a tuple of them, for values and params."""
        avals = [*map(aval_of, args)]
        key = (params, *avals)
        try:
            return caches.now[self.types][key]
        except KeyError:
            pass
        except TypeError:
            raise unhashable(self, params) from None
        if self.type_rule is None:
            raise errors.MissingRuleError(f"{self}: has no type rule")
        if not self.takes_keys:
            for a in avals:
                if a.stored is not a.dtype:  # an extended dtype
                    raise no_numbers(str(self), a)
        state = thread.switches
        out: Aval | tuple[Aval, ...] = self.type_rule(*avals, **dict(params))
        if self.multiple:
            out = tuple(out)  # type: ignore[arg-type]
        return remember_under(state, self.types, key, out)

    def owner(self, params: Params) -> Owner | None:
        """The parameter on which derivatives are kept, so that they die with it; `None` if they
        are kept by signature."""
        return None

    def primal(self, args: Sequence[Any], params: Params) -> Any:
        """The outputs, where a derivative is taken of them. A subclass may compute them by
        operations that its jvp rule repeats: these are done once."""
        return current.trace.bind(self, args, params)

    # Each decorator defines one rule.
    def type(self, rule: R) -> R:
        return self._define("type", rule)

    def evaluate(self, rule: R) -> R:
        return self._define("evaluate", rule)

    def lower(self, rule: R) -> R:
        return self._define("lower", rule)

    def jvp(self, rule: R) -> R:
        return self._define("jvp", rule)

    def transpose(self, rule: R) -> R:
        return self._define("transpose", rule)

    def batch(self, rule: R) -> R:
        return self._define("batch", rule)

    def _define(self, kind: str, rule: R) -> R:
        setattr(self, kind + "_rule", rule)
        return rule


class HigherOrder(Primitive):
    """A primitive with programs inside, whose rules are the methods of its `ProgramInside`."""

    inside: ProgramInside
    effects = OF_PROGRAMS_INSIDE
    takes_axis = True

    def __init__(self, name: str, doc: str, inside: ProgramInside) -> None:
        super().__init__(name, doc, multiple=True, host="never")
        self.inside = inside
        self.host.execute_rule = inside.execute
        for rule in ("type", "lower", "transpose", "batch"):
            if hasattr(inside, rule):
                self._define(rule, getattr(inside, rule))

    def owner(self, params: Params) -> Owner:
        first = params[0][1]
        if type(first) is tuple:
            return latest(first)
        if len(params) > 1 and type(params[1][1]) is type(first):  # a loop's body and condition
            return latest((first, params[1][1]))
        return first

    def out(self, args: Any, params: Params) -> Any:
        if self.type_rule is None:
            raise errors.MissingRuleError(f"{self}: has no type rule")
        return tuple(self.type_rule(*[a.aval for a in args], **dict(params)))


def is_linear(arg: object) -> bool:
    """True for an argument of a transpose rule that is to get a cotangent."""
    return type(arg) is Aval


def unhashable(primitive: Primitive, params: Params) -> Exception:
    """The error for a parameter that can't be a part of a key."""
    for name, value in params:
        try:
            hash(value)
        except TypeError:
            return TypeError(
                f"{primitive}: parameter {name!r} must be hashable; got {type(value).__name__} "
                f"{value!r}\n  fix: pass a tuple"
            )
    return TypeError(f"{primitive}: unhashable parameters {params!r}")
