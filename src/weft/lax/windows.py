"""reduce_window, the operation of pooling, and reduce_window_shape_tuple."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives import variadic_reductions, windows
from ..primitives.arithmetic import max_, min_
from ..primitives.convolution import dilated
from ..primitives.monoids import highest, lowest
from ..primitives.windows import Geometry
from ..typing import PyTree
from .body_functions import values_of
from .padding import pads_by_name
from .reductions import initial_values
from .scalar_programs import is_number, traced_computation

__all__ = ["reduce_window", "reduce_window_shape_tuple"]


@located
def reduce_window(
    operand: PyTree,
    init_value: PyTree,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree:
    """Reduces each window of an array by an associative computation, from an initial value.

    The computation may be applied in any order, and to the initial value more than once: it should
    be associative, and the initial value its identity.

    Args:
      operand: array, or a tree of arrays of one shape that are reduced together.
      init_value: a scalar for each array, in the same structure; it fills the padding too.
      computation: `(so_far, element) -> so_far`, of scalars in the structure of `operand`. Sums,
        maxima and minima (from their identities; extremes from any number) are recognised and fast.
        The first extreme of a window receives the whole derivative.
      window_dimensions: the window's length along each axis.
      window_strides: its step along each axis; 1 by default.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or a pair (before, after) for each axis.
      base_dilation: for each axis, `d - 1` initial values are put between elements.
      window_dilation: for each axis, `d - 1` elements are skipped between two elements of a window.
    Returns: arrays with an element for each place of the window, in the structure of `operand`.
    Raises: TypeError: structures, shapes or dtypes are inconsistent. ValueError: an option is
      invalid.
      MissingRuleError: differentiation of a computation with loops, branches or the like.
    Source: StableHLO `reduce_window`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.reduce_window(np.float32([1, 3, 2, 4]), -np.inf, lax.max, (2,), (2,)).tolist()
      [3.0, 4.0]
    """
    name = "reduce_window"
    xs, tree = values_of(name, "operand", operand)
    if not xs:
        raise TypeError(f"{name}: expected at least one operand; got none")
    inits, init_tree = initial_values(name, xs, init_value)
    if tree != init_tree:
        raise ShapeError(
            f"{name}: operand and init_value must have one structure; got {tree} and {init_tree}"
        )
    x = xs[0]
    geometry = window_geometry(
        name,
        x.shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    jaxpr, monoid = traced_computation(name, computation, tree, [x.aval for x in xs])
    has_scalar_init = x.dtype == inits[0].dtype and not inits[0].ndim
    if has_scalar_init and monoid in ("max", "min") and not dtypes.is_complex(x.dtype):
        largest = monoid == "max"
        reduction = windows.reduce_window_max if largest else windows.reduce_window_min
        result = reduction(x, geometry=geometry)
        if not is_number(inits[0], (lowest if largest else highest)(x.dtype)):
            result = (max_ if largest else min_)(inits[0], result)
        return tree.unflatten([result])
    if (
        has_scalar_init
        and monoid == "add"
        and not dtypes.is_bool(x.dtype)
        and is_number(inits[0], 0)
    ):
        return tree.unflatten([windows.reduce_window_sum(x, geometry=geometry)])
    return tree.unflatten(
        variadic_reductions.reduce_window(*xs, *inits, jaxpr=jaxpr, geometry=geometry)
    )


def window_geometry(
    name: str,
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> Geometry:
    """The positions of windows, from the user's arguments."""
    ones = (1,) * len(shape)

    def entries(argument: str, values: Any) -> tuple[int, ...]:
        if values is None:
            return ones
        results = ints_of(name, argument, values)
        if len(results) != len(shape):
            raise ShapeError(
                f"{name}: {argument} needs one entry for each of {len(shape)} axes; got {results}"
            )
        if min(results, default=1) < 1:
            raise ShapeError(f"{name}: {argument} must be positive; got {results}")
        return results

    lengths = entries("window_dimensions", window)
    steps = entries("window_strides", strides)
    base = entries("base_dilation", base_dilation)
    gaps = entries("window_dilation", window_dilation)
    if isinstance(padding, str):
        padding = pads_by_name(
            name,
            [dilated(n, d) for n, d in zip(shape, base, strict=True)],
            [dilated(w, d) for w, d in zip(lengths, gaps, strict=True)],
            steps,
            padding,
        )
    try:
        pads = tuple((operator.index(a), operator.index(b)) for a, b in padding)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: padding must be a name or a sequence of pairs of ints; got {padding!r}"
        ) from None
    if len(pads) != len(shape):
        raise ShapeError(
            f"{name}: padding needs one pair for each of {len(shape)} axes; got {padding!r:.80}"
        )
    return Geometry(lengths, steps, pads, base, gaps)


@located
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`.

    Args:
      operand_shape: the operand's shape.
      window_dimensions, window_strides, padding, base_dilation, window_dilation: as in
        `reduce_window`.
    Returns: the output's shape.
    Raises: TypeError, ValueError: as `reduce_window`.
    Source: StableHLO `reduce_window`.
    Example:
      >>> from weft import lax
      >>> lax.reduce_window_shape_tuple((5, 8), (2, 2), (1, 2), 'SAME')
      (5, 4)
    """
    name = "reduce_window_shape_tuple"
    shape = ints_of(name, "operand_shape", operand_shape)
    geometry = window_geometry(
        name,
        shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    return geometry.out_shape(shape)
