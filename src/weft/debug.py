"""print, callback, breakpoint: inspection of values while compiled programs run.
nan_trace, precision_trace: the line that makes a NaN, or loses digits (`explanation/`).
visualize_sharding, visualize_array_sharding: pictures of how arrays are divided.

Calls of `print`, `callback` and `breakpoint` are made in program order: under `vmap` once for each
element if a value depends on the mapped axis, and under derivatives once, in the forward pass.
"""

import bdb
import functools
import string
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from .core.array import Array
from .core.source import located
from .core.trace import current
from .core.value import Value
from .errors import ShapeError
from .lazy import exports
from .programs.hash_consing import is_eager
from .sharding import Sharding
from .transforms.callbacks import tap
from .tree_util import tree_leaves
from .user_lines import noted, user_frame

if TYPE_CHECKING:
    from .explanation.nan_trace import NanTrace, nan_trace
    from .explanation.precision_trace import PrecisionTrace, precision_trace

__all__ = [
    "NanTrace",
    "PrecisionTrace",
    "breakpoint",
    "callback",
    "nan_trace",
    "precision_trace",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]

__getattr__ = exports(
    __package__,
    {
        "explanation.nan_trace": "NanTrace nan_trace",
        "explanation.precision_trace": "PrecisionTrace precision_trace",
    },
    into=__name__,
)[1]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@located
def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function with values of the program, for its effects.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; its result is
        ignored. An exception in it ends the program, and is raised to the caller. If omitted,
        `callback(ordered=True)` returns a function of (callback, *args, **kwargs), which has no
        options.
      args, kwargs: arrays and containers of them; other leaves are unchanged.
      ordered: has no effect: all calls are made in program order.
      partitioned: must be False: the callback gets whole arrays, not the part of each device.
    Returns: None, or that function.
    Example:
      >>> import weft, weft.numpy as np
      >>> seen = []
      >>> def f(x):
      ...     weft.debug.callback(lambda y: seen.append(float(y)), x * 2)
      ...     return x
      >>> _ = weft.jit(weft.grad(f))(3.0)
      >>> seen
      [6.0]
    Source: JAX's documentation, `jax.debug.callback`.
    """
    check_options("debug.callback", callback, partitioned, args, kwargs)
    if callback is None:
        return _callback
    return _callback(callback, *args, **kwargs)


@located
def _callback(callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    tap("debug.callback", callback, args, kwargs)


def check_options(
    name: str, first: object, partitioned: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises an error for an unsupported option, and for arguments without the first one."""
    if partitioned:
        raise noted(
            NotImplementedError(
                f"{name}: partitioned=True isn't supported: values are whole, not the parts of a "
                "device\n  fix: leave it out; a call inside shard_map has each device's part"
            )
        )
    if first is None and (args or kwargs):
        raise TypeError(f"{name}: got None and arguments for it\n  fix: {name}(…)(first, *args)")


@located
def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Prints values of the program when it reaches them.

    Args:
      fmt: a format as for `str.format`: `"x: {}, y: {y:.3f}"`. Not an f-string, which would show
        the tracers. If omitted, `print(ordered=True)` returns a function of (fmt, *args,
        **kwargs), which has no options.
      args, kwargs: the values of the format.
      ordered: has no effect: all calls are made in program order.
      partitioned: as in `callback`.
      skip_format_check: if True, a wrong format is found only when the program runs.
    Returns: None, or that function.
    Raises: ValueError: the format names a missing argument, or does not use one.
    Example:
      >>> import weft, weft.numpy as np
      >>> @weft.jit
      ... def f(x):
      ...     weft.debug.print("x: {}, its sum: {s:.1f}", x, s=np.sum(x))
      ...     return x
      >>> _ = f(np.arange(3.0))
      x: [0. 1. 2.], its sum: 3.0
    Source: JAX's documentation, `jax.debug.print`.
    """
    check_options("debug.print", fmt, partitioned, args, kwargs)
    printing = functools.partial(_print, skip_format_check)
    return printing if fmt is None else printing(fmt, *args, **kwargs)


@located
def _print(skip_format_check: bool, fmt: str, /, *args: Any, **kwargs: Any) -> None:
    if not isinstance(fmt, str):
        raise TypeError(
            f"debug.print: the first argument is the format, a str; got {type(fmt).__name__}\n"
            "  fix: debug.print('{}', x)"
        )
    if not skip_format_check:
        check_format(fmt, args, kwargs)

    def show(*args: Any, **kwargs: Any) -> None:
        # one write: lines of several threads don't mix
        sys.stdout.write(fmt.format(*args, **kwargs) + "\n")
        sys.stdout.flush()

    tap("debug.print", show, args, kwargs, f"print({fmt!r:.40})", ("print", fmt))


class _Anything:
    """An argument that supports every operation of a format."""

    def __getattr__(self, name: str) -> "_Anything":
        return self

    def __getitem__(self, key: Any) -> "_Anything":
        return self

    def __format__(self, spec: str) -> str:
        return ""


class _Checker(string.Formatter):
    def check_unused_args(self, used: Any, args: Any, kwargs: Any) -> None:
        unused = [f"argument {i}" for i in range(len(args)) if i not in used]
        unused += [repr(name) for name in kwargs if name not in used]
        if unused:
            raise ValueError(f"it has no place for {', '.join(unused)}")


def check_format(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises an error for a format that does not match its arguments, before the program runs."""
    anything = _Anything()
    try:
        _Checker().vformat(fmt, [anything] * len(args), dict.fromkeys(kwargs, anything))
    except IndexError:
        raise ValueError(
            f"debug.print: the format {fmt!r:.60} has places for more than the {len(args)} "
            "positional arguments"
        ) from None
    except KeyError as error:
        raise ValueError(
            f"debug.print: the format {fmt!r:.60} needs an argument {error.args[0]!r}; got "
            f"{', '.join(map(repr, kwargs)) or 'none by name'}"
        ) from None
    except ValueError as error:
        raise ValueError(f"debug.print: the format {fmt!r:.60}: {error}") from None


# --- breakpoint ---


@located
def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: None = None,
) -> None:
    """Stops in the debugger `pdb`, at the line that calls it.

    Where the values are known (outside `jit` and of loops' bodies), it is an ordinary breakpoint.
    In traced code, `pdb` is entered when the program runs and reaches this call: the function's
    names have their values at that time, and `c` continues the program. Changes to them have no
    effect, and the frames above belong to the call.

    Args:
      backend: 'cli', the only one: `pdb`.
      filter_frames, num_frames: which frames are listed; without effect.
      ordered: without effect: effects are in the order of the program.
      token: must be None.
    Raises: ValueError: another `backend`, or a token.
    Example::

        @weft.jit
        def f(x):
            y = x * 2
            weft.debug.breakpoint()     # (Pdb) p y
            return y + 1

        f(1.0)

    Source: JAX's documentation, `jax.debug.breakpoint`.
    """
    if backend not in (None, "cli") or token is not None:
        raise ValueError(
            f"debug.breakpoint: backend must be 'cli', and token None; got {backend!r}, {token!r}"
        )
    frame = user_frame()
    assert frame is not None
    if is_eager(current.trace):
        _debugger().set_trace(frame)
        return
    # pass on names that hold values only: others could hold tracers that are dead by then
    values = {name: x for name, x in frame.f_locals.items() if has_values(x)}
    others = {name: x for name, x in frame.f_locals.items() if name not in values}
    stop = Stop(frame, others)
    tap("debug.breakpoint", stop, (values,), {}, "breakpoint", stop)


def has_values(x: Any) -> bool:
    """True if a tree contains a value of weft."""
    try:
        return any(isinstance(leaf, Value) for leaf in tree_leaves(x))
    except (TypeError, ValueError):  # a dict with keys of many kinds, say: no tree
        return False


def _debugger() -> Any:
    import pdb

    class Debugger(pdb.Pdb):
        """A debugger that records whether it was quit, which `Bdb.run` hides."""

        left = False

        def set_quit(self) -> None:
            self.left = True
            super().set_quit()

    return Debugger()


class Stop:
    """The debugger at a line of a function that has returned, with the function's names."""

    def __init__(self, frame: FrameType, names: dict[str, Any]) -> None:
        self.globals, self.names = frame.f_globals, names
        self.line, self.code = frame.f_lineno, frame.f_code
        self.__name__ = "breakpoint"

    def __call__(self, values: dict[str, Any]) -> None:
        debugger = _debugger()
        debugger.run(self.stand_in(), self.globals, {**self.names, **values})
        if debugger.left:
            raise bdb.BdbQuit

    def stand_in(self) -> CodeType:
        """Code that does nothing, with the file and the line number of the breakpoint."""
        code = compile("\n" * (self.line - 1) + "pass", self.code.co_filename, "exec")
        return code.replace(co_name=self.code.co_name, co_qualname=self.code.co_qualname)


@located
def visualize_sharding(shape: Sequence[int], sharding: Sharding) -> None:
    """Prints a picture of how an array would be divided: the devices that have each part.

    Args:
      shape: one axis, drawn from left to right, or two, drawn as a matrix.
      sharding: the division.
    Raises: ValueError: there are more axes, or the sharding doesn't divide the shape evenly.
    Example:
      >>> import weft
      >>> weft.debug.visualize_sharding((4, 2), weft.numpy.ones(()).sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    Source: JAX documentation, `jax.debug.visualize_sharding`.
    """
    if not 1 <= len(shape) <= 2:
        raise ShapeError(
            f"visualize_sharding: expected a shape of one or two axes; got {tuple(shape)}\n"
            "  fix: x.sharding.devices_indices_map(x.shape) names the part of each device"
        )
    cells: dict[tuple[int, ...], list[Any]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        corner = tuple(part.start or 0 for part in index)
        cells.setdefault((0,) * (2 - len(corner)) + corner, []).append(device)
    labels = {
        corner: f" {devices[0].platform.upper()} {','.join(str(d.id) for d in devices)} "
        for corner, devices in cells.items()
    }
    rows, columns = (sorted({corner[axis] for corner in labels}) for axis in (0, 1))
    width = max(map(len, labels.values()))
    line = ["─" * width] * len(columns)
    lines = [
        "│" + "│".join(labels[row, column].center(width) for column in columns) + "│"
        for row in rows
    ]
    between = f"\n├{'┼'.join(line)}┤\n"
    sys.stdout.write(f"┌{'┬'.join(line)}┐\n{between.join(lines)}\n└{'┴'.join(line)}┘\n")


@located
def visualize_array_sharding(arr: Array) -> None:
    """Prints a picture of how an array is divided: the devices that have each part.

    Args:
      arr: an array of one or two axes, whose elements are known.
    Raises: TypeError: the array is traced, so its devices are unknown. ValueError: it has more
      axes.
    Example:
      >>> import weft, weft.numpy as np
      >>> weft.debug.visualize_array_sharding(np.ones(8))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    Source: JAX documentation, `jax.debug.visualize_array_sharding`.
    """
    if not isinstance(arr, Array):
        raise TypeError(
            "visualize_array_sharding: expected an array that is on devices; got "
            f"{getattr(arr, 'aval', type(arr).__name__)}\n"
            "  fix: call it on a result, outside of transformed functions"
        )
    visualize_sharding(arr.shape, arr.sharding)
