"""ufuncs: functions of elements that can be applied along axes, to all pairs, and at indices."""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ..core.array import Array
from ..core.source import located
from ..errors import IndexingError, ShapeError
from ..lax.loops import scan
from ..typing import ArrayLike, DTypeLike
from . import reductions, running
from .axes import all_axes, one_axis
from .choosing import where as chosen
from .creation import full, wanted_dtype
from .functional import vectorize
from .joining import concatenate
from .promotion import cast, no_out, value
from .ranges import arange
from .shapes import broadcast_to, moveaxis, reshape
from .taking import integers, refuse_in_place, take
from .ufunc_attributes import METHODS
from .ufunc_options import check_options

__all__ = ["frompyfunc", "ufunc"]


class _Kind(type):
    """Functions that have a ufunc's attributes are ufuncs too."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or all(hasattr(x, n) for n in (*METHODS, "identity"))


class ufunc(metaclass=_Kind):
    """A function of elements that broadcasts, with methods that apply it to many of them.

    Args:
      func: a function of `nin` scalars.
      nin, nout: how many operands it takes, and how many results it returns.
      name: its name; that of `func` by default.
      nargs: their sum.
      identity: what changes nothing as an operand; `None` if there isn't one.
    Example:
      >>> isinstance(np.add, np.ufunc), np.add.nin, np.add.identity
      (True, 2, 0)
      >>> np.multiply.reduce(np.arange(1, 5)).item()
      24
    Source: NumPy reference, `numpy.ufunc`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
    ) -> None:
        self.nin, self.nout, self.identity = nin, nout, identity
        self.nargs = nin + nout if nargs is None else nargs
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self.__doc__ = getattr(func, "__doc__", None)
        self._apply = vectorize(func)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __call__(self, *args: ArrayLike, out: None = None, **options: Any) -> Any:
        """The function of each of the elements, which broadcast.

        Args:
          args: arrays, as many as `nin`.
          out, options: NumPy's, `where`, `casting`, `order`, `dtype`, `subok` and `signature`, at
            their defaults only.
        Returns: an array, or `nout` of them in a tuple.
        Raises: TypeError: another number of arguments. NotImplementedError: an option that isn't
          at its default.
        """
        check_options(str(self.__name__), out, options)
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}: takes {self.nin} arguments; got {len(args)}")
        return self._apply(*args)

    @located
    def reduce(
        self,
        a: ArrayLike,
        axis: int | tuple[int, ...] | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The function applied between the elements along axes, from the first to the last.

        Args:
          a: array of any shape.
          axis: an axis, several of them, or None for all.
          dtype: what the elements are converted to first.
          out: None only.
          keepdims: keep the axes, with length one.
          initial: where to begin; `identity` by default, or else the first element.
          where: booleans: which elements take part.
        Returns: array without the axes.
        Raises: ValueError: no elements, or `where`, for a function without identity; several axes.
        """
        name = f"{self.__name__}.reduce"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        known = _REDUCTIONS.get(str(self.__name__)) if self._is_known() else None
        if known is not None and (initial is None or known not in _OF_BOOLEANS):
            given = {"initial": initial} if initial is not None else {}
            more = {"dtype": dtype} if dtype is not None and known in _SUMS else {}
            return known(x, axis=axis, keepdims=keepdims, where=where, **given, **more)  # type: ignore
        axes = all_axes(name, axis, x)
        if len(axes) > 1 and self.identity is None:
            raise ShapeError(
                f"{name}: expected one axis, since the order of elements matters; got {axes}\n"
                "  fix: one axis at a time"
            )
        return self._folded(name, x, axes, keepdims, initial, where)

    def _folded(
        self, name: str, x: Any, axes: tuple[int, ...], keepdims: bool, initial: Any, where: Any
    ) -> Any:
        rest = [n for i, n in enumerate(x.shape) if i not in axes]
        kept = [1 if i in axes else n for i, n in enumerate(x.shape)]
        count = math.prod(x.shape[i] for i in axes)
        rows = reshape(moveaxis(x, axes, range(len(axes))), (count, *rest))
        start = self.identity if initial is None else initial
        if start is None and (where is not None or not count):
            reason = "`where`" if where is not None else "no elements"
            raise ShapeError(
                f"{name}: {reason} needs a value to begin with, which this function hasn't; got "
                f"{x.aval}\n  fix: initial=…"
            )
        result = self._result_dtype(x)
        if start is None:
            first, rows = cast(rows[0], result), rows[1:]
        else:
            first = broadcast_to(cast(value(name, start, "initial"), result), tuple(rest))
        if where is None:
            last, _ = scan(lambda c, r: (cast(self._apply(c, r), result), None), first, rows)
        else:
            mask = broadcast_to(value(name, where, "where"), x.shape)
            masks = reshape(moveaxis(mask, axes, range(len(axes))), (count, *rest))

            def step(carry: Any, given: Any) -> Any:
                row, taken = given
                return chosen(taken, cast(self._apply(carry, row), result), carry), None

            last, _ = scan(step, first, (rows, masks))
        return reshape(last, tuple(kept)) if keepdims else last

    @located
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The results of `reduce` for the elements up to each.

        Args: as in `reduce`, with one axis.
        Returns: array of a's shape.
        Raises: ValueError: a has no axis.
        """
        name = f"{self.__name__}.accumulate"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        axis = one_axis(name, axis, x)
        if self._is_known() and self.__name__ in _RUNNING:
            return _RUNNING[self.__name__](x, axis=axis, dtype=dtype)
        result = self._result_dtype(x)
        rows = moveaxis(x, axis, 0)
        if not rows.shape[0]:
            return cast(x, result)

        def step(carry: Any, row: Any) -> Any:
            carry = cast(self._apply(carry, row), result)
            return carry, carry

        first = cast(rows[0], result)
        _, later = scan(step, first, rows[1:])
        whole = concatenate([first[None], later])
        return moveaxis(whole, 0, axis)

    @located
    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """`reduce` of pieces: piece i goes from indices[i] up to indices[i + 1], the last one to
        the end; a piece that would be empty is the element at its index.

        Args:
          a: array with at least one axis.
          indices: int[k].
          axis, dtype, out: as in `accumulate`.
        Returns: array of a's shape with length k along the axis.
        Raises: IndexError: an index is out of range, if it is known.
        """
        name = f"{self.__name__}.reduceat"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        axis, starts = one_axis(name, axis, x), integers(name, indices)
        n, result = x.shape[axis], self._result_dtype(x)
        if starts.ndim != 1:
            raise ShapeError(f"{name}: indices must have one axis; got {starts.aval}")
        known = starts.concrete()
        if known is not None and ((h := onp.asarray(known.host())) < 0).any() | (h >= n).any():
            raise IndexingError(f"{name}: indices must be from 0 to {n - 1}; got {h.tolist()}")
        rows = moveaxis(x, axis, 0)
        ends = concatenate([starts[1:], full((1,), n, starts.dtype)])
        many = (-1, *[1] * (x.ndim - 1))
        starts_, ends_ = reshape(starts, many), reshape(ends, many)

        def step(carry: Any, given: Any) -> Any:
            i, row = given
            inside = (i > starts_) & (i < ends_)
            return chosen(inside, cast(self._apply(carry, row), result), carry), None

        first = cast(take(rows, starts, axis=0), result)
        last, _ = scan(step, first, (arange(n, dtype=starts.dtype), rows))
        return moveaxis(last, 0, axis)

    @located
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of all pairs of elements.

        Args:
          A, B: arrays of any shapes.
        Returns: array of A's shape and then B's.
        """
        name = f"{self.__name__}.outer"
        self._binary(name)
        x, y = value(name, A, "A"), value(name, B, "B")
        return self._apply(reshape(x, (*x.shape, *[1] * y.ndim)), y)

    @located
    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """The array with the function applied to the elements at indices; to one that is named
        twice, twice.

        Args:
          a: array of any shape.
          indices: as in `a[indices]`.
          b: the second operand, which broadcasts to `a[indices]`; none of a function of one.
          inplace: must be False: arrays are immutable, and the result is returned.
        Returns: array of a's shape and dtype.
        Raises: ValueError: `inplace` isn't False. TypeError: the number of operands.
        """
        name = f"{self.__name__}.at"
        refuse_in_place(name, inplace, f"{name}(a, indices, …, inplace=False)")
        if (b is None) is not (self.nin == 1):
            raise TypeError(f"{name}: takes {self.nin} operands; got {1 if b is None else 2}")
        x = value(name, a, "a")
        update = _UPDATES.get(str(self.__name__)) if self._is_known() else None
        if update is not None:
            return getattr(x.at[indices], update)(b)
        places = reshape(arange(x.size), x.shape)[indices]
        operands = () if b is None else (broadcast_to(value(name, b, "b"), places.shape),)
        flat = [reshape(y, (places.size,)) for y in (places, *operands)]

        def step(elements: Any, given: Any) -> Any:
            at, *others = given
            new = cast(self._apply(elements[at], *others), x.dtype)
            return elements.at[at].set(new), None

        last, _ = scan(step, reshape(x, (x.size,)), tuple(flat))
        return reshape(last, x.shape)

    def _is_known(self) -> bool:
        return isinstance(self, _OfFunction)

    def _binary(self, name: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise TypeError(
                f"{name}: expected a function of two operands with one result; this one has "
                f"{self.nin} and {self.nout}"
            )

    def _result_dtype(self, x: Any) -> Any:
        """The dtype of results, of which each is an operand again."""
        one = full((), 0, x.dtype)
        return self._apply(one, one).dtype


class _OfFunction(ufunc):
    """The ufunc of a function of arrays, which broadcasts already."""

    def __init__(self, function: Any) -> None:
        self.nin, self.nout, self.nargs = function.nin, function.nout, function.nargs
        self.identity, self.__name__ = function.identity, function.__name__
        self._apply = function


def of_function(function: Any) -> ufunc:
    """The ufunc whose methods a function has."""
    return _OfFunction(function)


_REDUCTIONS: dict[str, Any] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_SUMS = (reductions.sum, reductions.prod)
_OF_BOOLEANS = (reductions.all, reductions.any)
_RUNNING: dict[str, Any] = {"add": running.cumsum, "multiply": running.cumprod}
_UPDATES = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "maximum": "max",
    "minimum": "min",
}


def _converted(name: str, a: Any, dtype: Any) -> Any:
    x, wanted = value(name, a, "a"), wanted_dtype(name, dtype)
    return x if wanted is None else cast(x, wanted)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc of a function of scalars.

    Args:
      func: a function of `nin` scalars, which can be traced.
      nin, nout: how many operands it takes, and how many results it returns.
      identity: what changes nothing as an operand; `None` if there isn't one.
    Example:
      >>> hypot = np.frompyfunc(lambda x, y: np.sqrt(x * x + y * y), 2, 1, identity=0.0)
      >>> hypot.reduce(np.array([2.0, 3.0, 6.0])).item()
      7.0
    Source: NumPy reference, `numpy.frompyfunc`.
    """
    return ufunc(func, nin, nout, identity=identity)
