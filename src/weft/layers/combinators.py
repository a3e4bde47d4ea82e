"""Combinators, and small layers that move items on the data stack.

Branch, Residual, SerialWithSideOutputs, Bidirectional; Select, Drop, Dup, Swap, Split, Concatenate,
FlattenList; Add, SubtractTop, Multiply, Gate. Serial, Parallel, Scan, Cond, Cache, Chunk and
BatchLeadingAxes come from the files named after them.
"""

import copy
import random as python_random
from typing import Any

from .. import option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp, tree_leaves
from ..user_lines import noted
from .base import Fn, Layer, PureLayer
from .cache import Cache
from .chunk import BatchLeadingAxes, Chunk
from .cond import Cond
from .layer_calls import tree
from .layer_errors import arity, drawn
from .parallel import Parallel, one_layer
from .scan import Scan
from .serial import Serial, checked_layer, flat_layers, inputs_from_stack, outputs_onto_stack

__all__ = [
    "Add",
    "BatchLeadingAxes",
    "Bidirectional",
    "Branch",
    "Cache",
    "Chunk",
    "Concatenate",
    "Cond",
    "Drop",
    "Dup",
    "FlattenList",
    "Gate",
    "Multiply",
    "Parallel",
    "Residual",
    "Scan",
    "Select",
    "Serial",
    "SerialWithSideOutputs",
    "Split",
    "SubtractTop",
    "Swap",
    "inputs_from_stack",
    "outputs_onto_stack",
]


class Concatenate(Layer):
    """A layer that concatenates tensors along an axis: n_items -> 1.

    Args:
      n_items: the number of tensors, at least 1.
      axis: the axis; the tensors must have equal lengths along the others.

    Raises: ValueError, TypeError: an option is invalid.

    Example:
      >>> from weft import layers as tl
      >>> tl.Concatenate(n_items=3)((np.array([1, 2]), np.array([3]), np.array([4])))
      Array([1, 2, 3, 4], dtype=int32)

    Source: Trax documentation, `layers.combinators.Concatenate`.
    """

    _needs_key = False

    def __init__(self, n_items: int = 2, axis: int = -1) -> None:
        n_items = option_checks.whole_number("Concatenate", "n_items", n_items)
        axis = option_checks.whole_number("Concatenate", "axis", axis, least=-64)
        super().__init__(n_items, name="Concatenate" if axis == -1 else f"Concatenate_axis{axis}")
        self._axis = axis

    def forward(self, xs: Any) -> Any:
        """Concatenates the tensors."""
        if self._n_in > 1 and (not isinstance(xs, list | tuple) or len(xs) != self._n_in):
            count = len(xs) if isinstance(xs, list | tuple) else 1
            raise ValueError(f"Concatenate: expected {self._n_in} inputs; got {count}")
        return jnp.concatenate(xs if isinstance(xs, list | tuple) else (xs,), self._axis)


class Split(Layer):
    """A layer that splits a tensor into equal parts along an axis: 1 -> n_items.

    Args:
      n_items: the number of parts, at least 1, which divides the length of the axis.
      axis: the axis.

    Raises: ValueError, TypeError: an option is invalid.

    Example:
      >>> from weft import layers as tl
      >>> tl.Split(n_items=2)(np.arange(4))
      (Array([0, 1], dtype=int32), Array([2, 3], dtype=int32))

    Source: Trax documentation, `layers.combinators.Split`.
    """

    _needs_key = False

    def __init__(self, n_items: int = 2, axis: int = -1) -> None:
        n_items = option_checks.whole_number("Split", "n_items", n_items)
        axis = option_checks.whole_number("Split", "axis", axis, least=-64)
        super().__init__(n_out=n_items)
        self._axis = axis

    def forward(self, inputs: Any) -> Any:
        """The parts; a single part is returned alone."""
        shape, axis, n = tuple(inputs.shape), self._axis, self._n_out
        if not -len(shape) <= axis < len(shape) or shape[axis] % n:
            raise ShapeError(f"Split: shape {shape} can't be cut in {n} equal parts, axis {axis}")
        parts = jnp.split(inputs, n, axis)
        return parts[0] if n == 1 else tuple(parts)


def Select(indices: Any, n_in: int | None = None, name: str | None = None) -> Layer:
    """A layer that copies, reorders or drops items of the stack.

    Args:
      indices: for each output, the position of its item on the stack; 0 is the top.
      n_in: the number of items to remove from the stack; by default, the largest index plus 1.
      name: name for printing; by default, for example, 'Select[0,1]'.
    Returns: the layer; `n_out` is the number of indices.
    Raises: ValueError: an index is negative or not below `n_in`, or there are no indices and no
      `n_in`.
    Example:
      >>> from weft import layers as tl
      >>> tl.Select([1, 0, 0])(("a", "b"))
      ('b', 'a', 'a')
    Source: Trax documentation, `layers.combinators.Select`.
    """
    indices = option_checks.lengths("Select", "indices", indices, least=0)
    if n_in is None and not indices:
        raise noted(
            ValueError("Select: no indices, so n_in is needed\n  fix: Select([], n_in=2) drops two")
        )
    largest = max(indices, default=-1)
    n_in = (
        largest + 1 if n_in is None else option_checks.whole_number("Select", "n_in", n_in, least=0)
    )
    if largest >= n_in:
        stack = " ".join(f"x{i}" for i in range(n_in))
        raise noted(
            ValueError(
                f"Select: index {largest} is out of range for n_in={n_in}\n"
                f"  the stack, its top on the left:\n    [{stack}]"
            )
        )
    if name is None:
        name = f"Select[{','.join(map(str, indices))}]"

    def select(xs: Any) -> Any:
        xs = xs if isinstance(xs, list | tuple) else (xs,)
        chosen = tuple([xs[i] for i in indices])
        return chosen[0] if len(chosen) == 1 else chosen

    return PureLayer(select, n_in, len(indices), name)


def Drop() -> Layer:
    """A layer that drops the top of the stack: 1 -> 0.

    Example:
      >>> from weft import layers as tl
      >>> tl.Drop()(np.ones(3))
      ()

    Source: Trax documentation, `layers.combinators.Drop`.
    """
    return Fn("Drop", lambda x: (), n_out=0)


def Dup() -> Layer:
    """A layer that copies the top of the stack: 1 -> 2, (x, x).

    Example:
      >>> from weft import layers as tl
      >>> tl.Dup()(np.array([1.0, 2.0]))
      (Array([1., 2.], dtype=float32), Array([1., 2.], dtype=float32))

    Source: Trax documentation, `layers.combinators.Dup`.
    """
    return Fn("Dup", lambda x: (x, x), n_out=2)


def Swap() -> Layer:
    """A layer that swaps the top two items of the stack: 2 -> 2.

    Example:
      >>> from weft import layers as tl
      >>> tl.Swap()((np.array(1), np.array(2)))
      (Array(2, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))

    Source: Trax documentation, `layers.combinators.Swap`.
    """
    return Fn("Swap", lambda x0, x1: (x1, x0), n_out=2)


def FlattenList() -> Layer:
    """A layer that flattens nested lists and tuples of tensors into a tuple.

    Its `n_in` and `n_out` are 1 for every input.

    Example:
      >>> from weft import layers as tl
      >>> tl.FlattenList()([1, (2, [3])])
      (1, 2, 3)

    Source: Trax documentation, `layers.combinators.FlattenList`.
    """
    return Fn("FlattenList", lambda x: tuple(tree_leaves(x)))


def Add() -> Layer:
    """A layer that adds two tensors: 2 -> 1, x0 + x1.

    Example:
      >>> from weft import layers as tl
      >>> tl.Add()((np.array([1.0, 2.0]), np.array([10.0, 20.0])))
      Array([11., 22.], dtype=float32)

    Source: Trax documentation, `layers.combinators.Add`.
    """
    return Fn("Add", lambda x0, x1: x0 + x1)


def SubtractTop() -> Layer:
    """A layer that subtracts the top of the stack from the item below: 2 -> 1, x1 - x0.

    Example:
      >>> from weft import layers as tl
      >>> tl.SubtractTop()((np.array([1.0, 2.0]), np.array([10.0, 20.0])))
      Array([ 9., 18.], dtype=float32)

    Source: Trax documentation, `layers.combinators.SubtractTop`.
    """
    return Fn("SubtractTop", lambda x0, x1: x1 - x0)


def Multiply() -> Layer:
    """A layer that multiplies two tensors elementwise: 2 -> 1, x0 · x1.

    Example:
      >>> from weft import layers as tl
      >>> tl.Multiply()((np.array([1.0, 2.0]), np.array([10.0, 20.0])))
      Array([10., 40.], dtype=float32)

    Source: Trax documentation, `layers.combinators.Multiply`.
    """
    return Fn("Multiply", lambda x0, x1: x0 * x1)


def Gate() -> Layer:
    """A layer that maps (memory m, gate g, candidate c) to g · m + (1 - g) · c: 3 -> 1.

    Example:
      >>> from weft import layers as tl
      >>> gate = np.array([1.0, 0.25])
      >>> tl.Gate()((np.ones(2), gate, np.full(2, 5.0)))
      Array([1., 4.], dtype=float32)

    Source: Srivastava, Greff, Schmidhuber, "Highway Networks", 2015; Trax documentation,
    `layers.combinators.Gate`.
    """
    return Fn("Gate", lambda m, g, c: g * m + (1.0 - g) * c)


def Branch(*layers: Any, name: str = "Branch") -> Layer:
    """Layers in parallel, each applied to a copy of the top items of the stack.

    Args:
      *layers: layers, or lists of layers in series; None passes one input through.
      name: name for printing.
    Returns: a layer with all outputs; its number of inputs is the largest number of any layer's
      inputs. A single layer is returned unchanged.
    Raises: ValueError: no layers, or an object that is not a layer.
    Example:
      >>> from weft import layers as tl
      >>> tl.Branch(tl.Add(), tl.SubtractTop(), None)((1, 3))
      (4, 2, 1)
    Source: Trax documentation, `layers.combinators.Branch`.
    """
    if len(layers) == 1:
        return one_layer(layers[0])
    parallel = Parallel(*layers, name=None) if layers else Parallel(name=name)
    indices = [i for layer in parallel.sublayers for i in range(layer.n_in)]
    return Serial(Select(indices), parallel, name=name, sublayers_to_print=layers)


def Residual(*layers: Any, shortcut: Any = None) -> Layer:
    """Layers in series; the input is added to their first output.

    Args:
      *layers: layers; without any, the result is 2x.
      shortcut: a layer whose output is added instead of the input.
    Returns: the layer, x ↦ shortcut(x) + layers(x).
    Raises: ValueError: an argument is not a layer, or has no output to add.
    Example:
      >>> from weft import layers as tl
      >>> tl.Residual(tl.Fn("Square", lambda x: x * x))(np.arange(3.0))
      Array([0., 2., 6.], dtype=float32)
    Source: He et al., "Deep Residual Learning for Image Recognition", 2015; Trax documentation,
    `layers.combinators.Residual`.
    """
    flat = flat_layers(layers)
    layer = flat[0] if len(flat) == 1 else Serial(*flat)
    for what, one in (("the layers", layer), ("the shortcut", one_layer(shortcut))):
        if one.n_out == 0:
            raise noted(
                ValueError(
                    f"Residual: {what} must have an output, which is added: {one!r}\n"
                    + drawn(flat if one is layer else [one], one.n_in)
                )
            )
    return Serial(Branch(shortcut, layer), Add())


def SerialWithSideOutputs(layers: Any, n_side_outputs: Any = 1) -> Layer:
    """Layers in series that also return the last outputs of each layer.

    Args:
      layers: list of layers.
      n_side_outputs: the number of side outputs of each layer: an int or a list of ints.
    Returns: a layer that returns the outputs of the last layer, followed by all side outputs, in
      the order of the layers.
    Raises: ValueError: the numbers of `layers` and `n_side_outputs` differ, or a layer has fewer
      outputs.
    Example:
      >>> from weft import layers as tl
      >>> both = tl.Fn("Both", lambda x: (x + 1, 10 * x), n_out=2)
      >>> tl.SerialWithSideOutputs([both, both])(1)
      (3, 10, 20)
    Source: Trax documentation, `layers.combinators.SerialWithSideOutputs`.
    """
    name = "SerialWithSideOutputs"
    layers = flat_layers(layers if isinstance(layers, list | tuple) else [layers])
    if isinstance(n_side_outputs, list | tuple):
        sides = option_checks.lengths(name, "n_side_outputs", n_side_outputs, least=0)
    else:
        number = option_checks.whole_number(name, "n_side_outputs", n_side_outputs, least=0)
        sides = (number,) * len(layers)
    if len(sides) != len(layers):
        raise noted(
            ValueError(f"{name}: expected {len(layers)} n_side_outputs, for as many layers; got "
                       f"{len(sides)}")
        )  # fmt: skip
    depth = needed = 0
    for layer, side in zip(layers, sides, strict=True):
        if side > layer.n_out:
            raise noted(
                ValueError(
                    f"{name}: {side} side outputs of {layer!r} are requested, but it has "
                    f"{layer.n_out}\n{drawn(layers, arity(layers)[0])}"
                )
            )
        depth += layer.n_in
        needed = max(needed, depth)
        depth -= layer.n_out - side
    steps: list[Layer] = []
    size = needed
    for layer, side in zip(layers, sides, strict=True):
        size += layer.n_out - layer.n_in
        n_kept = layer.n_out - side
        aside = range(n_kept, layer.n_out)
        steps += [layer, Select([*range(n_kept), *range(layer.n_out, size), *aside])]
    return Serial(steps)


def Bidirectional(forward_layer: Any, axis: int = 1, merge_layer: Any = None) -> Layer:
    """Runs a layer over a sequence and a copy over the reversed sequence, and merges the results.

    Args:
      forward_layer: a layer 1 -> 1. Its copy has its own weights.
      axis: the time axis.
      merge_layer: a layer 2 -> 1; by default `Concatenate()`.
    Returns: the layer.
    Raises: TypeError, ValueError: an option is not a layer, or its numbers of tensors do not match.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Bidirectional(tl.GRU(3))
      >>> _ = layer.init(np.ones((2, 4, 3)))
      >>> layer(np.ones((2, 4, 3))).shape
      (2, 4, 6)
    Source: Schuster, Paliwal, "Bidirectional Recurrent Neural Networks", 1997; Trax's
    `layers.combinators.Bidirectional`.
    """
    name = "Bidirectional"
    forward_layer = checked_layer(name, "forward_layer", forward_layer)
    axis = option_checks.whole_number(name, "axis", axis, least=-64)
    merge_layer = Concatenate() if merge_layer is None else merge_layer
    merge_layer = checked_layer(name, "merge_layer", merge_layer)
    for layer, n in ((forward_layer, 1), (merge_layer, 2)):
        if (layer.n_in, layer.n_out) != (n, 1):
            raise noted(
                ValueError(f"{name}: expected a layer {n} -> 1; got {layer!r}\n{drawn([layer], n)}")
            )
    copied = copy.deepcopy(forward_layer)
    for layer in tree(copied):  # otherwise both would start with the same weights
        layer._rng_seed_int = python_random.randint(0, 2**31 - 1)
    flip = Fn("_FlipAlongTimeAxis", lambda x: jnp.flip(x, axis))
    return Serial(Branch(forward_layer, Serial(flip, copied, flip)), merge_layer)
