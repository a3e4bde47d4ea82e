"""Layers as pairs of functions, and checks of their arguments.

A length of -1 in a shape is unknown, such as the length of a batch.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...core.source import located
from ...errors import ShapeError
from ...numpy.promotion import value
from ...typing import PyTree

Init: TypeAlias = Callable[[Any, Any], tuple[Any, PyTree]]
"""`init_fun(rng, input_shape)` returns (output_shape, params)."""
Apply: TypeAlias = Callable[..., Any]
"""`apply_fun(params, inputs, rng=None, **kwargs)` returns the outputs."""
Layer: TypeAlias = tuple[Init, Apply]


def layer(init: Callable[..., Any], apply: Callable[..., Any]) -> Layer:
    """Makes a layer that needs no `rng` and no other keywords.

    Args:
      init: called with a key and the input's shape.
      apply: called with parameters and inputs.
    """

    @located
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        return init(rng, input_shape)

    @located
    def apply_fun(params: PyTree, inputs: Any, rng: Any = None, **kwargs: Any) -> Any:
        return apply(params, inputs)

    return init_fun, apply_fun


def shape_of(name: str, input_shape: Any, ndim: int | None = None, least: int = 0) -> Any:
    """A shape as a tuple of ints.

    Args:
      ndim: the required number of axes.
      least: the minimal number of axes.
    """
    listed = isinstance(input_shape, (tuple, list))
    if not (listed and all(hasattr(n, "__index__") for n in input_shape)):
        raise TypeError(
            f"{name}: input_shape must be a tuple of ints, -1 for a batch of any size; got "
            f"{input_shape!r:.80}\n  fix: init_fun(rng, input_shape)"
        )
    shape = tuple(map(operator.index, input_shape))
    if any(n < -1 for n in shape):
        raise ShapeError(f"{name}: input_shape must have lengths of 0 or more, or -1; got {shape}")
    if ndim not in (None, len(shape)) or len(shape) < least:
        expected = f"{ndim}" if ndim is not None else f"at least {least}"
        raise ShapeError(f"{name}: input_shape must have {expected} axes; got {shape}")
    return shape


def settled(name: str, shape: tuple[int, ...], axis: int) -> int:
    """The length of an axis on which parameters depend. Raises an error if it is -1."""
    if shape[axis] == -1:
        raise ShapeError(
            f"{name}: the length of axis {axis} decides the shapes of parameters; got -1 in "
            f"{shape}\n  fix: give its length; -1 is for batches"
        )
    return shape[axis]


def positive(name: str, argument: str, n: Any) -> int:
    """A positive number of features. Raises an error otherwise."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or operator.index(n) < 1:
        raise ValueError(f"{name}: {argument} must be an int of at least 1; got {n!r:.60}")
    return operator.index(n)


def parameters(name: str, params: Any, count: int) -> Any:
    """The parameters of a layer. Raises an error for a wrong number of them."""
    if isinstance(params, (tuple, list)) and len(params) == count:
        return params
    description = f"a {type(params).__name__}"
    if isinstance(params, (tuple, list)):
        description += f" of {len(params)}"
    raise ShapeError(
        f"{name}: expected params of {count} parts, as init_fun returned them; got {description}"
    )


def array(name: str, inputs: Any, argument: str = "inputs") -> Any:
    """The input of a layer that takes one array."""
    if isinstance(inputs, (tuple, list)):
        raise TypeError(
            f"{name}: {argument} must be one array; got a {type(inputs).__name__} of "
            f"{len(inputs)}\n  fix: several arrays, as FanOut makes them, are joined by FanInSum "
            "or FanInConcat; lists of numbers by np.array"
        )
    return value(name, inputs, argument)


Padding: TypeAlias = str | Sequence[tuple[int, int]]


def lengths_of(name: str, argument: str, values: Any, count: int) -> tuple[int, ...]:
    """One positive int for each spatial axis."""
    if (
        isinstance(values, (tuple, list))
        and len(values) == count
        and all(isinstance(n, int) and n > 0 for n in values)
    ):
        return tuple(values)
    raise ShapeError(
        f"{name}: {argument} must be a tuple of {count} positive ints, one for each spatial "
        f"axis; got {values!r}"
    )


def pads_of(name: str, padding: Any, count: int) -> list[Any]:
    """The padding of each axis: a name, or a pair (before, after)."""
    if isinstance(padding, str):
        if padding.upper() in ("SAME", "SAME_LOWER", "VALID"):
            return [padding] * count
        raise ValueError(
            f"{name}: padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs of ints; got "
            f"{padding!r}"
        )
    pairs = list(padding) if isinstance(padding, (tuple, list)) else []
    if len(pairs) == count and all(map(_is_pair, pairs)):
        return pairs
    raise ShapeError(
        f"{name}: padding must be a name, such as 'SAME', or a pair of ints for each of {count} "
        f"axes; got {padding!r}"
    )


def _is_pair(pair: Any) -> bool:
    listed = isinstance(pair, (tuple, list)) and len(pair) == 2
    return listed and all(isinstance(n, int) for n in pair)
