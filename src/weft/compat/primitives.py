"""JAX's `Primitive` for libraries: a weft primitive whose rules follow JAX's conventions.

Libraries register rules in tables (`ad.primitive_jvps[p] = rule`). `RuleTable` is such a table. It
converts each entry to a weft rule, with its arguments and results: in JAX a zero tangent is a
`Zero`, a linear argument is an `UndefinedPrimal`, and batch axes may be any axes; in weft they are
`None`, an aval, and axis 0.
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import higher_order, primitives as weft_primitives
from ..compiler.lower import lower_jaxpr
from ..core import primitive as core_primitive
from ..core.array import as_value
from ..core.aval import Aval
from ..core.primitive import Axis, Effects, Shared, is_linear, registry
from ..interpreters.stage import stage
from ..numpy import moveaxis
from ..primitives.creation import zeros
from ..stablehlo import Block, Operand
from .stand_ins import Refused, RefusedError

Function = Callable[..., Any]


class Zero:
    """A tangent or cotangent that is zero everywhere."""

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    @classmethod
    def from_primal_value(cls, value: Any) -> "Zero":
        """The zero tangent of a value."""
        return cls(as_value(value).aval.tangent())

    from_value = from_primal_value

    def instantiate(self) -> Any:
        """The zero as an array."""
        return zeros(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """A linear argument of a transpose rule: its aval, without a value."""

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: object) -> bool:
    """True for a linear argument of a transpose rule."""
    return isinstance(x, UndefinedPrimal)


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array; a `Zero` becomes an array of zeros."""
    return tangent.instantiate() if isinstance(tangent, Zero) else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, either of which may be a `Zero`."""
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else x + y


class NotMapped:
    """The batch axis of an argument that is not batched, for libraries that test for it."""


not_mapped = None


class AxisData(NamedTuple):
    """The mapped axis, as passed to batching rules."""

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


class Unhashable:
    """Wraps a parameter that cannot be hashed, such as a dict, for use in keys.

    Args:
      value: the parameter, which must not change afterwards.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unhashable) or type(self.value) is not type(other.value):
            return False
        try:
            return bool(self.value == other.value)
        except (TypeError, ValueError):  # arrays in it have no truth value, or several
            return self.value is other.value

    def __repr__(self) -> str:
        return repr(self.value)


def hashable(value: Any) -> Any:
    """The parameter, wrapped if it cannot be hashed."""
    try:
        hash(value)
    except TypeError:
        return Unhashable(value)
    return value


def plain(rule: Function) -> Function:
    """The rule, called with parameters as the library passed them."""

    @functools.wraps(rule)
    def call(*args: Any, **params: Any) -> Any:
        for name, value in params.items():
            if type(value) is Unhashable:
                params[name] = value.value
        return rule(*args, **params)

    return call


class Primitive(core_primitive.Primitive):
    """An operation that a library defines: `jax.extend.core.Primitive`.

    Args:
      name: its name in programs. A number is added to a name that is in use.
    """

    takes_axis = True
    of_user = True
    check_derivatives = True
    call_primitive = False
    map_primitive = False

    def __init__(self, name: str) -> None:
        unique, number = name, 2
        while unique in registry:
            unique, number = f"{name}_{number}", number + 1
        super().__init__(unique, f"{name}, defined by a library.")
        self.impl: Function | None = None
        self.abstract_eval: Function | None = None
        self.host.execute_rule = plain(self._execute)
        self.lower(self._lower_impl)

    def _define(self, kind: str, rule: Any) -> Any:
        super()._define(kind, plain(rule))
        return rule

    @property
    def multiple_results(self) -> bool:
        """True if it has several outputs. Libraries set it after construction."""
        return self.multiple

    @multiple_results.setter
    def multiple_results(self, value: bool) -> None:
        self.multiple = value

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive."""
        return self(*args, **{name: hashable(value) for name, value in params.items()})

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The functions and parameters to bind again; there are no functions among them."""
        return [], params

    def def_impl(self, impl: Function) -> Function:
        """Defines the function that computes the operation eagerly."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Function) -> Function:
        """Defines the type rule: avals -> avals."""
        self.abstract_eval = rule
        self.type(lambda *avals, **params: rule(*avals, **params))
        return rule

    def def_effectful_abstract_eval(self, rule: Function) -> Function:
        """Defines the type rule: avals -> (avals, effects)."""
        self.effects = Effects(acts=True)
        self.type(lambda *avals, **params: rule(*avals, **params)[0])
        return rule

    def def_bind_with_trace(self, rule: Function) -> Function:
        """Raises an error, because it would replace how weft applies operations."""
        raise RefusedError(f"{self}: def_bind_with_trace: weft has traces of its own")

    def _execute(self, args: Sequence[Any], **params: Any) -> Any:
        if self.impl is None:
            raise RefusedError(f"{self}: has no def_impl, so it can't be computed")
        outs = self.impl(*args, **params)
        return [as_value(x) for x in outs] if self.multiple else as_value(outs)

    def _lower_impl(
        self, block: Block, *operands: Operand, out: Any, **params: Any
    ) -> Operand | list[Operand]:
        if self.impl is None:
            raise RefusedError(f"{self}: has neither a lowering rule nor def_impl")
        return lower_function(self.impl, self.multiple)(block, *operands, out=out, **params)


def lower_function(function: Function, multiple_results: bool = True) -> Function:
    """A lowering rule from a function of arrays: `mlir.lower_fun`."""

    def rule(block: Block, *operands: Operand, out: Any, **params: Any) -> Any:
        def flat_function(*args: Any) -> list[Any]:
            outs = function(*args, **params)
            return [as_value(x) for x in (outs if multiple_results else (outs,))]

        jaxpr = stage(flat_function, [x.aval for x in operands])
        outs = lower_jaxpr(block, jaxpr, operands)
        return outs if multiple_results else outs[0]

    rule.lowers = True  # type: ignore[attr-defined]
    return rule


# --- the rules, converted ---


def jvp_rule(primitive: core_primitive.Primitive, rule: Function) -> Function:
    """Converts JAX's rule (primals, tangents, **params) -> (outputs, tangents) to a weft jvp
    rule."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], out: Any, **params: Any) -> Any:
        all_tangents = [
            Zero(p.aval.tangent()) if t is None else t
            for p, t in zip(primals, tangents, strict=True)
        ]
        _, t_out = rule(tuple(primals), tuple(all_tangents), **params)
        if primitive.multiple:
            return [without_zero(t, o) for t, o in zip(t_out, out, strict=True)]
        return without_zero(t_out, out)

    return jvp


def without_zero(tangent: Any, out: Any) -> Any:
    """Converts a tangent to weft's form: `None` for a zero or integer tangent."""
    if tangent is None or isinstance(tangent, Zero) or not out.aval.inexact:
        return None
    return as_value(tangent)


def transpose_rule(primitive: core_primitive.Primitive, rule: Function) -> Function:
    """Converts JAX's rule (cotangents, *args, **params) -> cotangents to a weft transpose rule."""

    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        if primitive.multiple:
            items = tuple((name, hashable(value)) for name, value in params.items())
            avals = primitive.out([*map(_with_aval, args)], items)
            ct = [Zero(a.tangent()) if c is None else c for c, a in zip(ct, avals, strict=True)]
        arguments = [UndefinedPrimal(a) if is_linear(a) else a for a in args]
        cts = rule(ct, *arguments, **params)
        return [
            None if c is None or isinstance(c, Zero) or not is_linear(a) else as_value(c)
            for c, a in zip(cts, args, strict=True)
        ]

    return transpose


class _Typed(NamedTuple):
    aval: Aval


def _with_aval(x: Any) -> Any:
    return _Typed(x) if isinstance(x, Aval) else x


def batch_rule(
    primitive: core_primitive.Primitive, call: Callable[[Axis, tuple[Any, ...], Any, Any], Any]
) -> Function:
    """Converts a batch rule of JAX's; `call` gets (axis, args, dims, params)."""

    def batched_rule(args: Sequence[Any], batched: Sequence[bool], axis: Any, **params: Any) -> Any:
        if not isinstance(axis, Axis):
            axis = Axis(axis)
        dims = tuple(0 if b else not_mapped for b in batched)
        outs, out_dims = call(axis, tuple(args), dims, params)
        if not primitive.multiple:
            return at_front(outs, out_dims)
        if not isinstance(out_dims, (tuple, list)):
            out_dims = [out_dims] * len(outs)
        return [at_front(x, d) for x, d in zip(outs, out_dims, strict=True)]

    return batched_rule


def at_front(x: Any, dim: Any) -> Any:
    """A batched output with its batch axis first. An output that is equal for the whole batch
    becomes `Shared`."""
    if dim is None:
        return Shared(as_value(x))
    return as_value(x) if dim == 0 else moveaxis(x, dim, 0)


class RuleTable(dict[Any, Any]):
    """A table of rules by primitive, such as `ad.primitive_jvps`.

    Args:
      convert: (primitive, rule) -> None; sets the rule of the primitive.
    """

    def __init__(self, convert: Callable[[Any, Function], None]) -> None:
        super().__init__()
        self.convert = convert

    def __setitem__(self, primitive: Any, rule: Function) -> None:
        super().__setitem__(primitive, rule)
        if isinstance(primitive, Primitive):  # weft's own primitives keep their rules
            self.convert(primitive, rule)


def set_jvp(primitive: Any, rule: Function) -> None:
    """`ad.primitive_jvps[primitive] = rule`."""
    primitive.jvp(jvp_rule(primitive, rule))


def set_transpose(primitive: Any, rule: Function) -> None:
    """`ad.primitive_transposes[primitive] = rule`."""
    primitive.transpose(transpose_rule(primitive, rule))


def set_batcher(primitive: Any, rule: Function) -> None:
    """`batching.primitive_batchers[primitive] = rule`."""
    primitive.batch(
        batch_rule(primitive, lambda axis, args, dims, params: rule(args, dims, **params))
    )


def set_axis_batcher(primitive: Any, rule: Function) -> None:
    """`batching.axis_primitive_batchers[primitive] = rule`, called with the axis' size and name."""
    primitive.batch(
        batch_rule(
            primitive,
            lambda axis, args, dims, params: rule(axis.size, axis.name, None, args, dims, **params),
        )
    )


def set_fancy_batcher(primitive: Any, rule: Function) -> None:
    """`batching.fancy_primitive_batchers[primitive] = rule`, called with an `AxisData`."""
    primitive.batch(
        batch_rule(
            primitive,
            lambda axis, args, dims, params: rule(
                AxisData(axis.name, axis.size), args, dims, **params
            ),
        )
    )


def register_lowering(
    primitive: Any, rule: Any, platform: str | None = None, **options: Any
) -> Any:
    """`mlir.register_lowering`: accepts a rule from `lower_fun`."""
    if not isinstance(primitive, Primitive):
        return rule
    if getattr(rule, "lowers", False):
        primitive.lower(rule)
    else:
        primitive.lower(_refused_lowering(primitive))
    return rule


def _refused_lowering(primitive: Any) -> Function:
    def rule(*args: Any, **params: Any) -> Any:
        raise RefusedError(
            f"{primitive}: its lowering rule writes MLIR, and weft writes StableHLO as text\n"
            "  fix: mlir.register_lowering(p, mlir.lower_fun(f, multiple_results))"
        )

    return rule


def deflinear2(primitive: Any, transpose: Function) -> None:
    """`ad.deflinear2`: the operation is linear in all arguments."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        all_tangents = [instantiate_zeros(t) for t in tangents]
        return primitive.bind(*primals, **params), primitive.bind(*all_tangents, **params)

    set_jvp(primitive, jvp)
    set_transpose(primitive, lambda ct, *args, **params: transpose(ct, *args, **params))


def deflinear(primitive: Any, transpose: Function) -> None:
    """`ad.deflinear`: the same, with a rule that takes only the cotangents."""
    deflinear2(primitive, lambda ct, *args, **params: transpose(ct, **params))


def defjvp(primitive: Any, *rules: Function | None) -> None:
    """`ad.defjvp`: a rule (tangent, *primals, **params) -> tangent for each argument."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total: Any = Zero(out.aval.tangent())
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and not isinstance(tangent, Zero):
                total = add_tangents(total, rule(tangent, *primals, **params))
        return out, total

    set_jvp(primitive, jvp)


@functools.cache
def _load_primitives() -> None:
    """Imports all modules that define primitives, so that `registry` is complete."""
    for package in (weft_primitives, higher_order):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


JAX_NAMES = {
    "jit": "call",
    "pjit": "call",
    "core_call": "call",
    "remat": "checkpoint",
    "while": "while_loop",
}


def primitive_named(module: str, name: str) -> Any:
    """weft's primitive for JAX's `name_p`; a `Refused` if weft uses another primitive instead."""
    _load_primitives()
    base_name = name.removesuffix("_p")
    primitive: Any = registry.get(JAX_NAMES.get(base_name, base_name)) or registry.get(
        f"{base_name}_call"
    )
    if primitive is None:
        primitive = Refused(f"{module}.{name}", "weft has no primitive of this name")
    return primitive


primitive_jvps = RuleTable(set_jvp)
primitive_transposes = RuleTable(set_transpose)
primitive_batchers = RuleTable(set_batcher)
axis_primitive_batchers = RuleTable(set_axis_batcher)
fancy_primitive_batchers = RuleTable(set_fancy_batcher)
