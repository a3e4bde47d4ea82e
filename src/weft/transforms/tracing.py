"""Tracing without running: make_jaxpr, eval_shape, named_call, named_scope,
ensure_compile_time_eval."""

import contextlib
import functools
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ContextDecorator
from typing import Any, Literal, NamedTuple, TypeVar, overload

from ..config import debug_lines
from ..core.aval import aval
from ..core.jaxpr import Jaxpr, Var
from ..core.masks import active
from ..core.primitive import Axis
from ..core.source import located, wrapping
from ..core.trace import Trace, current
from ..errors import ShapeError
from ..higher_order.naming import named_block, recording_trace, under_name
from ..interpreters.concrete import CompileTimeTrace
from ..primitives.creation import zeros
from ..primitives.structural import convert_element_type
from ..programs.transform import batch_partly
from ..scope import within_axes
from ..tree_util import tree_map
from ..typing import PyTree
from .arguments import (
    FlatFunction,
    TreeFunction,
    check_callable,
    described,
    name_of,
    static_arguments,
)
from .jit.stages import ShapeDtypeStruct, struct_of

__all__ = [
    "ShapeDtypeStruct",
    "ensure_compile_time_eval",
    "eval_shape",
    "make_jaxpr",
    "named_call",
    "named_scope",
]

NamedAxes = Sequence[tuple[Hashable, int]]
"""Named axes in scope, and their lengths."""


class TracedFunction(NamedTuple):
    """A function's program, and the function at its arguments: trees, positions, names."""

    jaxpr: Jaxpr
    flat: FlatFunction
    axes: NamedAxes = ()

    @property
    def out_shapes(self) -> PyTree:
        """The shapes, dtypes and named shapes of the results, in their tree. A named shape contains
        the named axes along which a result varies although no argument does.
        """
        structs = [struct_of(a) for a in self.jaxpr.out_avals]  # new values of refs are last
        jaxpr = self.jaxpr.without_consts()
        for name, size in self.axes:
            _, varies = batch_partly(jaxpr, [False] * len(jaxpr.invars), Axis(size, name))
            for struct in active(structs, varies):
                struct.named_shape[name] = size
        return self.flat.out_tree.unflatten(structs[: self.flat.out_tree.num_leaves])


@located
def axes_of(transform: str, axis_env: Any) -> NamedAxes:
    """The checked `axis_env`: pairs of a name and a length."""
    pairs = []
    for pair in axis_env or ():
        try:
            name, size = pair
            hash(name)
            pairs.append((name, operator.index(size)))
        except (TypeError, ValueError):
            raise TypeError(
                f"{transform}: axis_env must be a sequence of pairs (name, size); got {axis_env!r}"
                "\n  fix: axis_env=[('i', 4)]"
            ) from None
        if pairs[-1][1] < 1:
            raise ShapeError(f"{transform}: axis {name!r} must have a positive size; got {size}")
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError(f"{transform}: axis names are repeated in {axis_env!r}")
    return pairs


def traced(
    transform: str,
    fun: TreeFunction,
    static: Sequence[int],
    args: Sequence[PyTree],
    kwargs: dict[str, PyTree],
    axes: NamedAxes = (),
) -> TracedFunction:
    """Traces a function on arguments, or their shapes and dtypes, with named axes in scope."""
    flat = FlatFunction(transform, fun, args, kwargs, static, abstract=True, takes_refs=True)
    _ = flat.statics  # raises an error if one is not hashable
    jaxpr, _ = within_axes(axes, flat.stage_with_refs)
    return TracedFunction(jaxpr, flat, axes)


def located_program(
    name: str, fun: TreeFunction, args: Sequence[PyTree], kwargs: dict[str, PyTree]
) -> Jaxpr:
    """The program of a function whose equations have the user's lines, and the layers.

    Jitted functions inside are traced again, if they have no program with lines yet.
    """
    with debug_lines(True):
        return traced(name, fun, (), args, kwargs).jaxpr


@overload
def make_jaxpr(
    fun: TreeFunction,
    static_argnums: int | Sequence[int] = (),
    axis_env: NamedAxes | None = None,
    return_shape: Literal[False] = False,
) -> Callable[..., Jaxpr]: ...
@overload
def make_jaxpr(
    fun: TreeFunction,
    static_argnums: int | Sequence[int] = (),
    axis_env: NamedAxes | None = None,
    *,
    return_shape: Literal[True],
) -> Callable[..., tuple[Jaxpr, PyTree]]: ...
def make_jaxpr(
    fun: TreeFunction,
    static_argnums: int | Sequence[int] = (),
    axis_env: NamedAxes | None = None,
    return_shape: bool = False,
) -> TreeFunction:
    """A function that returns the jaxpr of `fun` for its arguments.

    For each ref that `fun` closes over, the program has an additional argument, its value; for each
    ref that it writes, an additional result, its new value.

    Args:
      fun: the function to trace; arguments may be arrays or objects with a shape and a dtype.
      static_argnums: positions of arguments that are part of the program.
      axis_env: pairs (name, size) of named axes in scope, for functions with collectives.
      return_shape: if True, the function returns a pair (jaxpr, tree of ShapeDtypeStruct of the
        results).
    Returns: a function of the same arguments.
    Example:
      >>> import weft
      >>> f = lambda x: weft.numpy.sin(weft.numpy.cos(x))
      >>> weft.make_jaxpr(f)(3.0)
      { lambda ; a:f32[]*. let
          b:f32[]* = cos a
          c:f32[]* = sin b
        in (c,) }
    Source: JAX documentation, `jax.make_jaxpr`.
    """
    check_callable(fun, "make_jaxpr")
    axes = axes_of("make_jaxpr", axis_env)
    nums, _ = static_arguments(fun, static_argnums, (), "make_jaxpr")

    @wrapping(fun)
    @located
    def jaxpr_maker(*args: PyTree, **kwargs: PyTree) -> PyTree:
        function = traced("make_jaxpr", fun, nums, args, kwargs, axes)
        jaxpr = without_weak_ends(function.jaxpr)
        return (jaxpr, function.out_shapes) if return_shape else jaxpr

    return jaxpr_maker


def without_weak_ends(jaxpr: Jaxpr) -> Jaxpr:
    """The program without final conversions that only make a result weakly typed.

    Gradients with respect to Python scalars end in such a conversion, which distracts a reader.
    """
    outvars = list(jaxpr.outvars)
    equations = list(jaxpr.equations)
    while equations:
        e = equations[-1]
        if e.primitive is not convert_element_type or not isinstance(e.inputs[0], Var):
            break
        (before,), (after,) = e.inputs, e.outvars
        if before.aval.dtype != after.aval.dtype or after not in outvars:
            break
        outvars = [before if v is after else v for v in outvars]
        equations.pop()
    if len(equations) == len(jaxpr.equations):
        return jaxpr
    return jaxpr.replace(equations=equations, outvars=outvars)


@located
def eval_shape(fun: TreeFunction, *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Shapes and dtypes of a function's results, without computing anything.

    Args:
      fun: the function.
      args, kwargs: arrays, or objects with a shape and a dtype, in containers.
    Returns: the tree of results, with a `ShapeDtypeStruct` in place of each array.
    Example:
      >>> import weft
      >>> A = weft.ShapeDtypeStruct((2000, 3000), "float32")
      >>> x = weft.ShapeDtypeStruct((3000, 1000), "float32")
      >>> weft.eval_shape(weft.numpy.dot, A, x).shape
      (2000, 1000)
    Source: JAX documentation, `jax.eval_shape`.
    """
    check_callable(fun, "eval_shape")

    @functools.wraps(fun)
    def with_structs(*args: PyTree, **kwargs: PyTree) -> PyTree:
        return tree_map(value_like, fun(*args, **kwargs))

    return traced("eval_shape", with_structs, (), args, kwargs).out_shapes


def value_like(leaf: object) -> Any:
    """Zeros for a `ShapeDtypeStruct`; other objects are unchanged."""
    if not isinstance(leaf, ShapeDtypeStruct):
        return leaf
    return zeros(aval(leaf.shape, leaf.dtype, leaf.weak_type))


# --- names of parts of a program ---

F = TypeVar("F", bound=TreeFunction)


def named_call(fun: F, *, name: str | None = None) -> F:
    """The same function, with a name in the programs into which it is traced.

    Inside `jit` and other transformations that stage programs, a call becomes a subprogram of that
    name: an equation `call[name=…]` of the jaxpr, a function of the StableHLO module, and the
    `op_name` of all its operations in XLA's program, which profilers show. Names nest:
    'model/block'. Derivatives are named after it: 'block_linear_t' is the backward pass. Outside of
    `jit` the function simply runs.

    Args:
      fun: the function; arguments and results may be any objects.
      name: the name; by default, the name of the function.
    Raises: TypeError: the name is not a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> layer = weft.named_call(lambda w, x: np.tanh(w * x), name="layer")
      >>> weft.make_jaxpr(layer)(2.0, 3.0)
      { lambda ; a:f32[]* b:f32[]*. let
          _:f32[]* c:f32[]* = call[
            name=layer
            jaxpr={ lambda ; a:f32[]* b:f32[]*. let
                c:f32[]* = mul a b
                d:f32[]* = tanh c
              in (c, d) }
            named=True
          ] a b
        in (c,) }
    Source: JAX documentation, `jax.named_call`.
    """
    check_callable(fun, "named_call")
    label = name_of(fun) if name is None else checked_name("named_call", name)

    @wrapping(fun)
    @located
    def named(*args: PyTree, **kwargs: PyTree) -> PyTree:
        return under_name(label, fun, *args, **kwargs)

    return named  # type: ignore[return-value]


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Names the part of a program that is traced within a block: `named_call` for a `with` block.

    If the program differentiates the block, only its forward operations are named; `named_call`
    names the backward pass too.

    Args:
      name: the name.
    Raises: TypeError: the name is not a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> def f(x):
      ...     with weft.named_scope("normalise"):
      ...         y = x / np.sum(x)
      ...     return np.sin(y)
      >>> [(e.primitive.name, len(e.invars)) for e in weft.make_jaxpr(f)(np.ones(3)).eqns]
      [('call', 1), ('sin', 1)]
    Source: JAX documentation, `jax.named_scope`.
    """
    label = checked_name("named_scope", name)
    trace = recording_trace(current.trace)
    if trace is None:
        yield
        return
    begin = len(trace.equations or ())
    yield
    named_block(trace, begin, label)


@located
def checked_name(where: str, name: object) -> str:
    """The name. Raises an error unless it is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"{where}: name must be a non-empty string; got {described(name)}")
    return name


# --- values that are known during tracing ---


def ensure_compile_time_eval() -> ContextDecorator:
    """Computes operations on known values immediately within a block, even under `jit`.

    Under `jit` every operation is staged, even if all operands are known, so its result has no
    elements while the function is traced. Within this block, an operation on arrays and scalars
    only is computed at once, and Python code can read the result. Operations on traced values are
    staged as usual. Outside of transformations the block has no effect. It can also be used as a
    decorator.

    Raises (within the block): ConcretizationTypeError: Python code reads a traced value.
    Example:
      >>> import weft
      >>> import weft.numpy as np
      >>> @weft.jit
      ... def spread(x):
      ...     with weft.ensure_compile_time_eval():
      ...         table = np.cumsum(np.arange(4))
      ...         steps = int(table[-1])      # a number: it decides how the program looks
      ...     return x * np.ones(steps)
      >>> spread(2.0).shape
      (6,)
    Source: JAX documentation, `jax.ensure_compile_time_eval`.
    """
    return _KnownFirst()


class _KnownFirst(ContextDecorator):
    """The block: `core.trace.under` as a context manager.

    An interrupt may occur before its methods have set the trace, as in every Python context
    manager; the surrounding transformation always restores its own trace.
    """

    def __init__(self) -> None:
        self._outside: list[Trace] = []

    def _recreate_cm(self) -> "_KnownFirst":  # ContextDecorator's hook: each call has its own
        return _KnownFirst()

    def __enter__(self) -> None:
        outside = current.trace
        self._outside.append(outside)
        if not outside.computes:
            current.trace = CompileTimeTrace(outside)

    def __exit__(self, *error: object) -> None:
        outside = self._outside.pop()
        current.trace = current.bottom if outside.computes else outside
