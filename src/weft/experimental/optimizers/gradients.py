"""l2_norm and clip_grads: the norm of a gradient, and gradients clipped to a norm."""

import functools
import operator
from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...core.source import located
from ...numpy.promotion import cast
from ...numpy.reductions import wide_of
from ...tree_util import tree_map
from ...typing import ArrayLike, PyTree
from .states import arrays_of, setting

__all__ = ["clip_grads", "l2_norm"]


@located
def l2_norm(tree: PyTree) -> Array:
    """The square root of the sum of the squares of all elements in a tree.

    Args:
      tree: arrays and numbers in containers.
    Returns: float scalar array; for 16-bit floats it is float32.
    Raises: TypeError: a leaf is not an array.
    Example:
      >>> from weft.experimental import optimizers
      >>> float(optimizers.l2_norm({"a": 3.0, "b": [np.array([0.0, 4.0])]}))
      5.0
    Source: JAX documentation, `jax.example_libraries.optimizers`.
    """
    _, leaves, _ = arrays_of("l2_norm", "tree", tree)
    return np.sqrt(functools.reduce(operator.add, map(_squares, leaves), 0.0))


def _squares(x: Any) -> Any:
    size = np.abs(cast(x, wide_of(x.aval.dtype)))
    return np.sum(size * size)


@located
def clip_grads(grad_tree: PyTree, max_norm: ArrayLike) -> PyTree:
    """Scales a gradient down if its norm exceeds a limit.

    Args:
      grad_tree: arrays and numbers in containers.
      max_norm: the limit of their `l2_norm`; 0 or more.
    Returns: a tree of the same structure, shapes and dtypes. If the norm exceeds the limit, all
      values are multiplied by `max_norm / norm`. A NaN makes all values NaN.
    Raises: ValueError: `max_norm` is negative, infinite or NaN. TypeError: a leaf is not an array.
    Example:
      >>> from weft.experimental import optimizers
      >>> optimizers.clip_grads([np.array([3.0, 4.0])], 1.0)
      [Array([0.6, 0.8], dtype=float32)]
    Source: arXiv:1211.5063.
    """
    limit = setting("clip_grads", "max_norm", max_norm)
    norm = l2_norm(grad_tree)
    fits = norm <= limit
    factor = np.where(fits, 1.0, limit / np.where(fits, 1.0, norm))

    def clipped(g: Any) -> Any:
        wide = wide_of(g.aval.dtype)
        return cast(cast(g, wide) * cast(factor, wide), g.aval.dtype)

    _, leaves, treedef = arrays_of("clip_grads", "grad_tree", grad_tree)
    return treedef.unflatten(tree_map(clipped, leaves))
