"""jit: trace once for each signature, compile, and call the executable.

The steps of a call are: flatten, look up, execute, wrap. `dispatch.py` is the fast path.
"""

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ... import errors
from ...compiler.compiled import ProgramTarget, target_of
from ...compiler.layout import one_placement, placement_inside, type_with
from ...compiler.lowered import LoweredProgram, lowered_with
from ...config import debug_lines, thread
from ...core.array import Array
from ...core.aval import Aval
from ...core.events import tell
from ...core.jaxpr import Jaxpr, Labels, only_computes, run
from ...core.masks import active
from ...core.placement import ArrayType, Placement, on_device
from ...core.source import function_line, located
from ...core.trace import Params, Trace, current, locations_wanted, looked_at, watch, watched
from ...core.value import Value
from ...higher_order.call import call
from ...primitives.sharding_constraint import constrain
from ...programs.hash_consing import is_eager
from ...runtime import client
from ...runtime.executors import explain
from ...runtime.failures import BusyDevicesError, ForkError, XlaError
from ...sharding import Sharding, is_unstated
from ...tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ...user_lines import noted
from ..arguments import (
    FlatFunction,
    check_callable,
    described,
    name_of,
    note_comparison,
    pair_of,
    static_arguments,
)
from ..ref_use import WeakRefUse
from ..signatures import P, R, Wrapped
from .dispatch import dispatcher, programs_of
from .donation import deleted, warn_of_unusable
from .retrace import explanation
from .shardings import ShardingOption, one_group
from .stages import Lowered, Traced

if TYPE_CHECKING:
    from ...compiler.memory import MemoryPlan

__all__ = ["jit"]

_base = current.base
if watched() and current.trace is _base:
    watch()  # a switch is on in the environment, and a jitted function may be the first to run


@dataclass(frozen=True)
class JitOptions:
    """The checked options of `jit`. A function has a table of programs for each."""

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    device: client.Device | None
    backend: str | None
    inline: bool
    keep_unused: bool
    in_shardings: ShardingOption | None
    out_shardings: ShardingOption | None
    compiler_options: tuple[tuple[str, str | int | float | bool], ...]

    def target(self) -> Placement | None:
        """The named device."""
        if self.backend is not None:
            return on_device(client.local_devices(self.backend)[0])
        return None if self.device is None else on_device(self.device)

    @property
    def is_simple(self) -> bool:
        """True if the types of the arguments determine the program and its device."""
        return not self.static_argnums and not self.static_argnames and self.backend is None


def checked_options(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Sequence[str] | None,
    donate_argnums: int | Sequence[int] | None,
    donate_argnames: str | Sequence[str] | None,
    in_shardings: Any,
    out_shardings: Any,
    compiler_options: dict[str, Any] | None,
    **others: Any,
) -> JitOptions:
    """The options that the user passed to `jit`, checked."""
    static_nums, static_names = static_arguments(fun, static_argnums, static_argnames)
    donate_nums, donate_names = static_arguments(
        fun, donate_argnums, donate_argnames, word="donate"
    )
    if set(static_nums) & set(donate_nums):
        raise ValueError(
            f"jit: arguments {sorted(set(static_nums) & set(donate_nums))} of {function_line(fun)} "
            "are both static and donated\n  fix: a static argument has no memory to donate"
        )
    check_target(others["device"], others["backend"])
    ins = None if in_shardings is None else ShardingOption("in_shardings", in_shardings)
    outs = None if out_shardings is None else ShardingOption("out_shardings", out_shardings)
    if (ins or outs) and (others["device"] is not None or others["backend"] is not None):
        raise ValueError("jit: shardings determine the devices; got a device or a backend too")
    return JitOptions(
        static_nums,
        static_names,
        donate_nums,
        donate_names,
        in_shardings=ins,
        out_shardings=outs,
        compiler_options=checked_compiler_options(compiler_options),
        **others,
    )


@located
def checked_compiler_options(options: Any) -> tuple[tuple[str, Any], ...]:
    """XLA's options, sorted by name."""
    if not isinstance(options, dict | None) or not all(
        isinstance(name, str) and isinstance(value, (str, int, float, bool))
        for name, value in (options or {}).items()
    ):
        raise TypeError(
            "jit: compiler_options must map names to strings, numbers or booleans; got "
            f"{options!r:.80}"
        )
    return tuple(sorted((options or {}).items()))


@located
def check_target(device: Any, backend: Any) -> None:
    """Raises an error for a target that is not a device or a platform."""
    if device is not None and not isinstance(device, client.Device):
        raise TypeError(f"jit: device must be one of devices(); got {described(device)}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"jit: backend must be 'cpu', 'gpu' or 'tpu'; got {described(backend)}")
    if device is not None and backend is not None:
        raise ValueError(
            f"jit: got both device={device!r} and backend={backend!r}\n  fix: a device says which "
            "platform it is of; pass one of the two"
        )


class TracedCall(Traced):
    """A jitted function traced on one signature.

    Attributes:
      in_shardings, out_shardings: the shardings of the leaves of arguments and results, if given.
      placement: where it runs, if its options or those of an inner function determine it.
    """

    def __init__(
        self,
        jaxpr: Jaxpr,
        trees: tuple[PyTreeDef, PyTreeDef],
        name: str,
        types: Sequence[ArrayType],
        options: JitOptions,
        donated: tuple[int, ...],
        in_shardings: Sequence[Sharding | None] | None,
        out_shardings: Sequence[Sharding | None] | None,
        refs: WeakRefUse | None,
    ) -> None:
        super().__init__(jaxpr, trees, name, types, options.donate_argnums, refs)
        self.options, self.donated = options, donated
        self.in_shardings, self.out_shardings = in_shardings, out_shardings
        stated = [*(in_shardings or ()), *(out_shardings or ())]
        target = (one_group(stated) if stated else None) or options.target()
        inside = None if only_computes(jaxpr) else placement_inside(jaxpr)
        self.placement = one_placement(jaxpr.name, target, inside) if inside else target

    def of_types(self, types: Sequence[ArrayType]) -> "TracedCall":
        """The same traced program, for arguments of these types."""
        traced = copy.copy(self)
        traced.types, traced._fast = types, {}
        return traced

    def program(self, options: dict[str, Any] | None = None) -> LoweredProgram:
        # if nothing is donated, calls inside other transformations use the same program
        if options is None:
            compiler_options = self.options.compiler_options
        else:
            compiler_options = checked_compiler_options(options)
        return lowered_with(self.jaxpr, self.donated, self.options.keep_unused, compiler_options)

    def target(self, types: Sequence[ArrayType], program: LoweredProgram) -> ProgramTarget:
        if program.donated and not program.warned:
            warn_of_unusable(program, "jit")
        return target_of(program, types, self.placement, self.in_shardings, self.out_shardings)

    @functools.cached_property
    def called(self) -> tuple[Params, list[Aval]]:
        """The parameters of a call inside another transformation, and the avals of its results."""
        jaxpr, placement = self.jaxpr.without_consts(), self.placement
        if placement is None or placement.group is not None:
            return (("jaxpr", jaxpr),), jaxpr.out_avals
        return (("jaxpr", jaxpr), ("device", placement.device)), jaxpr.out_avals

    def apply(self, values: Sequence[Value], trace: Trace) -> Any:
        if stated := dict(self.options.compiler_options):
            raise ValueError(
                f"jit: compiler_options={stated} apply to a whole program; "
                f"{self.jaxpr.name} is called inside another transformation\n"
                "  fix: pass them to the outermost jit"
            )
        if self.in_shardings is not None:
            values = constrain_all(values, self.in_shardings)
        if self.options.inline and not is_eager(trace):
            outs = run(self.jaxpr, values, trace)
        else:
            params, out_avals = self.called
            outs = trace.bind(call, [*self.jaxpr.consts, *values], params, out_avals)
        if self.out_shardings is not None:
            outs = constrain_all(outs, self.out_shardings)
        return self.unflatten(outs) if self.float0_outs else self.out_tree.unflatten(outs)


def constrain_all(values: Sequence[Value], shardings: Sequence[Sharding | None]) -> list[Value]:
    """Traced values with sharding constraints."""
    return [
        x if s is None else constrain(x, sharding=s) for x, s in zip(values, shardings, strict=True)
    ]


def labels_by_path(paths: Sequence[str], out_tree: PyTreeDef) -> Labels:
    """Labels that name inputs and results by their paths (`debugging/nonfinite.py`)."""
    numbers = out_tree.unflatten(range(out_tree.num_leaves))
    results = [f"its result{keystr(path)}" for path, _ in tree_flatten_with_path(numbers)[0]]
    return Labels(tuple(f"its argument {path}" for path in paths), tuple(results))


def type_of(x: Any, a: Aval) -> ArrayType:
    """The type of an argument, or of a stand-in for one, which may have a sharding."""
    if isinstance(x, Array):
        return x.type
    sharding = getattr(x, "sharding", None)
    is_stated = isinstance(sharding, Sharding) and not is_unstated(sharding)
    return type_with(a, sharding if is_stated else None)


class JittedFunction:
    """The state of a jitted function. Users get `call()`: the fast path, with methods of this class
    as attributes."""

    def __init__(self, function: Callable[..., Any], options: JitOptions) -> None:
        self.function, self.options, self.name = function, options, name_of(function)
        self.programs = programs_of(function, options)
        self.is_simple = options.is_simple

    def call(self) -> Any:
        """The function that users call.

        It refers to this object, and this object does not refer to it. Without a cycle, the
        variables of the user's function are freed with it at once.
        """
        general = located(self.general)
        call: Any = dispatcher(self.function, self.programs, general, self.explained)
        call.trace, call.lower = located(self.trace), located(self.lower)
        call.eval_shape, call.clear_cache = self.eval_shape, self.clear_cache
        call.memory = located(self.memory)
        call.weft_made = "trace", "lower", "eval_shape", "clear_cache", "memory"
        return call

    # --- tracing ---

    def flatten(self, args: Any, kwargs: Any, abstract: bool = False) -> FlatFunction:
        """The function at the arguments of a call; see `FlatFunction`."""
        options = self.options
        return FlatFunction(
            "jit",
            self.function,
            args,
            kwargs,
            options.static_argnums,
            options.static_argnames,
            abstract=abstract,
            takes_refs=True,
        )

    def find_or_trace(self, flat: FlatFunction) -> TracedCall:
        """The traced program for the signature of a call. A new signature is traced."""
        try:
            return self.programs.find(flat.key, lambda: self.trace_signature(flat))
        except Exception as error:  # raised again
            if statics := flat.named_statics():
                note_comparison(error, "jit", self.function, statics)
            raise

    def trace_signature(self, flat: FlatFunction) -> TracedCall:
        """Traces the function on the signature of a call."""
        options = self.options
        key = flat.key
        programs = self.programs
        programs.count += 1
        if thread.log_compiles or "retrace" in thread.debug:
            before, positions, count = programs.signatures, [*flat.positions], programs.count
            tell(explanation(self.function, positions, key, before, count, flat.paths))
        programs.signatures.append(key)
        jaxpr, refs = flat.stage_with_refs()
        if locations_wanted():
            jaxpr = jaxpr.replace(labels=labels_by_path(flat.paths(), flat.out_tree))
        in_shardings = out_shardings = None
        if options.in_shardings is not None:
            if flat.kwargs_tree is not None:
                raise errors.ShapeError(
                    "jit: in_shardings apply to positional arguments; got "
                    f"{sorted(flat.kwargs_tree.data)} by keyword\n  fix: pass them by position to "
                    f"{function_line(self.function)}"
                )
            in_shardings = options.in_shardings.of_arguments(flat.in_tree, flat.avals, flat.paths)
            in_shardings = [*in_shardings, *[None] * len(refs.outside)]
        if options.out_shardings is not None:
            avals = jaxpr.out_avals[: flat.out_tree.num_leaves]
            out_shardings = options.out_shardings.of_results(flat.out_tree, avals)
            out_shardings = [*out_shardings, *[None] * sum(refs.written)]
        donated = flat.leaves_of(options.donate_argnums, options.donate_argnames)
        trees = flat.in_tree, flat.out_tree
        uses_refs = bool(refs.outside or refs.written)
        if uses_refs:
            trees = (
                pair_of(flat.in_tree, tree_flatten(refs.outside)[1]),
                pair_of(flat.out_tree, tree_flatten(active(refs.written, refs.written))[1]),
            )
        return TracedCall(
            jaxpr,
            trees,
            self.name,
            jaxpr.in_avals,
            options,
            # other objects may share the array in a ref
            tuple([i for i in donated if i not in flat.refs]),
            in_shardings,
            out_shardings,
            WeakRefUse(refs) if uses_refs else None,
        )

    # --- calls ---

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of any call. If possible, later calls like it take the fast path."""
        if thread.disable_jit:
            return self.function(*args, **kwargs)
        flat = self.flatten(args, kwargs)
        traced = self.find_or_trace(flat)
        if traced.refs is not None:
            return self.run_with_refs(traced, flat, traced.refs)
        values: Any = flat.values
        trace = current.trace
        if traced.holds_tracers or not (trace is _base or (trace.computes and not looked_at())):
            return traced.apply(values, trace)
        try:
            if trace is _base:
                result = traced.run(values)
            else:
                result = trace.run_traced(traced, flat, values)
        except errors.DeletedArrayError:
            if (error := self.deleted_argument(flat)) is None:
                raise
            raise error from None
        if self.is_simple and not kwargs and current.trace is _base:
            traced.put_on_fast_path(self.programs, args, flat.args_tree, values)
        return result

    def run_with_refs(self, traced: TracedCall, flat: FlatFunction, refs: WeakRefUse) -> Any:
        """The result of a call of a function that uses refs, which get their new values."""
        arguments = flat.refs.values()
        use = refs.strong(function_line(self.function), arguments)
        operation = f"jit of {self.name}"
        values: Any = [*flat.values, *use.values(operation)]
        trace = current.trace
        is_base = trace is _base or (trace.computes and not looked_at())
        if traced.holds_tracers or not is_base:
            result, new = traced.apply(values, trace)
        elif trace is _base:
            result, new = traced.run(values)
        else:
            result, new = trace.run_traced(traced, flat, values)
        use.assign(operation, arguments, new)
        return result

    def explained(
        self, error: RuntimeError, buffers: Sequence[Any], args: tuple[Any, ...], count: int
    ) -> Exception:
        """weft's error for an error that XLA raised on the fast path."""
        deleted_argument = self.deleted_argument(self.flatten(args, {}))
        if deleted_argument is not None:
            return noted(deleted_argument)
        is_own = isinstance(error, (XlaError, BusyDevicesError, ForkError, errors.WeftError))
        return noted(error if is_own else explain(error, buffers))

    def deleted_argument(self, flat: FlatFunction) -> Exception | None:
        """The error for the first deleted argument; `None` if there is none."""
        for i, value in enumerate(flat.values):
            if isinstance(value, Array) and value.is_deleted():
                return deleted(self.function, flat.paths()[i], value)
        return None

    # --- inspection ---

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced program for these arguments, to inspect or lower it.

        An object with a shape and a dtype may replace an array.
        """
        flat = self.flatten(args, kwargs, abstract=True)
        types = [type_of(x, a) for x, a in zip(flat.leaves, flat.avals, strict=True)]
        traced = self.find_or_trace(flat)
        return traced.of_types([*types, *traced.jaxpr.in_avals[len(types) :]])

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments as StableHLO, to be compiled ahead of time."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return located(self.trace)(*args, **kwargs).out_info

    def memory(self, *args: Any, **kwargs: Any) -> "MemoryPlan":
        """The memory that a call with these arguments needs, without running it.

        Arguments are arrays, or objects with a shape and a dtype. The program is compiled with the
        user's lines, which takes as long as compiling it without them.
        """
        with debug_lines(True):
            return self.lower(*args, **kwargs).compile().memory()

    def clear_cache(self) -> None:
        """Drops all traced and compiled programs of this function."""
        self.programs.clear()


def jit(
    fun: Callable[P, R] | None = None,
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
    compiler_options: dict[str, str | int | float | bool] | None = None,
) -> Wrapped[P, R]:
    """Compiles a function with XLA, once for each signature of its arguments.

    Args:
      fun: a pure function of arrays, scalars and containers of them. If omitted, the result is a
        decorator.
      static_argnums, static_argnames: positions and names of arguments that are part of the
        program; they must be hashable, and each value is compiled separately. If only one of the
        two options is given, the other is inferred.
      device: the device to run on; by default, the device of committed arguments, otherwise the
        default device.
      backend: 'cpu', 'gpu' or 'tpu': the first device of that platform.
      donate_argnums, donate_argnames: arguments whose memory may be used for results; they cannot
        be used afterwards.
      inline: whether a call inside another traced function is inlined, instead of staged as a
        `call` equation.
      keep_unused: whether to pass arguments on which the result does not depend.
      in_shardings: how the positional arguments are divided among devices: a `weft.sharding`, or a
        tree of them that is a prefix of the tuple of traced arguments. `None` keeps the argument's
        sharding; an array on a single device is replicated. Other arrays are moved. In a block
        `with mesh:`, a `PartitionSpec` may be a sharding.
      out_shardings: the same for the results; `None` lets XLA choose.
      compiler_options: XLA's options by name; `weft_outline`: if False, repeated blocks are not
        compiled as functions; `weft_segments`: if False, the program is one executable. They apply
        only to calls outside of other transformations.
    Returns: a function with the same arguments and results, and the methods `lower`, `trace`,
      `eval_shape`, `memory` and `clear_cache`.
    Raises: TypeError: an argument or result is not an array. ValueError: a static argument is not
      hashable.
    Example:
      >>> import weft
      >>> @weft.jit
      ... def selu(x, alpha=1.67, lmbda=1.05):
      ...     return lmbda * weft.numpy.where(x > 0, x, alpha * weft.numpy.exp(x) - alpha)
      >>> selu(weft.numpy.arange(5.0))
      Array([0.       , 1.05     , 2.1      , 3.1499999, 4.2      ], dtype=float32)
    Source: JAX documentation, `jax.jit`.
    """
    arguments = locals()
    options = {name: value for name, value in arguments.items() if name != "fun"}
    if fun is None:
        decorator = functools.partial(jit, **options)
        return cast("Wrapped[P, R]", decorator)
    check_callable(fun, "jit")
    jitted: Wrapped[P, R] = JittedFunction(fun, checked_options(fun, **options)).call()
    return jitted
