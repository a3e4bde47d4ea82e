"""Weights and state as trees: markers of shared layers, and flat lists of arrays."""

from typing import Any

import numpy as np

from ..fastmath import nested_map, tree_leaves, tree_unflatten
from ..shapes import ShapeDtype

EMPTY_WEIGHTS: tuple[()] = ()
"""The weights of a layer without trained weights."""

EMPTY_STATE: tuple[()] = ()
"""The state of a layer that keeps nothing between calls."""

GET_WEIGHTS_FROM_CACHE: dict[str, Any] = {"__marker_for_cached_weights_": ()}
"""Stands for the weights of a layer at its second and later occurrences in a network. It has no
leaves, so functions of trees do not change it, and it passes through `jit`."""

GET_STATE_FROM_CACHE: dict[str, Any] = {"__marker_for_cached_state_": ()}
"""Stands for the state of a layer at its second and later occurrences in a network."""


def is_weights_marker(tree: Any) -> bool:
    """True for `GET_WEIGHTS_FROM_CACHE`, or a copy of it."""
    return isinstance(tree, dict) and tree == GET_WEIGHTS_FROM_CACHE


def is_state_marker(tree: Any) -> bool:
    """True for `GET_STATE_FROM_CACHE`, or a copy of it."""
    return isinstance(tree, dict) and tree == GET_STATE_FROM_CACHE


def marks_of(items: Any) -> tuple[Any, ...]:
    """For the weights or states of several layers: the marks of shared ones, None for others."""
    return tuple([item if isinstance(item, dict) and item in _MARKS else None for item in items])


_MARKS = (GET_WEIGHTS_FROM_CACHE, GET_STATE_FROM_CACHE)


def flatten_weights_and_state(weights: Any, state: Any) -> tuple[list[Any], list[Any]]:
    """The arrays of weights and state as two flat lists.

    Args:
      weights: nested tuples, lists and dicts of arrays, such as `layer.weights`.
      state: the same, such as `layer.state`.
    Returns: (flat_weights, flat_state), depth first, dicts in insertion order. Empty tuples and the
      markers of shared layers have no arrays, so shared weights occur once.
    Example:
      >>> flatten_weights_and_state(((1.0, (2.0,)), ()), ())
      ([1.0, 2.0], [])
    Source: Trax documentation, `layers.base.flatten_weights_and_state`.
    """
    weights, state = (list(tree_leaves(x, ignore_nones=False)) for x in (weights, state))
    return weights, state


def unflatten_weights_and_state(
    flat_weights: list[Any],
    flat_state: list[Any] | None,
    weights_and_state_signature: tuple[Any, Any],
    weights_only: bool = False,
) -> tuple[Any, Any]:
    """Weights and state from flat lists of their arrays.

    Args:
      flat_weights: the arrays of the weights, in the order of `flatten_weights_and_state`; surplus
        arrays are ignored.
      flat_state: the arrays of the state; not used with `weights_only`.
      weights_and_state_signature: the result of `layer.weights_and_state_signature`.
      weights_only: whether to omit the state.
    Returns: (weights, state), nested as in the signature; state is None with `weights_only`.
    Raises: ValueError: there are fewer arrays than the signature has.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Dense(2)
      >>> weights, state = layer.init(np.ones((1, 3)))
      >>> flat_weights, flat_state = tl.flatten_weights_and_state(weights, state)
      >>> signature = layer.weights_and_state_signature(np.ones((1, 3)))
      >>> w, _ = tl.unflatten_weights_and_state(flat_weights, flat_state, signature)
      >>> [array.shape for array in w]
      [(3, 2), (2,)]
    Source: Trax documentation, `layers.base.unflatten_weights_and_state`.
    """

    def nested(flat: Any, sig: Any, marker: Any, what: str) -> Any:
        needed = len(tree_leaves(sig, ignore_nones=False))
        if len(flat) < needed:
            raise ValueError(
                f"unflatten_weights_and_state: the layer has {needed} arrays of {what}, and "
                f"{len(flat)} were given\n  fix: give the arrays of the same layer"
            )
        return tree_unflatten(flat, sig, copy_from_tree=[(), marker])[0]

    weights_sig, state_sig = weights_and_state_signature
    weights = nested(flat_weights, weights_sig, GET_WEIGHTS_FROM_CACHE, "weights")
    if weights_only:
        return weights, None
    return weights, nested(flat_state or [], state_sig, GET_STATE_FROM_CACHE, "state")


def to_list(outputs: Any) -> Any:
    """Outputs of a layer as lists of Python numbers, for comparison with `==`.

    Args:
      outputs: a tensor, or a list or tuple of them.
    Returns: the tensor's nested list, or a list of those.
    Example:
      >>> to_list((np.arange(2), np.ones((1, 2))))
      [[0, 1], [[1.0, 1.0]]]
    Source: Trax documentation, `layers.base.to_list`.
    """
    if isinstance(outputs, list | tuple):
        return [output.tolist() for output in outputs]
    return outputs.tolist()


def signature_tree(tree: Any) -> Any:
    """The nesting of weights or state, with a `ShapeDtype` in place of each array or number."""
    return nested_map(_shape_and_dtype, tree)


def _shape_and_dtype(leaf: Any) -> ShapeDtype:
    leaf = leaf if hasattr(leaf, "shape") else np.asarray(leaf)
    return ShapeDtype(leaf.shape, leaf.dtype)
