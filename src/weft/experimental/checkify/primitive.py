"""`check` and `debug_check`: operations that fail if a condition is false; check_error raises the
error that a checkified function returned.

`checkify` turns their failures into values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.array import Array, as_value
from ...core.primitive import Effects, Primitive
from ...core.source import located
from ...core.value import Value
from ...primitives.selection import select_n
from ...primitives.structural import widen
from ...tree_util import tree_flatten
from ...typing import ArrayLike
from ...user_lines import noted, user_line
from .values import Error, FailedCheckError, Layout, Site

__all__ = ["check", "check_error", "debug_check"]

NONE = np.int32(-1)  # the code for no error

check_p = Primitive(
    "check",
    "Fails if its first operand, the number of one of `sites`, isn't -1. The others are the "
    "payload, with the axes of the number in front.",
    multiple=True,
    host="always",
)
check_p.effects = Effects(acts=True)


@check_p.type
def _(code: Any, *payload: Any, sites: tuple[Site, ...], debug: bool) -> list[Any]:
    return []


@check_p.host.execute
def _(args: Sequence[Array], *, sites: tuple[Site, ...], debug: bool) -> list[Array]:
    if not debug:
        Error(args[0], args[1:], sites).throw()
    return []


@check_p.lower
def _(
    block: Any, code: Any, *payload: Any, out: Any, sites: tuple[Site, ...], debug: bool
) -> list[Any]:
    if debug:
        return []
    where = sites[0].place.strip(" ()") if sites else ""
    raise noted(
        ValueError(
            f"checkify.check: a compiled program can't raise ({where})\n"
            "  fix: err, out = jit(checkify.checkify(f))(…) and then err.throw(); or "
            "checkify.debug_check, which is left out of programs that aren't checked"
        )
    )


@check_p.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> list[Any]:
    return []


@check_p.batch
def _(args: Any, batched: Any, batch_size: int, **params: Any) -> list[Any]:
    whole = [
        a if b else widen(a, (batch_size, *a.shape)) for a, b in zip(args, batched, strict=True)
    ]
    check_p(*whole, **params)
    return []


@located
def check(
    pred: ArrayLike, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any
) -> None:
    """Fails with a message if a condition is false.

    Outside compiled functions it raises at once. In a compiled function the failure must become a
    value: apply `checkify` to the function before `jit`.

    Args:
      pred: a boolean scalar.
      msg: the message. `str.format` fills its fields with the values that follow.
      fmt_args, fmt_kwargs: arrays, and containers of them.
      debug: if True, the check has an effect only in checkified functions.
    Raises: FailedCheckError: the condition is known, and false. ValueError: a function with a check
      is compiled. TypeError: the condition is not a boolean scalar, or a value is not an array.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, "{x} must be positive", x=x)
      ...     return np.log(x)
      >>> err, y = weft.jit(checkify.checkify(f))(-2.0)
      >>> err.get().split(" (")[0]
      '-2.0 must be positive'
    Source: JAX documentation, `jax.experimental.checkify.check`.
    """
    operation = "debug_check" if debug else "check"
    value = as_value(pred)
    if value.shape != () or value.dtype != np.bool_:
        raise TypeError(
            f"{operation}: the condition must be a boolean scalar; got {value.aval}\n"
            "  fix: numpy.all(condition)"
        )
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    payload = [as_value(x) for x in leaves]
    msg.format(*fmt_args, **fmt_kwargs)  # raises an error here for a field without a value
    slots = Layout().place([x.aval for x in payload])
    order = [slots.index(i) for i in range(len(slots))]
    site = Site(
        FailedCheckError,
        msg,
        f" (check failed at {user_line()})",
        tree if payload else None,
        tuple(slots),
    )
    code = select_n(value, np.int32(0), NONE)
    check_p(code, *[payload[i] for i in order], sites=(site,), debug=bool(debug))


def debug_check(pred: ArrayLike, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A `check` that has an effect only in checkified functions.

    Args: as for `check`.
    Example:
      >>> import weft
      >>> from weft.experimental import checkify
      >>> def f(x):
      ...     checkify.debug_check(x > 0, "not positive")
      ...     return x
      >>> weft.jit(f)(-1.0).item(), checkify.checkify(f)(-1.0)[0].get().split(" (")[0]
      (-1.0, 'not positive')
    Source: JAX documentation, `jax.experimental.checkify.debug_check`.
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@located
def check_error(error: Error) -> None:
    """Raises the error in an error value, if there is one. It is the inverse of `checkify`.

    Args:
      error: the error value that a checkified function returned.
    Raises: JaxRuntimeError: the error value contains an error. ValueError: a function with this
      call is compiled without `checkify` around it. TypeError: not an `Error`.
    Example:
      >>> import weft
      >>> from weft.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, "not positive")
      ...     return x
      >>> def again(x):
      ...     err, y = checkify.checkify(f)(x)
      ...     checkify.check_error(err)
      ...     return y * 2
      >>> err, y = weft.jit(checkify.checkify(again))(-1.0)
      >>> err.get().split(" (")[0]
      'not positive'
    Source: JAX documentation, `jax.experimental.checkify.check_error`.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: expected an Error; got {type(error).__name__}")
    if error.sites:
        values: list[Value] = [as_value(x) for x in (error.code, *error.payload)]
        check_p(*values, sites=error.sites, debug=False)
