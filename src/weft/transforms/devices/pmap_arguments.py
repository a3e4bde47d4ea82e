"""The options of `pmap`, and the arguments of one call: mapped and static ones."""

from collections.abc import Hashable, Sequence

from ...core.masks import merge_lists, partition_list
from ...core.source import function_line
from ...errors import ShapeError
from ...runtime import client
from ...tree_util import flatten_axes
from ...typing import PyTree
from ...user_lines import noted
from ..arguments import FlatFunction, TraceKey, TreeFunction, as_tuple
from ..jit.function import check_target
from ..jit.shardings import key_of
from ..vmap import (
    MapAxis,
    check_axis_name,
    check_entries,
    checked_in_axes,
    leaf_axes,
    mapped_size,
    vmap,
)


class PmapOptions:
    """The checked options of one `pmap`."""

    def __init__(
        self,
        fun: TreeFunction,
        axis_name: Hashable,
        in_axes: PyTree,
        out_axes: PyTree,
        static: int | Sequence[int],
        devices: Sequence[client.Device] | None,
        backend: str | None,
        axis_size: int | None,
        donated: int | Sequence[int],
        global_arg_shapes: PyTree,
    ) -> None:
        in_axes = checked_in_axes("pmap", in_axes, (int, tuple))
        check_axis_name("pmap", axis_name)
        check_target(None, backend)
        self.fun, self.axis_name, self.in_axes, self.out_axes = fun, axis_name, in_axes, out_axes
        self.static = as_tuple(static, int, "pmap: static_broadcasted_argnums")
        self.donated = as_tuple(donated, int, "pmap: donate_argnums")
        self.devices = None if devices is None else tuple(devices)
        self.backend, self.axis_size = backend, axis_size
        for d in self.devices or ():
            if not isinstance(d, client.Device):
                raise noted(TypeError(f"pmap: devices must be of devices(); got {d!r}"))
        if self.devices is not None and len(set(self.devices)) != len(self.devices):
            raise noted(ValueError(f"pmap: a device is named twice in {self.devices}"))
        if both := set(self.static) & set(self.donated):
            raise noted(
                ValueError(
                    f"pmap: arguments {sorted(both)} of {function_line(fun)} are both static and "
                    "donated\n  fix: a static argument has no memory to donate"
                )
            )
        self.shapes = global_arg_shapes
        if isinstance(self.shapes, list):
            self.shapes = tuple(self.shapes)
        trees = [key_of(t, is_shape) for t in (in_axes, out_axes, self.shapes)]
        self.key = (
            "pmap", axis_name, *trees, self.static, self.donated, self.devices, backend, axis_size
        )  # fmt: skip

    def on_one_device(self, args: Sequence[PyTree], kwargs: dict[str, PyTree]) -> PyTree:
        """The same result by `vmap`, without compiling."""
        static = {n % len(args) for n in self.static}
        is_traced = [i not in static for i in range(len(args))]
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        traced, fixed = partition_list(args, is_traced)

        def call(*traced_args: PyTree, **named: PyTree) -> PyTree:
            return self.fun(*merge_lists(traced_args, fixed, is_traced), **named)

        in_axes = tuple(partition_list(axes, is_traced)[0])
        mapped = vmap(call, in_axes, self.out_axes, self.axis_name, self.axis_size)
        return mapped(*traced, **kwargs)


class Call(FlatFunction):
    """The mapped function at the arguments of one call.

    Attributes:
      axes: the mapped axis of each leaf; `None` for a replicated leaf.
      size: the length of the mapped axis.
      donated: the numbers of the leaves of donated arguments.
    """

    __slots__ = ("axes", "donated", "options", "size")

    def __init__(
        self,
        options: PmapOptions,
        args: Sequence[PyTree],
        kwargs: dict[str, PyTree],
        abstract: bool = False,
    ) -> None:
        count = len(args)
        for n in options.static:
            if not -count <= n < count:
                raise ValueError(
                    f"pmap: static_broadcasted_argnums={n} is out of range: "
                    f"{function_line(options.fun)} was called with {count} positional arguments"
                )
        check_entries("pmap", options.fun, options.in_axes, count)
        super().__init__("pmap", options.fun, args, kwargs, options.static, abstract=abstract)
        self.options = options
        axes = leaf_axes(self, options.in_axes)
        self.size = mapped_size(self, axes, options.axis_size)
        self.axes: list[MapAxis] = [
            None if axis is None else axis % a.ndim
            for axis, a in zip(axes, self.avals, strict=True)
        ]
        self.check_shapes()
        self.donated = self.leaves_of(options.donated)

    @property
    def key(self) -> TraceKey:
        """All values on which the program depends."""
        return super().key._replace(axis_size=self.size)

    def check_shapes(self) -> None:
        """Raises an error if `global_arg_shapes` differ from the shapes without the mapped axis."""
        shapes = self.options.shapes
        if shapes is None:
            return
        leaves = flatten_axes("pmap: global_arg_shapes", self.in_tree, (shapes, None), is_shape)
        for i, (a, at, shape) in enumerate(zip(self.avals, self.axes, leaves, strict=True)):
            actual = tuple(n for axis, n in enumerate(a.shape) if axis != at)
            if shape is not None and tuple(shape) != actual:
                raise ShapeError(
                    f"pmap: global_arg_shapes says {tuple(shape)} for argument {self.paths()[i]}; "
                    f"each replica has all of it, and that is {actual}\n"
                    "  fix: leave it out; jit with in_shardings, or shard_map, divide arrays "
                    "within a replica"
                )


def is_shape(x: object) -> bool:
    """True if an entry of `global_arg_shapes` is the shape of one array."""
    return x is None or (isinstance(x, (tuple, list)) and all(isinstance(n, int) for n in x))
