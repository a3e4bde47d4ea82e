"""`x.at[index].set(y)`, add, multiply, …: copies of an array with some elements updated.

`updates.py` implements the updates.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.kernels import run_kernel
from ..core.source import located
from ..core.trace import current
from ..lax.sharding_constraint import constrained
from ..primitives import creation
from ..typing import ArrayLike
from ..user_lines import note_user_line
from .gather_indices import mode_argument
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
    """The property `x.at`: `x.at[index]` selects elements to update or read.

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
            f"at: elements of {self.array.aval} cannot be assigned to: arrays are immutable\n"
            "  fix: y = x.at[index].set(value), or .add(value) instead of +="
        )

    def __repr__(self) -> str:
        return f"{self.array!r}.at"


at = At


class Update:
    """`x.at[index]`: elements to update or read. Each method returns a new array.

    Options of all methods:
      indices_are_sorted, unique_indices: promises about arrays of indices that make updates faster
        on accelerators; if one does not hold, the result is undefined.
      mode: for indices out of range: "drop" (or `None`) ignores their updates, "clip" clamps
        them, "promise_in_bounds" assumes that there are none.
      wrap_negative_indices: whether negative indices count from the end.
      out_sharding: a constraint on the result, as in `lax.with_sharding_constraint`.

    Values are converted to the dtype of the array; a FutureWarning is issued if that may lose
    information (a float into integers). If `set` gets several values for one element, the CPU keeps
    the last one, other devices any of them.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array, self.index = array, index

    @located
    def _no_operator(self, other: object) -> Any:
        raise TypeError(
            f"at: x.at[{self.index!r}] selects elements of {self.array.aval} to update, and is "
            "not an array\n  fix: x = x.at[index].add(value) for +=, .multiply(value) for *=; "
            "x[index] reads"
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = _no_operator
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = _no_operator

    def __repr__(self) -> str:
        return f"{self.array!r}.at[{self.index!r}]"

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"at: x.at[{self.index!r}] is not a function: call one of its methods to update "
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
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] = values`.

        Example:
          >>> np.zeros(3).at[-1].set(7).tolist()
          [0.0, 0.0, 7.0]
        """
        return change(
            self,
            values,
            SET,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
        )

    def add(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] += values`; an element that is indexed several times is updated
        several times.

        Example:
          >>> np.zeros(3).at[np.array([0, 0, 2])].add(1).tolist()
          [2.0, 0.0, 1.0]
        """
        return change(
            self,
            values,
            ADD,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
        )

    def subtract(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] -= values`; an element that is indexed several times is updated
        several times."""
        return change(
            self,
            values,
            SUBTRACT,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
        )

    def multiply(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] *= values`; an element that is indexed several times is updated
        several times."""
        return change(
            self,
            values,
            MULTIPLY,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
        )

    mul = multiply

    def divide(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] /= values`; integers become floats."""
        factors = Update(creation.full(self.array.aval.strong(), 1), self.index).multiply(
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        return constrained(self.array / factors, out_sharding)

    def power(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] **= values`."""
        exponents = Update(creation.full(self.array.aval.strong(), 1), self.index).multiply(
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        return constrained(self.array**exponents, out_sharding)

    def min(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] = minimum(x[index], values)`."""
        return change(
            self,
            values,
            MIN,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
        )

    def max(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x` with `x[index] = maximum(x[index], values)`."""
        return change(
            self,
            values,
            MAX,
            indices_are_sorted,
            unique_indices,
            mode,
            wrap_negative_indices,
            out_sharding,
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
        """`x` with `func` applied to each element of `x[index]`, repeatedly if it is indexed
        repeatedly.

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
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x[index]`, with options for indices out of range.

        Args:
          mode: "fill" (or "drop") reads `fill_value`; "clip" (or `None`) reads the nearest element.
          fill_value: a number; by default NaN, the lowest signed or highest unsigned integer, or
            True.
        Example:
          >>> np.arange(3).at[np.array([1, 9])].get(mode="fill", fill_value=-1).tolist()
          [1, -1]
        """
        try:
            elements = read(
                "at[…].get",
                self.array,
                self.index,
                mode=None if mode is None else mode_argument("at[…].get", mode),
                fill_value=fill_value,
                indices_are_sorted=bool(indices_are_sorted),
                unique_indices=bool(unique_indices),
                wrap=wrap_negative_indices,
            )
            return constrained(elements, out_sharding)
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
    out_sharding: Any,
) -> Any:
    """A copy of `ref.array` with elements updated."""
    x = ref.array
    if (
        x.type is x.aval
        and mode is None
        and wrap
        and current.trace is _base
        and out_sharding is None
    ):
        host = x._host
        if host is None:
            host = host_of(x)
        if host.__class__ is np.ndarray:
            result = run_kernel(changed_copy, host, ref.index, values, operation.ufunc)
            if result is not None:
                return Array(result, x.aval)
    try:
        result = changed(
            x, ref.index, values, operation, indices_are_sorted, unique_indices, mode, wrap
        )
        return constrained(result, out_sharding)
    except (TypeError, ValueError, IndexError) as error:
        note_user_line(error)
        raise
