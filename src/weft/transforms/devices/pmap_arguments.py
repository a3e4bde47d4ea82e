"""The options of `pmap`, and the arguments of one call: what is mapped, what is fixed.

Knows trees and signatures; knows nothing of devices' programs.
"""

from collections.abc import Callable
from typing import Any

from ...config import thread
from ...core.aval import Aval
from ...core.source import function_line, noted
from ...runtime import client
from ...tree_util import flatten_axes, tree_flatten
from ..arguments import (
    argument_avals,
    argument_values,
    as_tuple,
    check_hashable,
    leaf_paths,
)
from ..jit.function import check_target
from ..jit.shardings import key_of
from ..vmap import mapped_size, vmap


class Options:
    """What `pmap` was called with, checked."""

    def __init__(
        self,
        fun: Any,
        axis_name: Any,
        in_axes: Any,
        out_axes: Any,
        static: Any,
        devices: Any,
        backend: Any,
        axis_size: Any,
        donated: Any,
        global_arg_shapes: Any,
    ) -> None:
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        if in_axes is not None and not isinstance(in_axes, (int, tuple)):
            raise noted(
                TypeError(
                    "pmap: in_axes must be an int, None, or a tuple with one entry for each "
                    f"positional argument; got {type(in_axes).__name__} {in_axes!r}"
                )
            )
        try:
            hash(axis_name)
        except TypeError:
            raise noted(
                TypeError(
                    f"pmap: axis_name must be hashable, as a string is; got {axis_name!r}\n"
                    "  fix: for two names, one pmap around another"
                )
            ) from None
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

    def on_one_device(self, args: Any, kwargs: Any) -> Any:
        """The same result without compiling."""
        fixed = {n % len(args) for n in self.static}
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        traced = [i for i in range(len(args)) if i not in fixed]

        def call(*some: Any, **named: Any) -> Any:
            waiting = iter(some)
            return self.fun(
                *[a if i in fixed else next(waiting) for i, a in enumerate(args)], **named
            )

        mapped = vmap(
            call, tuple(axes[i] for i in traced), self.out_axes, self.axis_name, self.axis_size
        )
        return mapped(*[args[i] for i in traced], **kwargs)


class Call:
    """The arguments of one call."""

    def __init__(self, options: Options, args: Any, kwargs: Any, abstract: bool = False) -> None:
        """
        Args:
          abstract: anything with a shape and a dtype does for an array.
        """
        self.options, fun = options, options.fun
        count = len(args)
        for n in options.static:
            if not -count <= n < count:
                raise ValueError(
                    f"pmap: static_broadcasted_argnums={n} is out of range: {function_line(fun)} "
                    f"was called with {count} positional arguments"
                )
        self.fixed = {n % count: args[n % count] for n in options.static}
        for i, value in self.fixed.items():
            check_hashable("pmap", fun, i, value)
        in_axes = options.in_axes
        if isinstance(in_axes, tuple) and len(in_axes) != count:
            raise ValueError(
                f"pmap: in_axes must have one entry for each positional argument of "
                f"{function_line(fun)}; got {len(in_axes)} entries {in_axes} for {count} arguments"
            )
        self.positions = [i for i in range(count) if i not in self.fixed]
        traced = tuple(args[i] for i in self.positions)
        leaves, self.tree = tree_flatten((traced, kwargs))
        self.paths: Callable[[], list[str]] = lambda: leaf_paths(
            fun, traced, kwargs, self.positions
        )
        if abstract:
            avals = argument_avals("pmap", fun, leaves, self.paths)
            self.values: list[Any] = [Shaped(a) for a in avals]
        else:
            self.values = argument_values("pmap", fun, leaves, self.paths)
        self.avals = tuple([v.aval for v in self.values])
        entries = (
            tuple(in_axes[i] for i in self.positions) if isinstance(in_axes, tuple) else in_axes
        )
        axes = flatten_axes("pmap: in_axes", self.tree, (entries, 0))
        self.size = mapped_size(fun, self.values, axes, options.axis_size, self.paths, "pmap")
        self.axes = [
            None if axis is None else axis % v.ndim
            for axis, v in zip(axes, self.values, strict=True)
        ]
        self.check_shapes()
        statics = tuple((i, x.__class__, x) for i, x in self.fixed.items())
        self.key = (self.tree, self.avals, statics, self.size, thread.key)
        self.donated = self.donated_leaves(traced, count)

    def check_shapes(self) -> None:
        """Refuses `global_arg_shapes` other than the arguments' without the mapped axis."""
        if self.options.shapes is None:
            return
        said = flatten_axes(
            "pmap: global_arg_shapes", self.tree, (self.options.shapes, None), is_shape
        )
        for i, (v, at, shape) in enumerate(zip(self.values, self.axes, said, strict=True)):
            own = tuple(n for axis, n in enumerate(v.shape) if axis != at)
            if shape is not None and tuple(shape) != own:
                raise ValueError(
                    f"pmap: global_arg_shapes says {tuple(shape)} for argument {self.paths()[i]}; "
                    f"each replica has all of it, and that is {own}\n"
                    "  fix: leave it out; jit with in_shardings, or shard_map, divide arrays "
                    "within a replica"
                )

    def donated_leaves(self, traced: Any, count: int) -> list[int]:
        """The numbers of the leaves of donated arguments."""
        wanted = {n % count if n < 0 else n for n in self.options.donated}
        numbers: list[int] = []
        at = 0
        for i, arg in zip(self.positions, traced, strict=True):
            size = len(tree_flatten(arg)[0])
            if i in wanted:
                numbers += range(at, at + size)
            at += size
        return numbers


def is_shape(x: Any) -> bool:
    """Whether an entry of `global_arg_shapes` is of one array."""
    return x is None or (isinstance(x, (tuple, list)) and all(isinstance(n, int) for n in x))


class Shaped:
    """What is known of an argument that isn't there."""

    def __init__(self, aval: Aval) -> None:
        self.aval, self.shape, self.ndim = aval, aval.shape, aval.ndim
