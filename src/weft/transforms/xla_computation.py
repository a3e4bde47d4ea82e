"""xla_computation: the program of a function in XLA's language, before optimisation."""

import math
from collections.abc import Sequence

from ..compiler.lower import lower
from ..compiler.simplify import without_dead_code
from ..core.array import Array
from ..core.aval import Aval
from ..core.source import function_line, located, wrapping
from ..interpreters.stage import check_open, leaked
from ..runtime import HloComputation, client
from ..tree_util import PyTreeDef, flatten_axes, tree_leaves
from ..typing import PyTree
from .arguments import TreeFunction, check_callable, name_of, static_arguments
from .tracing import NamedAxes, TracedFunction, axes_of, traced

__all__ = ["xla_computation"]


MAX_SEPARATE_ARGUMENTS = 100  # for tuple_args=None, because some platforms have a limit


def xla_computation(
    fun: TreeFunction,
    static_argnums: int | Sequence[int] = (),
    axis_env: NamedAxes | None = None,
    in_parts: PyTree = None,
    out_parts: PyTree = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Sequence[int] = (),
) -> TreeFunction:
    """A function that returns the XLA computation of `fun`, before optimisation.

    Args:
      fun: the function to trace; arguments may be arrays or objects with a shape and a dtype.
      static_argnums: positions of arguments that are part of the program.
      axis_env: pairs (name, size) of named axes in scope. The program is written for one of
        prod(sizes) replicas, which are numbered row by row.
      in_parts, out_parts: the number of parts of each axis of an argument, or of a result, in a
        partitioned computation: a tuple of ints, None for a replicated array, or a tree of them
        that is a prefix of the tuple of arguments, or of the result.
      backend: the platform of the program: 'cpu', 'gpu' or 'tpu'; by default, the default device's.
      tuple_args: whether the program takes its arguments as one tuple; None means if there are more
        than 100.
      instantiate_const_outputs: has no effect.
      return_shape: if True, returns a pair (computation, tree of ShapeDtypeStruct of the results).
      donate_argnums: positions of arguments whose memory may be used for results.
    Returns: a function of the same arguments that returns an object with `as_hlo_text()`,
      `as_serialized_hlo_module_proto()` and `as_hlo_dot_graph()`. The program returns a tuple.
    Raises: TypeError: an argument or result is not an array. ValueError: the parts do not match.
    Example:
      >>> import weft
      >>> f = lambda x: weft.numpy.sin(weft.numpy.cos(x))
      >>> text = weft.xla_computation(f)(3.0).as_hlo_text()
      >>> "cosine(" in text and "sine(" in text
      True
    Source: JAX documentation, `jax.xla_computation`.
    """
    check_callable(fun, "xla_computation")
    axes = axes_of("xla_computation", axis_env)
    nums, _ = static_arguments(fun, static_argnums, (), "xla_computation")
    donated, _ = static_arguments(fun, donate_argnums, (), "xla_computation", "donate")
    if set(nums) & set(donated):
        raise ValueError(
            f"xla_computation: arguments {sorted(set(nums) & set(donated))} of "
            f"{function_line(fun)} are both static and donated\n"
            "  fix: a static argument has no memory to donate"
        )

    @wrapping(fun)
    @located
    def computation_maker(*args: PyTree, **kwargs: PyTree) -> PyTree:
        function = traced("xla_computation", fun, nums, args, kwargs, axes)
        program = computation(
            function, name_of(fun), axes, in_parts, out_parts, backend, tuple_args,
            function.flat.leaves_of(donated),
        )  # fmt: skip
        return (program, function.out_shapes) if return_shape else program

    return computation_maker


def computation(
    function: TracedFunction,
    name: str,
    axes: NamedAxes,
    in_parts: PyTree,
    out_parts: PyTree,
    backend: str | None,
    tuple_args: bool | None,
    donated: Sequence[int],
) -> HloComputation:
    """The computation of a traced function."""
    jaxpr, _ = without_dead_code(function.jaxpr)
    for c in jaxpr.consts:
        check_open(c, None, "xla_computation")
        if not isinstance(c, Array):
            raise leaked(c._trace, "xla_computation", c)
    flat = function.flat
    inputs = shardings("in_parts", in_parts, flat.args_tree, jaxpr.in_avals)
    outputs = shardings("out_parts", out_parts, flat.out_tree, jaxpr.out_avals)
    count = {math.prod(s) for s in (*inputs, *outputs) if s is not None}
    if len(count) > 1:
        raise ValueError(
            "xla_computation: in_parts and out_parts must divide all into one number of parts; got "
            f"{sorted(count)}"
        )
    device = client.local_devices(backend)[0] if backend is not None else client.default_device()
    text, _ = lower(
        jaxpr,
        donated=donated,
        platform=device.platform,
        axes=axes,
        argument_attributes=[] if in_parts is None else [sharding_attribute(s) for s in inputs],
        result_attributes=[] if out_parts is None else [sharding_attribute(s) for s in outputs],
    )
    if tuple_args is None:
        tuple_args = len(jaxpr.invars) > MAX_SEPARATE_ARGUMENTS
    identifier = "".join(c if c.isalnum() else "_" for c in name)
    module = f"module @xla_computation_{identifier} {{\n{text}}}\n"
    return HloComputation(module, tuple_args=tuple_args, return_tuple=True)


def shardings(
    option: str, parts: PyTree, tree: PyTreeDef, avals: Sequence[Aval]
) -> list[tuple[int, ...] | None]:
    """The number of parts of each axis, for each leaf; None for a replicated leaf."""
    for leaf in tree_leaves(parts, is_parts):
        if not is_parts(leaf):
            raise TypeError(
                f"xla_computation: {option} must be a tuple of positive ints, None, or a tree of "
                f"them; got {leaf!r}"
            )
    is_leaf = lambda x: x is None or is_parts(x)  # noqa: E731
    leaves = flatten_axes(f"xla_computation: {option}", tree, parts, is_leaf)
    leaves += [None] * (len(avals) - len(leaves))  # keyword arguments are replicated
    for leaf, aval in zip(leaves, avals, strict=True):
        if leaf is not None and len(leaf) > aval.ndim:
            raise ValueError(
                f"xla_computation: {option} divides {len(leaf)} axes of {aval}; got {leaf}"
            )
    return [
        None if leaf is None else (*leaf, *[1] * (aval.ndim - len(leaf)))
        for leaf, aval in zip(leaves, avals, strict=True)
    ]


def is_parts(x: object) -> bool:
    """True for the numbers of parts of one array."""
    return isinstance(x, tuple) and bool(x) and all(type(n) is int and n > 0 for n in x)


def sharding_attribute(parts: tuple[int, ...] | None) -> str:
    """The attribute for the partition of a value."""
    if parts is None or math.prod(parts) == 1:
        return 'mhlo.sharding = "{replicated}"'
    devices = ",".join(map(str, range(math.prod(parts))))
    return f'mhlo.sharding = "{{devices=[{",".join(map(str, parts))}]{devices}}}"'
