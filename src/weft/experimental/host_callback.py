"""JAX's older host callbacks: call, id_tap, id_print, barrier_wait. New code uses `debug.print`,
`debug.callback`, `io_callback` and `pure_callback`.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.source import located
from ..primitives.callbacks import Batching, HostFunction, io_callback
from ..runtime import client
from ..runtime.callback import flush
from ..transforms import callbacks
from ..transforms.arguments import check_callable, name_of
from ..transforms.callbacks import check_arrays
from ..tree_util import tree_flatten

__all__ = ["barrier_wait", "call", "id_print", "id_tap"]


@located
def call(
    callback_func: Callable[..., Any],
    arg: Any,
    *,
    result_shape: Any = None,
    call_with_device: bool = False,
) -> Any:
    """Calls a Python function with values of the program, and returns its results.

    It is called each time the program reaches it, in program order, and under `vmap` for each
    element. It has no derivative; define one with custom_jvp or custom_vjp.

    Args:
      callback_func: called as (arg), with arrays.
      arg: a tree of arrays and numbers.
      result_shape: the types of the result: a tree of objects with a shape and a dtype, or None.
      call_with_device: whether to call it as (arg, device=the device where the program runs).
    Example:
      >>> import numpy, weft
      >>> from weft.experimental import host_callback as hcb
      >>> x = weft.numpy.array([[2.0, 0.0], [0.0, 4.0]])
      >>> weft.jit(lambda x: hcb.call(numpy.linalg.inv, x, result_shape=x))(x)
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    Source: JAX's documentation, `jax.experimental.host_callback`.
    """
    return callbacks.call(
        "call", io_callback, callback_func, result_shape, (arg,), {}, with_device=call_with_device
    )


@located
def id_tap(
    tap_func: Callable[..., Any],
    arg: Any,
    *,
    result: Any = None,
    tap_with_device: bool = False,
) -> Any:
    """Calls a Python function with values of the program, for its effects.

    It is called each time the program reaches it, in program order: under derivatives in the
    forward pass, and under `vmap` with the whole batch.

    Args:
      tap_func: called as (arg, transforms), with arrays; its result is ignored. `transforms` is
        a tuple of pairs of a name and parameters, one for each `vmap`, the innermost first:
        `("batch", {"batch_dims": (0, None)})`, with an entry for each array of `arg`.
      arg: a tree of arrays and numbers.
      result: what to return instead of `arg`.
      tap_with_device: whether to call it as (arg, transforms, device=where the program runs).
    Returns: `result` if given, otherwise `arg`.
    Example:
      >>> import weft
      >>> from weft.experimental import host_callback as hcb
      >>> f = lambda x: hcb.id_tap(lambda a, transforms: print(a, transforms), 2 * x) + 1
      >>> print(weft.jit(f)(3.0))
      6.0 ()
      7.0
      >>> print(weft.jit(weft.vmap(f))(weft.numpy.arange(2.0)))
      [0. 2.] (('batch', {'batch_dims': (0,)}),)
      [1. 3.]
    Source: JAX's documentation, `jax.experimental.host_callback`.
    """
    check_callable(tap_func, "id_tap")
    check_arrays("id_tap", tap_func, (arg,), {})
    leaves, tree = tree_flatten(arg)

    def tapping(transforms: tuple[Any, ...]) -> HostFunction:
        def function(arrays: list[Any], device: Any) -> Sequence[Any]:
            extra = {"device": device or client.default_device()} if tap_with_device else {}
            tap_func(tree.unflatten(arrays), transforms, **extra)
            return ()

        def batching(base: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
            dims = tuple(0 if m else None for m in mask)
            return tapping((*transforms, ("batch", {"batch_dims": dims})))

        key = ("id_tap", tap_func, tree, tap_with_device, repr(transforms))
        return HostFunction(function, (), name_of(tap_func), Batching(batching), key)

    io_callback(*leaves, function=tapping(()))
    return arg if result is None else result


@located
def id_print(
    arg: Any,
    *,
    result: Any = None,
    output_stream: Any = None,
    threshold: int | None = None,
    tap_with_device: bool = False,
    **kwargs: Any,
) -> Any:
    """Prints values of the program when it reaches them, after a line with the keyword arguments.

    Args:
      arg: a tree of arrays and numbers.
      result: what to return instead of `arg`.
      output_stream: where to print, an object with a method `write`; by default standard output.
      threshold: arrays of more elements are printed in part; by default NumPy's setting.
      tap_with_device: whether to print the device too.
      kwargs: names and values for the line before. Under `vmap` it also shows `transforms`.
    Returns: `result` if given, otherwise `arg`.
    Example:
      >>> import weft
      >>> from weft.experimental import host_callback as hcb
      >>> @weft.jit
      ... def power3(x):
      ...     y = x * x
      ...     _, y = hcb.id_print((x, y), what="x,x^2")
      ...     return y * x
      >>> print(power3(3.0))
      what: x,x^2
      ( 3.
        9. )
      27.0
    Source: JAX's documentation, `jax.experimental.host_callback`.
    """
    printer = Printer(output_stream, threshold, tuple(sorted(kwargs.items())))
    return id_tap(printer, arg, result=result, tap_with_device=tap_with_device)


@dataclass(frozen=True)
class Printer:
    """The callback of `id_print`. Two instances that print alike are equal."""

    stream: Any
    threshold: int | None
    words: tuple[tuple[str, Any], ...]
    name = "print"

    def __call__(self, arg: Any, transforms: Any, **extra: Any) -> None:
        words = dict(self.words) | extra
        if transforms:
            words["transforms"] = list(transforms)
        lines = [" ".join(f"{k}: {v}" for k, v in sorted(words.items()))] if words else []
        stream = sys.stdout if self.stream is None else self.stream
        stream.write("\n".join([*lines, self.text_of(arg)]) + "\n")
        if self.stream is None:
            flush()

    def text_of(self, x: Any) -> str:
        """A tree as text: one line for each item, with Python's brackets."""
        if isinstance(x, dict):
            items = [f"{k}={self.text_of(v)}" for k, v in sorted(x.items())]
            brackets = "{ ", " }"
        elif isinstance(x, (tuple, list)):
            items = [self.text_of(v) for v in x]
            brackets = ("( ", " )") if isinstance(x, tuple) else ("[ ", " ]")
        elif x is None:
            return "None"
        else:
            return np.array2string(np.asarray(x), threshold=self.threshold)
        inside = "\n".join(items).replace("\n", "\n  ")
        return f"{brackets[0]}{inside}{brackets[1]}"


def barrier_wait(logging_name: str | None = None) -> None:
    """Returns at once: when a program has returned, all its callbacks have run.

    Args:
      logging_name: has no effect.
    Example:
      >>> from weft.experimental import host_callback
      >>> calls = []
      >>> f = lambda x: host_callback.id_tap(lambda value, _: calls.append(float(value)), x)
      >>> _ = jit(f)(2.0)
      >>> host_callback.barrier_wait()
      >>> calls
      [2.0]
    """
    flush()
