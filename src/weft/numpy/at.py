"""`x.at[index].set(y)` and its like: a new array with some elements changed.

Knows the methods and their options; `updates` carries them out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.quiet import run_quietly
from ..core.source import located, note_user_line
from ..core.trace import current
from ..primitives import structural
from ..primitives.dimension_numbers import GatherScatterMode
from ..typing import ArrayLike
from .indexing import host_of, read
from .updates import (
    ADD,
    MAX,
    MIN,
    MULTIPLY,
    SET,
    SUBTRACT,
    Mode,
    Operation,
    apply,
    changed,
    changed_copy,
)

__all__: list[str] = []

_base = current.base


class At:
    """The property `x.at`: index it to say which elements are to be changed or read.

    Example:
      >>> x = np.arange(4)
      >>> x.at[1:3].add(10).tolist(), x.tolist()
      ([0, 11, 12, 3], [0, 1, 2, 3])
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> "Update":
        return Update(self.array, index)

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"at: x.at is not a function: it is indexed; got a call of it, of {self.array.aval}\n"
            "  fix: x.at[index].set(value)"
        )

    @located
    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"at: elements of {self.array.aval} can't be assigned to: arrays are immutable\n"
            "  fix: y = x.at[index].set(value), or .add(value) instead of +="
        )

    def __repr__(self) -> str:
        return f"{self.array!r}.at"


at = At


class Update:
    """`x.at[index]`: elements to be changed or read. Each method returns a new array.

    Options of all methods:
      indices_are_sorted, unique_indices: promises about arrays of indices, that make it faster on
        accelerators; what happens if they don't hold is not specified.
      mode: what becomes of places out of range: "drop" (or `None`) leaves the array alone there,
        "clip" moves them inside, "promise_in_bounds" says that there are none.
      wrap_negative_indices: whether negative places count from the end.

    Values take the array's dtype. If that may lose something (a float into integers), a
    FutureWarning says so. Of several values for one element the last is set, on the CPU; elsewhere
    one of them.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array, self.index = array, index

    @located
    def _no_operator(self, other: object) -> Any:
        raise TypeError(
            f"at: x.at[{self.index!r}] says where {self.array.aval} is to be changed, and is no "
            "array itself\n  fix: x = x.at[index].add(value) for +=, .multiply(value) for *=; "
            "x[index] reads"
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = _no_operator
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = _no_operator

    def __repr__(self) -> str:
        return f"{self.array!r}.at[{self.index!r}]"

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"at: x.at[{self.index!r}] is not a function: a method of it says what becomes of the "
            f"elements of {self.array.aval}\n"
            "  fix: x.at[index].set(value), .add(value), .multiply(value), .get(), …"
        )

    def set(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] = values`.

        Example:
          >>> np.zeros(3).at[-1].set(7).tolist()
          [0.0, 0.0, 7.0]
        """
        return change(
            self, values, SET, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    def add(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] += values`; elements indexed several times get all of them.

        Example:
          >>> np.zeros(3).at[np.array([0, 0, 2])].add(1).tolist()
          [2.0, 0.0, 1.0]
        """
        return change(
            self, values, ADD, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    def subtract(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] -= values`; all values for one element count."""
        return change(
            self, values, SUBTRACT, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    def multiply(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] *= values`; all values for one element count."""
        return change(
            self, values, MULTIPLY, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    mul = multiply

    def divide(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] /= values`; integers become floats, everywhere."""
        factors = Update(structural.full(self.array.aval.strong(), 1), self.index).multiply(
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        return self.array / factors

    def power(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] **= values`."""
        exponents = Update(structural.full(self.array.aval.strong(), 1), self.index).multiply(
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        return self.array**exponents

    def min(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with the minimum of `x[index]` and all values there."""
        return change(
            self, values, MIN, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    def max(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with the maximum of `x[index]` and all values there."""
        return change(
            self, values, MAX, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `func` applied to each element of `x[index]`, as often as it is indexed.

        Example:
          >>> np.arange(3).at[1:].apply(lambda e: e * 10).tolist()
          [0, 10, 20]
        """
        try:
            return apply(
                self.array,
                self.index,
                func,
                indices_are_sorted,
                unique_indices,
                mode,
                wrap_negative_indices,
            )
        except (TypeError, ValueError, IndexError) as error:
            note_user_line(error)
            raise

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x[index]`, with a say in what is read out of range.

        Args:
          mode: "fill" (or "drop") gives `fill_value` there; "clip" (or `None`) the nearest element.
          fill_value: a number; NaN, the lowest signed or highest unsigned integer, or True if left
            out.
        Example:
          >>> np.arange(3).at[np.array([1, 9])].get(mode="fill", fill_value=-1).tolist()
          [1, -1]
        """
        try:
            return read(
                "at[…].get",
                self.array,
                self.index,
                mode=None if mode is None else GatherScatterMode.from_any(mode),
                fill_value=fill_value,
                indices_are_sorted=bool(indices_are_sorted),
                unique_indices=bool(unique_indices),
                wrap=wrap_negative_indices,
            )
        except (TypeError, ValueError, IndexError) as error:
            note_user_line(error)
            raise


def change(
    ref: Update,
    values: Any,
    operation: Operation,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
    wrap: bool,
) -> Any:
    """A copy of `ref.array` with elements changed."""
    x = ref.array
    if x.type is x.aval and mode is None and wrap and current.trace is _base:
        host = x._host
        if host is None:
            host = host_of(x)
        if host.__class__ is np.ndarray:
            new = run_quietly(changed_copy, host, ref.index, values, operation.ufunc)
            if new is not None:
                return Array(new, x.aval)
    try:
        return changed(
            x, ref.index, values, operation, indices_are_sorted, unique_indices, mode, wrap
        )
    except (TypeError, ValueError, IndexError) as error:
        note_user_line(error)
        raise
