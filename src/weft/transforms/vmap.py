"""vmap: in_axes and out_axes trees around the batch interpreter.

Knows trees and axes; the batch itself is carried along axis 0 by `interpreters/batch.py`.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..core.array import as_value
from ..core.primitive import Axis
from ..core.source import function_line, located, noted
from ..core.value import Value
from ..interpreters.batch import batch, repeated
from ..primitives.structural import move_axis
from ..tree_util import flatten_axes, tree_flatten
from .arguments import argument_values, check_callable, leaf_paths, output_values

__all__ = ["vmap"]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Maps a function over an axis of its arguments, by carrying the axis through its operations.

    Args:
      fun: of arrays, scalars and containers of them.
      in_axes: which axis of each argument is mapped over: an int, `None` for none, or a tuple or
        list with one entry for each positional argument: an int, `None`, or a tree of them that is
        a prefix of the argument's tree. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis is in the results: an int, `None` for a result that doesn't
        depend on it, or a tree of them that is a prefix of the result's tree.
      axis_name: a name for the axis, by which collectives in `fun` (`lax.psum`, …) refer to it.
      axis_size: its length; needed only if no argument is mapped.
    Returns: the mapped function.
    Raises: ValueError: the trees don't fit, an axis is out of range, or lengths differ.
    Example:
      >>> import weft, weft.numpy as np
      >>> mv = weft.vmap(np.dot, in_axes=(None, 0))
      >>> mv(np.ones((2, 3)), np.ones((4, 3))).shape
      (4, 2)
    Source: seed 002, `jax.vmap`.
    """
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (
        in_axes is None or isinstance(in_axes, (int, tuple, dict)) or hasattr(in_axes, "__index__")
    ):
        raise TypeError(
            "vmap: in_axes must be an int, None, or a tuple with one entry for each positional "
            f"argument; got {type(in_axes).__name__} {in_axes!r}"
        )

    try:
        hash(axis_name)
    except TypeError:
        raise noted(
            TypeError(
                f"vmap: axis_name must be hashable, as a string is; got {axis_name!r}\n"
                "  fix: for two names, one vmap around another"
            )
        ) from None

    @functools.wraps(fun)
    @located
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes must have one entry for each positional argument of "
                f"{function_line(fun)}; got {len(in_axes)} entries {in_axes} for {len(args)} "
                "arguments"
            )
        leaves, tree = tree_flatten((args, kwargs))
        paths = lambda: leaf_paths(fun, args, kwargs)  # noqa: E731
        values = argument_values("vmap", fun, leaves, paths)
        axes = flatten_axes("vmap: in_axes", tree, (in_axes, 0))
        size = mapped_size(fun, values, axes, axis_size, paths)
        moved = [
            x if axis is None else move_axis(x, axis % x.ndim, 0)
            for x, axis in zip(values, axes, strict=True)
        ]
        out_tree: Any = None

        def flat(*tracers: Any) -> list[Any]:
            nonlocal out_tree
            new_args, new_kwargs = tree.unflatten(tracers)
            result_leaves, out_tree = tree_flatten(fun(*new_args, **new_kwargs))
            return output_values("vmap", fun, result_leaves)

        outs = batch(
            flat, moved, [a is not None for a in axes], Axis(size, axis_name),
            about=fun, keep=True,
        )  # fmt: skip
        places = flatten_axes("vmap: out_axes", out_tree, out_axes)
        return out_tree.unflatten(
            [
                placed(fun, o, is_batched, axis, size)
                for (o, is_batched), axis in zip(outs, places, strict=True)
            ]
        )

    return mapped


def mapped_size(
    fun: Any,
    values: Sequence[Any],
    axes: Sequence[Any],
    axis_size: int | None,
    paths: Any,
    transform: str = "vmap",
) -> int:
    """The length of the mapped axis; arguments that disagree are listed."""
    sizes = []
    for i, (x, axis) in enumerate(zip(values, axes, strict=True)):
        if axis is None:
            continue
        if not isinstance(axis, int):
            raise TypeError(
                f"{transform}: axes must be ints or None; got {axis!r} for {paths()[i]}"
            )
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(
                f"{transform}: axis {axis} is out of range for argument {paths()[i]} of "
                f"{function_line(fun)}, which is {x.aval} with {x.ndim} axes\n"
                "  fix: in_axes=None for an argument that isn't mapped"
            )
        sizes.append((i, axis, x.shape[axis]))
    if axis_size is not None and (
        isinstance(axis_size, bool) or not hasattr(axis_size, "__index__")
    ):
        raise TypeError(f"{transform}: axis_size must be an int; got {axis_size!r}")
    lengths = {n for _, _, n in sizes} | ({axis_size} if axis_size is not None else set())
    if len(lengths) > 1:
        names = paths()
        table = "\n".join(
            f"  argument {names[i]}: {values[i].aval}, axis {axis}: length {n}"
            for i, axis, n in sizes
        )
        given = f"\n  axis_size: {axis_size}" if axis_size is not None else ""
        raise ValueError(
            f"{transform}: the mapped axes of the arguments of {function_line(fun)} must have one "
            f"length; got\n{table}{given}\n  fix: in_axes=None for arguments that aren't mapped"
        )
    if not lengths:
        raise ValueError(
            f"{transform}: at least one argument of {function_line(fun)} must be mapped, or "
            "axis_size given; in_axes names none"
        )
    return int(lengths.pop())


def placed(fun: Any, x: Any, is_batched: bool, axis: Any, size: int) -> Any:
    """An output with its mapped axis where out_axes wants it."""
    if axis is None:
        if is_batched:
            raise ValueError(
                f"vmap: out_axes is None for an output of {function_line(fun)} that depends on the "
                f"mapped axis: {x.aval}\n  fix: out_axes=0, or reduce over the axis"
            )
        return x
    if not is_batched:
        x = repeated(x, size)
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise ValueError(
            f"vmap: out_axes={axis!r} is out of range for an output of {function_line(fun)}: with "
            f"the mapped axis it is {x.aval}, of {x.ndim} axes"
        )
    return move_axis(x, 0, axis % x.ndim)


def mapped_over_leading(
    function: Callable[..., list[Any]], args: Sequence[Any], size: int
) -> list[Any]:
    """`function` mapped over the first axis of its arguments; `None` arguments stay `None`."""
    given = [a for a in args if a is not None]

    def fill(*present: Any) -> list[Any]:
        waiting = iter(present)
        outs = function(*[None if a is None else next(waiting) for a in args])
        return [o if isinstance(o, Value) else as_value(0) for o in outs]  # float0: unused

    return batch(fill, given, [True] * len(given), Axis(size))
