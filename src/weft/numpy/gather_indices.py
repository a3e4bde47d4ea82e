"""The index arrays of gathers and scatters, from known or run-time positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import as_value, from_host
from ..lax.slicing import counted_from_end
from ..primitives.gather_dimension_numbers import GatherScatterMode
from ..primitives.slicing import concatenate
from ..primitives.structural import broadcast_in_dim, convert_element_type, reshape
from ..user_lines import noted


def mode_argument(name: str, mode: Any) -> GatherScatterMode:
    """`GatherScatterMode.from_any`, with an error that names the function."""
    try:
        return GatherScatterMode.from_any(mode)
    except (TypeError, ValueError):  # TypeError: not hashable
        raise noted(
            ValueError(
                f"{name}: mode must be 'clip', 'fill', 'drop', 'promise_in_bounds', a "
                f"GatherScatterMode or None; got {mode!r:.60}"
            )
        ) from None


def with_inserted(x: Any, axes: Sequence[int]) -> Any:
    """An array with new axes of length one."""
    for axis in axes:
        x = reshape(x, shape=(*x.shape[:axis], 1, *x.shape[axis:]))
    return x


def index_columns(
    columns: Sequence[tuple[int, Any, tuple[int, ...], bool]], shape: tuple[int, ...]
) -> Any:
    """The indices of a gather or scatter, [*shape, columns]: one column for each indexed axis.

    Args:
      columns: for each indexed axis, its length; the positions (an int, a NumPy array or a value);
        the axes of `shape` along which they run; whether negative ones count from the end.
    """
    if not columns:
        return from_host(np.zeros((*shape, 0), dtypes.default_int()), copy=False)
    needs_int64 = max(n for n, *_ in columns) > dtypes.iinfo(dtypes.int32).max
    index_dtype = dtypes.int64 if needs_int64 else dtypes.int32
    arrays = []
    for n, indices, _, wrap in columns:
        if isinstance(indices, (int, np.ndarray, np.generic)):
            arrays.append(static_indices(n, indices, wrap, index_dtype))
        else:
            arrays.append(run_time_indices(n, indices, wrap))
    if all(isinstance(a, np.ndarray) for a in arrays):
        hosts = [
            np.broadcast_to(_along(a, dims, len(shape)), shape)
            for a, (_, _, dims, _) in zip(arrays, columns, strict=True)
        ]
        return from_host(np.stack(hosts, -1), copy=False)
    values = [as_value(a) for a in arrays]
    index_dtypes = {v.dtype for v in values}
    common_dtype = index_dtypes.pop() if len(index_dtypes) == 1 else index_dtype
    aligned = []
    for v, (_, _, dims, _) in zip(values, columns, strict=True):
        if v.dtype != common_dtype:
            v = convert_element_type(v, dtype=common_dtype)
        aligned.append(broadcast_in_dim(v, shape=(*shape, 1), dims=dims))
    return concatenate(*aligned, dimension=len(shape)) if len(aligned) > 1 else aligned[0]


def _along(a: Any, dims: tuple[int, ...], rank: int) -> Any:
    """A NumPy array reshaped to `rank` axes, with its own axes at `dims`."""
    lengths = dict(zip(dims, a.shape, strict=True))
    return a.reshape([lengths.get(i, 1) for i in range(rank)])


def static_indices(n: int, indices: Any, wrap: bool, dtype: Any) -> np.ndarray[Any, Any]:
    """Known positions, clipped to [-1, n], so that positions out of range stay distinct in
    `dtype`."""
    array = np.asarray(indices)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(n))
    array = array.astype(np.int64)
    if wrap:
        array = np.where(array < 0, array + n, array)
    return np.clip(array, -1, n).astype(dtype)


def run_time_indices(n: int, indices: Any, wrap: bool) -> Any:
    """Run-time positions; negative ones are counted from the end if `wrap`."""
    if not wrap or dtypes.is_unsigned(indices.dtype):
        return indices
    if dtypes.iinfo(indices.dtype).max < n:
        indices = convert_element_type(indices, dtype=dtypes.default_int())
    return counted_from_end(indices, n)
