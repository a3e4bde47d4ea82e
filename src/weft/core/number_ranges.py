"""Python's integers that a dtype hasn't: what the error says. Knows dtypes only."""

from typing import Any

import numpy as np

from .. import dtypes


def not_fitting(operation: str, numbers: object, dtype: np.dtype[Any]) -> OverflowError:
    """The error for Python's integers that a dtype of integers hasn't, with one that has them."""
    found = np.asarray(numbers, object).ravel().tolist()
    low, high = min(found), max(found)
    own = dtypes.iinfo(dtype)
    said = str(high if low >= own.min else low)
    fitting = [
        d
        for d in (*dtypes.SIGNED, *dtypes.UNSIGNED)
        if dtypes.iinfo(d).min <= low and high <= dtypes.iinfo(d).max
    ]
    there = [d for d in fitting if dtypes.canonicalize_dtype(d) == d and dtypes.iinfo(d).bits >= 8]
    cure = "a float, such as float32"
    if there:
        cure = f"a wider dtype, such as {there[0]}"
    elif fitting:
        cure += f", or {fitting[0]}, after config.update('enable_x64', True)"
    return OverflowError(
        f"{operation}: the Python integer {said} does not fit {dtype.name}, whose numbers are "
        f"{own.min} to {own.max}\n  fix: {cure}"
    )
