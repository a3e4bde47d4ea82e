"""Weight initializers: functions `init(key, shape, dtype)`, and functions that make them.

zeros and ones are initializers; constant, uniform, normal, truncated_normal, orthogonal,
delta_orthogonal and variance_scaling make one, and so do glorot_normal (xavier_normal),
glorot_uniform (xavier_uniform), lecun_normal, lecun_uniform, he_normal (kaiming_normal) and
he_uniform (kaiming_uniform). Initializer is their type.

The same key, shape and dtype give the same values as in JAX.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.linalg import qr
from ..numpy import (
    cos,
    diagonal,
    exp as _exp,
    full,
    log1p,
    moveaxis,
    ones as _ones,
    sign,
    sin,
    sqrt,
    zeros as _zeros,
)
from ..numpy.axes import one_axis, shape_tuple
from ..numpy.creation import dtype_argument
from ..numpy.promotion import cast, value
from ..primitives.complex_numbers import complex_
from ..random import (
    normal as _normal,
    split,
    truncated_normal as _truncated_normal,
    uniform as _uniform,
)
from ..sharding import Sharding, is_unstated
from ..transforms.devices.device_put import device_put
from ..typing import ArrayLike, DTypeLike, ShapeLike

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes: TypeAlias = int | Sequence[int]
Mode: TypeAlias = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
Distribution: TypeAlias = Literal["truncated_normal", "normal", "uniform"]


class Initializer(Protocol):
    """The type of initializers.

    Example:
      >>> from weft.nn import initializers
      >>> make: initializers.Initializer = initializers.he_normal()
      >>> make(random.PRNGKey(0), (4, 3), np.float32).shape
      (4, 3)
    """

    def __call__(
        self,
        key: ArrayLike,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        out_sharding: Sharding | None = None,
    ) -> Array:
        """Makes an array.

        Args:
          key: a key of `weft.random`.
          shape: the shape of the result.
          dtype: a float or complex dtype; by default, the initializer's, float32.
          out_sharding: the sharding of the result; by default, it is unspecified.
        Returns: array of `shape`.
        """
        ...


def _value_dtype(name: str, dtype: Any, default: Any) -> Any:
    """The dtype of an initializer's values."""
    result_dtype = dtype_argument(name, default if dtype is None else dtype)
    return dtypes.default_float() if result_dtype is None else result_dtype


def _with_sharding(x: Any, sharding: Any) -> Any:
    return x if sharding is None or is_unstated(sharding) else device_put(x, sharding)


def _initializer(name: str, default: Any, make: Any, inexact: bool = True) -> Initializer:
    """Makes an initializer from a function of a key, a shape and a dtype."""
    dtype_argument(name, default)

    @located
    def init(
        key: ArrayLike,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        out_sharding: Sharding | None = None,
    ) -> Array:
        result_dtype = _value_dtype(name, dtype, default)
        if inexact and not dtypes.is_inexact(result_dtype):
            raise ShapeError(f"{name}: dtype must be a float or complex dtype; got {result_dtype}")
        x = make(key, shape_tuple(name, shape), result_dtype)
        return _with_sharding(x, out_sharding)

    init.__name__ = init.__qualname__ = name
    return init


# --- constants ---


@located
def zeros(
    key: ArrayLike | None,
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    out_sharding: Sharding | None = None,
) -> Array:
    """An initializer of zeros.

    Args: as `Initializer`.
    Returns: array of `shape`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.zeros(None, (2,))
      Array([0., 0.], dtype=float32)
    Source: JAX documentation, `jax.nn.initializers.zeros`.
    """
    return _with_sharding(_zeros(shape, _value_dtype("zeros", dtype, None)), out_sharding)


@located
def ones(
    key: ArrayLike | None,
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    out_sharding: Sharding | None = None,
) -> Array:
    """An initializer of ones.

    Args: as `Initializer`.
    Returns: array of `shape`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.ones(None, (2,))
      Array([1., 1.], dtype=float32)
    Source: JAX documentation, `jax.nn.initializers.ones`.
    """
    return _with_sharding(_ones(shape, _value_dtype("ones", dtype, None)), out_sharding)


@located
def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer of a constant value.

    Args:
      value: a number, or an array that broadcasts to the shape.
      dtype: the dtype of the values, if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.constant(2)(None, (2,))
      Array([2., 2.], dtype=float32)
    Source: JAX documentation, `jax.nn.initializers.constant`.
    """
    return _initializer(
        "constant", dtype, lambda key, shape, dtype: full(shape, value, dtype), inexact=False
    )


# --- one distribution for all elements ---


@located
def uniform(scale: float | ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer of uniform values, from 0 to `scale`.

    Args:
      scale: the upper bound, exclusive.
      dtype: a float dtype, used if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.uniform(10.0)(random.PRNGKey(0), (2,)).tolist()
      [2.16295, 8.04124]
    Source: JAX documentation, `jax.nn.initializers.uniform`.
    """
    return _initializer("uniform", dtype, lambda key, shape, dtype: _scaled(
        _uniform(key, shape, dtype), scale))  # fmt: skip


@located
def normal(stddev: float | ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer of normal values with mean 0.

    Args:
      stddev: the standard deviation.
      dtype: a float or complex dtype, used if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.normal(10.0)(random.PRNGKey(0), (3,)).tolist()
      [18.16087, -4.82623, 3.39889]
    Source: JAX documentation, `jax.nn.initializers.normal`.
    """
    return _initializer("normal", dtype, lambda key, shape, dtype: _scaled(
        _normal(key, shape, dtype), stddev))  # fmt: skip


@located
def truncated_normal(
    stddev: float | ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: float | ArrayLike = -2.0,
    upper: float | ArrayLike = 2.0,
) -> Initializer:
    """An initializer of truncated standard normal values multiplied by `stddev`.

    Args:
      stddev: the factor, which would be the standard deviation without the truncation.
      dtype: a float dtype, used if the call of the initializer names none.
      lower, upper: the bounds, before the factor.
    Returns: function `init(key, shape, dtype)`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.truncated_normal(10.0)(random.PRNGKey(0), (2,)).tolist()
      [-7.4147, 8.0742]
    Source: JAX documentation, `jax.nn.initializers.truncated_normal`.
    """
    return _initializer("truncated_normal", dtype, lambda key, shape, dtype: _scaled(
        _truncated_normal(key, lower, upper, shape, dtype), stddev))  # fmt: skip


def _scaled(x: Any, factor: Any) -> Any:
    """A product in the dtype of the samples."""
    scale = value("initializers", factor, "scale")
    return x * (factor if isinstance(factor, (int, float)) else cast(scale, x.dtype))


# --- a variance that depends on the numbers of inputs and outputs ---

_TRUNCATED = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2)))
"""The standard deviation of a standard normal variable truncated to [-2, 2]."""
_COMPLEX_TRUNCATED = 0.95311164380491208
"""The number by which JAX divides for complex numbers, so that values are equal."""


def _product(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[a] for a in axes])


def _axes(argument: str, axes: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    axis_sequence = axes if isinstance(axes, Sequence) else (axes,)
    return tuple([one_axis("variance_scaling", a, len(shape), argument) for a in axis_sequence])


def _fan(
    shape: tuple[int, ...], mode: str, in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> float:
    """The number by which the variance is divided."""
    if len(shape) < 2 and (in_axis, out_axis) == (-2, -1):
        raise ShapeError(
            f"variance_scaling: shape {shape} has fewer than two axes\n"
            "  fix: name the axes of inputs and outputs, in_axis and out_axis"
        )
    inputs = _product(shape, _axes("in_axis", in_axis, shape))
    outputs = _product(shape, _axes("out_axis", out_axis, shape))
    batch = _product(shape, _axes("batch_axis", batch_axis, shape))
    if not math.prod(shape):
        return 1.0  # there is no element
    window = math.prod(shape) / inputs / outputs / batch  # the elements of a convolution's kernel
    fan_in, fan_out = inputs * window, outputs * window
    fans = {
        "fan_in": fan_in,
        "fan_out": fan_out,
        "fan_avg": (fan_in + fan_out) / 2,
        "fan_geo_avg": math.sqrt(fan_in * fan_out),
    }
    return fans[mode]


@located
def variance_scaling(
    scale: float | ArrayLike,
    mode: Mode,
    distribution: Distribution,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """An initializer of values with mean 0 and variance `scale / n`, where n depends on the numbers
    of inputs and outputs.

    Args:
      scale: a number of at least 0.
      mode: n: "fan_in" is the number of inputs of an output, "fan_out" the number of outputs of an
        input, "fan_avg" their mean, "fan_geo_avg" their geometric mean.
      distribution: "truncated_normal" (at two standard deviations), "normal" or "uniform". Complex
        numbers are uniform on a disk.
      in_axis, out_axis: the axis or axes of inputs and outputs. The others are window axes of a
        convolution.
      batch_axis: the axes of independent weights.
      dtype: a float or complex dtype, used if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`.
    Raises: ValueError: a negative scale, an unknown mode or distribution; too few axes.
    Example:
      >>> from weft.nn import initializers
      >>> init = initializers.variance_scaling(1.0, "fan_in", "uniform")
      >>> bool(np.all(np.abs(init(random.PRNGKey(0), (75, 4))) <= 0.2))
      True
    Source: JAX documentation, `jax.nn.initializers.variance_scaling`.
    """
    name = "variance_scaling"
    if isinstance(scale, (int, float)) and not scale >= 0:
        raise ValueError(f"{name}: scale must be 0 or more; got {scale!r}")
    modes = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
    if mode not in modes:
        raise ValueError(f"{name}: mode must be one of {', '.join(modes)}; got {mode!r}")
    distributions = ("truncated_normal", "normal", "uniform")
    if distribution not in distributions:
        raise ValueError(
            f"{name}: distribution must be one of {', '.join(distributions)}; got {distribution!r}"
        )

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        part = dtypes.real_of(dtype)
        variance = full((), scale, part) / _fan(shape, mode, in_axis, out_axis, batch_axis)
        deviation = sqrt(variance)
        is_complex = dtypes.is_complex(dtype)
        if distribution == "normal":
            return _normal(key, shape, dtype) * deviation
        if distribution == "uniform":
            if is_complex:
                return _on_disk(key, shape, part) * deviation
            return _uniform(key, shape, dtype, -1) * sqrt(3 * variance)
        if is_complex:
            return _within_radius(key, 2.0, shape, part) * (deviation / _COMPLEX_TRUNCATED)
        return _truncated_normal(key, -2, 2, shape, dtype) * (deviation / _TRUNCATED)

    return _initializer(name, dtype, make)


def _polar(radius: Any, key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex numbers with the given sizes and random directions."""
    angle = 2 * math.pi * _uniform(key, shape, dtype)
    return complex_(radius * cos(angle), radius * sin(angle))


def _on_disk(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex numbers that are uniform on a disk, with variance 1."""
    radius_key, angle_key = split(key)
    return _polar(sqrt(2 * _uniform(radius_key, shape, dtype)), angle_key, shape, dtype)


def _within_radius(key: Any, radius: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex normal numbers with variance 1, truncated to a radius."""
    radius_key, angle_key = split(key)
    probability = 1 - _exp(full((), -(radius**2), dtype))
    modulus = sqrt(-log1p(-probability * _uniform(radius_key, shape, dtype)))
    return _polar(modulus, angle_key, shape, dtype)


def _scaling(name: str, scale: float, mode: Mode, distribution: Distribution, doc: str) -> Any:
    """A function that makes initializers with one scale, mode and distribution."""

    @located
    def make_initializer(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    kind = "uniform" if distribution == "uniform" else "truncated normal"
    make_initializer.__name__ = make_initializer.__qualname__ = name
    make_initializer.__doc__ = f"""{doc}: {kind} values of mean 0.

    Args:
      in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.
    Returns: function `init(key, shape, dtype)`.
    Example:
      >>> from weft.nn import initializers
      >>> initializers.{name}()(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    Source: JAX documentation, `jax.nn.initializers.{name}`.
    """
    return make_initializer


_GLOROT = "An initializer of variance 2 / (inputs + outputs)"
_LECUN = "An initializer of variance 1 / inputs"
_HE = "An initializer of variance 2 / inputs"

glorot_uniform = _scaling("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = _scaling("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
lecun_uniform = _scaling("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _scaling("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
he_uniform = _scaling("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = _scaling("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal

# --- orthogonal ---


@located
def orthogonal(
    scale: float | ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """An initializer of matrices with orthonormal columns, or orthonormal rows if there are fewer
    rows.

    Args:
      scale: a factor.
      column_axis: the axis of columns; the other axes together are the rows.
      dtype: a float or complex dtype, used if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`, for shapes of at least two axes.
    Raises: ValueError: the shape has fewer axes.
    Example:
      >>> from weft.nn import initializers
      >>> q = initializers.orthogonal()(random.PRNGKey(0), (3, 2))
      >>> bool(np.allclose(q.T @ q, np.eye(2), atol=1e-6))
      True
    Source: JAX documentation, `jax.nn.initializers.orthogonal`; arXiv:math-ph/0609050.
    """
    name = "orthogonal"

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        if len(shape) < 2:
            raise ShapeError(f"{name}: shape must have at least two axes; got {shape}")
        column_position = one_axis(name, column_axis, len(shape), "column_axis")
        rows = shape[column_position]
        columns = (
            math.prod(shape) // rows
            if rows
            else math.prod([*shape[:column_position], *shape[column_position + 1 :]])
        )
        q = _orthonormal(key, max(rows, columns), min(rows, columns), dtype)
        if rows <= columns:
            q = q.T
        row_shape = (*shape[:column_position], *shape[column_position + 1 :])
        return _scaled(moveaxis(q.reshape((rows, *row_shape)), 0, column_position), scale)

    return _initializer(name, dtype, make)


def _orthonormal(key: Any, rows: int, columns: int, dtype: Any) -> Any:
    """Orthonormal columns with uniformly distributed rotations, from a matrix of normal samples."""
    compute_dtype = dtype if dtypes.is_complex(dtype) or dtype.itemsize > 2 else dtypes.float32
    q, r = qr(cast(_normal(key, (rows, columns), dtype), compute_dtype), full_matrices=False)
    return cast(q * sign(diagonal(r)), dtype)


@located
def delta_orthogonal(
    scale: float | ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """An initializer of convolution kernels: an orthogonal matrix in the middle of the window,
    zeros elsewhere.

    Args:
      scale: a factor.
      column_axis: the axis of columns of the matrix.
      dtype: a float or complex dtype, used if the call of the initializer names none.
    Returns: function `init(key, shape, dtype)`, for shapes [one to three lengths of the window,
      inputs, outputs] with no more inputs than outputs.
    Raises: ValueError: the shape is wrong.
    Example:
      >>> from weft.nn import initializers
      >>> k = initializers.delta_orthogonal()(random.PRNGKey(0), (3, 2, 2))
      >>> [bool(np.any(k[i])) for i in range(3)]
      [False, True, False]
    Source: arXiv:1806.05393; JAX documentation, `jax.nn.initializers.delta_orthogonal`.
    """
    name = "delta_orthogonal"
    matrix = orthogonal(scale, column_axis, dtype)

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ShapeError(f"{name}: shape must have 3 to 5 axes; got {shape}")
        inputs, outputs = shape[-2:]
        if inputs > outputs:
            raise ValueError(f"{name}: shape must have no more inputs than outputs; got {shape}")
        matrix_value = matrix(key, (inputs, outputs), dtype)
        centre = tuple([(n - 1) // 2 for n in shape[:-2]])
        return _zeros(shape, dtype).at[centre].set(matrix_value)

    return _initializer(name, dtype, make)
