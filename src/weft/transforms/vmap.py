"""vmap: its options, and the axes of arguments and results, around the batch interpreter.

Mapped axes are moved to axis 0, along which `interpreters/batch.py` carries the batch.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar

from ..core.array import as_value
from ..core.masks import active, scatter_list
from ..core.primitive import Axis
from ..core.ref import Ref
from ..core.source import function_line, located, wrapping
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..interpreters.batch import batch, repeated
from ..primitives.structural import move_axis
from ..tree_util import flatten_axes
from ..typing import PyTree
from ..user_lines import noted
from .arguments import FlatFunction, FunctionWithObjects, TreeFunction, check_callable

__all__ = ["vmap"]

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS = frozenset({bool, int, float, complex})

MapAxis = int | None
"""The axis of an array that is mapped over; `None` if it isn't mapped."""


def vmap(
    fun: Callable[P, R],
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None = None,
) -> Callable[P, R]:
    """Maps a function over an axis of its arguments, by vectorizing its operations.

    Args:
      fun: a function of arrays, scalars and containers of them.
      in_axes: the axis of each argument that is mapped over: an int, `None` for no axis (the
        argument may then be any object), or a tuple or list with one entry for each positional
        argument: an int, `None`, or a tree of them that is a prefix of the argument's tree. Keyword
        arguments are mapped over axis 0.
      out_axes: the position of the mapped axis in the results: an int, `None` for a result that
        does not depend on it, or a tree of them that is a prefix of the result's tree.
      axis_name: a name for the axis, by which collectives in `fun` (`lax.psum`, …) refer to it.
      axis_size: the length of the axis; needed only if no argument is mapped.
      spmd_axis_name: the axis of a mesh, or several, that divide the mapped axis wherever `fun`
        uses a sharding: in `lax.with_sharding_constraint`, in shardings of `jit`, and in
        `shard_map`. Without it, XLA chooses how the mapped axis is divided.
    Returns: the mapped function.
    Raises: ValueError: the trees do not match, an axis is out of range, or lengths differ.
    Example:
      >>> import weft, weft.numpy as np
      >>> mv = weft.vmap(np.dot, in_axes=(None, 0))
      >>> mv(np.ones((2, 3)), np.ones((4, 3))).shape
      (4, 2)
    Source: JAX documentation, `jax.vmap`.
    """
    check_callable(fun, "vmap")
    in_axes = checked_in_axes("vmap", in_axes, (int, tuple, dict))
    for name in (axis_name, spmd_axis_name):
        check_axis_name("vmap", name)
    mesh_axes = spmd_axis_name if isinstance(spmd_axis_name, tuple) else (spmd_axis_name,)

    @wrapping(fun)
    @located
    def mapped(*args: PyTree, **kwargs: PyTree) -> PyTree:
        check_entries("vmap", fun, in_axes, len(args))
        flat = BatchedCall(fun, args, kwargs, in_axes)
        axes = leaf_axes(flat, in_axes)
        size = mapped_size(flat, axes, axis_size)
        batched = [
            x if axis is None else move_axis(x, axis % x.ndim, 0)
            for x, axis in zip(flat.values, axes, strict=True)
        ]
        mask = [axis is not None for axis in axes]
        axis = Axis(size, axis_name, () if spmd_axis_name is None else mesh_axes)
        outs = batch(flat, batched, mask, axis, about=fun, keep=True)
        positions = flatten_axes("vmap: out_axes", flat.out_tree, out_axes)
        n = len(positions)
        results = [
            with_axis_at(fun, x, is_batched, position, size)
            for (x, is_batched), position in zip(outs[:n], positions, strict=True)
        ]
        for i, (x, is_batched) in zip(flat.refs, outs[n:], strict=True):
            if x is not batched[i]:  # it was written
                flat.refs[i].replace("vmap", with_axis_at(fun, x, is_batched, axes[i], size))
        return flat.out_tree.unflatten(results)

    return mapped


class BatchedCall(FunctionWithObjects):
    """The function at the arguments of one call. Arguments that are not mapped may be any
    objects."""

    __slots__ = ("in_axes",)

    def __init__(
        self, fun: TreeFunction, args: Sequence[PyTree], kwargs: dict[str, PyTree], in_axes: PyTree
    ) -> None:
        self.in_axes = in_axes
        self.objects = {}
        super().__init__("vmap", fun, args, kwargs, takes_refs=True)

    def __call__(self, *leaves: object) -> list[Value]:
        outs = super().__call__(*leaves)
        return [*outs, *[ref.end() for ref in self.stand_ins]]

    def argument_values(self) -> list[Value]:
        try:
            values = super().argument_values()
        except TypeError:
            objects = self.unmapped_objects()
            if not objects:
                raise
        else:
            has_objects = self.refs or not _NUMBERS.isdisjoint(map(type, self.leaves))
            objects = self.unmapped_objects() if has_objects else {}
            if not objects:
                return values
        self.refs = {}  # mapped leaves are found again
        return self.with_objects(objects)

    def unmapped_objects(self) -> dict[int, Any]:
        """The leaves that are not mapped and are not arrays, by number. They include Python
        numbers, because a function may use them as sizes and in conditions.
        """
        axes = leaf_axes(self, self.in_axes)
        return {
            i: x
            for i, (x, axis) in enumerate(zip(self.leaves, axes, strict=True))
            if axis is None and (type(x) in _NUMBERS or not is_array_like(x))
        }


def is_array_like(x: object) -> bool:
    """True if a leaf can be a value."""
    if isinstance(x, Ref):
        return False
    try:
        as_value(x)
    except (TypeError, ValueError):
        return False
    return True


def checked_in_axes(transform: str, in_axes: PyTree, kinds: tuple[type, ...]) -> PyTree:
    """`in_axes`, with a tuple in place of a list. Raises an error for another type."""
    if isinstance(in_axes, list):
        return tuple(in_axes)
    if isinstance(in_axes, bool) or (
        in_axes is not None and not isinstance(in_axes, kinds) and not hasattr(in_axes, "__index__")
    ):
        raise noted(
            TypeError(
                f"{transform}: in_axes must be an int, None, or a tuple with one entry for each "
                f"positional argument; got {type(in_axes).__name__} {in_axes!r}"
            )
        )
    return in_axes


def check_axis_name(transform: str, name: object) -> None:
    """Raises an error for an axis name that is not hashable."""
    try:
        hash(name)
    except TypeError:
        raise noted(
            TypeError(
                f"{transform}: axis_name must be hashable, as a string is; got {name!r}\n"
                f"  fix: for two names, one {transform} around another"
            )
        ) from None


def check_entries(transform: str, fun: TreeFunction, in_axes: PyTree, count: int) -> None:
    """Raises an error for a tuple of axes that does not have one entry for each argument."""
    if isinstance(in_axes, tuple) and len(in_axes) != count:
        raise ShapeError(
            f"{transform}: in_axes must have one entry for each positional argument of "
            f"{function_line(fun)}; got {len(in_axes)} entries {in_axes} for {count} arguments"
        )


def leaf_axes(flat: FlatFunction, in_axes: PyTree) -> list[MapAxis]:
    """The mapped axis of each leaf; axis 0 for arguments passed by keyword."""
    if isinstance(in_axes, tuple) and flat.fixed:
        in_axes = tuple([in_axes[i] for i in flat.positions])
    axes: list[MapAxis] = flatten_axes(f"{flat.transform}: in_axes", flat.in_tree, (in_axes, 0))
    return axes


def mapped_size(flat: FlatFunction, axes: Sequence[MapAxis], axis_size: int | None) -> int:
    """The length of the mapped axis; the error for different lengths lists the arguments."""
    transform, fun, avals = flat.transform, flat.function, flat.avals
    sizes = []
    for i, (a, axis) in enumerate(zip(avals, axes, strict=True)):
        if axis is None:
            continue
        if not isinstance(axis, int) or isinstance(axis, bool):
            raise TypeError(
                f"{transform}: axes must be ints or None; got {axis!r} for {flat.paths()[i]}"
            )
        if not -a.ndim <= axis < a.ndim:
            raise AxisError(
                f"{transform}: axis {axis} is out of range for argument {flat.paths()[i]} of "
                f"{function_line(fun)}, which is {a} with {a.ndim} axes\n"
                "  fix: in_axes=None for an argument that isn't mapped"
            )
        sizes.append((i, axis, a.shape[axis]))
    if axis_size is not None and (
        isinstance(axis_size, bool) or not hasattr(axis_size, "__index__")
    ):
        raise TypeError(f"{transform}: axis_size must be an int; got {axis_size!r}")
    lengths = {n for _, _, n in sizes} | ({axis_size} if axis_size is not None else set())
    if len(lengths) > 1:
        names = flat.paths()
        table = "\n".join(
            f"  argument {names[i]}: {avals[i]}, axis {axis}: length {n}" for i, axis, n in sizes
        )
        option = f"\n  axis_size: {axis_size}" if axis_size is not None else ""
        raise ShapeError(
            f"{transform}: the mapped axes of the arguments of {function_line(fun)} must have one "
            f"length; got\n{table}{option}\n  fix: in_axes=None for arguments that aren't mapped"
        )
    if not lengths:
        raise ShapeError(
            f"{transform}: at least one argument of {function_line(fun)} must be mapped, or "
            "axis_size given; in_axes names none"
        )
    return int(lengths.pop())


def with_axis_at(fun: TreeFunction, x: Value, is_batched: bool, axis: MapAxis, size: int) -> Value:
    """An output with its mapped axis at the position in `out_axes`."""
    if isinstance(axis, bool):
        raise TypeError(
            f"vmap: out_axes must be ints or None; got {axis!r}\n  fix: None for no axis"
        )
    if axis is None:
        if is_batched:
            raise ShapeError(
                f"vmap: out_axes is None for an output of {function_line(fun)} that depends on the "
                f"mapped axis: {x.aval}\n  fix: out_axes=0, or reduce over the axis"
            )
        return x
    if not is_batched:
        x = repeated(x, size)
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise AxisError(
            f"vmap: out_axes={axis!r} is out of range for an output of {function_line(fun)}: with "
            f"the mapped axis it is {x.aval}, of {x.ndim} axes"
        )
    result: Value = move_axis(x, 0, axis % x.ndim)
    return result


def mapped_over_leading(
    function: Callable[..., Sequence[Any]], args: Sequence[Value | None], size: int
) -> list[Value]:
    """Maps `function` over the first axis of its arguments; `None` arguments stay `None`. A float0
    array among its results becomes an unused zero.
    """
    mask = [a is not None for a in args]

    def of_active(*active_args: Value) -> list[Value]:
        outs = function(*scatter_list(active_args, mask))
        return [o if isinstance(o, Value) else as_value(0) for o in outs]

    return batch(of_active, active(args, mask), [True] * sum(mask), Axis(size))
