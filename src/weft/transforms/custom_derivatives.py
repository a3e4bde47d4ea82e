"""custom_jvp, custom_vjp: derivatives that the user writes."""

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .. import errors
from ..config import thread
from ..core.array import Array, Tracer
from ..core.aval import Aval
from ..core.caching import exact, remember
from ..core.masks import fill_list, merge_lists, partition_list, scatter_list
from ..core.primitive import Primitive
from ..core.ref import Ref, StandIn
from ..core.source import check_arity, function_line, located, wrapping
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..higher_order.custom_jvp import CustomJvp, axes_in_scope, custom_jvp_call
from ..higher_order.custom_vjp import CustomVjp, custom_vjp_call
from ..higher_order.custom_vmap import CustomVmap
from ..interpreters.stage import stage
from ..programs.hash_consing import is_eager
from ..tree_util import PyTreeDef, tree_flatten
from ..typing import Function, PyTree
from ..user_lines import noted
from .arguments import (
    FlatFunction,
    FunctionWithObjects,
    TreeFunction,
    argument_name,
    as_tuple,
    check_callable,
    name_of,
    output_values,
    parameters,
    positions_of,
    with_objects,
)
from .rule_comparison import compare_with_differences
from .symbolic_zeros import CustomVJPPrimal, SymbolicZero
from .tangents import (
    Tangent,
    cotangent_leaves,
    is_close,
    output_path,
    rule_cotangent,
    rule_tangent,
    zero_tangent,
    zeros_like_tree,
)

__all__ = ["custom_jvp", "custom_vjp"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Rules = TypeVar("Rules", CustomJvp, CustomVjp, CustomVmap)
ForwardInfo = tuple[PyTreeDef, list[Any], PyTreeDef, list[Aval]]
"""The residuals: structure, leaves with `None` for arrays. The output: structure, avals."""


def positional(
    function: TreeFunction,
    params: Sequence[inspect.Parameter],
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
) -> tuple[PyTree, ...]:
    """The arguments by position: keywords and defaults are put where the parameters are."""
    if not params or any(p.kind is p.VAR_POSITIONAL for p in params):
        if kwargs:
            raise TypeError(
                f"{name_of(function)}: functions with custom derivatives take positional "
                f"arguments; got keywords {sorted(kwargs)}"
            )
        return args
    full = list(args)
    for p in params[len(args) :]:
        if p.name in kwargs:
            full.append(kwargs[p.name])
        elif p.default is not p.empty:
            full.append(p.default)
        elif p.kind is not p.VAR_KEYWORD:
            raise TypeError(f"{name_of(function)}: missing the argument {p.name!r}")
    extra = set(kwargs) - {p.name for p in params[len(args) :]}
    if extra:
        raise TypeError(f"{name_of(function)}: unexpected keyword arguments {sorted(extra)}")
    return tuple(full)


_READS_ELEMENTS = (
    errors.ConcretizationTypeError,
    errors.NonConcreteBooleanIndexError,
    errors.TracerArrayConversionError,
)
_KEPT_AS_THEY_ARE = (bool, int, float, complex, Ref, StandIn)  # residuals
MAX_SIGNATURES = 256  # kept for each function
MAX_CHECKED_SIGNATURES = 8  # for which a function is traced, to compare its rule's output


class Signature:
    """The common part of calls of one signature: structures, static arguments, rules on leaves.

    Calls of one signature share one object, so programs with its rules compare equal and are
    compiled once. It refers to no array among the arguments.

    Attributes:
      out_tree, out_avals: the structure and the avals of the function's result, once the function
        has been called; the structure of a rule's output if only a rule has been called.
      checked: whether the function is traced too, if a rule is called first, to compare them.
    """

    __slots__ = (
        *("args_tree", "checked", "compared", "fixed", "is_traced", "out_avals", "out_tree"),
        *("refs", "rules"),
    )

    def __init__(self, flat: "RuleCall") -> None:
        self.refs = {i: weakref.ref(ref) for i, ref in flat.objects.items()}
        self.out_avals: list[Aval] | None = None
        self.checked = False
        self.compared: dict[tuple[bool, ...], bool] = {}
        self.args_tree = flat.args_tree
        self.fixed: list[Any] = flat.fixed
        self.is_traced: list[bool] = flat.is_traced
        self.out_tree: PyTreeDef | None = None
        self.rules: Any = None

    def arguments(self, leaves: Sequence[object]) -> Sequence[PyTree]:
        """All arguments, in their positions."""
        leaves = with_objects(leaves, {i: self.alive(ref) for i, ref in self.refs.items()})
        args: Sequence[PyTree] = self.args_tree.unflatten(leaves)
        return merge_lists(args, self.fixed, self.is_traced) if self.fixed else args

    def alive(self, ref: "weakref.ref[Ref]") -> Ref:
        """A ref among the arguments; raises an error if it no longer exists."""
        alive = ref()
        if alive is None:
            raise errors.UnexpectedTracerError(
                "custom_vjp: a rule runs after the trace in which its function got a Ref has ended"
                "\n  fix: differentiate inside the outermost jit or loop: jit(grad(f))"
            )
        return alive

    def check_output(
        self, rule: str, outs: Sequence[Value], out_tree: PyTreeDef, avals: Sequence[Aval]
    ) -> None:
        """Raises an error if a rule's output differs from the function's in structure or types."""
        if self.out_tree is None:
            self.out_tree = out_tree
        if out_tree != self.out_tree:
            raise ShapeError(
                f"{rule} must return an output of the function's structure {self.out_tree}; got "
                f"{out_tree}"
            )
        for i, (a, o) in enumerate(zip(avals, outs, strict=True)):
            if a.shape != o.shape or a.dtype != o.dtype:
                raise ShapeError(
                    f"{rule} must return the function's output; got {o.aval} for "
                    f"{output_path(out_tree, i)}, which the function gives as {a}"
                )


class RuleCall(FunctionWithObjects):
    """The function at the arguments of one call. Refs among the arguments of `custom_vjp` are
    passed to the function and its forward rule unchanged."""

    __slots__ = ()

    def argument_values(self) -> list[Value]:
        self.objects = {}
        if self.transform == "custom_vjp":
            self.objects = {i: x for i, x in enumerate(self.leaves) if isinstance(x, Ref)}
        return self.with_objects(self.objects)


class FunctionWithRules(Generic[P, R]):
    """The base of custom_jvp, custom_vjp and custom_vmap: the function and its signatures."""

    kind = "custom"
    symbolic_zeros = False
    check_derivatives = True  # False: the switch of this name does not compare the rules
    weft_made = (
        *("fun", "params", "nondiff_argnums", "signatures"),
        *("check_derivatives", "symbolic_zeros", "rule", "fwd", "bwd", "vmap_rule", "zero_argnums"),
    )

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        check_callable(fun, self.kind)
        wrapping(fun)(self)
        for name in self.weft_made:  # the user's function may have attributes of these names
            self.__dict__.pop(name, None)
        self.fun = fun
        self.nondiff_argnums = (
            *as_tuple(nondiff_argnums, int, f"{self.kind}: nondiff_argnums"),
            *positions_of(fun, nondiff_argnames, self.kind, "nondiff"),
        )
        self.signatures: dict[Any, Signature] = {}

    @functools.cached_property
    def params(self) -> list[inspect.Parameter]:
        """The function's parameters."""
        return parameters(self.fun)

    def check_rule(self, method: str, rule: Callable[..., Any], *arguments: str) -> None:
        """Raises an error unless a rule takes the static arguments and these arguments."""
        check_callable(rule, f"{self.kind}.{method}")
        static = [f"argument {n}" for n in self.nondiff_argnums]
        check_arity(f"{self.kind}: the rule", rule, (*static, *arguments))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, owner: type) -> "FunctionWithRules[P, R]": ...
    @overload
    def __get__(
        self: "FunctionWithRules[Concatenate[Any, Q], R]",
        instance: object,
        owner: type | None = None,
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        bound: Callable[..., R] = self
        return self if instance is None else functools.partial(bound, instance)

    def applied(
        self,
        primitive: Primitive,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        user_rules: tuple[TreeFunction | None, ...],
        rules_of: Callable[[Signature], Rules],
    ) -> PyTree:
        """The result of a call under the current trace.

        Args:
          user_rules: the functions on which the rules on leaves depend.
          rules_of: makes the rules on leaves for a signature.
        """
        args = positional(self.fun, self.params, args, kwargs)
        count = len(args)
        for n in self.nondiff_argnums:
            if not -count <= n < count:
                raise TypeError(
                    f"{self.kind}: nondiff_argnums names position {n} of "
                    f"{function_line(self.fun)}; the call has {count} arguments"
                )
        flat = RuleCall(self.kind, self.fun, args, static=self.nondiff_argnums)
        self.check_fixed(flat)
        signature = self.signature(flat, user_rules, rules_of)

        def function(*leaves: Value) -> list[Value]:
            outs = flat(*leaves)
            signature.out_tree = flat.out_tree
            if signature.out_avals is None:
                signature.out_avals = [o.aval for o in outs]
            return outs

        trace: Any = current.trace
        outs = trace.bind_custom(primitive, function, signature.rules, flat.values)
        assert signature.out_tree is not None
        return signature.out_tree.unflatten(outs)

    def check_fixed(self, flat: FlatFunction) -> None:
        """Raises an error for an argument that `nondiff_argnums` must not name."""

    def without_rule(self, signature: Signature) -> Collection[int]:
        """The numbers of the argument leaves that the user has declared to have no derivative."""
        return ()

    def signature(
        self,
        flat: "RuleCall",
        user_rules: tuple[TreeFunction | None, ...],
        rules_of: Callable[[Signature], Rules],
    ) -> Signature:
        """The signature of a call, which also depends on the named axes in scope."""
        fixed: list[Any] = [exact(x) for x in flat.fixed]
        key: tuple[Any, ...] = (*user_rules, flat.args_tree, *flat.avals, axes_in_scope(), *fixed)
        try:
            signature = self.signatures.get(key)
        except TypeError:  # a static argument that is not hashable
            signature, key = None, ()
        if flat.objects:  # the signature refers to the refs of this call only
            signature, key = None, ()
        if signature is None:
            signature = Signature(flat)
            signature.rules = rules_of(signature)
            if key:
                signature.checked = len(self.signatures) < MAX_CHECKED_SIGNATURES
                signature = remember(self.signatures, key, signature, MAX_SIGNATURES)
        return signature

    def check_primal(
        self,
        signature: Signature,
        rule: str,
        primals: Sequence[Value],
        outs: Sequence[Value],
        out_tree: PyTreeDef,
    ) -> None:
        """Raises an error if a rule's output differs from the function's.

        Structures, shapes and dtypes are compared, and under `enable_checks` values too.
        """

        def function(*leaves: Value) -> list[Any]:
            fun: TreeFunction = self.fun
            out_leaves, signature.out_tree = tree_flatten(fun(*signature.arguments(leaves)))
            return output_values(self.kind, self.fun, out_leaves)

        if signature.checked and signature.out_avals is None and is_eager(current.trace):
            signature.checked = False
            # a function whose Python code reads elements can't be traced, and is not compared
            with contextlib.suppress(*_READS_ELEMENTS):
                jaxpr = stage(function, [p.aval for p in primals], name=name_of(self.fun))
                signature.out_avals = jaxpr.out_avals
        avals = signature.out_avals or [o.aval for o in outs]
        try:
            signature.check_output(rule, outs, out_tree, avals)
        except ShapeError:
            if signature.refs:
                raise
            # a function that isn't pure may have another structure where it is traced
            avals = signature.out_avals = [o.aval for o in function(*primals)]
            signature.check_output(rule, outs, out_tree, avals)
        if signature.refs:
            return  # the function might write to them
        if thread.enable_checks and all(isinstance(x, Array) for x in (*primals, *outs)):
            for i, (x, o) in enumerate(zip(function(*primals), outs, strict=True)):
                if not is_close(x, o):
                    raise ValueError(
                        f"{rule} must return the function's output; got {o} for "
                        f"{output_path(out_tree, i)}, which the function gives as {x}"
                    )


class custom_jvp(FunctionWithRules[P, R]):
    """A function whose derivative is given by a rule, for both modes and any order.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are not
        differentiated and may be any object; the rule gets them first, by position.
    Example:
      >>> import weft, weft.numpy as np
      >>> @weft.custom_jvp
      ... def f(x, y):
      ...     return np.sin(x) * y
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     x, y = primals
      ...     x_dot, y_dot = tangents
      ...     return f(x, y), np.cos(x) * x_dot * y + np.sin(x) * y_dot
      >>> print(weft.grad(f)(0.0, 2.0))
      2.0
    Source: JAX documentation, `jax.custom_jvp`.
    """

    kind = "custom_jvp"
    rule: TreeFunction | None = None
    zero_argnums: Sequence[int] = ()  # `None` in `defjvps`

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Defines the rule: `jvp(primals, tangents) -> (output, output tangent)`.

        With `nondiff_argnums`, those arguments come first. The output tangent must be linear in
        the tangents. Returns `jvp`, so that it can be used as a decorator.

        Args:
          symbolic_zeros: if True, a tangent that is zero is passed as a `SymbolicZero` (of
            `weft.custom_derivatives`), not as an array of zeros; the rule may return one.
        """
        self.check_rule("defjvp", jvp, "primals", "tangents")
        self.rule, self.symbolic_zeros, self.zero_argnums = jvp, bool(symbolic_zeros), ()
        return jvp

    def defjvps(self, *jvps: TreeFunction | None) -> None:
        """Defines the rule by one function for each argument.

        Each is called as `jvp(tangent, output, *primals)` and returns the contribution of its
        argument to the output tangent; `None` in place of a function means that this is zero.
        """
        if self.nondiff_argnums:
            raise TypeError("custom_jvp.defjvps: can't be used with nondiff_argnums; use defjvp")

        apply: TreeFunction = self
        stated = [rule for rule in jvps if rule is not None]

        @wrapping(stated[0] if stated else self.fun)  # messages name the user's lines
        def jvp(primals: PyTree, tangents: PyTree) -> tuple[PyTree, PyTree]:
            out = apply(*primals)
            total: PyTree = None
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is not None:
                    term = rule(t, out, *primals)
                    total = term if total is None else total + term
            return out, zeros_like_tree(out) if total is None else total

        self.rule, self.symbolic_zeros = jvp, False
        self.zero_argnums = [i for i, rule in enumerate(jvps) if rule is None]

    def without_rule(self, signature: Signature) -> Collection[int]:
        sizes = [child.num_leaves for child in signature.args_tree.children()]
        owners = [i for i, size in enumerate(sizes) for _ in range(size)]
        return [n for n, i in enumerate(owners) if i in self.zero_argnums]

    @located
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.rule is None:
            raise AttributeError(
                f"custom_jvp: no rule is defined for {function_line(self.fun)}\n"
                "  fix: define one with defjvp or defjvps"
            )
        out: R = self.applied(custom_jvp_call, args, kwargs, (self.rule,), self.rules_on_leaves)
        return out

    def rules_on_leaves(self, signature: Signature) -> CustomJvp:
        """The rule as traces call it, for one signature."""
        return CustomJvp(name_of(self.fun), functools.partial(self.apply_rule, signature))

    def apply_rule(
        self, signature: Signature, primals: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        """The user's rule on leaves, its result checked."""
        zero = SymbolicZero if self.symbolic_zeros else zero_tangent
        full = [zero(p.aval) if t is None else t for p, t in zip(primals, tangents, strict=True)]
        assert self.rule is not None
        tree = signature.args_tree
        result = self.rule(*signature.fixed, tree.unflatten(primals), tree.unflatten(full))
        where = f"custom_jvp: the rule {function_line(self.rule)} of {function_line(self.fun)}"
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ShapeError(
                f"{where} must return a pair (output, output tangent); got {type(result).__name__}"
            )
        out, t_out = result
        out_leaves, out_tree = tree_flatten(out)
        t_leaves, t_tree = tree_flatten(t_out)
        if out_tree != t_tree:
            raise ShapeError(
                f"{where} must return an output and a tangent of one structure; got {out_tree} and "
                f"{t_tree}"
            )
        outs = output_values("custom_jvp", self.rule, out_leaves)
        self.check_primal(signature, where, primals, outs, out_tree)
        t_outs = [rule_tangent(where, o.aval, t) for o, t in zip(outs, t_leaves, strict=True)]
        if thread.check_derivatives:
            mask = [t is not None for t in tangents]
            compare_with_differences(self, signature, self.rule, primals, mask)
        return outs, t_outs


class custom_vjp(FunctionWithRules[P, R]):
    """A function whose reverse-mode derivative is given by a pair of rules.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are not
        differentiated and may be any object; the backward rule gets them first, by position.
    Example:
      >>> import weft, weft.numpy as np
      >>> @weft.custom_vjp
      ... def clip_gradient(low, high, x):
      ...     return x
      >>> def forward(low, high, x):
      ...     return x, (low, high)
      >>> def backward(residuals, g):
      ...     low, high = residuals
      ...     return None, None, np.clip(g, low, high)
      >>> clip_gradient.defvjp(forward, backward)
      >>> print(weft.grad(lambda x: 10 * clip_gradient(-1.0, 1.0, x))(2.0))
      1.0
    Source: JAX documentation, `jax.custom_vjp`.
    """

    kind = "custom_vjp"
    fwd: TreeFunction | None = None
    bwd: TreeFunction | None = None

    def defvjp(
        self,
        fwd: TreeFunction,
        bwd: TreeFunction,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Defines the rules.

        Args:
          fwd: takes the arguments of the function; returns (output, residuals: arrays, Python's
            numbers, and refs among the arguments, to which `bwd` may write).
          bwd: `bwd(residuals, cotangent)` returns a tuple of cotangents, one for each argument that
            is differentiated; `None` is zero. With `nondiff_argnums`, those arguments come first.
          symbolic_zeros: if True, `fwd` gets each array as a `CustomVJPPrimal` with `value` and
            `perturbed` (whether its cotangent is needed), and `bwd` gets a `SymbolicZero` for a
            cotangent that is known to be zero. Both classes are in `weft.custom_derivatives`.
          optimize_remat: must be False. Under checkpoint, work that only the residuals need is left
            out of the first computation in any case.
        Raises: NotImplementedError: `optimize_remat` is True.
        """
        check_callable(fwd, "custom_vjp.defvjp")
        self.check_rule("defvjp", bwd, "residuals", "cotangent")
        if optimize_remat:
            raise noted(
                NotImplementedError(
                    "custom_vjp.defvjp: optimize_remat=True is not needed: checkpoint already "
                    "omits from the first computation the work that only the residuals need\n"
                    "  fix: leave it out"
                )
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, bool(symbolic_zeros)

    @located
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp: no rules are defined for {function_line(self.fun)}\n"
                "  fix: define them with defvjp"
            )
        rules = self.fwd, self.bwd
        out: R = self.applied(custom_vjp_call, args, kwargs, rules, self.rules_on_leaves)
        return out

    def check_fixed(self, flat: FlatFunction) -> None:
        for number, x in flat.named_statics():
            for leaf in tree_flatten(x)[0]:
                if isinstance(leaf, Tracer):
                    raise errors.UnexpectedTracerError(
                        f"custom_vjp: argument {argument_name(self.fun, number)} of "
                        f"{function_line(self.fun)} is named in nondiff_argnums, but is a traced "
                        f"{leaf.aval}: its backward rule would get a tracer whose trace has "
                        "ended\n  fix: take it out of nondiff_argnums, and return None (zero) for "
                        "its cotangent; nondiff_argnums is for objects that are not arrays"
                    )

    def rules_on_leaves(self, signature: Signature) -> CustomVjp:
        """The rules as traces call them, for one signature."""
        return CustomVjp(
            name_of(self.fun),
            functools.partial(self.apply_forward, signature),
            functools.partial(self.apply_backward, signature),
        )

    def apply_forward(
        self, signature: Signature, primals: Sequence[Value], perturbed: Sequence[bool]
    ) -> tuple[list[Value], list[Value], ForwardInfo]:
        """The user's forward rule on leaves: outputs, residuals, and their structure."""
        assert self.fwd is not None
        assert self.bwd is not None
        leaves: Sequence[Any] = primals
        if self.symbolic_zeros:
            leaves = list(map(CustomVJPPrimal, primals, perturbed))
        result = self.fwd(*signature.arguments(leaves))
        place = f"{function_line(self.fwd)} of {function_line(self.fun)}"
        where = f"custom_vjp: the forward rule {place}"
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ShapeError(
                f"{where} must return a pair (output, residuals); got {type(result).__name__}"
            )
        out_leaves, out_tree = tree_flatten(result[0])
        res_leaves, res_tree = tree_flatten(result[1])
        outs = output_values("custom_vjp", self.fwd, out_leaves)
        # Python numbers are unchanged, so that the backward rule can branch on them, and refs
        is_number = [type(x) in _KEPT_AS_THEY_ARE for x in res_leaves]
        numbers, arrays = partition_list(res_leaves, is_number)
        residuals = output_values("custom_vjp", self.fwd, arrays)
        self.check_primal(signature, where, primals, outs, out_tree)
        if thread.check_derivatives:
            compare_with_differences(self, signature, self.bwd, primals, perturbed)
        kept = scatter_list(numbers, is_number)
        return outs, residuals, (res_tree, kept, out_tree, [o.aval for o in outs])

    def apply_backward(
        self,
        signature: Signature,
        info: ForwardInfo,
        residuals: Sequence[Value],
        cts: Sequence[Tangent],
        in_avals: Sequence[Aval],
    ) -> list[Tangent]:
        """The user's backward rule on leaves, its result checked."""
        assert self.bwd is not None
        res_tree, numbers, out_tree, out_avals = info
        zero = SymbolicZero if self.symbolic_zeros else zero_tangent
        full = [zero(a) if ct is None else ct for ct, a in zip(cts, out_avals, strict=True)]
        ct = out_tree.unflatten(full)
        res_leaves = fill_list(numbers, residuals)
        result = self.bwd(*signature.fixed, res_tree.unflatten(res_leaves), ct)
        place = f"{function_line(self.bwd)} of {function_line(self.fun)}"
        where = f"custom_vjp: the backward rule {place}"
        leaves = cotangent_leaves(where, signature.args_tree, result)
        return [rule_cotangent(where, a, ct) for ct, a in zip(leaves, in_avals, strict=True)]
