"""Choices between arrays by conditions: where, select, piecewise."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import dtypes
from ..config import thread
from ..core.array import Array
from ..core.source import located, note_user_line
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import bitwise, selection, structural
from ..typing import ArrayLike
from .indexing import nonzero
from .plans import composite
from .promotion import SCALARS, cast, check_ranks, noted, promote_values, value
from .reductions import truth

__all__ = ["piecewise", "select", "where"]


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Elements of `x` where the condition holds, of `y` elsewhere.

    Args:
      condition: boolean array; of numbers, what isn't zero holds.
      x, y: arrays that broadcast together and with the condition; they are promoted to one dtype.
        Without them the indices are given where the condition holds, as by `nonzero`.
      size, fill_value: for `nonzero`.
    Returns: array of the broadcast shape; or a tuple of index arrays.
    Raises: ValueError: only one of `x` and `y` is given.
    Example:
      >>> np.where(np.array([True, False]), 1, np.array([5, 6]))
      Array([1, 6], dtype=int32)
    """
    if x is None or y is None:
        if x is not None or y is not None:
            raise noted(ValueError("where: x and y go together; got only one of them"))
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise noted(ValueError("where: size and fill_value are for calls without x and y"))
    flags = condition if condition.__class__ is Array else value("where", condition, "condition")
    vx = x if x.__class__ is Array else value("where", x)
    vy = y if y.__class__ is Array else value("where", y, "y")
    if thread.numpy_rank_promotion != "allow":
        check_ranks("where", flags, vx, vy)
    try:
        return _where(flags, vx, vy)
    except (TypeError, ValueError) as error:
        note_user_line(error)
        raise


@composite
def _where(condition: Any, x: Any, y: Any) -> Any:
    x, y = promote_values("where", x, y)
    return selection.select_n(truth("where", condition, "condition"), y, x)


@located
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """For each element, the choice of the first condition that holds.

    Args:
      condlist: boolean arrays.
      choicelist: as many arrays; all broadcast together.
      default: where no condition holds.
    Returns: array of the broadcast shape.
    Example:
      >>> x = np.arange(4)
      >>> np.select([x < 1, x < 3], [x, x * 10], -1)
      Array([ 0, 10, 20, -1], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ShapeError(
            f"select: needs a choice for each condition; got {len(condlist)} conditions and "
            f"{len(choicelist)} choices"
        )
    if not condlist:
        raise ValueError("select: needs at least one condition")
    flags = [truth("select", c, f"condlist[{i}]") for i, c in enumerate(condlist)]
    result, *choices = promote_values("select", default, *choicelist)
    for flag, choice in zip(reversed(flags), reversed(choices), strict=True):
        result = selection.select_n(flag, result, choice)
    return result


def _guarded(x: Any, flags: Sequence[Any], own: bool) -> Any:
    """The argument of a piece, without derivative where another piece counts: it may be NaN there,
    and stays so times zero. `flags` are those of the piece, if it has its own, and later ones."""
    if not dtypes.is_inexact(x.aval.dtype) or x.__class__ is Array:
        return x
    here, later = (flags[0], flags[1:]) if own else (None, flags)
    for flag in later:
        elsewhere = bitwise.bitwise_not(flag)
        here = elsewhere if here is None else here & elsewhere
    return x if here is None else selection.select_n(here, selection.stop_gradient(x), x)


@located
def piecewise(
    x: ArrayLike,
    condlist: Sequence[ArrayLike] | ArrayLike,
    funclist: Sequence[ArrayLike | Callable[..., Any]],
    *args: Any,
    **kw: Any,
) -> Array:
    """A function given in pieces: for each element the last condition that holds decides.

    Args:
      x: array of any shape.
      condlist: boolean arrays of that shape.
      funclist: a scalar or a function of x for each condition, and maybe one more for the rest.
      args, kw: passed on to the functions.
    Returns: array of the shape and dtype of `x`.
    Example:
      >>> np.piecewise(np.arange(4), [np.arange(4) >= 2], [lambda v: v * 10, -1])
      Array([-1, -1, 20, 30], dtype=int32)
    """
    v = value("piecewise", x)
    if isinstance(condlist, (Value, *SCALARS)) or hasattr(condlist, "dtype"):
        whole = value("piecewise", condlist, "condlist")
        conditions: list[Any] = [whole] if whole.ndim in (0, v.ndim) else list(whole)
    else:
        conditions = list(condlist)  # type: ignore[arg-type]
    flags = [structural.widen(truth("piecewise", c, "condlist"), v.shape) for c in conditions]
    functions = list(funclist)
    if len(functions) == len(flags) + 1:
        functions = [functions[-1], *functions[:-1]]
    elif len(functions) == len(flags):
        functions = [0, *functions]
    else:
        raise ShapeError(
            f"piecewise: {len(flags)} conditions need {len(flags)} or {len(flags) + 1} functions; "
            "got "
            f"{len(functions)}"
        )
    result = None
    for i, function in enumerate(functions):
        piece = function
        if callable(function):
            piece = function(_guarded(v, flags[i - 1 :] if i else flags, bool(i)), *args, **kw)
        piece = cast(value("piecewise", piece, "a result"), v.dtype)
        piece = structural.widen(piece, v.shape)
        result = piece if result is None else selection.select_n(flags[i - 1], result, piece)
    return result  # type: ignore[return-value]
