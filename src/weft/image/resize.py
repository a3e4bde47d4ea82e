"""resize and scale_and_translate: each output element is a weighted mean of input elements near it.

Along each axis this is a product with a matrix of weights, which depend on sizes, scale and
translation; ResizeMethod names the kernel. The centre of element i lies at i + 1/2.
"""

import enum
import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax import Precision, PrecisionLike
from ..lax.products import dot_general
from ..numpy import arange, array, floor, moveaxis, sin, sum, take
from ..numpy.axes import one_axis, shape_tuple
from ..numpy.plans import composite
from ..numpy.promotion import as_inexact, cast, value
from ..numpy.reductions import wide_of
from ..primitives import arithmetic, selection
from ..typing import ArrayLike, ShapeLike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

like, where = arithmetic.like, selection.where


class ResizeMethod(enum.Enum):
    """The weights of elements by their distance.

    NEAREST uses only the nearest element. The others are kernels: LINEAR is a triangle, CUBIC a
    cubic polynomial with a = -1/2 (Keys), LANCZOS3 and LANCZOS5 are windowed sinc functions of
    radius 3 and 5.

    Example:
      >>> from weft import image
      >>> image.resize(np.array([0.0, 10.0]), (4,), image.ResizeMethod.LINEAR)
      Array([ 0. ,  2.5,  7.5, 10. ], dtype=float32)
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """The method with a name.

        Args:
          s: 'nearest'; 'linear', 'bilinear', 'trilinear' or 'triangle'; 'cubic', 'bicubic' or
            'tricubic'; 'lanczos3'; 'lanczos5'.
        Raises: ValueError: an unknown name.
        """
        try:
            return _NAMES[s]
        except KeyError:
            raise ValueError(
                f"ResizeMethod: method must be one of {', '.join(_NAMES)}; got {s!r}"
            ) from None


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
}

# --- weights by distance ---


def _triangle(x: Any) -> Any:
    return arithmetic.max_(like(x, 0), 1 - x)


def _cubic(x: Any) -> Any:
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return where(x < 1, near, where(x < 2, far, like(x, 0)))


def _lanczos(radius: int) -> Any:
    def kernel(x: Any) -> Any:
        inside = where(x < 1e-3, like(x, 1), x)
        angle = math.pi * inside
        far = radius * sin(angle) * sin(angle / radius) / (angle * angle)
        # near 0, where that is 0 / 0: the first terms of the Taylor series
        near = 1 - (math.pi * x) ** 2 * (1 + 1 / radius**2) / 6
        return where(x < 1e-3, near, where(x < radius, far, like(x, 0)))

    return kernel


_KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
}


def _weights(
    n: int, out: int, scale: Any, shift: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The weights of input elements (rows) for output elements (columns)."""
    step = 1 / scale
    width = arithmetic.max_(step, like(step, 1)) if antialias else 1.0
    dtype = step.aval.dtype
    centre = (arange(out, dtype=dtype) + 0.5) * step - shift * step - 0.5
    distance = arithmetic.abs_(centre[None, :] - arange(n, dtype=dtype)[:, None]) / width
    weights = _KERNELS[method](distance)
    total = sum(weights, 0, keepdims=True)
    enough = arithmetic.abs_(total) > 1000 * float(dtypes.finfo(dtype).eps)
    weights = where(enough, weights / where(enough, total, like(total, 1)), like(total, 0))
    inside = (centre >= -0.5) & (centre <= n - 0.5)  # outside the image
    return where(inside[None, :], weights, like(weights, 0))


# --- functions ---


def _method(name: str, method: Any) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if not isinstance(method, str):
        raise TypeError(f"{name}: method must be a name or a ResizeMethod; got {method!r}")
    return ResizeMethod.from_string(method)


@composite
def _transformed(
    x: Any,
    scale: Any,
    shift: Any,
    *,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    dtype, weak = x.aval.dtype, x.aval.weak_type
    sum_dtype = wide_of(dtype)
    x = cast(x, sum_dtype, weak)
    for i, axis in enumerate(axes):
        weights = _weights(x.shape[axis], shape[axis], scale[i], shift[i], method, antialias)
        dimension_numbers = (((axis,), (0,)), ((), ()))
        x = dot_general(x, cast(weights, sum_dtype), dimension_numbers, precision)
        x = moveaxis(x, -1, axis)
    return cast(x, dtype, weak)


def _nearest(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for axis in axes:
        n, out = x.shape[axis], shape[axis]
        place = floor((arange(out, dtype="float32") + 0.5) * n / out).astype("int32")
        x = take(x, place, axis)
    return x


@located
def resize(
    image: ArrayLike,
    shape: ShapeLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Resizes an array to another shape.

    Args:
      image: array with any number of axes; integers become floats, except for 'nearest'. 16-bit
        floats are computed in float32.
      shape: the shape of the result, with the same number of axes. Axes of unchanged length are
        unchanged.
      method: a `ResizeMethod`, or one of its names: 'nearest', 'linear', 'cubic', 'lanczos3', …
      antialias: whether to widen the kernel along axes that become shorter.
      precision: the precision of the products, as in `lax.dot_general`.
    Returns: array of `shape`, differentiable in `image`.
    Raises: ValueError: an unknown method, or a shape with another number of axes.
    Example:
      >>> from weft import image
      >>> image.resize(np.array([1.0, 3.0]), (4,), 'linear').tolist()
      [1.0, 1.5, 2.5, 3.0]
    Source: JAX documentation, `jax.image.resize`; R. Keys, Cubic convolution interpolation, 1981.
    """
    name = "resize"
    x = value(name, image, "image")
    new_shape = _shape(name, x, shape)
    kernel = _method(name, method)
    axes = tuple([i for i in range(x.ndim) if x.shape[i] != new_shape[i]])
    _check_empty(name, x, new_shape, axes)
    if kernel is ResizeMethod.NEAREST:
        return _nearest(x, new_shape, axes)
    x = as_inexact(name, x)
    if not axes:
        return x
    dtype = _number_dtype(x)
    scale = array([new_shape[i] / x.shape[i] for i in axes], dtype)
    return _transformed(
        x, scale, scale * 0, shape=new_shape, axes=axes, method=kernel, antialias=bool(antialias),
        precision=precision,
    )  # fmt: skip


def _shape(name: str, x: Any, shape: Any) -> tuple[int, ...]:
    new_shape = shape_tuple(name, shape)
    if len(new_shape) != x.ndim:
        raise ShapeError(
            f"{name}: shape must have {x.ndim} lengths, as image has axes; got {new_shape} for "
            f"{x.aval}"
        )
    return new_shape


def _number_dtype(x: Any) -> Any:
    """The dtype of weights."""
    return wide_of(dtypes.real_of(x.aval.dtype))


def _check_empty(name: str, x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    if any(not x.shape[i] for i in axes):
        raise ShapeError(f"{name}: {x.aval} has no elements to make {shape} of")


@located
def scale_and_translate(
    image: ArrayLike,
    shape: ShapeLike,
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Scales and translates an image: output y shows input (y - translation) / scale.

    Both are measured from the array's edge; the centre of element i lies at i + 1/2.

    Args:
      image: array with any number of axes; integers become floats.
      shape: the shape of the result, with the same number of axes.
      spatial_dims: the axes to scale and translate. The others keep their lengths.
      scale: floats [len(spatial_dims)], positive.
      translation: floats [len(spatial_dims)], in elements of the output.
      method: a `ResizeMethod` except NEAREST, or one of its names.
      antialias, precision: as in `resize`.
    Returns: array of `shape`, 0 outside the image; differentiable in image, scale, translation.
    Raises: ValueError: an option or a shape is invalid.
    Example:
      >>> from weft import image
      >>> x = np.array([1.0, 2.0, 3.0])
      >>> image.scale_and_translate(x, (3,), (0,), np.ones(1), np.ones(1), 'linear').tolist()
      [0.0, 1.0, 2.0]
    Source: JAX documentation, `jax.image.scale_and_translate`.
    """
    name = "scale_and_translate"
    x = as_inexact(name, value(name, image, "image"))
    new_shape = _shape(name, x, shape)
    axes = tuple([one_axis(name, a, x, "spatial_dims") for a in spatial_dims])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: spatial_dims names an axis twice: {tuple(spatial_dims)}")
    for i in range(x.ndim):
        if i not in axes and x.shape[i] != new_shape[i]:
            raise ShapeError(
                f"{name}: axis {i} isn't among spatial_dims {axes}, so it keeps its length; got "
                f"{x.aval} and shape {new_shape}"
            )
    kernel = _method(name, method)
    if kernel is ResizeMethod.NEAREST:
        raise ValueError(f"{name}: method 'nearest' has no weights\n  fix: 'linear'")
    _check_empty(name, x, new_shape, axes)
    dtype = _number_dtype(x)
    operands = {"scale": scale, "translation": translation}
    values = []
    for argument, v in operands.items():
        v = value(name, v, argument)
        if v.shape != (len(axes),) or dtypes.is_complex(v.aval.dtype):
            raise ShapeError(f"{name}: {argument} must be floats [{len(axes)}]; got {v.aval}")
        values.append(cast(v, dtype))
    return _transformed(
        x, *values, shape=new_shape, axes=axes, method=kernel, antialias=bool(antialias),
        precision=precision,
    )  # fmt: skip
