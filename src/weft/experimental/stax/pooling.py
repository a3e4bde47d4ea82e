"""MaxPool, SumPool and AvgPool: layers that reduce windows of images."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes, lax, numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...lax.windows import window_geometry
from ...numpy.promotion import cast
from ...numpy.reductions import wide_of
from ...typing import PyTree
from .pairs import Layer, Padding, array, layer, lengths_of, pads_of, shape_of

__all__ = ["AvgPool", "MaxPool", "SumPool"]


class Windows:
    """The windows of a pooling layer, on all axes of its inputs."""

    def __init__(
        self,
        name: str,
        window_shape: Sequence[int],
        strides: Sequence[int] | None,
        padding: Padding,
        spec: str | None,
    ) -> None:
        n = len(window_shape) if isinstance(window_shape, (tuple, list)) else 2
        windows = lengths_of(name, "window_shape", window_shape, n)
        steps = lengths_of(name, "strides", [1] * n if strides is None else strides, n)
        if spec is None:
            others = [0, n + 1]
        elif len(spec) == n + 2 and {"N", "C"} <= set(spec):
            others = sorted([spec.index("N"), spec.index("C")])
        else:
            raise ShapeError(
                f"{name}: spec must have a letter for each axis of the inputs, N and C among them, "
                f"such as 'NHWC', for {n} spatial axes; got {spec!r}"
            )
        self.name, self.others = name, others
        self.window, self.strides = self.on_all(windows, 1), self.on_all(steps, 1)
        # JAX's form: a pair for each axis, including N and C
        whole = isinstance(padding, (tuple, list)) and len(padding) == n + 2
        pads = pads_of(name, padding, n + 2 if whole else n)
        self.padding: Any = padding if isinstance(padding, str) else pads
        if not (whole or isinstance(padding, str)):
            self.padding = self.on_all(pads, (0, 0))

    def on_all(self, entries: Sequence[Any], other: Any) -> tuple[Any, ...]:
        """Entries for all axes: the given ones for spatial axes, and `fill` for N and C."""
        full = list(entries)
        for axis in self.others:
            full.insert(axis, other)
        return tuple(full)

    def out_shape(self, rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        """The `init_fun` of the layer."""
        shape = shape_of(self.name, input_shape, ndim=len(self.window))
        lengths_at_least_0 = [max(n, 0) for n in shape]
        geometry = window_geometry(
            self.name, lengths_at_least_0, self.window, self.strides, self.padding, None, None
        )
        lengths = geometry.out_shape(lengths_at_least_0)
        return tuple([-1 if n == -1 else m for n, m in zip(shape, lengths, strict=True)]), ()

    def reduced(self, x: Any, init: Any, computation: Callable[[Any, Any], Any]) -> Any:
        """The reduction of each window."""
        return lax.reduce_window(x, init, computation, self.window, self.strides, self.padding)

    def operand(self, inputs: Any) -> Any:
        """The inputs. Raises an error if their number of axes differs from the windows'."""
        x = array(self.name, inputs)
        if x.ndim != len(self.window):
            raise ShapeError(f"{self.name}: inputs must have {len(self.window)} axes; got {x.aval}")
        return x

    def sums(self, x: Any) -> Any:
        """The sum of each window, in float32 for narrower floats."""
        wide = cast(x, wide_of(x.aval.dtype))
        return self.reduced(wide, np.zeros((), wide.aval.dtype), lax.add)

    def counts(self, x: Any) -> Any:
        """Number of elements of each window, without the padding."""
        if isinstance(self.padding, str) and self.padding.upper() == "VALID":
            return math.prod(self.window)
        shape = [1 if a in self.others else n for a, n in enumerate(x.shape)]
        return self.reduced(np.ones(shape), np.zeros(()), lax.add)


@located
def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """A layer that takes the maximum of each window.

    Args:
      window_shape: the length of the window along each spatial axis.
      strides: the step along each spatial axis; 1 by default.
      padding: 'VALID', 'SAME', 'SAME_LOWER', or a pair (before, after) for each spatial axis, or
        for each axis of the inputs. Padding is never the maximum.
      spec: the layout of the inputs, such as 'NCHW'; by default N is first and C last.
    Returns: (init_fun, apply_fun); there are no parameters.
    Raises: ValueError: shapes or the layout do not match.
    Example:
      >>> from weft.experimental import stax
      >>> init_fun, apply_fun = stax.MaxPool((2, 2), strides=(2, 2))
      >>> init_fun(random.PRNGKey(0), (-1, 28, 28, 3))[0]
      (-1, 14, 14, 3)
      >>> apply_fun((), np.arange(4.0).reshape(1, 2, 2, 1)).tolist()
      [[[[3.0]]]]
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    windows = Windows("MaxPool", window_shape, strides, padding, spec)

    def apply(params: PyTree, inputs: Any) -> Any:
        x = windows.operand(inputs)
        dtype = x.aval.dtype
        least = -np.inf if dtypes.is_inexact(dtype) else np.iinfo(dtype).min
        return windows.reduced(x, np.asarray(least, dtype), lax.max)

    return layer(windows.out_shape, apply)


@located
def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """A layer that sums each window.

    Args: as in `MaxPool`; padding adds zeros.
    Returns: (init_fun, apply_fun); there are no parameters.
    Raises: ValueError: shapes or the layout do not match.
    Example:
      >>> from weft.experimental import stax
      >>> stax.SumPool((2, 2))[1]((), np.arange(4.0).reshape(1, 2, 2, 1)).tolist()
      [[[[6.0]]]]
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    windows = Windows("SumPool", window_shape, strides, padding, spec)

    def apply(params: PyTree, inputs: Any) -> Any:
        x = windows.operand(inputs)
        return cast(windows.sums(x), x.aval.dtype)

    return layer(windows.out_shape, apply)


@located
def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """A layer that averages each window, without the padding.

    Args: as in `MaxPool`.
    Returns: (init_fun, apply_fun); there are no parameters.
    Raises: ValueError: shapes or the layout do not match.
    Example:
      >>> from weft.experimental import stax
      >>> stax.AvgPool((2, 2))[1]((), np.arange(4.0).reshape(1, 2, 2, 1)).tolist()
      [[[[1.5]]]]
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    windows = Windows("AvgPool", window_shape, strides, padding, spec)

    def apply(params: PyTree, inputs: Any) -> Any:
        x = windows.operand(inputs)
        mean = windows.sums(x) / windows.counts(x)
        return cast(mean, x.aval.dtype) if dtypes.is_inexact(x.aval.dtype) else mean

    return layer(windows.out_shape, apply)
