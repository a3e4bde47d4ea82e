"""pure_callback and io_callback: calls of Python functions on the host, at once or from inside a
compiled program.

A call with effects runs each time the program reaches it, in program order. A call without effects
may be repeated, or dropped if its result is unused. `transforms/callbacks.py` flattens arguments
and results.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, errors
from ..config import default_device
from ..core.array import Array, as_value
from ..core.aval import Aval, aval
from ..core.caching import cached_on_program
from ..core.primitive import Effects, Primitive
from ..core.trace import current, under
from ..core.value import Value
from ..stablehlo import Block, Operand
from ..stablehlo.block import CALLBACKS
from .rule_types import Avals, Batched, DType, Tangents, Values
from .structural import reshape, widen

# XLA only keeps the order of data dependencies. So each call takes a number that the previous call
# returned. The number passes through functions, branches and loops (compiler/lower.py).
TOKEN = aval((), dtypes.int32)


class Batching(NamedTuple):
    """The rule by which `vmap` changes a call.

    Attributes:
      function: (the function, which arguments are batched, size) -> a function whose batched
        arguments and results all carry the batch along axis 0.
      widen: (value, size) -> value, gives unbatched arguments a batch axis; `None` leaves them
        unbatched.
    """

    function: Callable[["HostFunction", tuple[bool, ...], int], "HostFunction"]
    widen: Callable[[Any, int], Any] | None = None


class HostFunction:
    """A Python function as a parameter of an equation.

    Args:
      function: called as (list of arrays, device); returns the list of results. The device is
        `None`
        if none was specified.
      outs: the types of the results.
      name: its name in jaxprs and messages.
      batching: its rule under `vmap`.
      key: functions with equal keys are interchangeable; a function without a key equals only
        itself.
    """

    __slots__ = ("__name__", "__weakref__", "batching", "cached_results", "function", "key", "outs")

    def __init__(
        self,
        function: Callable[[list[Any], Any], Sequence[Any]],
        outs: Sequence[Aval],
        name: str,
        batching: Batching,
        key: object = None,
    ) -> None:
        self.function, self.outs, self.__name__ = function, tuple(outs), name
        self.batching = batching
        try:
            hash(key)
        except TypeError:
            key = None
        self.key: Any = id(self) if key is None else (key, self.outs)
        self.cached_results: dict[Any, dict[Any, Any]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostFunction) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.__name__

    def __call__(self, args: Sequence[object], device: object = None) -> list[Any]:
        """Calls the function; returns NumPy arrays of the declared types."""
        return under(current.base, self.results, list(args), device)

    def results(self, args: list[Any], device: object) -> list[Any]:
        """Calls the function under the current trace."""
        results = self.function(args, device)
        return [self.checked(i, r) for i, r in enumerate(results)]

    def checked(self, number: int, result: object) -> Any:
        """A result as a NumPy array; raises TypeError if it does not have the declared type."""
        expected = self.outs[number]
        try:
            value = as_value(result)
        except (TypeError, ValueError):
            raise TypeError(
                f"{self}: expected {expected} as result {number} of the callback; got a "
                f"{type(result).__name__}, {result!r:.60}"
            ) from None
        host, dtype = np.asarray(value), value.aval.dtype
        number_of_python = value.aval.weak_type or isinstance(result, bool)
        if number_of_python and dtype_rank(dtype) <= dtype_rank(expected.dtype):
            dtype = expected.dtype
        if host.shape != expected.shape or dtype != expected.dtype:
            raise errors.ShapeError(
                f"{self}: expected {expected} as result {number} of the callback, as "
                f"declared; got {value.aval}\n"
                "  fix: convert it in the callback, or declare the callback's type"
            )
        return host.astype(dtype, copy=False)

    def on(self, device: Any) -> Callable[..., list[Any]]:
        """The function that compiled programs call with a token and NumPy arrays.

        Args:
          device: a device, or a group, in which the token is the number of the calling device.
        """
        devices = getattr(device, "devices", (device,))

        def call(token: Value, *hosts: Value) -> list[Any]:
            arrays = [Array(h, aval(h.shape, h.dtype)) for h in hosts]
            return [token, *self(arrays, devices[int(token)])]

        def call_from_accelerator(token: Value, *hosts: Value) -> list[Any]:
            # the accelerator waits for the function, so the function cannot wait for the
            # accelerator
            with default_device("cpu"):
                return call(token, *hosts)

        return call if devices[0].platform == "cpu" else call_from_accelerator

    def batched(self, mask: Sequence[bool], batch_size: int) -> "HostFunction":
        """The function for batched arguments; created once for each mask and size."""
        return batched_function(self, tuple(mask), batch_size)


@cached_on_program
def batched_function(
    function: HostFunction, mask: tuple[bool, ...], batch_size: int
) -> HostFunction:
    """See `HostFunction.batched`."""
    return function.batching.function(function, mask, batch_size)


def dtype_rank(dtype: DType) -> int:
    """The kinds of dtypes, in order: a value of one kind converts to every later kind."""
    if dtypes.is_bool(dtype):
        return 0
    return 1 if dtypes.is_integer(dtype) else 3 if dtypes.is_complex(dtype) else 2


# --- functions of a batch ---


def batched_types(outs: Sequence[Aval], batch_size: int) -> list[Aval]:
    """The types of results that carry a batch."""
    return [a.update(shape=(batch_size, *a.shape)) for a in outs]


def called_for_each(base: HostFunction, mask: tuple[bool, ...], batch_size: int) -> HostFunction:
    """Calls the function for each element of the batch, in order."""

    def function(args: list[Any], device: object) -> list[Any]:
        hosts = [np.asarray(a) for a in args]
        rows = []
        for i in range(batch_size):
            element = [
                Array(h[i], a.aval.update(shape=a.shape[1:])) if m else a
                for h, a, m in zip(hosts, args, mask, strict=True)
            ]
            rows.append(base(element, device))
        if not rows:
            return [np.zeros((0, *a.shape), a.dtype) for a in base.outs]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    key = (called_for_each, base, mask, batch_size)
    return HostFunction(
        function, batched_types(base.outs, batch_size), base.__name__, one_by_one, key
    )


def called_once(base: HostFunction, mask: tuple[bool, ...], batch_size: int) -> HostFunction:
    """Calls the function once, with the whole batch, as arrays with one more axis."""
    key = (called_once, base, mask, batch_size)
    return HostFunction(
        base.function, batched_types(base.outs, batch_size), base.__name__, base.batching, key
    )


one_by_one = Batching(called_for_each)
as_they_are = Batching(called_once)
with_axes_of_one = Batching(called_once, lambda x, size: reshape(x, shape=(1, *x.shape)))
with_full_axes = Batching(called_once, lambda x, size: widen(x, (size, *x.shape)))


# --- the primitives ---


class HostCall(Primitive):
    """A primitive that calls Python. Derived programs are cached on its function."""

    def __init__(self, name: str, doc: str, effects: bool) -> None:
        super().__init__(name, doc, multiple=True)
        self.effects = Effects(acts=effects, calls_host=True)

        @self.type
        def _(*avals: Aval, function: HostFunction) -> Avals:
            return function.outs

        @self.lower
        def _(
            block: Block, *operands: Operand, out: Avals, function: HostFunction
        ) -> list[Operand]:
            return lower_host_call(block, operands, out, function)

        @self.jvp
        def _(
            primals: Values, tangents: Tangents, out: Values, *, function: HostFunction
        ) -> Tangents:
            if any(o.aval.inexact for o in out):
                raise no_derivative(function)
            return [None] * len(out)

        @self.host.execute
        def _(args: Sequence[Array], *, function: HostFunction) -> list[Array]:
            return call_now(args, function)

        @self.batch
        def _(args: Values, batched: Batched, batch_size: int, *, function: HostFunction) -> Value:
            widen = function.batching.widen
            if widen is not None:
                args = [
                    a if b else widen(a, batch_size) for a, b in zip(args, batched, strict=True)
                ]
                batched = [True] * len(args)
            return self(*args, function=function.batched(batched, batch_size))

    def owner(self, params: Any) -> HostFunction:
        function: HostFunction = params[0][1]
        return function

    def out(self, args: object, params: Any) -> Any:
        return params[0][1].outs


def call_now(args: Sequence[Array], function: HostFunction) -> list[Array]:
    """Calls a host function with arrays and returns its results."""
    device = next((min(a.devices(), key=lambda d: d.id) for a in args if a.committed), None)
    strong_args = [
        Array(a._host, a.aval.strong(), a._buffer) if a.aval.weak_type else a for a in args
    ]
    results = function(strong_args, device)
    return [Array(r, a) for r, a in zip(results, function.outs, strict=True)]


def lower_host_call(
    block: Block, operands: Sequence[Operand], out: Avals, function: HostFunction
) -> list[Operand]:
    """Writes the call: it takes a token and operands, and returns a token and results."""
    module = block.module
    if module.platform not in CALLBACKS:
        raise errors.MissingRuleError(
            f"{function}: compiled programs can call Python on CPUs and GPUs; this one is for "
            f"{module.platform}\n  fix: call it outside of jit, or compile the function that calls "
            "it for the CPU: jit(f, backend='cpu')"
        )
    if module.region is not None and module.region.rest:
        raise errors.MissingRuleError(
            f"{function}: a function that is mapped over a part of the axes of a mesh can't call "
            f"Python; {module.region.mesh} has the axes {module.region.rest} too\n  fix: shard_map "
            "over all axes, or make the call outside"
        )
    if function not in module.callbacks:
        module.callbacks.append(function)
    index = module.callbacks.index(function)
    block.token, *results = block.call_host(index, [token_of(block), *operands], [TOKEN, *out])
    return results


def token_of(block: Block) -> Operand:
    """The token of everything that the program has done on the host so far."""
    if block.token is None:
        block.token = block.constant(np.int32(0), TOKEN)
    return block.token


def no_derivative(function: HostFunction) -> Exception:
    """The error for a derivative through a callback."""
    return errors.MissingRuleError(
        f"{function}: a callback can't be differentiated: nothing is known of what Python does\n"
        "  fix: state its derivative by custom_jvp or custom_vjp; or lax.stop_gradient(x) around "
        "the arguments if it is to be zero"
    )


pure_callback = HostCall(
    "pure_callback", "The results of a Python function without effects.", effects=False
)
io_callback = HostCall("io_callback", "Calls a Python function that has effects.", effects=True)
