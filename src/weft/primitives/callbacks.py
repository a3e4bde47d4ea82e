"""Calls of Python functions on the host: at once, or from inside a compiled program.

A call with effects is made once each time that the program comes to it, in the program's order. One
without may be dropped if nothing needs its result, or made again. Knows lists of arrays; knows
nothing of what arguments and results look like to the user (`transforms/callbacks.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, as_value
from ..core.aval import Aval, aval
from ..core.derived import derived
from ..core.primitive import Primitive
from ..core.trace import current, under
from .structural import broadcast_in_dim, reshape

# XLA knows no order but that of data. So each call takes a number that the one before it gave,
# through functions, branches and loops (compiler/lower.py).
TOKEN = aval((), dtypes.int32)


class Batching(NamedTuple):
    """What `vmap` makes of a call.

    Attributes:
      function: (the function, which arguments are batched, size) -> the function of arguments that
        carry a batch along axis 0, as all its results do.
      widen: what becomes of an argument that isn't batched, (value, size) -> value: it counts as
        batched then. `None`: it stays as it is.
    """

    function: Callable[["HostFunction", tuple[bool, ...], int], "HostFunction"]
    widen: Callable[[Any, int], Any] | None = None


class HostFunction:
    """A Python function as equations hold it.

    Args:
      function: called as (list of arrays, device); gives the list of results. The device is `None`
        where nobody said which.
      outs: the types of the results.
      name: what jaxprs and messages call it.
      batching: what `vmap` makes of it.
      key: functions with equal keys do the same; without one, each is equal to itself alone.
    """

    __slots__ = ("__name__", "__weakref__", "batching", "derivations", "function", "key", "outs")

    def __init__(
        self,
        function: Callable[[list[Any], Any], Sequence[Any]],
        outs: Sequence[Aval],
        name: str,
        batching: Batching,
        key: Any = None,
    ) -> None:
        self.function, self.outs, self.__name__ = function, tuple(outs), name
        self.batching = batching
        try:
            hash(key)
        except TypeError:
            key = None
        self.key: Any = id(self) if key is None else (key, self.outs)
        self.derivations: dict[Any, dict[Any, Any]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostFunction) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.__name__

    def __call__(self, args: Sequence[Any], device: Any = None) -> list[Any]:
        """The results for arrays, as NumPy arrays of the types announced."""
        return under(current.base, self.results, list(args), device)

    def results(self, args: list[Any], device: Any) -> list[Any]:
        """The same, under the current trace."""
        results = self.function(args, device)
        return [self.checked(i, r) for i, r in enumerate(results)]

    def checked(self, number: int, result: Any) -> Any:
        """A result as NumPy array, if it is of the type announced."""
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
        if number_of_python and kind(dtype) <= kind(expected.dtype):
            dtype = expected.dtype
        if host.shape != expected.shape or dtype != expected.dtype:
            raise TypeError(
                f"{self}: expected {expected} as result {number} of the callback, as was "
                f"announced; got {value.aval}\n"
                "  fix: convert it in the callback, or announce what the callback gives"
            )
        return host.astype(dtype, copy=False)

    def on(self, device: Any) -> Callable[..., list[Any]]:
        """The function of a token and NumPy arrays that programs on a device call.

        Args:
          device: a device, or a group; the token is the number of the one in it that calls.
        """
        devices = getattr(device, "devices", (device,))

        def call(token: Any, *hosts: Any) -> list[Any]:
            arrays = [Array(h, aval(h.shape, h.dtype)) for h in hosts]
            return [token, *self(arrays, devices[int(token)])]

        return call

    def batched(self, mask: Sequence[bool], size: int) -> "HostFunction":
        """The function of arguments that carry a batch; made once."""
        return batched_function(self, tuple(mask), size)


@derived
def batched_function(function: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
    """See `HostFunction.batched`."""
    return function.batching.function(function, mask, size)


def kind(dtype: Any) -> int:
    """Booleans, integers, reals, complex numbers: each fits into the next."""
    if dtypes.is_bool(dtype):
        return 0
    return 1 if dtypes.is_integer(dtype) else 3 if dtypes.is_complex(dtype) else 2


# --- functions of a batch ---


def wide(outs: Sequence[Aval], size: int) -> list[Aval]:
    """The types of results that carry a batch."""
    return [a.update(shape=(size, *a.shape)) for a in outs]


def each(base: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
    """Calls the function for each element of the batch, in order."""

    def function(args: list[Any], device: Any) -> list[Any]:
        hosts = [np.asarray(a) for a in args]
        rows = []
        for i in range(size):
            element = [
                Array(h[i], a.aval.update(shape=a.shape[1:])) if m else a
                for h, a, m in zip(hosts, args, mask, strict=True)
            ]
            rows.append(base(element, device))
        if not rows:
            return [np.zeros((0, *a.shape), a.dtype) for a in base.outs]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    key = (each, base, mask, size)
    return HostFunction(function, wide(base.outs, size), base.__name__, one_by_one, key)


def whole(base: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
    """Calls the function once, with all of the batch: it takes arrays of more axes."""
    key = (whole, base, mask, size)
    return HostFunction(base.function, wide(base.outs, size), base.__name__, base.batching, key)


one_by_one = Batching(each)
as_they_are = Batching(whole)
with_axes_of_one = Batching(whole, lambda x, size: reshape(x, shape=(1, *x.shape)))
with_full_axes = Batching(
    whole,
    lambda x, size: broadcast_in_dim(x, shape=(size, *x.shape), dims=tuple(range(1, x.ndim + 1))),
)


# --- the primitives ---


class HostCall(Primitive):
    """A primitive that calls Python. What is derived from an operation is kept on its function."""

    calls_host = may_act = True

    def __init__(self, name: str, doc: str, effects: bool) -> None:
        super().__init__(name, doc, multiple=True, host_limit=0)
        self.effects = effects

        @self.type
        def _(*avals: Aval, function: HostFunction) -> Any:
            return function.outs

        @self.lower
        def _(block: Any, *operands: Any, out: Any, function: HostFunction) -> Any:
            return lower(block, operands, out, function)

        @self.jvp
        def _(primals: Any, tangents: Any, out: Any, *, function: HostFunction) -> Any:
            if any(dtypes.is_inexact(o.aval.dtype) for o in out):
                raise no_derivative(function)
            return [None] * len(out)

        @self.execute
        def _(args: Any, *, function: HostFunction) -> list[Any]:
            return call_now(args, function)

        @self.batch
        def _(args: Any, batched: Any, batch_size: int, *, function: HostFunction) -> Any:
            widen = function.batching.widen
            if widen is not None:
                args = [
                    a if b else widen(a, batch_size) for a, b in zip(args, batched, strict=True)
                ]
                batched = [True] * len(args)
            return self(*args, function=function.batched(batched, batch_size))

    def out(self, args: Any, params: Any) -> Any:
        return params[0][1].outs

    def keeps_derivatives_on(self, params: Any) -> Any:
        return params[0][1]


def call_now(args: Sequence[Array], function: HostFunction) -> list[Array]:
    """The results of a function on the host for arrays."""
    device = next((min(a.devices(), key=lambda d: d.id) for a in args if a.committed), None)
    given = [Array(a._host, a.aval.strong(), a._buffer) if a.aval.weak_type else a for a in args]
    results = function(given, device)
    return [Array(r, a) for r, a in zip(results, function.outs, strict=True)]


def lower(block: Any, operands: Sequence[Any], out: Any, function: HostFunction) -> list[Any]:
    """Writes the call: a token and operands go in, a token and results come out."""
    module = block.module
    if module.platform != "cpu":
        raise errors.MissingRuleError(
            f"{function}: compiled programs can call Python on the CPU only; this one is for "
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


def token_of(block: Any) -> Any:
    """What stands for all that a program has done on the host so far."""
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
    "pure_callback", "What a Python function gives, which does nothing else.", effects=False
)
io_callback = HostCall("io_callback", "Calls a Python function that has effects.", effects=True)
