"""Functions that read, or change, elements named by arrays of indices or masks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, as_value, literal
from ..core.source import located
from ..core.trace import current
from ..lax.indexing import fill_number
from ..lax.operands import uncommitted
from ..primitives.arithmetic import rem, sub
from ..primitives.comparison import lt
from ..primitives.cumulative import cumsum
from ..primitives.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..primitives.indexing import gather, scatter
from ..primitives.selection import clamp, select_n, where
from ..primitives.structural import add, convert_element_type, reshape, widen
from ..typing import ArrayLike, Axis
from .axes import one_axis
from .index_arrays import known_places, run_time_places
from .indexing import getitem, nonzero
from .plans import composite, hosts_of
from .promotion import cast, no_out, noted, promote_values, value
from .reductions import truth
from .shapes import joint_shape

__all__ = [
    "choose",
    "compress",
    "extract",
    "place",
    "put",
    "put_along_axis",
    "take",
    "take_along_axis",
]

_base = current.base
FILL, CLIP = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.CLIP
Mode = str | GatherScatterMode | None


def integers(name: str, x: Any, argument: str = "indices") -> Any:
    """A value of an integer dtype; booleans become 0 and 1."""
    v = value(name, x, argument)
    if v.dtype == np.bool_:
        return convert_element_type(v, dtype=dtypes.default_int())
    if not dtypes.is_integer(v.dtype):
        text = f"{name}: {argument} must be integers; got {v.aval}"
        raise noted(errors.ShapeError(f"{text}\n  fix: {argument}.astype(int)"))
    return v


def places_for(
    name: str, indices: Any, n: int, mode: Mode, clip_negative: bool = False, wrap: bool = True
) -> tuple[Any, GatherScatterMode]:
    """Indices for an axis of length `n` and what to do with those out of range, for a mode as NumPy
    names it: with "wrap" they count round.

    Args:
      clip_negative: with "clip", negative ones are 0, and not counted from the end.
      wrap: negative ones are counted from the end; else they are out of range.
    """
    if mode == "wrap":
        return wrapped(indices, n), GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "raise":
        raise noted(
            NotImplementedError(
                f"{name}: mode 'raise': a compiled program can't raise\n"
                "  fix: mode='fill', 'clip' or 'wrap'"
            )
        )
    how = GatherScatterMode.from_any(mode)
    if how is CLIP and clip_negative:
        return indices, how
    known = indices.concrete()
    if known is not None and uncommitted(known):
        return as_value(known_places(n, known.host(), wrap, dtypes.int32)), how
    return run_time_places(n, indices, wrap), how


def wrapped(indices: Any, n: int) -> Any:
    """Indices modulo a length."""
    if dtypes.bit_width(indices.dtype) < 32:
        indices = convert_element_type(indices, dtype=dtypes.default_int())
    length, zero = literal(max(n, 1), indices.dtype), literal(0, indices.dtype)
    rest = rem(indices, length)
    if dtypes.is_unsigned(indices.dtype):
        return rest
    return where(lt(rest, zero), add(rest, length), rest)


def on_host(function: Any, x: Any, indices: Any, axis: int, **options: Any) -> Any:
    """NumPy's function, if both arrays are here and no place is out of range; else `None`."""
    hosts = hosts_of(x, indices)
    if hosts is None:
        return None
    try:
        result = function(*hosts, axis=axis, **options)
    except (IndexError, TypeError, ValueError):
        return None
    return Array(result, x.aval.update(shape=result.shape))


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: Axis = None,
    out: None = None,
    mode: Mode = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """The slices of an array at indices along an axis.

    Args:
      a: array.
      indices: integers of any shape; negative ones count from the end.
      axis: the one that is indexed; all of them, in row-major order, if `None`.
      mode: what is read out of range: "fill" (or `None`) gives `fill_value`, "clip" the nearest
        slice (negative indices are 0), "wrap" counts round; "raise" is an error, for indices that
        are known.
      unique_indices, indices_are_sorted: promises that make it faster on accelerators.
      fill_value: a number; NaN, the lowest signed or highest unsigned integer, or True if left out.
    Returns: array, the shape of `indices` in the place of `axis`.
    Raises: TypeError: indices aren't integers. IndexError: the axis has no elements.
    Example:
      >>> np.take(np.array([10, 20, 30]), np.array([2, 0, -1])).tolist()
      [30, 10, 30]
    """
    no_out("take", out)
    x, i = value("take", a), integers("take", indices)
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis("take", axis, x)
    if mode == "raise" and (known := i.concrete()) is not None:  # NumPy's own function passes it
        _within("take", known, x.shape[d])
        mode = None
    if mode is None or mode in ("fill", "clip", "wrap"):
        done = on_host(np.take, x, i, d, mode="raise" if mode in (None, "fill") else mode)
        if done is not None:
            return done
    n = x.shape[d]
    if not n and i.size:
        raise noted(errors.IndexingError(f"take: axis {d} of {x.aval} has no elements to take"))
    shape = (*x.shape[:d], *i.shape, *x.shape[d + 1 :])
    if not n:
        return reshape(x, shape=shape)
    places, how = places_for("take", i, n, mode, clip_negative=True)
    rank = i.ndim
    return gather(
        x,
        reshape(places, shape=(*i.shape, 1)),
        dimension_numbers=GatherDimensionNumbers(
            (*range(d), *range(d + rank, x.ndim - 1 + rank)), (d,), (d,)
        ),
        slice_sizes=(*x.shape[:d], 1, *x.shape[d + 1 :]),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=how,
        fill_value=fill_number("take", x.dtype, fill_value) if how is FILL else None,
    )


def _within(name: str, indices: Array, n: int) -> None:
    """Raises IndexError for an index beyond an axis of length `n`."""
    host = np.asarray(indices.host())
    if ((host < -n) | (host >= n)).any():
        raise noted(
            IndexError(f"{name}: an index is out of range: expected {-n} to {n - 1}; got {host}")
        )


def _along(name: str, x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    """An array and indices, broadcast together along all axes but one."""
    if indices.ndim != x.ndim:
        raise noted(
            errors.ShapeError(
                f"{name}: indices must have as many axes as {x.aval}; got {indices.aval}"
            )
        )
    around = [(*v.shape[:axis], 1, *v.shape[axis + 1 :]) for v in (x, indices)]
    shape = joint_shape(name, around)
    return tuple(  # type: ignore[return-value]
        widen(v, (*shape[:axis], v.shape[axis], *shape[axis + 1 :])) for v in (x, indices)
    )


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Mode = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """For each line of an array along an axis, its elements at the indices in the same line.

    Args:
      arr: array.
      indices: integers, as many axes; broadcast against `arr` along all axes but `axis`.
      axis: the one that is indexed; `None` for the array in row-major order.
      mode, fill_value: as in `take`.
      wrap_negative_indices: negative ones count from the end, which is the default; if False, they
        are out of range. The mode "wrap" counts them round in any case.
    Returns: array, along `axis` as long as `indices`.
    Raises: TypeError: indices aren't integers. ValueError: shapes don't fit.
    Example:
      >>> x = np.array([[10, 30, 20], [60, 40, 50]])
      >>> np.take_along_axis(x, np.array([[0, 2, 1], [1, 2, 0]]), axis=1).tolist()
      [[10, 20, 30], [40, 50, 60]]
    """
    name = "take_along_axis"
    x, i = value(name, arr, "arr"), integers(name, indices)
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis(name, axis, x)
    wrap = wrap_negative_indices is None or bool(wrap_negative_indices)
    if mode in (None, "fill") and wrap and i.ndim == x.ndim:
        done = on_host(np.take_along_axis, x, i, d)
        if done is not None:
            return done
    x, i = _along(name, x, i, d)
    if not i.size:
        return reshape(getitem(x, (*(slice(None),) * d, slice(0, 0))), shape=i.shape)
    if not x.shape[d]:
        raise noted(errors.IndexingError(f"{name}: axis {d} of {x.aval} has no elements to take"))
    places, how = places_for(name, i, x.shape[d], mode, wrap=wrap)
    others = tuple(a for a in range(x.ndim) if a != d)
    return gather(
        x,
        reshape(places, shape=(*i.shape, 1)),
        dimension_numbers=GatherDimensionNumbers((), (d,), (d,), others, others),
        slice_sizes=(1,) * x.ndim,
        indices_are_sorted=False,
        unique_indices=False,
        mode=how,
        fill_value=fill_number("take_along_axis", x.dtype, fill_value) if how is FILL else None,
    )


def refuse_in_place(name: str, inplace: bool, instead: str) -> None:
    """Says that arrays can't be changed."""
    if inplace:
        raise noted(
            ValueError(
                f"{name}: arrays are immutable and can't be changed in place\n"
                f"  fix: y = np.{name}(…, inplace=False), or y = {instead}"
            )
        )


@located
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Mode = None,
) -> Array:
    """An array with elements set, at the indices in each line along an axis.

    Args:
      arr: array.
      indices: as in `take_along_axis`.
      values: what to set there; broadcast to the indices.
      axis: as in `take_along_axis`.
      inplace: must be False: arrays are immutable.
      mode: out of range, "drop" (or `None`) sets nothing, "clip" the nearest element.
    Returns: array like `arr`.
    Raises: ValueError: `inplace` is not False, or shapes don't fit.
    Example:
      >>> x = np.array([[10, 30, 20], [60, 40, 50]])
      >>> np.put_along_axis(x, np.array([[1], [0]]), 99, 1, inplace=False).tolist()
      [[10, 99, 20], [99, 40, 50]]
    """
    name = "put_along_axis"
    refuse_in_place(name, inplace, "x.at[index].set(values)")
    whole, i = value(name, arr, "arr"), integers(name, indices)
    x = reshape(whole, shape=(whole.size,)) if axis is None else whole
    d = 0 if axis is None else one_axis(name, axis, x)
    shape = x.shape
    x, i = _along(name, x, i, d)
    if x.shape != shape:
        raise errors.ShapeError(f"{name}: indices {i.aval} don't fit an array of shape {shape}")
    y = widen(cast(value(name, values, "values"), x.dtype), i.shape)
    if not i.size:
        return whole
    places, how = places_for(name, i, x.shape[d], mode)
    others = tuple(a for a in range(x.ndim) if a != d)
    out = scatter(
        x,
        reshape(places, shape=(*i.shape, 1)),
        y,
        dimension_numbers=ScatterDimensionNumbers((), (d,), (d,), others, others),
        indices_are_sorted=False,
        unique_indices=False,
        mode=how,
    )
    return reshape(out, shape=whole.shape) if axis is None else out


@located
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: Mode = None, *, inplace: bool = True
) -> Array:
    """An array with elements set, at places in row-major order.

    Args:
      a: array.
      ind: integers; negative ones count from the end.
      v: values, repeated as often as needed.
      mode: out of range, "clip" (or `None`) sets the nearest element, "wrap" counts round.
      inplace: must be False: arrays are immutable.
    Returns: array like `a`.
    Raises: ValueError: `inplace` is not False.
    Example:
      >>> np.put(np.zeros((2, 2)), np.array([0, 3]), 7, inplace=False).tolist()
      [[7.0, 0.0], [0.0, 7.0]]
    """
    refuse_in_place("put", inplace, "x.at[index].set(v)")
    x, i = value("put", a), integers("put", ind, "ind")
    y = cast(value("put", v, "v"), x.dtype)
    n = i.size
    if not n or not y.size:
        return x
    flat = reshape(y, shape=(y.size,))
    if y.size != n:
        flat = getitem(flat, np.arange(n) % y.size)
    places = reshape(i, shape=(n,))
    if mode == "wrap":
        places = wrapped(places, x.size)
    elif mode in (None, "clip"):
        places = run_time_places(x.size, places, True)
    else:
        raise ValueError(f"put: mode must be 'clip' or 'wrap'; got {mode!r}")
    out = scatter(
        reshape(x, shape=(x.size,)),
        reshape(places, shape=(n, 1)),
        flat,
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=CLIP,
    )
    return reshape(out, shape=x.shape)


@located
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """An array with elements replaced where a mask holds, by the first values in order.

    Args:
      arr: array.
      mask: booleans, as many elements as `arr`.
      vals: values, repeated as often as needed.
      inplace: must be False: arrays are immutable.
    Returns: array like `arr`.
    Raises: ValueError: `inplace` is not False, or sizes differ.
    Example:
      >>> x = np.arange(4)
      >>> np.place(x, x % 2 == 1, np.array([-1, -2]), inplace=False).tolist()
      [0, -1, 2, -2]
    """
    refuse_in_place("place", inplace, "np.where(mask, values, x)")
    x, flags = value("place", arr, "arr"), truth("place", mask, "mask")
    y = cast(value("place", vals, "vals"), x.dtype)
    if flags.size != x.size:
        text = f"place: the mask must be as large as the array; got {flags.aval} for {x.aval}"
        raise errors.ShapeError(text)
    if not y.size:
        if x.size:
            raise ValueError("place: expected at least one value")
        return x
    kind = dtypes.default_int()
    flat = reshape(flags, shape=(x.size,))
    order = sub(
        cumsum(convert_element_type(flat, dtype=kind), axis=0, reverse=False), literal(1, kind)
    )
    chosen = take(y, wrapped(order, y.size), mode="clip")
    return where(reshape(flags, shape=x.shape), reshape(chosen, shape=x.shape), x)


# --- masks ---


@located
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: Axis = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The slices of an array along an axis where a condition holds.

    Args:
      condition: booleans, one axis; what is missing is False.
      a: array.
      axis: `None` for the array in row-major order.
      size: how many slices to return: the first ones; if there are fewer, `fill_value` follows.
        It is needed while the condition is traced, as it decides the result's shape.
      fill_value: a number.
    Returns: array, shorter along `axis`.
    Raises: ValueError: the condition has another number of axes, or is too long.
    Example:
      >>> np.compress(np.array([False, True]), np.array([[1, 2], [3, 4]]), axis=0).tolist()
      [[3, 4]]
    """
    no_out("compress", out)
    flags, x = truth("compress", condition, "condition"), value("compress", a)
    if flags.ndim != 1:
        raise errors.ShapeError(f"compress: condition must have one axis; got {flags.aval}")
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis("compress", axis, x)
    n = x.shape[d]
    if flags.size > n:
        known = flags.concrete()
        if known is None or known.host()[n:].any():
            text = f"compress: condition {flags.aval} is longer than axis {d} of {x.aval}"
            raise errors.ShapeError(text)
        flags = getitem(flags, slice(0, n))
    if size is None:
        (places,) = nonzero(flags)
        return take(x, places, axis=d, mode="clip") if n else x
    (places,) = nonzero(flags, size=size, fill_value=n)
    if not n:
        shape = (*x.shape[:d], size, *x.shape[d + 1 :])
        return widen(cast(as_value(fill_value), x.dtype), shape)
    known_fill = as_value(fill_value).concrete()
    if known_fill is not None and not known_fill.ndim:
        return take(x, places, axis=d, mode="fill", fill_value=known_fill.host().item())
    there = lt(places, literal(n, places.dtype))
    wide = reshape(there, shape=(size, *(1,) * (x.ndim - d - 1)))
    return where(wide, take(x, places, axis=d, mode="clip"), cast(as_value(fill_value), x.dtype))


@located
def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """The elements of an array where a condition holds, in row-major order.

    Args:
      condition: booleans.
      arr: array.
      size, fill_value: as in `compress`.
    Returns: array of one axis.
    Example:
      >>> x = np.arange(6)
      >>> np.extract(x % 3 == 0, x).tolist()
      [0, 3]
    """
    flags = truth("extract", condition, "condition")
    return compress(
        reshape(flags, shape=(flags.size,)),
        value("extract", arr, "arr"),
        size=size,
        fill_value=fill_value,
    )


@located
def choose(
    a: ArrayLike, choices: Sequence[ArrayLike] | Array, out: None = None, mode: str = "raise"
) -> Array:
    """For each element, that of one of several arrays.

    Args:
      a: integers: which array.
      choices: arrays that broadcast together and with `a`; or one array, whose rows are meant.
      mode: if there is no such array: "raise" an error (`a` must be known), "clip" to the nearest,
        "wrap" round.
    Returns: array of the broadcast shape.
    Raises: ValueError: no such array. ConcretizationTypeError: `a` is traced, with mode "raise".
    Example:
      >>> np.choose(np.array([0, 1, 0]), [np.array([1, 2, 3]), np.array([10, 20, 30])]).tolist()
      [1, 20, 3]
    """
    no_out("choose", out)
    which = integers("choose", a, "a")
    arrays = (
        list(value("choose", choices, "choices")) if hasattr(choices, "shape") else list(choices)
    )
    if not arrays:
        raise ValueError("choose: expected at least one array to choose from")
    which = indices_in("choose", which, len(arrays), mode)
    cases = promote_values("choose", *arrays)
    if len(cases) == 1:
        shape = joint_shape("choose", [which.shape, cases[0].shape])
        return widen(as_value(cases[0]), shape)
    return _chosen(which, *cases)


@composite
def _chosen(which: Any, *cases: Any) -> Any:
    return select_n(convert_element_type(which, dtype=dtypes.int32), *cases)


def indices_in(name: str, indices: Any, n: int, mode: str) -> Any:
    """Indices below `n`, by one of NumPy's modes."""
    if mode == "raise":
        known = indices.concrete()
        if known is None:
            kind = errors.ConcretizationTypeError
            raise noted(indices.conversion_error(f"{name} with mode='raise'", kind))
        host = np.asarray(known.host())
        if ((host < 0) | (host >= n)).any():
            raise errors.IndexingError(f"{name}: an index is out of range: expected 0 to {n - 1}")
        return indices
    if mode == "wrap":
        return wrapped(indices, n)
    if mode == "clip":
        zero, last = literal(0, indices.dtype), literal(n - 1, indices.dtype)
        return clamp(zero, indices, last)
    raise ValueError(f"{name}: mode must be 'raise', 'clip' or 'wrap'; got {mode!r}")
