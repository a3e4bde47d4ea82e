"""Writes StableHLO text.

A `Module` is a list of functions; a `Block` is the body of a function, or of a region inside an
operation. A lowering rule takes a block and operands, writes lines, and returns operands.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..extended_dtypes import stored
from . import attributes as attr
from .attributes import tensor
from .shardy import Meshes, Region, axis_text

CALLBACKS = {"cpu": "xla_ffi_python_cpu_callback", "gpu": "xla_ffi_python_gpu_callback"}
"""XLA's names of the functions that call Python, by the platform of the program."""
"""The target of custom calls that run Python functions on CPUs: see runtime/callback.py."""

NOT_INLINED = ' {mhlo.frontend_attributes = {inlineable = "false"}}'
"""The attribute of a call that is not to be inlined."""

PERIOD = 2048
"""Bytes. If the distance between rows is a multiple of it, a column's elements share few cache
lines.
"""


def strides_collide(shape: Sequence[int], itemsize: int) -> bool:
    """True for matrices whose columns a CPU reads and writes slowly, because of cache conflicts."""
    m, n = shape[-2:]
    return min(m, n) >= 256 and (m * itemsize % PERIOD == 0 or n * itemsize % PERIOD == 0)


class Operand:
    """A value in the text: its name and its aval."""

    __slots__ = ("aval", "name")

    def __init__(self, name: str, aval: Any) -> None:
        self.name, self.aval = name, aval

    def __repr__(self) -> str:
        return f"{self.name} : {tensor(self.aval)}"


_NOT_IN_SYMBOLS = re.compile(r"[^A-Za-z0-9_.]")


def symbol(name: str) -> str:
    """A valid MLIR name: characters other than letters and digits become underscores."""
    name = _NOT_IN_SYMBOLS.sub("_", name)
    return name if name and not name[0].isdigit() else f"f{name}"


def marked(texts: Sequence[str], attributes: Sequence[str]) -> str:
    """Arguments or results, separated by commas, with an attribute after each that has one."""
    if attributes:
        texts = [f"{t} {a}" if a else t for t, a in zip(texts, attributes, strict=True)]
    return ", ".join(texts)


class Module:
    """A program: its functions, each with a unique name.

    Args:
      name: the program's name in XLA, profiles and logs.
    """

    def __init__(self, name: str = "") -> None:
        self.name = symbol(name) if name else ""
        self.functions: list[str] = []
        self.names = {"main": 1}  # the names in use, each with the number of the next one
        self.made: dict[Any, str] = {}  # key -> the name of the function written for it
        self.keep: list[Any] = []  # objects that must live as long as the program (callbacks)
        self.platform = "cpu"
        self.solvers = False  # True if the platform's plugin has cuSOLVER's functions
        # The devices' (or replicas') named axes, outermost first: they are counted row by row.
        self.axes: tuple[tuple[Any, int], ...] = ()
        self.meshes: Meshes | None = None  # of a program for several devices
        self.region: Region | None = None  # the part for one device that is being written
        self.channels = 0
        self.callbacks: list[Any] = []  # the Python functions that it calls, by number

    def fresh_name(self, stem: str) -> str:
        """A function name that is not in use."""
        stem = symbol(stem)
        n = self.names.get(stem, 0)
        name = f"{stem}_{n}" if n else stem
        while n and name in self.names:  # another function may have that very name
            n += 1
            name = f"{stem}_{n}"
        self.names[name] = 1
        self.names[stem] = n + 1
        return name

    def function(
        self,
        key: Any,
        stem: str,
        avals: Sequence[Any],
        build: Callable[["Block", list[Operand]], Sequence[Operand]],
    ) -> str:
        """The name of the function for a key, which is written at the first request."""
        name = self.made.get(key)
        if name is None:
            name = self.made[key] = self.fresh_name(stem)
            self.add_function(name, avals, build)
        return name

    def add_function(
        self,
        name: str,
        avals: Sequence[Any],
        build: Callable[["Block", list[Operand]], Sequence[Operand]],
        *,
        public: bool = False,
        argument_attributes: Sequence[str] = (),
        result_attributes: Sequence[str] = (),
    ) -> None:
        """Writes a function: `build` takes its block and arguments, and returns its results."""
        block = Block(self)
        args = [Operand(f"%a{i}", a) for i, a in enumerate(avals)]
        results = build(block, args)
        types = [r.aval.text or tensor(r.aval) for r in results]
        inputs = marked(
            [f"{a.name}: {a.aval.text or tensor(a.aval)}" for a in args], argument_attributes
        )
        outputs = marked(types, result_attributes)
        names = ", ".join([r.name for r in results])
        end = f"return {names} : {', '.join(types)}" if results else "return"
        visibility = "public" if public else "private"
        head = f"func.func {visibility} @{name}({inputs}) -> ({outputs}) {{"
        self.functions.append("\n".join([head, *block.lines, f"  {end}", "}"]))

    def __str__(self) -> str:
        text = "\n".join(self.functions) + "\n"
        if self.meshes is not None:
            text = f"{self.meshes}{text}"
        return f"module @{self.name} {{\n{text}}}\n" if self.name else text

    def channel(self) -> str:
        """The channel attribute of an operation between devices, a unique number."""
        self.channels += 1
        return f"channel_handle = #stablehlo.channel_handle<handle = {self.channels}, type = 1>"


class Block:
    """A list of operations under construction."""

    __slots__ = (
        "constant_names",
        "constants",
        "count",
        "has_looked_back",
        "lines",
        "literals",
        "module",
        "prefix",
        "token",
        "transposed",
        "widened",
    )

    def __init__(self, module: Module, prefix: str = "%") -> None:
        self.module, self.prefix = module, prefix
        self.lines: list[str] = []
        self.count = 0
        self.constants: dict[Any, Operand] = {}
        self.constant_names: set[str] = set()
        self.literals: dict[Any, Operand] = {}
        self.widened: dict[Any, Operand] = {}
        self.transposed: dict[str, Operand] = {}  # name of a matrix -> its transpose
        self.has_looked_back = False  # a rule's text depends on what the block has already
        self.token: Operand | None = None  # the token of the last host call

    def fresh(self) -> str:
        """A name that is not in use in this function."""
        self.count = count = self.count + 1
        return f"{self.prefix}{count}"

    # --- operations ---

    def op(
        self,
        name: str,
        *operands: Operand,
        out: Any,
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> Any:
        """An operation in the generic form.

        Args:
          name: without `stablehlo.`, unless it has a dot.
          out: the output's aval, or a sequence of them; the result is an operand, or a list.
          attributes: the text between braces: `dimension = 0 : i64`.
          regions: texts of regions, from `region`.
        """
        inputs = ", ".join([o.name for o in operands])
        types = ", ".join([o.aval.text or tensor(o.aval) for o in operands])
        inside = f" ({', '.join(regions)})" if regions else ""
        marks = f" {{{attributes}}}" if attributes else ""
        full = name if "." in name else f"stablehlo.{name}"
        self.count = count = self.count + 1
        left = f"{self.prefix}{count}"
        if out.__class__ is not list and out.__class__ is not tuple:
            gives = out.text or tensor(out)
            self.lines.append(
                f'  {left} = "{full}"({inputs}){inside}{marks} : ({types}) -> {gives}'
            )
            return Operand(left, out)
        gives = f"({', '.join(tensor(o) for o in out)})"
        names = [left] if len(out) == 1 else [f"{left}#{i}" for i in range(len(out))]
        equals = f"{left}:{len(out)} = " if len(out) > 1 else f"{left} = " if out else ""
        self.lines.append(f'  {equals}"{full}"({inputs}){inside}{marks} : ({types}) -> {gives}')
        return [Operand(n, o) for n, o in zip(names, out, strict=True)]

    def elementwise(self, name: str, operands: Sequence[Operand], out: Any) -> Operand:
        """An operation on operands that have the output's type after broadcasting."""
        shape = out.shape
        names = ""
        for o in operands:
            if o.aval.shape != shape:
                o = self.widen(o, shape)
            names = f"{names}, {o.name}" if names else o.name
        self.count = count = self.count + 1
        result = f"{self.prefix}{count}"
        self.lines.append(f"  {result} = stablehlo.{name} {names} : {out.text or tensor(out)}")
        return Operand(result, out)

    def widen(self, x: Operand, shape: tuple[int, ...]) -> Operand:
        """NumPy's broadcasting: axes aligned from the right, lengths of one repeated."""
        if x.aval.shape == shape:
            return x
        key = (x.name, shape)
        wide = self.widened.get(key)
        if wide is not None:
            return wide
        offset = len(shape) - x.aval.ndim
        keep = [i for i, n in enumerate(x.aval.shape) if n == shape[offset + i]]
        narrow = x
        if len(keep) < x.aval.ndim:
            narrow = self.reshape(x, tuple(x.aval.shape[i] for i in keep))
        wide = self.broadcast(narrow, [offset + i for i in keep], shape)
        if x.name in self.constant_names:  # others not: the text of an operation is one template's
            self.widened[key] = wide
        return wide

    def broadcast(self, x: Operand, dims: Sequence[int], shape: Sequence[int]) -> Operand:
        """Axis `i` of `x` becomes axis `dims[i]` of `shape`."""
        out = x.aval.update(shape=tuple(shape), weak_type=False)
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.broadcast_in_dim {x.name}, dims = {list(dims)} "
            f": ({tensor(x.aval)}) -> {tensor(out)}"
        )
        return Operand(result, out)

    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand:
        """The same elements in another shape."""
        out = x.aval.update(shape=tuple(shape), weak_type=False)
        if out.shape == x.aval.shape:
            return x
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.reshape {x.name} : ({tensor(x.aval)}) -> {tensor(out)}"
        )
        return Operand(result, out)

    def transpose(self, x: Operand, permutation: Sequence[int]) -> Operand:
        """The axes in another order."""
        out = x.aval.update(shape=tuple(x.aval.shape[i] for i in permutation), weak_type=False)
        return self.op(
            "transpose", x, out=out, attributes=f"permutation = {attr.ints(permutation)}"
        )

    def has_transpose(self, x: Operand) -> bool:
        """True if the block has the transpose of a matrix."""
        self.has_looked_back = True
        return x.name in self.transposed

    def transpose_matrix(self, x: Operand) -> Operand:
        """Exchanges the last two axes; returns the operand if `x` is a transpose of this kind.

        Where strides collide it calls a function that is not inlined: fused with other operations,
        XLA's CPU backend would read columns with colliding strides, which is several times slower
        than a transpose on its own, which is tiled (docs/how_it_works/3_compiler.md).
        """
        self.has_looked_back = True
        existing = self.transposed.get(x.name)
        if existing is not None:
            return existing
        n, module = x.aval.ndim, self.module
        order = [*range(n - 2), n - 1, n - 2]
        if (
            module.platform != "cpu"
            or module.meshes is not None
            or not strides_collide(x.aval.shape, x.aval.dtype.itemsize)
        ):
            out = self.transpose(x, order)
        else:
            key = ("transpose_matrix", tensor(x.aval))
            flat = lambda b, xs: [b.reshape(b.transpose(xs[0], order), (x.aval.size,))]  # noqa: E731
            name = module.function(key, "transpose_matrix", [x.aval], flat)
            # flattened, since of a matrix XLA would exchange the strides instead of the elements
            (out,) = self.call(name, [x], [x.aval.update(shape=(x.aval.size,))], NOT_INLINED)
            out = self.reshape(out, [x.aval.shape[i] for i in order])
        self.transposed[x.name], self.transposed[out.name] = out, x
        return out

    def slice(
        self,
        x: Operand,
        start: Sequence[int],
        limit: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Operand:
        """Every `strides`-th element from `start` to before `limit`, along each axis."""
        strides = [1] * len(start) if strides is None else strides
        shape = [-((a - b) // step) for a, b, step in zip(start, limit, strides, strict=True)]
        if tuple(shape) == x.aval.shape:
            return x
        return self.op(
            "slice",
            x,
            out=x.aval.update(shape=shape, weak_type=False),
            attributes=f"start_indices = {attr.ints(start)}, limit_indices = {attr.ints(limit)}, "
            f"strides = {attr.ints(strides)}",
        )

    def pad(self, x: Operand, value: Operand, padding: Sequence[tuple[int, int, int]]) -> Operand:
        """Copies of a scalar (before, after, between) the elements, along each axis."""
        low, high, interior = zip(*padding, strict=True) if padding else ((), (), ())
        shape = [
            n + before + after + between * max(n - 1, 0)
            for n, (before, after, between) in zip(x.aval.shape, padding, strict=True)
        ]
        return self.op(
            "pad",
            x,
            value,
            out=x.aval.update(shape=shape, weak_type=False),
            attributes=f"edge_padding_low = {attr.ints(low)}, edge_padding_high = "
            f"{attr.ints(high)}, interior_padding = {attr.ints(interior)}",
        )

    def convert(self, x: Operand, dtype: Any) -> Operand:
        """Another dtype, by StableHLO's rules."""
        if x.aval.dtype == dtype:
            return x
        out = x.aval.update(dtype=dtype, weak_type=False)
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.convert {x.name} : ({tensor(x.aval)}) -> {tensor(out)}"
        )
        return Operand(result, out)

    def compare(
        self, direction: str, x: Operand, y: Operand, out: Any, total: bool = False
    ) -> Operand:
        """`x direction y`; direction is one of EQ NE LT LE GT GE."""
        x, y = self.widen(x, out.shape), self.widen(y, out.shape)
        name = stored(x.aval.dtype).name
        kind = "FLOAT" if "float" in name or "complex" in name else "SIGNED"
        kind = "UNSIGNED" if name.startswith(("uint", "bool")) else kind
        kind = "TOTALORDER" if total and kind == "FLOAT" else kind
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.compare {direction}, {x.name}, {y.name}, {kind} "
            f": ({tensor(x.aval)}, {tensor(y.aval)}) -> {tensor(out)}"
        )
        return Operand(result, out)

    def select(self, which: Operand, on_true: Operand, on_false: Operand) -> Operand:
        """`on_true` where `which` is true, `on_false` elsewhere; all of one shape."""
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.select {which.name}, {on_true.name}, {on_false.name} "
            f": {tensor(which.aval)}, {tensor(on_true.aval)}"
        )
        return Operand(result, on_true.aval)

    def constant(self, value: Any, aval: Any) -> Operand:
        """A constant with `aval`'s shape and dtype; `value` is a NumPy array or scalar of that
        dtype. A scalar is repeated over the shape. Written once for each function."""
        text = attr.dense(value)
        kind = tensor(aval)
        operand = self.constants.get((text, kind))
        if operand is None:
            result = self.fresh()
            self.lines.append(f"  {result} = stablehlo.constant dense<{text}> : {kind}")
            operand = self.constants[text, kind] = Operand(result, aval)
            self.constant_names.add(result)
        return operand

    def literal(self, array: Any) -> Operand:
        """The constant for a literal of a jaxpr."""
        host = array.host()
        key = array.aval, host.tobytes()  # equal ones need not be one object
        operand = self.literals.get(key)
        if operand is None:
            operand = self.literals[key] = self.constant(host, array.aval)
        return operand

    def full(self, value: Any, aval: Any) -> Operand:
        """A constant of a Python number in every element."""
        key = (repr(value), aval)  # 0.0 and -0.0 are equal, and so are 1 and True
        operand = self.constants.get(key)
        if operand is None:
            operand = self.constants[key] = self.constant(aval.stored.type(value), aval)
        return operand

    def iota(self, aval: Any, axis: int) -> Operand:
        """0, 1, 2, … along an axis."""
        result = self.fresh()
        self.lines.append(f"  {result} = stablehlo.iota dim = {axis} : {tensor(aval)}")
        return Operand(result, aval)

    def call(
        self,
        function: str,
        operands: Sequence[Operand],
        outs: Sequence[Any],
        attributes: str = "",
        location: str = "",
    ) -> list[Operand]:
        """A call of another function of the module.

        XLA names all operations of the inlined function after `location`.
        """
        left = self.fresh()
        names = [left] if len(outs) == 1 else [f"{left}#{i}" for i in range(len(outs))]
        equals = "" if not outs else f"{left} = " if len(outs) == 1 else f"{left}:{len(outs)} = "
        self.lines.append(
            f"  {equals}func.call @{function}({', '.join([o.name for o in operands])}){attributes} "
            f": ({', '.join([o.aval.text or tensor(o.aval) for o in operands])}) -> "
            f"({', '.join([o.text or tensor(o) for o in outs])}){location}"
        )
        return [Operand(n, o) for n, o in zip(names, outs, strict=True)]

    def call_host(
        self, index: int, operands: Sequence[Operand], outs: Sequence[Any]
    ) -> list[Operand]:
        """A call of the Python function with this number among the executable's callbacks.

        In a program over whole arrays the first device makes it, and all receive the results.
        """
        module = self.module
        meshes = module.meshes if module.region is None else None
        if meshes is None or len(meshes.devices) == 1:
            return self._call_host(index, operands, outs, "")
        operands = [self.constraint(o, meshes.everywhere(o.aval.ndim)) for o in operands]
        results = self._call_host(index, operands, outs, f", {meshes.on_first(len(outs))}")
        # jaxlib 0.12 would take a constraint on the results for the call's own sharding
        results = self.op("optimization_barrier", *results, out=list(outs))
        return [self.constraint(r, meshes.everywhere(r.aval.ndim)) for r in results]

    def _call_host(
        self, index: int, operands: Sequence[Operand], outs: Sequence[Any], attributes: str
    ) -> list[Operand]:
        left = self.fresh()
        names = [left] if len(outs) == 1 else [f"{left}#{i}" for i in range(len(outs))]
        count = "" if len(outs) == 1 else f":{len(outs)}"
        self.lines.append(
            f"  {left}{count} = stablehlo.custom_call @{CALLBACKS[self.module.platform]}"
            f"({', '.join(o.name for o in operands)}) {{api_version = 4 : i32, has_side_effect = "
            f"true, backend_config = {{index = {index} : ui64}}{attributes}}} : "
            f"({', '.join(tensor(o.aval) for o in operands)}) -> "
            f"({', '.join(tensor(o) for o in outs)})"
        )
        return [Operand(n, o) for n, o in zip(names, outs, strict=True)]

    def region(
        self, avals: Sequence[Any], build: Callable[["Block", list[Operand]], Sequence[Operand]]
    ) -> str:
        """The text of a region with arguments of `avals`; `build` writes it and returns its
        results."""
        # A name is all digits, or begins with a letter.
        inner = Block(self.module, f"%r{self.fresh()[1:]}_")
        args = [Operand(inner.fresh(), a) for a in avals]
        results = build(inner, args)
        head = ", ".join(f"{a.name}: {tensor(a.aval)}" for a in args)
        names = ", ".join(r.name for r in results)
        types = ", ".join(tensor(r.aval) for r in results)
        end = f"stablehlo.return {names} : {types}" if results else "stablehlo.return"
        return "\n".join(["{", f"  ^bb0({head}):" if args else "", *inner.lines, f"  {end}", "  }"])

    # --- several devices ---

    def constraint(self, x: Operand, sharding: str) -> Operand:
        """The same value with a sharding."""
        result = self.fresh()
        self.lines.append(
            f"  {result} = sdy.sharding_constraint {x.name} {sharding} : {tensor(x.aval)}"
        )
        return Operand(result, x.aval)

    def manual(
        self,
        operands: Sequence[Operand],
        avals: Sequence[Any],
        outs: Sequence[Any],
        build: Callable[["Block", list[Operand]], Sequence[Operand]],
        *,
        axes: tuple[tuple[Any, int], ...],
        region: Region,
        manual: Sequence[Any],
        inputs: Sequence[str],
        results: Sequence[str],
    ) -> list[Operand]:
        """A part of the program that is written for one device.

        Args:
          operands, outs: arguments and results, as whole arrays.
          avals: of the operands' shards; `build` writes the region and returns shards of `outs`.
          axes, region: the module's `axes` and `region` while it is written.
          manual: the axes of the mesh that become manual here.
          inputs, results: the shardings of operands and outs.
        """
        module = self.module
        inner = Block(module, f"%m{self.fresh()[1:]}_")
        args = [Operand(inner.fresh(), a) for a in avals]
        before = module.axes, module.region
        module.axes, module.region = axes, region
        try:
            parts = build(inner, args)
        finally:
            module.axes, module.region = before
        left = self.fresh()
        names = [left] if len(outs) == 1 else [f"{left}#{i}" for i in range(len(outs))]
        equals = "" if not outs else f"{left} = " if len(outs) == 1 else f"{left}:{len(outs)} = "
        types = ", ".join([tensor(o.aval) for o in operands])
        head = ", ".join([f"{a.name}: {tensor(a.aval)}" for a in args])
        ends = ", ".join([p.name for p in parts])
        kinds = ", ".join([tensor(p.aval) for p in parts])
        gives = ", ".join([tensor(o) for o in outs])
        lines = [
            f"  {equals}sdy.manual_computation({', '.join([o.name for o in operands])}) "
            f"in_shardings=[{', '.join(inputs)}] out_shardings=[{', '.join(results)}] "
            f"manual_axes={{{', '.join(axis_text(region.mesh, n) for n in manual)}}} ({head}) {{",
            *inner.lines,
            f"  sdy.return {ends} : {kinds}" if parts else "  sdy.return",
            f"  }} : ({types}) -> ({gives})",
        ]
        self.lines.append("\n".join(lines))  # one operation
        return [Operand(n, o) for n, o in zip(names, outs, strict=True)]

    def reduce(self, name: str, init: Any, x: Operand, axes: Sequence[int], out: Any) -> Operand:
        """Reduces axes with a binary operation (`add`, `maximum`, …) from the number `init`."""
        scalar = x.aval.update(shape=(), weak_type=False)
        start = self.full(init, scalar)
        result = self.fresh()
        self.lines.append(
            f"  {result} = stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.{name}"
            f" across dimensions = {list(axes)} : ({tensor(x.aval)}, {tensor(scalar)})"
            f" -> {tensor(out)}"
        )
        return Operand(result, out)
