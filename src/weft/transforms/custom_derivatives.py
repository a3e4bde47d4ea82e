"""custom_jvp, custom_vjp, custom_gradient: derivatives that the user writes."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .. import errors
from ..config import thread
from ..core.arity import check_arity
from ..core.array import Array, Tracer, as_value
from ..core.aval import Aval
from ..core.caching import exact, remember
from ..core.jaxpr import Jaxpr, run
from ..core.masks import fill_list, merge_lists, partition_list, scatter_list
from ..core.primitive import Primitive
from ..core.source import function_line, located, noted, wrapping
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..higher_order.custom_jvp import CustomJvp, axes_in_scope, custom_jvp_call
from ..higher_order.custom_vjp import CustomVjp, custom_vjp_call
from ..interpreters.stage import stage
from ..programs.hash_consing import is_eager
from ..tree_util import PyTreeDef, register_pytree_node, tree_flatten
from ..typing import Function, PyTree
from .arguments import (
    FlatFunction,
    TreeFunction,
    argument_name,
    as_tuple,
    check_callable,
    name_of,
    output_values,
    parameters,
    positions_of,
)
from .linear_maps import Tangent, output_path
from .rule_results import (
    cotangent_leaves,
    is_close,
    rule_cotangent,
    rule_tangent,
    zero_tangent,
    zeros_like_tree,
)
from .symbolic_zeros import CustomVJPPrimal, symbolic

__all__ = ["custom_gradient", "custom_jvp", "custom_vjp"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Rules = TypeVar("Rules", CustomJvp, CustomVjp)
Known = tuple[PyTreeDef, list[Any], list[Aval]]  # residuals: tree, numbers or None; output avals


def positional(
    function: TreeFunction,
    known: Sequence[inspect.Parameter],
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
) -> tuple[PyTree, ...]:
    """Arguments with keywords and defaults put in the positions of the known parameters."""
    if not known or any(p.kind is p.VAR_POSITIONAL for p in known):
        if kwargs:
            raise TypeError(
                f"{name_of(function)}: functions with custom derivatives take positional "
                f"arguments; got keywords {sorted(kwargs)}"
            )
        return args
    full = list(args)
    for p in known[len(args) :]:
        if p.name in kwargs:
            full.append(kwargs[p.name])
        elif p.default is not p.empty:
            full.append(p.default)
        elif p.kind is not p.VAR_KEYWORD:
            raise TypeError(f"{name_of(function)}: missing the argument {p.name!r}")
    extra = set(kwargs) - {p.name for p in known[len(args) :]}
    if extra:
        raise TypeError(f"{name_of(function)}: unexpected keyword arguments {sorted(extra)}")
    return tuple(full)


_LOOKS_AT_ELEMENTS = (
    errors.ConcretizationTypeError,
    errors.NonConcreteBooleanIndexError,
    errors.TracerArrayConversionError,
)
_MOST_KINDS = 256
_MOST_CHECKED = 8  # of a function: kinds of calls for which it is traced, to compare its rule


class Signature:
    """The common part of calls of one kind: structures, fixed arguments, and the rules on leaves.

    Calls of one kind have one object, so that programs in which its rules are can be told to be
    equal, and are compiled once. It refers to no array among the arguments.

    Attributes:
      out_tree, out_avals: of the function's result, when the function has been called; the
        structure of a rule's output if only that has been.
      checked: whether the function is to be traced for them, if a rule is called first.
    """

    __slots__ = ("args_tree", "checked", "fixed", "is_traced", "out_avals", "out_tree", "rules")

    def __init__(self, flat: FlatFunction) -> None:
        self.out_avals: list[Aval] | None = None
        self.checked = False
        self.args_tree = flat.args_tree
        self.fixed: list[Any] = flat.fixed
        self.is_traced: list[bool] = flat.is_traced
        self.out_tree: PyTreeDef | None = None
        self.rules: Any = None

    def arguments(self, leaves: Sequence[object]) -> Sequence[PyTree]:
        """All arguments, in their positions."""
        args: Sequence[PyTree] = self.args_tree.unflatten(leaves)
        return merge_lists(args, self.fixed, self.is_traced) if self.fixed else args

    def check_output(
        self, rule: str, outs: Sequence[Value], out_tree: PyTreeDef, avals: Sequence[Aval]
    ) -> None:
        """Refuses a rule's output of another structure, shape or dtype than the function's."""
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


class _Custom(Generic[P, R]):
    """The common part of custom_jvp and custom_vjp: the function and its fixed arguments."""

    kind = "custom"
    symbolic_zeros = False
    weft_made = (
        *("fun", "known", "nondiff_argnums", "signatures"),
        *("symbolic_zeros", "rule", "fwd", "bwd"),
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
    def known(self) -> list[inspect.Parameter]:
        """The function's parameters, which take 10 µs to find."""
        return parameters(self.fun)

    def check_rule(self, what: str, rule: Callable[..., Any], *given: str) -> None:
        """Refuses what isn't a function of the static arguments and of what a rule is given."""
        check_callable(rule, f"{self.kind}.{what}")
        static = [f"argument {n}" for n in self.nondiff_argnums]
        check_arity(f"{self.kind}: the rule", rule, (*static, *given))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, owner: type) -> "_Custom[P, R]": ...
    @overload
    def __get__(
        self: "_Custom[Concatenate[Any, Q], R]", instance: object, owner: type | None = None
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
          user_rules: on which the rules on leaves depend.
          rules_of: makes those for one kind of call.
        """
        args = positional(self.fun, self.known, args, kwargs)
        count = len(args)
        for n in self.nondiff_argnums:
            if not -count <= n < count:
                raise TypeError(
                    f"{self.kind}: nondiff_argnums names position {n} of "
                    f"{function_line(self.fun)}; the call has {count} arguments"
                )
        flat = FlatFunction(self.kind, self.fun, args, static=self.nondiff_argnums)
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
        """Refuses what can't be an argument of `nondiff_argnums`."""

    def signature(
        self,
        flat: FlatFunction,
        user_rules: tuple[TreeFunction | None, ...],
        rules_of: Callable[[Signature], Rules],
    ) -> Signature:
        """The signature of calls of this kind, which depends on the named axes in scope, too."""
        fixed: list[Any] = [exact(x) for x in flat.fixed]
        key: tuple[Any, ...] = (*user_rules, flat.args_tree, *flat.avals, axes_in_scope(), *fixed)
        known: Signature | None
        try:
            known = self.signatures.get(key)
        except TypeError:  # a fixed argument that has no hash
            return self.new_signature(flat, rules_of)
        if known is not None:
            return known
        new = self.new_signature(flat, rules_of)
        new.checked = len(self.signatures) < _MOST_CHECKED
        first: Signature = remember(self.signatures, key, new, _MOST_KINDS)
        return first

    def check_primal(
        self,
        signature: Signature,
        rule: str,
        primals: Sequence[Value],
        outs: Sequence[Value],
        out_tree: PyTreeDef,
    ) -> None:
        """Refuses a rule that gives another output than the function.

        Its structure, shapes and dtypes are compared; under `enable_checks` its values are too.
        """

        def function(*leaves: Value) -> list[Any]:
            fun: TreeFunction = self.fun
            found, signature.out_tree = tree_flatten(fun(*signature.arguments(leaves)))
            return output_values(self.kind, self.fun, found)

        if signature.checked and signature.out_avals is None and is_eager(current.trace):
            signature.checked = False
            # a function that looks at elements runs for values only, and isn't compared
            with contextlib.suppress(*_LOOKS_AT_ELEMENTS):
                jaxpr = stage(function, [p.aval for p in primals], name=name_of(self.fun))
                signature.out_avals = jaxpr.out_avals
        signature.check_output(rule, outs, out_tree, signature.out_avals or [o.aval for o in outs])
        if thread.enable_checks and all(isinstance(x, Array) for x in (*primals, *outs)):
            for i, (x, o) in enumerate(zip(function(*primals), outs, strict=True)):
                if not is_close(x, o):
                    raise ValueError(
                        f"{rule} must return the function's output; got {o} for "
                        f"{output_path(out_tree, i)}, which the function gives as {x}"
                    )

    def new_signature(
        self, flat: FlatFunction, rules_of: Callable[[Signature], Rules]
    ) -> Signature:
        """A new signature with its rules."""
        signature = Signature(flat)
        signature.rules = rules_of(signature)
        return signature


class custom_jvp(_Custom[P, R]):
    """A function whose derivative is given by a rule, for both modes and any order.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that aren't differentiated
        (they may be anything); the rule gets them first, by position.
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

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Defines the rule: `jvp(primals, tangents) -> (output, output tangent)`.

        With `nondiff_argnums`, those arguments come first. The output tangent must be linear in
        the tangents. Returns `jvp`, so that it can be used as a decorator.

        Args:
          symbolic_zeros: if True, a tangent that is zero comes as a `SymbolicZero` (of
            `weft.custom_derivatives`) and not as an array of zeros; the rule may return one.
        """
        self.check_rule("defjvp", jvp, "primals", "tangents")
        self.rule, self.symbolic_zeros = jvp, bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: TreeFunction | None) -> None:
        """Defines the rule by one function for each argument.

        Each is called as `jvp(tangent, output, *primals)` and returns its argument's share of the
        output tangent; `None` says that the share is zero.
        """
        if self.nondiff_argnums:
            raise TypeError("custom_jvp.defjvps: can't be used with nondiff_argnums; use defjvp")

        apply: TreeFunction = self

        def jvp(primals: PyTree, tangents: PyTree) -> tuple[PyTree, PyTree]:
            out = apply(*primals)
            total: PyTree = None
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is not None:
                    share = rule(t, out, *primals)
                    total = share if total is None else total + share
            return out, zeros_like_tree(out) if total is None else total

        self.rule, self.symbolic_zeros = jvp, False

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
        """The rule as the traces call it, for one kind of call."""
        return CustomJvp(name_of(self.fun), functools.partial(self.apply_rule, signature))

    def apply_rule(
        self, signature: Signature, primals: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        """The user's rule on leaves, its result checked."""
        zero = symbolic if self.symbolic_zeros else zero_tangent
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
        return outs, t_outs


class custom_vjp(_Custom[P, R]):
    """A function whose reverse-mode derivative is given by a pair of rules.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that aren't differentiated
        (they may be anything); the backward rule gets them first, by position.
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
          fwd: takes the arguments of the function; returns (output, residuals: arrays and
            Python's numbers).
          bwd: `bwd(residuals, cotangent)` returns a tuple of cotangents, one for each argument that
            is differentiated; `None` is zero. With `nondiff_argnums`, those arguments come first.
          symbolic_zeros: if True, `fwd` is told in which arguments a derivative is asked for: each
            array comes as a `CustomVJPPrimal` with `value` and `perturbed`; and `bwd` gets a
            `SymbolicZero` for a cotangent that is known to be zero. Both are of
            `weft.custom_derivatives`.
          optimize_remat: must be False: under checkpoint, what only the residuals need is left out
            of the first computation in any case.
        Raises: NotImplementedError: `optimize_remat` is True.
        """
        check_callable(fwd, "custom_vjp.defvjp")
        self.check_rule("defvjp", bwd, "residuals", "cotangent")
        if optimize_remat:
            raise noted(
                NotImplementedError(
                    "custom_vjp.defvjp: optimize_remat=True has nothing to do: under checkpoint, "
                    "what only the residuals need is left out of the first computation already\n"
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
                        f"{function_line(self.fun)} is named in nondiff_argnums, and came as a "
                        f"traced {leaf.aval}: its backward rule would get a tracer whose trace has "
                        "ended\n  fix: take it out of nondiff_argnums, and return None (zero) for "
                        "its cotangent; nondiff_argnums is for what isn't an array"
                    )

    def rules_on_leaves(self, signature: Signature) -> CustomVjp:
        """The rules as the traces call them, for one kind of call."""
        return CustomVjp(
            name_of(self.fun),
            functools.partial(self.apply_forward, signature),
            functools.partial(self.apply_backward, signature),
        )

    def apply_forward(
        self, signature: Signature, primals: Sequence[Value], perturbed: Sequence[bool]
    ) -> tuple[list[Value], list[Value], Known]:
        """The user's forward rule on leaves: outputs, residuals, and what is known of them."""
        assert self.fwd is not None
        leaves: Sequence[Any] = primals
        if self.symbolic_zeros:
            leaves = list(map(CustomVJPPrimal, primals, perturbed))
        result = self.fwd(*signature.arguments(leaves))
        where = (
            f"custom_vjp: the forward rule {function_line(self.fwd)} of {function_line(self.fun)}"
        )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ShapeError(
                f"{where} must return a pair (output, residuals); got {type(result).__name__}"
            )
        out_leaves, out_tree = tree_flatten(result[0])
        res_leaves, res_tree = tree_flatten(result[1])
        outs = output_values("custom_vjp", self.fwd, out_leaves)
        # Python's numbers stay as they are, so that the backward rule can ask `if flag:` of them
        is_number = [type(x) in (bool, int, float, complex) for x in res_leaves]
        numbers, arrays = partition_list(res_leaves, is_number)
        residuals = output_values("custom_vjp", self.fwd, arrays)
        self.check_primal(signature, where, primals, outs, out_tree)
        return outs, residuals, (res_tree, scatter_list(numbers, is_number), [o.aval for o in outs])

    def apply_backward(
        self,
        signature: Signature,
        known: Known,
        residuals: Sequence[Value],
        cts: Sequence[Tangent],
        in_avals: Sequence[Aval],
    ) -> list[Tangent]:
        """The user's backward rule on leaves, its result checked."""
        assert self.bwd is not None
        assert signature.out_tree is not None
        res_tree, numbers, out_avals = known
        zero = symbolic if self.symbolic_zeros else zero_tangent
        full = [zero(a) if ct is None else ct for ct, a in zip(cts, out_avals, strict=True)]
        ct = signature.out_tree.unflatten(full)
        res_leaves = fill_list(numbers, residuals)
        result = self.bwd(*signature.fixed, res_tree.unflatten(res_leaves), ct)
        where = (
            f"custom_vjp: the backward rule {function_line(self.bwd)} of {function_line(self.fun)}"
        )
        leaves = cotangent_leaves(where, signature.args_tree, result)
        return [rule_cotangent(where, a, ct) for ct, a in zip(leaves, in_avals, strict=True)]


def custom_gradient(fun: Callable[P, tuple[R, Any]]) -> Callable[P, R]:
    """A function that states its own vjp function.

    Args:
      fun: returns a pair (output, function from the output's cotangent to the arguments').
    Returns: a function that returns the output.
    Example:
      >>> import weft
      >>> @weft.custom_gradient
      ... def f(x):
      ...     return x**2, lambda g: (g * x,)
      >>> print(weft.grad(f)(3.0))
      3.0
    Source: JAX documentation, `jax.custom_gradient`.
    """
    check_callable(fun, "custom_gradient")

    function: TreeFunction = fun

    @custom_vjp
    @functools.wraps(fun)
    def wrapped(*args: PyTree) -> PyTree:
        return function(*args)[0]

    def fwd(*args: PyTree) -> tuple[PyTree, Pullback]:
        out, vjp_function = function(*args)

        @functools.wraps(fun)
        def cotangents(ct: PyTree) -> tuple[PyTree, ...]:
            result = vjp_function(ct)
            return tuple(result) if isinstance(result, (tuple, list)) else (result,)

        flat = FlatFunction("custom_gradient", cotangents, (out,))
        flat.avals = tuple([a.strong() for a in flat.avals])
        jaxpr = flat.stage()
        return out, Pullback((jaxpr.without_consts(), flat.out_tree), jaxpr.consts)

    def bwd(residuals: Pullback, ct: PyTree) -> PyTree:
        jaxpr, res_tree = residuals.program
        cts = [as_value(x) for x in tree_flatten(ct)[0]]
        return res_tree.unflatten(run(jaxpr, [*residuals.consts, *cts], current.trace))

    wrapped.defvjp(fwd, bwd)
    return wrapped  # type: ignore[return-value]


class Pullback:
    """A staged vjp function: a tree whose leaves are its constants."""

    def __init__(self, program: tuple[Jaxpr, PyTreeDef], consts: Sequence[Value]) -> None:
        self.program, self.consts = program, consts


register_pytree_node(
    Pullback, lambda p: (p.consts, p.program), lambda program, c: Pullback(program, list(c))
)
