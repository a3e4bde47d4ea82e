"""jit: trace once for each signature, compile, and call the executable.

The way of a call: flatten, look up, execute, wrap; each step has a fast form for what calls look
like most of the time. Knows tracing and programs; knows nothing of other transformations.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, errors
from ...compiler.program import (
    Program,
    buffer_on,
    committed_device,
    device_inside,
    one_device,
    program_of,
)
from ...compiler.spmd import replicated
from ...config import thread
from ...core.array import Array, PlacedArray, Tracer, as_value
from ...core.aval import aval
from ...core.jaxpr import Jaxpr, Labels, run
from ...core.sharded_array import ShardedArray
from ...core.source import function_line, located, noted
from ...core.source_location import locations_wanted
from ...core.trace import current, looked_at
from ...higher_order.call import call_jaxpr
from ...interpreters.stage import stage
from ...primitives.placement import constrain
from ...programs.hash_consing import is_eager
from ...runtime import buffer as buffers, client
from ...runtime.executors import explain
from ...runtime.group import Group
from ...sharding import Sharding
from ...tree_util import (
    PyTreeDef,
    keystr,
    register_leaf_types,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
)
from ..arguments import (
    argument_avals,
    argument_values,
    check_callable,
    check_hashable,
    described,
    leaf_paths,
    name_of,
    output_values,
    static_arguments,
)
from .cache import programs_of
from .dispatch import dispatcher
from .shardings import checked, group_for, key_of, of_leaves
from .stages import Lowered, ShapeDtypeStruct, Traced

__all__ = ["jit"]

register_leaf_types(Array, PlacedArray, ShardedArray, np.ndarray, np.float32, np.int32, np.bool_)

_base = current.base


class Entry:
    """One signature of a jitted function: the jaxpr, its output tree and its program."""

    __slots__ = (
        "_program",
        "device",
        "donated",
        "fast",
        "group",
        "inputs",
        "jaxpr",
        "keep_unused",
        "open",
        "out_tree",
        "outs",
    )

    def __init__(
        self,
        jaxpr: Jaxpr,
        out_tree: PyTreeDef,
        donated: Sequence[int],
        keep_unused: bool,
        device: Any,
        inputs: Any = None,
        outs: Any = None,
    ) -> None:
        self.jaxpr, self.out_tree = jaxpr, out_tree
        # how arguments and results are to be divided, if that is said
        self.inputs, self.outs = inputs, outs
        self.group = group_for([*(inputs or ()), *(outs or ())])
        inside = device_inside(jaxpr)
        group = self.group
        if group and isinstance(inside, Group) and set(inside.devices) == set(group.devices):
            inside = None
        self.device = one_device(jaxpr.name, device or self.group, inside)
        self.donated, self.keep_unused = donated, keep_unused
        self._program: Program | None = None
        self.fast: Any = None
        self.open = any(isinstance(c, Tracer) for c in jaxpr.consts)

    @property
    def program(self) -> Program:
        """The jaxpr made ready to be lowered; when it is first needed."""
        if self._program is None:
            if self.donated or self.keep_unused:
                self._program = Program(self.jaxpr, self.donated, self.keep_unused)
            else:  # the same that calls inside other transformations run: there nothing is donated
                self._program = program_of(self.jaxpr)
        return self._program

    def alive(self) -> bool:
        """Whether the program can be used: not if it closes over a tracer whose trace has ended."""
        return not self.open or all(
            not c._trace.closed for c in self.jaxpr.consts if isinstance(c, Tracer)
        )

    def run(
        self,
        values: Sequence[Any],
        program: Program | None = None,
        group: Group | None = None,
        inputs: Any = None,
    ) -> Any:
        """The result for arrays.

        Args:
          program: compiled with other options.
          group, inputs: where it has been compiled to run, and for which division of its arguments.
        """
        program = program or self.program
        if program.donated:
            check_donated(program, values)
        group = group or self.group
        if group is not None:
            outs = program.run_on(group, values, inputs or self.inputs, self.outs)
        else:
            outs = program.run(values, self.device)
        for i in program.donated:
            release(values[program.kept[i]])
        return self.out_tree.unflatten(outs)

    def apply(self, values: Sequence[Any], trace: Any, inline: bool) -> Any:
        """The result for values inside another transformation."""
        if self.inputs is not None:
            values = constrained(values, self.inputs)
        if inline and not is_eager(trace):
            outs = run(self.jaxpr, values, trace)
        else:
            where = {}
            if self.device is not None and self.group is None:
                where["device"] = self.device
            outs = call_jaxpr(self.jaxpr, values, trace, **where)
        if self.outs is not None:
            outs = constrained(outs, self.outs)
        return self.out_tree.unflatten(outs)

    def spread(self, values: Sequence[Any]) -> Group | None:
        """The group that runs the program on these arrays, if it isn't one device that does."""
        if self.group is not None:
            return self.group
        if self.device is not None:
            return self.device if self.device.__class__ is Group else None
        if all(v.__class__ is not ShardedArray for v in (*values, *self.program.consts)):
            return None
        group = committed_device(self.program.name, values, self.program.kept)
        group = group or self.program.group_of_consts()
        return group if group.__class__ is Group else None

    def ready(self) -> Any:
        """What the hot path needs, or `None` if this program can't take it."""
        program = self.program
        if self.device is not None or program.donated or not program.types:
            return None
        if client.chosen_device() is not None:
            return None
        if self.program.outputs != [("result", i) for i in range(len(program.types))]:
            return None
        device = client.default_device()
        executable = program.executable(device)
        consts = [buffer_on(c, device) for c in program.consts]
        kept = program.kept if len(program.kept) < len(self.jaxpr.invars) else None
        avals = [v.aval for v in program.stripped.outvars]
        single = self.out_tree.is_leaf
        return (
            thread.key,
            executable.run,
            executable.handlers,
            kept,
            consts,
            avals[0] if single else avals,
            None if single else [None] * len(avals),
            self.out_tree.unflatten,
        )

    def divided(self, group: Group, i: int, x: Any) -> Sharding:
        """How an argument is divided among the devices of a group."""
        if self.inputs is not None and self.inputs[i] is not None:
            return self.inputs[i]  # type: ignore[no-any-return]
        return sharding_said(x) or replicated(group)


def sharding_said(x: Any) -> Sharding | None:
    """How an argument, or what stands for one, lies on several devices, if it does."""
    if x.__class__ is ShardedArray:
        return x._sharding  # type: ignore[no-any-return]
    return x.sharding if isinstance(x, ShapeDtypeStruct) else None


def constrained(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Traced values that are to be divided as said."""
    return [
        x if s is None else constrain(x, sharding=s) for x, s in zip(values, shardings, strict=True)
    ]


def check_donated(program: Program, values: Sequence[Any]) -> None:
    """Refuses an array that is donated and is an argument in another place too."""
    places: dict[int, int] = {}
    donated = {program.kept[i] for i in program.donated}
    for i, v in enumerate(values):
        first = places.setdefault(id(v), i)
        if first != i and (first in donated or i in donated):
            raise ValueError(
                f"jit: {program.name} is to donate an array that it gets twice, {v.aval} as "
                f"argument leaves {first} and {i}\n  fix: pass a copy, or don't donate it"
            )


def release(array: Any) -> None:
    """A donated array is gone, whether XLA could use its memory or not."""
    array._host = None
    if array._buffer is not None and not buffers.is_deleted(array._buffer):
        buffers.delete(array._buffer)
    if array.__class__ is ShardedArray:
        array._buffer = None


def deleted(function: Any, path: str, array: Any) -> Exception:
    """The error for an argument whose memory was given back or donated."""
    return errors.DeletedArrayError(
        f"jit: argument {path} of {function_line(function)}, {array.aval}, has been deleted or "
        "donated: its memory is gone\n  fix: don't use an array after passing it in "
        "donate_argnums or calling delete()"
    )


@located
def check_target(device: Any, backend: Any) -> None:
    """Refuses what names no device."""
    if device is not None and not isinstance(device, client.Device):
        raise TypeError(f"jit: device must be one of devices(); got {described(device)}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"jit: backend must be 'cpu', 'gpu' or 'tpu'; got {described(backend)}")
    if device is not None and backend is not None:
        raise ValueError(
            f"jit: got both device={device!r} and backend={backend!r}\n  fix: a device says which "
            "platform it is of; pass one of the two"
        )


def name_parts(jaxpr: Jaxpr, paths: Sequence[str], out_tree: PyTreeDef) -> None:
    """Makes messages call a program's inputs and results by their paths (`debugging/watch.py`)."""
    closed = ["a constant that it closes over"] * len(jaxpr.consts)
    numbers = out_tree.unflatten(range(out_tree.num_leaves))
    results = [f"its result{keystr(path)}" for path, _ in tree_flatten_with_path(numbers)[0]]
    inputs = (*closed, *[f"its argument {path}" for path in paths])
    jaxpr.without_consts().labels = Labels(inputs, tuple(results))


def argument_array(x: Any) -> Any:
    """An argument from outside as an array, copied once."""
    if x.__class__ is np.ndarray:
        dtype = dtypes.canonicalize_dtype(x.dtype)
        host = x if x.dtype == dtype else x.astype(dtype)
        return Array(
            None, aval(host.shape, dtype), buffers.put(host, client.default_device(), alias=False)
        )
    return as_value(x)


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    device: Any = None,
    backend: str | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> Any:
    """Compiles a function with XLA, once for each signature of its arguments.

    Args:
      fun: a pure function of arrays, scalars and containers of them. Without it, a decorator that
        takes the other options.
      static_argnums, static_argnames: arguments that are part of the program: hashable; another
        value means another compilation. Each is inferred from the other if only one is given.
      device: where to run; by default where committed arguments are, else the default device.
      backend: 'cpu', 'gpu' or 'tpu': the first device of that platform.
      donate_argnums, donate_argnames: arguments whose memory may be used for results; they can't
        be used afterwards.
      inline: whether a call inside another traced function becomes part of it, instead of a call
        equation.
      keep_unused: whether arguments that the result doesn't depend on are passed all the same.
      in_shardings: how the positional arguments are divided among devices: a `weft.sharding`, or a
        tree of them that is a prefix of the tuple of arguments that aren't static. `None`: as the
        argument is; one on a single device is repeated. Arrays that lie otherwise are moved. In a
        block `with mesh:`, a `PartitionSpec` does.
      out_shardings: the same for the results; `None`: as XLA finds best.
    Returns: a function with the same arguments and results, and the methods `lower`, `trace`,
      `eval_shape` and `clear_cache`.
    Raises: TypeError: an argument or result isn't an array. ValueError: a static argument isn't
      hashable.
    Example:
      >>> import weft
      >>> @weft.jit
      ... def selu(x, alpha=1.67, lmbda=1.05):
      ...     return lmbda * weft.numpy.where(x > 0, x, alpha * weft.numpy.exp(x) - alpha)
      >>> selu(weft.numpy.arange(5.0))
      Array([0.       , 1.05     , 2.1      , 3.1499999, 4.2      ], dtype=float32)
    Source: seed 002, `jax.jit`.
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            device=device,
            backend=backend,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            inline=inline,
            keep_unused=keep_unused,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
        )
    check_callable(fun, "jit")
    static_nums, static_names = static_arguments(fun, static_argnums, static_argnames)
    donate_nums, donate_names = static_arguments(
        fun, donate_argnums, donate_argnames, word="donate"
    )
    if set(static_nums) & set(donate_nums):
        raise ValueError(
            f"jit: arguments {sorted(set(static_nums) & set(donate_nums))} of {function_line(fun)} "
            "are both static and donated\n  fix: a static argument has no memory to donate"
        )
    check_target(device, backend)
    checked("in_shardings", in_shardings)
    checked("out_shardings", out_shardings)
    sharded = in_shardings is not None or out_shardings is not None
    if sharded and (device is not None or backend is not None):
        raise ValueError("jit: shardings say where it runs; got a device or a backend as well")
    function: Callable[..., Any] = fun
    name = name_of(fun)
    programs = programs_of(
        fun,
        (
            static_nums,
            static_names,
            donate_nums,
            donate_names,
            device,
            backend,
            inline,
            keep_unused,
            key_of((in_shardings, out_shardings)) if sharded else None,
        ),
    )
    hot, spread = programs.hot, programs.spread
    has_static = bool(static_nums or static_names)
    plain = not has_static and device is None and backend is None

    def target() -> Any:
        if device is not None:
            return device
        return client.local_devices(backend)[0] if backend is not None else None

    def split(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Traced positional and keyword arguments, and the static ones as a key."""
        if not has_static:
            return args, kwargs, ()
        count = len(args)
        fixed = {n % count if n < 0 else n for n in static_nums if -count <= n < count}
        statics: list[Any] = [("n", count)]
        for i in sorted(fixed):
            check_hashable("jit", function, i, args[i])
            statics.append((i, args[i].__class__, args[i]))
        for k in sorted(set(static_names) & set(kwargs)):
            check_hashable("jit", function, k, kwargs[k])
            statics.append((k, kwargs[k].__class__, kwargs[k]))
        traced = tuple(a for i, a in enumerate(args) if i not in fixed)
        return traced, {k: v for k, v in kwargs.items() if k not in static_names}, tuple(statics)

    def paths_of(args: Any, kwargs: Any) -> list[str]:
        traced, traced_kwargs, statics = split(args, kwargs)
        fixed = {s[0] for s in statics[1:] if isinstance(s[0], int)}
        positions = [i for i in range(len(args)) if i not in fixed]
        return leaf_paths(function, traced, traced_kwargs, positions)

    def signature(args: Any, kwargs: Any) -> tuple[Any, Any, Any, Any, Any]:
        traced, traced_kwargs, statics = split(args, kwargs)
        leaves, tree = tree_flatten((traced, traced_kwargs))
        values = argument_values("jit", function, leaves, lambda: paths_of(args, kwargs))
        avals = tuple([v.aval for v in values])
        return values, avals, tree, statics, (tree, avals, statics, thread.key)

    def entry_of(args: Any, kwargs: Any) -> tuple[Entry, Any, Any]:
        values, avals, tree, statics, key = signature(args, kwargs)
        return entry_for(args, kwargs, avals, tree, statics, key), values, tree

    def entry_for(args: Any, kwargs: Any, avals: Any, tree: Any, statics: Any, key: Any) -> Entry:
        def make() -> Entry:
            fixed = {s[0] for s in statics[1:]}
            programs.history.note(
                function,
                [i for i in range(len(args)) if i not in fixed],
                (tree, avals, statics),
                lambda: paths_of(args, kwargs),
            )
            return trace_entry(args, kwargs, avals, tree, statics)

        return programs.entry(key, make)  # type: ignore[no-any-return]

    def trace_entry(args: Any, kwargs: Any, avals: Any, tree: Any, statics: Any) -> Entry:
        fixed = {s[0]: s[2] for s in statics[1:]}
        count = len(args)
        out_tree: Any = None

        def flat(*tracers: Any) -> list[Any]:
            nonlocal out_tree
            traced, traced_kwargs = tree.unflatten(tracers)
            waiting = iter(traced)
            full = [fixed[i] if i in fixed else next(waiting) for i in range(count)]
            extra = {k: v for k, v in fixed.items() if isinstance(k, str)}
            result = function(*full, **traced_kwargs, **extra)
            leaves, out_tree = tree_flatten(result)
            return output_values("jit", function, leaves)

        def paths() -> list[str]:  # kept with the trace: so not by way of the arguments themselves
            traced, traced_kwargs = tree.unflatten(avals)
            positions = [i for i in range(count) if i not in fixed]
            return leaf_paths(function, traced, traced_kwargs, positions)

        jaxpr = stage(flat, avals, name=name, transform="jit", about=function, names=paths)
        if locations_wanted():
            name_parts(jaxpr, paths(), out_tree)
        donated = donated_leaves(args, kwargs) if donate_nums or donate_names else ()
        inputs = outs = None
        if in_shardings is not None:
            if named := sorted(set(kwargs) - set(static_names)):
                raise TypeError(
                    f"jit: in_shardings speak of positional arguments; got {named} by "
                    f"keyword\n  fix: pass them by position to {function_line(function)}"
                )
            said = in_shardings
            if isinstance(said, list):
                said = tuple(said)
            inputs = of_leaves("in_shardings", (said, None), tree, avals, paths)
        if out_shardings is not None:
            numbers = lambda: [f"leaf {i} of the result" for i in range(len(jaxpr.outvars))]  # noqa: E731
            outs = of_leaves("out_shardings", out_shardings, out_tree, jaxpr.out_avals, numbers)
        return Entry(jaxpr, out_tree, donated, keep_unused, target(), inputs, outs)

    def donated_leaves(args: Any, kwargs: Any) -> list[int]:
        numbers: list[int] = []
        i = 0
        fixed = {n % len(args) if n < 0 else n for n in static_nums}
        for n, arg in enumerate(args):
            if n in fixed:
                continue
            size = len(tree_flatten(arg)[0])
            if n in donate_nums or n - len(args) in donate_nums:
                numbers += range(i, i + size)
            i += size
        for k in sorted(set(kwargs) - set(static_names)):
            size = len(tree_flatten(kwargs[k])[0])
            if k in donate_names:
                numbers += range(i, i + size)
            i += size
        return numbers

    def general(args: Any, kwargs: Any) -> Any:
        if thread.disable_jit:
            return function(*args, **kwargs)
        entry, values, tree = entry_of(args, kwargs)
        trace = current.trace
        if entry.open or not (trace is _base or (trace.computes and not looked_at())):
            return entry.apply(values, trace, inline)
        try:
            result = entry.run(values)
        except errors.DeletedArrayError:
            gone = [i for i, v in enumerate(values) if v.is_deleted()]
            if not gone:
                raise
            raise deleted(function, paths_of(args, kwargs)[gone[0]], values[gone[0]]) from None
        if plain and not kwargs and (group := entry.spread(values)) is not None:
            if current.trace is _base:
                spread.remember(
                    tree.children()[0], entry.out_tree, values, entry.program, group,
                    entry.inputs, entry.outs,
                )  # fmt: skip
        elif plain and not kwargs:
            if entry.fast is None:
                entry.fast = (entry.ready(),)
            if entry.fast[0] is not None and entry.fast[0][0] is thread.key:
                hot.remember(
                    tree.children()[0], args, tuple([v.aval for v in values]), entry.fast[0]
                )
        return result

    def fill(leaves: Any, kept: Any) -> list[Any]:
        device = client.default_device()
        arrays = [x if x.__class__ is Array else argument_array(x) for x in leaves]
        return [buffer_on(arrays[i], device) for i in kept]

    general = located(general)

    @located
    def trace(*args: Any, **kwargs: Any) -> Traced:
        """The traced program for these arguments, for looking at and lowering.

        Anything with a shape and a dtype does for an argument.
        """
        traced, traced_kwargs, statics = split(args, kwargs)
        leaves, tree = tree_flatten((traced, traced_kwargs))
        avals = tuple(argument_avals("jit", function, leaves, lambda: paths_of(args, kwargs)))
        key = (tree, avals, statics, thread.key)
        entry = entry_for(args, kwargs, avals, tree, statics, key)
        device = entry.spread(leaves) or entry.device or group_for(map(sharding_said, leaves))
        inputs = None
        if isinstance(device, Group):
            inputs = [entry.divided(device, i, x) for i, x in enumerate(leaves)]
        elif device is None:
            device = next((x.device for x in leaves if x.__class__ is PlacedArray), None)
        return Traced(entry.jaxpr, tree, entry.out_tree, name, entry, donate_nums, device, inputs)

    @located
    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments as StableHLO, to be compiled ahead of time."""
        return trace(*args, **kwargs).lower()

    def clear_cache() -> None:
        """Forgets all traced and compiled programs of this function."""
        programs.clear()

    def explained(error: Any, inputs: Any, args: Any, kept: Any) -> Exception:
        for i, buffer in enumerate(inputs):
            if buffers.is_deleted(buffer):
                leaf = i if kept is None else kept[i]
                return noted(deleted(function, paths_of(args, {})[leaf], tree_leaves(args)[leaf]))
        return noted(explain(error, inputs))

    jitted = dispatcher(fun, hot, spread, general, argument_array, fill, explained)
    jitted.trace = trace  # type: ignore[attr-defined]
    jitted.lower = lower  # type: ignore[attr-defined]
    jitted.clear_cache = clear_cache  # type: ignore[attr-defined]
    jitted.eval_shape = lambda *a, **k: trace(*a, **k).out_info  # type: ignore[attr-defined]
    return jitted
