"""ravel_pytree: a pytree of arrays as one vector, and back."""

from collections.abc import Callable
from typing import Any

from . import dtypes
from .core.array import Array
from .core.aval import aval
from .core.source import located
from .errors import ShapeError
from .numpy.promotion import cast, value
from .primitives import creation, slicing, structural
from .tree_util import tree_flatten, tree_unflatten
from .typing import PyTree

__all__ = ["ravel_pytree"]


@located
def ravel_pytree(pytree: PyTree) -> tuple[Array, Callable[[Any], PyTree]]:
    """All elements of the arrays in a pytree as one vector, and the inverse function.

    Args:
      pytree: arrays and scalars in containers.
    Returns: (vector, unravel): the elements in the order of the leaves, in their common dtype; and
      a function from such a vector to a pytree like `pytree`, with the shape and dtype of each
      leaf. If all leaves have one dtype, it also takes a vector of another dtype (a mask, a vector
      of tangents), which the leaves then have. Both are differentiable.
    Raises: TypeError: a leaf is not an array. `unravel` raises ValueError for a vector of another
      length, and TypeError for one of another dtype, if the leaves are of several.
    Example:
      >>> from weft.flatten_util import ravel_pytree
      >>> vector, unravel = ravel_pytree({"b": 3.0, "w": np.array([1.0, 2.0])})
      >>> vector.tolist()
      [3.0, 1.0, 2.0]
      >>> unravel(2 * vector)["w"].tolist()
      [2.0, 4.0]
    """
    leaves, treedef = tree_flatten(pytree)
    arrays = [value("ravel_pytree", leaf, f"leaf {i}") for i, leaf in enumerate(leaves)]
    avals = [a.aval for a in arrays]
    dtype = dtypes.result_type(*arrays) if arrays else dtypes.default_float()
    parts = [structural.reshape(cast(a, dtype), shape=(a.size,)) for a in arrays]
    if len(parts) == 1:
        (vector,) = parts
    elif parts:
        vector = slicing.concatenate(*parts, dimension=0)
    else:
        vector = creation.zeros(aval((0,), dtype))
    length = vector.size
    mixed = any(a.dtype != dtype for a in avals)

    @located
    def unravel(flat: Any) -> PyTree:
        """The pytree from a vector."""
        x = value("unravel", flat, "the vector")
        if x.aval.shape != (length,):
            raise ShapeError(f"unravel: expected a vector of length {length}; got {x.aval}")
        if x.aval.dtype != dtype and mixed:
            raise ShapeError(f"unravel: expected a vector of dtype {dtype.name}; got {x.aval}")
        pieces, start = [], 0
        for a in avals:
            piece = slicing.slice_(x, start=(start,), limit=(start + a.size,), strides=(1,))
            pieces.append(
                cast(structural.reshape(piece, shape=a.shape), a.dtype if mixed else x.dtype)
            )
            start += a.size
        return tree_unflatten(treedef, pieces)

    return vector, unravel
