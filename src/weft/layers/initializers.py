"""Weight initializers: functions `f(shape, rng)`, and functions that make them.

RandomNormalInitializer, RandomUniformInitializer, ScaledInitializer, GlorotNormalInitializer,
GlorotUniformInitializer, LeCunNormalInitializer, LeCunUniformInitializer, KaimingNormalInitializer,
KaimingUniformInitializer, OrthogonalInitializer and InitializerFromFile make initializers;
AtariConvInit is one; Initializer is their type.

A shape has int lengths; `rng` is a key of `fastmath.random`. Values are float32. On the backend
`jax`, a key always gives the same values.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as onp

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..user_lines import noted

__all__ = [
    "AtariConvInit",
    "GlorotNormalInitializer",
    "GlorotUniformInitializer",
    "Initializer",
    "InitializerFromFile",
    "KaimingNormalInitializer",
    "KaimingUniformInitializer",
    "LeCunNormalInitializer",
    "LeCunUniformInitializer",
    "OrthogonalInitializer",
    "RandomNormalInitializer",
    "RandomUniformInitializer",
    "ScaledInitializer",
]

Axes: TypeAlias = int | Sequence[int]

_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("normal", "uniform", "truncated_normal")

# The standard deviation of the standard normal distribution truncated to [-2, 2]:
# sqrt(1 - 4 φ(2) / erf(√2)).
_DEVIATION_WITHIN_2 = 0.87962566103423978


class Initializer(Protocol):
    """The type of initializers.

    Example:
      >>> from weft import layers as tl
      >>> initializer: tl.Initializer = lambda shape, rng: np.ones(shape)
      >>> layer = tl.Dense(2, kernel_initializer=initializer)
      >>> weights, _ = layer.init(np.ones((1, 3)))
      >>> weights[0]
      Array([[1., 1.],
             [1., 1.],
             [1., 1.]], dtype=float32)
    """

    def __call__(self, shape: Sequence[int], rng: Any) -> Any:
        """Makes an array.

        Args:
          shape: the shape of the result.
          rng: a key of `fastmath.random`.
        Returns: float32 array of `shape`.
        """
        ...


def _lengths(name: str, shape: Any, argument: str = "shape") -> list[int]:
    """A shape as a list of Python ints."""
    if not isinstance(shape, tuple | list | onp.ndarray):
        raise noted(TypeError(f"{name}: {argument} must be a tuple or list of ints; got {shape!r}"))
    return list(option_checks.lengths(name, argument, list(shape), least=0))


def InitializerFromFile(path: str) -> Initializer:
    """An initializer that reads the values from an `.npy` file and ignores the key.

    No code from the file is run: files with pickled objects raise an error.

    Args:
      path: the file's path.
    Returns: a function of (shape, rng) that returns the file's array, with its dtype.
    Raises (the function):
      ShapeError: the file's array has another shape.
      OSError, ValueError: the file does not exist, or is not an `.npy` file.
    Example:
      >>> from weft import layers as tl
      >>> np.save("kernel.npy", np.ones((3, 2)))
      >>> tl.InitializerFromFile("kernel.npy")((3, 2), None)
      Array([[1., 1.],
             [1., 1.],
             [1., 1.]], dtype=float32)
    Source: Trax documentation, `layers.InitializerFromFile`.
    """

    def init(shape: Sequence[int], rng: Any) -> Any:
        lengths = _lengths("InitializerFromFile", shape)
        parameter = onp.load(path, allow_pickle=False)
        if list(parameter.shape) != lengths:
            raise noted(
                ShapeError(
                    f"InitializerFromFile: expected an array of shape {tuple(lengths)} in {path}; "
                    f"got one of shape {parameter.shape}"
                )
            )
        return jnp.asarray(parameter)

    return init


def RandomNormalInitializer(stddev: float = 1e-2) -> Initializer:
    """An initializer with normally distributed numbers with mean 0.

    Args:
      stddev: their standard deviation.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import fastmath, layers as tl
      >>> tl.RandomNormalInitializer(2.0)((2,), fastmath.random.get_prng(0)).shape
      (2,)
    Source: Trax documentation, `layers.RandomNormalInitializer`.
    """
    name = "RandomNormalInitializer"
    option_checks.number(name, "stddev", stddev, least=0.0)

    def init(shape: Sequence[int], rng: Any) -> Any:
        return (stddev * fastmath.random.normal(rng, _lengths(name, shape))).astype(jnp.float32)

    return init


def RandomUniformInitializer(lim: float = 1.0) -> Initializer:
    """An initializer with uniform numbers in [-lim, lim).

    Args:
      lim: the bound.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> initializer = tl.RandomUniformInitializer(lim=0.1)
      >>> w = initializer((100, 200), random.PRNGKey(0))
      >>> round(float(w.min()), 3), round(float(w.max()), 3)
      (-0.1, 0.1)
    Source: Trax documentation, `layers.RandomUniformInitializer`.
    """
    name = "RandomUniformInitializer"
    option_checks.number(name, "lim", lim, least=0.0)

    def init(shape: Sequence[int], rng: Any) -> Any:
        return fastmath.random.uniform(rng, _lengths(name, shape), jnp.float32, -lim, lim)

    return init


def ScaledInitializer(
    out_dim: int, in_dim: int, scale: float, mode: str, distribution: str
) -> Initializer:
    """An initializer whose variance depends on the shape: gain = scale / fan.

    fan_in is the length of axis `in_dim`, fan_out the length of `out_dim`; for a vector, both are
    its length; for a scalar, 1. As in Trax, the lengths of other axes, such as a convolution's
    window, are ignored.

    Args:
      out_dim: the axis of the outputs' features.
      in_dim: the axis of the inputs' features.
      scale: a positive factor.
      mode: the fan in the denominator: 'fan_in', 'fan_out', or 'fan_avg', their mean.
      distribution: 'normal', with variance gain; 'uniform' on ±√(3 · gain), which has the same
        variance; or 'truncated_normal', a normal distribution truncated at ±2 of its standard
        deviations, with variance gain.
    Returns: a function of (shape, rng, nonreceptive_dims=None). The last argument has no effect; it
      names axes that are not part of the window.
    Raises:
      ValueError: the scale is not positive, or the mode or distribution is unknown.
    Example:
      >>> from weft import fastmath, layers as tl
      >>> init = tl.ScaledInitializer(-1, -2, 1.0, "fan_in", "uniform")
      >>> float(abs(init((3, 400), fastmath.random.get_prng(0))).max()) <= 1.0
      True
    Source: Trax documentation, `layers.ScaledInitializer`.
    """
    return _scaled("ScaledInitializer", out_dim, in_dim, scale, mode, distribution)


def _scaled(
    name: str, out_dim: int, in_dim: int, scale: float, mode: str, distribution: str
) -> Initializer:
    """`ScaledInitializer`, with errors that name the calling function."""
    option_checks.whole_number(name, "out_dim", out_dim, least=-99)
    option_checks.whole_number(name, "in_dim", in_dim, least=-99)
    option_checks.number(name, "scale", scale, above=0.0)
    option_checks.choice(name, "mode", mode, _MODES)
    option_checks.choice(name, "distribution", distribution, _DISTRIBUTIONS)

    def init(shape: Sequence[int], rng: Any, nonreceptive_dims: Axes | None = None) -> Any:
        lengths = _lengths(name, shape)
        window_excludes = () if nonreceptive_dims is None else nonreceptive_dims
        for axis in (window_excludes,) if isinstance(window_excludes, int) else window_excludes:
            _length(name, "nonreceptive_dims", lengths, axis)
        fan_in, fan_out = _fans(name, lengths, out_dim, in_dim)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        gain = scale / max(fan, 1)  # nothing to sample for empty axes
        if distribution == "uniform":
            limit = math.sqrt(3.0 * gain)
            return fastmath.random.uniform(rng, lengths, jnp.float32, -limit, limit)
        if distribution == "normal":
            x = fastmath.random.normal(rng, lengths)
            return (x * math.sqrt(gain)).astype(jnp.float32)
        x = fastmath.random.truncated_normal(rng, -2.0, 2.0, lengths)
        return (x * (math.sqrt(gain) / _DEVIATION_WITHIN_2)).astype(jnp.float32)

    return init


def _fans(name: str, lengths: list[int], out_dim: int, in_dim: int) -> tuple[int, int]:
    """The number of inputs of each output, and of outputs of each input."""
    if len(lengths) < 2:
        fan = lengths[0] if lengths else 1
        return fan, fan
    return _length(name, "in_dim", lengths, in_dim), _length(name, "out_dim", lengths, out_dim)


def _length(name: str, option: str, lengths: list[int], axis: int) -> int:
    """The length of an axis."""
    if not -len(lengths) <= axis < len(lengths):
        shape = tuple(lengths)
        raise noted(ShapeError(f"{name}: {option}={axis} is not an axis of shape {shape}"))
    return lengths[axis]


def GlorotNormalInitializer(out_dim: int = -1, in_dim: int = -2, scale: float = 1.0) -> Initializer:
    """An initializer of normal numbers with variance scale / mean(fan_in, fan_out).

    Args: as `ScaledInitializer`.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.GlorotNormalInitializer()((200, 100), random.PRNGKey(0))
      >>> w.shape, round(float(w.std()), 2)
      ((200, 100), 0.08)
    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
      networks (2010); Trax documentation, `layers.GlorotNormalInitializer`.
    """
    return _scaled("GlorotNormalInitializer", out_dim, in_dim, scale, "fan_avg", "normal")


def GlorotUniformInitializer(
    out_dim: int = -1, in_dim: int = -2, scale: float = 1.0
) -> Initializer:
    """An initializer of uniform numbers with variance scale / mean(fan_in, fan_out).

    Args: as `ScaledInitializer`.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.GlorotUniformInitializer()((200, 100), random.PRNGKey(0))
      >>> w.shape, round(float(w.max()), 2)
      ((200, 100), 0.14)
    Source: Glorot and Bengio (2010), as for `GlorotNormalInitializer`; Trax documentation,
      `layers.GlorotUniformInitializer`.
    """
    return _scaled("GlorotUniformInitializer", out_dim, in_dim, scale, "fan_avg", "uniform")


def LeCunNormalInitializer(out_dim: int = -1, in_dim: int = -2, scale: float = 1.0) -> Initializer:
    """An initializer of normal numbers with variance scale / fan_in.

    Args: as `ScaledInitializer`.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.LeCunNormalInitializer()((100, 200), random.PRNGKey(0))
      >>> w.shape, round(float(w.std()), 2)
      ((100, 200), 0.1)
    Source: LeCun et al., Efficient BackProp (1998); Trax documentation,
      `layers.LeCunNormalInitializer`.
    """
    return _scaled("LeCunNormalInitializer", out_dim, in_dim, scale, "fan_in", "normal")


def LeCunUniformInitializer(out_dim: int = -1, in_dim: int = -2, scale: float = 1.0) -> Initializer:
    """An initializer of uniform numbers with variance scale / fan_in.

    Args: as `ScaledInitializer`.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.LeCunUniformInitializer()((100, 200), random.PRNGKey(0))
      >>> w.shape, round(float(w.std()), 2)
      ((100, 200), 0.1)
    Source: LeCun et al., Efficient BackProp (1998); Trax documentation,
      `layers.LeCunUniformInitializer`.
    """
    return _scaled("LeCunUniformInitializer", out_dim, in_dim, scale, "fan_in", "uniform")


def KaimingNormalInitializer(
    out_dim: int = -1, in_dim: int = -2, param: float = 0.0
) -> Initializer:
    """An initializer of normal numbers with variance 2 / √(1 + param²) / fan_in.

    This is Trax's formula; the paper's has no root.

    Args:
      out_dim, in_dim: as `ScaledInitializer`.
      param: the slope for negative inputs of the leaky ReLU that follows.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.KaimingNormalInitializer()((100, 200), random.PRNGKey(0))
      >>> w.shape, round(float(w.std()), 2)
      ((100, 200), 0.14)
    Source: He et al., Delving deep into rectifiers (2015); Trax documentation,
      `layers.KaimingNormalInitializer`.
    """
    scale = _kaiming_scale("KaimingNormalInitializer", param)
    return _scaled("KaimingNormalInitializer", out_dim, in_dim, scale, "fan_in", "normal")


def KaimingUniformInitializer(
    out_dim: int = -1, in_dim: int = -2, param: float = 0.0
) -> Initializer:
    """An initializer of uniform numbers with variance 2 / √(1 + param²) / fan_in.

    Args: as `KaimingNormalInitializer`.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import layers as tl
      >>> w = tl.KaimingUniformInitializer()((100, 200), random.PRNGKey(0))
      >>> w.shape, round(float(w.std()), 2)
      ((100, 200), 0.14)
    Source: He et al., Delving deep into rectifiers (2015); Trax documentation,
      `layers.KaimingUniformInitializer`.
    """
    scale = _kaiming_scale("KaimingUniformInitializer", param)
    return _scaled("KaimingUniformInitializer", out_dim, in_dim, scale, "fan_in", "uniform")


def _kaiming_scale(name: str, param: float) -> float:
    return 2.0 / math.sqrt(1 + option_checks.number(name, "param", param) ** 2)


def OrthogonalInitializer(stddev: float = 1.0) -> Initializer:
    """An initializer with matrices whose rows or columns, whichever are fewer, are orthonormal.

    The last axis becomes the columns of the matrix. The matrices are uniformly distributed: each is
    the Q of a QR decomposition of normal numbers, where R has a positive diagonal.

    Args:
      stddev: a factor.
    Returns: a function of (shape, rng).
    Example:
      >>> from weft import fastmath, layers as tl
      >>> q = tl.OrthogonalInitializer()((5, 3), fastmath.random.get_prng(0))
      >>> bool(abs(q.T @ q - fastmath.numpy.eye(3)).max() < 1e-5)
      True
    Source: Saxe et al., Exact solutions to the nonlinear dynamics of learning in deep linear
      neural networks (2014); Trax documentation, `layers.OrthogonalInitializer`.
    """
    name = "OrthogonalInitializer"
    option_checks.number(name, "stddev", stddev)

    def init(shape: Sequence[int], rng: Any) -> Any:
        lengths = _lengths(name, shape)
        columns = lengths[-1] if lengths else 1
        rows = math.prod(lengths[:-1])
        tall = (max(rows, columns), min(rows, columns))
        q, r = jnp.linalg.qr(fastmath.random.normal(rng, tall).astype(jnp.float32))
        q = q * jnp.sign(jnp.diagonal(r))
        return stddev * jnp.reshape(q.T if rows < columns else q, lengths)

    return init


def AtariConvInit(kernel_shape: Sequence[int], rng: Any, dtype: Any = None) -> Any:
    """Uniform numbers in ±1/√(height · width · fan_in), for convolutions on Atari screens.

    It is itself an initializer.

    Args:
      kernel_shape: (height, width, fan_in, fan_out).
      rng: a key.
      dtype: a float dtype; by default float32.
    Returns: array of `kernel_shape`.
    Raises: ShapeError: the shape does not have four axes.
    Example:
      >>> from weft import layers as tl
      >>> w = tl.AtariConvInit((8, 8, 4, 16), random.PRNGKey(0))
      >>> w.shape, round(float(w.max()), 3)
      ((8, 8, 4, 16), 0.062)
    Source: Trax documentation, `layers.AtariConvInit`.
    """
    lengths = _lengths("AtariConvInit", kernel_shape, "kernel_shape")
    if len(lengths) != 4 or 0 in lengths:
        raise noted(
            ShapeError(
                "AtariConvInit: kernel_shape must be (height, width, fan_in, fan_out); "
                f"got {tuple(lengths)}"
            )
        )
    limit = 1 / math.sqrt(math.prod(lengths[:3]))
    dtype = jnp.float32 if dtype is None else dtype
    return fastmath.random.uniform(rng, lengths, dtype, -limit, limit)
