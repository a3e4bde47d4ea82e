"""Functions applied along axes or to all elements: apply_along_axis, apply_over_axes, vectorize.

They use `vmap`, so the function is traced once instead of called for each element.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..core.array import Array
from ..core.source import function_line, located, wrapping
from ..errors import ShapeError
from ..lax.axes import items_of
from ..transforms.arguments import check_callable
from ..transforms.vmap import vmap
from ..typing import ArrayLike
from .axes import axes_of, one_axis
from .promotion import value
from .shapes import expand_dims, joint_shape, reshape

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]


@located
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Applies a function of vectors to all vectors along an axis.

    Args:
      func1d: takes an array [n], then `args` and `kwargs`; returns an array of any shape.
      axis: the axis of the vectors.
      arr: array of at least one axis.
    Returns: array with the axis replaced by the axes of the function's result.
    Example:
      >>> np.apply_along_axis(np.sum, 1, np.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    check_callable(func1d, "apply_along_axis")
    x = value("apply_along_axis", arr, "arr")
    i = one_axis("apply_along_axis", axis, x)

    def mapped(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for _ in range(x.ndim - 1 - i):  # the axes after `axis` come last in the result
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(i):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(x)


@located
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """Applies `func(a, axis)` to one axis after the other.

    Args:
      func: a reduction; axes that it removes are restored with length one.
      a: array of any shape.
      axes: one or several axes.
    Example:
      >>> np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
      Array([[6.]], dtype=float32)
    """
    check_callable(func, "apply_over_axes")
    x = value("apply_over_axes", a, "a")
    for axis in axes_of(axes):
        i = one_axis("apply_over_axes", axis, x, "axes")
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


@located
def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Makes a function of scalars or small arrays broadcast over additional axes, by `vmap`.

    Args:
      pyfunc: the function.
      excluded: positions and names of arguments that are passed on unchanged.
      signature: the core axes of arguments and results, as in '(n,m),(m)->(n)'; by default scalars.
    Returns: the function of arrays.
    Example:
      >>> f = np.vectorize(lambda x, y: np.dot(x, y), signature="(n),(n)->()")
      >>> f(np.ones((4, 3)), np.arange(3)).shape
      (4,)
    """
    check_callable(pyfunc, "vectorize")
    listed_arguments = items_of("vectorize", "excluded", excluded, "positions and names")
    for e in listed_arguments:
        if not isinstance(e, (int, str)):
            raise TypeError(f"vectorize: excluded must hold positions and names; got {e!r}")
        if isinstance(e, int) and e < 0:
            raise ValueError(
                f"vectorize: positions in excluded count from the first argument, 0; got {e}"
            )
    excluded_arguments = frozenset(listed_arguments)
    if signature is not None and not (isinstance(signature, str) and _SIGNATURE.match(signature)):
        raise ValueError(f"vectorize: signature must be as in '(n,m),(m)->(n)'; got {signature!r}")

    @wrapping(pyfunc)
    @located
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        fixed_keywords = {k: v for k, v in kwargs.items() if k in excluded_arguments}
        keywords = {k: v for k, v in kwargs.items() if k not in excluded_arguments}
        if keywords:
            raise ValueError(
                f"vectorize: keyword arguments must be excluded; got {', '.join(keywords)}\n"
                f"  fix: vectorize(f, excluded={{{', '.join(map(repr, keywords))}}}), or pass them "
                "by position"
            )
        positions = [i for i in range(len(args)) if i not in excluded_arguments]
        values = [value("vectorize", args[i], f"argument {i}") for i in positions]
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
        where = (function_line(pyfunc), positions, excluded_arguments, signature)
        fronts, lengths = _fronts(values, cores, *where)
        shape = joint_shape("vectorize", fronts)

        def call_core(*vs: Any) -> Any:
            all_args = list(args)
            for i, v in zip(positions, vs, strict=True):
                all_args[i] = v
            result = pyfunc(*all_args, **fixed_keywords)
            if outs is not None:
                _check_outputs(result, outs, lengths, signature)
            return result

        return _mapped(call_core, values, fronts, shape)

    return vectorized


def _fronts(
    values: Sequence[Any],
    cores: Sequence[tuple[str, ...]],
    function: str,
    positions: Sequence[int],
    excluded: frozenset[int | str],
    signature: str | None,
) -> tuple[list[tuple[int, ...]], dict[str, int]]:
    """The shape of the mapped axes of each argument, and the lengths of the named core axes."""
    lengths: dict[str, int] = {}
    fronts: list[tuple[int, ...]] = []
    for v, core, position in zip(values, cores, positions, strict=True):
        if v.ndim < len(core):
            raise ShapeError(
                f"vectorize: argument {position} of {function}, with shape {v.shape}, does not "
                f"have enough dimensions for all its core dimensions {core}; "
                f"excluded={excluded!r} and signature={signature!r}"
            )
        front_ndim = v.ndim - len(core)
        for label, n in zip(core, v.shape[front_ndim:], strict=True):
            length = int(label) if label.isdigit() else lengths.setdefault(label, n)
            if length != n:
                raise ShapeError(
                    f"vectorize: axis {label} of signature {signature} has lengths {length} and {n}"
                )
        fronts.append(v.shape[:front_ndim])
    return fronts, lengths


def _mapped(
    function: Callable[..., Any],
    values: Sequence[Any],
    fronts: Sequence[tuple[int, ...]],
    shape: tuple[int, ...],
) -> Any:
    """The function mapped over the front axes, which broadcast to `shape`."""
    squeezed_values = [
        reshape(v, tuple(n for n in front_axes if n != 1) + v.shape[len(front_axes) :])
        for v, front_axes in zip(values, fronts, strict=True)
    ]
    axes_present = []  # for each axis, last one first, the arguments that have it
    for k in range(len(shape)):
        has_axis = [
            len(front_axes) > k and front_axes[len(front_axes) - 1 - k] != 1
            for front_axes in fronts
        ]
        axes_present.append(has_axis)
        if any(has_axis):
            function = vmap(
                function, in_axes=tuple(0 if is_present else None for is_present in has_axis)
            )
    result = function(*squeezed_values)
    is_single = not isinstance(result, tuple)
    results = [_restored(r, shape, axes_present) for r in ((result,) if is_single else result)]
    return results[0] if is_single else tuple(results)


def _restored(r: Any, shape: tuple[int, ...], axes_present: Any) -> Any:
    """A result with the squeezed axes of length one restored."""
    mapped_lengths = [
        n for n, has_axis in zip(reversed(shape), axes_present, strict=True) if any(has_axis)
    ]
    return reshape(r, shape + tuple(r.shape[len(mapped_lengths) :]))


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
