"""jit: trace once for each signature, compile, and call the executable.

The steps of a call: flatten, look up, execute, wrap. Each has a fast form for common calls
(`dispatch.py`). Knows tracing and programs; knows nothing of other
transformations.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ... import errors
from ...compiler.compiled import ProgramTarget, target_of
from ...compiler.layout import one_placement, placement_inside, type_with
from ...compiler.lowered import LoweredProgram, lowered_with
from ...config import thread
from ...core.array import Array
from ...core.aval import Aval
from ...core.jaxpr import Jaxpr, Labels, only_computes, run
from ...core.messages import tell
from ...core.placement import ArrayType, Placement, on_device
from ...core.source import function_line, located, noted
from ...core.trace import Params, Trace, current, locations_wanted, looked_at
from ...core.value import Value
from ...higher_order.call import call
from ...primitives.placement import constrain
from ...programs.hash_consing import is_eager
from ...runtime import client
from ...runtime.executors import explain
from ...runtime.failures import BusyDevicesError, ForkError, XlaError
from ...sharding import Sharding, is_unstated
from ...tree_util import PyTreeDef, keystr, tree_flatten_with_path
from ..arguments import (
    FlatFunction,
    check_callable,
    described,
    name_of,
    note_comparison,
    static_arguments,
)
from ..signatures import P, R
from .dispatch import dispatcher, programs_of
from .donation import deleted, warn_of_unusable
from .retrace import explanation
from .shardings import ShardingOption, one_group
from .stages import Lowered, Traced
from .wrapped import Wrapped

__all__ = ["jit"]

_base = current.base


@dataclass(frozen=True)
class JitOptions:
    """The options of `jit`, checked; what a function was traced to is kept for each of them."""

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
        """The device that was named."""
        if self.backend is not None:
            return on_device(client.local_devices(self.backend)[0])
        return None if self.device is None else on_device(self.device)

    @property
    def is_simple(self) -> bool:
        """True if the program and its place follow from the arguments: then calls may be fast."""
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
    """The options of `jit` for a function, of what the user passed."""
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
    ins, outs = [
        None if tree is None else ShardingOption(name, tree)
        for name, tree in (("in_shardings", in_shardings), ("out_shardings", out_shardings))
    ]
    if (ins or outs) and (others["device"] is not None or others["backend"] is not None):
        raise ValueError("jit: shardings say where it runs; got a device or a backend as well")
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
            "jit: compiler_options must be a dict of names and of texts, numbers or booleans; got "
            f"{options!r:.80}"
        )
    return tuple(sorted((options or {}).items()))


@located
def check_target(device: Any, backend: Any) -> None:
    """Refuses a target that isn't a device."""
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
      inputs, outs: the shardings of arguments and results, where they were stated.
      named: where it is to run, if it or a function inside says so.
    """

    def __init__(
        self,
        jaxpr: Jaxpr,
        trees: tuple[PyTreeDef, PyTreeDef],
        name: str,
        types: Sequence[ArrayType],
        options: JitOptions,
        donated: tuple[int, ...],
        inputs: Sequence[Sharding | None] | None,
        outs: Sequence[Sharding | None] | None,
    ) -> None:
        super().__init__(jaxpr, trees, name, types, options.donate_argnums)
        self.options, self.donated, self.inputs, self.outs = options, donated, inputs, outs
        stated = [*(inputs or ()), *(outs or ())]
        target = (one_group(stated) if stated else None) or options.target()
        inside = None if only_computes(jaxpr) else placement_inside(jaxpr)
        self.named = one_placement(jaxpr.name, target, inside) if inside else target

    def of_types(self, types: Sequence[ArrayType]) -> "TracedCall":
        """The same for arguments that are in these places."""
        return TracedCall(
            self.jaxpr,
            (self.in_tree, self.out_tree),
            self.fun_name,
            types,
            self.options,
            self.donated,
            self.inputs,
            self.outs,
        )

    def program(self, options: dict[str, Any] | None = None) -> LoweredProgram:
        # if nothing is donated, the same program that calls inside other transformations run
        stated = self.options.compiler_options
        said = stated if options is None else checked_compiler_options(options)
        return lowered_with(self.jaxpr, self.donated, self.options.keep_unused, said)

    def target(self, types: Sequence[ArrayType], program: LoweredProgram) -> ProgramTarget:
        if program.donated and not program.warned:
            warn_of_unusable(program, "jit")
        return target_of(program, types, self.named, self.inputs, self.outs)

    @functools.cached_property
    def called(self) -> tuple[Params, list[Aval]]:
        """The parameters of a call inside another transformation, and the avals of its results."""
        whole, named = self.jaxpr.without_consts(), self.named
        on_one = named is not None and named.group is None
        where = (("device", named.device),) if named is not None and on_one else ()
        return (("jaxpr", whole), *where), whole.out_avals

    def apply(self, values: Sequence[Value], trace: Trace) -> Any:
        if stated := dict(self.options.compiler_options):
            raise ValueError(
                f"jit: compiler_options={stated} are those of a whole program; "
                f"{self.jaxpr.name} is called inside another transformation\n"
                "  fix: pass them to the outermost jit"
            )
        if self.inputs is not None:
            values = constrain_all(values, self.inputs)
        if self.options.inline and not is_eager(trace):
            outs = run(self.jaxpr, values, trace)
        else:
            params, out_avals = self.called
            outs = trace.bind(call, [*self.jaxpr.consts, *values], params, out_avals)
        if self.outs is not None:
            outs = constrain_all(outs, self.outs)
        return self.out_tree.unflatten(self.with_numpys_zeros(outs) if self.bitless else outs)


def constrain_all(values: Sequence[Value], shardings: Sequence[Sharding | None]) -> list[Value]:
    """Traced values with sharding constraints."""
    return [
        x if s is None else constrain(x, sharding=s) for x, s in zip(values, shardings, strict=True)
    ]


def labels_by_path(paths: Sequence[str], out_tree: PyTreeDef) -> Labels:
    """Labels that call inputs and results by their paths (`debugging/nonfinite.py`)."""
    numbers = out_tree.unflatten(range(out_tree.num_leaves))
    results = [f"its result{keystr(path)}" for path, _ in tree_flatten_with_path(numbers)[0]]
    return Labels(tuple(f"its argument {path}" for path in paths), tuple(results))


def type_of(x: Any, a: Aval) -> ArrayType:
    """The type of an argument, or of a stand-in for one, which may have a sharding."""
    if isinstance(x, Array):
        return x.type
    sharding = getattr(x, "sharding", None)
    states = isinstance(sharding, Sharding) and not is_unstated(sharding)
    return type_with(a, sharding if states else None)


class JittedFunction:
    """The state of a jitted function. Users get `call`: the fast path of calls, a function with the
    methods of this class as attributes."""

    def __init__(self, function: Callable[..., Any], options: JitOptions) -> None:
        self.function, self.options, self.name = function, options, name_of(function)
        self.programs = programs_of(function, options)
        self.is_simple = options.is_simple

    def call(self) -> Any:
        """The function that users call.

        It refers to this object, and not the reverse: so all that the function closes over is freed
        with it at once.
        """
        general = located(self.general)
        call: Any = dispatcher(self.function, self.programs, general, self.explained)
        call.trace, call.lower = located(self.trace), located(self.lower)
        call.eval_shape, call.clear_cache = self.eval_shape, self.clear_cache
        call.weft_made = "trace", "lower", "eval_shape", "clear_cache"
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
        )

    def traced(self, flat: FlatFunction) -> TracedCall:
        """The function traced on the signature of a call, if it is new."""
        try:
            return self.programs.find(flat.key, lambda: self.trace_now(flat))
        except Exception as error:  # raised again
            if statics := flat.named_statics():
                note_comparison(error, "jit", self.function, statics)
            raise

    def trace_now(self, flat: FlatFunction) -> TracedCall:
        """Traces a signature."""
        options = self.options
        signature = flat.in_tree, flat.avals, flat.statics
        programs = self.programs
        programs.count += 1
        if thread.log_compiles or "retrace" in thread.debug:
            before, positions = programs.signatures, [*flat.positions]
            tell(
                explanation(self.function, positions, signature, before, programs.count, flat.paths)
            )
        programs.signatures.append((*signature, thread.key))
        jaxpr = flat.stage()
        if locations_wanted():
            jaxpr = jaxpr.replace(labels=labels_by_path(flat.paths(), flat.out_tree))
        inputs = outs = None
        if options.in_shardings is not None:
            if flat.kwargs_tree is not None:
                raise errors.ShapeError(
                    "jit: in_shardings speak of positional arguments; got "
                    f"{sorted(flat.kwargs_tree.data)} by keyword\n  fix: pass them by position to "
                    f"{function_line(self.function)}"
                )
            inputs = options.in_shardings.of_arguments(flat.in_tree, flat.avals, flat.paths)
        if options.out_shardings is not None:
            outs = options.out_shardings.of_results(flat.out_tree, jaxpr.out_avals)
        donated = flat.leaves_of(options.donate_argnums, options.donate_argnames)
        trees = flat.in_tree, flat.out_tree
        return TracedCall(
            jaxpr, trees, self.name, flat.avals, options, tuple(donated), inputs, outs
        )

    # --- calls ---

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of any call. Has calls like it take the fast path if that can take them."""
        if thread.disable_jit:
            return self.function(*args, **kwargs)
        flat = self.flatten(args, kwargs)
        traced = self.traced(flat)
        values: Any = flat.values
        trace = current.trace
        if traced.is_open or not (trace is _base or (trace.computes and not looked_at())):
            return traced.apply(values, trace)
        try:
            result = traced.run(values)
        except errors.DeletedArrayError:
            if (error := self.deleted_argument(flat)) is None:
                raise
            raise error from None
        if self.is_simple and not kwargs and current.trace is _base:
            traced.put_on_fast_path(self.programs, args, flat.args_tree, values)
        return result

    def explained(
        self, error: RuntimeError, buffers: Sequence[Any], args: tuple[Any, ...], count: int
    ) -> Exception:
        """weft's error for one that XLA raised on the fast path."""
        found = self.deleted_argument(self.flatten(args, {}))
        if found is None:
            ours = isinstance(error, (XlaError, BusyDevicesError, ForkError, errors.WeftError))
            found = error if ours else explain(error, buffers)
        return noted(found)

    def deleted_argument(self, flat: FlatFunction) -> Exception | None:
        """The error for the first argument whose memory is gone; `None` if there is none."""
        for i, value in enumerate(flat.values):
            if isinstance(value, Array) and value.is_deleted():
                return deleted(self.function, flat.paths()[i], value)
        return None

    # --- looking ---

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced program for these arguments, for looking at and lowering.

        Anything with a shape and a dtype does for an argument.
        """
        flat = self.flatten(args, kwargs, abstract=True)
        types = [type_of(x, a) for x, a in zip(flat.leaves, flat.avals, strict=True)]
        return self.traced(flat).of_types(types)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments as StableHLO, to be compiled ahead of time."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results, in their tree."""
        return located(self.trace)(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forgets all traced and compiled programs of this function."""
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
      compiler_options: XLA's options by name, for calls outside of other transformations only.
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
    Source: JAX documentation, `jax.jit`.
    """
    given = locals()
    options = {name: value for name, value in given.items() if name != "fun"}
    if fun is None:
        decorator = functools.partial(jit, **options)
        return cast("Wrapped[P, R]", decorator)
    check_callable(fun, "jit")
    jitted: Wrapped[P, R] = JittedFunction(fun, checked_options(fun, **options)).call()
    return jitted
