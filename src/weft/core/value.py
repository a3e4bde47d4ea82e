"""`Value`, the base of arrays and tracers, with the operators of a NumPy array.

The hook `Value.operators` is the module `weft.numpy.operators`, which the first operator loads and
which then puts itself there (`fill_operators`). The operators are written out one by one for
editors and type checkers; methods are in `methods.py`.
"""

# mypy: no-warn-return-any
# The functions behind the methods are loaded late, so their types are not known here.

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import dtypes, errors
from ..extended_dtypes import is_extended, no_numbers
from ..lazy import Deferred
from ..user_lines import noted
from .aval import Aval
from .methods import Methods
from .placement import ArrayType
from .source import located

if TYPE_CHECKING:
    from .array import Array


class Value(Methods):
    """The base class of arrays and tracers: it has an aval, and acts like a NumPy array.

    Its own base is `weft.Array` (`weft.typing`), so `isinstance(x, weft.Array)` is true of tracers
    too.

    Example:
      >>> from weft.extend import Value
      >>> x = np.ones((2, 3))
      >>> isinstance(x, Value), x.aval
      (True, float32[2,3])
    """

    __slots__ = ()
    operators: ClassVar[Any] = Deferred("weft.numpy.operators")
    aval: Aval
    type: ArrayType | None = None
    """An array's aval and placement. `x.type is x.aval` if the array may be anywhere."""

    __array_priority__ = 1000  # NumPy's operators leave the work to ours
    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """True if the array takes the dtype of the other operand, as a Python scalar does."""
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    def concrete(self) -> Any:
        """The array behind the value, if it is known now."""
        return None

    def plain(self) -> Any:
        """The array behind the value, if it is known now and no derivative is lost by using its
        elements.
        """
        return self.concrete()

    # --- operators ---

    def __add__(self, other: object) -> "Array":
        return Value.operators.add(self, other)

    def __radd__(self, other: object) -> "Array":
        return Value.operators.add(other, self)

    def __sub__(self, other: object) -> "Array":
        return Value.operators.subtract(self, other)

    def __rsub__(self, other: object) -> "Array":
        return Value.operators.subtract(other, self)

    def __mul__(self, other: object) -> "Array":
        return Value.operators.multiply(self, other)

    def __rmul__(self, other: object) -> "Array":
        return Value.operators.multiply(other, self)

    def __matmul__(self, other: object) -> "Array":
        return Value.operators.matmul(self, other)

    def __rmatmul__(self, other: object) -> "Array":
        return Value.operators.matmul(other, self)

    def __truediv__(self, other: object) -> "Array":
        return Value.operators.true_divide(self, other)

    def __rtruediv__(self, other: object) -> "Array":
        return Value.operators.true_divide(other, self)

    def __floordiv__(self, other: object) -> "Array":
        return Value.operators.floor_divide(self, other)

    def __rfloordiv__(self, other: object) -> "Array":
        return Value.operators.floor_divide(other, self)

    def __mod__(self, other: object) -> "Array":
        return Value.operators.remainder(self, other)

    def __rmod__(self, other: object) -> "Array":
        return Value.operators.remainder(other, self)

    def __pow__(self, other: object) -> "Array":
        return Value.operators.power(self, other)

    def __rpow__(self, other: object) -> "Array":
        return Value.operators.power(other, self)

    def __and__(self, other: object) -> "Array":
        return Value.operators.bitwise_and(self, other)

    def __rand__(self, other: object) -> "Array":
        return Value.operators.bitwise_and(other, self)

    def __or__(self, other: object) -> "Array":
        return Value.operators.bitwise_or(self, other)

    def __ror__(self, other: object) -> "Array":
        return Value.operators.bitwise_or(other, self)

    def __xor__(self, other: object) -> "Array":
        return Value.operators.bitwise_xor(self, other)

    def __rxor__(self, other: object) -> "Array":
        return Value.operators.bitwise_xor(other, self)

    def __lshift__(self, other: object) -> "Array":
        return Value.operators.left_shift(self, other)

    def __rlshift__(self, other: object) -> "Array":
        return Value.operators.left_shift(other, self)

    def __rshift__(self, other: object) -> "Array":
        return Value.operators.right_shift(self, other)

    def __rrshift__(self, other: object) -> "Array":
        return Value.operators.right_shift(other, self)

    def __eq__(self, other: object) -> "Array":  # type: ignore[override]
        return Value.operators.equal(self, other)

    def __ne__(self, other: object) -> "Array":  # type: ignore[override]
        return Value.operators.not_equal(self, other)

    def __lt__(self, other: object) -> "Array":
        return Value.operators.less(self, other)

    def __le__(self, other: object) -> "Array":
        return Value.operators.less_equal(self, other)

    def __gt__(self, other: object) -> "Array":
        return Value.operators.greater(self, other)

    def __ge__(self, other: object) -> "Array":
        return Value.operators.greater_equal(self, other)

    def __divmod__(self, other: object) -> tuple["Array", "Array"]:
        return Value.operators.divmod(self, other)

    def __rdivmod__(self, other: object) -> tuple["Array", "Array"]:
        return Value.operators.divmod(other, self)

    def __neg__(self) -> "Array":
        return Value.operators.negative(self)

    def __pos__(self) -> "Array":
        return Value.operators.positive(self)

    def __abs__(self) -> "Array":
        return Value.operators.absolute(self)

    def __invert__(self) -> "Array":
        return Value.operators.invert(self)

    def __round__(self, ndigits: int | None = None) -> "Array":
        # as in Python: without `ndigits` the result is an integer
        rounded = Value.operators.round(self, ndigits or 0)
        real = ndigits is None and self.aval.dtype.kind != "c"
        return rounded.astype(int) if real else rounded

    def __getitem__(self, index: object) -> "Array":
        return Value.operators.getitem(self, index)

    @located
    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError(
            "item assignment: weft arrays are immutable; got an assignment to items of "
            f"{self.aval}\n"
            "  fix: y = x.at[index].set(value), which gives a new array"
        )

    @located
    def __delitem__(self, index: object) -> None:
        raise TypeError(
            f"item deletion: weft arrays are immutable; got a deletion of items of {self.aval}\n"
            "  fix: y = numpy.delete(x, index), which gives a new array"
        )

    def __len__(self) -> int:
        if not self.aval.ndim:
            raise noted(
                TypeError(
                    f"len: expected an array with at least one axis; got {self.aval}\n"
                    "  fix: x.size, or x.reshape(-1)"
                )
            )
        return self.aval.shape[0]

    @located
    def __iter__(self) -> Iterator["Array"]:
        if not self.aval.ndim:
            raise TypeError(
                f"iteration: expected an array with at least one axis; got {self.aval}\n"
                "  fix: x.reshape(-1) has one"
            )
        return iter(Value.operators.unstack(self))

    def __contains__(self, element: object) -> bool:
        return bool((self == element).any())

    # --- conversions, which need the elements now ---

    def __bool__(self) -> bool:
        return bool(_one_element(self, "bool", errors.TracerBoolConversionError))

    def __int__(self) -> int:
        return int(_one_element(self, "int", errors.ConcretizationTypeError))

    def __float__(self) -> float:
        return float(_one_element(self, "float", errors.ConcretizationTypeError, self.plain))

    def __complex__(self) -> complex:
        return complex(_one_element(self, "complex", errors.ConcretizationTypeError, self.plain))

    @located
    def __index__(self) -> int:
        if self.aval.ndim or not dtypes.is_integer(self.aval.dtype):
            fix = "x.astype(int)" if self.aval.ndim == 0 else "index one, x[i]"
            raise TypeError(f"index: expected an integer scalar; got {self.aval}\n  fix: {fix}")
        return int(_one_element(self, "index", errors.TracerIntegerConversionError))

    def item(self, *index: int) -> Any:
        """One element as a Python scalar, which has no derivative."""
        if not index:
            return _one_element(self, "item", errors.ConcretizationTypeError)
        return _known(self, "item", errors.ConcretizationTypeError, self.concrete).item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return _known(self, "tolist", errors.ConcretizationTypeError, self.plain).tolist()

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        array = self.concrete()
        if array is not None and not self.aval.ndim:
            return format(array.item(), spec)
        try:
            return format(str(self), spec)
        except ValueError:
            expected = "an array that is known and has no axes"
            raise noted(
                TypeError(
                    f"format: {spec!r} is for {expected}; got {self.aval}"
                    f"{'' if array is not None else ', which is traced'}\n"
                    "  fix: format x.item() of each element, or use numpy.array2string(x, …)"
                )
            ) from None

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return Value.operators.namespace(api_version)


def fill_operators(module: object = None, **functions: object) -> None:
    """Fills the hook with the module that defines operators and methods.

    Functions given by name (`add=…`) become the operators themselves, which saves one Python call
    for each operation.
    """
    if module is not None:
        Value.operators = module
    for name, function in functions.items():
        setattr(Value, f"__{name}__", function)


def _known(value: Value, operation: str, error: type[Exception], find: Callable[[], Any]) -> Any:
    array = find()
    if array is None:
        raise noted(value.conversion_error(operation, error))  # type: ignore[attr-defined]
    if is_extended(value.aval.dtype):
        raise noted(no_numbers(operation, value.aval))
    return array.host()


def _one_element(
    value: Value,
    operation: str,
    error: type[Exception],
    find: Callable[[], Any] | None = None,
) -> Any:
    if value.aval.size != 1:
        raise noted(
            errors.ShapeError(
                f"{operation}: expected an array of one element; got {value.aval}\n"
                + (
                    "  fix: x.any() or x.all() says whether one of them or each is true; & and | "
                    "combine arrays, not `and`, `or`"
                    if operation == "bool"
                    else "  fix: index one, x[i]; x.tolist() or x.astype(…) converts all"
                )
            )
        )
    return _known(value, operation, error, find or value.concrete).item()
