"""The properties and methods of a NumPy array, which arrays and tracers share.

Each method is one line that calls a function of `Value.operators` (`core/value.py`).
"""

# mypy: no-warn-return-any
# The functions behind the methods are loaded late, so their types are not known here.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..typing import AbstractArray, ArrayLike, Axes, DTypeLike

if TYPE_CHECKING:
    from ..numpy.at import At
    from .array import Array


class Methods(AbstractArray):
    """The methods of a value, which call functions of `weft.numpy`.

    Arguments are NumPy's, in their order. `out` is there because NumPy's functions
    (`numpy.sum(x)`) pass it to the methods; it must be `None`.
    """

    __slots__ = ()
    operators: ClassVar[Any]

    # --- properties and methods of a NumPy array ---

    @property
    def at(self) -> "At":
        """`x.at[index].set(y)` and similar updates, which return a new array."""
        return self.operators.at(self)

    @property
    def T(self) -> "Array":
        """The array with its axes reversed."""
        return self.operators.transpose(self)

    @property
    def mT(self) -> "Array":
        """The array with its last two axes swapped."""
        return self.operators.matrix_transpose(self)

    @property
    def real(self) -> "Array":
        """The real part."""
        return self.operators.real(self)

    @property
    def imag(self) -> "Array":
        """The imaginary part."""
        return self.operators.imag(self)

    @property
    def flat(self) -> Any:
        """The elements in row-major order."""
        return self.operators.ravel(self)

    def astype(self, dtype: object, copy: bool = False, device: object = None) -> "Array":
        """The array converted to another dtype; a copy if `copy` is true."""
        return self.operators.astype(self, dtype, copy=copy, device=device)

    def view(self, dtype: object = None) -> "Array":
        """The bits of the array read as another dtype."""
        return self.operators.view(self, dtype=dtype)

    def byteswap(self) -> "Array":
        """The array with the bytes of each element reversed."""
        return self.operators.byteswap(self)

    def to_device(self, device: object, *, stream: object = None) -> Any:
        """The array on a device, as the array API standard requires; `stream` must be `None`."""
        return self.operators.to_device(self, device, stream)

    def reshape(self, *shape: object, order: str = "C") -> "Array":
        """The elements in another shape."""
        return self.operators.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def ravel(self, order: str = "C") -> "Array":
        """The elements along one axis."""
        return self.operators.ravel(self, order=order)

    def flatten(self, order: str = "C") -> "Array":
        """The elements along one axis."""
        return self.operators.ravel(self, order=order)

    def transpose(self, *axes: Any) -> "Array":
        """The array with its axes permuted."""
        if len(axes) == 1 and not isinstance(axes[0], int):  # a sequence, or None
            return self.operators.transpose(self, axes[0])
        return self.operators.transpose(self, axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> "Array":
        """The array with two axes swapped."""
        return self.operators.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Axes = None) -> "Array":
        """The array without axes of length one."""
        return self.operators.squeeze(self, axis=axis)

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> "Array":
        """Sum over axes."""
        return self.operators.sum(
            self, axis, dtype, out, keepdims, initial, where, promote_integers
        )

    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> "Array":
        """Product over axes."""
        return self.operators.prod(
            self, axis, dtype, out, keepdims, initial, where, promote_integers
        )

    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> "Array":
        """Mean over axes."""
        return self.operators.mean(self, axis, dtype, out, keepdims, where=where)

    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> "Array":
        """Standard deviation over axes."""
        return self.operators.std(
            self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction
        )

    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> "Array":
        """Variance over axes."""
        return self.operators.var(
            self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction
        )

    def min(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> "Array":
        """Minimum over axes."""
        return self.operators.min(self, axis, out, keepdims, initial, where)

    def max(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> "Array":
        """Maximum over axes."""
        return self.operators.max(self, axis, out, keepdims, initial, where)

    def ptp(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> "Array":
        """Maximum minus minimum over axes."""
        return self.operators.ptp(self, axis=axis, out=out, keepdims=keepdims)

    def argmin(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> "Array":
        """Index of the minimum."""
        return self.operators.argmin(self, axis=axis, out=out, keepdims=keepdims)

    def argmax(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> "Array":
        """Index of the maximum."""
        return self.operators.argmax(self, axis=axis, out=out, keepdims=keepdims)

    def any(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> "Array":
        """True if any element is true, over axes."""
        return self.operators.any(self, axis=axis, out=out, keepdims=keepdims, where=where)

    def all(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> "Array":
        """True if all elements are true, over axes."""
        return self.operators.all(self, axis=axis, out=out, keepdims=keepdims, where=where)

    def cumsum(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None
    ) -> "Array":
        """Running sum along an axis."""
        return self.operators.cumsum(self, axis=axis, dtype=dtype, out=out)

    def cumprod(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None
    ) -> "Array":
        """Running product along an axis."""
        return self.operators.cumprod(self, axis=axis, dtype=dtype, out=out)

    def sort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> "Array":
        """The elements sorted along an axis."""
        return self.operators.sort(
            self, axis=axis, kind=kind, order=order, stable=stable, descending=descending
        )

    def argsort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> "Array":
        """The indices that sort along an axis."""
        return self.operators.argsort(
            self, axis=axis, kind=kind, order=order, stable=stable, descending=descending
        )

    def argpartition(self, kth: int, axis: int = -1) -> "Array":
        """The indices that put the k-th smallest element into its place."""
        return self.operators.argpartition(self, kth, axis=axis)

    def searchsorted(
        self,
        v: ArrayLike,
        side: str = "left",
        sorter: ArrayLike | None = None,
        *,
        method: str = "scan",
    ) -> "Array":
        """The indices at which values would keep a sorted array sorted."""
        return self.operators.searchsorted(self, v, side=side, sorter=sorter, method=method)

    def take(
        self,
        indices: ArrayLike,
        axis: Axes = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: object = None,
    ) -> "Array":
        """Elements at indices along an axis."""
        return self.operators.take(
            self, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value
        )

    def repeat(
        self, repeats: ArrayLike, axis: Axes = None, *, total_repeat_length: int | None = None
    ) -> "Array":
        """Each element repeated."""
        return self.operators.repeat(
            self, repeats, axis=axis, total_repeat_length=total_repeat_length
        )

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> "Array":
        """The elements limited to an interval."""
        return self.operators.clip(self, min=min, max=max)

    def round(self, decimals: int = 0, out: None = None) -> "Array":
        """The elements rounded to decimals."""
        return self.operators.round(self, decimals, out=out)

    def dot(
        self,
        b: ArrayLike,
        *,
        precision: object = None,
        preferred_element_type: DTypeLike | None = None,
    ) -> "Array":
        """The dot product."""
        return self.operators.dot(
            self, b, precision=precision, preferred_element_type=preferred_element_type
        )

    def conj(self) -> "Array":
        """The complex conjugate."""
        return self.operators.conjugate(self)

    def conjugate(self) -> "Array":
        """The complex conjugate."""
        return self.operators.conjugate(self)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> "Array":
        """The diagonal of two axes."""
        return self.operators.diagonal(self, offset=offset, axis1=axis1, axis2=axis2)

    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> "Array":
        """The sum of a diagonal."""
        return self.operators.trace(self, offset, axis1, axis2, dtype, out)

    def nonzero(
        self, *, size: int | None = None, fill_value: ArrayLike | None = None
    ) -> tuple["Array", ...]:
        """The indices of the nonzero elements."""
        return self.operators.nonzero(self, size=size, fill_value=fill_value)

    def choose(
        self, choices: Sequence[ArrayLike], out: None = None, mode: str = "raise"
    ) -> "Array":
        """One of several arrays for each element."""
        return self.operators.choose(self, choices, out=out, mode=mode)

    def compress(
        self,
        condition: ArrayLike,
        axis: Axes = None,
        out: None = None,
        *,
        size: int | None = None,
        fill_value: ArrayLike = 0,
    ) -> "Array":
        """The slices of an axis where a condition holds."""
        return self.operators.compress(
            condition, self, axis=axis, size=size, fill_value=fill_value, out=out
        )

    def copy(self, order: str | None = None) -> "Array":
        """A copy of the array. `order` is ignored."""
        return self.operators.copy(self)
