"""checkpoint (remat), checkpoint_policies, checkpoint_name, saved_residuals: rematerialisation.

A policy is a function `policy(primitive, *avals, **params)` that decides whether the results of an
operation are saved for the backward pass. It is called when a function is traced, not when it runs.
`higher_order/checkpoint.py` decides which operations are recomputed.
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
from ..interpreters.concrete import ConcreteStageTrace
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
    """A function whose derivative recomputes intermediate values instead of storing them.

    It trades time for memory: only the arguments (and the values that `policy` chooses) are stored
    for the backward pass, which computes the function a second time. Checkpoints nest: see
    docs/checkpoint.md.

    Args:
      fun: the function; if omitted, the result is a decorator.
      concrete: if True, the Python code of `fun` may read known elements (`if x > 0`): under grad,
        but not inside jit. Then it is traced again at every call.
      prevent_cse: if True, prevents the compiler from merging the second computation with the
        first, which would store the values after all. False is faster, and is enough inside scan,
        where the two are in different loops.
      policy: `policy(primitive, *avals, **params)` returns whether the results of an operation are
        stored; see `checkpoint_policies`. It is also called for operations inside inner jitted
        functions, branches and scans.
      static_argnums, static_argnames: positions and names of arguments that are not arrays, or that
        the Python code branches on. If one is not hashable, `fun` is traced again at every call.
    Returns: a function with the same results and derivatives.
    Raises: TypeError: an argument or a result is not an array. TracerBoolConversionError and
      others: the Python code reads elements that are not known.
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
    static = nums + by_name
    function: TreeFunction = fun

    @wrapping(function)
    @located
    def checkpointed(*args: PyTree, **kwargs: PyTree) -> PyTree:
        if concrete and current.trace.computes:
            return function(*args, **kwargs)  # no argument is differentiated
        flat = FlatFunction("checkpoint", function, args, kwargs, static, names)
        trace = None
        if concrete:
            elements = [v.concrete() for v in flat.values]
            trace = ConcreteStageTrace(elements, "checkpoint", function)
        jaxpr = flat.stage(trace=trace)
        program = jaxpr.without_consts()
        literals: list[Array] = []
        if is_eager(current.trace):
            program, literals = numbers_as_inputs(program)
        values = [*literals, *jaxpr.consts, *flat.values]
        return flat.unflatten(apply_checkpoint(hash_consed(program), values, policy, prevent_cse))

    return checkpointed


remat = checkpoint

# --- policies ---


@located
def checkpoint_name(x: PyTree, name: str) -> PyTree:
    """Names a value, for checkpoint policies.

    Args:
      x: an array or a container of arrays; each gets the name.
      name: the name; several values may have the same name.
    Returns: the same values.
    Raises: TypeError: the name is not a string.
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
    """Saves all results, as without `checkpoint`."""
    return True


def nothing_saveable(primitive: Primitive, *avals: Aval, **params: object) -> bool:
    """Saves no results, as without a policy."""
    return False


def dots_saveable(primitive: Primitive, *avals: Aval, **params: object) -> bool:
    """Saves the results of matrix products and convolutions."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: Aval, **params: Any) -> bool:
    """Saves the results of matrix products without batch axes, such as products with weights."""
    return primitive.name == "dot_general" and params["dims"][1] == ((), ())


class NamePolicy:
    """A policy by names, compared by value, so programs derived under an equal policy are
    reused."""

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"{kind}: names must be strings; got {name!r}")
        self.kind, self.names = kind, frozenset(names)
        self.key = self.kind, self.names

    def __call__(self, primitive: Primitive, *avals: Aval, **params: object) -> bool:
        named = primitive is name_primitive
        if self.kind == "save_only_these_names":
            return named and params["name"] in self.names
        if self.kind == "save_any_names_but_these":
            return named and params["name"] not in self.names
        return not (named and params["name"] in self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamePolicy) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, sorted(self.names)))})"


def save_only_these_names(*names: str) -> Policy:
    """Saves only the values that `checkpoint_name` gave one of these names."""
    return NamePolicy("save_only_these_names", names)


def save_any_names_but_these(*names: str) -> Policy:
    """Saves only the values that `checkpoint_name` gave a name other than these."""
    return NamePolicy("save_any_names_but_these", names)


def save_anything_except_these_names(*names: str) -> Policy:
    """Saves all values except those that `checkpoint_name` gave one of these names.

    The operands of a named value are saved, so give names to values that are cheap to recompute.
    """
    return NamePolicy("save_anything_except_these_names", names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Saves the values that at least one of two policies saves."""
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
"""The policies by name: functions to pass as `policy`, and functions that return a policy."""


# --- residuals ---


@located
def saved_residuals(
    fun: TreeFunction, *args: PyTree, **kwargs: PyTree
) -> list[tuple[ShapeDtypeStruct, str]]:
    """The residuals of a function: the arrays that its backward pass needs, and their origins.

    Literals (Python numbers) are omitted. `fun` is traced, not run.

    Args:
      fun: the function, with or without checkpoints inside.
      args: its arguments, or objects with their shapes and dtypes.
    Returns: a list of pairs (shape and dtype, description), one for each saved array.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import saved_residuals
      >>> for residual, source in saved_residuals(lambda x: np.sin(np.sin(x)), np.ones(3)):
      ...     print(residual.shape, source)
      (3,) output of cos
      (3,) output of cos
    Source: JAX documentation, `jax.ad_checkpoint.saved_residuals`.
    """
    check_callable(fun, "saved_residuals")
    flat = FlatFunction("saved_residuals", fun, args, kwargs, abstract=True)
    jaxpr = flat.stage()
    mask = [*[False] * len(jaxpr.consts), *[v.aval.inexact for v in jaxpr.invars]]
    forward, _, _ = linearize_jaxpr(jaxpr.without_consts(), mask)
    arguments = [f"from the argument {path}" for path in flat.paths()]
    sources = ["from a constant"] * len(jaxpr.consts) + arguments
    return [
        (struct_of(v.aval), origin(forward, v, sources))
        for v in forward.outvars[len(jaxpr.outvars) :]
        if type(v) is Var
    ]


def origin(jaxpr: Jaxpr, atom: Var | Value, sources: list[str]) -> str:
    """A description of the origin of a value of a program.

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
    """Prints the residuals of a function, one per line. See `saved_residuals`.

    Args:
      fun, args, kwargs: as in `saved_residuals`.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(weft.checkpoint(lambda x: np.sin(np.sin(x))), np.ones(3))
      float32[3] from the argument x
    Source: JAX documentation, `jax.ad_checkpoint.print_saved_residuals`.
    """
    for residual, source in saved_residuals(fun, *args, **kwargs):
        print(f"{residual.dtype.name}[{','.join(map(str, residual.shape))}] {source}")
