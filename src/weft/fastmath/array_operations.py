"""Operations on arrays; each calls the current backend.

logsumexp, expit, sigmoid, erf, lt; conv, avg_pool, max_pool, sum_pool; top_k, sort_key_val;
index_update, index_add, index_min, index_max; dynamic_slice, dynamic_slice_in_dim,
dynamic_update_slice, dynamic_update_slice_in_dim; global_device_count, local_device_count and
dataset_as_numpy.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from .backends import current

__all__ = [
    "avg_pool",
    "conv",
    "dataset_as_numpy",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "erf",
    "expit",
    "global_device_count",
    "index_add",
    "index_max",
    "index_min",
    "index_update",
    "local_device_count",
    "logsumexp",
    "lt",
    "max_pool",
    "sigmoid",
    "sort_key_val",
    "sum_pool",
    "top_k",
]

Sizes = Sequence[int]


# --- elementwise functions and reductions ---


def logsumexp(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials, without overflow: log(sum(exp(x))).

    Args:
      x: array.
      axis: an axis, or several, or None for all.
      keepdims: whether to keep the axes with length one.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.logsumexp(np.array([0.0, 0.0])).item() == np.log(2.0).item()
      True
    Source: Trax documentation, `fastmath.ops.logsumexp`.
    """
    return current.operations.logsumexp(x, axis=axis, keepdims=keepdims)


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x)), elementwise.

    Example:
      >>> from weft import fastmath
      >>> fastmath.expit(0.0).item()
      0.5
    Source: Trax documentation, `fastmath.ops.expit`.
    """
    return current.operations.expit(x)


def sigmoid(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x)), elementwise; another name for `expit`.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.sigmoid(np.array([0.0, 2.0]))
      Array([0.5     , 0.880797], dtype=float32)
    Source: Trax documentation, `fastmath.ops.sigmoid`.
    """
    return current.operations.expit(x)


def erf(x: Any) -> Any:
    """The error function, elementwise.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.erf(np.array([0.0, 1.0]))
      Array([0.       , 0.8427008], dtype=float32)
    Source: Trax documentation, `fastmath.ops.erf`.
    """
    return current.operations.erf(x)


def lt(x: Any, y: Any) -> Any:
    """True where `x < y`, elementwise.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.lt(np.array([1, 3]), 2)
      Array([ True, False], dtype=bool)
    Source: Trax documentation, `fastmath.ops.lt`.
    """
    return current.operations.lt(x, y)


# --- windows ---


def conv(
    inp: Any,
    fltr: Any,
    window_strides: Sizes,
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: tuple[str, str, str],
    filter_dilation: Sizes | None = None,
    input_dilation: Sizes | None = None,
) -> Any:
    """A convolution as in neural networks: the kernel is not reversed.

    Args:
      inp: array of the inputs.
      fltr: array of the kernel.
      window_strides: the step along each spatial axis.
      padding: "SAME", "VALID", or a pair (before, after) for each spatial axis.
      dimension_numbers: the layouts of input, kernel and output, such as ("NHWC", "HWIO", "NHWC").
      filter_dilation: the distance between the kernel's elements for each spatial axis.
      input_dilation: the distance between the input's elements for each spatial axis, with zeros
        between them, for a transposed convolution. The padding must then be pairs.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> x, kernel = np.arange(4.0).reshape(1, 4, 1), np.ones((2, 1, 1))
      >>> fastmath.conv(x, kernel, (1,), "VALID", ("NWC", "WIO", "NWC")).ravel()
      Array([1., 3., 5.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.conv`.
    """
    return current.operations.conv(
        inp, fltr, window_strides, padding, dimension_numbers, filter_dilation, input_dilation
    )


def avg_pool(x: Any, pool_size: Sizes, strides: Sizes | None = None, padding: str = "VALID") -> Any:
    """The mean of each window, over the elements inside the array.

    Args:
      x: array [batch, ..., channels].
      pool_size: the length of the window along each spatial axis.
      strides: the step along each spatial axis; None means one.
      padding: "VALID" for windows inside the array, "SAME" for a window at every step.
    Returns: array of floats.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.avg_pool(np.arange(4.0).reshape(1, 4, 1), (2,), (2,)).ravel()
      Array([0.5, 2.5], dtype=float32)
    Source: Trax documentation, `fastmath.ops.avg_pool`.
    """
    return current.operations.avg_pool(x, pool_size, strides, padding)


def max_pool(x: Any, pool_size: Sizes, strides: Sizes | None = None, padding: str = "VALID") -> Any:
    """The largest element of each window, with the arguments of `avg_pool`.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.max_pool(np.arange(4.0).reshape(1, 4, 1), (2,), (2,), "VALID").ravel()
      Array([1., 3.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.max_pool`.
    """
    return current.operations.max_pool(x, pool_size, strides, padding)


def sum_pool(x: Any, pool_size: Sizes, strides: Sizes | None = None, padding: str = "VALID") -> Any:
    """The sum of each window, with the arguments of `avg_pool`.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.sum_pool(np.arange(4.0).reshape(1, 4, 1), (2,), (2,), "VALID").ravel()
      Array([1., 5.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.sum_pool`.
    """
    return current.operations.sum_pool(x, pool_size, strides, padding)


# --- sorting ---


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The `k` largest elements along the last axis, in descending order, and their indices.

    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.top_k(np.array([3.0, 9.0, 5.0]), 2)
      (Array([9., 5.], dtype=float32), Array([1, 2], dtype=int32))
    Source: Trax documentation, `fastmath.ops.top_k`.
    """
    return current.operations.top_k(x, k)


def sort_key_val(keys: Any, values: Any, dimension: int = -1) -> tuple[Any, Any]:
    """Sorts keys along an axis, and reorders values in the same way.

    Args:
      keys, values: arrays of the same shape.
      dimension: the axis.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.sort_key_val(np.array([3, 1, 2]), np.array([30, 10, 20]))[1]
      Array([10, 20, 30], dtype=int32)
    Source: Trax documentation, `fastmath.ops.sort_key_val`.
    """
    return current.operations.sort_key_val(keys, values, dimension)


# --- changed copies ---


def index_update(x: Any, idx: Any, y: Any) -> Any:
    """A copy of an array with the elements at an index replaced.

    Args:
      x: array.
      idx: the index: an int, a slice, an array, or a tuple of them.
      y: array that broadcasts to the shape of `x[idx]`.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.index_update(np.zeros(3), slice(1, None), 2.0)
      Array([0., 2., 2.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.index_update`.
    """
    return current.operations.index_update(x, idx, y)


def index_add(x: Any, idx: Any, y: Any) -> Any:
    """A copy of an array with `y` added at an index; a repeated index is added repeatedly.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.index_add(np.zeros(3), np.array([0, 0, 2]), 1.0)
      Array([2., 0., 1.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.index_add`.
    """
    return current.operations.index_add(x, idx, y)


def index_min(x: Any, idx: Any, y: Any) -> Any:
    """A copy of an array with the minimum of its elements and `y` at an index.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.index_min(np.array([1.0, 5.0]), np.array([0, 1]), 3.0)
      Array([1., 3.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.index_min`.
    """
    return current.operations.index_min(x, idx, y)


def index_max(x: Any, idx: Any, y: Any) -> Any:
    """A copy of an array with the maximum of its elements and `y` at an index.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.index_max(np.array([1.0, 5.0]), np.array([0, 1]), 3.0)
      Array([3., 5.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.index_max`.
    """
    return current.operations.index_max(x, idx, y)


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sizes) -> Any:
    """A window of fixed size that begins at indices that may be traced.

    Args:
      operand: array.
      start_indices: an integer for each axis; a negative one counts from the end. A window that
        would extend beyond the array is moved inside.
      slice_sizes: the length of the window along each axis.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.dynamic_slice(np.arange(6), (4,), (3,))
      Array([3, 4, 5], dtype=int32)
    Source: Trax documentation, `fastmath.ops.dynamic_slice`.
    """
    return current.operations.dynamic_slice(operand, start_indices, slice_sizes)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A `dynamic_slice` along one axis.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.dynamic_slice_in_dim(np.arange(5), 1, 3)
      Array([1, 2, 3], dtype=int32)
    Source: Trax documentation, `fastmath.ops.dynamic_slice_in_dim`.
    """
    return current.operations.dynamic_slice_in_dim(operand, start_index, slice_size, axis)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """A copy of an array with a window replaced; its place is as in `dynamic_slice`.

    Args:
      operand: array.
      update: the window's new elements, an array with the same number of axes.
      start_indices: an integer for each axis.
    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.dynamic_update_slice(np.arange(5), np.array([8, 9]), (1,))
      Array([0, 8, 9, 3, 4], dtype=int32)
    Source: Trax documentation, `fastmath.ops.dynamic_update_slice`.
    """
    return current.operations.dynamic_update_slice(operand, update, start_indices)


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """A `dynamic_update_slice` along one axis.

    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.dynamic_update_slice_in_dim(np.arange(5), np.array([8, 9]), 1, 0)
      Array([0, 8, 9, 3, 4], dtype=int32)
    Source: Trax documentation, `fastmath.ops.dynamic_update_slice_in_dim`.
    """
    return current.operations.dynamic_update_slice_in_dim(operand, update, start_index, axis)


# --- devices and datasets ---


def global_device_count() -> int:
    """The number of accelerators of all hosts; on `jax`, the number of devices of the current
    platform.

    Example:
      >>> from weft import fastmath
      >>> fastmath.global_device_count() >= fastmath.local_device_count()
      True
    Source: Trax documentation, `fastmath.ops.global_device_count`.
    """
    return current.operations.global_device_count()


def local_device_count() -> int:
    """The number of accelerators of this host; on `jax`, the number of devices of the current
    platform.

    Example:
      >>> from weft import fastmath
      >>> fastmath.local_device_count() >= 1
      True
    Source: Trax documentation, `fastmath.ops.local_device_count`.
    """
    return current.operations.local_device_count()


def dataset_as_numpy(ds: Any, batch_size: int | None = None) -> Iterator[Any]:
    """Iterates over a `tf.data.Dataset`; the elements are nested NumPy arrays.

    Args:
      ds: the dataset; its elements may be nested.
      batch_size: the number of elements that TensorFlow reads in advance.
    Raises: TypeError: not a dataset.
    Example:
      >>> import tensorflow as tf
      >>> from weft import fastmath
      >>> with fastmath.use_backend("jax"):
      ...     list(fastmath.dataset_as_numpy(tf.data.Dataset.range(3)))
      [np.int64(0), np.int64(1), np.int64(2)]
    Source: Trax documentation, `fastmath.ops.dataset_as_numpy`.
    """
    return current.operations.dataset_as_numpy(ds, batch_size)
