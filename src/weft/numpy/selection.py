"""Selecting elements from several arrays by conditions: where, select, piecewise, choose."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import dtypes
from ..config import thread
from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..lax.axes import items_of
from ..primitives import bitwise, selection, structural
from ..primitives.selection import select_n
from ..primitives.structural import convert_element_type, widen
from ..typing import ArrayLike
from ..user_lines import note_user_line
from .creation import broadcast
from .indexing import nonzero
from .plans import composite
from .promotion import SCALARS, cast, check_ranks, no_out, noted, promote_values, value
from .reductions import truth
from .shapes import joint_shape
from .taking import indices_in, integers

__all__ = ["choose", "piecewise", "select", "where"]


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
    """Selects elements of `x` where a condition is true, and elements of `y` elsewhere.

    Args:
      condition: boolean array; numbers are true unless they are zero.
      x, y: arrays that broadcast together and with the condition; they are promoted to one dtype.
        Without them the result is `nonzero(condition)`.
      size, fill_value: as in `nonzero`, for calls without `x` and `y`.
    Returns: array of the broadcast shape; or a tuple of index arrays.
    Raises: ValueError: only one of `x` and `y` is given.
    Example:
      >>> np.where(np.array([True, False]), 1, np.array([5, 6]))
      Array([1, 6], dtype=int32)
    """
    if x is None or y is None:
        if x is not None or y is not None:
            raise noted(ValueError("where: needs both x and y, or neither; got only one of them"))
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
    """Selects each element from the choice of the first condition that is true.

    Args:
      condlist: boolean arrays.
      choicelist: an array for each condition; all arrays broadcast together.
      default: the value where no condition is true.
    Returns: array of the broadcast shape.
    Example:
      >>> x = np.arange(4)
      >>> np.select([x < 1, x < 3], [x, x * 10], -1)
      Array([ 0, 10, 20, -1], dtype=int32)
    """
    conditions = items_of("select", "condlist", condlist, "boolean arrays")
    choices = items_of("select", "choicelist", choicelist, "arrays")
    if len(conditions) != len(choices):
        raise ShapeError(
            f"select: needs a choice for each condition; got {len(conditions)} conditions and "
            f"{len(choices)} choices"
        )
    if not conditions:
        raise ValueError("select: needs at least one condition")
    flags = [truth("select", c, f"condlist[{i}]") for i, c in enumerate(conditions)]
    result, *choices = promote_values("select", default, *choices)
    for flag, choice in zip(reversed(flags), reversed(choices), strict=True):
        result = selection.select_n(flag, result, choice)
    return result


def _without_inactive_derivative(x: Any, flags: Sequence[Any], has_flag: bool) -> Any:
    """The argument of a piece, without a derivative where another piece is active. There the
    derivative of the piece may be NaN, and zero times NaN is NaN.

    Args:
      flags: the conditions of the later pieces, after the condition of this one if `has_flag`.
    """
    if not dtypes.is_inexact(x.aval.dtype) or x.__class__ is Array:
        return x
    active, later_flags = (flags[0], flags[1:]) if has_flag else (None, flags)
    for flag in later_flags:
        inactive = bitwise.bitwise_not(flag)
        active = inactive if active is None else active & inactive
    return x if active is None else selection.select_n(active, selection.stop_gradient(x), x)


@located
def piecewise(
    x: ArrayLike,
    condlist: Sequence[ArrayLike] | ArrayLike,
    funclist: Sequence[ArrayLike | Callable[..., Any]],
    *args: Any,
    **kw: Any,
) -> Array:
    """Evaluates a piecewise-defined function: the last condition that is true decides.

    Args:
      x: array of any shape.
      condlist: boolean arrays of that shape.
      funclist: a scalar or a function of x for each condition, and optionally one more for elements
        where no condition is true.
      args, kw: passed to the functions.
    Returns: array of the shape and dtype of `x`.
    Example:
      >>> np.piecewise(np.arange(4), [np.arange(4) >= 2], [lambda v: v * 10, -1])
      Array([-1, -1, 20, 30], dtype=int32)
    """
    v = value("piecewise", x)
    if isinstance(condlist, (Value, *SCALARS)) or hasattr(condlist, "dtype"):
        array = value("piecewise", condlist, "condlist")
        conditions: list[Any] = [array] if array.ndim in (0, v.ndim) else list(array)
    else:
        conditions = items_of("piecewise", "condlist", condlist, "boolean arrays")
    flags = [broadcast("piecewise", truth("piecewise", c, "condlist"), v.shape) for c in conditions]
    functions = items_of("piecewise", "funclist", funclist, "functions and values")
    if len(functions) == len(flags) + 1:
        functions = [functions[-1], *functions[:-1]]
    elif len(functions) == len(flags):
        functions = [0, *functions]
    else:
        raise ShapeError(
            f"piecewise: {len(flags)} conditions need {len(flags)} or {len(flags) + 1} functions; "
            f"got {len(functions)}"
        )
    result = None
    for i, function in enumerate(functions):
        values = function
        if callable(function):
            values = function(
                _without_inactive_derivative(v, flags[i - 1 :] if i else flags, bool(i)),
                *args,
                **kw,
            )
        values = cast(value("piecewise", values, "a result"), v.dtype)
        values = structural.widen(values, v.shape)
        result = values if result is None else selection.select_n(flags[i - 1], result, values)
    return result  # type: ignore[return-value]


@located
def choose(
    a: ArrayLike, choices: Sequence[ArrayLike] | Array, out: None = None, mode: str = "raise"
) -> Array:
    """Selects each element from the array whose index is given.

    Args:
      a: integers: the index of an array for each element.
      choices: arrays that broadcast together and with `a`; or one array, for its slices.
      mode: for indices out of range: "raise" an error (`a` must be known), "clip" to the nearest
        index, or "wrap" modulo the number of arrays.
    Returns: array of the broadcast shape.
    Raises: ValueError: an index is out of range. ConcretizationTypeError: `a` is traced, and the
      mode is "raise".
    Example:
      >>> np.choose(np.array([0, 1, 0]), [np.array([1, 2, 3]), np.array([10, 20, 30])]).tolist()
      [1, 20, 3]
    """
    no_out("choose", out)
    indices = integers("choose", a, "a")
    if hasattr(choices, "shape"):
        choices = value("choose", choices, "choices")
    arrays = items_of("choose", "choices", choices, "arrays")
    if not arrays:
        raise ValueError("choose: expected at least one array to choose from")
    indices = indices_in("choose", indices, len(arrays), mode)
    cases = promote_values("choose", *arrays)
    if len(cases) == 1:
        shape = joint_shape("choose", [indices.shape, cases[0].shape])
        return widen(as_value(cases[0]), shape)
    return _choose_cases(indices, *cases)


@composite
def _choose_cases(indices: Any, *cases: Any) -> Any:
    return select_n(convert_element_type(indices, dtype=dtypes.int32), *cases)
