"""checkpoint (remat): compute again instead of keeping; its policies; what a function keeps.

A policy is a function `policy(primitive, *avals, **params)` that says of an operation whether its
results are kept. It is called when a function is traced, not when it runs. What is computed
again, `higher_order/checkpoint.py` decides.
"""

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from ..core.array import Array, as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var
from ..core.primitive import Primitive
from ..core.source import located, wrapping
from ..core.trace import current
from ..core.value import Value
from ..higher_order.call import call
from ..higher_order.checkpoint import apply_checkpoint, checkpoint_call
from ..interpreters.concrete_stage import ConcreteStageTrace
from ..primitives.selection import name as name_primitive
from ..programs.hash_consing import hash_consed, is_eager, numbers_as_inputs
from ..programs.partial_eval import Either
from ..programs.transform import linearize_jaxpr
from ..tree_util import tree_map
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable, static_arguments
from .jit.stages import ShapeDtypeStruct, struct_of
from .signatures import P, R, Transformed

__all__ = ["checkpoint", "checkpoint_policies", "remat"]

Policy = Callable[..., bool]


def checkpoint(
    fun: Callable[P, R] | None = None,
    concrete: bool = False,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Transformed[P, R]:
    """Makes differentiation of a function compute intermediate values anew instead of keeping them.

    Less memory for more time: only the arguments (and what `policy` names) are kept for the
    backward pass, for which the function is computed a second time. Checkpoints nest: see
    docs/checkpoint.md for what that is good for.

    Args:
      fun: the function; without it, a decorator that takes the other options.
      concrete: if True, the Python code of `fun` may look at elements (`if x > 0`), where they are
        known: not inside jit, but under grad. Then it is traced anew at every call.
      prevent_cse: if True, keeps the compiler from merging the second computation with the first,
        which would keep what was to be computed again. False is faster and does as well inside
        scan, where the two are in different loops.
      policy: `policy(primitive, *avals, **params)` says whether an operation's results are kept;
        see `checkpoint_policies`. It is asked about the operations inside inner jitted functions,
        branches and scans, too.
      static_argnums, static_argnames: positions and names of arguments that aren't arrays, or that
        the code branches on. With one that isn't hashable, `fun` is traced anew at every call.
    Returns: a function with the same results and derivatives.
    Raises: TypeError: an argument or a result isn't an array; TracerBoolConversionError and the
      like: the Python code looks at elements that aren't known.
    Example:
      >>> import weft, weft.numpy as np
      >>> g = weft.checkpoint(lambda x: np.sin(np.sin(x)))
      >>> print(weft.grad(g)(2.0))
      -0.25563914
      >>> h = weft.checkpoint(lambda x: x**2 if x > 0 else -x, concrete=True)
      >>> print(weft.grad(h)(3.0), weft.grad(h)(-3.0))
      6.0 -1.0
    Source: JAX documentation, `jax.checkpoint`.
    """
    if fun is None:
        decorator = functools.partial(
            checkpoint,
            concrete=concrete,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
        return cast("Transformed[P, R]", decorator)
    check_callable(fun, "checkpoint")
    if policy is not None:
        check_callable(policy, "checkpoint: policy")
    nums, _ = static_arguments(fun, static_argnums, (), "checkpoint")
    by_name, names = static_arguments(fun, None, static_argnames, "checkpoint")
    return Checkpointed(fun, concrete, prevent_cse, policy, nums + by_name, names).dispatcher()


class Checkpointed:
    """A function with the options of its checkpoint, and the programs made for it."""

    def __init__(
        self,
        function: TreeFunction,
        concrete: bool,
        prevent_cse: bool,
        policy: Policy | None,
        static: tuple[int, ...],
        static_names: tuple[str, ...],
    ) -> None:
        self.function, self.concrete, self.prevent_cse = function, concrete, prevent_cse
        self.policy, self.static, self.static_names = policy, static, static_names

    def dispatcher(self) -> TreeFunction:
        """The function that the user calls."""

        @wrapping(self.function)
        @located
        def checkpointed(*args: PyTree, **kwargs: PyTree) -> PyTree:
            if self.concrete and current.trace is current.base:
                return self.function(*args, **kwargs)  # nothing is differentiated
            flat = FlatFunction(
                "checkpoint", self.function, args, kwargs, self.static, self.static_names
            )
            if self.concrete:
                return self.traced_anew(flat)
            return self.applied(flat, flat.stage())

        return checkpointed

    def traced_anew(self, flat: FlatFunction) -> PyTree:
        """The result where Python code looks at elements, which are others at every call."""
        known = [v.concrete() for v in flat.values]
        trace = ConcreteStageTrace(known, "checkpoint", self.function)
        return self.applied(flat, flat.stage(trace=trace))

    def applied(self, flat: FlatFunction, jaxpr: Jaxpr) -> PyTree:
        """The result of a program of the function, with what it closes over."""
        program = jaxpr.without_consts()
        numbers: list[Array] = []
        if is_eager(current.trace):
            program, numbers = numbers_as_inputs(program)
        args = [*numbers, *jaxpr.consts, *flat.values]
        outs = apply_checkpoint(hash_consed(program), args, self.policy, self.prevent_cse)
        return flat.unflatten(outs)


remat = checkpoint

# --- policies ---


@located
def checkpoint_name(x: PyTree, name: str) -> PyTree:
    """The same value, with a name for the policies of checkpoint.

    Args:
      x: an array, or containers of them: the name is for each.
      name: the name; several values may have the same.
    Returns: the same values.
    Raises: TypeError: the name isn't a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> policy = weft.checkpoint_policies.save_only_these_names("hidden")
      >>> f = weft.checkpoint(lambda x: np.sin(checkpoint_name(np.sin(x), "hidden")), policy=policy)
      >>> print_saved_residuals(f, 1.0)
      float32[] from the argument x
      float32[] named 'hidden'
    Source: JAX documentation, `jax.ad_checkpoint.checkpoint_name`.
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: the name must be a string; got {name!r}")
    return tree_map(lambda leaf: name_primitive(as_value(leaf), name=name), x)


def everything_saveable(primitive: Primitive, *avals: Aval, **params: object) -> bool:
    """Keeps all results: as without checkpoint."""
    return True


def nothing_saveable(primitive: Primitive, *avals: Aval, **params: object) -> bool:
    """Keeps nothing: as without a policy."""
    return False


def dots_saveable(primitive: Primitive, *avals: Aval, **params: object) -> bool:
    """Keeps the results of matrix products and convolutions."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: Aval, **params: Any) -> bool:
    """Keeps the results of matrix products without batch axes: those with weights."""
    return primitive.name == "dot_general" and params["dims"][1] == ((), ())


class NamePolicy:
    """A policy that goes by names. Equal ones are one, so that what was derived is found again."""

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"{kind}: names must be strings; got {name!r}")
        self.kind, self.names = kind, frozenset(names)

    def __call__(self, primitive: Primitive, *avals: Aval, **params: object) -> bool:
        named = primitive is name_primitive
        if self.kind == "save_only_these_names":
            return named and params["name"] in self.names
        if self.kind == "save_any_names_but_these":
            return named and params["name"] not in self.names
        return not (named and params["name"] in self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamePolicy) and (self.kind, self.names) == (
            other.kind,
            other.names,
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, sorted(self.names)))})"


def save_only_these_names(*names: str) -> Policy:
    """Keeps the values that have one of these names by `checkpoint_name`, and nothing else."""
    return NamePolicy("save_only_these_names", names)


def save_any_names_but_these(*names: str) -> Policy:
    """Keeps the values that have another name by `checkpoint_name`, and nothing else."""
    return NamePolicy("save_any_names_but_these", names)


def save_anything_except_these_names(*names: str) -> Policy:
    """Keeps everything but the values that have one of these names by `checkpoint_name`.

    What a named value was computed from is kept: so name what is cheap to compute from it.
    """
    return NamePolicy("save_anything_except_these_names", names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keeps what either of two policies keeps."""
    return Either(policy_1, policy_2)


checkpoint_policies = SimpleNamespace(
    checkpoint_dots=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    dots_saveable=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
)
"""The policies by name: functions to pass as `policy`, and functions that return such."""


# --- what is kept ---


@located
def saved_residuals(
    fun: TreeFunction, *args: PyTree, **kwargs: PyTree
) -> list[tuple[ShapeDtypeStruct, str]]:
    """The arrays that differentiating a function in reverse keeps, and their origins.

    Literals (Python's numbers) are left out. `fun` is traced, and not run.

    Args:
      fun: the function, with checkpoints inside or not.
      args: its arguments, or anything with their shapes and dtypes.
    Returns: a list of pairs (shape and dtype, description), one for each array that is kept.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import saved_residuals
      >>> for kept, source in saved_residuals(lambda x: np.sin(np.sin(x)), np.ones(3)):
      ...     print(kept.shape, source)
      (3,) output of cos
      (3,) output of cos
    Source: JAX documentation, `jax.ad_checkpoint.saved_residuals`.
    """
    check_callable(fun, "saved_residuals")
    flat = FlatFunction("saved_residuals", fun, args, kwargs, abstract=True)
    jaxpr = flat.stage()
    whole = jaxpr.without_consts()
    constants = [False] * len(jaxpr.consts)
    mask = [*constants, *[v.aval.inexact for v in jaxpr.invars]]
    forward, _, _ = linearize_jaxpr(whole, mask)
    arguments = [f"from the argument {path}" for path in flat.paths()]
    sources = ["from a constant"] * len(jaxpr.consts) + arguments
    return [
        (struct_of(v.aval), origin(forward, v, sources))
        for v in forward.outvars[len(jaxpr.outvars) :]
        if type(v) is Var
    ]


def origin(jaxpr: Jaxpr, atom: Var | Value, sources: list[str]) -> str:
    """The origin of a value of a program, in words.

    Args:
      sources: the origins of the program's inputs.
    """
    if not isinstance(atom, Var):
        return "from a literal"
    if atom in jaxpr.invars:
        return sources[jaxpr.invars.index(atom)]
    for e in jaxpr.equations:
        if atom not in e.outvars:
            continue
        params = dict(e.params)
        if e.primitive is name_primitive:
            return f"named {params['name']!r}"
        if e.primitive not in (call, checkpoint_call):
            return f"output of {e.primitive}"
        outer = [origin(jaxpr, v, sources) for v in e.inputs]
        inner = params["jaxpr"]
        return origin(inner, inner.outvars[e.outvars.index(atom)], outer)
    return "from a constant"


def print_saved_residuals(fun: TreeFunction, *args: PyTree, **kwargs: PyTree) -> None:
    """Prints the arrays that differentiating a function in reverse keeps, a line for each.

    Args:
      fun, args, kwargs: as in `saved_residuals`.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(weft.checkpoint(lambda x: np.sin(np.sin(x))), np.ones(3))
      float32[3] from the argument x
    Source: JAX documentation, `jax.ad_checkpoint.print_saved_residuals`.
    """
    for kept, source in saved_residuals(fun, *args, **kwargs):
        print(f"{kept.dtype.name}[{','.join(map(str, kept.shape))}] {source}")
