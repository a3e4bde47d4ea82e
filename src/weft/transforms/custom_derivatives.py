"""custom_jvp, custom_vjp, closure_convert: derivatives that the user writes.

Knows trees and signatures; the traces know what to do with rules.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval
from ..core.bounded import remember
from ..core.jaxpr import run
from ..core.source import function_line, located, noted
from ..core.trace import current
from ..higher_order.custom_jvp import CustomJvp, axes_in_scope, custom_jvp_call
from ..higher_order.custom_vjp import CustomVjp, custom_vjp_call
from ..interpreters.stage import stage
from ..primitives.structural import zeros
from ..tree_util import register_pytree_node, tree_flatten
from .arguments import (
    argument_values,
    as_tuple,
    check_callable,
    leaf_paths,
    name_of,
    output_values,
    parameters,
)
from .linear_maps import float0_zeros, is_float0
from .symbolic_zeros import CustomVJPPrimal, SymbolicZero, symbolic

__all__ = ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]


def positional(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
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


_KINDS_OF_CALLS = 256


class _Custom:
    """What custom_jvp and custom_vjp share: the function and its fixed arguments."""

    kind = "custom"

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> None:
        check_callable(fun, self.kind)
        self.fun = fun
        self.nondiff_argnums = as_tuple(nondiff_argnums, int, f"{self.kind}: nondiff_argnums")
        self.rules: dict[Any, Any] = {}  # on leaves, by kind of call
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def split(self, args: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, ...]]:
        """The fixed arguments, and the others."""
        count = len(args)
        fixed = sorted(n % count if n < 0 else n for n in self.nondiff_argnums)
        for n in fixed:
            if n >= count:
                raise TypeError(
                    f"{self.kind}: nondiff_argnums names position {n} of "
                    f"{function_line(self.fun)}; the call has {count} arguments"
                )
        return [args[n] for n in fixed], tuple(a for i, a in enumerate(args) if i not in fixed)

    def rules_for(
        self, key: tuple[Any, ...], fixed: Sequence[Any], make: Callable[[dict[str, Any]], Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The rules on leaves and what they find out, for one kind of call.

        Calls of one kind have one object, so that programs in which they are can be told to be
        equal, and are compiled once.

        Args:
          key: what the rules depend on besides the fixed arguments and the named axes.
        """
        try:
            key = (*key, axes_in_scope(), *[(type(x), x) for x in fixed])
            known = self.rules.get(key)
        except TypeError:  # a fixed argument that has no hash
            found: dict[str, Any] = {}
            return make(found), found
        if known is None:
            found = {}
            known = remember(self.rules, key, (make(found), found), _KINDS_OF_CALLS)
        return known  # type: ignore[no-any-return]

    def filled(self, fixed: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        """All arguments, in their positions."""
        count = len(fixed) + len(others)
        places = sorted(n % count if n < 0 else n for n in self.nondiff_argnums)
        full = list(others)
        for place, value in zip(places, fixed, strict=True):
            full.insert(place, value)
        return full


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
    Source: seed 002, `jax.custom_jvp`.
    """

    kind = "custom_jvp"
    rule: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Defines the rule: `jvp(primals, tangents) -> (output, output tangent)`.

        With `nondiff_argnums`, those arguments come first. The output tangent must be linear in
        the tangents. Returns `jvp`, so that it can be used as a decorator.

        Args:
          symbolic_zeros: whether a tangent that is zero comes as a `SymbolicZero` (of
            `weft.custom_derivatives`) and not as an array of zeros; the rule may give one back.
        """
        check_callable(jvp, "custom_jvp.defjvp")
        self.rule, self.symbolic_zeros = jvp, bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Defines the rule by one function for each argument.

        Each is called as `jvp(tangent, output, *primals)` and gives its argument's share of the
        output tangent; `None` says that the share is zero.
        """
        if self.nondiff_argnums:
            raise TypeError("custom_jvp.defjvps: can't be used with nondiff_argnums; use defjvp")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            total: Any = None
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
        fixed, others = self.split(positional(self.fun, args, kwargs))
        leaves, tree = tree_flatten(others)
        values = argument_values(
            "custom_jvp", self.fun, leaves, lambda: leaf_paths(self.fun, others, {})
        )

        def make(found: dict[str, Any]) -> CustomJvp:
            return CustomJvp(
                name_of(self.fun),
                lambda primals, tangents: self.apply_rule(fixed, tree, primals, tangents, found),
            )

        key = (self.rule, tree, *[v.aval for v in values])
        rules, found = self.rules_for(key, fixed, make)

        def flat(*xs: Any) -> list[Any]:
            result = self.fun(*self.filled(fixed, tree.unflatten(xs)))
            out_leaves, found["out_tree"] = tree_flatten(result)
            return output_values("custom_jvp", self.fun, out_leaves)

        outs = current.trace.bind_custom(custom_jvp_call, flat, rules, values)
        return found["out_tree"].unflatten(outs)

    def apply_rule(
        self, fixed: Any, tree: Any, primals: Any, tangents: Any, found: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """The user's rule on leaves, its result checked."""
        zero = symbolic if self.symbolic_zeros else zero_tangent
        full = [zero(p.aval) if t is None else t for p, t in zip(primals, tangents, strict=True)]
        assert self.rule is not None
        result = self.rule(*fixed, tree.unflatten(primals), tree.unflatten(full))
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
        found.setdefault("out_tree", out_tree)
        if out_tree != found["out_tree"]:
            raise TypeError(
                f"{where} must return an output of the function's structure {found['out_tree']}; "
                f"got {out_tree}"
            )
        outs = output_values("custom_jvp", self.rule, out_leaves)
        t_outs = [rule_tangent(where, o.aval, t) for o, t in zip(outs, t_leaves, strict=True)]
        return outs, t_outs


def zero_tangent(primal: Aval) -> Any:
    """The zero of a primal's tangent, as an array."""
    return zeros(primal.strong()) if dtypes.is_inexact(primal.dtype) else float0_zeros(primal.shape)


def rule_tangent(where: str, out: Aval, t: Any) -> Any:
    """An output tangent of a user's rule: checked, `None` where there is none."""
    if isinstance(t, SymbolicZero) or is_float0(t) or not dtypes.is_inexact(out.dtype):
        return None
    t = as_value(t)
    if t.shape != out.shape or t.dtype != out.dtype:
        if t.shape == out.shape and t.weak_type:
            return t.astype(out.dtype)
        raise noted(TypeError(f"{where} must give a tangent like the output, {out}; got {t.aval}"))
    return t


def zeros_like_tree(tree: Any) -> Any:
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
    Source: seed 002, `jax.custom_vjp`.
    """

    kind = "custom_vjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Defines the rules.

        Args:
          fwd: takes the arguments of the function; gives (output, residuals).
          bwd: `bwd(residuals, cotangent)` gives a tuple of cotangents, one for each argument that
            is differentiated; `None` is zero. With `nondiff_argnums`, those arguments come first.
          symbolic_zeros: whether `fwd` is told in which arguments a derivative is asked for: each
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
        fixed, others = self.split(positional(self.fun, args, kwargs))
        leaves, tree = tree_flatten(others)
        values = argument_values(
            "custom_vjp", self.fun, leaves, lambda: leaf_paths(self.fun, others, {})
        )

        def make(found: dict[str, Any]) -> CustomVjp:
            def backward(res_tree: Any, residuals: Any, cts: Any, in_avals: Any) -> list[Any]:
                return self.apply_backward(fixed, tree, res_tree, residuals, cts, in_avals, found)

            return CustomVjp(
                name_of(self.fun),
                lambda xs, perturbed: self.apply_forward(fixed, tree, xs, perturbed, found),
                backward,
            )

        key = (self.fwd, self.bwd, tree, *[v.aval for v in values])
        rules, found = self.rules_for(key, fixed, make)

        def flat(*xs: Any) -> list[Any]:
            result = self.fun(*self.filled(fixed, tree.unflatten(xs)))
            out_leaves, found["out_tree"] = tree_flatten(result)
            return output_values("custom_vjp", self.fun, out_leaves)

        outs = current.trace.bind_custom(custom_vjp_call, flat, rules, values)
        return found["out_tree"].unflatten(outs)

    def apply_forward(
        self, fixed: Any, tree: Any, primals: Any, perturbed: Sequence[bool], found: dict[str, Any]
    ) -> Any:
        """The user's forward rule on leaves."""
        assert self.fwd is not None
        if self.symbolic_zeros:
            primals = list(map(CustomVJPPrimal, primals, perturbed))
        result = self.fwd(*self.filled(fixed, tree.unflatten(primals)))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"custom_vjp: the forward rule {function_line(self.fwd)} must return a pair "
                f"(output, residuals); got {type(result).__name__}"
            )
        out, residuals = result
        out_leaves, out_tree = tree_flatten(out)
        found.setdefault("out_tree", out_tree)
        if out_tree != found["out_tree"]:
            raise TypeError(
                f"custom_vjp: the forward rule {function_line(self.fwd)} must return an output of "
                f"the function's structure {found['out_tree']}; got {out_tree}"
            )
        found["out_avals"] = None
        res_leaves, res_tree = tree_flatten(residuals)
        outs = output_values("custom_vjp", self.fwd, out_leaves)
        return (
            outs,
            output_values("custom_vjp", self.fwd, res_leaves),
            (res_tree, [o.aval for o in outs]),
        )

    def apply_backward(
        self,
        fixed: Any,
        tree: Any,
        res_tree: Any,
        residuals: Any,
        cts: Any,
        in_avals: Any,
        found: Any,
    ) -> list[Any]:
        """The user's backward rule on leaves, its result checked."""
        assert self.bwd is not None
        treedef, out_avals = res_tree
        zero = symbolic if self.symbolic_zeros else zero_tangent
        full = [zero(a) if ct is None else ct for ct, a in zip(cts, out_avals, strict=True)]
        result = self.bwd(*fixed, treedef.unflatten(residuals), found["out_tree"].unflatten(full))
        where = (
            f"custom_vjp: the backward rule {function_line(self.bwd)} of {function_line(self.fun)}"
        )
        children = tree.children()
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
                    f"{where} must give cotangents of the arguments' structure {child}; got "
                    f"{ct_tree}"
                )
            leaves += ct_leaves
        checked: list[Any] = []
        for ct, a in zip(leaves, in_avals, strict=True):
            if (
                ct is None
                or isinstance(ct, SymbolicZero)
                or is_float0(ct)
                or not dtypes.is_inexact(a.dtype)
            ):
                checked.append(None)
                continue
            value = as_value(ct)
            if value.shape != a.shape:
                raise TypeError(
                    f"{where} must give cotangents of the arguments' shapes; got {value.aval} for "
                    f"{a}"
                )
            checked.append(value.astype(a.dtype) if value.dtype != a.dtype else value)
        return checked


def custom_gradient(fun: Callable[..., Any]) -> Any:
    """A function that gives its value and its own vjp function.

    Args:
      fun: gives a pair (output, function from the output's cotangent to the arguments' cotangents).
    Example:
      >>> import weft
      >>> @weft.custom_gradient
      ... def f(x):
      ...     return x**2, lambda g: (g * x,)
      >>> print(weft.grad(f)(3.0))
      3.0
    Source: seed 002.
    """
    check_callable(fun, "custom_gradient")

    @custom_vjp
    @functools.wraps(fun)
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> Any:
        out, vjp_function = fun(*args)
        out_leaves, out_tree = tree_flatten(out)
        avals = [as_value(x).aval.strong() for x in out_leaves]

        res_tree: Any = None

        def flat(*cts: Any) -> list[Any]:
            nonlocal res_tree
            result = vjp_function(out_tree.unflatten(cts))
            result = result if isinstance(result, (tuple, list)) else (result,)
            leaves, res_tree = tree_flatten(tuple(result))
            return output_values("custom_gradient", fun, leaves)

        jaxpr = stage(flat, avals, about=fun)
        return out, _Pullback((jaxpr.without_consts(), res_tree), jaxpr.consts)

    def bwd(residuals: Any, ct: Any) -> Any:
        jaxpr, res_tree = residuals.program
        cts = [as_value(x) for x in tree_flatten(ct)[0]]
        return res_tree.unflatten(run(jaxpr, [*residuals.consts, *cts], current.trace))

    wrapped.defvjp(fwd, bwd)
    return wrapped


class _Pullback:
    """A staged vjp function: a tree whose leaves are its constants."""

    def __init__(self, program: Any, consts: Any) -> None:
        self.program, self.consts = program, consts


register_pytree_node(
    _Pullback, lambda p: (p.consts, p.program), lambda program, c: _Pullback(program, list(c))
)


@located
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """A function that takes what the given one closes over as extra arguments.

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
    Source: seed 002, `jax.closure_convert`.
    """
    leaves, tree = tree_flatten(example_args)
    values = argument_values(
        "closure_convert", fun, leaves, lambda: leaf_paths(fun, example_args, {})
    )
    found: dict[str, Any] = {}

    def flat(*xs: Any) -> list[Any]:
        out_leaves, found["tree"] = tree_flatten(fun(*tree.unflatten(xs)))
        return output_values("closure_convert", fun, out_leaves)

    jaxpr = stage(flat, [v.aval for v in values], transform="closure_convert", about=fun)
    hoisted = [c for c in jaxpr.consts if dtypes.is_inexact(c.aval.dtype)]
    whole = jaxpr.without_consts()
    fixed = [None if dtypes.is_inexact(c.aval.dtype) else c for c in jaxpr.consts]

    @located
    def converted(*args_and_values: Any) -> Any:
        args = args_and_values[: len(example_args)]
        extra = iter(args_and_values[len(example_args) :])
        consts = [as_value(next(extra)) if c is None else c for c in fixed]
        arg_leaves, arg_tree = tree_flatten(tuple(args))
        if arg_tree != tree:
            raise TypeError(
                f"closure_convert: converted for arguments of structure {tree}; got {arg_tree}"
            )
        outs = run(whole, [*consts, *map(as_value, arg_leaves)], current.trace)
        return found["tree"].unflatten(outs)

    return converted, hoisted
