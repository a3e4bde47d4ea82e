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
- `jvp` is linear in the tangents. A tangent has the dtype of its primal, and the tangent that it
  returns has the aval of `out`. A result of `None` means that the derivative is zero everywhere.
- In `transpose` a linear argument comes as its aval (`is_linear(arg)` is true); its cotangent has
  that aval. For the other arguments the rule returns `None`.
- In `batch`, a batched argument carries the batch along its axis 0 (`batched` says which do); the
  output carries it along axis 0 too. A `Shared(value)` is the same for the whole batch.
- `evaluate` gets NumPy arrays or NumPy scalars and must return exactly the dtype and shape that
  `type` says. It must agree with `lower`: bit for bit on integers and booleans.
  `evaluate_in[dtype]` is used in its place if the first operand has that dtype.
- A missing rule is a statement: no `jvp`, not differentiable; no `transpose`, not linear.
- Operators on values, and calls of primitives, are allowed in jvp, transpose and batch rules.
- No parameter may be named: primals tangents out ct args batched batch_size block.

Every primitive has a `host`, a `HostPolicy` (`core/host_policy.py`), which sets the size up to
which NumPy computes it at once. Properties of only some operations are in separate objects:

- `collective`, a `Collective`: an operation between the elements of a mapped axis, or between
  devices;
- `effects`, an `Effects`: an operation that does more than compute its results;
- `inside`, a `ProgramInside` (`core/program_inside.py`): a higher-order primitive, with programs in
  its parameters; how transformations and passes go through them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from .. import errors
from ..config import caches, thread
from ..extended_dtypes import no_numbers
from ..user_lines import note_user_line
from .array import as_value
from .aval import Aval, aval_of
from .caching import ExactParams, Owner, latest, remember_under
from .host_policy import HostPolicy
from .program_inside import ProgramInside
from .source import NOTED
from .trace import Params, current
from .value import Value

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)

RULES = ("type", "evaluate", "lower", "jvp", "transpose", "batch")

registry: dict[str, "Primitive"] = {}

_PACKAGE = __name__.partition(".")[0] + "."


class Axis(NamedTuple):
    """A mapped axis.

    Attributes:
      size: its length.
      name: the name by which collectives refer to it; `None` if they cannot.
      mesh_axes: the mesh axes that it is divided over, where arrays have shardings.
    Example:
      >>> Axis(4, "batch")
      Axis(size=4, name='batch', mesh_axes=())
    """

    size: int
    name: Any = None
    mesh_axes: tuple[Any, ...] = ()

    def unnamed(self) -> "Axis":
        """The same axis without a name, so that no collective refers to it."""
        return self._replace(name=None)


class Shared:
    """An output of a batch rule that is the same for the whole batch.

    Example:
      >>> Shared(np.ones(3)).value
      Array([1., 1., 1.], dtype=float32)
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Collective(NamedTuple):
    """`primitive.collective`: the elements of an axis, or several devices, take part together.

    The operation's parameter `axes` names the axes. `vmap` of one of these axes calls `rule` in
    place of the batch rule.

    Attributes:
      rule: (args, batched, axis, **params) -> the outputs, as from a batch rule. `axis` is the
        `Axis`. The rule is called even if no argument is batched. `None` for an operation without
        `axes`, where XLA moves parts of arrays between any devices.
      communicates: True if the devices of a mesh must reach the operation together.
      equal_results: True if all elements that take part get the same results.
      resolve: (args, varies, axis, **params) -> the outputs, for an operation that asks which
        values vary along an axis, where that is known.
    Example:
      >>> lax.psum_p.collective.communicates, lax.psum_p.collective.equal_results
      (True, True)
    """

    rule: Callable[..., Any] | None = None
    communicates: bool = True
    equal_results: bool = False
    resolve: Callable[..., Any] | None = None


class Effects(NamedTuple):
    """`primitive.effects`: the operation may do more than compute. Most primitives have `None`.

    A higher-order primitive has `OF_PROGRAMS_INSIDE`: its effects are those of its programs. Passes
    over programs look inside an operation only if it has effects.

    Attributes:
      acts: True if the operation is kept even if nothing needs its results: a print, a check.
      calls_host: True if compiled programs call Python code on the host here.
    Example:
      >>> Effects(acts=True)
      Effects(acts=True, calls_host=False)
    """

    acts: bool = False
    calls_host: bool = False


OF_PROGRAMS_INSIDE = Effects()


class Primitive:
    """A named operation on arrays.

    Args:
      name: the name in printed jaxprs.
      doc: one line that describes it.
      multiple: True if it has several outputs.
      host: its class of cost on the CPU, one of `host_policy.LIMITS`.
    Example:
      >>> import numpy
      >>> from weft.extend import Primitive
      >>> doubled = Primitive("doubled_in_the_example", "2 x.")
      >>> _ = doubled.type(lambda x: x)
      >>> _ = doubled.evaluate(lambda x: numpy.add(x, x))
      >>> doubled(np.array([1.0, 2.0]))
      Array([2., 4.], dtype=float32)
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

    elementwise = False  # an output element depends on the operands' elements at its index only
    takes_axis = False  # its batch rule gets an `Axis` instead of the batch size
    takes_keys = False  # it only moves or compares elements, so it accepts extended dtypes
    check_derivatives = False  # the switch of this name compares its rules: they are of a user
    of_user = False  # it has a rule outside weft, which may distinguish the parameters 2 and 2.0

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
        self.kernels = caches.add()  # signature -> the plan that the evaluating trace runs
        self.types = caches.add()  # signature -> output aval(s)
        self.derivatives = caches.add()  # signature and active arguments -> Derivative
        if name in registry:
            raise ValueError(f"Primitive: the name {name!r} is taken by {registry[name].__doc__!r}")
        registry[name] = self
        for rule, function in rules.items():
            if function is not None:
                getattr(self, rule)(function)

    def __call__(self, *args: object, **params: object) -> Any:
        """Applies the primitive under the current trace to values, or to anything `as_value`
        accepts."""
        try:
            for a in args:
                if not isinstance(a, Value):
                    args = tuple([as_value(x) for x in args])
                    break
            items: Params = tuple(params.items()) if params else ()
            return current.trace.bind(self, args, ExactParams(items) if self.of_user else items)
        except NOTED as error:
            note_user_line(error)
            raise

    def bind(self, *args: object, **params: object) -> Any:
        """Same as calling the primitive."""
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
        """The parameter that keeps the derivatives, so that they die with it; `None` if they are
        cached by signature.
        """
        return None

    def primal(self, args: Sequence[Any], params: Params) -> Any:
        """The outputs, when a derivative is taken. A subclass may compute them by operations that
        its jvp rule repeats, which then run once.
        """
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
        if not (getattr(rule, "__module__", None) or "").startswith((_PACKAGE, "numpy")):
            self.of_user = True
            self.check_derivatives |= kind in ("jvp", "transpose")
        return rule


class HigherOrder(Primitive):
    """A primitive with programs inside, whose rules are the methods of its `ProgramInside`.

    Example:
      >>> type(lax.scan_p).__name__, type(lax.scan_p.inside).__name__
      ('HigherOrder', 'ScanRules')
    """

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
        self.check_derivatives = False  # its rules are those of the programs inside

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
    """True for an argument of a transpose rule that needs a cotangent.

    Example:
      >>> from weft.extend import aval
      >>> import numpy
      >>> is_linear(aval((3,), numpy.dtype("float32"))), is_linear(np.ones(3))
      (True, False)
    """
    return type(arg) is Aval


def unhashable(primitive: Primitive, params: Params) -> Exception:
    """The error for a parameter that cannot be a part of a key."""
    for name, value in params:
        try:
            hash(value)
        except TypeError:
            return TypeError(
                f"{primitive}: parameter {name!r} must be hashable; got {type(value).__name__} "
                f"{value!r}\n  fix: pass a tuple"
            )
    return TypeError(f"{primitive}: unhashable parameters {params!r}")
