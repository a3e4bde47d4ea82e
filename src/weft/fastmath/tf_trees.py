"""Converts between nested arrays and flat lists of tensors, for TensorFlow's functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..tree_util import tree_flatten, tree_unflatten
from ..typing import AbstractArray
from ..user_lines import noted
from .tensorflow_module import tensor, tf

_NUMBERS = (bool, int, float, complex, onp.ndarray, onp.generic, AbstractArray, tf.Variable)


def is_array(x: object) -> bool:
    """True for tensors, and for objects that convert to one."""
    return tf.is_tensor(x) or isinstance(x, _NUMBERS)


def tensors_of(what: str, tree: Any) -> tuple[list[Any], Any]:
    """The leaves of nested arrays as tensors, and the structure.

    Raises: TypeError: a leaf is not an array.
    """
    leaves, structure = tree_flatten(tree)
    for x in leaves:
        if not is_array(x):
            raise noted(TypeError(f"{what} must be arrays or numbers; got {type(x).__name__}"))
    return [tensor(x) for x in leaves], structure


def flat_function(what: str, f: Callable[..., Any], structure: Any) -> tuple[Any, list[Any]]:
    """A function of a list of tensors that returns a list of tensors.

    Args:
      what: the transformation's name, for errors.
      f: function of nested arrays.
      structure: the structure of the tuple of its arguments.
    Returns: (flat function, list that contains the results' structure after a call).
    """
    tensors: list[Any] = []

    def on_leaves(*leaves: Any) -> list[Any]:
        results, out = tensors_of(f"{what}: results", f(*tree_unflatten(structure, leaves)))
        tensors[:] = [out]
        return results

    return on_leaves, tensors


def same_types(operation: str, what: str, old: Sequence[Any], new: Sequence[Any]) -> None:
    """Raises TypeError unless tensors have the same shapes and dtypes as others."""
    before, after = ([(x.dtype.name, tuple(x.shape)) for x in xs] for xs in (old, new))
    if before != after:
        raise noted(
            TypeError(f"{operation}: {what} must keep shapes and dtypes; {before} became {after}")
        )


def same_structure(operation: str, what: str, old: Any, new: Any) -> None:
    """Raises TypeError unless two structures are equal."""
    if old != new:
        raise noted(TypeError(f"{operation}: {what} must keep its structure; {old} became {new}"))
