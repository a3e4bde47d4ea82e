"""Functions applied along axes, differences, integrals and one-dimensional convolutions."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import function_line, located, wrapping
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..lax.convolution import conv_general_dilated
from ..primitives import arithmetic, comparison, complex_numbers, selection, slicing, structural
from ..transforms.vmap import vmap
from ..typing import ArrayLike
from .axes import all_axes, axes_of, one_axis, whole_number
from .creation import array
from .joining import concatenate
from .plans import composite
from .promotion import cast, inexact, promote_values, value
from .reductions import sum
from .running import cumsum
from .shapes import expand_dims, joint_shape, ravel, reshape

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "trapezoid",
    "trapz",
    "unwrap",
    "vectorize",
]

# --- functions along axes ---


@located
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """A function of vectors applied to all vectors along an axis.

    Args:
      func1d: takes an array [n], then `args` and `kwargs`; returns an array of any shape.
      axis: the axis of the vectors.
      arr: array of at least one axis.
    Returns: array with the axis replaced by those of the function's result.
    Example:
      >>> np.apply_along_axis(np.sum, 1, np.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    x = value("apply_along_axis", arr, "arr")
    i = one_axis("apply_along_axis", axis, x)

    def mapped(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for _ in range(x.ndim - 1 - i):  # the axes behind come last in the result
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(i):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(x)


@located
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """A function `func(a, axis)` applied for one axis after the other.

    Args:
      func: a reduction; axes that it drops are put back with length one.
      a: array of any shape.
      axes: one or several.
    Example:
      >>> np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
      Array([[6.]], dtype=float32)
    """
    x = value("apply_over_axes", a, "a")
    for axis in axes_of(axes):
        i = one_axis("apply_over_axes", axis, x)
        result = func(x, i)
        if result.ndim == x.ndim - 1:
            result = expand_dims(result, i)
        if result.ndim != x.ndim:
            raise ShapeError(
                f"apply_over_axes: the function must give {x.ndim} or {x.ndim - 1} axes; got "
                f"{result.ndim}"
            )
        x = result
    return x


_LABELS = r"\((?:\s*\w+\s*(?:,\s*\w+\s*)*)?\)"
_SIGNATURE = re.compile(
    rf"^\s*{_LABELS}(?:\s*,\s*{_LABELS})*\s*->\s*{_LABELS}(?:\s*,\s*{_LABELS})*\s*$"
)


def _labels(text: str) -> list[tuple[str, ...]]:
    return [tuple(re.findall(r"\w+", group)) for group in re.findall(_LABELS, text)]


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """A function of scalars or small arrays made one that broadcasts, by `vmap`.

    Args:
      pyfunc: the function.
      excluded: positions and names of arguments that are passed on as they are.
      signature: which axes the function itself takes and returns, as in '(n,m),(m)->(n)'; none by
        default.
    Returns: the function of arrays.
    Example:
      >>> f = np.vectorize(lambda x, y: np.dot(x, y), signature="(n),(n)->()")
      >>> f(np.ones((4, 3)), np.arange(3)).shape
      (4,)
    """
    left_out = frozenset(excluded)
    for e in left_out:
        if not isinstance(e, (int, str)):
            raise TypeError(f"vectorize: excluded must hold positions and names; got {e!r}")
        if isinstance(e, int) and e < 0:
            raise ValueError(
                f"vectorize: positions in excluded count from the first argument, 0; got {e}"
            )
    if signature is not None and not _SIGNATURE.match(signature):
        raise ValueError(f"vectorize: signature must be as in '(n,m),(m)->(n)'; got {signature!r}")

    @wrapping(pyfunc)
    @located
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        fixed = {k: v for k, v in kwargs.items() if k in left_out}
        given = {k: v for k, v in kwargs.items() if k not in left_out}
        if given:
            raise ValueError(
                f"vectorize: keyword arguments must be excluded; got {', '.join(given)}\n"
                f"  fix: vectorize(f, excluded={{{', '.join(map(repr, given))}}}), or pass them "
                "by position"
            )
        places = [i for i in range(len(args)) if i not in left_out]
        values = [value("vectorize", args[i], f"argument {i}") for i in places]
        if signature is None:
            cores: list[tuple[str, ...]] = [()] * len(values)
            outs = None
        else:
            left, right = signature.split("->")
            cores, outs = _labels(left), _labels(right)
            if len(cores) != len(values):
                raise ShapeError(
                    f"vectorize: signature {signature} has {len(cores)} arguments; got "
                    f"{len(values)}"
                )
        where = (function_line(pyfunc), places, left_out, signature)
        fronts, lengths = _fronts(values, cores, *where)
        shape = joint_shape("vectorize", fronts)

        def inner(*vs: Any) -> Any:
            every = list(args)
            for i, v in zip(places, vs, strict=True):
                every[i] = v
            result = pyfunc(*every, **fixed)
            if outs is not None:
                _check_outputs(result, outs, lengths, signature)
            return result

        return _mapped(inner, values, fronts, shape)

    return vectorized


def _fronts(
    values: Sequence[Any],
    cores: Sequence[tuple[str, ...]],
    function: str,
    places: Sequence[int],
    left_out: frozenset[int | str],
    signature: str | None,
) -> tuple[list[tuple[int, ...]], dict[str, int]]:
    """The axes of each argument that are mapped over, and the lengths of the named ones."""
    lengths: dict[str, int] = {}
    fronts: list[tuple[int, ...]] = []
    for v, core, place in zip(values, cores, places, strict=True):
        if v.ndim < len(core):
            raise ShapeError(
                f"vectorize: argument {place} of {function}, with shape {v.shape}, does not have "
                f"enough dimensions for all its core dimensions {core}; excluded={left_out!r} and "
                f"signature={signature!r}"
            )
        at = v.ndim - len(core)
        for label, n in zip(core, v.shape[at:], strict=True):
            wanted = int(label) if label.isdigit() else lengths.setdefault(label, n)
            if wanted != n:
                raise ShapeError(
                    f"vectorize: axis {label} of signature {signature} has lengths {wanted} and {n}"
                )
        fronts.append(v.shape[:at])
    return fronts, lengths


def _mapped(
    function: Callable[..., Any],
    values: Sequence[Any],
    fronts: Sequence[tuple[int, ...]],
    shape: tuple[int, ...],
) -> Any:
    """The function mapped over the front axes, which broadcast to `shape`."""
    squeezed = [
        reshape(v, tuple(n for n in front if n != 1) + v.shape[len(front) :])
        for v, front in zip(values, fronts, strict=True)
    ]
    kept_axes = []  # axes from the last to the first: which arguments have them
    for k in range(len(shape)):
        kept = [len(front) > k and front[len(front) - 1 - k] != 1 for front in fronts]
        kept_axes.append(kept)
        if any(kept):
            function = vmap(function, in_axes=tuple(0 if has else None for has in kept))
    result = function(*squeezed)
    single = not isinstance(result, tuple)
    results = [_restored(r, shape, kept_axes) for r in ((result,) if single else result)]
    return results[0] if single else tuple(results)


def _restored(r: Any, shape: tuple[int, ...], kept_axes: Any) -> Any:
    """Axes of length one put back into a result."""
    mapped = [n for n, kept in zip(reversed(shape), kept_axes, strict=True) if any(kept)]
    return reshape(r, shape + tuple(r.shape[len(mapped) :]))


def _check_outputs(result: Any, outs: Any, lengths: dict[str, int], signature: Any) -> None:
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(outs):
        raise ShapeError(
            f"vectorize: signature {signature} has {len(outs)} results; got {len(results)}"
        )
    for r, core in zip(results, outs, strict=True):
        shape = value("vectorize", r, "a result").shape
        if len(shape) != len(core):
            raise ShapeError(
                f"vectorize: signature {signature} gives {len(core)} axes; got shape {shape}"
            )
        for label, n in zip(core, shape, strict=True):
            if not label.isdigit() and lengths.setdefault(label, n) != n:
                raise ShapeError(
                    f"vectorize: axis {label} of signature {signature} has lengths "
                    f"{lengths[label]} and {n}"
                )


# --- differences and integrals ---


@located
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Differences of neighbours along an axis, `n` times.

    Args:
      a: array of at least one axis; of booleans: whether neighbours differ.
      n: how often.
      axis: the axis.
      prepend, append: what to put before and after it first.
    Returns: array whose axis is shorter by n.
    Example:
      >>> np.diff(np.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = value("diff", a, "a")
    n = whole_number("diff", n, "n")
    if not n:
        return x
    if n < 0:
        raise ValueError(f"diff: n must not be negative; got {n}")
    if not x.ndim:
        raise ShapeError(f"diff: expected at least one axis; got {x.aval}")
    i = one_axis("diff", axis, x)
    parts = [x]
    for at, given in ((0, prepend), (1, append)):
        if given is not None:
            edge = value("diff", given, "append" if at else "prepend")
            if not edge.ndim:
                edge = structural.widen(
                    edge, tuple([1 if k == i else m for k, m in enumerate(x.shape)])
                )
            parts.insert(at * len(parts), edge)
    if len(parts) > 1:
        x = concatenate(parts, i)
    minus = comparison.ne if dtypes.is_bool(x.dtype) else arithmetic.sub
    for _ in range(n):
        m = x.shape[i]
        if not m:
            break
        x = minus(slice_along(x, i, 1, m), slice_along(x, i, 0, m - 1))
    return x


@located
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Differences of neighbours in the flattened array.

    Args:
      to_end, to_begin: what to put after and before them.
    Example:
      >>> np.ediff1d(np.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = ravel(value("ediff1d", ary, "ary"))
    parts = [diff(x)]
    if to_begin is not None:
        parts.insert(0, cast(ravel(value("ediff1d", to_begin, "to_begin")), x.dtype))
    if to_end is not None:
        parts.append(cast(ravel(value("ediff1d", to_end, "to_end")), x.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@located
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Slopes along axes: central differences inside, one-sided ones at the ends.

    Args:
      f: array with at least two elements along each axis.
      varargs: distances: one for all axes, or for each axis a number or the coordinates.
      axis: an axis or several; all of them by default.
      edge_order: 1.
    Returns: array of the shape of `f`; a list of them for several axes.
    Example:
      >>> np.gradient(np.array([1.0, 4.0, 9.0]))
      Array([3., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1; got {edge_order}")
    x = inexact("gradient", f)
    axes = all_axes("gradient", axis, x)
    if not varargs:
        steps: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1:
        steps = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        steps = list(varargs)
    else:
        raise ShapeError(
            f"gradient: needs a distance for each of {len(axes)} axes; got {len(varargs)}"
        )
    results = [_slope(x, i, h) for i, h in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else results


def _slope(x: Any, i: int, h: Any) -> Any:
    n = x.shape[i]
    if n < 2:
        raise ShapeError(f"gradient: axis {i} of {x.aval} has fewer than two elements")
    first = arithmetic.sub(slice_along(x, i, 1, 2), slice_along(x, i, 0, 1))
    last = arithmetic.sub(slice_along(x, i, n - 1, n), slice_along(x, i, n - 2, n - 1))
    h = array(h) if isinstance(h, (list, tuple)) else value("gradient", h, "a distance")
    h = cast(h, x.dtype)
    if not h.ndim:
        inside = arithmetic.sub(slice_along(x, i, 2, n), slice_along(x, i, 0, n - 2)) * 0.5
        return slicing.concatenate(first, inside, last, dimension=i) / h
    if h.shape != (n,):
        raise ShapeError(f"gradient: coordinates must be of shape ({n},); got {h.aval}")
    gaps = arithmetic.sub(slice_along(h, 0, 1, n), slice_along(h, 0, 0, n - 1))
    gaps = reshape(gaps, tuple([n - 1 if k == i else 1 for k in range(x.ndim)]))
    a, b = slice_along(gaps, i, 0, n - 2), slice_along(gaps, i, 1, n - 1)
    inside = (
        slice_along(x, i, 2, n) * (a / (b * (a + b)))
        + slice_along(x, i, 1, n - 1) * ((b - a) / (a * b))
        - slice_along(x, i, 0, n - 2) * (b / (a * (a + b)))
    )
    first = first / slice_along(gaps, i, 0, 1)
    last = last / slice_along(gaps, i, n - 2, n - 1)
    return slicing.concatenate(first, inside, last, dimension=i)


@located
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The integral along an axis, by trapezoids.

    Args:
      y: array of at least one axis.
      x: the coordinates: an array [n], or one that broadcasts with `y` and has the axis.
      dx: the distance, where there are no coordinates.
      axis: the axis.
    Returns: array without the axis.
    Raises: ShapeError: `x` isn't as long as `y` along the axis.
    Example:
      >>> np.trapezoid(np.array([1.0, 2.0, 3.0]))
      Array(4., dtype=float32)
    """
    if x is None:
        v = inexact("trapezoid", y)
        step: Any = cast(inexact("trapezoid", dx), v.dtype)
        i = one_axis("trapezoid", axis, v.ndim)
    else:
        v, points = promote_values("trapezoid", y, x, to_inexact=True)
        i = one_axis("trapezoid", axis, v.ndim)
        if points.ndim == 1:
            points = reshape(points, tuple([points.size if k == i else 1 for k in range(v.ndim)]))
            axis = i
        elif points.ndim < v.ndim:
            points = reshape(points, (*[1] * (v.ndim - points.ndim), *points.shape))
            axis = i
        along = one_axis("trapezoid", axis, points)
        if points.shape[along] != v.shape[i]:
            raise ShapeError(
                f"trapezoid: x must be as long as y along axis {i}; got {points.aval} and {v.aval}"
            )
        step = diff(points, axis=along)
    n = v.shape[i]
    if not n:
        return sum(v, i)
    middle = structural.add(slice_along(v, i, 1, n), slice_along(v, i, 0, n - 1))
    return sum(middle * step, i) * 0.5


trapz = trapezoid


@located
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Angles without jumps: multiples of the period are added.

    Args:
      p: array of at least one axis.
      discont: the least jump that counts; half a period by default.
      axis: the axis.
      period: that of the angles.
    Returns: array of the shape of `p`.
    Example:
      >>> np.unwrap(np.array([0, 3, 2]), period=4)
      Array([ 0, -1, -2], dtype=int32)
    """
    x = value("unwrap", p, "p")
    if dtypes.is_complex(x.dtype) or dtypes.is_bool(x.dtype):
        raise ShapeError(f"unwrap: expected real numbers; got {x.aval}")
    i = one_axis("unwrap", axis, x)
    x = promote_values("unwrap", x, period)[0]
    if not x.shape[i]:
        return x
    turn = cast(value("unwrap", period, "period"), x.dtype)
    limits = () if discont is None else (cast(value("unwrap", discont, "discont"), x.dtype),)
    return _unwrapped(x, turn, *limits, axis=i)


@composite
def _unwrapped(x: Any, turn: Any, *limits: Any, axis: int) -> Any:
    i, whole = axis, not dtypes.is_inexact(x.dtype)
    half = turn // 2 if whole else turn / 2
    steps = diff(x, axis=i)
    wrapped = (steps + half) % turn - half
    even = turn % 2 == 0 if whole else True
    at_half = (wrapped == -half) & (steps > 0) & even
    wrapped = selection.select_n(at_half, wrapped, structural.widen(half, wrapped.shape))
    change = wrapped - steps
    small = comparison.lt(arithmetic.abs_(steps), limits[0] if limits else half)
    change = selection.select_n(small, change, literal(0, x.dtype))
    n = x.shape[i]
    moved = structural.add(slice_along(x, i, 1, n), cumsum(change, i))
    return slicing.concatenate(slice_along(x, i, 0, 1), moved, dimension=i)


# --- convolutions ---


def _slide(x: Any, y: Any, *, name: str, mode: str, precision: Any, dtype: Any) -> Any:
    """Sums of products of `x` and the shorter `y` slid along it."""
    n = y.shape[0]
    if mode == "full":
        padding = (n - 1, n - 1)
    elif mode == "same":
        padding = (n // 2, n - n // 2 - 1)
    elif mode == "valid":
        padding = (0, 0)
    else:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid'; got {mode!r}")
    out = conv_general_dilated(
        reshape(x, (1, 1, x.size)),
        reshape(y, (1, 1, n)),
        (1,),
        (padding,),
        precision=precision,
        preferred_element_type=dtype,
    )
    return reshape(out, out.size)


_slid = composite(_slide)


def _two_lines(name: str, a: Any, v: Any) -> Any:
    x, y = promote_values(name, a, v, to_inexact=True)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"{name}: expected arrays of one axis; got {x.aval} and {y.aval}")
    if not x.size or not y.size:
        raise ShapeError(f"{name}: expected arrays that aren't empty; got {x.aval} and {y.aval}")
    return x, y


@located
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The convolution of two arrays of one axis.

    Args:
      a, v: arrays [n] and [m]; integers become float32.
      mode: 'full', all places where they overlap; 'same', as many as the longer one is long;
        'valid', those where they overlap wholly.
      precision, preferred_element_type: as in `dot`.
    Returns: array of one axis.
    Example:
      >>> np.convolve(np.array([1, 2, 3]), np.array([1, 1]))
      Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _two_lines("convolve", a, v)
    if x.size < y.size:
        x, y = y, x
    y = slicing.rev(y, dimensions=(0,))
    options = {"precision": precision, "dtype": preferred_element_type}
    return _slid(x, y, name="convolve", mode=mode, **options)


@located
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The cross-correlation of two arrays of one axis; `v` is conjugated.

    Args: as in `convolve`.
    Example:
      >>> np.correlate(np.array([1, 2, 3]), np.array([1, 1]))
      Array([3., 5.], dtype=float32)
    """
    x, y = _two_lines("correlate", a, v)
    if dtypes.is_complex(y.dtype):
        y = complex_numbers.conj(y)
    options = {"precision": precision, "dtype": preferred_element_type}
    if x.size < y.size:
        out = _slid(y, x, name="correlate", mode=mode, **options)
        return slicing.rev(out, dimensions=(0,))
    return _slid(x, y, name="correlate", mode=mode, **options)
