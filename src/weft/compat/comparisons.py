"""`jax._src.public_test_util.check_close`: compares trees of arrays, with tolerances by dtype.

The tests of some libraries import it from there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import dtypes
from ..tree_util import tree_map

Tolerance = float | Mapping[Any, float] | None
"""A number, or a dict of numbers by dtype (with the default for missing ones), or None for the
default."""

DEFAULT = {2: 1e-2, 4: 1e-6, 8: 1e-15}
"""The default tolerance by the size in bytes of a real number."""


def check_close(
    xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = ""
) -> None:
    """Compares the leaves of two trees.

    Args:
      xs, ys: trees of the same structure.
      atol, rtol: the tolerances: |x - y| <= atol + rtol · |y|.
      err_msg: a line of the error.
    Raises: AssertionError: elements differ by more than that.
    Example:
      >>> check_close({"a": 1.0}, {"a": 1.01}, rtol={"float32": 0.1, "float64": 0.1})
    """

    def compare(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype == dtypes.float0 or y.dtype == dtypes.float0:
            return
        relative, absolute = [max(tolerance(a.dtype, t) for a in (x, y)) for t in (rtol, atol)]
        np.testing.assert_allclose(widened(x), widened(y), relative, absolute, err_msg=err_msg)

    tree_map(compare, xs, ys)


def tolerance(dtype: Any, option: Tolerance) -> float:
    """The tolerance for a dtype."""
    if isinstance(option, Mapping):
        by_dtype = {np.dtype(key): value for key, value in option.items()}
        return by_dtype[dtype] if dtype in by_dtype else tolerance(dtype, None)
    if option is not None:
        return option
    if not dtypes.is_inexact(dtype):
        return 0.0
    return DEFAULT.get(dtypes.real_of(dtype).itemsize, 0.1)


def widened(x: Any) -> Any:
    """An array that NumPy can compare: small floats become float32."""
    is_narrow = dtypes.is_inexact(x.dtype) and x.dtype.kind not in "fc"
    return x.astype(np.float32) if is_narrow else x
