"""custom_jvp, custom_vjp, closure_convert: derivatives that the user writes.

Knows trees and signatures; the traces know what to do with rules.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval
from ..core.bounded import remember
from ..core.jaxpr import Jaxpr, run
from ..core.masks import fill_list, merge_lists
from ..core.primitive import Primitive
from ..core.source import function_line, located, noted
from ..core.trace import current
from ..core.value import Value
from ..higher_order.custom_jvp import CustomJvp, axes_in_scope, custom_jvp_call
from ..higher_order.custom_vjp import CustomVjp, custom_vjp_call
from ..primitives.structural import zeros
from ..tree_util import PyTreeDef, register_pytree_node, tree_flatten
from ..typing import PyTree
from .arguments import (
    FlatFunction,
    TreeFunction,
    as_tuple,
    check_callable,
    name_of,
    output_values,
    parameters,
)
from .linear_maps import Tangent, float0_zeros, is_float0
from .symbolic_zeros import CustomVJPPrimal, SymbolicZero, symbolic

__all__ = ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]

Rules = TypeVar("Rules", CustomJvp, CustomVjp)


def positional(
    function: TreeFunction, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
) -> tuple[PyTree, ...]:
    """Arguments with keywords and defaults put in their positions."""
    known = parameters(function)
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


_MOST_KINDS = 256


class Signature:
    """The common part of calls of one kind: structures, fixed arguments, and the rules on leaves.

    Calls of one kind have one object, so that programs in which its rules are can be told to be
    equal, and are compiled once. It refers to no array among the arguments.

    Attributes:
      out_tree: of the function's result, when the function or a rule has been called.
    """

    __slots__ = ("args_tree", "fixed", "is_traced", "out_tree", "rules")

    def __init__(self, flat: FlatFunction) -> None:
        self.args_tree = flat.args_tree
        self.fixed: list[Any] = flat.fixed
        self.is_traced: list[bool] = flat.is_traced
        self.out_tree: PyTreeDef | None = None
        self.rules: Any = None

    def arguments(self, leaves: Sequence[Any]) -> Sequence[PyTree]:
        """All arguments, in their positions."""
        args: Sequence[PyTree] = self.args_tree.unflatten(leaves)
        return merge_lists(args, self.fixed, self.is_traced) if self.fixed else args

    def check_output(self, rule: str, out_tree: PyTreeDef) -> None:
        """Refuses a rule's output of another structure than the function's."""
        if self.out_tree is None:
            self.out_tree = out_tree
        if out_tree != self.out_tree:
            raise TypeError(
                f"{rule} must return an output of the function's structure {self.out_tree}; got "
                f"{out_tree}"
            )


class _Custom:
    """The common part of custom_jvp and custom_vjp: the function and its fixed arguments."""

    kind = "custom"
    symbolic_zeros = False

    def __init__(self, fun: TreeFunction, nondiff_argnums: int | Sequence[int] = ()) -> None:
        check_callable(fun, self.kind)
        self.fun = fun
        self.nondiff_argnums = as_tuple(nondiff_argnums, int, f"{self.kind}: nondiff_argnums")
        self.signatures: dict[Any, Signature] = {}
        functools.update_wrapper(self, fun)

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        raise NotImplementedError

    def __get__(self, instance: object, owner: type | None = None) -> TreeFunction:
        return self if instance is None else functools.partial(self, instance)

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
        args = positional(self.fun, args, kwargs)
        count = len(args)
        for n in self.nondiff_argnums:
            if not -count <= n < count:
                raise TypeError(
                    f"{self.kind}: nondiff_argnums names position {n} of "
                    f"{function_line(self.fun)}; the call has {count} arguments"
                )
        flat = FlatFunction(self.kind, self.fun, args, static=self.nondiff_argnums)
        signature = self.signature(flat, user_rules, rules_of)

        def function(*leaves: Value) -> list[Value]:
            outs = flat(*leaves)
            signature.out_tree = flat.out_tree
            return outs

        trace: Any = current.trace
        outs = trace.bind_custom(primitive, function, signature.rules, flat.values)
        assert signature.out_tree is not None
        return signature.out_tree.unflatten(outs)

    def signature(
        self,
        flat: FlatFunction,
        user_rules: tuple[TreeFunction | None, ...],
        rules_of: Callable[[Signature], Rules],
    ) -> Signature:
        """The signature of calls of this kind, which depends on the named axes in scope, too."""
        statics: list[tuple[type, Any]] = [(type(x), x) for x in flat.fixed]
        key: tuple[Any, ...] = (*user_rules, flat.args_tree, *flat.avals, axes_in_scope(), *statics)
        known: Signature | None
        try:
            known = self.signatures.get(key)
        except TypeError:  # a fixed argument that has no hash
            return self.new_signature(flat, rules_of)
        if known is not None:
            return known
        new = self.new_signature(flat, rules_of)
        first: Signature = remember(self.signatures, key, new, _MOST_KINDS)
        return first

    def new_signature(
        self, flat: FlatFunction, rules_of: Callable[[Signature], Rules]
    ) -> Signature:
        """A new signature with its rules."""
        signature = Signature(flat)
        signature.rules = rules_of(signature)
        return signature


class custom_jvp(_Custom):
    """A function whose derivative is given by a rule, for both modes and any order.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that aren't differentiated (they may be anything);
        the rule gets them first.
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

    def defjvp(self, jvp: TreeFunction, symbolic_zeros: bool = False) -> TreeFunction:
        """Defines the rule: `jvp(primals, tangents) -> (output, output tangent)`.

        With `nondiff_argnums`, those arguments come first. The output tangent must be linear in
        the tangents. Returns `jvp`, so that it can be used as a decorator.

        Args:
          symbolic_zeros: if True, a tangent that is zero comes as a `SymbolicZero` (of
            `weft.custom_derivatives`) and not as an array of zeros; the rule may return one.
        """
        check_callable(jvp, "custom_jvp.defjvp")
        self.rule, self.symbolic_zeros = jvp, bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: TreeFunction | None) -> None:
        """Defines the rule by one function for each argument.

        Each is called as `jvp(tangent, output, *primals)` and returns its argument's share of the
        output tangent; `None` says that the share is zero.
        """
        if self.nondiff_argnums:
            raise TypeError("custom_jvp.defjvps: can't be used with nondiff_argnums; use defjvp")

        def jvp(primals: PyTree, tangents: PyTree) -> tuple[PyTree, PyTree]:
            out = self(*primals)
            total: PyTree = None
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is not None:
                    share = rule(t, out, *primals)
                    total = share if total is None else total + share
            return out, zeros_like_tree(out) if total is None else total

        self.rule, self.symbolic_zeros = jvp, False

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None:
            raise AttributeError(
                f"custom_jvp: no rule is defined for {function_line(self.fun)}\n"
                "  fix: define one with defjvp or defjvps"
            )
        return self.applied(custom_jvp_call, args, kwargs, (self.rule,), self.rules_on_leaves)

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
            raise TypeError(
                f"{where} must return a pair (output, output tangent); got {type(result).__name__}"
            )
        out, t_out = result
        out_leaves, out_tree = tree_flatten(out)
        t_leaves, t_tree = tree_flatten(t_out)
        if out_tree != t_tree:
            raise TypeError(
                f"{where} must return an output and a tangent of one structure; got {out_tree} and "
                f"{t_tree}"
            )
        signature.check_output(where, out_tree)
        outs = output_values("custom_jvp", self.rule, out_leaves)
        t_outs = [rule_tangent(where, o.aval, t) for o, t in zip(outs, t_leaves, strict=True)]
        return outs, t_outs


def zero_tangent(primal: Aval) -> Value | np.ndarray[Any, Any]:
    """The zero of a primal's tangent, as an array."""
    if not dtypes.is_inexact(primal.dtype):
        return float0_zeros(primal.shape)
    zero: Value = zeros(primal.strong())
    return zero


def rule_tangent(where: str, out: Aval, t: Any) -> Tangent:
    """An output tangent of a user's rule: checked, `None` where there is none."""
    if isinstance(t, SymbolicZero) or is_float0(t) or not dtypes.is_inexact(out.dtype):
        return None
    value: Value = as_value(t)
    if value.shape == out.shape and value.dtype != out.dtype and value.weak_type:
        value = value.astype(out.dtype)
    if value.shape == out.shape and value.dtype == out.dtype:
        return value
    raise noted(
        TypeError(f"{where} must return a tangent like the output, {out}; got {value.aval}")
    )


def zeros_like_tree(tree: PyTree) -> PyTree:
    """A tree of zeros like another."""
    leaves, treedef = tree_flatten(tree)
    return treedef.unflatten([zeros(as_value(x).aval.strong()) for x in leaves])


class custom_vjp(_Custom):
    """A function whose reverse-mode derivative is given by a pair of rules.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that aren't differentiated (they may be anything);
        the backward rule gets them first.
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
          fwd: takes the arguments of the function; returns (output, residuals).
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
        check_callable(bwd, "custom_vjp.defvjp")
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
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp: no rules are defined for {function_line(self.fun)}\n"
                "  fix: define them with defvjp"
            )
        rules = self.fwd, self.bwd
        return self.applied(custom_vjp_call, args, kwargs, rules, self.rules_on_leaves)

    def rules_on_leaves(self, signature: Signature) -> CustomVjp:
        """The rules as the traces call them, for one kind of call."""
        return CustomVjp(
            name_of(self.fun),
            functools.partial(self.apply_forward, signature),
            functools.partial(self.apply_backward, signature),
        )

    def apply_forward(
        self, signature: Signature, primals: Sequence[Value], perturbed: Sequence[bool]
    ) -> tuple[list[Value], list[Value], tuple[PyTreeDef, list[Aval]]]:
        """The user's forward rule on leaves: outputs, residuals, and what `apply_backward` needs
        to know of them."""
        assert self.fwd is not None
        leaves: Sequence[Any] = primals
        if self.symbolic_zeros:
            leaves = list(map(CustomVJPPrimal, primals, perturbed))
        result = self.fwd(*signature.arguments(leaves))
        where = f"custom_vjp: the forward rule {function_line(self.fwd)}"
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"{where} must return a pair (output, residuals); got {type(result).__name__}"
            )
        out_leaves, out_tree = tree_flatten(result[0])
        signature.check_output(where, out_tree)
        res_leaves, res_tree = tree_flatten(result[1])
        outs = output_values("custom_vjp", self.fwd, out_leaves)
        residuals = output_values("custom_vjp", self.fwd, res_leaves)
        return outs, residuals, (res_tree, [o.aval for o in outs])

    def apply_backward(
        self,
        signature: Signature,
        known: tuple[PyTreeDef, list[Aval]],
        residuals: Sequence[Value],
        cts: Sequence[Tangent],
        in_avals: Sequence[Aval],
    ) -> list[Tangent]:
        """The user's backward rule on leaves, its result checked."""
        assert self.bwd is not None
        assert signature.out_tree is not None
        res_tree, out_avals = known
        zero = symbolic if self.symbolic_zeros else zero_tangent
        full = [zero(a) if ct is None else ct for ct, a in zip(cts, out_avals, strict=True)]
        ct = signature.out_tree.unflatten(full)
        result = self.bwd(*signature.fixed, res_tree.unflatten(residuals), ct)
        where = (
            f"custom_vjp: the backward rule {function_line(self.bwd)} of {function_line(self.fun)}"
        )
        leaves = cotangent_leaves(where, signature.args_tree, result)
        return [rule_cotangent(where, a, ct) for ct, a in zip(leaves, in_avals, strict=True)]


def cotangent_leaves(where: str, args_tree: PyTreeDef, result: PyTree) -> list[Any]:
    """The leaves of what a backward rule returned, one for each leaf of the arguments."""
    children = args_tree.children()
    if not isinstance(result, (tuple, list)) or len(result) != len(children):
        got = f"{len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
        raise TypeError(
            f"{where} must return a tuple of {len(children)} cotangents, one for each "
            f"argument; got {got}"
        )
    leaves: list[Any] = []
    for ct, child in zip(result, children, strict=True):
        if ct is None:
            leaves += [None] * child.num_leaves
            continue
        ct_leaves, ct_tree = tree_flatten(ct, is_leaf=lambda x: x is None)
        if ct_tree != child and ct_tree.num_leaves != child.num_leaves:
            raise TypeError(
                f"{where} must return cotangents of the arguments' structure {child}; got {ct_tree}"
            )
        leaves += ct_leaves
    return leaves


def rule_cotangent(where: str, primal: Aval, ct: Any) -> Tangent:
    """An argument's cotangent by a user's rule: checked, `None` where there is none."""
    if ct is None or isinstance(ct, SymbolicZero) or is_float0(ct):
        return None
    if not dtypes.is_inexact(primal.dtype):
        return None
    value: Value = as_value(ct)
    if value.shape != primal.shape:
        raise TypeError(
            f"{where} must return cotangents of the arguments' shapes; got {value.aval} for "
            f"{primal}"
        )
    if value.dtype != primal.dtype:
        value = value.astype(primal.dtype)
    return value


def custom_gradient(fun: TreeFunction) -> TreeFunction:
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

    @custom_vjp
    @functools.wraps(fun)
    def wrapped(*args: PyTree) -> PyTree:
        return fun(*args)[0]

    def fwd(*args: PyTree) -> tuple[PyTree, Pullback]:
        out, vjp_function = fun(*args)

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
    return wrapped


class Pullback:
    """A staged vjp function: a tree whose leaves are its constants."""

    def __init__(self, program: tuple[Jaxpr, PyTreeDef], consts: Sequence[Value]) -> None:
        self.program, self.consts = program, consts


register_pytree_node(
    Pullback, lambda p: (p.consts, p.program), lambda program, c: Pullback(program, list(c))
)


@located
def closure_convert(fun: TreeFunction, *example_args: PyTree) -> tuple[TreeFunction, list[Value]]:
    """A function that takes what another one closes over as extra arguments.

    Args:
      fun: a function of arrays.
      example_args: arguments with the shapes and dtypes to convert it for.
    Returns: (the converted function, called as `converted(*args, *values)`; the values).
    Example:
      >>> import weft, weft.numpy as np
      >>> def g(y):
      ...     converted, values = weft.closure_convert(lambda x: x * y, 1.0)
      ...     return converted(3.0, *values)
      >>> print(weft.grad(g)(2.0))
      3.0
    Source: JAX documentation, `jax.closure_convert`.
    """
    flat = FlatFunction("closure_convert", fun, example_args)
    in_tree = flat.args_tree
    jaxpr = flat.stage()
    out_tree = flat.out_tree
    hoisted = [c for c in jaxpr.consts if c.aval.inexact]
    fixed = [None if c.aval.inexact else c for c in jaxpr.consts]
    program = jaxpr.without_consts()
    count = len(example_args)

    @located
    def converted(*args_and_values: PyTree) -> PyTree:
        args, values = args_and_values[:count], args_and_values[count:]
        leaves, tree = tree_flatten(args)
        if tree != in_tree:
            raise TypeError(
                f"closure_convert: converted for arguments of structure {in_tree}; got {tree}"
            )
        consts = fill_list(fixed, map(as_value, values))
        return out_tree.unflatten(run(program, [*consts, *map(as_value, leaves)], current.trace))

    return converted, hoisted
