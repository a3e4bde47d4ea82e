"""The class ufunc, and frompyfunc: elementwise functions with the methods reduce, accumulate,
reduceat, outer and at."""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ..core.array import Array
from ..core.source import located
from ..errors import IndexingError, ShapeError
from ..lax.loops import scan
from ..typing import ArrayLike, DTypeLike
from . import cumulative, reductions
from .axes import all_axes, one_axis
from .creation import dtype_argument, full
from .functional import vectorize
from .joining import concatenate
from .promotion import cast, no_out, value
from .putting import refuse_in_place
from .ranges import arange
from .selection import where as chosen
from .shapes import broadcast_to, moveaxis, reshape
from .taking import integers, take
from .ufunc_attributes import METHODS
from .ufunc_options import check_options

__all__ = ["frompyfunc", "ufunc"]


class _Kind(type):
    """Makes `isinstance(f, ufunc)` true for functions with a ufunc's attributes."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or all(hasattr(x, n) for n in (*METHODS, "identity"))


class ufunc(metaclass=_Kind):
    """An elementwise function that broadcasts, with methods for reductions and outer products.

    Args:
      func: a function of `nin` scalars.
      nin, nout: the numbers of operands and results.
      name: its name; by default, the name of `func`.
      nargs: `nin + nout`.
      identity: the identity element; `None` if there is none.
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
        """Applies the function to the elements of arrays that broadcast together.

        Args:
          args: `nin` arrays.
          out, options: NumPy's options (`where`, `casting`, `order`, `dtype`, `subok`,
            `signature`), only at their defaults.
        Returns: an array, or a tuple of `nout` arrays.
        Raises: TypeError: a wrong number of arguments. NotImplementedError: an option is not the
          default.
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
        """Reduces axes by applying the function between elements, from the first to the last.

        Args:
          a: array of any shape.
          axis: one axis, several axes, or None for all.
          dtype: the dtype to which elements are converted first.
          out: must be None.
          keepdims: keep the axes, with length one.
          initial: the first operand; by default, `identity`, otherwise the first element.
          where: boolean mask of the elements to include.
        Returns: array without the axes.
        Raises: ValueError: no elements, `where`, or several axes, for a function without identity.
        """
        name = f"{self.__name__}.reduce"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        reduction = _REDUCTIONS.get(str(self.__name__)) if self._is_builtin() else None
        if reduction is not None and (initial is None or reduction not in _BOOLEAN_REDUCTIONS):
            start = {"initial": initial} if initial is not None else {}
            dtype_option = (
                {"dtype": dtype}
                if dtype is not None and reduction in _REDUCTIONS_WITH_DTYPE
                else {}
            )
            return reduction(x, axis=axis, keepdims=keepdims, where=where, **start, **dtype_option)  # type: ignore
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
        other_lengths = [n for i, n in enumerate(x.shape) if i not in axes]
        lengths = [1 if i in axes else n for i, n in enumerate(x.shape)]
        count = math.prod(x.shape[i] for i in axes)
        rows = reshape(moveaxis(x, axes, range(len(axes))), (count, *other_lengths))
        start = self.identity if initial is None else initial
        if start is None and (where is not None or not count):
            reason = "`where`" if where is not None else "no elements"
            raise ShapeError(
                f"{name}: {reason} needs an initial value, and this function has no identity; got "
                f"{x.aval}\n  fix: initial=…"
            )
        result_dtype = self._result_dtype(x)
        if start is None:
            initial_carry, rows = cast(rows[0], result_dtype), rows[1:]
        else:
            initial_carry = broadcast_to(
                cast(value(name, start, "initial"), result_dtype), tuple(other_lengths)
            )
        if where is None:
            final_carry, _ = scan(
                lambda c, r: (cast(self._apply(c, r), result_dtype), None), initial_carry, rows
            )
        else:
            mask = broadcast_to(value(name, where, "where"), x.shape)
            masks = reshape(moveaxis(mask, axes, range(len(axes))), (count, *other_lengths))

            def step(carry: Any, inputs: Any) -> Any:
                row, is_included = inputs
                return chosen(is_included, cast(self._apply(carry, row), result_dtype), carry), None

            final_carry, _ = scan(step, initial_carry, (rows, masks))
        return reshape(final_carry, tuple(lengths)) if keepdims else final_carry

    @located
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The cumulative results of `reduce` along an axis.

        Args: as in `reduce`, with one axis.
        Returns: array of the shape of `a`.
        Raises: ValueError: `a` has no axes.
        """
        name = f"{self.__name__}.accumulate"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        axis = one_axis(name, axis, x)
        if self._is_builtin() and self.__name__ in _CUMULATIVE:
            return _CUMULATIVE[self.__name__](x, axis=axis, dtype=dtype)
        result_dtype = self._result_dtype(x)
        rows = moveaxis(x, axis, 0)
        if not rows.shape[0]:
            return cast(x, result_dtype)

        def step(carry: Any, row: Any) -> Any:
            carry = cast(self._apply(carry, row), result_dtype)
            return carry, carry

        first_row = cast(rows[0], result_dtype)
        _, later_rows = scan(step, first_row, rows[1:])
        results = concatenate([first_row[None], later_rows])
        return moveaxis(results, 0, axis)

    @located
    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Reduces segments: segment i goes from indices[i] to indices[i + 1], the last one to the
        end. For an empty segment, the result is the element at its index.

        Args:
          a: array with at least one axis.
          indices: int[k].
          axis, dtype, out: as in `accumulate`.
        Returns: array of the shape of `a`, with length k along the axis.
        Raises: IndexError: a known index is out of range.
        """
        name = f"{self.__name__}.reduceat"
        self._binary(name)
        no_out(name, out)
        x = _converted(name, a, dtype)
        axis, starts = one_axis(name, axis, x), integers(name, indices)
        n, result_dtype = x.shape[axis], self._result_dtype(x)
        if starts.ndim != 1:
            raise ShapeError(f"{name}: indices must have one axis; got {starts.aval}")
        concrete = starts.concrete()
        if concrete is not None:
            h = onp.asarray(concrete.host())
            if (h < 0).any() or (h >= n).any():
                raise IndexingError(f"{name}: indices must be from 0 to {n - 1}; got {h.tolist()}")
        rows = moveaxis(x, axis, 0)
        ends = concatenate([starts[1:], full((1,), n, starts.dtype)])
        column_shape = (-1, *[1] * (x.ndim - 1))
        start_column, end_column = reshape(starts, column_shape), reshape(ends, column_shape)

        def step(carry: Any, index_and_row: Any) -> Any:
            i, row = index_and_row
            is_inside = (i > start_column) & (i < end_column)
            return chosen(is_inside, cast(self._apply(carry, row), result_dtype), carry), None

        initial_carry = cast(take(rows, starts, axis=0), result_dtype)
        final_carry, _ = scan(step, initial_carry, (arange(n, dtype=starts.dtype), rows))
        return moveaxis(final_carry, 0, axis)

    @located
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Applies the function to all pairs of elements of two arrays.

        Args:
          A, B: arrays of any shapes.
        Returns: array whose shape is the shape of `A` followed by the shape of `B`.
        """
        name = f"{self.__name__}.outer"
        self._binary(name)
        x, y = value(name, A, "A"), value(name, B, "B")
        return self._apply(reshape(x, (*x.shape, *[1] * y.ndim)), y)

    @located
    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """A copy of an array with the function applied to the elements at indices, repeatedly for
        repeated indices.

        Args:
          a: array of any shape.
          indices: as in `a[indices]`.
          b: the second operand, which broadcasts to `a[indices]`; None for a function of one
            operand.
          inplace: must be False, because arrays are immutable.
        Returns: array of the shape and dtype of `a`.
        Raises: ValueError: `inplace` is not False. TypeError: the number of operands is wrong.
        """
        name = f"{self.__name__}.at"
        refuse_in_place(name, inplace, f"{name}(a, indices, …, inplace=False)")
        if (b is None) is not (self.nin == 1):
            raise TypeError(f"{name}: takes {self.nin} operands; got {1 if b is None else 2}")
        x = value(name, a, "a")
        update = _UPDATES.get(str(self.__name__)) if self._is_builtin() else None
        if update is not None:
            return getattr(x.at[indices], update)(b)
        positions = reshape(arange(x.size), x.shape)[indices]
        operands = () if b is None else (broadcast_to(value(name, b, "b"), positions.shape),)
        flat_inputs = [reshape(y, (positions.size,)) for y in (positions, *operands)]

        def step(elements: Any, inputs: Any) -> Any:
            index, *other_operands = inputs
            element = cast(self._apply(elements[index], *other_operands), x.dtype)
            return elements.at[index].set(element), None

        updated, _ = scan(step, reshape(x, (x.size,)), tuple(flat_inputs))
        return reshape(updated, x.shape)

    def _is_builtin(self) -> bool:
        return isinstance(self, _OfFunction)

    def _binary(self, name: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise TypeError(
                f"{name}: expected a function of two operands with one result; this one has "
                f"{self.nin} and {self.nout}"
            )

    def _result_dtype(self, x: Any) -> Any:
        """The dtype of the results; each result is an operand of the next step."""
        one = full((), 0, x.dtype)
        return self._apply(one, one).dtype


class _OfFunction(ufunc):
    """The ufunc of a function of arrays that already broadcasts."""

    def __init__(self, function: Any) -> None:
        self.nin, self.nout, self.nargs = function.nin, function.nout, function.nargs
        self.identity, self.__name__ = function.identity, function.__name__
        self._apply = function


def of_function(function: Any) -> ufunc:
    """The ufunc that implements the methods of a function."""
    return _OfFunction(function)


_REDUCTIONS: dict[str, Any] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_REDUCTIONS_WITH_DTYPE = (reductions.sum, reductions.prod)
_BOOLEAN_REDUCTIONS = (reductions.all, reductions.any)
_CUMULATIVE: dict[str, Any] = {"add": cumulative.cumsum, "multiply": cumulative.cumprod}
_UPDATES = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "maximum": "max",
    "minimum": "min",
}


def _converted(name: str, a: Any, dtype: Any) -> Any:
    x, result_dtype = value(name, a, "a"), dtype_argument(name, dtype)
    return x if result_dtype is None else cast(x, result_dtype)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc made from a function of scalars.

    Args:
      func: a function of `nin` scalars, which can be traced.
      nin, nout: the numbers of operands and results.
      identity: the identity element; `None` if there is none.
    Example:
      >>> hypot = np.frompyfunc(lambda x, y: np.sqrt(x * x + y * y), 2, 1, identity=0.0)
      >>> hypot.reduce(np.array([2.0, 3.0, 6.0])).item()
      7.0
    Source: NumPy reference, `numpy.frompyfunc`.
    """
    return ufunc(func, nin, nout, identity=identity)
